"""What holds for all losses of numbers: nothing is lost by a release that is the original, and more by more noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.microdata import Microdata
from microveil.registry import loss

GROWING = (
    *(
        "sse",
        "sse-separate",
        "il",
        "il1",
        "il2",
        "il3",
        "il4",
        "il5",
        "g-il",
        "matrix-discrepancy",
        "pil",
        "abim",
        "abisd",
        "abico",
    ),
    *("quantiles", "distribution", "energy", "bias", "regression", "estimates", "validity", "quality"),
)


@pytest.mark.parametrize("name", GROWING)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 9999))
def test_more_noise_never_loses_less(name: str, seed: int) -> None:
    """The same noise, stretched; the steps are so far apart that chance cannot turn their order."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(250, 1))
    cells = 20 + 3 * factor + 2 * rng.normal(size=(250, 3)) + rng.gamma(1.0, 2.0, size=(250, 3))
    noise = rng.normal(size=cells.shape) * cells.std(axis=0)
    measured = []
    for strength in (0.0, 0.05, 0.7, 5.0):
        before, after = (Microdata.of(dict(zip("abc", c.T, strict=True))) for c in (cells, cells + strength * noise))
        measured.append(loss(name).measure(before, after).value)
    assert measured[0] == pytest.approx(0, abs=1e-9)
    assert measured == sorted(measured)
    assert measured[-1] > measured[0]
