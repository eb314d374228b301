"""Full-domain generalisation: the search over the lattice of levels beside a plain trial of every node.

Run with `python benchmarks/generalise.py [adult_int adult_arx creditcard_int mach2019_int]` and MICROVEIL_DATA set; the
table it prints is kept in benchmarks/RESULTS.md. Asked are k = 5 and any number of suppressed records. All runs on one
thread in one process, after a trial that compiles the kernels; times are those of the processor, so that a loaded
machine changes them little. The plain trial groups all records at a node with numpy; it is timed on some nodes of the
lattice and stated for all of them.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1", MICROVEIL_THREADS="1")

import math
import sys
import time
from pathlib import Path

import numpy as np

import microveil as mv
from microveil.masking.coarsening.attribute_levels import AttributeLevels, levels_of
from microveil.microdata import Attribute, Hierarchy, Microdata, Schema
from microveil.numerics.core.compiled import allowance

DATA = Path(os.environ["MICROVEIL_DATA"])
K, TRIED = 5, 60
BUDGETS = {"adult_int": 4000, "adult_arx": 4000, "creditcard_int": 6000, "mach2019_int": 3000}
# what Meurers et al. (2021) print: what the best release found keeps by `loss`, and its `granularity`
KNOWN = {
    "adult_int": ("", "0.729621"),
    "creditcard_int": ("0.370269", "0.339854"),
    "mach2019_int": ("0.462918", "0.460928"),
}


def table(name: str) -> Microdata:
    """A table of the reference data, all of whose columns are keys with their hierarchies; of adult_arx eight are."""
    path = DATA / f"{name}.csv.gz" if name.endswith("_int") else DATA / f"{name}.csv"
    plain = mv.read(path)
    attributes = []
    for column in plain.names:
        file = (
            DATA / "hierarchies" / "arx_int" / f"{name}_hierarchy_{column}.csv.gz"
            if name.endswith("_int")
            else DATA / "hierarchies" / f"adult_{column}.csv"
        )
        key = column != "salary-class" or name.endswith("_int")
        roles = ("key",) if key else ()
        attributes.append(
            Attribute(name=column, kind="nominal", roles=roles, hierarchy=Hierarchy.read(file) if key else None)
        )
    return mv.read(path, schema=Schema(attributes))


def plain_trial(attributes: list[AttributeLevels], node: tuple[int, ...]) -> float:
    """What a node keeps, by numpy alone."""
    records = np.column_stack([a.table[level][a.codes] for a, level in zip(attributes, node, strict=True)])
    _, label, sizes = np.unique(records, axis=0, return_inverse=True, return_counts=True)
    released = sizes[label.reshape(-1)] >= K
    cells = [(1.0 - a.shares[level][a.codes])[released].sum() for a, level in zip(attributes, node, strict=True)]
    return float(sum(cells)) / (len(records) * len(attributes))


def measure(name: str) -> str:
    data = table(name)
    keys = data.schema.keys
    method = mv.Generalise(k=K, suppression=1.0, budget=BUDGETS[name])
    start = time.process_time()
    found = method.solutions(data, keys)
    searched = time.process_time() - start
    start = time.process_time()
    method.mask(data, seed=1)
    masked = time.process_time() - start
    attributes = [levels_of(data, key) for key in keys]
    levels = [attribute.levels for attribute in attributes]
    draws = np.random.default_rng(1)
    start = time.process_time()
    for _ in range(TRIED):
        plain_trial(attributes, tuple(int(draws.integers(0, number)) for number in levels))
    one = (time.process_time() - start) / TRIED
    assert found.best is not None
    proof = "proven" if found.proven else f"at most {found.bound:.4f}"
    finer = mv.Generalise(k=K, suppression=1.0, utility="granularity", budget=BUDGETS[name])
    start = time.process_time()
    most = finer.solutions(data, keys).best
    searched_finer = time.process_time() - start
    assert most is not None
    by_loss, by_granularity = KNOWN.get(name, ("", ""))
    cells = (
        name, f"{math.prod(levels):,}", f"{found.checked:,}", f"{searched:.2f} s", f"{masked:.2f} s",
        f"{one * math.prod(levels) / searched:,.0f}", f"{found.best.utility:.6f}", proof,
        f"{found.best.suppressed:,}", by_loss, f"{finer.at(data, keys, found.best.levels).utility:.6f}",
        f"{most.utility:.6f}", f"{searched_finer:.2f} s", by_granularity,
    )  # fmt: skip
    print(found.best.levels, most.levels, file=sys.stderr)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    allowance.end()
    mv.Generalise(k=2).mask(mv.datasets.survey(100, seed=1), seed=1)
    head = (
        "table", "nodes", "groupings", "search", "whole release", "all nodes, plain / search", "kept by `loss`",
        "bound", "suppressed", "published", "its `granularity`", "best by `granularity`", "search", "published",
    )  # fmt: skip
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name in sys.argv[1:] or BUDGETS:
        print(measure(name), flush=True)


if __name__ == "__main__":
    main()
