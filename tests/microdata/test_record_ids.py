"""Ids of records that are declared: the order of the records changes nothing, and bad ids are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microveil as mv
from microveil.microdata.record_ids import ContentSum, numbers_of_ids
from microveil.registry import find, names

NUMBERS, CATEGORIES = ("age", "income"), ("sex", "job")
PER_RECORD: dict[str, tuple[mv.Step, ...]] = {
    "noise": (mv.Step("noise", {"form": "correlated"}, NUMBERS),),
    "pram": (mv.Step("pram", {"compound": True}, CATEGORIES),),
    "random rounding": (mv.Step("rounding", {"mode": "random", "base": 50.0}, NUMBERS),),
    "sampling": (mv.Step("sampling", {"share": 0.3}, CATEGORIES),),
    "stratified sampling": (mv.Step("sampling", {"size": 41, "stratified": True}, CATEGORIES),),
    "one after the other": (
        mv.Step("pram", {}, CATEGORIES),
        mv.Step("sampling", {"share": 0.6}, CATEGORIES),
        mv.Step("noise", {}, NUMBERS),
    ),
}


def some_people(ids: list[Any]) -> mv.Microdata:
    rng, n = np.random.default_rng(5), len(ids)
    table = {
        "id": ids,
        "age": rng.integers(18, 90, n),
        "income": rng.lognormal(10, 1, n),
        "sex": rng.choice(["f", "m"], n),
        "job": rng.choice(["cook", "nurse", "judge", None], n),
        "area": rng.choice(["north", "south", "west"], n),
        "w": rng.uniform(1, 9, n),
    }
    return mv.Microdata.of(pa.table(table), keys=["sex", "job"], strata=["area"], weight="w", record_id="id")


@pytest.mark.parametrize("label", PER_RECORD)
@pytest.mark.parametrize("of_text", [False, True])
def test_records_in_another_order_get_the_same_cells(label: str, of_text: bool) -> None:
    ids = [f"p{i * 37 % 211}" if of_text else i * 37 - 900 for i in range(150)]
    people = some_people(ids)
    order = np.random.default_rng(1).permutation(len(people))
    plan = mv.Plan(PER_RECORD[label], seed=2**90 + 1)
    first, second = mv.protect(people, plan), mv.protect(people.take(order), plan)
    rows = np.arange(len(people)) if first.rows is None else first.rows
    of_second = order if second.rows is None else order[second.rows]
    assert sorted(of_second) == sorted(rows)
    back = first.data.take(np.searchsorted(rows, of_second))
    assert all(back.same_cells(second.data, name) for name in back.names)
    assert "id" not in first.data.names
    assert first.provenance.left_out == ("id",)


def test_the_numbers_of_a_record_are_at_the_place_that_its_id_says() -> None:
    """So that ids 0, 1, 2, ... draw as records without ids do, if the streams are the same."""
    people = some_people(list(range(60)))
    streams = mv.protect(people, mv.Plan(PER_RECORD["noise"], seed=4)).provenance.streams_of_step(people, joint=True)
    method = mv.method("noise", form="correlated")
    bare = mv.Microdata.of(people.frame, keys=["age"])
    columns = [method._mask(data, NUMBERS, streams, lambda *_: None).columns for data in (people, bare)]
    assert all(columns[0][name].equals(columns[1][name]) for name in NUMBERS)


def test_other_records_or_another_value_change_all_draws() -> None:
    people = some_people(list(range(60)))
    plan = mv.Plan(PER_RECORD["noise"], seed=4)
    changed = people.with_columns({"sex": pa.array(["f"] * 60)})
    fewer = people.take(np.arange(59))
    noise = [
        mv.protect(data, plan).data.numbers("income").values[:59] - data.numbers("income").values[:59]
        for data in (people, changed, fewer)
    ]
    assert (np.abs(noise[0] - noise[1]) > 0).all()
    assert (np.abs(noise[0] - noise[2]) > 0).all()


@given(st.permutations(range(12)), st.integers(1, 11))
def test_the_sum_of_contents_knows_no_order_and_no_parts(order: list[int], cut: int) -> None:
    columns = [pa.array([float(i % 5) for i in range(12)]), pa.array([None, *"abcabcabcab"])]
    numbers = numbers_of_ids(pa.array(range(12)), "id")
    whole = ContentSum.of(numbers, columns)
    taken = [column.take(pa.array(order)) for column in columns]
    parts = [
        ContentSum.of(numbers[order][rows], [column.take(pa.array(np.arange(12)[rows])) for column in taken])
        for rows in (slice(0, cut), slice(cut, 12))
    ]
    assert parts[0] + parts[1] == whole
    swapped = [columns[0].take(pa.array([1, 0, *range(2, 12)])), columns[1]]
    assert ContentSum.of(numbers, swapped) != whole
    assert ContentSum.of(numbers, columns[::-1]) != whole


def test_what_a_frame_or_file_holds_a_value_as_does_not_change_the_sum_of_contents() -> None:
    numbers = numbers_of_ids(pa.array([1, 2]), "id")
    for one, other in (
        (pa.array([1, 2]), pa.array([1.0, 2.0])),
        (pa.array(["a", None]), pa.array(["a", None]).dictionary_encode().dictionary_decode().cast(pa.large_string())),
        (pa.array([0.0, float("nan")]), pa.array([-0.0, None])),
    ):
        assert ContentSum.of(numbers, [one]) == ContentSum.of(numbers, [other])
    long = [pa.array([2**60, 2**60 + step]) for step in (0, 1)]
    assert ContentSum.of(numbers, [long[0]]) != ContentSum.of(numbers, [long[1]])


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([1, 2, 2], "that of an earlier one: 1"),
        (["a", "a", "a"], "that of an earlier one: 2"),
        ([1, None, 2], "is missing in 1 of"),
        (["a", None, None], "is missing in 2 of"),
        ([1.5, 2.5, 3.5], "must hold whole numbers or texts"),
        ([True, False, True], "must hold whole numbers or texts"),
    ],
)
def test_ids_that_are_none_are_refused_in_a_sentence(ids: list[Any], sentence: str) -> None:
    with pytest.raises(mv.MicroveilError, match=sentence):
        mv.Microdata.of(pa.table({"id": ids, "x": [1.0, 2.0, 3.0]}), record_id="id")


def test_the_role_makes_an_identifier_and_nothing_else() -> None:
    assert mv.Attribute(name="id", kind="nominal", role="record").roles == ("identifier", "record")  # type: ignore[call-arg]
    with pytest.raises(mv.MicroveilError, match="can have no other role"):
        mv.Microdata.of({"id": [1, 2]}, keys=["id"], record_id="id")
    with pytest.raises(mv.MicroveilError, match="only one attribute can be the id of the record"):
        mv.Schema([mv.Attribute(name=name, kind="nominal", roles=("record",)) for name in "ab"])
    with pytest.raises(mv.MicroveilError, match="have ids of their own"):
        mv.Microdata.of({"id": [1, 2], "t1": [1.0, 2.0], "t2": [2.0, 1.0]}, series="wide", record_id="id")


def test_a_manifest_makes_the_release_again_of_records_in_another_order(tmp_path: Path) -> None:
    people = some_people(list(range(80)))
    release = mv.protect(people, mv.Plan(PER_RECORD["noise"], seed=2**70))
    saved = release.save(tmp_path / "safe.csv")
    manifest = mv.read_manifest(saved.manifest)
    other = people.take(np.arange(80)[::-1])
    assert manifest.plan_for(other).seed == 2**70
    again = mv.protect(other, manifest.plan_for(other))
    assert again.data.numbers("income").values[::-1].tolist() == release.data.numbers("income").values.tolist()
    changed = people.with_columns({"sex": pa.array(["f"] * 80)})
    assert manifest.plan_for(changed).seed is None
    read = mv.read_release(saved.table, people)
    assert read.provenance.content_digest == release.provenance.content_digest
    with pytest.raises(mv.MicroveilError, match="does not have the ids of its records"):
        mv.method("noise").mask(read, ["age"])


def test_every_method_that_draws_record_by_record_is_tried() -> None:
    planned = {step.method for steps in PER_RECORD.values() for step in steps}
    drawing = {
        n for n in names("method") if find("method", n).over_records == "per record" and find("method", n).random
    }
    assert drawing <= planned
