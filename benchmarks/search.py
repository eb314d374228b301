"""The front of a search against that of a study's grid in the same time, and against random search with as many tries.

    python benchmarks/search.py                      # all cells that are not in the results yet, then the table
    python benchmarks/search.py --only census --seeds 2
    python benchmarks/search.py --table              # the table of the cells that there are

A cell is one search: on a file, by a sampler, with a seed. As soon as it is finished, its line is added to
`search-results.csv` beside this script, and a cell that stands there is not run again, so the benchmark adds up over
several sessions. A cell that is broken off goes on where it was, as long as its folder in the scratch folder is there.

All samplers are measured alike: loss and worst linkage by the usual attacks and likelihood linkage, and every front
once more on all records with fresh seeds. The grid is what a study would have: every method at rising strengths on all
attributes it can mask. `sms-emoa` is what `search` does by default.

Ten minutes on two processors (1,200 seconds of processor time) are counted in pipelines, because the same seed and
number of pipelines find the same front on any machine under any load, and the same time does not. What a cell has used
is in `processor_seconds`. `PIPELINES` is what was chosen by it: on census 1,500 pipelines took 722 and 595 seconds
(seeds 1 and 11), 60 and 50 % of the ten minutes, and are kept because cells of random search with as many stand in the
results; on german_credit 250 took 93 to 565 seconds, 8 to 47 %, and were chosen when one `suppress` on all keys took
200. For adult 100 took about twice the ten minutes on a loaded machine: measure it on an idle one, and correct it if it
still is too many, before the other cells are run.
Random search tries as many pipelines as the search has evaluations, of which the search uses some to measure its front
again (`tried` is the number of different pipelines). The grid ends when it is through, or with as many as it reaches in
ten minutes.

`sms-emoa-before` are cells of the search as it was at their `commit`, when it did not measure its front again.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from kept_rows import commit, keep, kept

import microveil as mv
from microveil.microdata import Microdata
from microveil.search.samplers import SAMPLERS, Point, Sampler
from microveil.search.searching import search
from microveil.search.space import Pipeline, Space

RESULTS = Path(__file__).with_name("search-results.csv")
SEARCH, RANDOM, GRID = "sms-emoa", "random", "grid"
# pipelines of the search, and of the grid, for which ten minutes on two processors are enough
PIPELINES = {"census": (1500, 115), "german_credit": (250, 124), "adult": (100, 100)}
_CATEGORIES = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)
_NUMBERS = ("age", "hours-per-week")


class GridSampler(Sampler):
    """The candidates that a study has by default: every method, one strength after the other; then it ends."""

    def __init__(self, space: Space, rng: np.random.Generator, risk_below: float | None = None) -> None:
        super().__init__(space, rng, risk_below)
        self.left = list(space.starts())

    def ask(self, count: int) -> list[Pipeline]:
        asked, self.left = self.left[:count], self.left[count:]
        return asked

    def _next(self) -> Pipeline:
        return self.left[0]

    def tell(self, points: Sequence[Point]) -> None:
        pass


SAMPLERS[GRID] = GridSampler


@dataclass(frozen=True)
class Cell:
    """One finished search. `tried` may be less than `pipelines` where there were no more."""

    file: str
    sampler: str
    pipelines: int
    seed: int
    tried: int
    hypervolume: float
    seconds: float
    processor_seconds: float
    commit: str

    @property
    def key(self) -> tuple[str, str, int, int]:
        return self.file, self.sampler, self.pipelines, self.seed


def table_of(file: str, folder: Path) -> Microdata:
    """One of the three files with its keys."""
    table = mv.read(folder / f"{file}.csv")
    keys = {
        "census": list(table.names),
        "german_credit": [name for name in table.names if name != "class"],
        "adult": [*_CATEGORIES, *_NUMBERS],
    }
    return mv.Microdata.of(table, keys=keys[file])


def carried_out(file: str, sampler: str, pipelines: int, seed: int, data: Path, scratch: Path) -> Cell:
    """Run one search by two workers."""
    table, version = table_of(file, data), commit()
    began, used = time.monotonic(), _processor_seconds()
    folder = scratch / f"{file}-{sampler}-{pipelines}-{seed}-{version.rstrip('+')}"
    folder.mkdir(parents=True, exist_ok=True)
    found = search(table, evaluations=pipelines, sampler=sampler, seed=seed, workers=2, out=folder)
    seconds, processor = time.monotonic() - began, _processor_seconds() - used
    volume = round(found.hypervolume, 4)
    return Cell(file, sampler, pipelines, seed, found.tried, volume, round(seconds, 1), round(processor, 1), version)


def _processor_seconds() -> float:
    """What finished worker processes have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wanted(only: str, samplers: Sequence[str], seeds: int) -> Iterator[tuple[str, str, int, int]]:
    """The cells to run, those first that tell most: one seed of every file, then the next."""
    for seed in range(1, seeds + 1):
        for file, (tries, of_grid) in PIPELINES.items():
            if only in ("", file):
                yield from ((file, name, of_grid if name == GRID else tries, seed) for name in samplers)


def interval(values: Sequence[float]) -> str:
    """The mean and its 95 % interval over the seeds."""
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.2f} (one seed)"
    from scipy import stats

    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.2f} ± {half:.2f}"


def print_table(cells: Sequence[Cell]) -> None:
    """The hypervolumes by file and number of pipelines, and by how much the search is ahead, seed by seed."""
    others = list(dict.fromkeys((RANDOM, GRID, *(cell.sampler for cell in cells if cell.sampler != SEARCH))))
    print("| file | pipelines | seeds | search |", " | ".join(f"{name} | ahead of {name}" for name in others), "|")
    print("|" + "---|" * (4 + 2 * len(others)))
    for file in PIPELINES:
        for pipelines in sorted({cell.pipelines for cell in cells if (cell.file, cell.sampler) == (file, SEARCH)}):
            own = _by_seed(cells, file, SEARCH, pipelines)
            shown = [file, str(pipelines), str(len(own)), interval(list(own.values()))]
            for name in others:
                its = _by_seed(cells, file, name, None if name == GRID else pipelines)
                both = [seed for seed in own if seed in its]
                shown += [interval(list(its.values())), interval([own[seed] - its[seed] for seed in both])]
            print("|", " | ".join(shown), "|")


def _by_seed(cells: Sequence[Cell], file: str, sampler: str, pipelines: int | None) -> dict[int, float]:
    fitting = (cell for cell in cells if (cell.file, cell.sampler) == (file, sampler))
    return {cell.seed: cell.hypervolume for cell in fitting if pipelines in (None, cell.pipelines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="how many runs of each")
    parser.add_argument("--only", default="", choices=["", *PIPELINES], help="one of the files")
    parser.add_argument("--samplers", default=f"{SEARCH},{RANDOM},{GRID}", help="names with commas")
    parser.add_argument("--pipelines", type=int, help="another number of pipelines than that of ten minutes")
    parser.add_argument("--table", action="store_true", help="print the table of what there is, and run nothing")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of finished cells")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "search-cells", help="folder")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("MICROVEIL_DATA", "")), help="reference data")
    asked = parser.parse_args()
    if not asked.table:
        for file, sampler, tries, seed in wanted(asked.only, asked.samplers.split(","), asked.seeds):
            pipelines = asked.pipelines or tries
            if (file, sampler, pipelines, seed) not in {cell.key for cell in kept(Cell, asked.results)}:
                cell = carried_out(file, sampler, pipelines, seed, asked.data, asked.scratch)
                keep(cell, asked.results)
                print(cell, flush=True)
    print_table(kept(Cell, asked.results))


if __name__ == "__main__":
    main()
