"""Attacks on series by intervals, fragments, extremes and another period."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microveil.attacks import Risk
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError
from microveil.microdata import Microdata
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.registry import make, method
from reproduction.price_indices import cells, group_means, indices


def wide(*variables: np.ndarray) -> Microdata:
    """A table of series; the variables are called a and b."""
    names = "ab"[: len(variables)]
    columns = {f"{n}{t:03d}": v[:, t] for n, v in zip(names, variables, strict=True) for t in range(v.shape[1])}
    return Microdata.of(columns, series="wide," + ",".join(f"{name}={name}*" for name in names))


def meters(records: int = 80, points: int = 48, seed: int = 1) -> np.ndarray:
    """Curves of households, each with its level and the hour of its peak."""
    rng = np.random.default_rng(seed)
    hour, level, peak = np.arange(points) % 24, rng.gamma(3.0, 1.0, (records, 1)), rng.normal(17.0, 3.0, (records, 1))
    shape = 0.3 + np.exp(-(((hour - peak) / 3.0) ** 2))
    return np.asarray(level * shape * rng.lognormal(0.0, 0.1, (records, points)))


def attacked(name: str, before: Any, after: Any, **parameters: Any) -> Risk:
    one, other = (side if isinstance(side, Microdata) else wide(side) for side in (before, after))
    pair = Pair.of(one, other, one.names, known=one.names)
    risk: Risk = make("attack", name, parameters).assess_pair(pair)
    return risk


def in_groups(values: np.ndarray, k: int) -> np.ndarray:
    groups = mdav_groups(values, k)
    sums = np.stack([np.bincount(groups, weights=column) for column in values.T], axis=1)
    return np.asarray((sums / np.bincount(groups)[:, None])[groups])


LINKAGES = {
    "fragment-linkage": {},
    "extremes-linkage": {},
    "period-linkage": {},
}


# --- intervals ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("04:TS-ID", "04:TS-DR")
def test_the_intervals_of_four_price_indices() -> None:
    risk = make("attack", "series-intervals").assess(indices(cells("6.1")), indices(group_means()))
    by_width = [5.5556, 16.6667, 27.7778, 38.8889, 38.8889, 38.8889, 44.4444, 55.5556, 66.6667, 72.2222]
    assert [risk.counters[f"p={p}"] for p in range(1, 11)] == pytest.approx(by_width, abs=5.0001e-5)
    assert risk.value == pytest.approx(40.5556, abs=5.0001e-5)
    assert np.mean(list(risk.per_attribute.values())) == pytest.approx(risk.value)
    assert len(risk.per_attribute) == 9


@pytest.mark.spec("04:TS-ID")
def test_an_interval_includes_its_borders_whatever_the_sign_and_has_no_width_around_zero() -> None:
    before = np.array([[9.0, 11.0, 8.9, -9.0, 0.0, 1e-9, 1.1]])
    after = np.array([[10.0, 10.0, 10.0, -10.0, 0.0, 0.0, 1.0]])
    risk = attacked("series-intervals", before, after, widths=(10.0,))
    assert list(risk.per_attribute.values()) == [100, 100, 0, 100, 100, 0, 100]


def test_intervals_of_cells_that_are_missing() -> None:
    before, after = np.array([[1.0, 2.0, np.nan], [np.nan] * 3]), np.array([[1.0, np.nan, 3.0], [1.0, 2.0, 3.0]])
    risk = attacked("series-intervals", before, after)
    assert (risk.value, risk.attacked) == (50.0, 1)
    assert risk.per_record[0] == 0.5
    assert np.isnan(risk.per_record[1])


def test_intervals_of_several_variables_are_counted_apart() -> None:
    one, other = meters(20, 6), meters(20, 6, seed=2)
    risk = attacked("series-intervals", wide(one, other), wide(one, 2 * other))
    assert (risk.counters["a"], risk.counters["b"], risk.value) == (100.0, 0.0, 50.0)


def test_widths_outside_of_0_to_100_are_refused() -> None:
    with pytest.raises(ParameterError, match="widths"):
        make("attack", "series-intervals", {"widths": (5.0, 101.0)})


# --- fragments ------------------------------------------------------------------------------------------------------


def test_a_day_of_an_unmasked_series_tells_it_and_groups_leave_one_in_k() -> None:
    values = meters()
    for kind in ("stretch", "scattered"):
        assert attacked("fragment-linkage", values, values, kind=kind, points=6).value == 100
        masked = attacked("fragment-linkage", values, in_groups(values, 5), kind=kind, points=6)
        assert masked.value <= 20 + 1e-9
        assert masked.per_record.max() <= 0.2 + 1e-12
        assert masked.counters["lowest"] <= masked.value <= masked.counters["highest"]


def test_a_fragment_knows_nothing_but_its_points() -> None:
    """Only the last five points were masked, and they are all that the only fragment has."""
    values = meters(60, 10)
    after = values.copy()
    after[:, 5:] = 1.0
    first, last = (
        attacked("fragment-linkage", values[:, part], after[:, part], points=5, fragments=1, normalise="none").value
        for part in (slice(0, 5), slice(5, 10))
    )
    assert (first, last) == (100, pytest.approx(100 / 60))
    both = attacked("fragment-linkage", values, after, points=5, fragments=2, normalise="none")
    assert both.value == pytest.approx((first + last) / 2)
    assert (both.counters["lowest"], both.counters["highest"]) == (pytest.approx(last), first)


def test_more_points_tell_more() -> None:
    values = meters()
    noisy = values * np.random.default_rng(3).lognormal(0, 0.2, values.shape)
    risks = [attacked("fragment-linkage", values, noisy, points=points).value for points in (2, 8, 32, 500)]
    assert risks == sorted(risks)
    assert risks[-1] == pytest.approx(attacked("series-linkage", values, noisy).value)


def test_fragments_see_through_other_scales() -> None:
    values = meters()
    assert attacked("fragment-linkage", values, 1e6 - 3 * values).value == 100


# --- extremes -------------------------------------------------------------------------------------------------------


def test_series_with_their_maximum_at_the_same_time_are_candidates() -> None:
    values = np.array([[1, 9, 1, 0], [2, 8, 2, 0], [3, 7, 1, 0], [9, 1, 1, 0.0]])
    risk = attacked("extremes-linkage", values, values, size=False)
    assert risk.per_record.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1.0])
    assert risk.counters["alone"] == 25
    assert attacked("extremes-linkage", values, values).per_record.tolist() == [1.0] * 4
    assert attacked("extremes-linkage", values, values).counters["time alone"] == pytest.approx(risk.value)
    within = attacked("extremes-linkage", values, values, size=False, tolerance=1.0)
    assert within.per_record.tolist() == [0.25] * 4
    lowest = attacked("extremes-linkage", values, values, size=False, extremes="minimum")
    assert lowest.per_record.tolist() == [0.25] * 4


def test_a_maximum_that_moved_misleads() -> None:
    values = meters()
    moved = np.roll(values, 5, axis=1)
    risk = attacked("extremes-linkage", values, moved)
    assert risk.value < 5
    assert risk.counters["lost"] > 90


def test_both_extremes_tell_more_than_one_by_their_times() -> None:
    values = meters(200, 48)
    risks = [
        attacked("extremes-linkage", values, values, size=False, extremes=which).value for which in ("maximum", "both")
    ]
    assert risks[1] > 2 * risks[0] > 0


def test_the_size_of_an_extreme_is_told_on_any_increasing_linear_scale() -> None:
    values = meters()
    assert attacked("extremes-linkage", values, 5 + 3 * values).value == 100


def test_a_value_that_stands_several_times_counts_at_each() -> None:
    before = np.array([[5.0, 1.0, 5.0], [1.0, 1.0, 1.0]])
    after = np.array([[1.0, 1.0, 5.0], [1.0, 5.0, 1.0]])
    assert attacked("extremes-linkage", before, after, size=False).per_record.tolist() == [1.0, 0.5]


def test_all_variables_must_agree() -> None:
    one, other = np.eye(4), np.eye(4)[[0, 0, 1, 1]]
    risk = attacked("extremes-linkage", wide(other, one), wide(other, one), size=False)
    assert risk.value == 100
    assert (risk.per_attribute["a"], risk.per_attribute["b"]) == (50.0, 100.0)


# --- another period -------------------------------------------------------------------------------------------------


def test_yesterday_leads_to_today() -> None:
    values = meters(80, 48)
    risk = attacked("period-linkage", values, values)
    assert risk.value > 20 * 100 / 80
    assert risk.counters["unmasked"] == pytest.approx(risk.value)
    masked = attacked("period-linkage", values, in_groups(values, 10))
    assert masked.value <= 10 + 1e-9
    assert masked.counters["unmasked"] == pytest.approx(risk.value)


def test_only_the_later_period_is_released_and_only_the_earlier_is_known() -> None:
    values = meters(60, 48)
    before, after = values.copy(), values.copy()
    before[:, 24:], after[:, :24] = 1e6, -1e6
    for distance in ("euclidean", "sts", "dtw", "quantiles"):
        whole, halves = (
            attacked("period-linkage", values, release, distance=distance, normalise="series").value
            for release in (values, after)
        )
        assert halves == pytest.approx(whole), distance
    pair = [wide(before), wide(after)]
    assert attacked("period-linkage", *pair).value == pytest.approx(attacked("period-linkage", values, values).value)


def test_mean_days_are_told_better_than_single_ones() -> None:
    rng = np.random.default_rng(5)
    values = np.tile(meters(80, 24), (1, 14)) * rng.lognormal(0, 0.5, (80, 24 * 14))
    single = attacked("period-linkage", values, values).value
    mean = attacked("period-linkage", values, values, cycle=24).value
    last_day = attacked("period-linkage", values[:, -48:], values[:, -48:]).value
    assert mean >= single > last_day


@pytest.mark.parametrize("cut", [0.25, 0.4, 0.75])
def test_the_cut_may_lie_anywhere(cut: float) -> None:
    values = np.tile(meters(40, 24), (1, 4))
    points = round(cut * 96)
    shared = min(points, 96 - points)
    phases = points % 24 == 0 and shared % 24 == 0
    exact = attacked("period-linkage", values, values, cut=cut, cycle=24)
    assert exact.value == 100  # every day is like the other, and phases are aligned
    assert not phases or attacked("period-linkage", values, values, cut=cut).value == 100


def test_a_series_of_one_point_has_no_two_periods() -> None:
    values = np.arange(5.0)[:, None]
    with pytest.raises(DataError, match="at least two points"):
        attacked("period-linkage", values, values)


# --- all of them ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LINKAGES)
def test_series_with_gaps_without_values_constant_and_equal_ones_are_handled(name: str) -> None:
    values = meters(40, 24)
    rng = np.random.default_rng(8)
    values[rng.random(values.shape) < 0.1] = np.nan
    values[:5, :4], values[5:9, 20:] = np.nan, np.nan  # unequal lengths
    values[0], values[1], values[2], values[3] = np.nan, 4.0, values[10], values[10]
    risk = attacked(name, values, values)
    assert 0 < risk.value <= 100
    assert risk.per_record[0] == (0 if name == "extremes-linkage" else 1)  # it alone has no values at all
    assert risk.per_record[3] == pytest.approx(risk.per_record[10])
    order = rng.permutation(40)
    again = attacked(name, values[order], values[order])
    assert again.per_record == pytest.approx(risk.per_record[order])


@pytest.mark.parametrize("name", LINKAGES)
def test_nobody_need_read_columns_in_a_scenario(name: str) -> None:
    values = meters(20, 24)
    risk = attacked(name, values, values)
    assert "the series of a" in risk.scenario
    assert "a000" not in risk.scenario
    assert set(risk.per_attribute) == {"a"}


@pytest.mark.parametrize("name", ["series-linkage", *LINKAGES])
def test_of_a_long_file_some_records_are_attacked_whatever_their_order(name: str) -> None:
    values = meters(200, 24)
    noisy = values * np.random.default_rng(3).lognormal(0, 0.1, values.shape)
    risk = attacked(name, values, noisy, records=50)
    order = np.random.default_rng(1).permutation(200)
    again = attacked(name, values[order], noisy[order], records=50)
    assert risk.attacked == again.attacked == 50
    assert again.per_record == pytest.approx(risk.per_record[order], nan_ok=True)
    assert again.value == pytest.approx(risk.value)


@pytest.mark.parametrize("name", LINKAGES)
def test_masked_releases_are_safer_than_unmasked_ones(name: str) -> None:
    data = wide(meters(100, 48))
    attack = make("attack", name)
    assert attack.assess(data, method("mdav", k=10).mask(data)).value < attack.assess(data, data).value
