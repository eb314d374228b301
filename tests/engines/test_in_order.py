"""Methods that go by the order of values: a column sorted in ranges on the disk is masked as one in memory."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.engines import stored
from microveil.engines.duckdb_engine import DuckDBEngine
from microveil.engines.sending import received, send_by_number
from microveil.engines.sorted_ranges import CELL, KEY, PLACE, Keyed, in_sorted_ranges, sample_of
from microveil.numerics.grouping.univariate import labels_in_order, optimal_groups, optimal_starts
from microveil.numerics.perturbing import swapping
from microveil.progress import silent

SEED = 2**90 + 3
RECORDS, OF_PART = 1_300, 150
STEPS = {
    "swapping": mv.Step("rank-swapping", {"p": 4}, ()),
    "swapping far": mv.Step("rank-swapping", {"p": 60}, ()),
    "swapping near, as in the file": mv.Step("rank-swapping", {"p": 3, "unit": "positions", "ties": "stable"}, ()),
    "swapping again and again": mv.Step("rank-swapping", {"p": 10, "mark": False}, ()),
    "swapping nowhere": mv.Step("rank-swapping", {"p": 0}, ()),
    "buckets": mv.Step("rank-swapping-buckets", {"buckets": 9}, ()),
    "distribution": mv.Step("rank-swapping-distribution", {"p": 20}, ()),
    "ranking": mv.Step("individual-ranking", {"k": 4}, ()),
    "ranking, cut best": mv.Step("individual-ranking", {"k": 3, "partition": "optimal"}, ()),
    "ranking in the middle": mv.Step("individual-ranking", {"k": 7, "remainder": "median", "publish": "median"}, ()),
    "ranking by the most frequent": mv.Step("individual-ranking", {"k": 7, "remainder": "mode"}, ()),
    "optimal": mv.Step("optimal-univariate", {"k": 3}, ()),
    "optimal, groups longer than a range": mv.Step("optimal-univariate", {"k": 210}, ()),
    "fixed": mv.Step("fixed", {"k": 6, "publish": "mode"}, ()),
    "fixed from above": mv.Step("fixed", {"k": 6, "direction": "descending"}, ()),
    "fixed from the tail": mv.Step("fixed", {"k": 6, "direction": "auto"}, ()),
    "fixed, one group": mv.Step("fixed", {"k": 700}, ()),
}
SWAPS = tuple(label for label, step in STEPS.items() if step.method.startswith("rank-swapping"))


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts, ranges of ranks and what is exchanged at a time are short, so that every halo is crossed."""
    monkeypatch.setattr(stored, "BLOCK", OF_PART)
    monkeypatch.setattr("microveil.microdata.microdata.BLOCK", OF_PART)
    monkeypatch.setattr(swapping, "_RANGE", 40)


def awkward(records: int = RECORDS) -> mv.Microdata:
    """Ties, missing cells of several kinds, few of them and many, constants, and whole numbers."""
    rng = np.random.default_rng(11)
    sometimes = rng.random(records)
    steps = ["low", "fair", "high", "top"]
    columns = {
        "plain": pa.array(rng.lognormal(3, 1, records)),
        "tied": pa.array(rng.geometric(0.2, records)),
        "constant": pa.array(np.full(records, 2.5)),
        "gaps": pa.array(rng.normal(0, 1, records), mask=sometimes < 0.4),
        "coded": pa.array(np.where(sometimes < 0.2, -1, np.where(sometimes < 0.21, -2, rng.integers(0, 40, records)))),
        "two gaps": pa.array(rng.integers(-30, 30, records).astype(np.float64), mask=np.arange(records) % 650 == 9),
        "apart": pa.array(rng.normal(0, 1, records).astype(np.float32), mask=np.arange(records) % 400 == 7),
        "grade": pa.array(
            rng.choice([*steps, "unknown"], records, p=[0.1, 0.2, 0.4, 0.28, 0.02]), mask=sometimes > 0.97
        ),
    }
    numeric = [
        mv.Attribute(name=name, kind="numeric", missing_codes=(-1, -2) if name == "coded" else ())
        for name in columns
        if name != "grade"
    ]
    numeric[-1] = numeric[-1].changed(missing="own category")
    grade = mv.Attribute(name="grade", kind="ordinal", domain=tuple(steps), missing_codes=("unknown",))
    return mv.Microdata.of(pa.table(columns), mv.Schema([*numeric, grade]))


