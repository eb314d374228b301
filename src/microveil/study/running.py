"""Studies from a file or from Python: carried out, kept, and ready to be looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from microveil.errors import FileError
from microveil.microdata import Microdata
from microveil.microdata.files.atomic import check_folder_path, make_folder
from microveil.microdata.microdata import as_microdata
from microveil.progress import Part, Progress, silent
from microveil.randomness import check_seed, draw_seed
from microveil.study.cells import Candidate, Cell, Measures, bound_to, cells_of, compared, unfold
from microveil.study.design import MOST_WORKERS, Design, check_whole, read_design
from microveil.study.results import PAGE, PLAN, STORE, SUMMARY, TABLE, Started, Study, study_of
from microveil.study.runner import run_cells
from microveil.study.store import Store, finished_in


def run_study(
    design: Design | Mapping[str, Any] | str | Path,
    data: Any = None,
    *,
    out: str | Path | None = None,
    workers: int | None = None,
    fresh: bool = False,
    progress: Progress = silent,
) -> Study:
    """Carry out a study: a design, its plain form, or the path of its file, on the table it names or on `data`.

    With a folder `out`, every finished cell is kept there, and a study that is started again goes on where it was
    (unless `fresh`); tables, page and the plan of the best are written there at the end. The numbers do not depend on
    the number of `workers`; with 0 the work is done in this process.

    >>> people = {"age": [20, 22, 41, 43, 61, 65], "height": [170, 180, 175, 190, 160, 165]}
    >>> study = run_study({"method": [{"name": "mdav", "grid": {"k": [2, 3]}}]}, people, workers=0)
    >>> sorted((result.candidate.label, round(result.value("sse"), 1)) for result in study.results)
    [('mdav k=2', 15.3), ('mdav k=3', 45.6)]
    """
    design = as_design(design)
    workers = design.workers if workers is None else check_whole("workers", workers, 0, MOST_WORKERS)
    folder = None if out is None else Path(out)
    if folder is not None:
        check_folder(folder)
    table = design.table(data, Part(progress, 0.0, 0.01))
    cells = unfold(design, table)
    if folder is not None:
        make_folder(folder)
    with Store(None if folder is None else folder / STORE, fresh=fresh) as store:
        run_cells(cells, table, store, workers=workers, progress=Part(progress, 0.01, 1.0))
        study = _study(design, table, cells, store, _started(design, table, data))
    if folder is not None:
        study.save(folder)
    return study


def finished_cells(cells: Sequence[Cell], folder: Path) -> int:
    """How many of these cells have their numbers in a folder."""
    return len(finished_in(folder / STORE, cells)) if (folder / STORE).exists() else 0


def as_design(design: Design | Mapping[str, Any] | str | Path) -> Design:
    """A design as it is, from its plain form, or from its file."""
    if isinstance(design, Design):
        return design
    return Design.from_plain(design) if isinstance(design, Mapping) else read_design(design)


def check_folder(folder: Path) -> None:
    """A folder for results is new, or has those of a study; other files of these names are not overwritten."""
    check_folder_path(folder)
    if not (folder / STORE).exists():
        for name in (TABLE, SUMMARY, PAGE, PLAN):
            if (folder / name).exists():
                raise FileError(folder / name, "this file exists already and is of no study; choose another folder")


def _started(design: Design, table: Microdata, data: Any) -> Started | None:
    """What commands need to do it again; a frame, or a design that is in no file, they cannot name."""
    if design.file is None or table.origin is None or not (data is None or isinstance(data, str | Path)):
        return None
    return Started(str(design.file), table.origin.path, data is not None, design.reading)


def _study(design: Design, table: Microdata, cells: Sequence[Cell], store: Store, started: Started | None) -> Study:
    return study_of(
        cells,
        store.outcomes(cells),
        title=design.title,
        attributes=cells[0].measures.attributes,
        records=len(table),
        score=design.score,
        risk_bound=design.risk_bound,
        schema=table.schema,
        started=started,
    )


def compare(
    data: Any, candidates: Sequence[Candidate], *, seed: int | None = None, progress: Progress = silent
) -> Study:
    """Make and measure a release for every candidate, all with the same seed and over the same attributes.

    The small form of a study, in this process; `protect(data, study.plan())` makes the best release.
    """
    table = as_microdata(data)
    ways = bound_to(candidates, table)
    seed = draw_seed() if seed is None else check_seed(seed)
    cells = cells_of(table, [(way, 1) for way in ways], [seed] * len(ways), Measures(compared(ways)))
    with Store() as store:
        run_cells(cells, table, store, workers=0, progress=progress)
        outcomes = store.outcomes(cells)
    return study_of(cells, outcomes, attributes=compared(ways), records=len(table), schema=table.schema)
