"""Runs reproductions: checks that their data is there, tells how far they are, and keeps results for another time."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import microveil
from microveil.errors import FileError
from microveil.microdata import datasets
from microveil.microdata.files.atomic import write_text
from microveil.progress import Part, Progress, silent
from microveil.reproduction.base import VERDICTS, Reproduction, Row, Verdict


@dataclass(frozen=True)
class Outcome:
    """A reproduction that was run."""

    reproduction: Reproduction
    rows: tuple[Row, ...]
    quick: bool
    seconds: float

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many rows have each verdict; those that do not occur are left out."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}

    @property
    def compared(self) -> int:
        """Rows that have something to be compared with and were measured."""
        return sum(row.verdict not in ("no printed value", "not measured") for row in self.rows)

    @property
    def right(self) -> int:
        return sum(row.comes_out for row in self.rows)

    @property
    def summary(self) -> str:
        """
        >>> Outcome(Reproduction("x-1", "", "", None, 1, 0), (Row("a", 1.0, 1.0),), False, 0.1).summary
        '1 of 1 come out (1 exact)'
        """
        parts = ", ".join(f"{count} {verdict}" for verdict, count in self.counts.items())
        return f"{self.right} of {self.compared} come out ({parts})"

    def to_plain(self) -> dict[str, Any]:
        return {
            **self.reproduction.to_plain(),
            "run": {"quick": self.quick, "seconds": round(self.seconds, 1), "version": microveil.__version__},
            "summary": {"right": self.right, "compared": self.compared, **self.counts},
            "values": [row.to_plain() for row in self.rows],
        }


def run(reproduction: Reproduction, *, quick: bool = False, progress: Progress = silent) -> Outcome:
    """Compute a table again."""
    check_data([reproduction])
    length, _ = reproduction.extent(quick)
    began, rows = time.perf_counter(), []
    for row in reproduction.rows(quick):
        rows.append(row)
        progress(min(1.0, len(rows) / max(1, length)), f"{reproduction.name}: {row.label}")
    return Outcome(reproduction, tuple(rows), quick and reproduction.quick is not None, time.perf_counter() - began)


def run_all(
    reproductions: Sequence[Reproduction],
    *,
    quick: bool = False,
    keep: Path | None = None,
    progress: Progress = silent,
    finished: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Compute several tables; those whose result lies in the folder `keep` already are taken from there."""
    check_data(reproductions)
    expected = [max(0.05, reproduction.extent(quick)[1]) for reproduction in reproductions]
    outcomes, before = [], 0.0
    for reproduction, seconds in zip(reproductions, expected, strict=True):
        part = Part(progress, before / sum(expected), (before + seconds) / sum(expected))
        before += seconds
        part(0.0, reproduction.name)
        outcome = _kept(reproduction, quick, keep)
        if outcome is None:
            outcome = run(reproduction, quick=quick, progress=part)
            if keep is not None:
                write_text(_place(reproduction, quick, keep), json.dumps(outcome.to_plain(), indent=1), force=True)
        finished(outcome)
        outcomes.append(outcome)
    return outcomes


def check_data(reproductions: Sequence[Reproduction]) -> None:
    """Say in one sentence which reference data is missing, before any work starts."""
    needed = sorted({file for reproduction in reproductions for file in reproduction.needs})
    if not needed:
        return
    missing = [file for file in needed if file not in datasets.available()]
    if missing:
        raise FileError(
            datasets.data_folder() or "shared/data",
            f"the reference data {', '.join(missing)} is not here; set {datasets.FOLDER_VARIABLE} to the folder that "
            "holds its CSV files",
        )


def _place(reproduction: Reproduction, quick: bool, keep: Path) -> Path:
    short = quick and reproduction.quick is not None
    return keep / f"{reproduction.name}{'.quick' if short else ''}.json"


def _kept(reproduction: Reproduction, quick: bool, keep: Path | None) -> Outcome | None:
    """The result that lies in the folder, unless another version of the program left it; a whole one serves as a quick
    one too."""
    if keep is None:
        return None
    for form in (False, True) if quick else (False,):
        place = _place(reproduction, form, keep)
        plain = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else None
        if plain is not None and plain["run"]["version"] == microveil.__version__:
            names = [field.name for field in fields(Row)]
            rows = tuple(Row(**{name: value[name] for name in names}) for value in plain["values"])
            return Outcome(reproduction, rows, plain["run"]["quick"], plain["run"]["seconds"])
    return None
