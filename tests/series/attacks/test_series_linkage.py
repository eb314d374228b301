"""Linkage of series: printed and recomputed values, the bound of groups, releases that hide nothing, and odd series."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from microveil.attacks import Risk
from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.microdata import Microdata
from microveil.microdata.datasets.reference import data_folder, load
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.registry import make, method
from reproduction.price_indices import cells, group_means, indices

DISTANCES = ("euclidean", "sts", "dtw", "quantiles")
SCALES = ("none", "global", "file", "series", "ranks", "file-mirrored", "series-mirrored", "ranks-mirrored", "largest")


def wide(*variables: np.ndarray, **more: Any) -> Microdata:
    """A table of series; the variables are called a, b, c."""
    columns = {f"{name}{t:03d}": v[:, t] for name, v in zip("abc", variables, strict=False) for t in range(v.shape[1])}
    patterns = ",".join(f"{name}={name}*" for name, _ in zip("abc", variables, strict=False))
    return Microdata.of({**columns, **more}, series=f"wide,{patterns}")


def meters(records: int = 80, points: int = 24, seed: int = 1) -> np.ndarray:
    """Curves of households, each with its level and the hour of its peak."""
    rng = np.random.default_rng(seed)
    hour, level, peak = np.arange(points) % 24, rng.gamma(3.0, 1.0, (records, 1)), rng.normal(17.0, 3.0, (records, 1))
    shape = 0.3 + np.exp(-(((hour - peak) / 3.0) ** 2))
    return np.asarray(level * shape * rng.lognormal(0.0, 0.15, (records, points)))


def pair_of(before: Microdata, after: Microdata) -> Pair:
    """Records in the order in which they are, so that no release is matched by its content first."""
    return Pair.of(before, after, before.names, known=before.names)


def linked(before: np.ndarray, after: np.ndarray, **parameters: Any) -> Risk:
    risk: Risk = make("attack", "series-linkage", parameters).assess_pair(pair_of(wide(before), wide(after)))
    return risk


def group_curves(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Every series replaced by the mean curve of its group."""
    sums = np.stack([np.bincount(groups, weights=column) for column in values.T], axis=1)
    return np.asarray((sums / np.bincount(groups)[:, None])[groups])


# --- published values -----------------------------------------------------------------------------------------------


@pytest.mark.spec("04:TS-RL", "04:TS-DR", "03:TS-2")
@pytest.mark.parametrize("distance", ["euclidean", "sts"])
@pytest.mark.parametrize("normalise", ["none", "series"])
def test_four_price_indices_in_two_groups(distance: str, normalise: str) -> None:
    attack = make("attack", "series-linkage", {"distance": distance, "normalise": normalise})
    assert attack.assess(indices(cells("6.1")), indices(group_means())).value == pytest.approx(37.5)


@pytest.mark.spec("04:TS-DR", "04:TS-ID")
def test_the_disclosure_risk_of_four_price_indices() -> None:
    before, after = indices(cells("6.1")), indices(group_means())
    linkage = [
        make("attack", "series-linkage", {"distance": d, "normalise": "none"}).assess(before, after).value
        for d in ("euclidean", "sts")
    ]
    intervals = make("attack", "series-intervals").assess(before, after).value
    risk = {"euld": linkage[0], "stsld": linkage[1], "id": intervals, "il1": 0.0, "il2": 0.0, "il3": 0.0}
    assert intervals == pytest.approx(40.5556, abs=5.0001e-5)
    assert make("score", "time-series").combine(risk).risk == pytest.approx(39.0278, abs=5.0001e-5)


@cache
def competition() -> np.ndarray:
    """The training parts of the M3 competition, each resampled to ten equidistant points by straight lines."""
    table = load("ts_m3").frame.to_arrow()
    kept = np.array(table["part"].to_pylist()) == "train"
    name, time, value = (np.array(table[column].to_pylist())[kept] for column in ("series", "t", "value"))
    order = np.lexsort((time, name))
    begins = np.flatnonzero(np.append(True, name[order][1:] != name[order][:-1]))[1:]
    return np.array([
        np.interp(np.linspace(0, len(one) - 1, 10), np.arange(len(one)), one) for one in np.split(value[order], begins)
    ])  # fmt: skip


