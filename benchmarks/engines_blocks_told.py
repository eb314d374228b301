"""How near the extra loss that a release in blocks tells is to the true one: small tables in small blocks, many seeds.

python benchmarks/engines_blocks_told.py [RECORDS [RECORDS_OF_BLOCK]]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import microveil as mv
from microveil.engines import in_blocks

SEEDS, K = 4, 5


def trial(attributes: int, tails: str, seed: int, records: int, folder: Path) -> tuple[float, float, float]:
    """What is told, with its error, and what is true, in per cent."""
    values = np.random.default_rng(100 * attributes + seed).normal(size=(records, attributes))
    if attributes > 1:
        values[:, 1] += values[:, 0]
    values = np.exp(values) if tails == "long" else values
    table = pa.table({f"x{number}": column for number, column in enumerate(values.T)})
    pq.write_table(table, folder / "people.parquet")
    people = mv.Microdata.of(table)
    plan = mv.Plan((mv.Step("mdav", {"k": K}, people.names),), seed=1)
    with mv.open(folder / "people.parquet", "duckdb", people.schema) as large:
        said = large.protect(plan, folder / "out", force=True).provenance.step_notes[-1].values
    released = pq.read_table(folder / "out")
    blocked = np.column_stack([released[name].to_numpy() for name in people.names])
    as_one = mv.protect(people, plan).data.matrix(people.names)
    lost = [float((((after - values) / values.std(axis=0)) ** 2).sum()) for after in (blocked, as_one)]
    return float(said["extra"]), float(said["error"]), 100 * (lost[0] / lost[1] - 1)


def main() -> None:
    records, in_block = (int(sys.argv[n]) if len(sys.argv) > n else usual for n, usual in ((1, 8_000), (2, 800)))
    in_blocks.BLOCK_RECORDS, in_blocks.COMPARED, in_blocks.SAMPLED = in_block, 2 * in_block, max(100, in_block // 10)
    with tempfile.TemporaryDirectory() as folder:
        for attributes in (1, 2, 3, 5):
            for tails in ("short", "long"):
                found = [trial(attributes, tails, seed, records, Path(folder)) for seed in range(SEEDS)]
                outside = sum(abs(told - true) > error for told, error, true in found)
                words = ", ".join(f"{told:.1f} ± {error:.1f} (true {true:.1f})" for told, error, true in found)
                print(f"{attributes} attributes, {tails} tails: {words}; outside of the error: {outside}", flush=True)


if __name__ == "__main__":
    main()
