"""Evolution of masked files: children measured per second as the loop measures them, against the full measures.

    python benchmarks/evolution.py

Everything is timed in one run, in seconds of the processor, so that the ratios depend on the machine as little as can
be; the table it prints is kept in
benchmarks/RESULTS.md. The incremental rate is that of the whole loop: drawing, crossing, measuring and replacing. The
full rates are those of the same loss and risk of one file, by the registered measures and, for categories, by the
array functions alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from microveil.masking import Plan, Step
from microveil.microdata import Microdata, datasets
from microveil.numerics.evolution.file_evolution import Rules
from microveil.progress import silent
from microveil.protection import protect
from microveil.search.file_evolution import EvolvedFiles, FilePopulation

NUMBERS = [*(("rank-swapping", {"p": float(p)}) for p in range(2, 17, 2)), *(("mdav", {"k": k}) for k in range(3, 11))]
CATEGORIES = [
    *(("rank-swapping", {"p": float(p)}) for p in range(1, 12)),
    *(("pram", {"p": p / 10}) for p in range(1, 10)),
]
FILES = {
    "census": (None, NUMBERS, 4000),
    "german_credit": (("checking_status", "savings", "employment"), CATEGORIES, 20_000),
    "adult": (("education", "marital-status", "occupation"), CATEGORIES, 4000),
}


def seconds(job: Callable[[], object], times: int = 1) -> float:
    began = time.process_time()
    for _ in range(times):
        job()
    return (time.process_time() - began) / times


def evolve(population: FilePopulation, generations: int) -> EvolvedFiles:
    return population.evolve(Rules(), generations, np.random.default_rng(1), silent, "")


def population_of(
    table: Microdata, names: tuple[str, ...], masks: list[tuple[str, dict[str, float]]]
) -> FilePopulation:
    made = [protect(table, Plan((Step(method, given, names),), seed=1)).data for method, given in masks]
    return FilePopulation(table, tuple(made), names)


def with_domains(table: Microdata) -> Microdata:
    """With every domain declared, so that ranks can be swapped; empty cells are left out."""
    domains = {
        a.name: tuple(c for c in table.domain(a.name) if c is not None) for a in table.schema if a.is_categorical
    }
    declared = [table[name].changed(domain=domain) for name, domain in domains.items()]
    return table.with_schema(table.schema.replacing(*declared))


def main() -> None:
    columns = "file", "records x attributes", "files", "incremental, /s", "per generation", "full, /s", "ratio"
    print(f"| {' | '.join(columns)} | arrays, /s | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (chosen, masks, generations) in FILES.items():
        table = datasets.load(name)
        names = table.names if chosen is None else chosen
        table = with_domains(table.select(names))
        population = population_of(table, names, masks)
        evolved = evolve(population, 10)  # compiles
        best = evolved.run.best
        evolved.measured_again(best)
        set_up = seconds(lambda population=population: evolve(population, 0))
        began = time.process_time()
        evolved = evolve(population, generations)
        spent = time.process_time() - began - set_up
        rate = evolved.run.evaluations / spent
        full = 1 / seconds(lambda evolved=evolved, best=best: evolved.measured_again(best), 5)
        arrays = ""
        if not population.numeric:
            cells, measures = evolved.run.cells[best].astype(np.int64), population.measures
            alone = 1 / seconds(lambda m=measures, c=cells: m.of(c, probabilistic=False), 5)
            arrays = f"{alone:,.1f} | {rate / alone:,.0f}"
        size = f"{len(table):,} x {len(names)}"
        print(
            f"| {name} | {size} | {len(masks)} | {rate:,.0f} | {1000 * spent / generations:.3f} ms | {full:,.1f} | "
            f"{rate / full:,.0f} | {arrays or '- | -'} |"
        )


if __name__ == "__main__":
    main()
