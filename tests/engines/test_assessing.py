"""Tables longer than memory are described and assessed as they would be in memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microveil as mv
from microveil.engines.base import Engine
from microveil.engines.duckdb_engine import DuckDBEngine
from microveil.engines.large import LargeMicrodata, LargeRelease
from microveil.engines.stored import StoredTable
from microveil.errors import DataError, FileError
from microveil.masking.release import Release
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.equivalence_classes import equivalence_classes_of
from microveil.randomness import Streams
from microveil.registry import make, usual_names

RECORDS = 1500
KEYS = ("region", "job", "grade")
NUMBERS = ("age", "income", "wealth")
EXACT = ("sse", "il", "il1", "il2", "il3", "il4", "il5", "dbil", "ctbil", "ebil")


def people() -> Microdata:
    """Numbers with empty cells and with codes for missing ones; categories whose empty cells count in several ways."""
    rng = np.random.default_rng(11)
    income = rng.lognormal(8, 1, RECORDS).round(2)
    wealth = np.where(rng.random(RECORDS) < 0.05, -9.0, rng.normal(1e6, 10, RECORDS))
    table = pa.table(
        {
            "age": rng.integers(0, 90, RECORDS),
            "income": pa.array(income, mask=rng.random(RECORDS) < 0.1),
            "wealth": wealth,
            "region": pa.array(rng.choice(["n", "e", "s", "w"], RECORDS), mask=rng.random(RECORDS) < 0.04),
            "job": pa.array(rng.choice(["cook", "judge", "nurse"], RECORDS, p=[0.9, 0.09, 0.01])),
            "grade": pa.array(rng.choice(["low", "middle", "high"], RECORDS), mask=rng.random(RECORDS) < 0.03),
            "note": [f"note {i}" for i in range(RECORDS)],
        }
    )
    schema = Schema(
        [
            Attribute(name="age", kind="numeric"),
            Attribute(name="income", kind="numeric"),
            Attribute(name="wealth", kind="numeric", missing_codes=(-9,)),
            Attribute(name="region", kind="nominal", roles=("key",), missing="own category"),
            Attribute(name="job", kind="nominal", roles=("key",)),
            Attribute(
                name="grade", kind="ordinal", roles=("key",), domain=("low", "middle", "high"), missing="wildcard"
            ),
            Attribute(name="note", kind="nominal"),
        ]
    )
    return Microdata.of(table, schema)


def stored(data: Microdata, folder: Path, engine: Engine, records_of_part: int) -> LargeMicrodata:
    """The table in two files, in parts of so many records."""
    folder.mkdir(exist_ok=True)
    table = pa.table({name: data.arrow(name) for name in data.names})
    half = len(data) // 2 + 7
    files = [folder / "1.parquet", folder / "2.parquet"]
    for file, piece in zip(files, (table.slice(0, half), table.slice(half)), strict=True):
        pq.write_table(piece, file, row_group_size=311)
    return LargeMicrodata(StoredTable.of_files(files, records_of_part), data.schema, engine)


def in_memory(release: LargeRelease) -> Release:
    """The same release as a table in memory."""
    return Release(Microdata.of(pq.read_table(release.folder), release.schema), release.provenance)


PLAN = mv.Plan(
    (
        mv.Step("noise", {}, NUMBERS),
        mv.Step("pram", {}, ("region", "grade")),
        mv.Step("suppress", {"k": 4, "suppressed": "wildcard"}, KEYS),
    ),
    seed=20071,
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    with DuckDBEngine() as made:
        yield made


@pytest.fixture(scope="module")
def original() -> Microdata:
    return people()


@pytest.fixture(scope="module")
def large(original: Microdata, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> LargeMicrodata:
    return stored(original, tmp_path_factory.mktemp("original"), engine, 400)


@pytest.fixture(scope="module")
def release(large: LargeMicrodata, tmp_path_factory: pytest.TempPathFactory) -> LargeRelease:
    return large.protect(PLAN, tmp_path_factory.mktemp("release") / "out")


def numbers_of(plain: Any, label: str = "") -> Iterator[tuple[str, Any]]:
    """What a plain result holds, by where it stands."""
    if isinstance(plain, dict):
        for name, part in plain.items():
            yield from numbers_of(part, f"{label}/{name}")
    else:
        yield label, plain


def assert_same_numbers(found: Any, expected: Any) -> None:
    """Within 1e-12; in per cent too, for a loss is a difference of sums, of which the leading digits may cancel."""
    one, other = dict(numbers_of(found)), dict(numbers_of(expected))
    assert one.keys() == other.keys()
    for label, value in one.items():
        if isinstance(value, float):
            assert isclose(value, other[label], rel_tol=1e-12, abs_tol=1e-12), label
        else:
            assert value == other[label], label


def test_every_usual_loss_that_is_a_sum_says_so() -> None:
    declared = {name for name in usual_names("loss") if make("loss", name, {}).works_over != "whole table"}
    assert declared == set(EXACT)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("il", {"correspondence": "nearest"}), ("ebil", {"mode": "matrix"}), ("il-categorical", {"entropy": "matrix"})],
)
def test_parameters_that_need_all_records_at_once_say_so(name: str, parameters: dict[str, Any]) -> None:
    assert make("loss", name, parameters).works_over == "whole table"


@pytest.mark.parametrize("name", EXACT)
def test_a_loss_over_parts_is_that_in_memory(
    name: str, large: LargeMicrodata, release: LargeRelease, original: Microdata
) -> None:
    found = large.assess(release, losses=[name], attacks=[])
    expected = make("loss", name, {}).measure(original, in_memory(release))
    assert expected.value > 0
    assert found.sample == 0
    assert_same_numbers(found.losses[name].to_plain(), expected.to_plain())


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("il", {"zero": "scale"}),
        ("il1", {"zero": "skip"}),
        ("g-il", {}),
        ("sse", {"scale": "minmax"}),
        ("sse", {"scale": "none"}),
        ("ctbil", {"dimension": 3, "mode": "cells"}),
        ("ctbil", {"add_missing_category": True}),
        ("dbil", {"ordinal_distance": "unit", "add_missing_category": True}),
        ("record-entropy", {"direction": "forward"}),
        ("bivariate-counts", {}),
        ("chi-square", {}),
        ("il-categorical", {}),
        ("il-categorical", {"preset": "source-ch4-2"}),
    ],
)
def test_parameters_count_over_parts_too(
    name: str, parameters: dict[str, Any], large: LargeMicrodata, release: LargeRelease, original: Microdata
) -> None:
    measure = make("loss", name, parameters)
    found = large.assess(release, losses=[measure], attacks=[])
    assert_same_numbers(found.losses[name].to_plain(), measure.measure(original, in_memory(release)).to_plain())


def test_attributes_that_were_not_compared_are_crossed_on_the_sample(
    large: LargeMicrodata, release: LargeRelease, engine: Engine, tmp_path: Path
) -> None:
    """Tables in parts are read on the attributes that are compared."""
    crossed = make("loss", "bivariate-counts", {"crossed_with": ("job",)})
    found = large.assess(release, losses=[crossed], attacks=[], sample=300)
    assert found.losses == {}
    assert found.sampled_losses.keys() == {"bivariate-counts"}
    alone = large.protect(mv.Plan((mv.Step("pram", {}, ("job",)),), seed=1), tmp_path / "out")
    found = large.assess(alone, losses=["chi-square"], attacks=[], sample=300)
    assert found.losses == {}
    assert found.sampled_losses.keys() == {"chi-square"}


def test_combinations_are_counted_as_in_memory(
    large: LargeMicrodata, release: LargeRelease, original: Microdata
) -> None:
    found = large.assess(release, losses=[], attacks=[]).to_plain()["combinations"]
    for when, data in (("before", original), ("after", in_memory(release).data)):
        sizes = equivalence_classes_of(data, KEYS).per_record
        below = {f"below_{k}": int((sizes < k).sum()) for k in (2, 3, 5)}
        assert found[when] == {"k": int(sizes.min()), "unique": below["below_2"], **below}
    assert found["before"]["k"] == 1 < found["after"]["k"]


def test_the_size_of_parts_and_the_number_of_files_do_not_show(
    original: Microdata, engine: Engine, release: LargeRelease, tmp_path: Path
) -> None:
    assessments, descriptions = [], []
    for size in (150, 777, RECORDS):
        data = stored(original, tmp_path / str(size), engine, size)
        assessments.append(data.assess(release, sample=300).to_plain())
        descriptions.append(data.describe().to_plain())
    assert assessments[0] == assessments[1] == assessments[2]
    assert descriptions[0] == descriptions[1] == descriptions[2]


def test_what_needs_all_records_at_once_is_measured_on_a_sample(large: LargeMicrodata, release: LargeRelease) -> None:
    found = large.assess(release, sample=300)
    assert found.sample == 300
    assert "distribution" in found.sampled_losses
    assert found.risks["distance-linkage"].attacked == 300
    assert "uniqueness" not in found.risks  # who is alone among 300 may have company among all
    assert "300" in str(found)
    assert any("rather too high" in note for note in found.notes)
    assert found.risks["distance-linkage"].value == large.assess(release, sample=300).risks["distance-linkage"].value


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"standardisation": "joint"},
        {"standardisation": "minmax", "metric": "manhattan"},
        {"metric": "gower", "weights": (1.0, 2.0, 0.5, 1.0)},
        {"block": ("job",), "missing_cells": "left out"},
    ],
)
def test_persons_are_linked_with_all_released_records(
    parameters: dict[str, Any], original: Microdata, engine: Engine, tmp_path: Path
) -> None:
    """As in memory, where those drawn are attacked among all."""
    known = ("age", "income", "job", "grade")
    kept = {"missing": "own category"}
    attributes = [one.changed(roles=(), **(kept if one.is_categorical else {})) for one in original.schema]
    table = pa.table({name: original.arrow(name) for name in original.names})
    if "missing_cells" not in parameters:  # what a missing wildcard costs is a mean over the persons drawn
        table = table.set_column(1, "income", table["income"].fill_null(3000.0))
    data = Microdata.of(table, Schema(attributes))
    released = stored(data, tmp_path / "in", engine, 400).protect(
        mv.Plan((mv.Step("noise", {"alpha": 0.1}, known[:2]), mv.Step("pram", {}, known[2:])), seed=3), tmp_path / "out"
    )
    attack = make("attack", "distance-linkage", parameters)
    found = stored(data, tmp_path / "in", engine, 400).assess(released, losses=[], attacks=[attack], sample=600)
    rows = np.sort(Streams(0).generator("records to measure").choice(RECORDS, 600, replace=False))
    expected = attack.assess(data, in_memory(released)).per_record[rows]
    risk = found.risks["distance-linkage"]
    assert found.among_all == ("distance-linkage",)
    assert risk.per_record.tolist() == expected.tolist()
    assert 0 < risk.value < 100
    assert risk.low < risk.value < risk.high
    assert "600 among all" in str(found)
    assert not any("rather too high" in note for note in found.notes)


def test_a_missing_wildcard_costs_what_is_typical_where_no_person_drawn_lacks_a_cell(
    engine: Engine, tmp_path: Path
) -> None:
    """Ten records that lack most of their cells must not be nearest to everybody."""
    rng = np.random.default_rng(4)
    columns = {name: rng.normal(size=2000).round(3) for name in "abc"}
    rows = np.sort(Streams(0).generator("records to measure").choice(2000, 300, replace=False))
    emptied = np.setdiff1d(np.arange(2000), rows)[:10]
    mask = np.isin(np.arange(2000), emptied)
    table = pa.table({n: pa.array(v, mask=mask if n != "a" else None) for n, v in columns.items()})
    data = Microdata.of(table, Schema([Attribute(name=n, kind="numeric", missing="wildcard") for n in "abc"]))
    plan = mv.Plan((mv.Step("noise", {"alpha": 0.02}, tuple("abc")),), seed=1)
    large = stored(data, tmp_path / "in", engine, 400)
    released = large.protect(plan, tmp_path / "out")
    found = large.assess(released, losses=[], attacks=["distance-linkage"], sample=300).risks["distance-linkage"]
    expected = make("attack", "distance-linkage", {}).assess(data, in_memory(released)).per_record[rows]
    assert expected.mean() > 0.1
    assert found.value == pytest.approx(100 * expected.mean(), abs=3.0)
    assert (found.per_record == expected).mean() > 0.97


def test_labels_that_the_sample_does_not_have_leave_the_attack_to_the_sample(engine: Engine, tmp_path: Path) -> None:
    jobs = ["cook", "judge"] * 600
    jobs[700], jobs[900] = "pope", "king"
    data = Microdata.of({"job": jobs, "age": list(range(1200))}, keys=["job", "age"])
    large = stored(data, tmp_path / "in", engine, 400)
    plan = mv.Plan((mv.Step("recode", {"by": "rare", "p": 2, "publish": "label"}, ("job",)),), seed=1)
    found = large.assess(large.protect(plan, tmp_path / "out"), losses=[], attacks=["distance-linkage"], sample=20)
    assert found.among_all == ()
    assert found.risks["distance-linkage"].attacked == 20


def test_more_persons_than_the_sample_are_drawn_where_an_attack_asks_for_them(
    large: LargeMicrodata, release: LargeRelease
) -> None:
    asked = [make("attack", "distance-linkage", {"records": 500, "seed": seed}) for seed in (0, 0, 1)]
    first, again, other = (
        large.assess(release, losses=[], attacks=[attack], sample=50).risks["distance-linkage"] for attack in asked
    )
    assert first.attacked == again.attacked == other.attacked == 500
    assert first.per_record.tolist() == again.per_record.tolist() != other.per_record.tolist()


def test_a_block_that_is_not_known_is_refused(large: LargeMicrodata, release: LargeRelease) -> None:
    attack = make("attack", "distance-linkage", {"block": ("jobb",)})
    with pytest.raises(mv.MicroveilError, match="'jobb'"):
        large.assess(release, losses=[], attacks=[attack], sample=50)


@pytest.mark.parametrize(
    "parameters",
    [
        {"metric": "mahalanobis"},
        {"neighbours": 2},
        {"known_sizes": (2,)},
        {"direction": "masked"},
        {"one_to_one": True},
    ],
)
def test_links_that_need_all_persons_are_those_of_a_sample(
    parameters: dict[str, Any], large: LargeMicrodata, release: LargeRelease
) -> None:
    attack = make("attack", "distance-linkage", parameters)
    found = large.assess(release, losses=[], attacks=[attack], sample=200)
    assert found.among_all == ()


def test_a_sample_of_all_records_gives_the_assessment_in_memory(
    large: LargeMicrodata, release: LargeRelease, original: Microdata
) -> None:
    found, expected = large.assess(release), mv.assess(original, in_memory(release))
    assert found.sample == RECORDS
    assert {**found.losses, **found.sampled_losses}.keys() == expected.losses.keys()
    for name, loss in expected.losses.items():
        assert isclose({**found.losses, **found.sampled_losses}[name].value, loss.value, rel_tol=1e-12), name
    assert {name: risk.value for name, risk in found.risks.items()} == {
        name: risk.value for name, risk in expected.risks.items()
    }


def test_a_release_in_truth_undisguised_shows_it(large: LargeMicrodata, release: LargeRelease, tmp_path: Path) -> None:
    out = tmp_path / "as it is"
    out.mkdir()
    for number, file in enumerate(large.table.files):
        shutil.copy(file, out / f"part-{number:06d}.parquet")
    nothing_done = replace(release, folder=out, schema=large.schema)
    found = large.assess(nothing_done, sample=500)
    counts = found.to_plain()["combinations"]
    assert counts["before"] == counts["after"]
    assert {name: loss.raw for name, loss in found.losses.items()} == dict.fromkeys(EXACT, 0.0)
    assert found.risks["interval-disclosure"].value == 100
    keyless = large.schema.replacing(*(large.schema[name].changed(roles=()) for name in KEYS))
    of_numbers = LargeMicrodata(large.table, keyless, large.engine)
    nothing_done = replace(nothing_done, schema=keyless, provenance=replace(release.provenance, schema=keyless))
    linked = of_numbers.assess(nothing_done, attacks=["distance-linkage"], losses=[], sample=500)
    assert linked.among_all == ("distance-linkage",)
    assert linked.risks["distance-linkage"].value > 99


def test_keys_left_alone_keep_their_k(large: LargeMicrodata, tmp_path: Path) -> None:
    masked = large.protect(mv.Plan((mv.Step("noise", {}, NUMBERS),), seed=3), tmp_path / "out")
    found = large.assess(masked, losses=["il", "ctbil"], attacks=[])
    counts = found.to_plain()["combinations"]
    assert counts["before"] == counts["after"]
    assert found.losses["il"].value > 0
    assert "ctbil" in found.passed_over  # none of the masked attributes is categorical


def test_a_folder_is_assessed_by_the_manifest_beside_it(large: LargeMicrodata, release: LargeRelease) -> None:
    assert large.assess(release.folder, sample=200).to_plain() == large.assess(release, sample=200).to_plain()


def test_a_folder_that_its_manifest_was_not_written_for_is_refused(large: LargeMicrodata, tmp_path: Path) -> None:
    made = large.protect(mv.Plan((mv.Step("noise", {}, NUMBERS),), seed=3), tmp_path / "out")
    files = sorted(made.folder.iterdir())
    shutil.copy(files[0], files[1])
    with pytest.raises(FileError, match="does not have the files that its manifest was written for"):
        large.assess(made.folder)


def test_a_release_of_another_table_is_refused(
    release: LargeRelease, original: Microdata, engine: Engine, tmp_path: Path
) -> None:
    ages = original.arrow("age").to_numpy() + 1
    other = stored(original.with_columns({"age": pa.array(ages)}), tmp_path / "other", engine, 400)
    with pytest.raises(DataError, match="made from another table"):
        other.assess(release.folder)


def test_a_sample_of_the_records_is_refused(large: LargeMicrodata, tmp_path: Path) -> None:
    some = large.protect(mv.Plan((mv.Step("sampling", {"share": 0.5}, KEYS),), seed=3), tmp_path / "out")
    with pytest.raises(DataError, match="where it has all of its records in their order"):
        large.assess(some)


def test_a_large_table_is_described_as_in_memory(large: LargeMicrodata, original: Microdata) -> None:
    found, expected = large.describe(), mv.describe(original)
    assert str(found) == str(expected)
    assert found.records == RECORDS
    for one, other in zip(found.attributes, expected.attributes, strict=True):
        assert_same_numbers(dict(one), dict(other))


def test_beyond_so_many_distinct_values_nobody_counts(large: LargeMicrodata, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microveil.engines.describing.MOST_DISTINCT", 1000)
    rows = {row["name"]: row for row in large.describe().attributes}
    assert rows["note"]["distinct"] is None
    assert rows["note"]["distinct_above"] == 1000
    assert rows["age"]["distinct"] == 90
    assert "more than 1,000" in str(large.describe())


def test_a_bad_column_is_said_and_the_others_described(original: Microdata, engine: Engine, tmp_path: Path) -> None:
    ages = original.arrow("age").to_numpy().astype(np.float64)
    ages[700] = np.inf
    data = stored(original.with_columns({"age": pa.array(ages)}), tmp_path / "bad", engine, 400)
    rows = {row["name"]: row for row in data.describe().attributes}
    assert rows["age"]["looks_like"] == "problem"
    assert "counted from record 401 on" in rows["age"]["hint"]
    assert rows["income"]["mean"] > 0


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_measures_the_same(
    spark: Any, original: Microdata, large: LargeMicrodata, release: LargeRelease, tmp_path: Path
) -> None:
    from microveil.engines.spark_engine import SparkEngine

    data = stored(original, tmp_path / "spark", SparkEngine(spark), 800)
    asked: dict[str, Any] = {"losses": ["il", "ctbil", "distribution"], "attacks": [], "sample": 200}
    assert data.assess(release, **asked).to_plain() == large.assess(release, **asked).to_plain()
    assert data.describe().to_plain() == large.describe().to_plain()
