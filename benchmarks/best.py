"""`best` beside `mdav`: processor time and loss (100 SSE / SST) of both with their defaults, in the same run.

Run with `python benchmarks/best.py [row ...] [--polish STEPS] [--kept FILE]`; `--list` names the rows. Each row is
printed when it is done, and with `--kept` it is also written to a file from which the next run takes it, so that a long
run can go on where it was ended. The table is kept in benchmarks/RESULTS.md. Times are those of all processors
together, so that other work on the machine counts little. Ratios are what to compare.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from run import normal, real, sampled, table

from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.best import Best
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata, datasets
from microveil.numerics.core.compiled import allowance

HEAD = "| row | size | k | mdav | best | times mdav | loss of mdav | of best | ratio |\n" + "|---" * 9 + "|"
Made = Callable[[], Microdata]


def _normal(n: int, d: int) -> Microdata:
    return table(normal(n, d))


def _flights(n: int) -> Microdata:
    """Flights with small noise, five attributes."""
    return table(sampled(n))


def _diamonds() -> Microdata:
    return table(real("diamonds", 10**9))


def rows() -> dict[str, tuple[Made, int]]:
    """The tables by the name of their row, and k."""
    made: dict[str, tuple[Made, int]] = {}
    for name in ("tarragona", "census"):
        for k in (3, 5, 10):
            made[f"{name}-{k}"] = partial(datasets.load, name), k
    for n in (1_000, 10_000, 50_000):
        for d in (2, 5, 8, 10):
            made[f"normal-{n}-{d}"] = partial(_normal, n, d), 3
    made["diamonds"] = _diamonds, 3
    for n in (100_000, 200_000, 1_000_000):
        made[f"flights-{n}"] = partial(_flights, n), 3
    return made


def measured(method: MDAV | Best, data: Microdata) -> tuple[float, float]:
    began = time.process_time()
    release = method.mask(data, seed=1)
    return time.process_time() - began, SSE().measure(data, release).value


def compared(name: str, data: Microdata, k: int, polish: int | None) -> str:
    (plain, mdav), (taken, best) = measured(MDAV(k=k), data), measured(Best(k=k, polish=polish), data)
    verdict = "" if best <= mdav else " MORE"
    size = f"{len(data):,} x {len(data.names)}"
    return (
        f"| {name} | {size} | {k} | {plain:.2f} s | {taken:.1f} s | {taken / plain:.1f} "
        f"| {mdav:.4f} | {best:.4f} | {best / mdav:.3f}{verdict} |"
    )


def warm_up() -> None:
    allowance.end()
    for n in (60, 7_000):
        data = table(np.random.default_rng(1).normal(size=(n, 3)))
        measured(Best(k=3, polish=10), data)


def main() -> None:
    made = rows()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("rows", nargs="*", metavar="row", help="rows to measure; without any, all")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--polish", type=int, help="steps for each record, instead of the default")
    parser.add_argument("--kept", type=Path, help="a file of rows that are done; more are added to it")
    asked = parser.parse_args()
    if asked.list:
        print(*made, sep="\n")
        return
    if unknown := [name for name in asked.rows if name not in made]:
        parser.error(f"there is no row {unknown[0]}")
    done = asked.kept.read_text(encoding="utf-8").splitlines() if asked.kept and asked.kept.exists() else []
    by_name = {line.split("|")[1].strip(): line for line in done}
    print(HEAD)
    warm_up()
    for name in asked.rows or made:
        line = by_name.get(name)
        if line is None:
            make, k = made[name]
            line = compared(name, make(), k, asked.polish)
            if asked.kept:
                with asked.kept.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
        print(line, flush=True)


if __name__ == "__main__":
    main()
