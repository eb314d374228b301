"""How long likelihood linkage takes beside distance linkage, on the same releases in the same run.

python benchmarks/attacks.py                prints the table of RESULTS.md
"""

from __future__ import annotations

import time

import numpy as np

import microveil as mv
from microveil.numerics.core.compiled import allowance

SIZES = (1_000, 5_000, 20_000)
NAMES = [f"v{j}" for j in range(6)]


def people(n: int) -> mv.Microdata:
    """Six correlated normal attributes."""
    rng = np.random.default_rng(1)
    cells = rng.normal(size=(n, 6)) @ (np.eye(6) + 0.3)
    return mv.Microdata.of(dict(zip(NAMES, cells.T, strict=True)))


def mixed(n: int) -> mv.Microdata:
    """Three normal attributes and three with ten categories each."""
    cells = people(n)
    classes = {name: np.clip(np.floor(cells.numbers(name).values) + 5, 0, 9).astype(int) for name in NAMES[3:]}
    numbers = {name: cells.numbers(name).values for name in NAMES[:3]}
    return mv.Microdata.of({**numbers, **classes}, nominal=NAMES[3:])


def releases(n: int) -> list[tuple[str, mv.Microdata, mv.Release]]:
    whole, some = people(n), mixed(n)
    swapped = mv.method("rank-swapping", p=5).mask(some, NAMES[:3], seed=7)
    return [
        ("mdav, k=3", whole, mv.method("mdav", k=3).mask(whole, seed=7)),
        ("noise", whole, mv.method("noise", alpha=0.1).mask(whole, seed=7)),
        ("rank-swapping, p=5", whole, mv.method("rank-swapping", p=5).mask(whole, seed=7)),
        ("rank-swapping, then pram", some, mv.method("pram", p=0.8).mask(swapped, NAMES[3:])),
        ("resampling, then rounding", whole, mv.method("rounding").mask(mv.method("resampling").mask(whole, seed=7))),
    ]


def measured(attack: str, original: mv.Microdata, release: mv.Release) -> tuple[float, mv.Risk]:
    start = time.perf_counter()
    risk = mv.attack(attack).assess(original, release, NAMES)
    return time.perf_counter() - start, risk


def main() -> None:
    allowance.end()
    for _, original, release in releases(200):  # compiles the kernels
        for attack in ("distance-linkage", "likelihood-linkage"):
            measured(attack, original, release)
    print("| release, 6 attributes | records | distance-linkage | likelihood-linkage | ratio | risks |")
    print("|---|---|---|---|---|---|")
    for n in SIZES:
        for label, original, release in releases(n):
            near, likely = (measured(name, original, release) for name in ("distance-linkage", "likelihood-linkage"))
            risks = f"{near[1].value:.1f} and {likely[1].value:.1f} %"
            told = f"{near[0]:.2f} s | {likely[0]:.2f} s ({likely[1].attacked:,} attacked)"
            print(f"| {label} | {n:,} | {told} | {likely[0] / near[0]:.1f} | {risks} |", flush=True)


if __name__ == "__main__":
    main()
