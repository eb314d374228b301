"""The methods for series keep what they promise, say what they do not, and meet every shape of table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.checks.expecting import threads
from microveil.errors import DataError, ParameterError
from microveil.masking.likelihood import Normal
from microveil.microdata import Microdata
from microveil.randomness import Streams
from microveil.typing import FloatArray

SEED = 2**90 + 7
NAN = np.nan
EVERY: list[tuple[str, dict[str, Any]]] = [
    ("series-swapping", {}),
    ("series-swapping", {"near": "own"}),
    ("series-swapping", {"scale": True, "near": "shape"}),
    ("series-noise", {}),
    ("series-noise", {"scale": "series"}),
    ("series-noise", {"mode": "differences"}),
    ("smoothing", {}),
    ("smoothing", {"form": "moving-average"}),
    ("smoothing", {"form": "exponential"}),
    ("time-aggregation", {}),
    ("time-aggregation", {"statistic": "maximum"}),
    ("block-bootstrap", {"k": 2, "block": 3}),
    ("block-bootstrap", {"k": 2, "block": 3, "donors": "file", "blocks": "moving", "period": 2}),
]
every = pytest.mark.parametrize(("name", "parameters"), EVERY, ids=[f"{n} {p}" for n, p in EVERY])


def panel(values: FloatArray) -> Microdata:
    return Microdata.of({f"t{i}": values[:, i] for i in range(values.shape[1])}, series="wide")


def values_of(table: Any, variable: str | None = None) -> FloatArray:
    data: Microdata = getattr(table, "data", table)
    found = data.series_among(data.schema.panel.all_columns)  # type: ignore[union-attr]
    return next(one.values for one in found if variable in (None, one.name))


def masked(name: str, values: FloatArray, seed: int = SEED, **parameters: Any) -> FloatArray:
    return values_of(mv.method(name, **parameters).mask(panel(values), ["series"], seed=seed))


def curves(series: int = 60, length: int = 24, seed: int = 1) -> FloatArray:
    """Smooth curves of different levels, without any range."""
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.normal(size=(series, length)), axis=1)
    return np.asarray(100 * np.exp(0.5 * rng.normal(size=(series, 1))) + 3 * steps)


def kinds(release: Any) -> list[str]:
    return [note.kind.name for note in release.provenance.step_notes]


def note(release: Any, kind: str) -> Any:
    return next(note for note in release.provenance.step_notes if note.kind.name == kind).values


# --- what all of them promise ---------------------------------------------------------------------------------------


@every
def test_one_seed_makes_one_release_on_any_number_of_threads(name: str, parameters: dict[str, Any]) -> None:
    values = curves()
    with threads(1):
        one = masked(name, values, **parameters)
    with threads(3):
        np.testing.assert_array_equal(masked(name, values, **parameters), one)
    differs = bool((masked(name, values, seed=SEED + 1, **parameters) != one).any())
    assert differs == mv.method(name, **parameters).draws


@st.composite
def odd_tables(draw: st.DrawFn) -> FloatArray:
    """Few series with gaps, unequal lengths, constants, single points, none at all and duplicates."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = np.round(rng.normal(50, 10, (draw(st.integers(4, 12)), draw(st.integers(1, 9)))), 1)
    for row in values:
        kind = draw(st.sampled_from(["whole", "gaps", "short", "constant", "point", "none", "twin"]))
        if kind == "gaps":
            row[rng.random(len(row)) < 0.4] = NAN
        elif kind == "short":
            row[: rng.integers(len(row))] = NAN
        elif kind == "constant":
            row[:] = 7.3
        elif kind == "point":
            row[1:] = NAN
        elif kind == "none":
            row[:] = NAN
        elif kind == "twin":
            row[:] = values[0]
    return values


