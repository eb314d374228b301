"""Rank swapping keeps the values of a column and moves each only a little way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.microdata import Microdata


def is_valid_rank_swap(before: np.ndarray, after: np.ndarray, window: int) -> bool:
    """Whether values without ties were exchanged in pairs that are at most `window` ranks apart."""
    rank = {value: i for i, value in enumerate(sorted(before))}
    to = {rank[x]: rank[y] for x, y in zip(before, after, strict=True)}
    return sorted(after) == sorted(before) and all(to[to[r]] == r and abs(to[r] - r) <= window for r in to)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 120), p=st.floats(0, 100), seed=st.integers(0, 9999))
@pytest.mark.spec("04:RS-BASE", "03:RS-1", "05:PM-09")
def test_values_are_exchanged_in_pairs_within_the_window(n: int, p: float, seed: int) -> None:
    values = np.random.default_rng(seed).permutation(n).astype(float)
    method = RankSwapping(p=p)
    after = method.mask(Microdata.of({"x": values}), seed=seed).data.numbers("x").values
    assert is_valid_rank_swap(values, after, method.window(n))
    assert method.window(n) <= max(1, p * n / 100)


@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(st.integers(0, 4), min_size=1, max_size=60),
    seed=st.integers(0, 99),
    ties=st.sampled_from(["random", "stable"]),
)
def test_the_multiset_of_a_column_is_unchanged_also_with_ties(values: list[int], seed: int, ties: str) -> None:
    release = RankSwapping(p=30, ties=ties).mask(Microdata.of({"x": values}), seed=seed)  # type: ignore[arg-type]
    assert sorted(release.frame["x"].to_pylist()) == sorted(values)


def test_whole_numbers_stay_whole_numbers_of_any_length() -> None:
    long_enough = [2**53 - 1 - i for i in range(10)]
    release = RankSwapping(p=2, unit="positions").mask(Microdata.of({"x": long_enough}), seed=1)
    assert sorted(release.frame["x"].to_pylist()) == sorted(long_enough)
    assert str(release.frame["x"].type) == "int64"


def test_almost_every_value_moves() -> None:
    values = np.arange(1000.0)
    after = RankSwapping(p=5).mask(Microdata.of({"x": values}), seed=4).data.numbers("x").values
    assert (after == values).mean() < 0.02


def test_p_zero_changes_nothing() -> None:
    release = RankSwapping(p=0).mask(Microdata.of({"x": [3, 1, 2]}), seed=1)
    assert release.frame["x"].to_pylist() == [3, 1, 2]


def test_ordered_categories_are_swapped_in_the_order_of_the_domain() -> None:
    levels = ("none", "school", "college", "doctorate")
    data = Microdata.of({"education": [levels[i % 4] for i in range(80)]}, ordinal=["education"])
    data = data.with_schema(data.schema.replacing(data["education"].changed(domain=levels)))
    release = RankSwapping(p=10).mask(data, seed=2)
    before, after = data.categories("education").codes, release.data.categories("education").codes
    assert (np.bincount(before) == np.bincount(after)).all()
    assert 0 < np.abs(before - after).max() <= 1


def test_missing_cells_and_codes_stay_in_place() -> None:
    data = Microdata.of({"x": [5, None, -9, 1, 3, 2, None, 4]})
    data = data.with_schema(data.schema.replacing(data["x"].changed(missing_codes=(-9,))))
    after = RankSwapping(p=50).mask(data, seed=1).frame["x"].to_pylist()
    assert [after[i] for i in (1, 2, 6)] == [None, -9, None]
    assert sorted(after[i] for i in (0, 3, 4, 5, 7)) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("p", "unit"), [(101.0, "percent"), (1.5, "positions"), (-1.0, "percent")])
def test_p_must_make_sense(p: float, unit: str) -> None:
    with pytest.raises(ParameterError, match="rank-swapping: p = "):
        RankSwapping(p=p, unit=unit)  # type: ignore[arg-type]


@pytest.mark.spec("05:PM-09", "03:RS-1")
def test_the_printed_example_is_a_possible_outcome() -> None:
    """Table 2.1 of the source of specification 05, Example 2.1 of specification 03: p = 2 positions."""
    before = np.array([[8, 9, 1, 3], [6, 7, 10, 2], [10, 3, 4, 1], [7, 1, 2, 6], [9, 4, 6, 4],
                       [2, 2, 8, 8], [1, 10, 3, 9], [4, 8, 7, 10], [5, 5, 5, 5], [3, 6, 9, 7]])  # fmt: skip
    after = np.array([[10, 10, 3, 5], [5, 5, 8, 1], [8, 4, 2, 2], [9, 2, 4, 4], [7, 3, 5, 6],
                      [4, 1, 10, 10], [3, 9, 1, 7], [2, 6, 9, 8], [6, 7, 6, 3], [1, 8, 7, 9]])  # fmt: skip
    for j in range(4):
        assert is_valid_rank_swap(before[:, j], after[:, j], 2)
    wrong = after.copy()
    wrong[[0, 5], 0] = wrong[[5, 0], 0]
    assert not is_valid_rank_swap(before[:, 0], wrong[:, 0], 2)
