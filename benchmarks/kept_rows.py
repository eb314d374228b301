"""Measurements that are kept as lines of a table, so that a benchmark adds up over several runs."""

from __future__ import annotations

import csv
import subprocess
from dataclasses import asdict, astuple, fields
from pathlib import Path
from typing import Any, TypeVar

Row = TypeVar("Row")

_KINDS = {"int": int, "float": float, "str": str}


def kept(kind: type[Row], path: Path) -> list[Row]:
    """The rows that were measured in earlier runs; `kind` is a dataclass of numbers and texts."""
    if not path.exists():
        return []
    kinds = {field.name: _KINDS[str(field.type)] for field in fields(kind)}  # type: ignore[arg-type]
    with path.open(encoding="utf-8", newline="") as lines:
        return [kind(**{name: kinds[name](value) for name, value in row.items()}) for row in csv.DictReader(lines)]


def keep(row: Any, path: Path) -> None:
    """One line more, at once."""
    begins = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        if begins:
            writer.writerow(asdict(row))
        writer.writerow(astuple(row))


def commit() -> str:
    """The version of the code; with a plus where something is not committed."""
    shown = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    return shown.stdout.strip()