# grouped by, k, and the shares of right links: Euclidean as they are, and each standardised; the same by slopes
RECOMPUTED = [
    ("values", 2, 43.82, 29.47, 32.02, 28.82),
    ("values", 3, 26.74, 14.13, 15.63, 13.79),
    ("values", 6, 11.70, 4.54, 4.88, 4.54),
    ("values", 9, 7.10, 2.38, 2.69, 2.23),
    ("values", 12, 5.14, 1.61, 1.87, 1.59),
    ("slopes", 2, 15.70, 37.21, 45.13, 42.12),
    ("slopes", 3, 7.44, 19.46, 27.77, 23.61),
    ("slopes", 6, 2.52, 6.55, 11.79, 8.52),
    ("slopes", 9, 1.49, 3.91, 7.25, 5.03),
    ("slopes", 12, 1.09, 2.62, 5.18, 3.39),
]
# EULD and STSLD as Table 6.5 prints them; that of values against groups by slopes fits no scale
PRINTED = {
    ("values", 2): (42.79, 33.37), ("values", 3): (25.67, 17.32), ("values", 6): (10.62, 6.03),
    ("values", 9): (7.19, 3.33), ("values", 12): (5.49, 2.56), ("slopes", 2): (None, 42.12),
    ("slopes", 3): (None, 25.61), ("slopes", 6): (None, 10.92), ("slopes", 9): (None, 7.49),
    ("slopes", 12): (None, 5.19),
}  # fmt: skip


@pytest.mark.spec("04:TS-RL", "04:EXP-65", "04:TS-MIC")
@pytest.mark.skipif(data_folder() is None, reason="needs the reference data")
@pytest.mark.parametrize("row", RECOMPUTED, ids=lambda row: f"{row[0]}-{row[1]}")
def test_the_series_of_the_m3_competition(row: tuple[Any, ...]) -> None:
    by, k, *expected = row
    values = competition()
    after = group_curves(values, mdav_groups(values if by == "values" else np.diff(values, axis=1), k))
    found = [
        linked(values, after, distance=distance, normalise=normalise).value
        for distance in ("euclidean", "sts")
        for normalise in ("none", "series")
    ]
    assert found == pytest.approx(expected, abs=0.0051)
    for here, printed in zip((found[0], found[2]), PRINTED[by, k], strict=True):
        assert printed is None or here == pytest.approx(printed, abs=3.1)
    assert max(found) <= 100 / k + 1e-9


# --- what groups guarantee ------------------------------------------------------------------------------------------


@pytest.mark.spec("04:TS-RL")
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("k", [2, 3, 7])
def test_groups_of_k_equal_curves_leave_at_most_one_in_k(distance: str, k: int) -> None:
    values = meters(45, 12, seed=k)
    after = group_curves(values, mdav_groups(values, k))
    for normalise in SCALES:
        risk = linked(values, after, distance=distance, normalise=normalise)
        assert risk.value <= 100 / k + 1e-9, normalise
        assert risk.per_record.max() <= 1 / k + 1e-12, normalise
        assert risk.low <= risk.value <= risk.high
        assert len(risk.certain) == 0


@pytest.mark.spec("04:TS-RL")
def test_a_record_links_to_its_own_with_the_chance_that_ties_leave() -> None:
    values = np.array([[1.0, 2.0], [1.0, 2.0], [5.0, 1.0], [9.0, 9.0]])
    risk = linked(values, values, normalise="none")
    assert risk.per_record.tolist() == [0.5, 0.5, 1.0, 1.0]
    assert (risk.counters["optimistic"], risk.counters["strict"], risk.value) == (100.0, 50.0, 75.0)


# --- releases that hide nothing -------------------------------------------------------------------------------------

VALUES = meters(120, 48)
DRAWN = np.random.default_rng(4)
HIDDEN_BY_NOTHING = {
    "another unit": 3.0 * VALUES,
    "a decreasing transformation": 1e9 - VALUES,
    "logarithms": np.log(VALUES),
    "exponentials": np.exp(VALUES),
    "reciprocals": 1 / VALUES,
    "another unit and level for each": VALUES * DRAWN.uniform(0.5, 3, (120, 1)) + DRAWN.normal(0, 5, (120, 1)),
    "another curved scale for each": VALUES ** DRAWN.uniform(0.5, 3, (120, 1)),
}


