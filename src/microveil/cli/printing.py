"""How the commands speak: lines, notes, errors, JSON, tables and a progress bar."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microveil.progress import Progress

FAILED, BAD_USAGE = 1, 2


def fail(sentence: str, status: int = FAILED) -> None:
    """End the command with one sentence on stderr."""
    sys.stderr.write(f"microveil: {' '.join(sentence.split())}\n")
    sys.exit(status)


def note(sentence: str) -> None:
    sys.stderr.write(f"note: {sentence}\n")


def warn(sentence: str) -> None:
    sys.stderr.write(f"warning: {sentence}\n")


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")


def print_json(content: Any) -> None:
    say(json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False))


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
    import time

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    screen = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeRemainingColumn(),
        console=screen, transient=True, disable=not screen.is_terminal,
    )  # fmt: skip
    task = bar.add_task(label, total=1.0)
    began, shown = time.monotonic(), False

    def report(fraction: float, text: str, /) -> None:
        nonlocal shown
        if not shown and time.monotonic() - began > 0.5:
            bar.start()
            shown = True
        bar.update(task, completed=fraction, description=text or label)

    try:
        yield report
    finally:
        if shown:
            bar.stop()


def console() -> Any:
    """Where tables are printed."""
    from rich.console import Console

    # a pipe or a file gets the whole width, so that nothing is cut there
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)
