"""Guarantees of a table in parts are those of the table in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.engines import guaranteeing
from microveil.engines.guaranteeing import REQUIRABLE
from microveil.masking.guarantees import guarantees_of

pytestmark = [
    pytest.mark.usefixtures("small_parts"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


def some_people(records: int, seed: int, *, weighted: bool) -> mv.Microdata:
    rng = np.random.default_rng(seed)
    table = {
        "sex": rng.choice(["f", "m"], records),
        "job": rng.choice(["cook", "nurse", "judge", None], records, p=[0.5, 0.3, 0.15, 0.05]),
        "age": rng.choice([20.0, 30.0, 40.0, np.nan], records),
        "ill": rng.choice(["flu", "gout", "none", None], records, p=[0.2, 0.1, 0.6, 0.1]),
        "pay": rng.integers(0, 40, records).astype(float),
        "w": rng.uniform(1, 9, records),
    }
    weight = "w" if weighted else None
    return mv.Microdata.of(pa.table(table), keys=["sex", "job", "age"], confidential=["ill", "pay"], weight=weight)


def in_files(people: mv.Microdata, folder: Path, records_of_file: int) -> Path:
    folder.mkdir()
    table = pa.table({name: people.arrow(name) for name in people.names})
    for number, first in enumerate(range(0, len(people), records_of_file)):
        pq.write_table(table.slice(first, records_of_file), folder / f"{number:03d}.parquet")
    return folder


def assert_same_guarantees(found: mv.Guarantees, expected: mv.Guarantees) -> None:
    assert (found.k, found.classes, found.records) == (expected.k, expected.classes, expected.records)
    assert found.below(4) == expected.below(4)
    for name in REQUIRABLE:
        assert found.value(name) == pytest.approx(expected.value(name), rel=1e-12), name
    assert found.sentences() == expected.sentences()
    for name, diversity in expected.diversity.items():
        for measure, of_class in diversity.per_class.items():
            np.testing.assert_allclose(found.diversity[name].per_class[measure], of_class, rtol=1e-12, atol=1e-12)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), records=st.integers(30, 300), weighted=st.booleans())
def test_what_is_counted_in_parts_is_what_is_counted_in_memory(
    seed: int, records: int, weighted: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    people = some_people(records, seed, weighted=weighted)
    folder = in_files(people, tmp_path_factory.mktemp("in") / "people", 70)
    with mv.open(folder, "duckdb", people.schema) as large:
        assert_same_guarantees(large.guarantees(), guarantees_of(people))


def test_spark_counts_what_memory_counts(spark: Any, tmp_path: Path) -> None:
    people = some_people(1_500, 1, weighted=True)
    large = mv.open(in_files(people, tmp_path / "in", 800), "spark", people.schema, session=spark)
    assert_same_guarantees(large.guarantees(), guarantees_of(people))


@pytest.mark.parametrize(("name", "holds", "fails"), [("l", 2, 4), ("t", 0.9, 0.01), ("k", 2, 900)])
def test_a_release_is_refused_unless_it_has_what_is_required(
    name: str, holds: float, fails: float, tmp_path: Path
) -> None:
    people = some_people(1_500, 2, weighted=False)
    schema = people.schema.with_roles(confidential=["ill"])
    step = mv.Step("noise", {}, ("pay",))
    with mv.open(in_files(people, tmp_path / "in", 800), "duckdb", schema) as large:
        large.protect(mv.Plan((step,), seed=3, require={name: holds}), tmp_path / "out")
        with pytest.raises(mv.MicroveilError, match=f"was to have {name} at"):
            large.protect(mv.Plan((step,), seed=3, require={name: fails}), tmp_path / "refused")
        with pytest.raises(mv.MicroveilError, match="'risk' can be required of tables in memory only"):
            large.protect(mv.Plan((step,), seed=3, require={"risk": 0.5}), tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


def test_numbers_with_very_many_values_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guaranteeing, "MOST_VALUES", 39)
    people = some_people(1_500, 2, weighted=False)
    with mv.open(in_files(people, tmp_path / "in", 800), "duckdb", people.schema) as large:
        assert large.guarantees(confidential=["ill"]).value("l") == guarantees_of(people, confidential=["ill"]).value(
            "l"
        )
        with pytest.raises(mv.MicroveilError, match="'pay' is a confidential number with more than 39 distinct values"):
            large.guarantees()
