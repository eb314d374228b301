"""What memory it takes to ask a Parquet file where it lies, beside reading it into memory.

Run with `python benchmarks/queries_parquet.py [records]`; the table it prints is kept in benchmarks/RESULTS.md. The
file is made in a temporary folder, part by part: two texts with two and fifty categories, an age, an income, and some
further numbers that make it large. Each way is a process of its own; its memory is the most that it and the process of
DuckDB have had, and times are those of the processors.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PART, OTHERS = 1_000_000, 8
ASKED = (
    "SELECT COUNT(*) FROM data WHERE age >= 60 AND sex = 'female'",
    "SELECT SUM(income) FROM data WHERE region = 'region 7'",
    "SELECT sex, AVG(income) FROM data WHERE age BETWEEN 30 AND 40 GROUP BY sex",
)
WAYS = {
    "in the file, set-size": ("stored", ["set-size k=5"]),
    "in the file, set-size and audit": ("stored", ["set-size k=5", "audit"]),
    "in memory, set-size": ("memory", ["set-size k=5"]),
}


def write(path: Path, records: int) -> None:
    draw = np.random.default_rng(1)
    sexes, regions = np.array(["female", "male"]), np.array([f"region {number}" for number in range(50)])
    writer = None
    for begin in range(0, records, PART):
        count = min(PART, records - begin)
        columns = {
            "sex": sexes[draw.integers(0, 2, count)],
            "region": regions[draw.integers(0, 50, count)],
            "age": draw.integers(18, 90, count),
            "income": draw.lognormal(10, 1, count).round(0),
            **{f"other {number}": draw.normal(size=count) for number in range(OTHERS)},
        }
        part = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part, row_group_size=PART // 8)
    if writer is not None:
        writer.close()


def ask(path: str, how: str, controls: list[str]) -> None:
    """Ask in this process, and tell what it took."""
    import microveil as mv
    from microveil.queries import StoredTable

    confidential = ["income"]
    data = StoredTable(path, confidential=confidential) if how == "stored" else mv.read(path, confidential=confidential)
    with mv.QueryServer(data, controls, key="benchmark") as server:
        opened = _processor_seconds()
        answers = [str(server.ask(question)) for question in ASKED]
        asked = _processor_seconds() - opened
        child = _most_memory(server.database.engine.process.pid)  # type: ignore[attr-defined]
    own = _most_memory("self")
    took = _processor_seconds() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    print(json.dumps({"answers": answers, "own": own, "engine": child, "seconds": took, "asked": asked}))


def _most_memory(process: int | str) -> int:
    """In KiB; what the system counts for a process by itself begins with the memory of the one that started it."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        write(path, records)
        print(f"{records:,} records, {4 + OTHERS} columns, {path.stat().st_size / 2**20:,.0f} MiB of Parquet\n")
        print("| way | most memory of ours | of DuckDB | processor seconds |\n|---|---|---|---|", flush=True)
        told = {}
        for title, (how, controls) in WAYS.items():
            run = subprocess.run(
                [sys.executable, __file__, "--ask", str(path), how, json.dumps(controls)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            found = json.loads(run.stdout)
            told[title] = found["answers"]
            sizes = [f"{found[name] / 1024:,.0f} MiB" for name in ("own", "engine")]
            print(f"| {title} | {' | '.join(sizes)} | {found['seconds']:.0f} |", flush=True)
        same = told["in the file, set-size"] == told["in memory, set-size"]
        print(f"\nboth ways answer {'the same' if same else 'DIFFERENTLY'}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--ask":
        ask(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))
    else:
        main()
