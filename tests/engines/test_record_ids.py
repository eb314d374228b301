"""Ids of records that are declared: parts, files and the order of the records change no cell, in memory or not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microveil as mv
from microveil.engines import stored

pytestmark = [
    pytest.mark.usefixtures("small_parts"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

SEED = 2**100 + 9
NUMBERS, CATEGORIES = ("age", "income"), ("sex", "job")
STEPS = {
    "noise": (mv.Step("noise", {}, NUMBERS),),
    "random rounding": (mv.Step("rounding", {"mode": "random", "base": 50.0}, NUMBERS),),
    "one after the other": (
        mv.Step("pram", {}, CATEGORIES),
        mv.Step("sampling", {"size": 1_203, "stratified": True}, CATEGORIES),
        mv.Step("sampling", {"share": 0.7}, CATEGORIES),
        mv.Step("noise", {"form": "correlated"}, NUMBERS),
        mv.Step("suppress", {"k": 3, "suppressed": "wildcard"}, CATEGORIES),
    ),
}


def some_people(records: int = 2_000, *, of_text: bool = False) -> mv.Microdata:
    rng = np.random.default_rng(records)
    numbers = rng.permutation(records) - 30
    table = {
        "id": [f"p{i}" for i in numbers] if of_text else numbers,
        "age": rng.integers(18, 90, records),
        "income": rng.lognormal(10, 1, records),
        "sex": rng.choice(["f", "m"], records),
        "job": rng.choice(["cook", "nurse", "judge", None], records, p=[0.6, 0.38, 0.01, 0.01]),
        "area": rng.choice(["north", "south", "west"], records),
        "w": rng.uniform(1, 9, records),
    }
    return mv.Microdata.of(
        pa.table(table), keys=["sex", "job"], nominal=["area"], strata=["area"], weight="w", record_id="id"
    )


def in_files(people: mv.Microdata, folder: Path, files: int) -> Path:
    folder.mkdir()
    table = pa.table({name: people.arrow(name) for name in people.names})
    size = -(-len(people) // files)
    for number in range(files):
        pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet")
    return folder


def released(source: Path, plan: mv.Plan, out: Path, engine: Any, schema: mv.Schema, session: Any = None) -> pa.Table:
    large = mv.open(source, engine, schema, session=session)
    large.protect(plan, out)
    return pq.read_table(out)


@pytest.mark.parametrize("label", STEPS)
@pytest.mark.parametrize("of_text", [False, True])
def test_memory_and_engine_release_the_same_in_any_order(label: str, of_text: bool, tmp_path: Path) -> None:
    people = some_people(of_text=of_text)
    plan = mv.Plan(STEPS[label], seed=SEED)
    expected = mv.protect(people, plan)
    found = released(in_files(people, tmp_path / "in", 3), plan, tmp_path / "out", "duckdb", people.schema)
    assert found.column_names == list(expected.data.names)
    assert "id" not in found.column_names
    for name in found.column_names:
        assert found[name].combine_chunks().equals(expected.data.arrow(name)), name
    content = json.loads((tmp_path / "out.manifest.json").read_text(encoding="utf-8"))["input"]["content_digest"]
    assert content == expected.provenance.content_digest
    order = np.random.default_rng(2).permutation(len(people))
    other = released(in_files(people.take(order), tmp_path / "2", 2), plan, tmp_path / "o2", "duckdb", people.schema)
    assert other.num_rows == found.num_rows
    by = [(name, "ascending") for name in found.column_names]
    assert other.sort_by(by).equals(found.sort_by(by))


def test_spark_releases_what_memory_releases(spark: Any, tmp_path: Path) -> None:
    people = some_people(of_text=True)
    plan = mv.Plan(STEPS["one after the other"], seed=SEED)
    found = released(in_files(people, tmp_path / "in", 2), plan, tmp_path / "out", "spark", people.schema, spark)
    expected = mv.protect(people, plan)
    assert all(found[name].combine_chunks().equals(expected.data.arrow(name)) for name in found.column_names)


@pytest.mark.parametrize("at_hand", [100, 10**6])
def test_ids_that_are_none_are_refused_in_a_sentence(
    at_hand: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "_IDS_AT_HAND", at_hand)
    people, plan = some_people(), mv.Plan(STEPS["noise"], seed=SEED)
    bare = people.schema.with_roles(record=[])
    ids = people.arrow("id").to_pylist()
    for number, (wrong, sentence) in enumerate(
        (
            ([*ids[:-1], ids[3]], "that of an earlier one: 1"),
            ([f"p{i}" for i in [*ids[:-2], ids[3], ids[900]]], "that of an earlier one: 2"),
            ([*ids[:-1], None], "is missing in 1 of"),
            ([i + 0.5 for i in ids], "must hold whole numbers or texts"),
        )
    ):
        table = {name: people.arrow(name) for name in people.names} | {"id": pa.array(wrong)}
        source = in_files(mv.Microdata.of(pa.table(table), bare), tmp_path / f"in-{number}", 2)
        with (
            pytest.raises(mv.MicroveilError, match=sentence),
            mv.open(source, "duckdb", bare, record_id="id") as large,
        ):
            large.protect(plan, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with mv.open(in_files(people, tmp_path / "in", 2), "duckdb", bare, record_id="id") as large:
        large.protect(plan, tmp_path / "out")


def test_different_texts_with_the_same_number_are_no_repeated_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = some_people(1_500, of_text=True)
    source = in_files(people, tmp_path / "in", 1)
    monkeypatch.setattr(stored, "numbers_of_ids", lambda ids, name: np.arange(len(ids), dtype=np.uint64))
    with mv.open(source, "duckdb", people.schema) as large:
        large.protect(mv.Plan(STEPS["noise"], seed=SEED), tmp_path / "out")
    assert (tmp_path / "out").is_dir()


def test_blocks_of_neighbours_do_not_depend_on_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microveil.engines.in_blocks.BLOCK_RECORDS", 300)
    people, plan = some_people(), mv.Plan((mv.Step("mdav", {"k": 3}, NUMBERS),), seed=SEED)
    order = np.random.default_rng(2).permutation(len(people))
    with_income = [
        released(in_files(data, tmp_path / label, 2), plan, tmp_path / f"out-{label}", "duckdb", people.schema)
        for label, data in (("a", people), ("b", people.take(order)))
    ]
    np.testing.assert_allclose(
        with_income[1]["income"].to_numpy(), with_income[0]["income"].to_numpy()[order], rtol=1e-12
    )


def test_the_command_line_takes_a_record_id(tmp_path: Path, run: Callable[..., Any]) -> None:
    people = some_people()
    in_files(people, tmp_path / "in", 2)
    words = [
        "--keys",
        "sex,job",
        "--record-id",
        "id",
        "--method",
        "noise",
        "--attributes",
        "income",
        "--seed",
        hex(SEED),
    ]
    told = run("protect", str(tmp_path / "in"), "--engine", "duckdb", *words, "--out", str(tmp_path / "out"))
    assert told.status == 0
    mv.write(people.take(np.arange(2_000)[::-1]), tmp_path / "people.parquet")
    run("protect", str(tmp_path / "people.parquet"), *words, "--out", str(tmp_path / "safe.parquet"))
    one, other = (pq.read_table(tmp_path / name) for name in ("out", "safe.parquet"))
    assert "id" not in one.column_names
    assert one["income"].to_pylist() == other["income"].to_pylist()[::-1]
