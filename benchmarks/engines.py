"""Tables longer than memory, by DuckDB on one machine and by Spark: time, peak memory and growth with the records.

    python benchmarks/engines.py 1000000 10000000 100000000 --scratch FOLDER    # all jobs, each in a process of its own
    python benchmarks/engines.py 10000000 --engine spark --workers 1,2 --scratch FOLDER
    python benchmarks/engines.py 100000000 --jobs frequencies,noise --scratch FOLDER

The table is the sample survey, eight columns of it, in Parquet files of a million records, which are made first and
kept in the scratch folder, as are the releases that the losses are measured on. Every finished job is a line of
`engines-results.csv` beside this script, and what stands there is not measured again unless told to (`--again`), so
the benchmark adds up over several runs; the tables printed at the end are made from it.

`floor` is the plain query of DuckDB that counts combinations of the same six keys. The losses compare a release with
its original, their digests included: `il` on two numbers to which noise was added, `contingency` (ctbil) on four
attributes masked by pram; `linkage` links persons drawn at random with all records of the former. Times are those of
the processor, and by the clock. The memory is that of the process at its peak, with all it has loaded; with Spark it
is that of the driver, and beside it that of all processes together, Java included, where pages that processes share
count for each. A worker of Spark is one thread.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from kept_rows import commit, keep, kept

import microveil as mv

RESULTS = Path(__file__).with_name("engines-results.csv")
COLUMNS = ("region", "sex", "education", "occupation", "health", "diagnosis", "income", "wealth")
KEYS, NUMBERS = COLUMNS[:6], COLUMNS[6:]
SEED = 2**90 + 11
PLANS = {
    "recode and suppress": (
        mv.Step("recode", {"by": "rare", "p": 4}, ("occupation", "diagnosis")),
        mv.Step("suppress", {"k": 3, "suppressed": "wildcard"}, KEYS),
    ),
    "suppress to a category": (mv.Step("suppress", {"k": 3, "suppressed": "own category"}, KEYS),),
    "pram": (mv.Step("pram", {}, KEYS[:4]),),
    "noise": (mv.Step("noise", {}, NUMBERS),),
    "rank-swapping": (mv.Step("rank-swapping", {}, NUMBERS[:1]),),
    "individual-ranking": (mv.Step("individual-ranking", {"k": 5}, NUMBERS[:1]),),
    "optimal-univariate": (mv.Step("optimal-univariate", {"k": 5}, NUMBERS[:1]),),
    "fixed": (mv.Step("fixed", {"k": 5}, NUMBERS[:1]),),
    "release for contingency": (mv.Step("pram", {}, KEYS[:4]),),
    "release for il": (mv.Step("noise", {}, NUMBERS),),
}
LOSSES = {"il": "il", "contingency": "ctbil"}
RELEASE_OF = {"il": "il", "contingency": "contingency", "linkage": "il"}  # what is compared with its original
WANTED = {
    "duckdb": ("floor", "frequencies", "digest", "describe", *list(PLANS)[:8], *RELEASE_OF),
    "spark": ("frequencies", "pram", "noise", "rank-swapping", *LOSSES),
}
_FILE = 1_000_000
_WATCHED_EVERY = 0.25  # seconds


@dataclass(frozen=True)
class Row:
    """One job that was measured."""

    engine: str
    workers: int
    job: str
    records: int
    processor: float
    wall: float
    peak: float
    peak_of_all: float
    found: str
    commit: str

    @property
    def key(self) -> tuple[str, int, str, int]:
        return self.engine, self.workers, self.job, self.records


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


def release_for(job: str, folder: Path) -> Path:
    """Where the release is that a loss or an attack is measured on."""
    return folder.with_name(f"{folder.name}-{RELEASE_OF.get(job, job)}")


# the jobs, each in a process of its own


def opened(folder: Path, engine: str, workers: int) -> Any:
    schema = mv.Schema.read(folder / "schema.toml")
    session = None
    if engine == "spark":
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        options: dict[str, Any] = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": "1g",
        }
        session = SparkSession.builder.master(f"local[{workers}]").config(map=options).getOrCreate()
    return mv.open(f"{folder}/*.parquet", engine, schema, session=session)  # type: ignore[arg-type]


def floor(folder: Path, engine: str, workers: int) -> int:
    """The plain query."""
    import duckdb

    listed = ", ".join(KEYS)
    query = f"SELECT {listed}, count(*) FROM read_parquet('{folder}/*.parquet') GROUP BY {listed}"
    return len(duckdb.connect().sql(query).to_arrow_table())


def frequencies(folder: Path, engine: str, workers: int) -> int:
    with opened(folder, engine, workers) as data:
        return int(data.equivalence_classes(KEYS).unique)


def digest(folder: Path, engine: str, workers: int) -> str:
    with opened(folder, engine, workers) as data:
        return str(data.digest())


def describe(folder: Path, engine: str, workers: int) -> str:
    with opened(folder, engine, workers) as data:
        rows = {row["name"]: row for row in data.describe().attributes}
        return "; ".join(f"mean of {name} {rows[name]['mean']:.2f}" for name in NUMBERS)


def loss(job: str) -> Callable[[Path, str, int], str]:
    def measured_by(folder: Path, engine: str, workers: int) -> str:
        with opened(folder, engine, workers) as data:
            found = data.assess(release_for(job, folder), losses=[LOSSES[job]], attacks=[])
            return f"{found.losses[LOSSES[job]].value:.6f}"

    return measured_by


def linkage(folder: Path, engine: str, workers: int) -> str:
    """Persons drawn at random are linked with all released records."""
    with opened(folder, engine, workers) as data:
        found = data.assess(release_for("linkage", folder), losses=[], attacks=["distance-linkage"])
        risk = found.risks["distance-linkage"]
        return f"{risk.value:.2f} % of {risk.attacked}, {risk.low:.2f} to {risk.high:.2f}"


def protect(job: str) -> Callable[[Path, str, int], str]:
    def carried_out(folder: Path, engine: str, workers: int) -> str:
        with tempfile.TemporaryDirectory(dir=folder.parent) as out, opened(folder, engine, workers) as data:
            release = data.protect(mv.Plan(PLANS[job], seed=SEED), Path(out) / "out")
            return "; ".join(release.provenance.notes)

    return carried_out


def keep_release(job: str) -> Callable[[Path, str, int], str]:
    def carried_out(folder: Path, engine: str, workers: int) -> str:
        with opened(folder, engine, workers) as data:
            data.protect(mv.Plan(PLANS[f"release for {job}"], seed=SEED), release_for(job, folder), force=True)
            return ""

    return carried_out


def work_of(job: str) -> Callable[[Path, str, int], Any]:
    alone = {"floor": floor, "frequencies": frequencies, "digest": digest, "describe": describe, "linkage": linkage}
    if job in alone:
        return alone[job]
    if job in LOSSES:
        return loss(job)
    kept = job.removeprefix("release for ")
    return protect(job) if kept == job else keep_release(kept)


def run(job: str, folder: Path, engine: str, workers: int) -> None:
    """One job, in this process; prints what it took."""
    began = time.monotonic()
    found = work_of(job)(folder, engine, workers)
    wall = time.monotonic() - began
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    used = sum(one.ru_utime + one.ru_stime for one in (own, children))
    print(json.dumps({"wall": wall, "processor": used, "peak": peak_mib(), "found": str(found)}))


def peak_mib() -> float:
    """The most memory that this process has had, in MiB; what resource says includes the program that started it."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


