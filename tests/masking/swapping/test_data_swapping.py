"""Data swapping exchanges values between records of a cell and keeps the tables with the cells' attributes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.masking.swapping.data_swapping import DataSwapping
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.microdata.equivalence_classes import equivalence_classes_of


def table(data: Microdata, *names: str) -> dict[tuple[object, ...], int]:
    counts: dict[tuple[object, ...], int] = {}
    for row in zip(*(data.arrow(name).to_pylist() for name in names), strict=True):
        counts[row] = counts.get(row, 0) + 1
    return counts


@pytest.fixture(scope="module")
def people() -> Microdata:
    return survey(600, seed=3)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=60),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
)
@pytest.mark.spec("01:MK-3")
def test_records_exchange_in_pairs_within_their_cell(rows: list[tuple[int, int]], share: float, seed: int) -> None:
    cells = [c for c, _ in rows]
    data = Microdata.of({"cell": cells, "x": np.arange(len(rows))})
    after = DataSwapping(share=share, within=("cell",)).mask(data, ["x"], seed=seed).frame["x"].to_pylist()
    for i, j in enumerate(after):
        assert after[j] == i
        assert cells[j] == cells[i]
    most = sum(size // 2 * 2 for size in np.bincount(cells))
    assert sum(i != j for i, j in enumerate(after)) == min(most, 2 * round(share * len(rows) / 2))


@pytest.mark.spec("01:MK-3")
def test_tables_with_the_attributes_swapped_within_are_kept_and_others_are_not(people: Microdata) -> None:
    release = DataSwapping(share=0.8, within=("sex", "region")).mask(people, ["education", "age"], seed=1)
    for name in ("education", "age"):
        assert table(release.data, name, "sex", "region") == table(people, name, "sex", "region")
    assert table(release.data, "education", "occupation") != table(people, "education", "occupation")
    assert table(release.data, "education", "age") != table(people, "education", "age")


@pytest.mark.spec("01:MK-3")
def test_swapping_together_keeps_the_relations_of_the_swapped_attributes(people: Microdata) -> None:
    complete = people.take(np.flatnonzero((people.missing_states("age") == 0) & (people.missing_states("income") == 0)))
    release = DataSwapping(share=1.0, within=(), together=True).mask(complete, ["age", "income"], seed=1)
    assert table(release.data, "age", "income") == table(complete, "age", "income")
    assert table(release.data, "age", "sex") != table(complete, "age", "sex")


def test_the_strata_of_the_schema_are_the_cells_unless_others_are_given(people: Microdata) -> None:
    assert people.schema.having("stratum") == ("region",)
    kept = DataSwapping(share=1.0).mask(people, ["sex"], seed=1)
    assert table(kept.data, "sex", "region") == table(people, "sex", "region")
    free = DataSwapping(share=1.0, within=()).mask(people, ["sex"], seed=1)
    assert table(free.data, "sex", "region") != table(people, "sex", "region")
    assert table(free.data, "sex") == table(people, "sex")


@pytest.mark.spec("01:MK-3")
def test_records_with_rare_keys_are_swapped_first(people: Microdata) -> None:
    data = Microdata.of({**{n: people.arrow(n) for n in ("sex", "occupation", "education")}, "x": np.arange(600)})
    keys = ("sex", "occupation", "education")
    frequency = equivalence_classes_of(data, keys).per_record
    release = DataSwapping(share=0.1, first="rare", keys=keys).mask(data, ["x"], seed=1)
    swapped = release.frame["x"].to_numpy() != np.arange(600)
    assert swapped.sum() == 60
    # thirty pairs, in each of which one is rare
    assert (frequency[swapped] == frequency.min()).sum() >= 30
    random = DataSwapping(share=0.1).mask(data, ["x"], seed=1).frame["x"].to_numpy() != np.arange(600)
    assert (frequency[random] == frequency.min()).sum() < 30


def test_the_record_left_over_is_never_a_rare_one() -> None:
    data = Microdata.of({"key": ["a"] * 4 + ["b"], "x": [0, 1, 2, 3, 4]}, keys=["key"])
    for seed in range(20):
        after = DataSwapping(share=1.0, first="rare").mask(data, ["x"], seed=seed).frame["x"].to_pylist()
        assert after[4] != 4


def test_missing_cells_stay_and_numbers_and_texts_keep_their_type() -> None:
    data = Microdata.of({"x": [1, None, 3, 4, None, 6], "y": ["a", "b", None, "d", "e", "f"]})
    release = DataSwapping(share=1.0).mask(data, ["x", "y"], seed=1).frame
    assert [value is None for value in release["x"].to_pylist()] == [False, True, False, False, True, False]
    assert release["y"].to_pylist()[2] is None
    assert str(release["x"].type) == "int64"
    both = DataSwapping(share=1.0, together=True).mask(data, ["x", "y"], seed=1).frame
    assert sorted(zip(*(both[name].to_pylist() for name in "xy"), strict=True), key=str) == sorted(
        zip(*(data.arrow(name).to_pylist() for name in "xy"), strict=True), key=str
    )


def test_a_share_of_nothing_changes_nothing(people: Microdata) -> None:
    release = DataSwapping(share=0.0).mask(people, ["age"], seed=1)
    assert release.data.arrow("age").equals(people.arrow("age"))


def test_what_makes_no_sense_is_refused(people: Microdata) -> None:
    with pytest.raises(ParameterError, match="within = 'sex' is not allowed, for this attribute is swapped"):
        DataSwapping(within=("sex",)).mask(people, ["sex", "age"], seed=1)
    with pytest.raises(DataError, match="no attribute is a key; name the keys"):
        DataSwapping(first="rare").mask(Microdata.of({"x": [1, 2, 3]}), seed=1)
    with pytest.raises(ParameterError, match=r"share = 1\.5"):
        DataSwapping(share=1.5)
