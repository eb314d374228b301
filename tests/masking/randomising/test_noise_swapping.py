"""Noise, swapping of recognised records, and controlled distortion (Kim and Winkler)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.errors import DataError, ParameterError
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.noise_swapping import NoiseSwapping
from microveil.microdata import Microdata

FloatArray = npt.NDArray[np.float64]


def regions(records: int = 300) -> Microdata:
    """Three regions with means and covariances of their own, and a tiny one."""
    rng = np.random.default_rng(7)
    region = np.where(np.arange(records) < 4, 3, rng.integers(0, 3, records))
    x = rng.normal(size=records) * (1 + region) + 10 * region
    y = rng.normal(size=records) + x * (region - 1)
    names = np.array(["north", "south", "west", "isle"])
    return Microdata.of({"region": names[region], "x": x, "y": y}, keys=["x", "y"], strata=["region"])


def values(data: Microdata, names: tuple[str, ...] = ("x", "y")) -> FloatArray:
    return np.column_stack([data.numbers(name).values for name in names])


@pytest.mark.spec("01:TR-2")
def test_means_and_covariances_of_every_stratum_are_exactly_kept() -> None:
    data = regions()
    after = values(NoiseSwapping(alpha=0.3).mask(data, seed=1).data)
    before, region = values(data), np.array(data.arrow("region").to_pylist())
    assert np.abs(after - before).min(axis=1).max() > 0.1
    largest = max(("north", "south", "west"), key=lambda name: (region == name).sum())
    for name in ("north", "south", "west"):
        # four records are too few for a covariance of their own, so the isle joins the largest stratum
        rows = (region == name) | ((region == "isle") & (name == largest))
        np.testing.assert_allclose(after[rows].mean(axis=0), before[rows].mean(axis=0), atol=1e-9)
        np.testing.assert_allclose(np.cov(after[rows].T), np.cov(before[rows].T), atol=1e-9)


@pytest.mark.spec("01:TR-2")
def test_recognised_records_get_the_values_of_another() -> None:
    """With hardly any noise everyone is recognised, and nobody may keep the own values."""
    data = regions()
    release = NoiseSwapping(alpha=1e-12).mask(data, seed=1)
    assert "300 records recognised after the noise, 300 records swapped" in release.provenance.notes[0]
    before, after = values(data), values(release.data)
    scale = before.std(axis=0)
    own = np.square((after - before) / scale).sum(axis=1)
    nearest = np.array([np.square((before - row) / scale).sum(axis=1).min() for row in after])
    assert (own > nearest).mean() > 0.95  # the distortion afterwards may bring a few back


@pytest.mark.spec("01:TR-2")
def test_fewer_records_are_linked_than_with_the_same_noise_alone(reference: Callable[..., Microdata]) -> None:
    census = reference("census")
    noise = Noise(alpha=0.1, form="correlated").mask(census, seed=1)
    swapped = NoiseSwapping(alpha=0.1).mask(census, seed=1)
    alone, after = (DistanceLinkage().assess(census, release).value for release in (noise, swapped))
    assert after < alone / 3


@pytest.mark.parametrize("within", ["clusters", "file"])
def test_clusters_and_the_whole_file_keep_the_moments_of_the_file(within: str) -> None:
    data = regions()
    release = NoiseSwapping(within=within, clusters=5).mask(data, seed=2)
    before, after = values(data), values(release.data)
    np.testing.assert_allclose(after.mean(axis=0), before.mean(axis=0), atol=1e-9)
    # clusters keep means and covariances each, and so those of the file
    np.testing.assert_allclose(np.cov(after.T), np.cov(before.T), atol=1e-8)
    assert f"{8 if within == 'clusters' else 1} sub-population" in release.provenance.notes[0]


def test_scores_keep_the_values_and_shape_of_skewed_data() -> None:
    rng = np.random.default_rng(1)
    x = np.exp(2 * rng.normal(size=500))
    data = Microdata.of({"x": x, "y": np.round(x * rng.uniform(0.5, 1.5, 500))})
    after = values(NoiseSwapping(scores=True).mask(data, seed=1).data)
    assert set(after[:, 0]) <= set(x)
    assert (after[:, 1] >= 0).all()
    assert abs(np.log(np.median(after[:, 0]) / np.median(x))) < 0.2
    before, now = (np.corrcoef(np.log(t[:, 0]), np.log1p(t[:, 1]))[0, 1] for t in (values(data), after))
    assert abs(now - before) < 0.1


def test_missing_cells_stay_and_complete_records_keep_their_moments() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 200))
    gaps = rng.random(200) < 0.2
    data = Microdata.of({"x": pa.array(x, mask=gaps), "y": y})
    after = values(NoiseSwapping().mask(data, seed=1).data)
    assert (np.isnan(after[:, 0]) == gaps).all()
    assert not np.isnan(after[:, 1]).any()
    np.testing.assert_allclose(np.cov(after[~gaps].T), np.cov(np.array([x, y])[:, ~gaps]), atol=1e-9)


@pytest.mark.parametrize(("complete", "kept"), [(4, True), (3, False)])
def test_moments_of_two_attributes_are_kept_from_four_complete_records_on(complete: int, kept: bool) -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 12))
    data = Microdata.of({"x": pa.array(x, mask=np.arange(12) >= complete), "y": y})
    release = NoiseSwapping().mask(data, seed=1)
    assert ("too few complete records" not in "".join(release.provenance.notes)) == kept
    after = values(release.data)[:complete]
    assert np.allclose(np.cov(after.T), np.cov(x[:complete], y[:complete])) == kept


def test_a_stratum_with_too_few_records_for_its_moments_is_joined_whatever_is_asked_for() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 23))
    data = Microdata.of({"region": ["north"] * 20 + ["isle"] * 3, "x": x, "y": y}, keys=["x", "y"], strata=["region"])
    release = NoiseSwapping(smallest=3).mask(data, seed=1)
    assert "too few complete records" not in "".join(release.provenance.notes)
    np.testing.assert_allclose(np.cov(values(release.data).T), np.cov(x, y))


def test_strata_must_be_declared_to_be_used() -> None:
    data = Microdata.of({"x": np.arange(30.0)})
    with pytest.raises(ParameterError, match="no attribute has the role stratum"):
        NoiseSwapping(within="strata").mask(data, seed=1)


def test_too_few_records_are_refused() -> None:
    with pytest.raises(DataError, match="the table has 2 records, but noise-swapping on 1 attribute needs at least 3"):
        NoiseSwapping().mask(Microdata.of({"x": [1.0, 2.0]}), seed=1)
