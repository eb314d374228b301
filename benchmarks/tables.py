"""Secondary suppression of large tables: how elimination grows with the cells, beside the plain audit and the optimum.

Run with `python benchmarks/tables.py [cells ...]`; the tables it prints are kept in benchmarks/RESULTS.md. The tables
have three dimensions, one of them with a hierarchy, and are added up from skewed records of which some cells have few;
rules are `frequency 3` and `dominance 1 85`, with 10 % protection. All runs on one thread in one process, after a
trial that compiles the kernels. The plain audit is one linear program over all suppressed cells for each end of the
interval of each primary cell, as textbooks have it; of a large table it is timed on some cells and stated for all.
Times are those of the processor, so that a loaded machine changes them little.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import resource
import sys
import time

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from microveil.tables.aggregation import Cells, Records, tabulate
from microveil.tables.audit import audit
from microveil.tables.elimination import eliminate
from microveil.tables.optimal import optimal_suppression
from microveil.tables.problem import Problem, problem_of
from microveil.tables.reinforcement import reinforced, trimmed
from microveil.tables.rules import primary_cells, rule_of
from microveil.tables.tree import Tree
from microveil.typing import BoolArray

SIZES = {1_000: (10, 10, 6), 3_000: (16, 14, 10), 10_000: (24, 20, 16), 30_000: (40, 30, 20), 100_000: (60, 40, 34)}
RULES = [rule_of("frequency 3"), rule_of("dominance 1 85")]
RECORDS_PER_CELL = 40
FOR_OPTIMUM = 120.0
SAMPLED = 20


def table(shape: tuple[int, ...]) -> Cells:
    """A table with about so many categories in each dimension; the first has groups of six."""
    draw = np.random.default_rng(7)
    trees = [
        Tree.of(f"d{d}", [(f"g{i // 6}", f"c{i}") if d == 0 else (f"c{i}",) for i in range(size)])
        for d, size in enumerate(shape)
    ]
    leaves = [np.flatnonzero(tree.is_parent == 0) for tree in trees]
    records = int(np.prod(shape)) * RECORDS_PER_CELL
    codes = [some[draw.choice(len(some), size=records, p=draw.dirichlet(np.full(len(some), 1.5)))] for some in leaves]
    values = np.round(draw.lognormal(3, 1.3, records), 1)
    nobody = np.zeros(records, dtype=bool)
    made = Records(np.column_stack(codes), values, np.ones(records), np.arange(records), nobody)
    return tabulate(trees, [tuple(range(len(shape)))], made, is_count=False, tops=1)


def plain_audit(problem: Problem, suppressed: BoolArray) -> float:
    """Seconds for all intervals, each a program over all suppressed cells, from a sample of them."""
    columns = np.flatnonzero(suppressed)
    equations = sp.csc_array(problem.by_column[:, columns])
    bounds = np.stack([problem.lower[columns], problem.upper[columns]], axis=1)
    primary = np.flatnonzero(problem.primary[columns])
    some = primary[:: max(1, len(primary) // SAMPLED)][:SAMPLED]
    began = time.process_time()
    for column in some:
        for sign in (1.0, -1.0):
            aim = np.zeros(len(columns))
            aim[column] = sign
            linprog(aim, A_eq=equations, b_eq=np.zeros(equations.shape[0]), bounds=bounds, method="highs")
    return (time.process_time() - began) / max(len(some), 1) * len(primary)


def run(cells: int, *, optimum: bool) -> list[str]:
    made = table(SIZES[cells])
    problem = problem_of(made, primary_cells(RULES, made), rules=RULES)
    times = [time.process_time()]
    first = eliminate(problem)
    times.append(time.process_time())
    suppressed = trimmed(problem, reinforced(problem, first))
    times.append(time.process_time())
    found = audit(problem, suppressed, intervals=False)
    times.append(time.process_time())
    elimination, more, proof = np.diff(times)
    print(f"<!-- {len(made):,} cells: elimination {elimination:.2f} s, levels {more:.1f} s, audit {proof:.1f} s, "
          f"{'passed' if found.passed else 'FAILED'} -->", file=sys.stderr, flush=True)  # fmt: skip
    plain = plain_audit(problem, suppressed)
    best = "not run"
    if optimum:
        began = time.process_time()
        result = optimal_suppression(problem, suppressed, time_limit=FOR_OPTIMUM)
        count = int(result.suppressed.sum() - problem.primary.sum())
        best = f"{count:,} in {time.process_time() - began:.0f} s, gap {100 * result.gap:.1f} %"
    primary, secondary = int(problem.primary.sum()), int(suppressed.sum() - problem.primary.sum())
    return [
        f"{len(made):,}", f"{primary:,}", f"{int(first.sum()) - primary:,}", f"{elimination:.2f} s", f"{secondary:,}",
        f"{more:.1f} s", f"{proof:.1f} s", "passed" if found.passed else "FAILED", f"{plain / elimination:.0f}",
        f"{plain / proof:.1f}", best,
    ]  # fmt: skip


def main() -> None:
    wanted = [int(word) for word in sys.argv[1:]] or list(SIZES)
    trial = table((4, 4, 3))
    problem = problem_of(trial, primary_cells(RULES, trial), rules=RULES)
    audit(problem, reinforced(problem, eliminate(problem)), intervals=False)
    heads = [
        "cells", "primary", "secondary (exact disclosure)", "elimination", "secondary (10 %)", "levels", "audit",
        "verdict", "plain audit / elimination", "plain audit / audit", "optimum",
    ]  # fmt: skip
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for cells in wanted:
        print("| " + " | ".join(run(cells, optimum=cells <= 1_000)) + " |", flush=True)
    print(f"\nmost memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
