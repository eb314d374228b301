"""What an intruder can still do with masked series, measured: the weaknesses that the methods name are real, and their
usual parameters are not undone by the first thing one would try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import microveil as mv
from microveil.microdata import Microdata
from microveil.numerics.series.filters import exponential, moving_average
from microveil.typing import FloatArray

SEED = 2**91 + 3
METERS = 400
Features = Callable[[FloatArray], FloatArray]


@pytest.fixture(scope="module")
def meters() -> Microdata:
    return mv.datasets.metering(METERS, seed=6)


@pytest.fixture(scope="module")
def free() -> Microdata:
    """Series without a range, so that nothing is brought back into it."""
    rng = np.random.default_rng(8)
    walks = 5 * np.cumsum(rng.normal(size=(METERS, 48)), axis=1) + rng.normal(0, 40, (METERS, 1))
    return Microdata.of({f"t{i}": walks[:, i] for i in range(48)}, series="wide")


def values_of(table: Any) -> FloatArray:
    data: Microdata = getattr(table, "data", table)
    (found,) = data.series_among(data.schema.panel.all_columns)  # type: ignore[union-attr]
    return found.values


def release(data: Microdata, name: str, **parameters: Any) -> FloatArray:
    known = data.schema.panel.all_columns  # type: ignore[union-attr]
    return values_of(mv.method(name, **parameters).mask(data, known, seed=SEED))


def levels(values: FloatArray) -> FloatArray:
    return values.mean(axis=1, keepdims=True)


def changes(values: FloatArray) -> FloatArray:
    return np.diff(values, axis=1)


def shapes(values: FloatArray) -> FloatArray:
    rest = values - values.mean(axis=1, keepdims=True)
    return np.asarray(rest / np.maximum(rest.std(axis=1, keepdims=True), 1e-12))


def coarse(values: FloatArray) -> FloatArray:
    """Means over eight stretches: what survives noise and blocks best."""
    return np.column_stack([part.mean(axis=1) for part in np.array_split(values, 8, axis=1)])


def as_they_are(values: FloatArray) -> FloatArray:
    return values


def linked(before: FloatArray, after: FloatArray, features: Features) -> float:
    """The percentage of originals whose own record is nearest; ties count as what they are worth on average."""
    one, other = features(before), features(after)
    distances = np.stack([((other - row) ** 2).sum(axis=1) for row in one])
    nearest = distances <= distances.min(axis=1, keepdims=True) * (1 + 1e-9) + 1e-12
    return float(100 * (np.diag(nearest) / nearest.sum(axis=1)).mean())


def worst(before: FloatArray, after: FloatArray) -> float:
    """The best of the intruder's ways."""
    return max(linked(before, after, features) for features in (as_they_are, levels, changes, shapes, coarse))


# --- swapping -------------------------------------------------------------------------------------------------------


def test_levels_alone_swapped_leave_every_shape_in_its_record(meters: Microdata, free: Microdata) -> None:
    assert linked(values_of(free), release(free, "series-swapping", component="level"), changes) == 100.0
    # a range that cuts some values changes nothing in that
    assert linked(values_of(meters), release(meters, "series-swapping", component="level"), changes) > 99


def test_shapes_alone_swapped_leave_every_level_in_its_record(free: Microdata) -> None:
    assert linked(values_of(free), release(free, "series-swapping", component="shape"), levels) == 100.0


def test_both_swapped_link_hardly_anybody(meters: Microdata, free: Microdata) -> None:
    for data in (meters, free):
        assert worst(values_of(data), release(data, "series-swapping")) < 5


def test_every_shape_is_found_again_but_in_the_record_of_another(free: Microdata) -> None:
    before, after = values_of(free), release(free, "series-swapping")
    one, other = changes(before), changes(after)
    found = np.array([((other - row) ** 2).sum(axis=1).argmin() for row in one])
    np.testing.assert_allclose(other[found], one, atol=1e-8)
    assert (found == np.arange(METERS)).mean() < 0.02


def candidates(before: FloatArray, after: FloatArray, keys: list[Features], p: float) -> float:
    """How many records are left, on average, to one who knows p: all whose ranks are in the window for every key."""
    possible = np.ones((METERS, METERS), dtype=np.bool_)
    for key in keys:
        known, published = (np.argsort(np.argsort(key(values)[:, 0])) for values in (before, after))
        possible &= np.abs(known[:, None] - published) <= p * METERS / 100
    assert np.diag(possible).all()  # nobody is excluded wrongly
    return float(possible.sum(axis=1).mean())


def test_the_window_leaves_as_many_candidates_as_it_says(free: Microdata) -> None:
    """Levels within p; with shapes near their own also these, by the component that anybody can compute."""
    before, p = values_of(free), 10.0
    rest = before - levels(before)
    axis = np.linalg.eigh(rest.T @ rest)[1][:, -1]

    def along(values: FloatArray) -> FloatArray:
        return ((values - levels(values)) @ axis)[:, None]

    by_level = candidates(before, release(free, "series-swapping", p=p), [levels], p)
    assert 0.15 * METERS < by_level < 0.21 * METERS
    by_both = candidates(before, release(free, "series-swapping", p=p, near="own"), [levels, along], p)
    assert 0.03 * METERS < by_both < 0.05 * METERS