@pytest.mark.parametrize("distance", ["euclidean", "sts"])
@pytest.mark.parametrize("release", HIDDEN_BY_NOTHING)
def test_no_other_scale_hides_a_series(release: str, distance: str) -> None:
    risk = linked(VALUES, HIDDEN_BY_NOTHING[release], distance=distance)
    assert risk.value == 100
    assert risk.counters["normalise=none"] < 100


@pytest.mark.parametrize(
    "release", [VALUES[:, ::-1], np.roll(VALUES, 3, axis=1), VALUES[:, DRAWN.permutation(48)], 7 - 2 * VALUES[:, ::-1]]
)
def test_no_other_order_of_times_hides_a_series(release: np.ndarray) -> None:
    assert linked(VALUES, release).value < 10
    assert linked(VALUES, release, distance="quantiles").value == 100


def test_small_shifts_in_time_do_not_hide_a_series_from_warping() -> None:
    late = np.column_stack([VALUES[:, :1], VALUES[:, :-1]])
    assert linked(VALUES, late).value < 20
    assert linked(VALUES, late, distance="dtw").value > 90
    assert linked(VALUES, late, distance="dtw", band=0, normalise="none").value == pytest.approx(
        linked(VALUES, late, normalise="none").value
    )


def test_one_untouched_variable_discloses_the_record() -> None:
    masked = group_curves(VALUES, mdav_groups(VALUES, 10))
    before, after = wide(VALUES, meters(120, 48, seed=9)), wide(masked, meters(120, 48, seed=9))
    risk = make("attack", "series-linkage", {"normalise": "series"}).assess_pair(pair_of(before, after))
    assert risk.per_attribute["a"] <= 10 < risk.value
    assert risk.per_attribute["b"] == 100
    assert risk.counters["average"] == pytest.approx((risk.per_attribute["a"] + risk.value) / 2)


def test_what_the_provenance_says_was_not_masked_proves_a_link() -> None:
    names = [f"a{t:03d}" for t in range(48)]
    data = wide(VALUES, np.repeat(np.arange(60.0), 2)[:, None] + np.arange(48.0))
    release = method("mdav", k=10).mask(data, names)
    risk = make("attack", "series-linkage").assess(data, release, known=data.names)
    assert len(risk.certain) == 0  # every value of b stands twice
    alone = wide(VALUES, np.arange(120.0)[:, None] + np.arange(48.0))
    risk = make("attack", "series-linkage").assess(alone, method("mdav", k=10).mask(alone, names), known=alone.names)
    assert len(risk.certain) == 120
    assert "provenance" in risk.proof
    assert len(make("attack", "series-linkage").assess(alone, method("mdav", k=10).mask(alone), names).certain) == 0


def test_shuffled_records_are_matched_before_they_are_linked() -> None:
    order = np.random.default_rng(3).permutation(len(VALUES))
    noisy = VALUES * np.random.default_rng(2).lognormal(0, 0.05, VALUES.shape)
    risk = make("attack", "series-linkage").assess(wide(VALUES), wide(noisy[order]))
    assert risk.value > 90
    assert "Note:" in risk.scenario


# --- several variables ----------------------------------------------------------------------------------------------


@pytest.mark.spec("04:TS-RL")
def test_squared_distances_of_several_variables_are_summed() -> None:
    one, other = meters(40, 6, 1), 100 * meters(40, 6, 2)
    noise = np.random.default_rng(1)
    after = one + noise.normal(0, 1, one.shape), other + noise.normal(0, 200, other.shape)
    pair = pair_of(wide(one, other), wide(*after))
    found = make("attack", "series-linkage", {"normalise": "none"}).assess_pair(pair)
    apart = sum(((x[:, None] - y[None]) ** 2).sum(axis=2) for x, y in zip((one, other), after, strict=True))
    assert found.per_record.tolist() == (apart.argmin(axis=1) == np.arange(40)).astype(float).tolist()
    scaled = make("attack", "series-linkage", {"normalise": "global"}).assess_pair(
        pair_of(wide(one, other), wide(*after))
    )
    apart = sum((((x[:, None] - y[None]) / x.std()) ** 2).sum(axis=2) for x, y in zip((one, other), after, strict=True))
    assert scaled.per_record.tolist() == (apart.argmin(axis=1) == np.arange(40)).astype(float).tolist()
    assert scaled.value > found.value


