"""What every control keeps: refusals that tell nothing, answers that do not change, and a memory that outlives it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from microveil.checks.expecting import expect, expect_equal
from microveil.microdata import Attribute, Microdata, Schema
from microveil.queries import Answer, Control, QueryServer
from microveil.registry import make_of

_RECORDS = 40
_SCHEMA = Schema(
    [
        Attribute(name="sex", kind="nominal", domain=("female", "male")),
        Attribute(name="region", kind="nominal", domain=("north", "east", "south")),
        Attribute(name="age", kind="numeric"),
        Attribute(name="income", kind="numeric", roles=("confidential",), range=(0.0, 100.0)),
        Attribute(name="illness", kind="nominal", domain=("none", "flu", "cancer"), roles=("confidential",)),
    ]
)
_SETS = (
    "", " WHERE sex = 'female'", " WHERE region = 'north'", " WHERE sex = 'female' AND region <> 'north'",
    " WHERE age >= 50", " WHERE age >= 51", " WHERE age >= 200", " WHERE region IN ('north', 'east')",
)  # fmt: skip
_STATISTICS = ("COUNT(*)", "SUM(income)", "AVG(income)", "MEDIAN(income)")
_QUESTIONS = (
    *(f"SELECT {statistic} FROM data{where}" for where in _SETS for statistic in _STATISTICS),
    "SELECT COUNT(*) FROM data WHERE illness = 'flu'",
    "SELECT COUNT(*) FROM data WHERE illness = 'flu' AND sex = 'female'",
    "SELECT sex, region, COUNT(*) FROM data GROUP BY sex, region",
    "SELECT sex, SUM(income) FROM data GROUP BY sex",
)


def _table(confidential_seed: int) -> Microdata:
    """A table whose public attributes are always the same."""
    public, hidden = np.random.default_rng(1), np.random.default_rng(confidential_seed)
    columns = {
        "sex": public.choice(["female", "male"], _RECORDS),
        "region": public.choice(["north", "east", "south"], _RECORDS),
        "age": public.integers(18, 90, _RECORDS).astype(float),
        "income": hidden.uniform(0, 100, _RECORDS).round(1),
        "illness": hidden.choice(["none", "flu", "cancer"], _RECORDS, p=[0.6, 0.3, 0.1]),
    }
    return Microdata.of(pa.table(columns), _SCHEMA)


def _served(cls: type[Control], seed: int = 2, log: Path | None = None) -> QueryServer:
    control = make_of(cls, getattr(cls, "quick", {}))
    return QueryServer(_table(seed), [control], log=log, engine="arrays", key="checks")


def _outcome(answer: Answer) -> list[str | None]:
    return [cell.reason for _, cell in answer.cells] or [answer.reason]


def refusals_do_not_depend_on_confidential_values(cls: type[Control]) -> None:
    with _served(cls, seed=2) as one, _served(cls, seed=3) as other:
        for text in _QUESTIONS:
            expect_equal(_outcome(one.ask(text)), _outcome(other.ask(text)), f"the refusals of {text}")


def it_answers_something(cls: type[Control]) -> None:
    with _served(cls) as server:
        expect(any(not server.ask(text).is_refused for text in _QUESTIONS), "every question is refused")


def asking_again_tells_nothing_new(cls: type[Control]) -> None:
    with _served(cls) as server:
        for text in _QUESTIONS:
            first = server.ask(text)
            if not first.is_refused:
                expect_equal(server.ask(text), first, f"the second answer to {text}")


def what_is_in_the_log_counts_as_if_it_had_just_been_asked(cls: type[Control]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        half = len(_QUESTIONS) // 2
        with _served(cls, log=Path(folder) / "one.log") as server:
            begun = [server.ask(text) for text in _QUESTIONS[:half]]
            whole = [server.ask(text) for text in _QUESTIONS[half:]]
        with _served(cls, log=Path(folder) / "other.log") as server:
            again = [server.ask(text) for text in _QUESTIONS[:half]]
        with _served(cls, log=Path(folder) / "other.log") as server:
            later = [server.ask(text) for text in _QUESTIONS[half:]]
    expect_equal(list(map(_outcome, again)), list(map(_outcome, begun)), "the refusals of the first half")
    expect_equal(list(map(_outcome, later)), list(map(_outcome, whole)), "the refusals after the log was read again")


def an_answer_that_is_given_is_a_number_or_an_interval(cls: type[Control]) -> None:
    with _served(cls) as server:
        for text in _QUESTIONS:
            answer = server.ask(text)
            for cell in [cell for _, cell in answer.cells] or [answer]:
                held = [number for number in (cell.value, *(cell.interval or ())) if number is not None]
                expect(bool(held) != cell.is_refused, f"{text} is neither answered nor refused")
                expect(bool(np.isfinite(held).all()), f"the answer to {text} is not finite")
