"""Tables longer than memory, by DuckDB on one machine and by Spark: time, peak memory and growth with the records.

    python benchmarks/engines.py 1000000 10000000            # numbers of records; each job in a process of its own
    python benchmarks/engines.py 10000000 --engine spark --workers 1,2
    python benchmarks/engines.py 100000000 --jobs frequencies,noise

The table is the sample survey, eight columns of it, in Parquet files of a million records, which are made first and
kept in the scratch folder. `floor` is the plain query of DuckDB that counts combinations of the same six keys. Times
are those of the processor, and by the clock; the memory is that of the process at its peak, with all that it has loaded
(of Spark, that of the driver alone).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import microveil as mv

COLUMNS = ("region", "sex", "education", "occupation", "health", "diagnosis", "income", "wealth")
KEYS, NUMBERS = COLUMNS[:6], COLUMNS[6:]
_FILE = 1_000_000
SEED = 2**90 + 11
PLANS = {
    "recode and suppress": (
        mv.Step("recode", {"by": "rare", "p": 4}, ("occupation", "diagnosis")),
        mv.Step("suppress", {"k": 3, "suppressed": "wildcard"}, KEYS),
    ),
    "pram": (mv.Step("pram", {}, KEYS[:4]),),
    "noise": (mv.Step("noise", {}, NUMBERS),),
    "rank-swapping": (mv.Step("rank-swapping", {}, NUMBERS[:1]),),
}
JOBS = ("floor", "frequencies", "digest", *PLANS)


def made(records: int, scratch: Path) -> Path:
    """The table of so many records, made if it is not there yet."""
    folder = scratch / f"survey-{records}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for number, first in enumerate(range(0, records, _FILE)):
            data = mv.datasets.survey(min(_FILE, records - first), seed=number)
            table = pa.table({name: data.arrow(name) for name in COLUMNS})
            pq.write_table(table, folder / f"{number:04d}.parquet")
        schema = mv.Schema([data[n].changed(roles=("key",) if n in KEYS else (), level="record") for n in COLUMNS])
        schema.write(folder / "schema.toml")
        (folder / "complete").touch()
    return folder


def floor(folder: Path, engine: str, workers: int) -> int:
    """The plain query."""
    import duckdb

    listed = ", ".join(KEYS)
    query = f"SELECT {listed}, count(*) FROM read_parquet('{folder}/*.parquet') GROUP BY {listed}"
    return len(duckdb.connect().sql(query).to_arrow_table())


def opened(folder: Path, engine: str, workers: int) -> Any:
    schema = mv.Schema.read(folder / "schema.toml")
    session = None
    if engine == "spark":
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        options = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "1g"}
        session = SparkSession.builder.master(f"local[{workers}]").config(map=options).getOrCreate()
    return mv.open(f"{folder}/*.parquet", engine, schema, session=session)  # type: ignore[arg-type]


def frequencies(folder: Path, engine: str, workers: int) -> int:
    with opened(folder, engine, workers) as data:
        return int(data.equivalence_classes(KEYS).unique)


def digest(folder: Path, engine: str, workers: int) -> str:
    with opened(folder, engine, workers) as data:
        return str(data.digest())


def protect(job: str) -> Callable[[Path, str, int], str]:
    def carried_out(folder: Path, engine: str, workers: int) -> str:
        with tempfile.TemporaryDirectory(dir=folder.parent) as out, opened(folder, engine, workers) as data:
            release = data.protect(mv.Plan(PLANS[job], seed=SEED), Path(out) / "out")
            return "; ".join(release.provenance.notes)

    return carried_out


def run(job: str, folder: Path, engine: str, workers: int) -> None:
    """One job, in this process; prints what it took."""
    work = {"floor": floor, "frequencies": frequencies, "digest": digest}.get(job) or protect(job)
    began = time.monotonic()
    found = work(folder, engine, workers)
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    used = sum(one.ru_utime + one.ru_stime for one in (own, children))
    print(json.dumps({"wall": time.monotonic() - began, "processor": used, "peak": _peak(), "found": str(found)}))


def _peak() -> float:
    """The most memory that this process has had, in MiB; what resource says includes the program that started it."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def measured(job: str, folder: Path, engine: str, workers: int) -> dict[str, Any]:
    words = [__file__, "--one", job, "--folder", str(folder), "--engine", engine, "--workers", str(workers)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def table(sizes: Sequence[int], jobs: Sequence[str], engine: str, workers: Sequence[int], scratch: Path) -> None:
    print("| job | records | workers | processor | by the clock | peak memory | processor, of the floor | growth |")
    print("|---|---|---|---|---|---|---|---|")
    for number in workers:
        before: dict[str, tuple[int, float]] = {}
        for records in sizes:
            folder, lowest = made(records, scratch), None
            for job in jobs:
                found = measured(job, folder, engine, number)
                if "failed" in found:
                    print(f"| {job} | {records:,} | {number} | {found['failed']} | | | | |", flush=True)
                    continue
                lowest = found["processor"] if job == "floor" else lowest
                ratio = f"{found['processor'] / lowest:.1f} times" if lowest and job == "frequencies" else ""
                growth = ""
                if job in before:
                    times = found["processor"] / before[job][1]
                    growth = f"{times:.1f} times for {records / before[job][0]:.0f} times the records"
                before[job] = records, found["processor"]
                cells = f"{found['processor']:.1f} s | {found['wall']:.1f} s | {found['peak']:,.0f} MiB"
                print(f"| {job} | {records:,} | {number} | {cells} | {ratio} | {growth} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("records", nargs="*", type=int, default=[1_000_000])
    parser.add_argument("--jobs", default=",".join(JOBS), help="names with commas")
    parser.add_argument("--engine", default="duckdb", choices=["duckdb", "spark"])
    parser.add_argument("--workers", default="2", help="numbers of workers of Spark")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "engines-benchmark")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        run(asked.one, asked.folder, asked.engine, int(asked.workers))
        return
    workers = [int(number) for number in asked.workers.split(",")]
    table(asked.records, asked.jobs.split(","), asked.engine, workers, asked.scratch)


if __name__ == "__main__":
    main()