@pytest.mark.spec("04:TS-RL", "03:TS-2")
def test_slopes_are_taken_over_the_time_between() -> None:
    times = np.array([0.0, 1.0, 5.0])
    rng = np.random.default_rng(3)
    before, after = rng.normal(0, 1, (30, 3)), rng.normal(0, 1, (30, 3))
    rows = [{"id": i, "time": t, "value": v} for i, row in enumerate(before) for t, v in zip(times, row, strict=True)]
    long = {key: [row[key] for row in rows] for key in rows[0]}
    data = Microdata.of(long, series="id=id,time=time,value=value")
    masked = data.with_columns({
        name: data.number_column(name, after[:, t])
        for t, name in enumerate(data.series_among(data.names)[0].columns)
    })  # fmt: skip
    names = data.series_among(data.names)[0].columns
    pair = Pair.of(data, masked, names, known=names)
    risk = make("attack", "series-linkage", {"distance": "sts", "normalise": "none"}).assess_pair(pair)
    step = data.series_among(names)[0].positions
    slopes = [np.diff(side, axis=1) / np.diff(step) for side in (before, after)]
    nearest = ((slopes[0][:, None] - slopes[1][None]) ** 2).sum(axis=2).argmin(axis=1)
    assert np.diff(step)[1] == pytest.approx(4 * np.diff(step)[0])
    assert risk.per_record.tolist() == (nearest == np.arange(30)).astype(float).tolist()


# --- odd series -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", DISTANCES)
def test_series_of_unequal_length_with_gaps_are_linked(distance: str) -> None:
    values = meters(60, 24)
    rng = np.random.default_rng(6)
    for row, (first, last) in enumerate(zip(rng.integers(0, 6, 60), rng.integers(14, 24, 60), strict=True)):
        values[row, :first], values[row, last:] = np.nan, np.nan
        values[row, rng.integers(first + 1, last - 1)] = np.nan
    assert linked(values, values, distance=distance).value == 100
    noisy = values * np.random.default_rng(7).lognormal(0, 0.05, values.shape)
    assert linked(values, noisy, distance=distance).value > 50


def test_the_time_in_which_a_series_exists_tells_it() -> None:
    """All have the same values but lie in other times: without them there would be nothing to tell."""
    values = np.full((5, 9), np.nan)
    for row in range(5):
        values[row, row : row + 5] = 1.0
    assert linked(values, values, normalise="none").value == 100


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_record_without_values_is_linked_only_by_having_none(distance: str) -> None:
    values = meters(20, 8)
    values[3] = np.nan
    risk = linked(values, values, distance=distance)
    # everyone sees that one series is empty; there is nothing that could be warped
    assert risk.per_record.tolist() == [1.0, 1.0, 1.0, float(distance != "dtw"), *[1.0] * 16]
    data = wide(values)
    anything = [data[name].changed(missing="wildcard") for name in data.names]
    data = data.with_columns({}, anything)
    hidden: Risk = make("attack", "series-linkage", {"distance": distance}).assess_pair(pair_of(data, data))
    assert hidden.per_record[3] == 0
    assert np.delete(hidden.per_record, 3).tolist() == [1.0] * 19


@pytest.mark.parametrize("distance", DISTANCES)
def test_constant_and_duplicate_series_share_their_chance(distance: str) -> None:
    values = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 2.0, 5.0], [1.0, 2.0, 5.0]])
    by_shape = linked(values, values, distance=distance, normalise="series").per_record
    assert by_shape.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.5, 0.5])
    if distance != "sts":
        by_value = linked(values, values, distance=distance, normalise="none").per_record
        assert by_value.tolist() == pytest.approx([0.5, 0.5, 1.0, 0.5, 0.5])


def test_series_of_one_point_have_no_slopes_to_be_told_by() -> None:
    values = np.arange(10.0)[:, None]
    assert linked(values, values, distance="sts").value == pytest.approx(10.0)
    assert linked(values, values, normalise="none").value == 100
    assert linked(values, values, normalise="series").value == pytest.approx(10.0)


def test_a_table_without_the_series_is_refused_in_one_sentence() -> None:
    data = wide(VALUES, years=np.arange(120.0))
    with pytest.raises(DataError, match="no series among the attributes"):
        make("attack", "series-linkage").assess(data, data, known=["years"])


def test_the_scenario_names_the_variables_and_no_column() -> None:
    risk = make("attack", "series-linkage").assess_pair(pair_of(wide(VALUES), wide(VALUES)))
    assert "the series of a of everyone" in risk.scenario
    assert "a000" not in risk.scenario
