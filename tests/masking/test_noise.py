"""Additive noise has the moments it promises."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.errors import ParameterError
from microveil.masking.randomising.noise import Noise
from microveil.microdata import Microdata


def test_variances_grow_by_one_plus_alpha_and_means_stay() -> None:
    values = np.random.default_rng(1).lognormal(size=40_000)
    masked = Noise(alpha=0.5).mask(Microdata.of({"x": values}), seed=3).data.numbers("x").values
    noise = masked - values
    # four standard errors of the noise's mean and variance
    assert abs(noise.mean()) < 4 * np.sqrt(0.5 * values.var() / len(values))
    assert abs(noise.var() / (0.5 * values.var()) - 1) < 4 * np.sqrt(2 / len(values))


def test_the_noise_of_two_attributes_is_independent() -> None:
    values = np.random.default_rng(1).normal(size=20_000)
    release = Noise(alpha=1.0).mask(Microdata.of({"x": values, "y": values}), seed=3)
    noise = [release.data.numbers(name).values - values for name in ("x", "y")]
    assert abs(np.corrcoef(*noise)[0, 1]) < 4 / np.sqrt(len(values))


def test_a_declared_range_is_kept() -> None:
    data = Microdata.of({"age": np.arange(0.0, 100.0)})
    data = data.with_schema(data.schema.replacing(data["age"].changed(range=(0, 99))))
    masked = Noise(alpha=1.0).mask(data, seed=1).data.numbers("age").values
    assert masked.min() >= 0
    assert masked.max() <= 99


def test_a_constant_gets_no_noise() -> None:
    assert Noise(alpha=1.0).mask(Microdata.of({"x": [0.1] * 9}), seed=1).frame["x"].to_pylist() == [0.1] * 9


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