def test_one_who_knows_the_whole_file_keeps_the_records_near_both_owners(free: Microdata) -> None:
    """From whom a published level and a published shape come is seen; the record lies in the windows of both."""
    before, p = values_of(free), 10.0
    after = release(free, "series-swapping", p=p)
    rank = np.argsort(np.argsort(levels(before)[:, 0]))
    owner_of_level = np.abs(levels(before)[:, 0] - levels(after)).argmin(axis=1)
    owner_of_shape = np.array([((changes(before) - row) ** 2).sum(axis=1).argmin() for row in changes(after)])
    possible = np.ones((METERS, METERS), dtype=np.bool_)
    for owner in (owner_of_level, owner_of_shape):
        possible &= np.abs(rank[owner][:, None] - rank) <= p * METERS / 100
    assert np.diag(possible).all()
    assert 0.11 * METERS < possible.sum(axis=1).mean() < 0.16 * METERS


# --- noise ----------------------------------------------------------------------------------------------------------


def test_noise_measured_by_each_series_leaves_long_series_linked_and_by_the_file_far_fewer(meters: Microdata) -> None:
    before = values_of(meters)
    assert linked(before, release(meters, "series-noise", scale="series"), changes) > 90
    assert worst(before, release(meters, "series-noise")) < 45


def test_exact_means_link_where_nothing_cuts_them(free: Microdata) -> None:
    before = values_of(free)
    assert linked(before, release(free, "series-noise", level=0.0), levels) == 100.0
    assert linked(before, release(free, "series-noise"), levels) < 10


@pytest.mark.parametrize("mode", ["frequency", "differences"])
def test_noise_as_smooth_as_the_series_is_not_smoothed_away_as_white_noise_is(free: Microdata, mode: str) -> None:
    before = values_of(free)
    after = release(free, "series-noise", mode=mode, level=0.0, like="file")
    noise = after - before
    white = np.random.default_rng(1).normal(0, np.sqrt((noise**2).mean()), noise.shape)

    def left(added: FloatArray) -> float:
        return float((moving_average(added, 7) ** 2).mean() / (added**2).mean())

    assert left(white) < 0.2
    assert left(noise) > 0.6


def test_noise_is_nowhere_weaker_than_elsewhere_in_a_series(free: Microdata) -> None:
    before = values_of(free)
    for mode in ("frequency", "differences"):
        spread = (release(free, "series-noise", mode=mode) - before).std(axis=0)
        assert spread.min() > 0.7 * spread.max(), mode


# --- smoothing and aggregation in time ------------------------------------------------------------------------------


def test_an_exponential_and_a_moving_average_are_computed_back_to_the_last_digits(free: Microdata) -> None:
    before = values_of(free)
    length = before.shape[1]
    for form, smooth in (("exponential", exponential), ("moving-average", moving_average)):
        after = release(free, "smoothing", form=form, window=4)
        system = smooth(np.eye(length), 4)  # row i is what becomes of a series that is 1 at point i
        np.testing.assert_allclose(np.linalg.solve(system.T, after.T).T, before, atol=1e-6)


def test_a_low_pass_and_windows_cannot_be_computed_back(free: Microdata) -> None:
    before = values_of(free)
    for name in ("smoothing", "time-aggregation"):
        after = release(free, name, window=4)
        assert np.linalg.matrix_rank(after - after.mean(axis=0)) <= 48 / 4 + 1
        # the intruder's best guess of what is gone is nothing
        lost = before - after
        assert abs(float((lost * after).mean())) < 1e-6 * float((before**2).mean())
        assert (lost**2).mean() > 0.5


def test_neither_hides_who_is_who(meters: Microdata) -> None:
    before = values_of(meters)
    for name in ("smoothing", "time-aggregation"):
        after = release(meters, name)
        assert linked(before, after, as_they_are) > 99
        order = np.argsort(np.argsort(before.mean(axis=1))) - np.argsort(np.argsort(after.mean(axis=1)))
        assert np.abs(order).max() <= 10  # of 400


def test_a_maximum_is_the_true_value_of_a_point(meters: Microdata) -> None:
    before, after = values_of(meters), release(meters, "time-aggregation", statistic="maximum", window=8)
    assert (before == after).mean() >= 1 / 8


# --- block bootstrap ------------------------------------------------------------------------------------------------


def test_synthetic_series_link_by_their_neighbourhood_alone(meters: Microdata) -> None:
    before = values_of(meters)
    near = release(meters, "block-bootstrap")
    assert linked(before, near, changes) < 3
    # the corner of the file that a series comes from shows, most of all in means over hours
    assert 2 < linked(before, near, coarse) < 35
    assert worst(before, release(meters, "block-bootstrap", donors="file")) < 3


def test_a_series_like_no_other_stays_far_from_all_others_unless_donors_are_the_whole_file(free: Microdata) -> None:
    values = values_of(free).copy()
    values[:6] += 1000.0  # a corner of their own, larger than k
    data = Microdata.of({f"t{i}": values[:, i] for i in range(48)}, series="wide")
    near, anywhere = (release(data, "block-bootstrap", donors=donors) for donors in ("nearest", "file"))
    assert (near[:6].mean(axis=1) > 500).all()
    assert not (anywhere[:6].mean(axis=1) > 500).all()


def test_no_block_repeats_the_changes_of_an_original(free: Microdata) -> None:
    """Blocks are of residuals: the changes of another series are in them, but not as they were."""
    before, after = changes(values_of(free)), changes(release(free, "block-bootstrap", blocks="moving", block=12))
    runs = np.lib.stride_tricks.sliding_window_view(after, 4, axis=1)
    own = np.lib.stride_tricks.sliding_window_view(before, 4, axis=1)
    closest = min(float(np.abs(own[:, t] - run).max(axis=1).min()) for run in runs[:40, 8] for t in range(own.shape[1]))
    assert closest > 1e-6
