"""The application: its commands, and how errors are shown. Heavy imports wait until a command needs them."""

from __future__ import annotations

import copy
import os
import signal
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

import microveil
from microveil.cli import (
    assess,
    attack_queries,
    check,
    demo,
    describe,
    methods,
    protect,
    query,
    report,
    reproduce,
    risk,
    search,
    study,
    table,
    workbench,
)
from microveil.cli.printing import (
    BAD_USAGE,
    CANCELLED,
    FAILED,
    NO_MEMORY,
    fail,
    flush,
    prepare_streams,
    say,
    speak_of_compiling,
)
from microveil.cli.without_pandas import leave_pandas_out
from microveil.errors import (
    MicroveilError,
    ParameterError,
    SchemaError,
    UnknownNameError,
    is_near_memory_limit,
    is_short_of_memory,
)

_INTERRUPTED = 130  # what typer makes of an interruption


def main() -> None:
    """Run the command line; whatever goes wrong ends in one sentence and a status."""
    prepare_streams()
    speak_of_compiling()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    try:
        leave_pandas_out(sys.argv[1:])
        # not standalone: typer would answer in paragraphs of its own
        status = _with_only(sys.argv[1:2])(standalone_mode=False)
        if status == _INTERRUPTED:
            fail(CANCELLED)
        flush()
        sys.exit(status if isinstance(status, int) else 0)
    except TyperException as problem:
        fail(f"{problem.format_message().rstrip('.')}; see --help", BAD_USAGE)
    except MicroveilError as problem:
        fail(
            str(problem), BAD_USAGE if isinstance(problem, ParameterError | SchemaError | UnknownNameError) else FAILED
        )
    except KeyboardInterrupt:
        fail(CANCELLED)
    except Exception as problem:
        if is_short_of_memory(problem):
            fail(NO_MEMORY)
        if os.environ.get("MICROVEIL_DEBUG"):
            raise
        if is_near_memory_limit():  # then libraries fail in many ways, most of which do not speak of memory
            fail(NO_MEMORY)
        if isinstance(problem, OSError):
            file = f"{problem.filename}: " if problem.filename else ""
            fail(f"{file}the system refused a step ({problem.strerror or problem})")
        # the text of an unforeseen error may hold values of records, so only its type is shown
        fail(f"internal error ({type(problem).__name__}); MICROVEIL_DEBUG=1 shows the details")


def _with_only(words: list[str]) -> typer.Typer:
    """The application with the command that the first word names, or with all: typer works out the options of each."""
    named = [one for one in app.registered_commands if [one.name or getattr(one.callback, "__name__", "")] == words]
    reduced = copy.copy(app)
    reduced.registered_commands = named or app.registered_commands
    return reduced


def _interrupt(number: int, frame: object) -> None:
    """Ending a process from outside is an interruption too: what is half written goes away."""
    raise KeyboardInterrupt


def _version(wanted: bool) -> None:
    if wanted:
        say(f"microveil {microveil.__version__}")
        raise typer.Exit


def _microveil(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Statistical disclosure control: mask a table, measure what an intruder could learn and what an analyst loses."""
    if context.invoked_subcommand is None:
        say(context.get_help())


app = typer.Typer(
    name="microveil",
    epilog=protect.EXAMPLE,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.callback()(_microveil)
# in the order in which --help lists them
app.command(epilog=methods.EXAMPLE)(methods.methods)
app.command(epilog=describe.EXAMPLE)(describe.describe)
app.command(epilog=risk.EXAMPLE)(risk.risk)
app.command(epilog=check.EXAMPLE)(check.check)
app.command(epilog=f"{protect.EXAMPLE}\n\n{protect.MORE}")(protect.protect)
app.command(epilog=assess.EXAMPLE)(assess.assess)
app.command(epilog=table.EXAMPLE)(table.table)
app.command(epilog=study.EXAMPLE)(study.study)
app.command(epilog=search.EXAMPLE)(search.search)
app.command(name="attack-queries", epilog=attack_queries.EXAMPLE)(attack_queries.attack_queries)
app.command(epilog=query.EXAMPLE)(query.query)
app.command(epilog=query.SERVE_EXAMPLE)(query.serve_queries)
app.command(epilog=report.EXAMPLE)(report.report)
app.command(epilog=reproduce.EXAMPLE)(reproduce.reproduce)
app.command(epilog=workbench.EXAMPLE)(workbench.workbench)
app.command(epilog=demo.EXAMPLE)(demo.demo)
