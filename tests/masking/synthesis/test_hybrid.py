"""Hybrid data: any release with the means and covariances of the original."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from microveil.errors import DataError, ParameterError
from microveil.masking import Method, Plan, Step
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.masking.randomising.restore import Restore
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.masking.synthesis.hybrid import Hybrid
from microveil.microdata import Microdata
from microveil.protection import protect

FloatArray = npt.NDArray[np.float64]


def values(data: Microdata) -> FloatArray:
    return np.column_stack([data.numbers(name).values for name in data.names])


def check_moments(before: FloatArray, after: FloatArray) -> None:
    """Means and covariances agree to 1e-9 of the deviations."""
    scale = before.std(axis=0)
    assert (np.abs(after.mean(axis=0) - before.mean(axis=0)) < 1e-9 * scale).all()
    assert np.abs((np.cov(after.T) - np.cov(before.T)) / np.outer(scale, scale)).max() < 1e-9


@pytest.mark.spec("01:MK-12")
@pytest.mark.parametrize("first", [MDAV(k=5), Noise(alpha=0.5), RankSwapping(p=10), Noise(form="multiplicative")])
def test_means_and_covariances_are_exactly_those_of_the_original(
    reference: Callable[..., Microdata], first: Method
) -> None:
    census = reference("census")
    release = first.mask(census, seed=1)
    hybrid = Hybrid().mask(release, original=census)
    check_moments(values(census), values(hybrid.data))
    assert not any("part of the covariances" in note for note in hybrid.provenance.notes)
    # the records stay similar to their masked ones
    for name in census.names:
        assert np.corrcoef(hybrid.data.numbers(name).values, release.data.numbers(name).values)[0, 1] > 0.8


@pytest.mark.spec("01:MK-12")
def test_it_is_its_formula() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    original = Microdata.of(dict(zip("abc", X.T, strict=True)))
    release = Noise(alpha=1.0).mask(original, seed=1)
    M = values(release.data)
    U, U_M = (np.linalg.cholesky(np.cov(t.T)).T for t in (X, M))
    expected = (M - M.mean(axis=0)) @ np.linalg.inv(U_M) @ U + X.mean(axis=0)
    np.testing.assert_allclose(values(Hybrid().mask(release, original=original).data), expected, rtol=1e-8)


@pytest.mark.spec("01:MK-12")
def test_linearly_dependent_attributes_are_restored_too() -> None:
    a, b = np.random.default_rng(1).lognormal(size=(2, 80))
    original = Microdata.of({"a": a, "b": b, "sum": a + b, "same": np.full(80, 3.0)})
    hybrid = Hybrid().mask(MDAV(k=4).mask(original), original=original)
    after = values(hybrid.data)
    np.testing.assert_allclose(after.mean(axis=0), values(original).mean(axis=0))
    np.testing.assert_allclose(np.cov(after.T), np.cov(values(original).T), atol=1e-9)
    np.testing.assert_allclose(after[:, 0] + after[:, 1], after[:, 2], rtol=1e-6)


def test_records_that_vary_in_fewer_directions_are_said_to() -> None:
    """All records in one group: there is no covariance to stretch."""
    original = Microdata.of({"x": np.arange(5.0), "y": np.arange(5.0) ** 2})
    hybrid = Hybrid().mask(MDAV(k=5).mask(original), original=original)
    assert any("only a part of the covariances" in note for note in hybrid.provenance.notes)
    assert hybrid.frame["x"].to_pylist() == [2.0] * 5


@pytest.mark.spec("01:MK-12")
def test_as_a_step_of_a_plan_it_sees_the_original() -> None:
    rng = np.random.default_rng(1)
    people = Microdata.of({"x": rng.normal(size=40), "y": rng.lognormal(size=40)})
    release = protect(people, Plan((Step("noise", {"alpha": 1.0}), Step("hybrid")), seed=1))
    check_moments(values(people), values(release.data))
    assert [step.method for step in release.provenance.steps] == ["noise", "hybrid"]


def test_missing_cells_stay_and_complete_records_have_the_moments() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=100)
    y = x + rng.normal(size=100)
    gaps = rng.random(100) < 0.2
    people = Microdata.of({"x": pa.array(x, mask=gaps), "y": y})
    hybrid = Hybrid().mask(Noise(alpha=1.0).mask(people, seed=1), original=people)
    after = values(hybrid.data)
    assert (np.isnan(after[:, 0]) == gaps).all()
    check_moments(values(people)[~gaps], after[~gaps])
    assert (after[gaps, 1] != values(people)[gaps, 1]).all()


def test_a_range_that_keeps_it_from_being_exact_is_said() -> None:
    people = Microdata.of({"income": np.random.default_rng(1).exponential(size=100)})
    people = people.with_schema(people.schema.replacing(people["income"].changed(range=(0, 9))))
    # of twenty seeds, seventeen bring some income below zero
    hybrid = Hybrid().mask(Noise(alpha=1.0).mask(people, seed=2), original=people)
    assert any("brought back into the declared ranges" in note for note in hybrid.provenance.notes)
    assert hybrid.data.numbers("income").values.min() == 0


def test_an_original_is_never_released_as_it_is() -> None:
    people = Microdata.of({"x": np.random.default_rng(1).normal(size=40)})
    release = Hybrid().mask(people, seed=1)
    assert (values(release.data) != values(people)).all()
    check_moments(values(people), values(release.data))
    assert "nothing was masked before, so mdav was applied first" in release.provenance.notes[0]
    noisy = Hybrid(first=Noise(alpha=0.5)).mask(people, seed=1)
    assert "noise was applied first" in noisy.provenance.notes[0]
    assert len(set(noisy.frame["x"].to_pylist())) == 40


def test_a_release_without_its_original_is_refused() -> None:
    people = Microdata.of({"x": np.arange(10.0)})
    with pytest.raises(DataError, match=r"hybrid corrects a release and needs the original as well"):
        Hybrid().mask(Noise().mask(people, seed=1))


def test_an_original_of_other_records_is_refused() -> None:
    people = Microdata.of({"x": np.arange(10.0)})
    with pytest.raises(DataError, match="the original has 9 records and the release 10"):
        Hybrid().mask(Noise().mask(people, seed=1), original=Microdata.of({"x": np.arange(9.0)}))


def test_too_few_complete_records_are_refused() -> None:
    people = Microdata.of({"x": [1.0, 2.0], "y": [2.0, 5.0]})
    with pytest.raises(DataError, match="2 records without missing cells are too few for hybrid"):
        Hybrid().mask(Noise().mask(people, seed=1), original=people)


def test_what_masks_first_must_mask_numbers() -> None:
    with pytest.raises(ParameterError, match="first = 'pram' is not allowed; it must mask numbers"):
        Hybrid(first=PRAM())
    with pytest.raises(ParameterError, match="first = 'hybrid' is not allowed"):
        Hybrid(first=Hybrid())


@pytest.mark.parametrize(("correct", "kept"), [(Hybrid, 0.99), (Restore, 0.9)])
def test_an_attribute_that_nobody_masked_is_masked_first(correct: type[Hybrid | Restore], kept: float) -> None:
    """Corrected values are near the groups' means: over thirty seeds they correlate by 0.996 and by 0.940 at least."""
    rng = np.random.default_rng(2)
    data = Microdata.of({"x": rng.normal(size=60), "y": rng.normal(size=60), "c": [1.0] * 60})
    release = Noise(alpha=0.3).mask(data, ["x"], seed=1)
    corrected = correct(first=MDAV(k=5)).mask(release, ["x", "y", "c"], original=data)
    published = corrected.data.numbers("y").values
    assert np.abs(published - data.numbers("y").values).max() > 0.05
    grouped = MDAV(k=5).mask(data, ["y"]).data.numbers("y").values
    assert np.corrcoef(published, grouped)[0, 1] > kept
    assert any("y had not been masked before, so mdav was applied first" in n for n in corrected.provenance.notes)
    assert corrected.data.numbers("c").values.tolist() == [1.0] * 60


def test_it_reports_how_close_the_released_records_come_to_original_ones() -> None:
    rng = np.random.default_rng(2)
    people = Microdata.of({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    notes = Hybrid().mask(Noise(alpha=0.5).mask(people, seed=1), original=people).provenance.notes
    assert any("original" in note and "%" in note for note in notes)
