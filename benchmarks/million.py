"""A million records through every method made for long files: time and peak memory, each in a process of its own.

Run with `python benchmarks/million.py`; the table it prints is kept in benchmarks/RESULTS.md. Methods for numbers mask
four attributes of the sample survey, the others four categorical ones. `mask` alone is timed, after a trial on a short
table that compiles the kernels.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

NUMERIC = ("age", "income", "wealth", "expenditure")
CATEGORICAL = ("region", "sex", "education", "occupation")
JOBS: dict[str, dict[str, Any]] = {
    "mdav": {"chunk": 50_000},
    "individual-ranking": {},
    "optimal-univariate": {},
    "fixed": {},
    "projection": {},
    "mic1d": {},
    "rank-swapping": {},
    "rank-swapping-distribution": {},
    "rank-swapping-buckets": {},
    "data-swapping": {},
    "pram": {},
    "noise": {},
    "noise-swapping": {},
    "rounding": {},
    "resampling": {},
    "lossy": {},
    "matrix": {},
    "sampling": {},
    "recode": {},
    "top-code": {},
    "bottom-code": {},
    "suppress": {},
    "mondrian": {},
    "global-median": {},
    "mdav-generic": {},
    "within": {"method": {"name": "mdav", "k": 3, "chunk": 50_000}},
    "synthetic": {},
    "hybrid": {"first": {"name": "noise", "alpha": 0.1}},
    "restore": {"first": {"name": "noise", "alpha": 0.1}},
}


def run(name: str, records: int) -> dict[str, float]:
    from microveil.microdata.datasets.sample_survey import survey
    from microveil.numerics.core.compiled import allowance
    from microveil.registry import find, make

    allowance.end()
    method = make("method", name, JOBS[name])
    kinds = find("method", name).kinds
    attributes = NUMERIC if "numeric" in kinds and name not in ("suppress", "mdav-generic") else CATEGORICAL
    if name == "global-median":
        attributes = ("education",)
    method.mask(survey(3000, seed=1), attributes, seed=1)
    data = survey(records, seed=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.perf_counter()
    method.mask(data, attributes, seed=1)
    taken = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": taken, "peak": peak, "data": before, "attributes": len(attributes)}


def count(records: int) -> dict[str, float]:
    """Combinations of six keys, counted."""
    import numpy as np
    import pyarrow as pa

    from microveil.microdata import Microdata
    from microveil.microdata.equivalence_classes import equivalence_classes_of

    rng = np.random.default_rng(1)
    names = [f"k{j}" for j in range(6)]
    columns = [rng.integers(0, size, records) for size in (90, 2, 5, 50, 10, 8)]
    data = Microdata.of(pa.table(dict(zip(names, columns, strict=True))), nominal=names)
    equivalence_classes_of(data.take(np.arange(100)), names)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.perf_counter()
    smallest = equivalence_classes_of(data, names).frequencies.min()
    taken = time.perf_counter() - began
    assert smallest >= 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": taken, "peak": peak, "data": before, "attributes": 6}


def measured(job: str, records: int) -> str:
    done = subprocess.run(
        [sys.executable, __file__, "--job", job, str(records)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return f"| {job} | {records:,} | | failed: {done.stderr.strip().splitlines()[-1]} | |"
    found = json.loads(done.stdout)
    memory = f"{found['peak']:,.0f} MiB | {found['data']:,.0f} MiB"
    return f"| {job} | {records:,} x {found['attributes']} | {found['seconds']:.1f} s | {memory} |"


def main() -> None:
    if sys.argv[1:2] == ["--job"]:
        job, records = sys.argv[2], int(sys.argv[3])
        print(json.dumps(count(records) if job == "counting" else run(job, records)))
        return
    print("| job | records | time | peak memory | of it before |\n|---|---|---|---|---|")
    print(measured("counting", 10_000_000), flush=True)
    for name in sys.argv[1:] or JOBS:
        print(measured(name, 1_000_000), flush=True)


if __name__ == "__main__":
    main()
