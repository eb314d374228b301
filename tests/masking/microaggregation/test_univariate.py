"""Microaggregation of one attribute at a time: worked examples, anchors of the reference tables, and size rules."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.fixed import Fixed
from microveil.masking.microaggregation.hanani import Hanani
from microveil.masking.microaggregation.individual_ranking import IndividualRanking
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.microaggregation.moving_average import MovingAverage
from microveil.masking.microaggregation.optimal_univariate import OptimalUnivariate
from microveil.masking.microaggregation.univariate_genetic import UnivariateGenetic
from microveil.masking.microaggregation.width import Width
from microveil.microdata import Microdata
from microveil.numerics.grouping.univariate import (
    fixed_groups,
    least_width_groups,
    modal_value,
    optimal_groups,
    spread_within,
    width_split_groups,
)
from microveil.numerics.statistics.scaling import min_max

EXAMPLE = {"a1": [1, 2, 3, 6, 7, 8, 9], "a2": [4, 15, 5, 17, 6, 18, 16]}


def table(data: Microdata) -> np.ndarray:
    return np.column_stack([data.numbers(name).values for name in data.names])


def sse_sep(before: np.ndarray, after: np.ndarray) -> float:
    """The sum of squares that the source prints: both files brought to [0, 1], each by its own least and largest."""
    return float(((min_max(before) - min_max(after)) ** 2).sum())


def il(values: np.ndarray, labels: np.ndarray) -> float:
    return 100 * spread_within(values[:, None], labels) / float(((values - values.mean()) ** 2).sum())


def width(values: np.ndarray, labels: np.ndarray) -> float:
    return sum(float(np.ptp(values[labels == label])) for label in np.unique(labels))


def contiguous_partitions(n: int, k: int) -> list[np.ndarray]:
    """All partitions of n ordered values into runs of at least k."""
    found = []
    for groups in range(1, n // k + 1):
        for cuts in combinations(range(1, n), groups - 1):
            sizes = np.diff([0, *cuts, n])
            if sizes.min() >= k:
                found.append(np.repeat(np.arange(groups), sizes))
    return found


def groups_of(values: np.ndarray, labels: np.ndarray) -> list[list[float]]:
    return sorted(sorted(values[labels == label].tolist()) for label in np.unique(labels))


# fixed sizes


@pytest.mark.spec("01:MA-1")
def test_the_values_left_over_go_where_the_policy_says() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 4.0, 6.0, 7.0, 20.0, 21.0, 22.0, 23.0])
    expected = {"last": [3, 3, 5], "mode": [3, 5, 3], "median": [3, 5, 3], "middle": [3, 5, 3]}
    for remainder, sizes in expected.items():
        assert np.bincount(fixed_groups(values, 3, remainder)).tolist() == sizes, remainder
    # the modal value of this one is its first, the median is elsewhere
    values = np.array([5.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])
    assert np.bincount(fixed_groups(values, 2, "mode")).tolist() == [3, 2, 2]
    assert np.bincount(fixed_groups(values, 2, "median")).tolist() == [2, 3, 2]
    assert np.bincount(fixed_groups(np.arange(7.0), 2, "mode")).tolist() == [2, 3, 2]  # all differ: as median


def test_the_best_group_to_enlarge_is_found_among_all() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        n, k = int(rng.integers(4, 30)), int(rng.integers(2, 5))
        values = np.sort(rng.lognormal(0, 2, max(n, k)))
        groups, left = divmod(len(values), k)
        trials = [np.repeat(np.arange(groups), [k + left * (g == at) for g in range(groups)]) for at in range(groups)]
        least = min(il(values, trial) for trial in trials)
        assert il(values, fixed_groups(values, k, "best")) == pytest.approx(least)


def test_the_mode_is_the_most_frequent_value_and_the_first_among_equals() -> None:
    assert modal_value(np.array([3.0, 1.0, 1.0, 3.0, 2.0])) == 3.0
    assert modal_value(np.array([3.0, 1.0, 2.0])) is None


def test_the_order_runs_against_the_long_tail() -> None:
    high = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 500.0, 900.0])
    assert groups_of(high, fixed_groups(high, 3, direction="auto"))[0] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert groups_of(-high, fixed_groups(-high, 3, direction="auto"))[-1] == [-5.0, -4.0, -3.0, -2.0, -1.0]
    assert (fixed_groups(high, 3, direction="descending") == fixed_groups(high, 3, direction="auto")).all()


def test_a_long_tail_loses_most_in_fixed_sizes() -> None:
    w = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 18, 25, 40, 90, 200], dtype=float)
    assert spread_within(w[:, None], fixed_groups(w, 3)) == pytest.approx(18849.416667)
    assert il(w, fixed_groups(w, 3)) == pytest.approx(48.349891, abs=5e-7)
    best = optimal_groups(w, 3)
    assert spread_within(w[:, None], best) == pytest.approx(13473.666667)
    assert [len(g) for g in groups_of(w, best)] == [4, 3, 3, 3, 3]


# the optimum


@pytest.mark.spec("01:MA-6", "03:MA-2")
@settings(max_examples=60, deadline=None)
@given(n=st.integers(4, 13), k=st.integers(1, 4), distinct=st.integers(1, 12), seed=st.integers(0, 9999))
def test_no_partition_into_runs_is_better_than_the_optimum(n: int, k: int, distinct: int, seed: int) -> None:
    values = np.sort(np.random.default_rng(seed).integers(0, distinct, max(n, k))).astype(float) ** 2
    labels = optimal_groups(values, k)
    least = min(spread_within(values[:, None], trial) for trial in contiguous_partitions(len(values), k))
    assert spread_within(values[:, None], labels) == pytest.approx(least)
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() <= max(2 * k - 1, 1)


def test_close_neighbours_far_from_zero_and_from_each_other_do_not_drown_in_rounding() -> None:
    # pairs a millionth apart, a million away from each other: sums over the file would lose them
    values = np.repeat(np.arange(200.0) * 1e6, 2) + np.tile([0.0, 1e-4], 200)
    assert (np.bincount(optimal_groups(values, 2)) == 2).all()


def test_example_2_2_the_optimum_of_each_attribute() -> None:
    data = Microdata.of(EXAMPLE)
    masked = OptimalUnivariate(k=2).mask(data).data
    assert table(masked)[:, 0].tolist() == [2, 2, 2, 6.5, 6.5, 8.5, 8.5]
    assert table(masked)[:, 1].tolist() == [5, 15.5, 5, 17.5, 5, 17.5, 15.5]
    assert ((table(data) - table(masked)) ** 2).sum() == pytest.approx(6)
    assert sse_sep(table(data), table(masked)) == pytest.approx(0.1355, abs=5e-5)  # printed 0.14
    assert len(np.unique(table(masked), axis=0)) == 6  # k' = 7/6: only records 1 and 3 share one


def test_example_2_4_mdav_on_each_attribute() -> None:
    data = Microdata.of(EXAMPLE)
    masked = table(MDAV(k=2, block=1).mask(data).data)
    assert masked[:, 0] == pytest.approx([1.5, 1.5, 16 / 3, 16 / 3, 16 / 3, 8.5, 8.5])
    assert masked[:, 1] == pytest.approx([4.5, 37 / 3, 4.5, 17.5, 37 / 3, 17.5, 37 / 3])
    assert ((table(data) - masked) ** 2).sum() == pytest.approx(71.3333, abs=5e-5)
    assert sse_sep(table(data), masked) == pytest.approx(0.4867, abs=5e-5)  # printed 0.49


@pytest.mark.spec("03:MA-3")
def test_the_fixed_mode_puts_the_values_left_over_in_the_middle_group() -> None:
    data = Microdata.of({"a": np.arange(11.0)})
    partition = OptimalUnivariate(k=3, partition="fixed").mask(data).partition
    assert partition is not None
    assert partition.sizes.tolist() == [3, 5, 3]


OPTIMAL_AND_FIXED = {
    "tarragona": {1: (7.140953, 7.151996), 5: (1.687544, 1.693941), 8: (0.264560, 0.421819), 12: (4.135483, 4.147029)},
    "census": {1: (0.130762, 0.131553), 2: (0.000828, 0.001375), 9: (0.691204, 0.721764), 13: (0.003748, 0.008079)},
}


@pytest.mark.parametrize("name", OPTIMAL_AND_FIXED)
def test_the_computed_losses_of_single_columns_come_out(reference, name: str) -> None:  # type: ignore[no-untyped-def]
    data = reference(name)
    for column, (optimal, fixed) in OPTIMAL_AND_FIXED[name].items():
        attribute = data.names[column - 1]
        for method, known in ((OptimalUnivariate(k=3), optimal), (Fixed(k=3), fixed)):
            release = method.mask(data, [attribute])
            assert SSE().measure(data, release, [attribute]).value == pytest.approx(known, abs=5.1e-7)


RANKED = {
    ("tarragona", "fixed"): (2.2402, 5.0394, 8.5446, 14.0238),
    ("tarragona", "optimal"): (2.2071, 3.1932, 4.2554, 10.6068),
    ("census", "fixed"): (0.1073, 0.2417, 0.3375, 0.8951),
    ("census", "optimal"): (0.1029, 0.2340, 0.3313, 0.8906),
}


@pytest.mark.spec("01:MA-3")
@pytest.mark.parametrize(("name", "partition"), RANKED)
def test_the_computed_losses_of_individual_ranking_come_out(reference, name: str, partition: str) -> None:  # type: ignore[no-untyped-def]
    data = reference(name)
    for k, known in zip((3, 4, 5, 10), RANKED[name, partition], strict=True):
        release = IndividualRanking(k=k, partition=partition).mask(data)
        assert SSE().measure(data, release).value == pytest.approx(known, abs=5.1e-5)


def test_a_million_values_take_seconds() -> None:
    values = np.random.default_rng(4).lognormal(size=1_000_000)
    optimal_groups(values[:10], 3)
    begun = time.perf_counter()
    labels = optimal_groups(values, 3)
    assert time.perf_counter() - begun < 10
    assert np.bincount(labels).min() >= 3


# every univariate method


METHODS = [
    Fixed,
    IndividualRanking,
    OptimalUnivariate,
    Width,
    lambda k: Width(k=k, search="split"),
    lambda k: Fixed(k=k, remainder="best", direction="auto"),
    lambda k: IndividualRanking(k=k, partition="optimal"),
    lambda k: UnivariateGenetic(k=k, population=4, generations=3),
    lambda k: Hanani(k=k, starts=3),
]


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 60),
    d=st.integers(1, 3),
    k=st.integers(2, 9),
    distinct=st.sampled_from([1, 2, 5, 1000]),
    seed=st.integers(0, 9999),
)
def test_every_group_has_k_to_2k_minus_1_records(method, n: int, d: int, k: int, distinct: int, seed: int) -> None:  # type: ignore[no-untyped-def]
    cells = np.random.default_rng(seed).integers(0, distinct, (max(n, k), d)) ** 2
    data = Microdata.of({f"x{j}": cells[:, j] for j in range(d)})
    for partition in method(k=k).mask(data, seed=seed).partitions.values():
        assert partition.smallest >= k
        assert partition.sizes.max() <= 2 * k - 1


def test_attributes_are_masked_alike_alone_and_together() -> None:
    rng = np.random.default_rng(3)
    data = Microdata.of({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    together = Fixed(k=3).mask(data)
    assert list(together.partitions) == [("a",), ("b",)]
    assert Fixed(k=3).mask(data, ["b"]).data.arrow("b").equals(together.data.arrow("b"))
    with pytest.raises(ParameterError, match="block = 2 is not allowed"):
        Fixed(k=3, block=2)  # type: ignore[arg-type]


# width


@pytest.mark.spec("01:MA-9")
@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 13), k=st.integers(1, 4), seed=st.integers(0, 9999))
def test_no_partition_into_runs_is_narrower_than_the_least_width(n: int, k: int, seed: int) -> None:
    values = np.sort(np.random.default_rng(seed).integers(0, 40, max(n, k))).astype(float)
    least = min(width(values, trial) for trial in contiguous_partitions(len(values), k))
    assert width(values, least_width_groups(values, k)) == least
    assert width(values, width_split_groups(values, k)) >= least


def split_as_told(values: np.ndarray, k: int) -> list[list[float]]:
    """The quicksort-like method word for word: the largest admissible gap, then both sides."""
    if len(values) < 2 * k:
        return [values.tolist()]
    gaps = np.diff(values)[k - 1 : len(values) - k]
    cut = k + int(np.argmax(gaps))
    return split_as_told(values[:cut], k) + split_as_told(values[cut:], k)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 60), k=st.integers(2, 6), distinct=st.sampled_from([3, 30, 3000]), seed=st.integers(0, 9999))
def test_splitting_at_wide_gaps_is_the_recursion(n: int, k: int, distinct: int, seed: int) -> None:
    values = np.sort(np.random.default_rng(seed).integers(0, distinct, max(n, k))).astype(float)
    labels = width_split_groups(values, k)
    assert [values[labels == g].tolist() for g in range(labels.max() + 1)] == split_as_told(values, k)


# moving average


@pytest.mark.spec("01:MA-4")
def test_the_moving_average_follows_the_order_of_the_values() -> None:
    data = Microdata.of({"a": [10.0, 1.0, 5.0, 2.0]})
    repeat = MovingAverage(shares=(20, 50, 30)).mask(data).frame["a"].to_pylist()
    assert repeat == pytest.approx([5.9, 2.7, 5.9, 2.7])
    keep = MovingAverage(shares=(20, 50, 30), ends="keep").mask(data).frame["a"].to_pylist()
    assert keep == pytest.approx([10.0, 1.0, 5.9, 2.7])
    part = MovingAverage(shares=(20, 50, 30), ends="renormalise").mask(data).frame["a"].to_pylist()
    assert part == pytest.approx([(5 * 20 + 10 * 50) / 70, (1 * 50 + 2 * 30) / 80, 5.9, 2.7])


def test_a_value_without_shares_of_its_own_and_its_neighbour_stays() -> None:
    """Everything goes to the value before: the first has none, so nothing is known to average it with."""
    values = Microdata.of({"a": [10.0, 1.0, 5.0, 2.0]})
    before = MovingAverage(shares=(100, 0, 0), ends="renormalise").mask(values).frame["a"].to_pylist()
    assert before == [5.0, 1.0, 2.0, 1.0]
    behind = MovingAverage(shares=(0, 0, 100), ends="renormalise").mask(values).frame["a"].to_pylist()
    assert behind == [10.0, 2.0, 10.0, 5.0]


def test_three_values_are_enough_for_the_moving_average_and_none_are_left_alone() -> None:
    data = Microdata.of({"a": [1.0, 2.0, 7.0], "b": np.array([np.nan] * 3)})
    masked = MovingAverage().mask(data, ["a", "b"]).data
    assert masked.numbers("a").values.tolist() == [3.0, 3.0, 3.0]
    assert np.isnan(masked.numbers("b").values).all()


def test_the_moving_average_needs_three_values_and_shares_of_100() -> None:
    with pytest.raises(DataError, match="needs at least 3"):
        MovingAverage().mask(Microdata.of({"a": [1.0, 2.0]}))
    with pytest.raises(DataError, match="'a' has 2 values"):
        MovingAverage().mask(Microdata.of({"a": [1.0, 2.0, None, None]}))
    for shares in ((30, 30, 30), (-10, 100, 10)):
        with pytest.raises(ParameterError, match="add up to 100"):
            MovingAverage(shares=shares)


def test_missing_cells_are_nobodys_neighbour() -> None:
    masked = MovingAverage().mask(Microdata.of({"a": [1.0, None, 2.0, 3.0, 7.0]})).frame["a"].to_pylist()
    assert masked == [2.0, None, 2.0, 3.75, 3.75]


# genetic and Hanani


@pytest.mark.spec("01:MA-7")
def test_evolution_lowers_the_loss_and_a_seed_repeats_it() -> None:
    data = Microdata.of({"a": np.random.default_rng(8).lognormal(size=60)})

    def loss(generations: int, **options: object) -> float:
        method = UnivariateGenetic(k=3, generations=generations, patience=generations, **options)  # type: ignore[arg-type]
        return float(SSE().measure(data, method.mask(data, seed=5)).value)

    best = SSE().measure(data, OptimalUnivariate(k=3).mask(data)).value
    assert best - 1e-9 <= loss(400) < loss(40) < loss(1)
    assert loss(400) == loss(400)
    assert best - 1e-9 <= loss(400, fitness="inverse") < loss(1)


@pytest.mark.spec("01:MA-5")
def test_hananis_slabs_are_better_than_the_first_component_and_fixed_for_one_attribute() -> None:
    rng = np.random.default_rng(6)
    cells = np.column_stack([rng.normal(size=120), rng.exponential(size=120), rng.normal(size=120) * 2])
    data = Microdata.of({f"x{j}": cells[:, j] for j in range(3)})
    one, many = (SSE().measure(data, Hanani(k=3, starts=s).mask(data, seed=1)).value for s in (1, 20))
    assert many <= one
    alone = Hanani(k=3).mask(data, ["x1"], seed=1)
    assert alone.data.arrow("x1").equals(Fixed(k=3).mask(data, ["x1"]).data.arrow("x1"))
    slanted = np.column_stack([np.arange(12.0), -np.arange(12.0)]) + rng.normal(size=(12, 2)) * 0.01
    release = Hanani(k=3).mask(Microdata.of({"a": slanted[:, 0], "b": slanted[:, 1]}), seed=1)
    assert release.partition is not None
    assert [g.tolist() for g in release.partition.groups] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
