"""What the guard costs: questions to a guarded database against DuckDB itself, and the audit after many questions.

    python benchmarks/queries.py                 # all of it
    python benchmarks/queries.py --records 100000

The first table has the processor time of a question at so many records, in this process and in that of the engine
together, and the ratio to the same SQL asked of DuckDB in this process with one thread. The second has that of the
audit's decision after so many answered questions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import microveil as mv
from microveil.microdata import Microdata
from microveil.numerics.auditing.row_space import RowSpace, prime_from

CONTROLS = {
    "none": [],
    "set-size": ["set-size k=5"],
    "set-size, audit": ["set-size k=5", "audit"],
    "overlap": ["overlap limit=1000000"],
    "output-noise": ["output-noise"],
    "random-sample": ["random-sample"],
    "intervals": ["intervals"],
}


def table(records: int) -> Microdata:
    rng = np.random.default_rng(1)
    columns = {
        "sex": rng.choice(["female", "male"], records),
        "region": rng.choice([f"region {number}" for number in range(50)], records),
        "age": rng.integers(18, 90, records).astype(float),
        "income": rng.lognormal(10, 1, records).round(0),
    }
    return Microdata.of(pa.table(columns), nominal=["sex", "region"], confidential=["income"])


def seconds_each(asks: list[Callable[[], object]], *others: int) -> float:
    """Processor seconds of a question, in this process and in others."""
    clocks = [time.CLOCK_PROCESS_CPUTIME_ID, *(~process << 3 | 2 for process in others)]  # as Linux numbers them
    began = sum(map(time.clock_gettime, clocks))
    for ask in asks:
        ask()
    return (sum(map(time.clock_gettime, clocks)) - began) / len(asks)


def overhead(records: int, questions: int) -> None:
    data = table(records)
    texts = [
        f"SELECT SUM(income) FROM data WHERE age >= {20 + number} AND age < {50 + number % 30} AND sex = 'female'"
        for number in range(questions)
    ]
    plain = duckdb.connect()
    columns = {name: data.arrow(name) for name in data.names}
    plain.register("incoming", pa.table(columns))
    plain.execute("CREATE TABLE data AS SELECT * FROM incoming")
    plain.execute("SET threads = 1")
    plain.execute(texts[0]).fetchone()
    base = seconds_each([lambda text=text: plain.execute(text).fetchone() for text in texts])  # type: ignore[misc]
    print(f"\n{records:,} records, mean of {questions} questions; DuckDB itself: {1000 * base:.2f} ms\n")
    print("| controls | processor ms a question | times DuckDB |\n|---|---|---|")
    for label, controls in CONTROLS.items():
        with mv.QueryServer(data, controls) as server:
            server.ask("SELECT SUM(income) FROM data")
            engine: Any = server.database.engine
            guarded = seconds_each([lambda text=text: server.ask(text) for text in texts], engine.process.pid)  # type: ignore[misc]
        print(f"| {label} | {1000 * guarded:.2f} | {guarded / base:.1f} |", flush=True)


def audit(records: int, most: int) -> None:
    rng = np.random.default_rng(2)
    primes = (prime_from(12345), prime_from(98765))
    space = RowSpace.of(records, primes)
    space.with_answer(np.arange(3))  # compiles
    print(f"\nthe audit, {records:,} records, random halves of the records\n")
    print("| answered questions | records told apart | processor ms a decision |\n|---|---|---|")
    asked = 0
    for goal in (10, 100, 300, most):
        while asked < goal:
            space = space.with_answer(np.flatnonzero(rng.random(records) < 0.5))
            asked += 1
        began = time.process_time()
        after = space.with_answer(np.flatnonzero(rng.random(records) < 0.5))
        after.determined()
        taken = time.process_time() - began
        print(f"| {goal:,} | {len(np.unique(space.atoms)):,} | {1000 * taken:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000, help="of the table")
    parser.add_argument("--questions", type=int, default=30, help="whose mean is taken")
    parser.add_argument("--audited", type=int, default=2_000, help="records of the audit")
    parser.add_argument("--most", type=int, default=1_000, help="questions of the audit")
    asked = parser.parse_args()
    overhead(asked.records, asked.questions)
    audit(asked.audited, asked.most)


if __name__ == "__main__":
    main()
