"""Post-masking optimisation: moments restored, and nobody closer to the own original."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.errors import DataError
from microveil.losses.numeric.moments import IL2, IL3
from microveil.masking import Method, Plan, Step
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.restore import Restore
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.microdata import Microdata
from microveil.numerics.statistics.moment_fit import _Discrepancy, _Moments, _Outside
from microveil.numerics.statistics.scaling import Scaling
from microveil.protection import protect

FloatArray = npt.NDArray[np.float64]


def values(data: Microdata) -> FloatArray:
    return np.column_stack([data.numbers(name).values for name in data.names])


def distances(original: FloatArray, masked: FloatArray) -> FloatArray:
    """Of each record to its own original, in deviations of the original, over the cells present."""
    scaling = Scaling.of(original)
    return np.asarray(np.sqrt(np.nansum(np.square(scaling.apply(masked) - scaling.apply(original)), axis=1)))


def discrepancy(original: FloatArray, masked: FloatArray) -> float:
    """The sum of squared relative differences, without any moment near 0."""
    covariances = [np.cov(t.T, ddof=0) for t in (original, masked)]
    upper = np.triu_indices(original.shape[1])
    second = np.square((covariances[1] - covariances[0]) / covariances[0])[upper].sum()
    return float(np.square(masked.mean(axis=0) / original.mean(axis=0) - 1).sum() + second)


def sample(records: int = 120) -> Microdata:
    drawn = np.random.default_rng(5).standard_normal((records, 3))
    mixed = drawn @ np.array([[1.0, 0.8, 0.5], [0.0, 0.6, 0.4], [0.0, 0.0, 0.9]])
    return Microdata.of(dict(zip("abc", (mixed * [1.0, 50.0, 1e4] + [3.0, 200.0, 5e4]).T, strict=True)))


@pytest.mark.spec("01:TR-3")
@pytest.mark.parametrize("first", [Noise(alpha=0.2), RankSwapping(p=15), Noise(form="multiplicative")])
def test_the_moments_come_back_and_no_record_comes_closer(first: Method) -> None:
    data = sample()
    release = first.mask(data, seed=1)
    restored = Restore().mask(release, original=data)
    original, before, after = values(data), values(release.data), values(restored.data)
    assert discrepancy(original, before) > 1e-3
    assert discrepancy(original, after) < 1e-5
    assert (distances(original, after) >= distances(original, before) * (1 - 1e-9)).all()


@pytest.mark.spec("01:TR-3")
def test_each_by_itself_no_record_of_a_group_comes_closer() -> None:
    data = sample()
    release = MDAV(k=5).mask(data)
    restored = Restore(alike="apart").mask(release, original=data)
    original, before, after = values(data), values(release.data), values(restored.data)
    assert discrepancy(original, after) < 1e-5
    assert (distances(original, after) >= distances(original, before) * (1 - 1e-9)).all()
    assert len(np.unique(after, axis=0)) > 2 * len(np.unique(before, axis=0))


@pytest.mark.spec("01:TR-3")
@pytest.mark.parametrize("publish", ["mean", "median"])
def test_records_made_alike_stay_alike_and_as_a_group_no_closer(publish: str) -> None:
    data = sample()
    release = MDAV(k=5, publish=publish).mask(data)
    restored = Restore().mask(release, original=data)
    assert release.partition is not None
    labels = release.partition.labels
    original, before, after = values(data), values(release.data), values(restored.data)
    for group in range(len(release.partition)):
        assert len(np.unique(after[labels == group], axis=0)) == 1
    assert discrepancy(original, after) < 1e-5
    squares = [np.bincount(labels, weights=np.square(distances(original, t))) for t in (before, after)]
    assert (squares[1] >= squares[0] * (1 - 1e-9)).all()
    assert restored.guarantees.k >= 5


@pytest.mark.spec("01:TR-3")
@pytest.mark.parametrize("file", ["census", "tarragona"])
@pytest.mark.parametrize("first", [MDAV(k=5), Noise(alpha=0.1)])
def test_less_is_lost_and_no_more_records_are_linked(
    reference: Callable[..., Microdata], file: str, first: Method
) -> None:
    """Linked on the scale of the original, which is also that of the distances kept. On the scale of each file by
    itself a release of too small a variance is linked less well than it could be, and restoring it takes that away."""
    data = reference(file)
    release = first.mask(data, seed=1)
    restored = Restore(iterations=100).mask(release, original=data)
    risk = [DistanceLinkage(standardisation="joint").assess(data, r).value for r in (release, restored)]
    assert risk[1] <= risk[0]
    assert IL3().measure(data, restored).value < IL3().measure(data, release).value / 2
    assert IL2().measure(data, restored).value < 1.0


@pytest.mark.spec("01:TR-3")
def test_the_discrepancy_is_noted_and_is_its_formula() -> None:
    data = sample()
    release = MDAV(k=5).mask(data)
    note = Restore().mask(release, original=data).provenance.notes[-1]
    before, after = (float(word) for word in note.split(" from ")[1].split(" to "))
    assert before == pytest.approx(discrepancy(values(data), values(release.data)), rel=1e-2)
    assert after < 1e-6


@pytest.mark.spec("01:TR-3")
@pytest.mark.parametrize("kind", ["central", "raw"])
def test_the_slope_is_that_of_the_discrepancy(kind: str) -> None:
    """Against differences, also with missing cells and rows pushed back on their spheres."""
    rng = np.random.default_rng(1)
    original, masked, cells = rng.normal(size=(3, 12, 3))
    present = rng.random((12, 3)) < 0.8
    original, masked, cells = (np.where(present, t, 0.0) for t in (original, masked, cells))
    measure = _Discrepancy(_Moments.of(original, present, np.array([2.0, -1.0, 0.5]), kind))
    outside = _Outside(original, masked)  # centres, and points that were at these distances from them

    def seen(at: FloatArray) -> tuple[float, FloatArray]:
        pushed, inside, distance = outside.pushed(at)
        value, slope = measure(pushed)
        return value, outside.slope(slope, at, inside, distance)

    _, inside, _ = outside.pushed(cells)
    assert inside.any()
    assert not inside.all()
    _, slope = seen(cells)
    for i, j in np.argwhere(present):
        step = np.zeros_like(cells)
        step[i, j] = 1e-6
        difference = (seen(cells + step)[0] - seen(cells - step)[0]) / 2e-6
        assert slope[i, j] == pytest.approx(difference, rel=1e-4, abs=1e-6)


def test_raw_moments_are_restored_when_asked_for() -> None:
    data = sample()
    restored = Restore(moments="raw").mask(MDAV(k=5).mask(data), original=data)
    original, after = values(data), values(restored.data)
    np.testing.assert_allclose(after.T @ after, original.T @ original, rtol=1e-3)


def test_missing_cells_stay_and_nobody_comes_closer() -> None:
    data = sample()
    gaps = np.random.default_rng(1).random(len(data)) < 0.2
    data = data.with_columns({"b": pa.array(data.numbers("b").values, mask=gaps)})
    release = Noise(alpha=0.3).mask(data, seed=1)
    restored = Restore().mask(release, original=data)
    original, before, after = values(data), values(release.data), values(restored.data)
    assert (np.isnan(after) == np.isnan(original)).all()
    assert (distances(original, after) >= distances(original, before) * (1 - 1e-9)).all()
    variances = [np.nanvar(t, axis=0) for t in (original, before, after)]
    assert np.abs(variances[1] / variances[0] - 1).max() > 0.1
    assert np.abs(variances[2] / variances[0] - 1).max() < 1e-2


def test_values_stay_in_declared_ranges() -> None:
    rng = np.random.default_rng(1)
    data = Microdata.of({"x": rng.uniform(0, 1, 80), "y": rng.uniform(5, 6, 80)})
    data = data.with_schema(
        data.schema.replacing(*(data[n].changed(range=r) for n, r in (("x", (0, 1)), ("y", (5, 6)))))
    )
    release = Noise(alpha=0.5).mask(data, seed=1)
    restored = Restore().mask(release, original=data)
    original, before, after = values(data), values(release.data), values(restored.data)
    assert (after.min(axis=0) >= [0, 5]).all()
    assert (after.max(axis=0) <= [1, 6]).all()
    assert (distances(original, after) >= distances(original, before) * (1 - 1e-9)).all()
    assert discrepancy(original, after) < discrepancy(original, before)


def test_a_release_that_is_right_already_stays_as_it_is() -> None:
    data = sample()
    release = Noise(alpha=0.3, exact=True).mask(data, seed=1)
    assert Restore().mask(release, original=data).data.digest() == release.data.digest()


def test_constants_stay() -> None:
    data = Microdata.of({"x": np.random.default_rng(1).lognormal(size=30), "c": np.full(30, 7.0)})
    restored = Restore().mask(MDAV(k=3).mask(data), original=data)
    assert set(restored.frame["c"].to_pylist()) == {7.0}


def test_as_a_step_of_a_plan_it_sees_the_original() -> None:
    data = sample()
    release = protect(data, Plan((Step("mdav", {"k": 4}), Step("restore")), seed=1))
    assert discrepancy(values(data), values(release.data)) < 1e-5


def test_a_release_without_its_original_is_refused() -> None:
    data = sample(20)
    with pytest.raises(DataError, match="restore corrects a release and needs the original as well"):
        Restore().mask(Noise().mask(data, seed=1))
