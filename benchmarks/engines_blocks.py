"""Microaggregation of a long table in blocks: time, peak memory, and what the blocks cost.

    python benchmarks/engines_blocks.py 1000000 --unblocked [--data normal|lognormal] [--scratch FOLDER]
    python benchmarks/engines_blocks.py 10000000 --scratch FOLDER

Five attributes are written as Parquet, part by part, and masked by mdav with k = 5 through DuckDB in a process of its
own, whose peak memory is told. With `--unblocked` the table is masked in memory, too, and the extra loss is compared
with the one that the release tells; this is for at most a million records. What it prints is kept in
benchmarks/RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engines import peak_mib

NAMES = tuple(f"x{number}" for number in range(5))
RECORDS_OF_FILE = 1_000_000
MOST_UNBLOCKED = 1_000_000


def write(folder: Path, records: int, kind: str) -> None:
    """Correlated normal numbers, or their exponentials, which have long tails."""
    mixing = np.linalg.cholesky(0.5 * np.eye(5) + 0.5)
    for number, first in enumerate(range(0, records, RECORDS_OF_FILE)):
        rng = np.random.default_rng([20071, number])
        columns = rng.standard_normal((min(RECORDS_OF_FILE, records - first), 5)) @ mixing.T
        columns = np.exp(columns) if kind == "lognormal" else columns
        table = pa.table({name: columns[:, j] for j, name in enumerate(NAMES)})
        pq.write_table(table, folder / f"{number:04d}.parquet")


def mask(folder: Path, out: Path) -> dict[str, Any]:
    """In blocks, in this process."""
    import microveil as mv

    with mv.open(folder) as large:
        wall, processor = time.perf_counter(), time.process_time()
        release = large.protect(mv.Plan((mv.Step("mdav", {"k": 5}, NAMES),), seed=1), out)
        used = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
    told = [note.values for note in release.provenance.step_notes if note.kind.name == "in-blocks"]
    return {**used, "peak": peak_mib(), **(told[0] if told else {})}


def extra_loss(folder: Path, out: Path) -> dict[str, float]:
    """Against the table masked in memory, in per cent of its loss."""
    from microveil.masking.microaggregation.mdav import MDAV
    from microveil.microdata import Microdata
    from microveil.numerics.grouping.sums_of_squares import squares_lost
    from microveil.numerics.statistics.scaling import Scaling

    before = Microdata.of(pq.read_table(folder))
    blocked = Microdata.of(pq.read_table(out), before.schema).matrix(NAMES)
    start = time.process_time()
    unblocked = MDAV(k=5).mask(before, seed=1).data.matrix(NAMES)
    used = time.process_time() - start
    columns = before.matrix(NAMES)
    scaling = Scaling.of(columns)
    lost = [squares_lost(scaling.apply(columns), scaling.apply(after)) for after in (blocked, unblocked)]
    return {"true extra": 100 * (lost[0] / lost[1] - 1), "unblocked processor": used, "loss": lost[1] / columns.size}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=int)
    parser.add_argument("--data", choices=("normal", "lognormal"), default="normal")
    parser.add_argument("--unblocked", action="store_true")
    parser.add_argument("--scratch", type=Path, help="where the table is for as long as the work takes")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        print(json.dumps(mask(asked.inside / "in", asked.inside / "out")))
        return
    if asked.scratch:
        asked.scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=asked.scratch) as temporary:
        folder = Path(temporary)
        (folder / "in").mkdir()
        write(folder / "in", 210_000, asked.data)
        mask(folder / "in", folder / "trial")  # compiles the kernels
        write(folder / "in", asked.records, asked.data)
        again = [sys.executable, __file__, str(asked.records), "--inside", str(folder)]
        done = json.loads(subprocess.run(again, check=True, capture_output=True, text=True).stdout)
        print(
            f"{asked.records:,} x 5 {asked.data}: {done['processor']:.0f} s of processor, {done['wall']:.0f} s in all, "
            f"peak {done['peak']:,.0f} MiB; {done['blocks']} blocks, the smallest of {done['smallest']:,}; extra loss "
            f"{done['extra']:.2f} % by a sample of {done['compared']:,}"
        )
        if asked.unblocked and asked.records <= MOST_UNBLOCKED:
            true = extra_loss(folder / "in", folder / "out")
            print(
                f"unblocked: {true['unblocked processor']:.0f} s of processor, loss {true['loss']:.6f}; the blocks "
                f"lose {true['true extra']:.2f} % more"
            )


if __name__ == "__main__":
    main()
