"""Do evolved files escape attacks that know how the files they started from were masked? Census, all attributes.

    python benchmarks/evolved_attacks.py

Marés (2013), section 3.5, expects so and does not measure it. Rank-swapped files and files by MDAV evolve together;
each slot is attacked before and after: by the linkage that knows p of rank swapping (in slots that started swapped), by
alignment (in those that started microaggregated), and by the general linkages; an intruder who suspects that files have
evolved may assume other p, and the strongest counts. The table it prints is kept in
benchmarks/RESULTS.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from evolution import NUMBERS, population_of

from microveil.comparison.pairs import Pair
from microveil.microdata import Microdata, datasets
from microveil.numerics.evolution.file_evolution import Rules
from microveil.progress import silent
from microveil.registry import make

GENERATIONS = (1000, 10_000)
WINDOWS = (5.0, 10.0, 20.0, 40.0)  # also assumed for p
GENERAL = ("distance-linkage", "probabilistic-linkage")


def risk(original: Microdata, masked: Microdata, attack: str, parameters: dict[str, Any]) -> float:
    pair = Pair.of(original, masked, original.names, known=original.names)
    return float(make("attack", attack, parameters).assess_pair(pair, explicit=True).value)


def attacks_on(mask: tuple[str, dict[str, Any]]) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Those made for a method, and the general ones; of several the strongest counts."""
    method, given = mask
    made_for_it: dict[str, list[tuple[str, dict[str, Any]]]] = {"alignment": [("alignment-linkage", {})]}
    if method == "rank-swapping":
        windows = [("rank-swapping-linkage", {"p": p}) for p in (given["p"], *WINDOWS)]
        made_for_it = {"rank-swapping-linkage with its p": windows[:1], "with the best p": windows}
    return {**made_for_it, **{name: [(name, {})] for name in GENERAL}}


def main() -> None:
    table = datasets.load("census")
    population = population_of(table, table.names, NUMBERS)
    runs = [population.evolve(Rules(), g, np.random.default_rng(1), silent, "") for g in GENERATIONS]
    stages = [list(population.files)]
    stages += [[table.with_columns(one.columns(table, i)) for i in range(len(NUMBERS))] for one in runs]
    scores = [runs[0].run.first_scores, *(one.run.scores for one in runs)]
    told = ["at first", *(f"{g:,} generations" for g in GENERATIONS)]
    print(f"| slots, attack | {' | '.join(told)} |")
    print("|---|" + "---|" * len(told))
    for method in ("rank-swapping", "mdav"):
        slots = [i for i, mask in enumerate(NUMBERS) if mask[0] == method]
        print(f"| {method}, score | " + " | ".join(f"{s[slots].mean():.1f}" for s in scores) + " |")
        for name in attacks_on(NUMBERS[slots[0]]):
            told = []
            for stage in stages:
                found = [max(risk(table, stage[i], *one) for one in attacks_on(NUMBERS[i])[name]) for i in slots]
                told.append(f"{np.mean(found):.1f} (max {max(found):.1f})")
            print(f"| {method}, {name} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()
