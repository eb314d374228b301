"""Local suppression for listed combinations beside a plain greedy one: the cells that each empties, and the time.

    python benchmarks/combinations.py

Both empty cells of the sample survey until every pair, or every triple, of five keys is shared by enough records. The
plain one goes through sets and records in the order of the file, and again until nothing is rare.
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
from plain_suppress import plain_combinations

from microveil.masking.coarsening.suppress import Suppress
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.datasets.sample_survey import survey
from microveil.numerics.core.compiled import allowance

KEYS = ("region", "sex", "education", "occupation", "health")
JOBS = ((500, 2, 5), (500, 3, 3), (2000, 2, 5), (2000, 3, 3))


def main() -> None:
    allowance.end()
    print("| records | every | at least | an empty cell is | Microveil | plain | cells | plain |")
    print("|---|---|---|---|---|---|---|---|")
    Suppress(combinations=("every pair >= 3",)).mask(_table(survey(100), "own category"), seed=1)  # compiles
    for records, size, least in JOBS:
        for policy in ("wildcard", "own category"):
            data = _table(survey(records), policy)
            began = time.perf_counter()
            release = Suppress(combinations=(f"every {size} >= {least}",)).mask(data, seed=1)
            ours = time.perf_counter() - began
            cells = sum(release.data.arrow(name).null_count for name in KEYS)
            codes = np.column_stack([data.categories(name).codes for name in KEYS])
            wanted = [(columns, least) for columns in combinations(range(len(KEYS)), size)]
            began = time.perf_counter()
            plain = plain_combinations(codes, wanted, wildcard=policy == "wildcard")
            theirs = time.perf_counter() - began
            print(
                f"| {records:,} | {size} of {len(KEYS)} | {least} | {policy} | {ours:.2f} s | {theirs:.2f} s "
                f"| {cells:,} | {int((plain < 0).sum()):,} |",
                flush=True,
            )


def _table(data: Microdata, policy: str) -> Microdata:
    """The keys alone, without missing cells, so that all that is empty in the end was emptied."""
    columns = {name: [str(cell) for cell in data.arrow(name).to_pylist()] for name in KEYS}
    schema = Schema(Attribute(name=name, kind="nominal", roles=("key",), missing=policy) for name in KEYS)
    return Microdata.of(columns, schema)


if __name__ == "__main__":
    main()
