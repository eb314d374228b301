"""Every loss of the registry on a million records and ten attributes: time and peak memory, each in its own process.

Run with `python benchmarks/losses.py [NAME ...]`; the table it prints is kept in benchmarks/RESULTS.md. A loss for
numbers compares ten correlated, partly skewed numbers, one for categories ten categorical attributes, one for all kinds
five of each; the release has noise and PRAM. `measure` alone is timed, after a trial on a short table that compiles the
kernels; parameters are the defaults, so that losses that draw a sample say how many records and how large the error.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

NUMBERS = tuple(f"x{j}" for j in range(10))
CATEGORIES = tuple(f"c{j}" for j in range(10))
_SIZES = (2, 3, 5, 5, 8, 10, 12, 20, 30, 50)


def table(records: int) -> object:
    """Ten numbers with two common factors, four of them skewed, and ten attributes of 2 to 50 categories."""
    import pyarrow as pa

    from microveil.microdata import Microdata

    rng = np.random.default_rng(1)
    factors = rng.normal(size=(records, 2))
    columns: dict[str, np.ndarray] = {}
    for j, name in enumerate(NUMBERS):
        values = factors @ rng.normal(size=2) + rng.normal(size=records)
        columns[name] = np.exp(values) if j < 4 else values + 10
    for j, (name, size) in enumerate(zip(CATEGORIES, _SIZES, strict=True)):
        shifted = factors[:, j % 2] + rng.normal(size=records)
        columns[name] = np.clip((shifted + 3) * size / 6, 0, size - 1).astype(np.int64)
    half = len(CATEGORIES) // 2
    return Microdata.of(pa.table(columns), ordinal=CATEGORIES[:half], nominal=CATEGORIES[half:])


def run(name: str, records: int) -> dict[str, float]:
    from microveil.masking.randomising.noise import Noise
    from microveil.masking.randomising.pram import PRAM
    from microveil.numerics.core.compiled import allowance
    from microveil.registry import find, make

    allowance.end()
    kinds = find("loss", name).kinds
    attributes = NUMBERS if kinds == ("numeric",) else CATEGORIES if "numeric" not in kinds else None
    chosen = list(attributes or (*NUMBERS[:5], *CATEGORIES[:5]))
    numeric = [a for a in chosen if a in NUMBERS]
    measure = make("loss", name)
    before, taken, value, details = 0.0, 0.0, 0.0, {}
    for size in (2000, records):
        data = table(size)
        masked = Noise(alpha=0.1).mask(data, numeric, seed=1).data if numeric else data
        if len(numeric) < len(chosen):
            masked = PRAM(p=0.8).mask(masked, [a for a in chosen if a not in numeric], seed=1).data
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        began = time.perf_counter()
        loss = measure.measure(data, masked, chosen)
        taken, value, details = time.perf_counter() - began, loss.value, dict(loss.details)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sampling = {key: details[key] for key in ("sampled", "standard_error") if key in details}
    return {"seconds": taken, "peak": peak, "before": before, "value": value, **sampling}


def measured(name: str, records: int) -> str:
    done = subprocess.run(
        [sys.executable, __file__, "--job", name, str(records)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return f"| {name} | {records:,} x 10 | failed: {done.stderr.strip().splitlines()[-1]} | | | | |"
    found = json.loads(done.stdout)
    sampled = f"{found['sampled']:,.0f} records, ± {found['standard_error']:.3f}" if "sampled" in found else "all"
    memory = f"{found['peak']:,.0f} MiB | {found['before']:,.0f} MiB"
    return f"| {name} | {records:,} x 10 | {found['seconds']:.1f} s | {memory} | {found['value']:.3f} | {sampled} |"


def main() -> None:
    if sys.argv[1:2] == ["--job"]:
        print(json.dumps(run(sys.argv[2], int(sys.argv[3]))))
        return
    from microveil.registry import names

    print("| loss | records | time | peak memory | of it before | value | records used |\n" + "|---" * 7 + "|")
    for name in sys.argv[1:] or names("loss"):
        print(measured(name, 1_000_000), flush=True)


if __name__ == "__main__":
    main()
