"""The front of a search against that of a study's grid in the same time, and against random search with as many tries.

    python benchmarks/search.py --budget 10m --seeds 5
    python benchmarks/search.py --only census --budget 1m --seeds 2

For each file: the hypervolume of the front that `search` finds in a time; of random search with as many tries; and
of the grid that a study would have, every method at rising strengths on all attributes it can mask, for as long as the
time lasts. All three are measured alike: loss and worst linkage on all records with the usual attacks and likelihood
linkage, and every front once more with fresh seeds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import microveil as mv
from microveil.microdata import Microdata
from microveil.search.aims import seconds_of
from microveil.search.found import Found
from microveil.search.samplers import SAMPLERS, Point, Sampler
from microveil.search.searching import search
from microveil.search.space import Pipeline, Space

_CATEGORIES = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)
_NUMBERS = ("age", "hours_per_week")


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


SAMPLERS["grid"] = GridSampler


def tables(folder: Path, only: str) -> dict[str, Microdata]:
    """The three files, each with its keys."""
    found: dict[str, Any] = {}
    if only in ("", "census"):
        census = mv.read(folder / "census.csv")
        found["census"] = mv.Microdata.of(census, keys=list(census.names))
    if only in ("", "german_credit"):
        german = mv.read(folder / "german_credit.csv")
        found["german_credit"] = mv.Microdata.of(german, keys=[name for name in german.names if name != "class"])
    if only in ("", "adult"):
        adult = mv.read(folder / "adult.csv")
        found["adult"] = mv.Microdata.of(adult, keys=[*_CATEGORIES, *_NUMBERS])
    return found


def timed(table: Microdata, **wishes: Any) -> tuple[Found, float]:
    began = time.perf_counter()
    return search(table, **wishes), time.perf_counter() - began


def interval(values: Sequence[float]) -> str:
    """The mean and its 95 % interval over the seeds."""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    from scipy import stats

    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.2f} ± {half:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--budget", default="10m", help="time of each search")
    parser.add_argument("--seeds", type=int, default=5, help="how many runs of each")
    parser.add_argument("--only", default="", help="one of census, german_credit, adult")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("MICROVEIL_DATA", "")), help="reference data")
    asked = parser.parse_args()
    print("| file | tries | search | random search, as many tries | grid of a study, the same time |")
    print("|---|---|---|---|---|")
    for name, table in tables(asked.data, asked.only).items():
        volumes: dict[str, list[float]] = {"nsga2": [], "random": [], "grid": []}
        tries = []
        for seed in range(1, asked.seeds + 1):
            found, _ = timed(table, budget=seconds_of(asked.budget), seed=seed)
            volumes["nsga2"].append(found.hypervolume)
            tries.append(len(found.explored))
            random, _ = timed(table, evaluations=len(found.explored), sampler="random", seed=seed)
            volumes["random"].append(random.hypervolume)
            grid, _ = timed(table, budget=seconds_of(asked.budget), sampler="grid", seed=seed)
            volumes["grid"].append(grid.hypervolume)
        cells = [interval(volumes[kind]) for kind in ("nsga2", "random", "grid")]
        print(f"| {name} | {np.mean(tries):.0f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
