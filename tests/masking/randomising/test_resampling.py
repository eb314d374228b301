"""Resampling: means of equally ranked values in samples of the attribute."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from microveil.errors import ParameterError
from microveil.masking.randomising.resampling import Resampling, resampled, resampled_table
from microveil.microdata import Microdata

columns = arrays(np.float64, st.integers(1, 40), elements=st.integers(-20, 20).map(float))


@pytest.mark.spec("01:MK-5")
@settings(deadline=None)
@given(columns, st.integers(1, 4), st.integers(0, 1000))
def test_it_is_the_mean_of_sorted_samples_dealt_out_by_rank(values: np.ndarray, t: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = [np.sort(np.sort(values)[rng.integers(0, len(values), len(values))]) for _ in range(t)]
    expected = np.empty(len(values))
    expected[np.argsort(values, kind="stable")] = np.mean(drawn, axis=0)
    np.testing.assert_allclose(resampled(values, t, np.random.default_rng(seed)), expected, atol=1e-12)


@pytest.mark.spec("01:MK-5")
@pytest.mark.parametrize("t", [1, 3])
def test_ranks_and_the_mean_are_kept(t: int) -> None:
    values = np.random.default_rng(1).lognormal(size=5000)
    after = Resampling(t=t).mask(Microdata.of({"x": values}), seed=2).data.numbers("x").values
    assert (np.diff(after[np.argsort(values)]) >= 0).all()
    # a mean of t resamples: five standard errors
    assert abs(after.mean() - values.mean()) < 5 * values.std() / np.sqrt(t * 5000)
    assert (after != values).mean() > 0.5


@pytest.mark.spec("01:MK-5")
def test_more_samples_move_the_values_less() -> None:
    """On average: with one seed alone, few samples may happen to lie as near as many."""
    data = Microdata.of({"x": np.random.default_rng(1).normal(size=2000)})
    moved = []
    for t in (1, 9, 81):
        after = [Resampling(t=t).mask(data, seed=seed).data.numbers("x").values for seed in range(8)]
        moved.append(np.abs(np.array(after) - data.numbers("x").values).mean())
    assert moved[0] > 1.5 * moved[1] > 2 * moved[2]


def test_a_search_begins_with_a_single_sample_which_moves_the_values_most() -> None:
    assert Resampling.searched["t"].spread(2)[0] == 1


def test_one_sample_publishes_values_of_the_original_only() -> None:
    values = np.random.default_rng(1).normal(size=50)
    after = Resampling(t=1).mask(Microdata.of({"x": values}), seed=2).data.numbers("x").values
    assert set(after) < set(values)


def test_missing_cells_stay_and_are_never_drawn() -> None:
    data = Microdata.of({"x": pa.array([1.0, None, 3.0, None, 5.0])})
    after = Resampling(t=2).mask(data, seed=1).frame["x"].to_pylist()
    assert [x is None for x in after] == [False, True, False, True, False]
    assert all(1.0 <= x <= 5.0 for x in after if x is not None)


@pytest.mark.spec("01:MK-5")
def test_a_table_is_resampled_by_records() -> None:
    people = Microdata.of({"sex": ["f"] * 600 + ["m"] * 400, "job": (["cook"] * 3 + ["nurse"]) * 250})
    table, counts = resampled_table(people, ["sex", "job"], t=50, seed=1)
    assert counts.sum() == pytest.approx(1000)
    share = table.counts / 1000
    assert (np.abs(counts - table.counts) < 5 * np.sqrt(1000 * share * (1 - share) / 50)).all()
    assert (counts != table.counts).any()
    again = resampled_table(people, ["sex", "job"], t=50, seed=1)[1]
    np.testing.assert_array_equal(counts, again)


def test_the_table_of_a_single_sample_counts_whole_records() -> None:
    people = Microdata.of({"sex": ["f"] * 6 + ["m"] * 4})
    counts = resampled_table(people, ["sex"], t=1, seed=3)[1]
    assert counts.sum() == 10
    assert (counts == np.round(counts)).all()


def test_at_least_one_sample_is_drawn() -> None:
    with pytest.raises(ParameterError, match="t = 0 is not allowed"):
        Resampling(t=0)
    with pytest.raises(ParameterError, match="t = 0 is not allowed"):
        resampled_table(Microdata.of({"x": ["a"]}), ["x"], t=0, seed=1)
