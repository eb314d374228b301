"""Noise has the moments it promises.

Statistical bounds are five standard errors: by chance alone one seed in a million would fail.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from microveil.errors import DataError, ParameterError
from microveil.masking.columns import restored_moments
from microveil.masking.randomising.noise import Noise
from microveil.microdata import Attribute, Microdata, Schema
from microveil.progress import silent
from microveil.randomness import Streams

FloatArray = npt.NDArray[np.float64]
FORMS = ("uncorrelated", "correlated", "linear", "non-linear", "multiplicative")


def correlated_sample(records: int = 40_000) -> Microdata:
    """Three normal attributes on very different scales; the first two correlate by 0.8."""
    drawn = np.random.default_rng(1).standard_normal((records, 3))
    mixed = drawn @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]])
    return Microdata.of(dict(zip("abc", (mixed * [1.0, 1e4, 1e-3] + [5.0, 0.0, 1.0]).T, strict=True)))


def matrix(data: Microdata) -> FloatArray:
    return np.column_stack([data.numbers(name).values for name in data.names])


def masked(data: Microdata, seed: int = 3, **parameters: object) -> FloatArray:
    return matrix(Noise(**parameters).mask(data, list(data.names), seed=seed).data)


# --- uncorrelated ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("01:MK-1")
def test_variances_grow_by_one_plus_alpha_and_means_stay() -> None:
    values = np.random.default_rng(1).lognormal(size=40_000)
    noise = masked(Microdata.of({"x": values}), alpha=0.5)[:, 0] - values
    assert abs(noise.mean()) < 5 * np.sqrt(0.5 * values.var() / len(values))
    assert abs(noise.var() / (0.5 * values.var()) - 1) < 5 * np.sqrt(2 / len(values))


@pytest.mark.spec("01:MK-1")
def test_uncorrelated_noise_shrinks_correlations_by_one_plus_alpha() -> None:
    data = correlated_sample()
    found = np.corrcoef(masked(data, alpha=0.5), rowvar=False)[0, 1]
    expected = np.corrcoef(matrix(data), rowvar=False)[0, 1] / 1.5
    assert abs(found - expected) < 5 / np.sqrt(len(data))


def test_the_noise_of_two_attributes_is_independent() -> None:
    values = np.random.default_rng(1).normal(size=20_000)
    noise = masked(Microdata.of({"x": values, "y": values}), alpha=1.0) - values[:, None]
    assert abs(np.corrcoef(noise, rowvar=False)[0, 1]) < 5 / np.sqrt(len(values))


# --- correlated, and drawn towards the mean --------------------------------------------------------------------------


@pytest.mark.spec("01:MK-1")
def test_correlated_noise_keeps_correlations_and_multiplies_covariances() -> None:
    data = correlated_sample()
    before, after = matrix(data), masked(data, alpha=0.5, form="correlated")
    error = 5 / np.sqrt(len(data))
    assert np.abs(np.corrcoef(after, rowvar=False) - np.corrcoef(before, rowvar=False)).max() < error
    growth = np.cov(after, rowvar=False) / np.cov(before, rowvar=False)
    assert np.abs(np.diag(growth) - 1.5).max() < 1.5 * error * np.sqrt(2)
    noise = after - before
    assert np.abs(np.corrcoef(noise, rowvar=False) - np.corrcoef(before, rowvar=False)).max() < error
    assert (np.abs(noise.mean(axis=0)) < np.sqrt(0.5) * error * before.std(axis=0)).all()


@pytest.mark.spec("01:MK-1")
def test_the_linear_form_keeps_means_and_covariances_in_expectation() -> None:
    data = correlated_sample()
    before, after = matrix(data), masked(data, alpha=2.0, form="linear")
    error = 5 / np.sqrt(len(data))
    scale = before.std(axis=0)
    assert (np.abs(after.mean(axis=0) - before.mean(axis=0)) < error * scale).all()
    change = (np.cov(after, rowvar=False) - np.cov(before, rowvar=False)) / np.outer(scale, scale)
    assert np.abs(change).max() < error * np.sqrt(2)
    assert np.abs(after - before).mean() > 0.1 * scale[0]


@pytest.mark.spec("01:MK-1")
def test_the_linear_form_is_its_formula() -> None:
    """With the same random numbers; in releases each form has its own."""
    data = correlated_sample(50)
    noisy, drawn_in = (
        matrix(data.with_columns(Noise(alpha=0.7, form=form)._mask(data, data.names, Streams(3), silent).columns))
        for form in ("correlated", "linear")
    )
    c = 1 / np.sqrt(1.7)
    np.testing.assert_allclose(drawn_in, c * noisy + (1 - c) * matrix(data).mean(axis=0), rtol=1e-12)


@pytest.mark.spec("01:MK-1")
@pytest.mark.parametrize("form", ["uncorrelated", "correlated", "linear", "multiplicative"])
def test_exact_keeps_means_and_covariances_of_this_very_table(form: str) -> None:
    data = correlated_sample(60)
    before, after = matrix(data), masked(data, alpha=0.5, form=form, exact=True)
    scale = before.std(axis=0)
    assert (np.abs(after.mean(axis=0) - before.mean(axis=0)) < 1e-10 * scale).all()
    change = (np.cov(after, rowvar=False) - np.cov(before, rowvar=False)) / np.outer(scale, scale)
    assert np.abs(change).max() < 1e-10
    assert np.abs((after - before) / scale).mean() > 0.1


def test_noise_keeps_what_depends_linearly() -> None:
    """A singular covariance needs no jitter: a sum stays the sum of its parts."""
    parts = np.random.default_rng(1).lognormal(size=(200, 2))
    data = Microdata.of({"a": parts[:, 0], "b": parts[:, 1], "sum": parts.sum(axis=1), "none": np.full(200, 0.1)})
    after = masked(data, alpha=0.5, form="correlated")
    np.testing.assert_allclose(after[:, 0] + after[:, 1], after[:, 2], atol=1e-7 * after.std())
    assert (after[:, 3] == 0.1).all()
    assert np.abs(after[:, 0] - parts[:, 0]).mean() > 0.1


# --- on normal scores ------------------------------------------------------------------------------------------------


@pytest.mark.spec("01:MK-1")
def test_the_non_linear_form_publishes_values_of_the_original_with_nearly_their_distribution() -> None:
    rng = np.random.default_rng(2)
    counts = rng.poisson(1.5, 20_000).astype(float)
    data = Microdata.of({"count": counts, "income": np.exp(rng.normal(size=20_000) + 0.5 * counts)})
    after = masked(data, alpha=0.5, form="non-linear")
    assert set(after[:, 0]) <= set(counts)
    assert set(after[:, 1]) <= set(matrix(data)[:, 1])
    for before, now in zip(matrix(data).T, after.T, strict=True):
        grid = np.unique(before)
        gap = np.searchsorted(np.sort(before), grid, "right") - np.searchsorted(np.sort(now), grid, "right")
        # two samples of n: Kolmogorov-Smirnov beyond 2.7 sqrt(2/n) has probability below one in a million
        assert np.abs(gap).max() / len(data) < 2.7 * np.sqrt(2 / len(data))
    ranks = [np.argsort(np.argsort(x, axis=0), axis=0) for x in (matrix(data), after)]
    assert abs(np.corrcoef(ranks[1].T)[0, 1] - np.corrcoef(ranks[0].T)[0, 1]) < 0.05
    assert (after != matrix(data)).mean() > 0.3


@pytest.mark.spec("01:MK-1")
def test_without_noise_the_non_linear_form_changes_nothing() -> None:
    data = Microdata.of({"x": [3.0, 1.0, 1.0, 7.0, 1.0, 3.0], "y": [0.0, -2.0, 5.5, 4.0, 4.0, 1e9]})
    np.testing.assert_array_equal(masked(data, alpha=0.0, form="non-linear"), matrix(data))


# --- multiplicative --------------------------------------------------------------------------------------------------


@pytest.mark.spec("01:MK-1")
def test_multiplicative_factors_have_mean_one_and_variance_alpha() -> None:
    values = np.where(np.arange(60_000) % 3 == 0, 0.0, np.random.default_rng(1).normal(20.0, 30.0, 60_000))
    after = masked(Microdata.of({"x": values}), alpha=0.09, form="multiplicative")[:, 0]
    assert (np.sign(after) == np.sign(values)).all()
    factors = after[values != 0] / values[values != 0]
    assert abs(factors.mean() - 1) < 5 * 0.3 / np.sqrt(len(factors))
    fourth = np.mean((factors - 1) ** 4)
    assert abs(factors.var() - 0.09) < 5 * np.sqrt((fourth - 0.09**2) / len(factors))


@pytest.mark.spec("01:MK-1")
def test_multiplicative_noise_has_the_variance_it_says() -> None:
    values = np.random.default_rng(4).normal(20.0, 30.0, 200_000)
    after = masked(Microdata.of({"x": values}), alpha=0.09, form="multiplicative")[:, 0]
    expected = values.var() * 1.09 + 0.09 * values.mean() ** 2
    fourth = np.mean((after - after.mean()) ** 4)
    assert abs(after.var() - expected) < 5 * np.sqrt((fourth - after.var() ** 2) / len(values))


# --- what holds for all forms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_constant_gets_no_noise(form: str) -> None:
    data = Microdata.of({"x": [0.1] * 9, "y": np.arange(9.0)})
    assert (masked(data, alpha=1.0, form=form)[:, 0] == 0.1).all()


@pytest.mark.parametrize("form", FORMS)
def test_missing_cells_and_codes_stay_and_do_not_disturb_the_others(form: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=400)
    y = 2 * x + rng.normal(size=400)
    gaps = rng.random(400) < 0.3
    data = Microdata.of({"x": pa.array(x, mask=gaps), "y": np.where(np.arange(400) < 20, -99.0, y)})
    data = data.with_schema(data.schema.replacing(data["y"].changed(missing_codes=(-99.0,))))
    release = Noise(alpha=0.1, form=form).mask(data, seed=1).data
    assert (np.isnan(release.numbers("x").values) == gaps).all()
    assert release.arrow("y").to_pylist()[:20] == [-99.0] * 20
    changed = release.numbers("x").values[~gaps] - x[~gaps]
    assert 0.05 < np.abs(changed).mean() < 1.0


def test_a_declared_range_is_kept() -> None:
    data = Microdata.of({"age": np.arange(0.0, 100.0)})
    data = data.with_schema(data.schema.replacing(data["age"].changed(range=(0, 99))))
    after = masked(data, seed=1, alpha=1.0)
    assert after.min() >= 0
    assert after.max() <= 99


def test_exact_says_when_a_range_keeps_it_from_being_exact() -> None:
    data = Microdata.of({"age": np.arange(0.0, 100.0)})
    ranged = data.with_schema(data.schema.replacing(data["age"].changed(range=(0, 99))))
    assert "not exact" in Noise(alpha=1.0, exact=True).mask(ranged, seed=1).provenance.notes[0]
    assert Noise(alpha=1.0, exact=True).mask(data, seed=1).provenance.notes == ()


def test_exact_needs_two_records_more_than_attributes() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 5.0], "y": [1.0, 5.0, 2.0]})
    with pytest.raises(DataError, match=r"3 records without missing cells are too few for noise.*at least 4"):
        Noise(exact=True).mask(data, seed=1)


def test_exact_does_not_go_with_values_of_the_original() -> None:
    with pytest.raises(ParameterError, match="exact = True is not allowed with form = 'non-linear'"):
        Noise(form="non-linear", exact=True)


def test_single_precision_stays_single_precision() -> None:
    release = Noise().mask(Microdata.of({"x": np.arange(9, dtype=np.float32)}), seed=1)
    assert str(release.frame["x"].type) == "float"


def test_alpha_is_not_negative() -> None:
    with pytest.raises(ParameterError, match=r"alpha = -0.1 is not allowed; it must be greater than or equal to 0"):
        Noise(alpha=-0.1)


@pytest.mark.parametrize("alpha", [float("inf"), float("nan")])
def test_alpha_is_finite(alpha: float) -> None:
    with pytest.raises(ParameterError, match="finite"):
        Noise(alpha=alpha)


def test_a_value_at_the_end_of_its_range_is_not_counted_as_brought_back() -> None:
    schema = Schema([Attribute(name="x", kind="numeric"), Attribute(name="c", kind="numeric", range=(5, 10))])
    x, constant = np.array([1.0, 2.0, 4.0, 7.0, 3.0, 9.0]), np.full(6, 5.0)
    data = Microdata.of({"x": x, "c": constant}, schema)
    before, after = np.column_stack([x, constant]), np.column_stack([x[::-1] + 1, constant])
    restored, notes = restored_moments(data, ["x", "c"], before, after, "noise")
    assert restored[:, 1].tolist() == constant.tolist()
    assert notes == ()
