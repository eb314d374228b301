"""`best` beside `mdav`: processor time and loss (100 SSE / SST) of both with their defaults, in the same run.

Run with `python benchmarks/best.py [records ...]`; the table it prints is kept in benchmarks/RESULTS.md. Times are
those of all processors together, so that other work on the machine counts little; on two processors `best` takes about
half of that. Ratios are what to compare.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from run import normal, real, sampled, table

from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.best import Best
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata

SIZES = (1_000, 10_000, 50_000, 200_000)
COLUMNS = (2, 5, 10)


def measured(method: MDAV | Best, data: Microdata) -> tuple[float, float]:
    began = time.process_time()
    release = method.mask(data, seed=1)
    return time.process_time() - began, SSE().measure(data, release).value


def compared(name: str, columns: np.ndarray, k: int) -> None:
    data = table(columns)
    (plain, mdav), (taken, best) = measured(MDAV(k=k), data), measured(Best(k=k), data)
    verdict = "" if best <= mdav else " MORE"
    print(
        f"| {name} | {len(columns):,} x {columns.shape[1]} | {k} | {plain:.2f} s | {taken:.1f} s | {taken / plain:.1f} "
        f"| {mdav:.4f} | {best:.4f} | {best / mdav:.3f}{verdict} |",
        flush=True,
    )


def main() -> None:
    sizes = tuple(map(int, sys.argv[1:])) or SIZES
    measured(Best(k=3, polish=1), table(normal(7000, 3)))
    measured(Best(k=3, polish=6000), table(normal(60, 3)))
    print("| records | size | k | mdav | best | times mdav | loss of mdav | of best | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n in sizes:
        if n >= 1_000_000:
            compared("flights with small noise", sampled(n), 3)
            continue
        for d in COLUMNS:
            compared("normal", normal(n, d), 3)
    if not sys.argv[1:]:
        compared("diamonds", real("diamonds", 10**9), 3)
        compared("flights", real("nycflights13", 45_000), 5)


if __name__ == "__main__":
    main()
