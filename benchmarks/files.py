"""Reading and writing CSV files, against pyarrow's own reader and writer on the same file and table.

    python benchmarks/files.py [RECORDS ...]

Every table has 20 columns: whole numbers, decimals, short words, codes and a date; of 100,000 and of 1,000,000 records
by default. `clean` has no cell that is empty, quoted or a word among numbers; `missing` has empty cells and words such
as NA in half of its columns; `quotes` has texts with delimiters, quotes and line ends in them; `digits` is a release
whose ten numbers have as many digits as a double can show. Told are processor seconds of all threads together, which a
machine that is busy with other programs changes least, and the peak of the memory, each job in a process of its own
after a trial on a short file. pyarrow reads with `newlines_in_values` only where there are line ends within quotes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

SIZES = (100_000, 1_000_000)
SHORT = 1_000
FORMS = ("clean", "missing", "quotes", "digits")
JOBS = ("read", "write")
BYTES_IN_A_MIB = 2**20


def words(rng: np.random.Generator, records: int, among: list[str]) -> pa.Array:
    return pa.array(among).take(pa.array(rng.integers(0, len(among), records)))


def whole_numbers(rng: np.random.Generator, records: int) -> dict[str, np.ndarray]:
    return {
        "person": np.arange(1, records + 1),
        "age": rng.integers(0, 100, records),
        "household": rng.integers(1, 8, records),
        "postcode": rng.integers(10_000, 99_999, records),
        "income": np.rint(rng.lognormal(10, 0.7, records)).astype(np.int64),
        "hours": np.where(rng.random(records) < 0.2, -9, rng.integers(0, 60, records)),
        "year": rng.integers(1950, 2025, records),
    }


def decimals(rng: np.random.Generator, records: int) -> dict[str, np.ndarray]:
    return {
        "rent": np.round(rng.gamma(2.0, 400.0, records), 2),
        "weight": np.round(rng.uniform(50, 150, records), 4),
        "height": np.round(rng.normal(1.7, 0.1, records), 2),
        "spent": np.round(rng.gamma(2.0, 90.0, records), 1),
        "index": np.round(rng.normal(0, 1, records), 6),
    }


def texts(rng: np.random.Generator, records: int) -> dict[str, pa.Array]:
    days = np.datetime64("1950-01-01") + rng.integers(0, 20_000, records)
    return {
        "sex": words(rng, records, ["female", "male"]),
        "region": words(rng, records, [f"R{i:02d}" for i in range(16)]),
        "education": words(rng, records, ["primary", "lower secondary", "upper secondary", "bachelor", "master"]),
        "occupation": words(rng, records, [f"{a} {b}" for a in ("sales", "care", "craft") for b in ("A", "B", "C")]),
        "answer": words(rng, records, ["yes", "no", "refused"]),
        "code": words(rng, records, [f"{i:03d}" for i in range(200)]),
        "tenure": words(rng, records, ["owner", "tenant"]),
        "born": pa.array(days.astype("datetime64[D]")).cast(pa.string()),
    }


def table(form: str, records: int) -> pa.Table:
    """As columns of what stands in the file."""
    rng = np.random.default_rng(records)
    columns: dict[str, pa.Array] = {name: pa.array(values) for name, values in whole_numbers(rng, records).items()}
    columns |= {name: pa.array(values) for name, values in decimals(rng, records).items()}
    columns |= texts(rng, records)
    if form == "missing":
        columns = {
            name: with_gaps(rng, column) if i % 2 else column for i, (name, column) in enumerate(columns.items())
        }
    if form == "quotes":
        places = ["Springfield, IL", 'the "Hall"', "two\nlines", "plain", "also plain"]
        columns |= {name: words(rng, records, places) for name in ("region", "occupation", "tenure")}
    if form == "digits":
        numbers = list(columns)[1:11]
        columns |= {name: pa.array(rng.lognormal(3, 2, records)) for name in numbers}
    return pa.table(columns)


def with_gaps(rng: np.random.Generator, column: pa.Array) -> pa.Array:
    """One cell in ten empty, of numbers one in twenty a word that says so."""
    records = len(column)
    if not pa.types.is_string(column.type):
        column = pa.compute.if_else(pa.array(rng.random(records) < 0.05), "NA", column.cast(pa.string()))
    return pa.compute.if_else(pa.array(rng.random(records) < 0.1), pa.scalar(None, pa.string()), column)


def reader(library: str, form: str) -> Callable[[Path], object]:
    if library == "pyarrow":
        parsing = arrow_csv.ParseOptions(newlines_in_values=form == "quotes")
        return lambda path: arrow_csv.read_csv(path, parse_options=parsing)
    import microveil as mv

    return mv.read


def writer(library: str) -> Callable[[pa.Table, Path], object]:
    if library == "pyarrow":
        return arrow_csv.write_csv
    import microveil as mv

    return lambda written, path: mv.write(mv.Microdata.of(written), path, force=True)


def measured(job: str, library: str, path: Path, short: Path, form: str) -> dict[str, float]:
    """In a process of its own."""
    if job == "read":
        read = reader(library, form)
        read(short)
        began = time.process_time()
        held = read(path)
        used = time.process_time() - began
        assert held is not None
    else:
        write, out = writer(library), path.with_name("out.csv")
        written = as_read(path, form)
        write(as_read(short, form), out)
        began = time.process_time()
        write(written, out)
        used = time.process_time() - began
    return {"seconds": used, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def as_read(path: Path, form: str) -> pa.Table:
    """What pyarrow reads, with what it takes for dates as the texts that Microveil has."""
    held = reader("pyarrow", form)(path)
    assert isinstance(held, pa.Table)
    kept = [pa.string() if pa.types.is_temporal(field.type) else field.type for field in held.schema]
    return held.cast(pa.schema(zip(held.column_names, kept, strict=True)))


def in_a_process(job: str, library: str, path: Path, short: Path, form: str) -> dict[str, float]:
    arguments = ["--job", job, library, str(path), str(short), form]
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def row(job: str, form: str, records: int, path: Path, short: Path) -> str:
    ours, theirs = (in_a_process(job, library, path, short, form) for library in ("microveil", "pyarrow"))
    seconds = f"{ours['seconds']:.2f} | {theirs['seconds']:.2f} | {ours['seconds'] / theirs['seconds']:.2f}"
    size = path.stat().st_size / BYTES_IN_A_MIB
    return f"| {job} | {form} | {records:,} | {size:.0f} | {seconds} | {ours['peak']:,.0f} | {theirs['peak']:,.0f} |"


def main() -> None:
    if sys.argv[1:2] == ["--job"]:
        job, library, path, short, form = sys.argv[2:]
        print(json.dumps(measured(job, library, Path(path), Path(short), form)))
        return
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    print("| job | table | records | MiB | Microveil, s | pyarrow, s | ratio | peak, MiB | pyarrow's peak, MiB |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for records in sizes:
            for form in FORMS:
                path, short = Path(folder) / f"{form}.csv", Path(folder) / f"{form}-short.csv"
                for place, number in ((path, records), (short, SHORT)):
                    arrow_csv.write_csv(table(form, number), place)
                    unquoted(place, form)
                for job in JOBS:
                    print(row(job, form, records, path, short), flush=True)


def unquoted(path: Path, form: str) -> None:
    """pyarrow puts quotes around every text; files as they are met have them where they are needed."""
    if form != "quotes":
        path.write_bytes(path.read_bytes().replace(b'"', b""))


if __name__ == "__main__":
    main()