@every
@settings(max_examples=25)
@given(odd_tables())
def test_every_odd_series_is_masked_or_refused_in_a_sentence(
    name: str, parameters: dict[str, Any], values: FloatArray
) -> None:
    needed = {"series-swapping": 2, "block-bootstrap": 3}.get(name, 0)
    if (~np.isnan(values)).any(axis=1).sum() < needed:
        with pytest.raises(DataError, match=r"has \d+ series with values, but [^\n]+ needs at least"):
            masked(name, values, **parameters)
        return
    made = masked(name, values, **parameters)
    np.testing.assert_array_equal(np.isnan(made), np.isnan(values))
    assert np.isfinite(made[~np.isnan(values)]).all()


@every
def test_a_table_without_any_value_comes_back_empty_or_is_refused(name: str, parameters: dict[str, Any]) -> None:
    nothing = Microdata.of({"t0": np.full(5, NAN), "t1": np.full(5, NAN)}, numeric=["t0", "t1"], series="wide")
    method = mv.method(name, **parameters)
    if name in ("series-swapping", "block-bootstrap"):
        with pytest.raises(DataError, match="has 0 series with values"):
            method.mask(nothing, ["series"], seed=SEED)
    else:
        assert np.isnan(values_of(method.mask(nothing, ["series"], seed=SEED))).all()


@every
def test_each_variable_is_masked_by_itself(name: str, parameters: dict[str, Any]) -> None:
    """With the others beside it or not, what one becomes has to do with its own values alone."""
    data = mv.datasets.metering(40, seed=2, step="hour", periods=1, variables=("load", "water"), gaps=0.05)
    made = mv.method(name, **parameters).mask(data, ["load", "water"], seed=SEED)
    for variable in ("load", "water"):
        before, after = values_of(data, variable), values_of(made, variable)
        assert (np.isnan(before) == np.isnan(after)).all()
        assert (before != after)[~np.isnan(before)].any()
    told = [n.values["series"] for n in made.provenance.step_notes if n.kind.name == "series-dynamics"]
    assert told == ["load", "water"]
    one = mv.method(name, **parameters).mask(data, ["water"], seed=SEED)
    np.testing.assert_array_equal(values_of(one, "load"), values_of(data, "load"))
    if not one.provenance.steps[0].method.startswith(("series", "block")):
        np.testing.assert_array_equal(values_of(one, "water"), values_of(made, "water"))


@every
def test_declared_ranges_are_kept_and_it_is_said_how_often(name: str, parameters: dict[str, Any]) -> None:
    data = mv.datasets.metering(120, seed=4, step="hour", periods=1)
    release = mv.method(name, **parameters).mask(data, ["load"], seed=SEED)
    made = values_of(release)
    assert made.min() >= 0
    touched = int((made == 0).sum() - (values_of(data) == 0).sum())
    assert (touched > 0) == ("series-in-range" in kinds(release))


@every
def test_what_is_said_to_be_kept_is_measured_on_the_release(name: str, parameters: dict[str, Any]) -> None:
    values = curves(length=40)
    release = mv.method(name, **parameters).mask(panel(values), ["series"], seed=SEED)
    made = values_of(release)
    moved = 100 * np.abs(made.mean(axis=1) - values.mean(axis=1)).mean() / values.std()
    assert note(release, "series-means")["own"] == pytest.approx(moved, rel=0.06, abs=1e-9)

    def lagged(rows: FloatArray, lag: int) -> float:
        rest = rows - rows.mean(axis=1, keepdims=True)
        return float(((rest[:, lag:] * rest[:, :-lag]).sum(axis=1) / (rest**2).sum(axis=1)).mean())

    told = note(release, "series-dynamics")
    assert told["first_before"] == pytest.approx(lagged(values, 1), abs=0.006)
    assert told["first_after"] == pytest.approx(lagged(made, 1), abs=0.006)
    assert told["lag"] == 10
    assert told["quarter_after"] == pytest.approx(lagged(made, 10), abs=0.006)


def test_an_attribute_that_is_no_point_of_a_series_is_refused() -> None:
    data = mv.datasets.metering(20, step="month")
    with pytest.raises(DataError, match="'area' is not a point of any series, so smoothing cannot mask it"):
        mv.method("smoothing").mask(data, ["area", "load"])


