"""Time series: grouping by slopes and by values, and warping beside another program for it and beside exact costs.

Run with `python benchmarks/series.py [job ...]`; the tables it prints are kept in benchmarks/RESULTS.md. Each job has a
process of its own, on one thread. Times are those of the processor, so that other work on the machine counts little.
The other program is dtaidistance (compiled, on one core), which is timed in the same run if it is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from run import peak_mib

from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.numerics.series.curves import curves
from microveil.numerics.series.dtw_coordinates import dtw_coordinates, scaled_points
from microveil.numerics.series.dtw_search import dtw_links, dtw_matrix

SEED = 14


def measured(job: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    made = job()
    return time.process_time() - began, made


def walks(n: int, length: int) -> np.ndarray:
    return np.random.default_rng(SEED).normal(size=(n, length)).cumsum(axis=1)


def days(n: int, length: int) -> np.ndarray:
    """Curves of a day: two waves, of any height and earlier or later, with noise."""
    rng = np.random.default_rng(SEED)
    at = np.arange(length) * 2 * np.pi / length
    shift, second = rng.normal(0, 0.5, (n, 1)), rng.normal(size=(n, 1))
    level = np.exp(rng.normal(0, 0.5, (n, 1)))
    noise = rng.normal(0, 0.1, (n, length))
    return level * (1 + 0.5 * np.sin(at + shift) + 0.3 * np.sin(2 * at + second)) + noise


def bumps(n: int, length: int) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    at, wide = rng.uniform(0.2, 0.8, (n, 1)) * length, rng.uniform(0.05, 0.12, (n, 1)) * length
    return rng.uniform(1, 5, (n, 1)) * np.exp(-(((np.arange(length) - at) / wide) ** 2)) + rng.normal(
        0, 0.2, (n, length)
    )


def panel(values: np.ndarray) -> Microdata:
    return Microdata.of({f"t{j:03}": column for j, column in enumerate(values.T)}, series="wide")


def masked(name: str, values: np.ndarray, k: int, distance: str) -> None:
    method = MDAV(k=k, distance=distance)
    method.mask(panel(values[:5000, :8]), seed=1)
    data = panel(values)
    taken, release = measured(lambda: method.mask(data, seed=1))
    assert release.partition.sizes.min() >= k
    print(
        f"| mdav distance={distance} k={k}, {name} | {len(values):,} x {values.shape[1]} | {taken:.1f} s "
        f"| {peak_mib():,.0f} MiB |"
    )


def sts() -> None:
    for name, made in (("walks", walks), ("days", days)):
        masked(name, made(10_000, 100), 5, "sts")


def meters() -> None:
    masked("days", days(100_000, 96), 3, "euclidean")


def long_walks() -> None:
    masked("walks", walks(100_000, 96), 3, "euclidean")


def warped() -> None:
    masked("days", days(10_000, 50), 5, "dtw")


def linkage() -> None:
    values = walks(2000, 50)
    published = values + np.random.default_rng(SEED + 1).normal(size=values.shape)
    one, other = curves(values), curves(published)
    dtw_links(one.at(slice(0, 9)), other.at(slice(0, 9)))
    taken, found = measured(lambda: dtw_links(one, other))
    narrow, _ = measured(lambda: dtw_links(one, other, band=5))
    line = f"| dtw links, 2,000 x 2,000 series of 50 points | {taken:.1f} s | {narrow:.1f} s |"
    try:
        from dtaidistance import dtw
    except ImportError:
        print(f"{line} not installed | | |")
        return
    both, block = np.vstack([values, published]), ((0, 2000), (2000, 4000))
    theirs, costs = measured(lambda: dtw.distance_matrix_fast(both, block=block, parallel=False, compact=True))
    costs = np.asarray(costs).reshape(2000, 2000)
    assert np.array_equal(costs.argmin(axis=1), found.first)
    assert np.allclose(costs.min(axis=1) ** 2, found.nearest)
    print(f"{line} {theirs:.1f} s | {theirs / taken:.1f} times | the same links |")


def cost_within(costs: np.ndarray, labels: np.ndarray) -> float:
    groups = (np.flatnonzero(labels == g) for g in range(labels.max() + 1))
    return sum(costs[np.ix_(rows, rows)].sum() / (2 * len(rows)) for rows in groups)


def mdav_on_costs(costs: np.ndarray, k: int) -> np.ndarray:
    """MDAV with costs for squared distances: farthest from the mean is the largest mean cost to all that are left."""
    left, labels, group = np.arange(len(costs)), np.empty(len(costs), dtype=np.int64), 0

    def gather(seed: int) -> None:
        nonlocal left, group
        near = left[np.argsort(np.where(left == seed, -1.0, costs[seed, left]), kind="stable")][:k]
        labels[near] = group
        left, group = np.setdiff1d(left, near), group + 1

    while len(left) >= 2 * k:
        first = left[np.argmax(costs[np.ix_(left, left)].mean(axis=1))]
        gather(first)
        if len(left) >= 2 * k:
            gather(left[np.argmax(costs[first, left])])
    labels[left] = group
    return labels


def nearness() -> None:
    for name, made in (("walks", walks), ("days", days), ("bumps", bumps)):
        values = made(600, 50)
        given = curves(values)
        costs = dtw_matrix(given)
        points, by_landmarks = dtw_coordinates(given), dtw_coordinates(given, most_exact=0)
        plain = scaled_points(costs)
        for k in (3, 10):
            exact = cost_within(costs, mdav_on_costs(costs, k))
            ratios = [
                cost_within(costs, mdav_groups(np.ascontiguousarray(matrix), k)) / exact
                for matrix in (points, by_landmarks, plain, values)
            ]
            print(f"| {name}, k={k} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")


HEADS = {
    "masking": "| job | series | time | peak memory |\n|---|---|---|---|",
    "linkage": "| job | Microveil | in a band of 5 | dtaidistance | ratio | check |\n|---|---|---|---|---|---|",
    "nearness": "| 600 series of 50 points | points | by landmarks | for the costs themselves | Euclidean |\n"
    "|---|---|---|---|---|",
}
JOBS = {"masking": (sts, meters, long_walks, warped), "linkage": (linkage,), "nearness": (nearness,)}


def main() -> None:
    by_name = {job.__name__: job for jobs in JOBS.values() for job in jobs}
    if sys.argv[1:2] == ["--only"]:
        by_name[sys.argv[2]]()
        return
    for head, jobs in JOBS.items():
        chosen = [job.__name__ for job in jobs if not sys.argv[1:] or job.__name__ in sys.argv[1:]]
        if chosen:
            print(HEADS[head], flush=True)
        for name in chosen:
            one_thread = dict.fromkeys(("MICROVEIL_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
            subprocess.run([sys.executable, __file__, "--only", name], check=True, env=os.environ | one_thread)


if __name__ == "__main__":
    main()
