"""Runs reproductions: checks that their data is there, tells how far they are, and keeps results for another time."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import microveil
from microveil.errors import FileError
from microveil.masking.release import file_digest, versions
from microveil.microdata import datasets
from microveil.microdata.files.atomic import write_text
from microveil.progress import Part, Progress, silent
from reproduction.base import (
    AGAINST_PRINT,
    ARITHMETIC,
    CLAIMS,
    GROUPS,
    UNJUDGED,
    UNPRINTED,
    VERDICTS,
    Reproduction,
    Row,
    Verdict,
)

SUMMED = {
    "measured against print": AGAINST_PRINT,
    "arithmetic": ARITHMETIC,
    "not in print": UNPRINTED,
    "claims": CLAIMS,
}


@dataclass(frozen=True)
class Outcome:
    """A reproduction that was run."""

    reproduction: Reproduction
    rows: tuple[Row, ...]
    quick: bool
    seconds: float
    day: str = ""

    def count(self, verdicts: Sequence[Verdict]) -> int:
        """How many rows have one of these verdicts."""
        return sum(row.verdict in verdicts for row in self.rows)

    @property
    def summary(self) -> str:
        """
        >>> rows = (Row("a", 1.0, 1.0), Row("b", 2.0, 7.0), Row("c", None, 3.0, recomputed=3.0))
        >>> Outcome(Reproduction("x-1", "", "", None, 3, 0), rows, False, 0.1).summary
        'measured against print: 1 of 2 as printed, 1 differs; not in print: 1 of 1 agrees'
        """
        counts, told = counted(self.rows), []
        for title, verdicts in SUMMED.items():
            if total := self.count(verdicts):
                first, *others = (f"{counts[verdict]} {verdict}" for verdict in verdicts if verdict in counts)
                told.append(f"{title}: {', '.join([first.replace(' ', f' of {total} ', 1), *others])}")
        told += [f"{counts[verdict]} {verdict}" for verdict in UNJUDGED if verdict in counts]
        return "; ".join(told)

    def to_plain(self) -> dict[str, Any]:
        counts = counted(self.rows)
        return {
            **self.reproduction.to_plain(),
            "run": {
                "quick": self.quick,
                "seconds": round(self.seconds, 1),
                "version": microveil.__version__,
                "day": self.day,
            },
            "summary": {
                title: {verdict: counts[verdict] for verdict in verdicts if verdict in counts}
                for title, verdicts in GROUPS.items()
            },
            "values": [row.to_plain() for row in self.rows],
        }


def counted(rows: Iterable[Row]) -> dict[Verdict, int]:
    """How many rows have each verdict; those that do not occur are left out."""
    found = Counter(row.verdict for row in rows)
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}


def run(reproduction: Reproduction, *, quick: bool = False, progress: Progress = silent) -> Outcome:
    """Compute a table again."""
    check_data([reproduction])
    length, _ = reproduction.extent(quick)
    began, rows = time.perf_counter(), []
    for row in reproduction.rows(quick):
        rows.append(row)
        progress(min(1.0, len(rows) / max(1, length)), f"{reproduction.name}: {row.label}")
    short, seconds = quick and reproduction.quick is not None, time.perf_counter() - began
    return Outcome(reproduction, tuple(rows), short, seconds, date.today().isoformat())


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
                plain = {**outcome.to_plain(), "made_from": _made_from(reproduction)}
                write_text(_path(reproduction, quick, keep), json.dumps(plain, indent=1), force=True)
        finished(outcome)
        outcomes.append(outcome)
    return outcomes


def check_data(reproductions: Sequence[Reproduction]) -> None:
    """Say in one sentence which reference data is missing, before any work starts."""
    needed = sorted({file for reproduction in reproductions for file in reproduction.needs})
    if not needed:
        return
    folder = datasets.data_folder()
    if folder is None:
        raise FileError(*datasets.no_folder())
    missing = [file for file in needed if file not in datasets.files_at_hand()]
    if missing:
        raise FileError(
            folder,
            f"the reference data {', '.join(missing)} is not here; set {datasets.FOLDER_VARIABLE} to the folder that "
            "holds its CSV files",
        )


def _path(reproduction: Reproduction, quick: bool, keep: Path) -> Path:
    short = quick and reproduction.quick is not None
    return keep / f"{reproduction.name}{'.quick' if short else ''}.json"


def _kept(reproduction: Reproduction, quick: bool, keep: Path | None) -> Outcome | None:
    """The result that lies in the folder, unless it is damaged or was made by another program or from other data; a
    whole one serves as a quick one too."""
    if keep is None:
        return None
    forms = (False, True) if quick else (False,)
    found = (_read(reproduction, _path(reproduction, form, keep)) for form in forms)
    return next((outcome for outcome in found if outcome is not None), None)


def _read(reproduction: Reproduction, path: Path) -> Outcome | None:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        if plain["made_from"] != _made_from(reproduction):
            return None
        names = [field.name for field in fields(Row)]
        rows = tuple(Row(**{name: value[name] for name in names}) for value in plain["values"])
        made = plain["run"]
        return Outcome(reproduction, rows, bool(made["quick"]), float(made["seconds"]), str(made["day"]))
    except (OSError, ValueError, KeyError, TypeError):  # not there, or damaged
        return None


def _made_from(reproduction: Reproduction) -> dict[str, Any]:
    """All that a result depends on: the program with its printed tables, what it is built on, and the data files."""
    files = datasets.files_at_hand() if reproduction.needs else {}
    data = {name: file_digest(files[name]) for name in reproduction.needs}
    return {"program": _program_digest(), "versions": versions(), "data": data}


@cache
def _program_digest() -> str:
    together = hashlib.sha256()
    for root in (Path(microveil.__file__).parent, Path(__file__).parent):
        for path in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".csv", ".json", ".toml")):
            together.update(f"{path.relative_to(root).as_posix()} {file_digest(path)}\n".encode())
    return together.hexdigest()
