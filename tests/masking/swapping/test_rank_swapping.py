"""Rank swapping keeps the values of a column and moves each only a little way."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from microveil.errors import DataError, ParameterError
from microveil.losses.numeric.moments import IL
from microveil.masking.base import Method
from microveil.masking.plan import Plan
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.masking.swapping.rank_swapping_buckets import RankSwappingBuckets
from microveil.masking.swapping.rank_swapping_distribution import RankSwappingDistribution
from microveil.masking.swapping.ranks import Unit, _shares, _smoothed, ascending, ranks
from microveil.microdata import Microdata, datasets
from microveil.numerics.perturbing.swapping import is_valid_rank_swap
from microveil.protection import protect
from reproduction import swapping

EIA = datasets.COLUMNS["eia"]
METHODS = [RankSwapping(), RankSwappingDistribution(), RankSwappingBuckets()]


def moves(method: Method, n: int, seed: int) -> np.ndarray:
    """How many ranks the value at each rank moves up."""
    values = np.arange(float(n))
    after = method.mask(Microdata.of({"x": values}), seed=seed).data.numbers("x").values
    return np.argsort(after) - values


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
    data = Microdata.of({"education": [levels[i % 4] for i in range(80)]}, ordinal={"education": levels})
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


@pytest.mark.spec("05:PM-09", "03:RS-1", "04:RS-BASE")
def test_the_printed_example_is_a_possible_outcome() -> None:
    """Marés (2013), Table 2.1, and Nin (2008), Example 4.1: p = 2 positions."""
    before, after = np.array(swapping.X), np.array(swapping.SWAPPED)
    assert is_valid_rank_swap(before, after, 2)
    assert not is_valid_rank_swap(before, after, 1)
    wrong = after.copy()
    wrong[[0, 5], 0] = wrong[[5, 0], 0]
    assert not is_valid_rank_swap(before, wrong, 2)


@pytest.mark.spec("05:PM-09")
@settings(max_examples=40, deadline=None)
@given(values=st.lists(st.integers(0, 6), min_size=2, max_size=60), seed=st.integers(0, 99), p=st.floats(0, 60))
def test_values_with_ties_are_swapped_within_the_window_too(values: list[int], seed: int, p: float) -> None:
    method = RankSwapping(p=p)
    after = method.mask(Microdata.of({"x": values}), seed=seed).frame["x"].to_pylist()
    assert is_valid_rank_swap(values, after, method.window(len(values)))


@pytest.mark.spec("05:PM-09", "04:RS-BASE")
def test_a_percentage_is_rounded_down_or_to_the_nearest_but_allows_one_rank() -> None:
    assert [RankSwapping(p=p).window(250) for p in (0, 0.1, 1.1, 2.9, 100)] == [0, 1, 2, 7, 250]
    assert [RankSwapping(p=p, rounding="round").window(250) for p in (0, 0.1, 1.1, 2.9, 100)] == [0, 1, 3, 7, 250]
    assert RankSwapping(p=3, unit="positions").window(250) == 3


@pytest.mark.spec("04:RS-BASE")
def test_without_marking_values_drift_beyond_p() -> None:
    assert np.abs(moves(RankSwapping(p=20, unit="positions", mark=False), 1000, seed=1)).max() > 20
    assert np.abs(moves(RankSwapping(p=20, unit="positions"), 1000, seed=1)).max() == 20


@pytest.mark.spec("05:PM-09")
@pytest.mark.parametrize("method", METHODS)
def test_nominal_attributes_are_swapped_in_their_declared_order_only(method: Method) -> None:
    data = Microdata.of({"job": ["cook", "nurse", "clerk"] * 40})
    with pytest.raises(DataError, match=r"'job' is nominal and its schema declares no domain, so .* has no order"):
        method.mask(data, seed=1)
    data = data.with_schema(data.schema.replacing(data["job"].changed(domain=("nurse", "cook", "clerk"))))
    before, after = data.categories("job").codes, method.mask(data, seed=1).data.categories("job").codes
    assert (np.bincount(before) == np.bincount(after)).all()
    assert 0 < (before != after).mean() < 0.6


# --- moves with a distribution ---------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(st.integers(0, 30), min_size=1, max_size=80),
    seed=st.integers(0, 99),
    shift=st.sampled_from(["normal", "uniform", "exponential", "geometric", (1.0, 0.0, 2.0)]),
    buckets=st.integers(1, 50),
    renormalise=st.booleans(),
)
@pytest.mark.spec("04:RS-PD", "04:RS-PB", "04:RS-PX")
def test_values_are_exchanged_in_pairs_whatever_the_distribution(
    values: list[int], seed: int, shift: str | tuple[float, ...], buckets: int, renormalise: bool
) -> None:
    data = Microdata.of({"x": values})
    for method in (
        RankSwappingDistribution(p=20, shift=shift),  # type: ignore[arg-type]
        RankSwappingBuckets(buckets=buckets, bucket_weights=shift, renormalise=renormalise),  # type: ignore[arg-type]
    ):
        assert is_valid_rank_swap(values, method.mask(data, seed=seed).frame["x"].to_pylist(), len(values))


@pytest.mark.spec("04:RS-PD")
def test_all_values_but_one_find_a_partner_and_moves_have_no_limit() -> None:
    up = moves(RankSwappingDistribution(p=5), 2001, seed=3)
    assert (up == 0).sum() == 1
    assert np.abs(up).max() > 150


@pytest.mark.spec("04:RS-PD")
def test_the_first_value_moves_by_a_normal_number_above_zero() -> None:
    """Nothing is taken yet, so its move up to p has probability 0.6827 / 0.8413 and up to p/2 has 0.3413 / 0.8413."""
    method = RankSwappingDistribution(p=60, unit="positions")
    first = np.array([method._exchange(400, np.random.default_rng(seed))[0] for seed in range(3000)])
    for limit, probability in ((60.5, 0.6826 / 0.8373), (30.5, 0.3439 / 0.8373)):  # moves are whole and not 0
        assert abs((first <= limit).mean() - probability) < 4 * np.sqrt(probability * (1 - probability) / 3000)


@pytest.mark.spec("04:RS-PX")
def test_uniform_moves_are_plain_rank_swapping() -> None:
    for seed in range(10):
        up = moves(RankSwappingDistribution(p=7, unit="positions", shift="uniform"), 300, seed)
        assert np.abs(up).max() <= 7
        assert (up == 0).sum() < 10


@pytest.mark.spec("04:RS-PX")
def test_a_function_is_kept_as_a_table_so_that_the_release_can_be_made_again() -> None:
    data = Microdata.of({"x": np.arange(300.0)})
    for method in (
        RankSwappingDistribution(p=20, shift=lambda way: 1 - way),
        RankSwappingBuckets(buckets=12, bucket_weights=lambda between: 1 / (1 + between)),
    ):
        release = method.mask(data, seed=4)
        again = protect(data, Plan.from_plain(tomllib.loads(release.plan.to_toml())))
        assert again.data.digest() == release.data.digest()
    assert RankSwappingBuckets(buckets=3, bucket_weights=lambda b: 1 / (1 + b)).bucket_weights == (1, 1 / 2, 1 / 3)
    up = moves(RankSwappingDistribution(p=20, unit="positions", shift=lambda way: way > 0.5), 300, seed=1)
    assert set(np.abs(up[up != 0])) <= set(range(11, 21))


@pytest.mark.parametrize("weights", [(), (0.0, 0.0), (-1.0, 2.0), lambda _: float("nan")])
def test_weights_must_make_a_distribution(weights: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="rank-swapping-distribution: shift: the weights must be"):
        RankSwappingDistribution(shift=weights)
    with pytest.raises(ParameterError, match="rank-swapping-buckets: bucket_weights: the weights must be"):
        RankSwappingBuckets(bucket_weights=weights)


def test_weights_need_not_add_up_to_one() -> None:
    up = moves(RankSwappingDistribution(p=20, unit="positions", shift=(0.0, 0.5)), 300, seed=1)
    assert set(np.abs(up[up != 0])) <= set(range(11, 21))
    within = moves(RankSwappingBuckets(buckets=10, bucket_weights=(0.25,)), 300, seed=1)
    assert 0 < np.abs(within).max() < 30  # each stays in its own bucket of 30


@pytest.mark.spec("04:RS-PD")
def test_p_zero_and_single_values_change_nothing() -> None:
    for method in (RankSwappingDistribution(p=0), RankSwappingBuckets()):
        one = Microdata.of({"x": [3.0]})
        assert method.mask(one, seed=1).frame["x"].to_pylist() == [3.0]
    assert (moves(RankSwappingDistribution(p=0), 50, seed=1) == 0).all()
    assert np.abs(moves(RankSwappingDistribution(p=0.01), 50, seed=1)).min() >= 1


# --- buckets ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("04:RS-PB")
def test_half_of_the_first_values_stay_in_their_bucket_and_a_quarter_goes_to_the_next() -> None:
    """The very first value finds nothing taken: 1/2, 1/4, 1/8, and 1/8 to the last of four buckets."""
    method = RankSwappingBuckets(buckets=4)
    first = np.array([method._exchange(400, np.random.default_rng(seed))[0] for seed in range(4000)])
    shares = np.bincount(first // 100, minlength=4) / 4000
    expected = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8])
    assert (np.abs(shares - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000)).all()
    method = RankSwappingBuckets(buckets=4, renormalise=True)
    first = np.array([method._exchange(400, np.random.default_rng(seed))[0] for seed in range(4000)])
    shares, expected = np.bincount(first // 100, minlength=4) / 4000, np.array([8, 4, 2, 1]) / 15
    assert (np.abs(shares - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000)).all()


@pytest.mark.spec("04:RS-PB")
@pytest.mark.parametrize(
    ("options", "expected"), [({}, 1 / 2), ({"taken": "place"}, 1 / 2), ({"taken": "bucket"}, 0.6)]
)
def test_a_bucket_is_as_likely_however_many_of_its_values_are_swapped(options: dict[str, Any], expected: float) -> None:
    """Two buckets of three, of which the first value took one of the second: the second value stays in its bucket with
    1/2; or, where bucket and value are drawn again, with 1/2 against 1/2 times 2/3."""
    method = RankSwappingBuckets(buckets=2, **options)
    pairs = [method._exchange(6, np.random.default_rng(seed)) for seed in range(4000)]
    stayed = np.array([pair[1] == 2 for pair in pairs if pair[0] >= 3])
    assert abs(stayed.mean() - expected) < 4 * np.sqrt(0.25 / len(stayed))


@pytest.mark.spec("04:RS-PB")
def test_fewer_buckets_move_values_farther() -> None:
    distances = [np.abs(moves(RankSwappingBuckets(buckets=b), 1000, seed=1)).mean() for b in (75, 35, 15, 5)]
    assert distances == sorted(distances)
    assert (moves(RankSwappingBuckets(buckets=900), 1000, seed=1) != 0).all()


@pytest.mark.parametrize(
    ("p", "unit", "values", "expected"),
    [
        (0, "percent", 50, 0),
        (0, "positions", 50, 0),
        (20, "percent", 50, 10),
        (1, "percent", 50, 1),
        (3, "positions", 50, 3),
    ],
)
def test_a_distance_in_ranks_is_at_least_one_unless_nothing_moves(
    p: float, unit: Unit, values: int, expected: float
) -> None:
    assert ranks(p, unit, values) == expected


# --- published losses ------------------------------------------------------------------------------------------------


@pytest.mark.spec("04:RS-PD", "04:RS-PB", "04:RS-BASE")
@pytest.mark.parametrize(
    ("method", "known", "now"),
    [
        # Table 4.3 and what was computed independently for the two others, which no release meets exactly (within 10
        # per cent); and what these three seeds give, to the last digit shown
        (RankSwapping(p=2), 4.24, 3.839),
        (RankSwapping(p=10), 22.87, 21.429),
        (RankSwappingDistribution(p=2), 5.74, 5.445),
        (RankSwappingDistribution(p=4), 12.5, 12.037),
        (RankSwappingDistribution(p=10), 26.5, 26.222),
        (RankSwappingBuckets(buckets=75, taken="bucket"), 9.25, 8.802),
        (RankSwappingBuckets(buckets=35, taken="bucket"), 18.1, 18.158),
        (RankSwappingBuckets(buckets=20, taken="bucket"), 30.6, 28.925),
    ],
    ids=lambda value: f"{value.name}-{next(iter(value.parameters().values()))}" if isinstance(value, Method) else "",
)
def test_the_information_loss_of_eia_comes_near_what_is_known(
    reference: Callable[..., Microdata], method: Method, known: float, now: float
) -> None:
    data = reference("eia", EIA)
    losses = [IL().measure(data, method.mask(data, EIA, seed=seed)).raw for seed in range(3)]
    assert np.mean(losses) == pytest.approx(now, abs=0.00051)
    assert np.mean(losses) == pytest.approx(known, rel=0.1)


# --- how far values move, as a method says it of itself -----------------------------------------------------------


def test_shifts_are_smoothed_on_each_side_and_none_is_impossible() -> None:
    moves = np.array([0, 0, 0, 1, 2, -2, -2])
    found = _shares(moves, 2)
    counts = np.array([2.5, 0.5, 3.5, 1.5, 1.5])  # of the shifts -2 to 2
    counts[:2], counts[3:] = counts[:2].mean(), counts[3:].mean()
    assert_allclose(found, counts / counts.sum())
    wider = _shares(moves, 3)
    counts = np.array([0.5, 2.5, 0.5, 3.5, 1.5, 1.5, 0.5])
    expected = [1.5, 3.5 / 3, 1.5, 3.5, 1.5, 3.5 / 3, 1.0]
    assert_allclose(wider, np.array(expected) / sum(expected))


def test_the_mean_over_neighbours_is_cut_off_at_the_ends() -> None:
    counts = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert_allclose(_smoothed(counts, 1), [1.5, 7 / 3, 14 / 3, 28 / 3, 12.0])
    assert_allclose(_smoothed(counts, 2), [7 / 3, 15 / 4, 31 / 5, 30 / 4, 28 / 3])
    assert_allclose(_smoothed(counts, 9), [31 / 5] * 5)


def test_equal_keys_come_as_they_stand_or_as_drawn_and_others_in_their_order() -> None:
    keys = np.array([3.0, 1.0, 3.0, 2.0, 1.0, 1.0])
    assert ascending(keys, None).tolist() == [1, 4, 5, 3, 0, 2]
    draws = [np.random.default_rng(seed).random(6) for seed in range(200)]
    orders = [tuple(ascending(keys, drawn).tolist()) for drawn in draws]
    for order in orders:
        assert keys[list(order)].tolist() == [1.0, 1.0, 1.0, 2.0, 3.0, 3.0]
    assert len(set(orders)) == 12  # all orders of three and of two
    distinct = np.array([5.0, 2.0, 9.0])
    assert ascending(distinct, np.random.default_rng(1).random(3)).tolist() == [1, 0, 2]
    assert ascending(np.zeros(3), np.array([0.5, 0.9, 0.1])).tolist() == [2, 0, 1]