def in_files(people: mv.Microdata, folder: Path) -> Path:
    folder.mkdir()
    table = pa.table({name: people.arrow(name) for name in people.names})
    half = len(people) // 2
    for number, some in enumerate((table.slice(0, half), table.slice(half))):
        pq.write_table(some, folder / f"{number}.parquet", row_group_size=97)
    return folder


def released_alike(people: mv.Microdata, step: mv.Step, folder: Path, engine: Any = "duckdb", **opened: Any) -> None:
    plan = mv.Plan((step,), seed=SEED)
    expected = mv.protect(people, plan)
    source = folder / "in"
    if not source.exists():
        in_files(people, source)
    with mv.open(source, engine, people.schema, **opened) as large:
        release = large.protect(plan, folder / "out", force=True)
    found = pq.read_table(folder / "out")
    for name in people.names:
        assert found[name].combine_chunks().equals(expected.data.arrow(name)), name
    assert release.provenance.notes == expected.provenance.notes


def step_on(label: str, people: mv.Microdata) -> mv.Step:
    step = STEPS[label]
    takes_ordinal = label in SWAPS or step.method == "individual-ranking"
    return mv.Step(step.method, step.parameters, tuple(n for n in people.names if takes_ordinal or n != "grade"))


@pytest.fixture(scope="module")
def people() -> mv.Microdata:
    return awkward()


@pytest.mark.parametrize("label", STEPS)
def test_columns_of_every_kind_are_masked_as_in_memory(label: str, people: mv.Microdata, tmp_path: Path) -> None:
    released_alike(people, step_on(label, people), tmp_path)


@pytest.mark.parametrize("label", ["swapping", "ranking, cut best", "fixed"])
def test_few_records_are_masked_as_in_memory(label: str, tmp_path: Path) -> None:
    for records in (9, 13, OF_PART + 1):
        people = awkward(records)
        folder = tmp_path / str(records)
        folder.mkdir()
        released_alike(people, step_on(label, people), folder)


def test_fewer_records_than_k_are_refused_as_in_memory(tmp_path: Path) -> None:
    people = awkward(9)
    plan = mv.Plan((mv.Step("fixed", {"k": 10}, ("plain",)),), seed=SEED)
    with pytest.raises(mv.MicroveilError) as expected:
        mv.protect(people, plan)
    folder = in_files(people, tmp_path / "in")
    with mv.open(folder, "duckdb", people.schema) as large, pytest.raises(mv.MicroveilError) as found:
        large.protect(plan, tmp_path / "out")
    assert str(found.value) == str(expected.value)


def test_a_column_without_any_value_stays_as_it_is(tmp_path: Path) -> None:
    schema = mv.Schema([mv.Attribute(name="a", kind="numeric", missing_codes=(-9,))])
    people = mv.Microdata.of(pa.table({"a": pa.array([-9, None] * 200)}), schema)
    for step in (mv.Step("rank-swapping", {}, ("a",)), mv.Step("optimal-univariate", {}, ("a",))):
        released_alike(people, step, tmp_path)


