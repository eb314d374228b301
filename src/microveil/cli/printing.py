"""How the commands speak: lines, notes, errors, JSON, tables and a progress bar."""

from __future__ import annotations

import io
import json
import logging
import math
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from microveil.errors import OutputError

if TYPE_CHECKING:
    from microveil.progress import Progress

FAILED, BAD_USAGE = 1, 2
CANCELLED = "cancelled; nothing was written"
NO_MEMORY = "there is not enough memory for this; no file is left half written"


def prepare_streams() -> None:
    """Before anything is opened or printed: characters that the output lacks become question marks, and a stream that
    is closed is noticed, so that no file gets its number and is written to by mistake.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process lives
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        fail("the standard output is closed, so there is no place for the results; redirect it to a file")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def fail(sentence: str, status: int = FAILED) -> NoReturn:
    """End the command with one sentence on stderr."""
    with suppress(OutputError):
        flush()
    with suppress(OSError):
        sys.stderr.write(f"microveil: {' '.join(printable(sentence).split())}\n")
        sys.stderr.flush()
    sys.exit(status)


def note(sentence: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"note: {printable(sentence)}\n")


def warn(sentence: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"warning: {printable(sentence)}\n")


def say(text: str = "") -> None:
    _put(printable(text))


def print_json(content: Any) -> None:
    # a stream that cannot show every character gets their codes
    only_ascii = not (sys.stdout.encoding or "").lower().startswith("utf")
    _put(json.dumps(_finite(content), indent=2, ensure_ascii=only_ascii, allow_nan=False))


def _put(text: str) -> None:
    with _writing_out():
        sys.stdout.write(text + "\n")


def flush() -> None:
    """What was printed must have arrived before the status says that all went well."""
    with _writing_out():
        sys.stdout.flush()


@contextmanager
def _writing_out() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        with suppress(OSError, ValueError):  # what is left goes nowhere, or Python would complain at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(problem, BrokenPipeError):
            raise OutputError("the output was cut off because the program that read it has ended") from None
        raise OutputError(f"the output cannot be written ({problem.strerror or problem})") from None


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Names and labels come from files: characters that steer a terminal are shown as unknown ones.

    >>> printable("age\\x1b[2J")
    'age\ufffd[2J'
    """
    return _CONTROLS.sub("\ufffd", text)


def _finite(content: Any) -> Any:
    """JSON knows no infinity: such numbers become null."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def speak_of_compiling() -> None:
    """Show what the package logs, such as the first compilation, as notes."""
    logger = logging.getLogger("microveil")
    logger.addHandler(_Notes())
    logger.setLevel(logging.INFO)


@contextmanager
def bar_for(label: str) -> Iterator[Progress]:
    """A progress bar on the terminal that appears after a moment and goes when the work is done."""
    began, bar = time.monotonic(), None

    def report(fraction: float, text: str, /) -> None:
        nonlocal bar
        if bar is None and sys.stderr.isatty() and time.monotonic() - began > 0.5:
            bar = _bar()
        if bar is not None:
            bar.update(bar.task_ids[0], completed=fraction, description=printable(text or label))

    try:
        yield report
    finally:
        if bar is not None:
            bar.stop()


def _bar() -> Any:
    """A bar on the terminal, for one task."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(), console=Console(stderr=True), transient=True,
    )  # fmt: skip
    bar.add_task("", total=1.0)
    bar.start()
    return bar


def console() -> Any:
    """Where tables are printed: as wide as the terminal or, in a pipe or a file, as the environment's COLUMNS, else 80.

    Names and values stand there as they are: square brackets and colons mean nothing.
    """
    from rich.console import Console

    class Screen(Console):
        def render_str(self, text: str, **options: Any) -> Any:
            return super().render_str(printable(text), **options)

        def print(self, *objects: Any, **options: Any) -> None:
            with _writing_out():
                super().print(*objects, **options)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Screen(highlight=False, markup=False, emoji=False)
