"""Studies run from a file or from Python, with results that are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from microveil.comparison.knowledge import Knowledge, knowledge_of
from microveil.errors import FileError, ParameterError, check_path
from microveil.microdata import Microdata
from microveil.microdata.files.atomic import check_apart, check_folder_path, make_folder
from microveil.microdata.microdata import as_microdata
from microveil.progress import Part, Progress, Rising, silent
from microveil.randomness import check_seed, draw_seed
from microveil.study.cells import Candidate, Cell, Measures, bound_to, cells_of, compared, planned_cell, unfold
from microveil.study.design import MOST_WORKERS, Design, check_whole, read_design
from microveil.study.measuring import Outcome, Seen, unseen
from microveil.study.results import PAGE, PLAN, STORE, SUMMARY, TABLE, Started, Study, study_of
from microveil.study.runner import Workers, run_cells
from microveil.study.store import Store, finished_in, secret_in


def run_study(
    design: Design | Mapping[str, Any] | str | Path,
    data: Any = None,
    *,
    out: str | Path | None = None,
    workers: int | Workers | None = None,
    fresh: bool = False,
    progress: Progress = silent,
    seen: Seen = unseen,
) -> Study:
    """Carry out a study: a design, its plain form, or the path of its file, on the table it names or on `data`.

    With a folder `out`, every finished cell is kept there, and a study that is started again goes on where it was
    (unless `fresh`); tables, page and the plan of the best are written there at the end. The best is chosen by its
    means over the repeats and then measured once more, with a fresh secret seed, which its plan has. The numbers do not
    depend on the number of `workers`; with 0 the work is done in this process, and on a cluster by
    `engines.SparkWorkers`. Whoever wants to look on is `seen` to: it is called with every candidate as soon as it is
    measured.

    >>> people = {"age": [20, 22, 41, 43, 61, 65], "height": [170, 180, 175, 190, 160, 165]}
    >>> study = run_study({"method": [{"name": "mdav", "grid": {"k": [2, 3]}}]}, people, workers=0)
    >>> sorted((result.candidate.label, round(result.value("sse"), 1)) for result in study.results)
    [('mdav k=2', 15.3), ('mdav k=3', 45.6)]
    """
    design = as_design(design)
    workers = design.workers if workers is None else checked_workers(workers)
    folder = None if out is None else Path(out)
    if folder is not None:
        check_folder(folder)
        named = design.data if data is None else data
        inputs = [design.file, named if isinstance(named, str | Path) else None]
        check_apart([folder / name for name in (STORE, TABLE, SUMMARY, PAGE, PLAN)], inputs)
    table = design.table(data, Part(progress, 0.0, 0.01))
    unfold(design, table)  # whatever is wrong with the study is found before anything is written
    if folder is not None:
        make_folder(folder)
    with Store(None if folder is None else folder / STORE, fresh=fresh) as store:
        cells = unfold(design, table, store.secret)
        run_cells(cells, table, store, workers=workers, progress=Part(progress, 0.01, 0.98), seen=seen)
        study = study_of_cells(
            cells, store.outcomes(cells), table=table, title=design.title, organisation=design.organisation,
            author=design.author, score=design.score, risk_bound=design.risk_bound,
            started=_started(design, table, data),
        )  # fmt: skip
        last = _Last(table, cells[0].measures, store, workers, Part(progress, 0.98, 1.0))
        study = with_planned(study, last.cell, last.outcome)
        last.progress(1.0, "the best was measured again")
    if folder is not None:
        study.save(folder)
    return study


def checked_workers(workers: int | Workers) -> int | Workers:
    """A number of worker processes, or workers of another kind."""
    return workers if isinstance(workers, Workers) else check_whole("workers", workers, 0, MOST_WORKERS)


@dataclass(frozen=True)
class _Last:
    """How the release is measured that the plan of the best makes."""

    table: Microdata
    measures: Measures
    store: Store
    workers: int | Workers | None
    progress: Progress

    def cell(self, candidate: Candidate) -> Cell:
        return planned_cell(self.table, candidate, self.measures, self.store.secret)

    def outcome(self, cell: Cell) -> Outcome:
        run_cells([cell], self.table, self.store, workers=self.workers, progress=Rising(self.progress))
        return self.store.outcomes([cell])[cell.digest]


def with_planned(study: Study, cell_of: Callable[[Candidate], Cell], outcome_of: Callable[[Cell], Outcome]) -> Study:
    """The study with the release that the plan of its best makes. Where that does not keep the bound on the risk, the
    next candidate is the best."""
    failures = len(study.failures)
    while study.admissible and study.best.again is None and len(study.failures) == failures:
        best = study.best
        cell = cell_of(best.candidate)
        # any seed makes the same of what is not random
        outcome = outcome_of(cell) if best.candidate.is_random else Outcome(best.runs[0].measured)
        study = study.with_planned(cell, outcome)
    return study


def cells_in(design: Design, table: Microdata, folder: Path) -> tuple[tuple[Cell, ...], int]:
    """The cells of a study, and how many of them have their numbers in a folder, in which nothing changes."""
    store = folder / STORE
    secret = secret_in(store) if store.exists() else None
    cells = unfold(design, table, secret)
    return cells, len(finished_in(store, cells)) if store.exists() else 0


def as_design(design: Design | Mapping[str, Any] | str | Path) -> Design:
    """A design as it is, from its plain form, or from its file."""
    if isinstance(design, Design):
        return design
    if isinstance(design, Mapping):
        return Design.from_plain(design)
    check_path(design, "run_study", "or a dict or a Design; the table comes second: run_study('study.toml', frame)")
    return read_design(design)


def check_folder(folder: Path, *others: str) -> None:
    """A folder for results is new, or has those of a study; other files of these names, and of `others` that are
    written beside them, are not overwritten."""
    check_folder_path(folder)
    if not (folder / STORE).exists():
        for name in (TABLE, SUMMARY, PAGE, PLAN, *others):
            if (folder / name).exists():
                raise FileError(folder / name, "this file exists already and is of no study; choose another folder")


def _started(design: Design, table: Microdata, data: Any) -> Started | None:
    """What commands need to do it again; a frame, or a design that is in no file, they cannot name."""
    if design.file is None or table.origin is None or not (data is None or isinstance(data, str | Path)):
        return None
    return Started(str(design.file), table.origin.path, data is not None, design.reading)


def study_of_cells(cells: Sequence[Cell], outcomes: Mapping[str, Outcome], *, table: Microdata, **about: Any) -> Study:
    """The study of the outcomes of cells of a table."""
    measures = cells[0].measures
    return study_of(
        cells, outcomes, attributes=measures.attributes, records=len(table), schema=table.schema,
        knowledge=_knowledge(table, measures), **about,
    )  # fmt: skip


def _knowledge(table: Microdata, measures: Measures) -> Knowledge:
    """What the intruder is assumed to know of every candidate."""
    masked = table.schema.expanded(measures.attributes or ())
    return knowledge_of(table, table, (masked, "masked"), measures.known)


def compare(
    data: Any, candidates: Sequence[Candidate], *, seed: int | None = None, progress: Progress = silent
) -> Study:
    """Make and measure a release for every candidate, all with the same seed and over the same attributes.

    The small form of a study, in this process; `protect(data, study.plan())` makes the best release, which is measured
    once more with a fresh secret seed.
    """
    table = as_microdata(data)
    for candidate in candidates:
        if not isinstance(candidate, Candidate):
            raise ParameterError(
                f"compare takes Candidate objects, not {type(candidate).__name__}; run_study takes the dict of a study"
            )
    ways = bound_to(candidates, table)
    seed = draw_seed() if seed is None else check_seed(seed)
    measures = Measures(compared(ways))
    cells = cells_of(table, [(way, 1) for way in ways], [seed] * len(ways), measures)
    with Store() as store:
        run_cells(cells, table, store, workers=0, progress=Part(progress, 0.0, 0.95))
        study = study_of_cells(cells, store.outcomes(cells), table=table)
        last = _Last(table, measures, store, 0, Part(progress, 0.95, 1.0))
        study = with_planned(study, last.cell, last.outcome)
        last.progress(1.0, "the best was measured again")
        return study
