"""Linkage by looking up the nearest originals is linkage by distance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.evolution import nearest_combinations
from microveil.numerics.evolution.categorical_measures import CategoricalMeasures, Conventions
from microveil.numerics.evolution.nearest_combinations import NearestCombinations


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 9999), form=st.sampled_from(["inclusive", "half-open", "unit", "nominal"]))
@pytest.mark.spec("05:DR-02")
def test_the_share_linked_is_that_of_distance_linkage_for_every_masked_file(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 4)), int(rng.integers(1, 40))
    sizes = rng.integers(1, 6, d)
    original = rng.integers(0, sizes, (n, d))
    conventions = Conventions(link_distance=form)  # type: ignore[arg-type]
    measures = CategoricalMeasures(original, sizes, rng.random(d) < 0.5, conventions)
    nearest = NearestCombinations.of(original, sizes, measures.ordinal, form)  # type: ignore[arg-type]
    for _ in range(3):  # the later ones partly from what is remembered
        masked = np.where(rng.random((n, d)) < 0.6, original, rng.integers(0, sizes, (n, d)))
        assert 100 * nearest.linked(masked)[0] == pytest.approx(measures.dbrl(masked), abs=1e-9)


def test_many_combinations_are_looked_up_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    sizes = np.array([4, 5])
    original, masked = (rng.integers(0, sizes, (60, 2)) for _ in range(2))
    ordinal = np.array([True, False])
    whole = NearestCombinations.of(original, sizes, ordinal).linked(masked)
    monkeypatch.setattr(nearest_combinations, "_AT_ONCE", 25)
    assert NearestCombinations.of(original, sizes, ordinal).linked(masked).tolist() == whole.tolist()
