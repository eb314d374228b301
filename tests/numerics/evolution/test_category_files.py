from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.evolution.categorical_measures import BY_EQUALITY, CategoricalMeasures, Conventions
from microveil.numerics.evolution.category_files import (
    CategoryFiles,
    category_files,
    change_category,
    measure_categories,
)

CONVENTIONS = (
    Conventions(),
    Conventions(dimension=1, ordinal_distance="nominal", widths=BY_EQUALITY),
    Conventions(dimension=3, ordinal_distance="unit"),
)


def population(seed: int, n: int, d: int, files: int) -> tuple[CategoricalMeasures, CategoryFiles]:
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 7, size=d)
    original = generator.integers(0, sizes, size=(n, d))
    changed = generator.random((files, n, d)) < 0.3
    masked = np.where(changed, generator.integers(0, sizes, size=(files, n, d)), original)
    conventions = CONVENTIONS[seed % len(CONVENTIONS)]
    measures = CategoricalMeasures(original, sizes, generator.random(d) < 0.5, conventions, extra=seed % 2)
    return measures, category_files(measures, masked)


def expect_equal_to_full(measures: CategoricalMeasures, state: CategoryFiles, slots: int) -> None:
    for slot in range(slots):
        full = measures.of(state.cells[slot].astype(np.int64), probabilistic=False)
        assert measure_categories(state, slot, np.nan) == pytest.approx((full.loss, full.risk), abs=1e-9)


@settings(max_examples=10)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 4))
def test_a_file_has_the_loss_and_the_risk_of_the_full_measures(seed: int, n: int, d: int) -> None:
    measures, state = population(seed, n, d, 3)
    expect_equal_to_full(measures, state, 3)


@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_changes_leave_the_values_of_the_full_measures(seed: int, cross_at_random: Any) -> None:
    generator, n, d, files = np.random.default_rng(seed), 60, 3, 4
    measures, state = population(seed, n, d, files)
    for step in range(1500):
        if generator.random() < 0.6:
            slot, r, j = generator.integers(files), generator.integers(n), generator.integers(d)
            change_category(state, slot, r, j, generator.integers(measures.sizes[j]), -1)
        else:
            cross_at_random(state, generator)
        if step % 300 == 0:
            expect_equal_to_full(measures, state, files)
    expect_equal_to_full(measures, state, files)


def test_a_change_that_is_undone_leaves_every_count_as_it_was() -> None:
    measures, state = population(5, 30, 3, 2)
    before = [np.array(part).copy() for part in state[-10:]]
    for r in range(30):
        j = r % 3
        code, chance = int(state.cells[0, r, j]), int(state.chances[0, r])
        change_category(state, 0, r, j, (code + 1) % int(measures.sizes[j]), -1)
        change_category(state, 0, r, j, code, chance)
    assert all(np.array_equal(found, expected) for found, expected in zip(state[-10:], before, strict=True))


def test_the_greater_of_two_linkages_counts() -> None:
    measures, state = population(3, 30, 2, 1)
    full = measures.of(state.cells[0].astype(np.int64), probabilistic=False)
    assert measure_categories(state, 0, 0.0)[1] == pytest.approx(full.risk)
    assert measure_categories(state, 0, 100.0)[1] == pytest.approx((full.interval + 100) / 2)
