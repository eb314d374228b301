"""`microveil query` and `microveil serve-queries`: a table that answers questions instead of being released."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microveil.cli.options import Input, Json, TableOptions, with_table_options
from microveil.cli.printing import BAD_USAGE, bar_for, console, fail, note, print_json, say
from microveil.cli.tables import read_table
from microveil.errors import ParameterError

if TYPE_CHECKING:
    from microveil.microdata import Microdata
    from microveil.progress import Progress
    from microveil.queries import Answer, QueryServer
    from microveil.queries.stored import StoredTable

EXAMPLE = (
    "Example: microveil query people.csv --confidential income --control 'set-size k=5' --control audit "
    "--log people.log --ask \"SELECT AVG(income) FROM data WHERE age >= 60 AND sex = 'f'\""
)
SERVE_EXAMPLE = (
    "Example: microveil serve-queries people.csv --confidential income --analyst alice --log people.log "
    "--tokens tokens.json"
)
_NONE = "none"

Controls = Annotated[
    list[str] | None,
    typer.Option(
        "--control",
        help="A control and its parameters, such as 'set-size k=5'; may be repeated, and 'none' stands for none. "
        "Default: 'set-size k=5' and 'audit'. All of them: microveil methods --kind control.",
        metavar="CONTROL",
    ),
]
LogFile = Annotated[
    Path | None,
    typer.Option(
        "--log",
        help="The log of all questions, which only its owner can read; what was asked before counts. Without one, "
        "earlier calls are forgotten.",
        metavar="FILE",
    ),
]
EngineOption = Annotated[
    str, typer.Option(help="What computes the answers: duckdb, in a process without access to files, or arrays.")
]


@with_table_options
def query(
    path: Input,
    ask: Annotated[
        list[str],
        typer.Option(
            help='A question in SQL, such as "SELECT COUNT(*) FROM data WHERE age >= 90"; may be repeated.',
            metavar="SQL",
        ),
    ],
    control: Controls = None,
    log: LogFile = None,
    analyst: Annotated[str, typer.Option(help="Who asks.", metavar="NAME")] = "analyst",
    exact: Annotated[bool, typer.Option("--exact", help="Refuse rather than give an answer that is changed.")] = False,
    engine: EngineOption = "duckdb",
    *,
    table: TableOptions,
    as_json: Json = False,
) -> None:
    """Ask a table for counts, sums and means, under controls."""
    from microveil.queries.answers import LANGUAGE

    with opened(path, control, log, engine, table) as server:
        answers = [server.ask(question, analyst, exact=exact) for question in ask]
    if as_json:
        plain = [answer.to_plain() for answer in answers]
        print_json(plain[0] if len(plain) == 1 else plain)
    else:
        for answer in answers:
            _show(answer)
    misunderstood = [answer for answer in answers if answer.control == LANGUAGE]
    if misunderstood:
        fail(f"refused: {misunderstood[0].reason}", BAD_USAGE)


def opened(path: Path, control: list[str] | None, log: Path | None, engine: str, table: TableOptions) -> QueryServer:
    """The table of a command, ready for questions."""
    from microveil.queries.controls import control_of
    from microveil.queries.server import DEFAULT_CONTROLS, QueryServer

    if engine not in ("duckdb", "arrays"):
        raise ParameterError("the engine is duckdb or arrays")
    chosen = [] if control == [_NONE] else control or DEFAULT_CONTROLS
    controls = [control_of(text) for text in chosen]
    if log is not None and log.resolve() in {path.resolve(), table.schema and table.schema.resolve()}:
        raise ParameterError("the log must be another file than the input")
    with bar_for(f"reading {path.name}") as bar:
        data = _table(path, table, bar)
    if not data.schema.confidential:
        note("no attribute is declared confidential, so all that conditions are about counts as known to everybody")
    if log is None and any(each.has_memory for each in controls):
        note("without --log, what was asked in earlier calls is forgotten")
    return QueryServer(data, controls, log=log, engine=engine)  # type: ignore[arg-type]


def _table(path: Path, table: TableOptions, progress: Progress) -> Microdata | StoredTable:
    """The table of a command; a Parquet file stays where it is, unless its records are something else than rows."""
    described = table.described
    others = ("series", "graph", "node", "flat", "location")
    if path.suffix.lower() != ".parquet" or any(described[name] for name in others):
        return read_table(path, table.schema, progress, **table.reading, **described)
    from microveil.microdata.files.atomic import recover
    from microveil.queries.stored import StoredTable

    recover(path.parent)
    told = {name: given for name, given in described.items() if name not in others}
    return StoredTable(path, schema=table.schema, progress=progress, **told)


def _show(answer: Answer) -> None:
    if not answer.cells:
        say(str(answer))
        return
    from rich.table import Table

    say(answer.question)
    shown = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for _ in answer.cells[0][0]:
        shown.add_column("")
    shown.add_column("answer", justify="right")
    for names, cell in answer.cells:
        shown.add_row(*map(str, names), str(cell))
    console().print(shown)


@with_table_options
def serve_queries(
    path: Input,
    analyst: Annotated[
        list[str] | None,
        typer.Option(help="Who may ask; may be repeated. Default: one, of the name 'analyst'.", metavar="NAME"),
    ] = None,
    control: Controls = None,
    log: LogFile = None,
    tokens: Annotated[
        Path | None,
        typer.Option(
            help="Keep the analysts' tokens in this file, which only its owner can read; without it, new ones are "
            "drawn and printed.",
            metavar="FILE",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes any that is free.", min=0, max=65535)] = 0,
    pace: Annotated[
        float, typer.Option(help="Answers leave at multiples of so many seconds, so that the time tells little.")
    ] = 0.05,
    engine: EngineOption = "duckdb",
    *,
    table: TableOptions,
) -> None:
    """Answer questions of analysts on this machine, over HTTP.

    The first line is the address. POST /sessions with the header 'Authorization: Bearer TOKEN' gives a session;
    POST /questions with {"session": ..., "number": 1, "ask": "SELECT ..."} asks, with numbers that go up by one;
    GET /attributes tells what may be asked about.
    """
    from microveil.queries.service import QueryService, drawn_token, kept_tokens

    names = analyst or ["analyst"]
    if len(set(names)) < len(names):
        raise ParameterError("an analyst is named twice")
    known = {name: drawn_token() for name in names} if tokens is None else kept_tokens(tokens, names)
    with opened(path, control, log, engine, table) as server:
        service = QueryService(server, known, port=port, pace=pace)
        try:
            say(service.address)
            for name, token in known.items():
                say(f"{name}: {token}" if tokens is None else f"{name}: see {tokens}")
            from microveil.cli.printing import flush

            flush()
            service.run()
        finally:
            service.close()