def test_plain_tables_are_not_offered_methods_for_series() -> None:
    plain = Microdata.of({"age": [1, 2, 3], "income": [2, 3, 4]})
    metered = mv.datasets.metering(20, step="month")
    for name in ("series-swapping", "series-noise", "smoothing", "time-aggregation", "block-bootstrap"):
        cls = type(mv.method(name))
        assert cls.searched
        assert not cls.suits(plain, "age")
        assert cls.suits(metered, "load 2025-01")
        assert not cls.suits(metered, "area")


# --- swapping -------------------------------------------------------------------------------------------------------


def sorted_rows(values: FloatArray) -> FloatArray:
    rounded = np.round(values, 8) + 0.0
    return rounded[np.lexsort(rounded.T[::-1])]


@pytest.mark.parametrize("near", ["level", "shape", "own"])
@pytest.mark.parametrize("component", ["level", "shape", "both"])
def test_swapping_keeps_every_level_every_shape_and_the_aggregate_curve(component: str, near: str) -> None:
    values = curves()
    made = masked("series-swapping", values, component=component, near=near)
    before, after = values.mean(axis=1), made.mean(axis=1)
    np.testing.assert_allclose(np.sort(after), np.sort(before))
    np.testing.assert_allclose(sorted_rows(made - after[:, None]), sorted_rows(values - before[:, None]), atol=1e-6)
    np.testing.assert_allclose(made.sum(axis=0), values.sum(axis=0))
    stayed = np.isclose(after, before)
    assert stayed.all() if component == "shape" else stayed.mean() < 0.2


def test_levels_move_at_most_p_per_cent_of_the_ranks_and_in_pairs() -> None:
    values = curves(200)
    made = masked("series-swapping", values, p=4.0)
    before, after = values.mean(axis=1), made.mean(axis=1)
    rank = np.argsort(np.argsort(before))
    came_from = np.abs(before[:, None] - after).argmin(axis=0)
    assert np.abs(rank[came_from] - rank).max() <= 8
    assert (came_from[came_from] == np.arange(200)).all()


def test_with_scale_the_standard_deviation_goes_with_the_level() -> None:
    values = curves()
    made = masked("series-swapping", values, scale=True)
    pairs = [np.column_stack([rows.mean(axis=1), rows.std(axis=1)]) for rows in (values, made)]
    np.testing.assert_allclose(sorted_rows(pairs[1]), sorted_rows(pairs[0]), atol=1e-6)
    z = [(rows - rows.mean(axis=1)[:, None]) / rows.std(axis=1)[:, None] for rows in (values, made)]
    np.testing.assert_allclose(sorted_rows(z[1]), sorted_rows(z[0]), atol=1e-6)


def test_levels_are_kept_where_series_have_gaps_and_other_lengths() -> None:
    values = curves(80)
    values[np.random.default_rng(3).random(values.shape) < 0.2] = NAN
    values[:20, :12] = NAN
    made = masked("series-swapping", values)
    np.testing.assert_allclose(np.sort(np.nanmean(made, axis=1)), np.sort(np.nanmean(values, axis=1)))


def test_p_of_nothing_changes_nothing_and_says_so() -> None:
    values = curves()
    release = mv.method("series-swapping", p=0.0).mask(panel(values), ["series"], seed=SEED)
    np.testing.assert_allclose(values_of(release), values)
    assert note(release, "series-not-swapped")["unchanged"] == 60


# --- noise ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["frequency", "differences"])
def test_without_a_shift_of_levels_every_mean_is_kept_exactly(mode: str) -> None:
    values = curves()
    values[np.random.default_rng(1).random(values.shape) < 0.2] = NAN
    made = masked("series-noise", values, mode=mode, level=0.0)
    np.testing.assert_allclose(np.nanmean(made, axis=1), np.nanmean(values, axis=1))
    assert (np.abs(made - values) > 1e-6)[~np.isnan(values)].all()


