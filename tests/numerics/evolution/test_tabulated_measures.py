"""Measures from tables are the measures from records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.evolution.categorical_measures import BY_EQUALITY, CategoricalMeasures, Conventions
from microveil.numerics.evolution.tabulated_measures import TabulatedMeasures


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 9999),
    dimension=st.integers(1, 3),
    form=st.sampled_from(["inclusive", "half-open", "unit", "nominal"]),
    widths=st.sampled_from([BY_EQUALITY, (1.0, 5.0, 30.0)]),
)
@pytest.mark.spec("05:PE-05", "05:IL-05", "05:DR-05")
def test_every_measure_from_tables_is_that_from_records(
    seed: int, dimension: int, form: str, widths: tuple[float, ...]
) -> None:
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 4)), int(rng.integers(1, 40))
    sizes = rng.integers(1, 6, d)
    original = rng.integers(0, sizes, (n, d))
    conventions = Conventions(dimension, form, widths)  # type: ignore[arg-type]
    measures = CategoricalMeasures(original, sizes, rng.random(d) < 0.5, conventions, extra=seed % 2)
    tabulated = TabulatedMeasures(measures)
    files = [np.where(rng.random((n, d)) < 0.6, original, rng.integers(0, sizes, (n, d))) for _ in range(3)]
    found = tabulated.of(np.vstack(files), probabilistic=seed % 7 == 0)
    for file, one in zip(files, found, strict=True):
        assert one == pytest.approx(measures.of(file, probabilistic=seed % 7 == 0), abs=1e-9)
