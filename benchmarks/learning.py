"""How the time of the learning methods grows with records, attributes and k, beside cbfs on the same file.

Run: python benchmarks/learning.py [--quick]. Seconds depend on the machine; the ratios to cbfs and the growth are what
to compare with the printed ones (omma_scale.csv and iamat_scale.csv in studies/reproduction/printed). A job is timed
once after a warm-up call that compiles the kernels.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from microveil.microdata.datasets.simulated_tables import simulated
from microveil.numerics.core.compiled import allowance
from microveil.numerics.grouping.centroid_groups import centroid_groups
from microveil.numerics.grouping.learning_automata import pairs_within, record_migration
from microveil.numerics.statistics.scaling import standardise

Job = Callable[[np.ndarray, int], object]


def cbfs(columns: np.ndarray, k: int) -> object:
    return centroid_groups(columns, k)


def iamat(columns: np.ndarray, k: int) -> object:
    return centroid_groups(columns, k, recomputed=False, interaction=True)


def omma(columns: np.ndarray, k: int) -> object:
    start = np.random.default_rng(1).permutation(np.arange(len(columns)) // k)
    return record_migration(columns, start, pairs_within(columns, 0.5))


def seconds(job: Job, columns: np.ndarray, k: int) -> float:
    began = time.perf_counter()
    job(columns, k)
    return time.perf_counter() - began


def uniform(n: int, d: int) -> np.ndarray:
    data = simulated("uniform-a", n, d)
    return standardise(np.column_stack([data.numbers(name).values for name in data.names]))


def growth(job: Job, shapes: list[tuple[int, int, int]]) -> None:
    """A line for each shape (records, attributes, k): time, times cbfs, and times the shape before."""
    before = None
    for n, d, k in shapes:
        columns = uniform(n, d)
        taken, plain = seconds(job, columns, k), seconds(cbfs, columns, k)
        factor = "" if before is None else f"{taken / before:.1f}"
        print(f"| {job.__name__} | {n:,} | {d} | {k} | {taken:.2f} s | {taken / plain:.1f} | {factor} |", flush=True)
        before = taken


def main() -> None:
    allowance.end()
    quick = "--quick" in sys.argv[1:]
    for job in (cbfs, iamat, omma):
        job(uniform(120, 4), 3)
    print("| method | records | attributes | k | time | times cbfs | times the line above |")
    print("|---|---|---|---|---|---|---|")
    longest = 20_000 if quick else 100_000
    growth(iamat, [(n, 10, 3) for n in (10_000, 20_000, 50_000, 100_000) if n <= longest])
    growth(iamat, [(10_000, d, 3) for d in (10, 20, 40, 80)])
    growth(iamat, [(10_000, 10, k) for k in (3, 5, 10)])
    growth(omma, [(n, 16, 3) for n in (1_200, 2_400, 5_400) if n <= longest / 5])
    growth(omma, [(3_000, d, 3) for d in (12, 16, 22)])
    growth(omma, [(2_400, 16, k) for k in (3, 6, 12)])


if __name__ == "__main__":
    main()
