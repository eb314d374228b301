"""Studies from a file or from Python: carried out, kept, and ready to be looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from microveil.errors import OutputExistsError
from microveil.microdata import Microdata
from microveil.microdata.microdata import as_microdata
from microveil.progress import Part, Progress, silent
from microveil.randomness import check_seed, draw_seed
from microveil.study.cells import Candidate, Cell, Measures, bound_to, cells_of, compared, unfold
from microveil.study.design import Design, check_whole, read_design
from microveil.study.results import PAGE, PLAN, STORE, SUMMARY, TABLE, Study, study_of
from microveil.study.runner import run_cells
from microveil.study.store import Store


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
    file = design if isinstance(design, str | Path) else None
    design = as_design(design)
    workers = design.workers if workers is None else check_whole("workers", workers, 0)
    folder = None if out is None else Path(out)
    if folder is not None:
        check_folder(folder)
    table = design.table(data, Part(progress, 0.0, 0.01))
    cells = unfold(design, table)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with Store(None if folder is None else folder / STORE, fresh=fresh) as store:
        run_cells(cells, table, store, workers=workers, progress=Part(progress, 0.01, 1.0))
        study = _study(design, table, cells, store, None if file is None else str(file))
    if folder is not None:
        study.save(folder)
    return study


def finished_cells(cells: Sequence[Cell], folder: Path) -> int:
    """How many of these cells have their numbers in a folder."""
    if not (folder / STORE).exists():
        return 0
    with Store(folder / STORE) as store:
        return len(store.finished(cells))


def as_design(design: Design | Mapping[str, Any] | str | Path) -> Design:
    """A design as it is, from its plain form, or from its file."""
    if isinstance(design, Design):
        return design
    return Design.from_plain(design) if isinstance(design, Mapping) else read_design(design)


def check_folder(folder: Path) -> None:
    """A folder for results is new, or has those of a study; other files of these names are not overwritten."""
    if not (folder / STORE).exists():
        for name in (TABLE, SUMMARY, PAGE, PLAN):
            if (folder / name).exists():
                raise OutputExistsError(folder / name)


def _study(design: Design, table: Microdata, cells: Sequence[Cell], store: Store, file: str | None) -> Study:
    return study_of(
        cells,
        store.outcomes(cells),
        title=design.title,
        attributes=cells[0].measures.attributes,
        records=len(table),
        score=design.score,
        risk_bound=design.risk_bound,
        schema=table.schema,
        source=None if table.origin is None else table.origin.path,
        file=file,
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
    return study_of(
        cells, outcomes, attributes=compared(ways), records=len(table), schema=table.schema,
        source=None if table.origin is None else table.origin.path,
    )  # fmt: skip