def test_no_column_is_read_whole_but_where_a_method_needs_it(
    people: mv.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    whole = stored.StoredTable.column
    monkeypatch.setattr(stored.StoredTable, "column", lambda table, name: read.append(name) or whole(table, name))
    for label in ("swapping", "buckets", "ranking", "optimal", "fixed from above"):
        released_alike(people, mv.Step(STEPS[label].method, STEPS[label].parameters, ("tied",)), tmp_path)
    assert read == []
    released_alike(people, mv.Step("fixed", {"k": 4, "direction": "auto"}, ("tied",)), tmp_path)
    assert read == ["tied"]


@given(
    cells=st.lists(st.one_of(st.none(), st.integers(-3, 3), st.floats(-9, 9, width=32)), min_size=5, max_size=400),
    k=st.integers(2, 5),
    method=st.sampled_from(["rank-swapping", "optimal-univariate", "fixed"]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_column_is_masked_as_in_memory(
    cells: list[float | None], k: int, method: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    schema = mv.Schema([mv.Attribute(name="a", kind="numeric")])
    people = mv.Microdata.of(pa.table({"a": pa.array(cells, pa.float64())}), schema)
    parameters = {"p": 30} if method == "rank-swapping" else {"k": k}
    released_alike(people, mv.Step(method, parameters, ("a",)), tmp_path_factory.mktemp("any"))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_workers_of_spark_mask_as_memory_does(spark: Any, people: mv.Microdata, tmp_path: Path) -> None:
    for label in ("swapping", "optimal"):
        step = mv.Step(STEPS[label].method, STEPS[label].parameters, ("coded", "two gaps"))
        released_alike(people, step, tmp_path, "spark", session=spark)


def test_a_disk_that_fills_up_while_records_are_sorted_is_one_sentence(
    people: mv.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = in_files(people, tmp_path / "in")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("microveil.engines.sending.pa.OSFile", full)
    plan = mv.Plan((mv.Step("rank-swapping", {}, ("plain",)),), seed=SEED)
    with (
        mv.open(folder, "duckdb", people.schema) as large,
        pytest.raises(mv.MicroveilError, match="no space left on the disk; nothing was released"),
    ):
        large.protect(plan, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


# sorting and sending


@pytest.mark.parametrize("keys_of", [lambda rng: rng.random(2_000), lambda rng: np.zeros(2_000)], ids=["any", "equal"])
@pytest.mark.parametrize("numbered", [True, False])
def test_ranges_hold_all_records_in_order_and_are_of_like_length(
    keys_of: Callable[[np.random.Generator], Any], numbered: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    keys, drawn, places = keys_of(rng), rng.random(2_000), np.arange(2_000)
    parts = [slice(first, first + 250) for first in range(0, 2_000, 250)]
    samples = [sample_of(keys[part], places[part], part.start, numbered=numbered) for part in parts]

    def read(number: int) -> Keyed:
        part = parts[number]
        return Keyed(keys[part], drawn[part] if numbered else None, places[part], pa.array(places[part]))

    with DuckDBEngine() as engine:
        made = in_sorted_ranges(engine, tmp_path / "sorted", 14, samples, read, silent, "sorting")
    found = pa.Table.from_batches([made.read(number) for number in range(made.ranges)])
    expected = np.lexsort((places, drawn, keys) if numbered else (places, keys))
    assert found[PLACE].to_pylist() == expected.tolist()
    assert found[KEY].to_pylist() == keys[expected].tolist()
    assert found[CELL].to_pylist() == expected.tolist()
    assert np.diff(made.starts).max() < 2 * OF_PART
    assert made.between(140, 460)[PLACE].to_pylist() == expected[140:460].tolist()


def test_rows_reach_those_who_have_their_numbers(tmp_path: Path) -> None:
    for sender, numbers in enumerate([[7, 0, 3, 4], [], [9, 3]]):
        rows = pa.record_batch([pa.array(numbers, pa.int64())], ["n"])
        send_by_number(tmp_path, sender, rows, np.array(numbers, dtype=np.int64), (0, 3, 3, 8, 10))
    found = [[n for batch in received(tmp_path, range(3), to) for n in batch.column(0).to_pylist()] for to in range(4)]
    assert found == [[0], [], [7, 3, 4, 3], [9]]


# what is carried over from one range to the next


@pytest.mark.parametrize("window", [0, 1, 7, 90, 500])
def test_exchanges_do_not_depend_on_the_ranges(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(window).random(400)
    found = {}
    for size in (1, 13, 10_000):
        monkeypatch.setattr(swapping, "_RANGE", size)
        held = swapping.holdings_by_range(window, len(draws), lambda some: draws[some.start : some.stop])
        found[size] = [swapping.swap_partners(window, draws), np.concatenate(list(held))]
    for size in (1, 13):
        for one, whole in zip(found[size], found[10_000], strict=True):
            assert one.tolist() == whole.tolist()


@given(st.lists(st.integers(0, 25), min_size=4, max_size=60), st.integers(2, 4), st.integers(1, 20))
def test_the_best_cuts_do_not_depend_on_how_the_values_come_by(numbers: list[int], k: int, at_a_time: int) -> None:
    values = np.sort(np.array(numbers, dtype=np.float64))
    pieces = (values[first : first + at_a_time, None] for first in range(0, len(values), at_a_time))
    starts = optimal_starts(pieces, len(values), k)
    assert labels_in_order(np.arange(len(values)), starts).tolist() == optimal_groups(values, k).tolist()