@pytest.mark.parametrize("mode", ["frequency", "differences"])
@pytest.mark.parametrize("scale", ["series", "file"])
def test_noise_has_its_size_and_its_level(mode: str, scale: str) -> None:
    values = curves(4000) * np.where(np.arange(4000) % 2, 1.0, 5.0)[:, None]
    moved = masked("series-noise", values, mode=mode, scale=scale, size=0.5, level=0.3) - values
    shift = moved.mean(axis=1, keepdims=True)
    unit = np.sqrt(values.var(axis=1).mean()) if scale == "file" else values.std(axis=1)
    assert (shift[:, 0] / unit).std() == pytest.approx(0.3, rel=0.06)
    assert np.sqrt((((moved - shift) / np.reshape(unit, (-1, 1))) ** 2).mean()) == pytest.approx(0.5, rel=0.06)


@pytest.mark.parametrize("like", ["series", "file"])
def test_noise_with_the_spectrum_keeps_the_autocorrelation_that_white_noise_loses(like: str) -> None:
    values = curves(500, 48)
    release = mv.method("series-noise", size=0.7, like=like).mask(panel(values), ["series"], seed=SEED)
    told = note(release, "series-dynamics")
    assert told["first_after"] == pytest.approx(told["first_before"], abs=0.05)
    assert told["quarter_after"] == pytest.approx(told["quarter_before"], abs=0.08)
    white = values + 0.7 * values.std(axis=1, keepdims=True) * np.random.default_rng(1).normal(size=values.shape)
    rest = white - white.mean(axis=1, keepdims=True)
    assert ((rest[:, 1:] * rest[:, :-1]).sum(axis=1) / (rest**2).sum(axis=1)).mean() < told["first_before"] - 0.2


def test_noise_on_differences_keeps_the_autocorrelation_at_lag_one() -> None:
    values = curves(500, 48)
    told = note(
        mv.method("series-noise", mode="differences", size=0.7).mask(panel(values), ["series"], seed=SEED),
        "series-dynamics",
    )
    assert told["first_after"] == pytest.approx(told["first_before"], abs=0.05)


def test_a_constant_series_gets_noise_by_the_file_and_none_by_itself() -> None:
    values = curves()
    values[5] = 42.0
    own = mv.method("series-noise", scale="series").mask(panel(values), ["series"], seed=SEED)
    np.testing.assert_array_equal(values_of(own)[5], values[5])
    assert note(own, "series-without-noise")["constant"] == 1
    assert (masked("series-noise", values)[5] != 42.0).all()


def test_series_of_one_point_get_the_noise_of_the_file() -> None:
    values = np.random.default_rng(1).normal(50, 10, (3000, 1))
    moved = masked("series-noise", values, level=0.5) - values
    assert moved.std() == pytest.approx(0.5 * values.std(), rel=0.05)


@pytest.mark.parametrize("mode", ["frequency", "differences"])
def test_what_is_said_to_an_intruder_is_the_covariance_of_the_noise(mode: str) -> None:
    values = curves(4000, 7)
    method = mv.method("series-noise", mode=mode, like="file", scale="file")
    data = panel(values)
    (statement,) = method.likelihood(data, data.names, Streams(1)).values()
    assert isinstance(statement, Normal)
    assert statement.slope == 1.0
    moved = values_of(method.mask(data, ["series"], seed=SEED)) - values
    scale = np.diag(statement.covariance).mean()
    np.testing.assert_allclose(np.cov(moved.T) / scale, statement.covariance / scale, atol=0.08)
    assert mv.method("series-noise", like="series").likelihood(data, data.names, Streams(1)) == {}


# --- smoothing and aggregation --------------------------------------------------------------------------------------


def test_an_aggregation_in_time_keeps_the_mean_of_every_window_of_every_series_and_of_the_file() -> None:
    values = curves(30, 24)
    made = masked("time-aggregation", values, window=6)
    windows = values.reshape(30, 4, 6).mean(axis=2)
    np.testing.assert_allclose(made.reshape(30, 4, 6), np.repeat(windows[:, :, None], 6, axis=2))
    np.testing.assert_allclose(made.mean(axis=1), values.mean(axis=1))
    sums = made.sum(axis=0).reshape(4, 6).sum(axis=1)
    np.testing.assert_allclose(sums, values.sum(axis=0).reshape(4, 6).sum(axis=1))