# who starts them


class Watch:
    """What a process and all that it has started use, as seen every quarter of a second."""

    def __init__(self, process: int) -> None:
        self.process, self.peak, self.seconds = process, 0.0, dict[int, float]()

    @property
    def processor(self) -> float:
        return sum(self.seconds.values())

    def look(self) -> None:
        page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
        held = 0
        for process, words in self._family():
            self.seconds[process] = (int(words[11]) + int(words[12])) / tick
            held += int(words[21]) * page
        self.peak = max(self.peak, held / 2**20)

    def _family(self) -> Iterator[tuple[int, list[str]]]:
        stats: dict[int, list[str]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    stats[int(entry.name)] = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                except OSError:  # it has ended
                    continue
        family = {self.process}
        for process in sorted(stats):  # as a rule a process has a larger number than the one that started it
            if int(stats[process][1]) in family:
                family.add(process)
        return ((process, stats[process]) for process in family if process in stats)


def measured(job: str, folder: Path, engine: str, workers: int) -> dict[str, Any]:
    words = [__file__, "--one", job, "--folder", str(folder), "--engine", engine, "--workers", str(workers)]
    alone = {"MICROVEIL_THREADS": "1"} if engine == "spark" else {}
    with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as wrong:
        started = subprocess.Popen([sys.executable, *words], stdout=told, stderr=wrong, env=os.environ | alone)
        watch = Watch(started.pid)
        while started.poll() is None:
            watch.look()
            time.sleep(_WATCHED_EVERY)
        for stream in (told, wrong):
            stream.seek(0)
        if started.returncode:
            return {"failed": (wrong.read().strip().splitlines() or ["ended without a word"])[-1]}
        found: dict[str, Any] = json.loads(told.read().strip().splitlines()[-1])
    if engine == "spark":
        found["processor"] = watch.processor
    return found | {"peak_of_all": watch.peak}


def finished() -> dict[tuple[str, int, str, int], Row]:
    """What was measured before, the last time that it was."""
    return {row.key: row for row in kept(Row, RESULTS)}


def measure(
    sizes: Sequence[int], jobs: Sequence[str], engine: str, workers: Sequence[int], scratch: Path, *, again: bool
) -> None:
    """Every job that has not been measured; each is a line of the results as soon as it is done."""
    for records, number, job in product(sizes, workers, jobs):
        if not again and (engine, number, job, records) in finished():
            continue
        folder, version = made(records, scratch), commit()
        found = prepared(job, folder) or measured(job, folder, engine, number)
        if "failed" in found:
            print(f"{job}, {records:,}, {engine}: {found['failed']}", flush=True)
            continue
        used, wall, peak, of_all = (round(found[name], 1) for name in ("processor", "wall", "peak", "peak_of_all"))
        row = Row(engine, number, job, records, used, wall, peak, of_all, found["found"], version)
        keep(row, RESULTS)
        print(f"{row.job}, {row.records:,}, {engine}: {row.processor} s, {row.peak:,.0f} MiB", flush=True)


def prepared(job: str, folder: Path) -> dict[str, Any]:
    """The release that a loss or an attack is measured on, made if it is not there yet; says what went wrong."""
    if job not in RELEASE_OF or release_for(job, folder).exists():
        return {}
    found = measured(f"release for {RELEASE_OF[job]}", folder, "duckdb", 1)
    return found if "failed" in found else {}


def table(engine: str) -> None:
    """Everything that was measured with an engine, with the growth from each number of records to the next."""
    rows = {key: row for key, row in finished().items() if row.engine == engine}
    order = {job: position for position, job in enumerate(WANTED[engine])}
    print(f"\n{engine}\n")
    print(
        "| job | records | workers | processor | by the clock | peak memory | all processes | of the floor | growth |"
    )
    print("|" + "---|" * 9)
    for row in sorted(rows.values(), key=lambda row: (row.workers, row.records, order.get(row.job, 99))):
        lowest = rows.get((engine, row.workers, "floor", row.records))
        ratio = f"{row.processor / lowest.processor:.1f} times" if lowest and row.job == "frequencies" else ""
        fewer = [one for one in rows.values() if one.key[:3] == row.key[:3] and one.records < row.records]
        growth = ""
        if fewer:
            before = max(fewer, key=lambda one: one.records)
            times = row.processor / before.processor
            growth = f"{times:.1f} times for {row.records / before.records:.0f} times the records"
        seconds = f"{row.processor:.1f} s | {row.wall:.1f} s"
        memory = f"{row.peak:,.0f} MiB | {row.peak_of_all:,.0f} MiB"
        print(f"| {row.job} | {row.records:,} | {row.workers} | {seconds} | {memory} | {ratio} | {growth} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("records", nargs="*", type=int, help="numbers of records; none: print what was measured")
    parser.add_argument("--jobs", help="names with commas; unset: all of the engine")
    parser.add_argument("--engine", default="duckdb", choices=["duckdb", "spark"])
    parser.add_argument("--workers", default="2", help="numbers of workers of Spark")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "engines-benchmark")
    parser.add_argument("--again", action="store_true", help="measure anew what was measured before")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        run(asked.one, asked.folder, asked.engine, int(asked.workers))
        return
    workers = [int(number) for number in asked.workers.split(",")]
    jobs = asked.jobs.split(",") if asked.jobs else WANTED[asked.engine]
    measure(asked.records, jobs, asked.engine, workers, asked.scratch, again=asked.again)
    for engine in WANTED:
        table(engine)


if __name__ == "__main__":
    main()
