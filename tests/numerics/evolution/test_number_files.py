from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.microdata import Microdata
from microveil.numerics.evolution.number_files import (
    NumberFiles,
    change_number,
    measure_numbers,
    number_files,
)
from microveil.registry import make
from microveil.typing import FloatArray


def table(cells: FloatArray) -> Microdata:
    names = [f"v{j}" for j in range(cells.shape[1])]
    return Microdata.of({name: cells[:, j] for j, name in enumerate(names)}, keys=names, numeric=names)


def registered(original: FloatArray, masked: FloatArray) -> tuple[float, float]:
    """IL, and half interval disclosure with half linkage by distance, as the registered measures have them."""
    before, after = table(original), table(masked)
    linkage = make("attack", "distance-linkage", {"standardisation": "joint", "direction": "masked"})
    intervals = make("attack", "interval-disclosure", {"counted": "all"})
    risks = [attack.assess(before, after, before.names).value for attack in (intervals, linkage)]
    return make("loss", "il").measure(before, after, before.names).value, sum(risks) / 2


def population(seed: int, n: int, d: int, files: int) -> tuple[FloatArray, NumberFiles]:
    generator = np.random.default_rng(seed)
    spread = generator.choice([3, 40, 5000], size=d)
    decimals = generator.choice([0, 1, 2])
    original = np.round(generator.normal(generator.choice([0, 10, 1000]), spread, size=(n, d)), decimals)
    if seed % 4 == 0:
        original[:, 0] = 7.0  # a constant
    masked = np.round(original + generator.normal(scale=spread / 3, size=(files, n, d)), decimals)
    masked[0] = original
    return original, number_files(original, masked)


def expect_equal_to_registered(original: FloatArray, state: NumberFiles, slots: int) -> None:
    for slot in range(slots):
        expected = registered(original, state.cells[slot])
        assert measure_numbers(state, slot, np.nan) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=8)
@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 4))
def test_a_file_has_the_loss_and_the_risk_of_the_registered_measures(seed: int, n: int, d: int) -> None:
    original, state = population(seed, n, d, 3)
    expect_equal_to_registered(original, state, 3)


@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_changes_leave_the_values_of_the_registered_measures(seed: int, cross_at_random: Any) -> None:
    generator, n, d, files = np.random.default_rng(seed), 50, 4, 4
    original, state = population(seed, n, d, files)
    for _ in range(1500):
        if generator.random() < 0.6:
            slot, r, j = generator.integers(files), generator.integers(n), generator.integers(d)
            value = generator.choice([original[r, j], state.cells[slot, generator.integers(n), j], 1e6])
            change_number(state, slot, r, j, value, -1)
        else:
            cross_at_random(state, generator)
    expect_equal_to_registered(original, state, files)
    for slot in range(files):  # what was far away is gone without a trace
        for r in range(n):
            for j in range(d):
                change_number(state, slot, r, j, original[r, j] + (r % 3 == 0), -1)
    expect_equal_to_registered(original, state, files)


def test_the_mean_of_two_linkages_counts() -> None:
    _, state = population(1, 30, 2, 1)
    alone = measure_numbers(state, 0, np.nan)[1]
    interval = 100.0  # the first file is the original
    linked = 2 * (alone - interval / 2)
    assert measure_numbers(state, 0, 20.0)[1] == pytest.approx(interval / 2 + (linked + 20.0) / 4)