def test_sums_over_windows_have_room_in_the_range() -> None:
    data = mv.datasets.metering(20, step="hour", periods=1)
    release = mv.method("time-aggregation", window=24, statistic="sum").mask(data, ["load"])
    np.testing.assert_allclose(values_of(release)[:, 3], values_of(data).sum(axis=1))
    assert release.data["load 00:00"].range == (0.0, 4800.0)
    assert "series-in-range" not in kinds(release)


def test_smoothing_without_short_waves_keeps_means_and_what_is_slow() -> None:
    values = curves(30, 48)
    made = masked("smoothing", values, window=6)
    np.testing.assert_allclose(made.mean(axis=1), values.mean(axis=1))
    np.testing.assert_allclose(masked("smoothing", made, window=6), made)
    rough = [float((np.diff(rows, axis=1) ** 2).mean()) for rows in (values, made)]
    assert rough[1] < 0.5 * rough[0]


@pytest.mark.parametrize("name", ["smoothing", "time-aggregation"])
def test_a_window_of_one_point_would_change_nothing_and_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="window = 1 is not allowed"):
        mv.method(name, window=1)


def test_noise_of_no_size_is_refused() -> None:
    with pytest.raises(ParameterError, match="size and level cannot both be 0"):
        mv.method("series-noise", size=0, level=0)


@pytest.mark.parametrize(("length", "window"), [(13, 12), (13, 4), (13, 3), (3, 5), (8, 4)])
def test_no_window_of_time_has_a_single_point(length: int, window: int) -> None:
    values = curves(10, length)
    made = masked("time-aggregation", values, window=window)
    assert not np.isclose(made, values).any()


def test_a_largest_value_is_a_true_one_and_the_release_says_so() -> None:
    release = mv.method("time-aggregation", statistic="maximum").mask(panel(curves(10, 12)), ["series"], seed=SEED)
    assert "maxima-as-they-are" in kinds(release)


def test_shapes_that_are_swapped_are_published_and_the_release_says_so() -> None:
    for component, told in (("both", True), ("shape", True), ("level", False)):
        release = mv.method("series-swapping", component=component).mask(panel(curves(20, 12)), ["series"], seed=SEED)
        assert ("shapes-of-others" in kinds(release)) == told


# --- block bootstrap ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("donors", ["nearest", "file"])
def test_synthetic_series_have_the_means_and_the_variance_of_the_file_on_average(donors: str) -> None:
    values = curves(1500)
    # the mean of one file has a standard error of 1.4 %, that of four files half of it
    several = [masked("block-bootstrap", values, SEED + number, donors=donors) for number in range(4)]
    assert np.mean(several) == pytest.approx(values.mean(), rel=0.03)
    made = several[0]
    within = [float(rows.var(axis=1).mean()) for rows in (values, made)]
    # extreme series are among the nearest of few others
    assert (0.9 if donors == "file" else 0.75) < within[1] / within[0] < 1.1
    levels = [float(rows.mean(axis=1).std()) for rows in (values, made)]
    assert levels[1] == pytest.approx(levels[0], rel=0.1)


def test_nobody_is_published_and_what_is_close_is_said() -> None:
    values = curves(200)
    release = mv.method("block-bootstrap").mask(panel(values), ["series"], seed=SEED)
    assert note(release, "copies")["copies"] == 0.0
    assert "distance-to-originals" in kinds(release)


def test_the_own_values_of_a_series_enter_its_own_only_by_averages_over_k() -> None:
    """A peak that one series alone has is in its synthetic series with a k-th part of its height at most."""
    values = curves(200, 24)
    values[50, 10] += 1e4
    made = masked("block-bootstrap", values, k=20, donors="file")
    assert np.abs(made[50] - values.mean()).max() < 1e4 / 20


def test_too_few_series_for_k_are_refused() -> None:
    with pytest.raises(DataError, match="'series' has 5 series with values, but block-bootstrap with k = 5 needs at"):
        masked("block-bootstrap", curves(5))
