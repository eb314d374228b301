"""Pairing neighbours in a sorted column."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.swapping import swap_partners


def plain_partners(window: int, draws: np.ndarray) -> np.ndarray:
    """The rule word for word, with a list of the free positions."""
    n = len(draws)
    partner, done = np.arange(n), np.zeros(n, dtype=bool)
    for i in range(n):
        if done[i]:
            continue
        free = [j for j in range(i + 1, min(n, i + window + 1)) if not done[j]]
        if free:
            j = free[min(int(draws[i] * len(free)), len(free) - 1)]
            partner[i], partner[j] = j, i
            done[i] = done[j] = True
    return partner


@settings(max_examples=200, deadline=None)
@given(n=st.integers(0, 80), window=st.integers(0, 90), seed=st.integers(0, 10_000))
def test_partners_are_those_of_the_rule_word_for_word(n: int, window: int, seed: int) -> None:
    draws = np.random.default_rng(seed).random(n)
    assert (swap_partners(window, draws) == plain_partners(window, draws)).all()


def test_every_free_position_is_as_likely_as_the_others() -> None:
    rng = np.random.default_rng(3)
    chosen = np.bincount([swap_partners(4, rng.random(5))[0] for _ in range(8000)], minlength=5)
    expected = 8000 / 4
    # chi-square with 3 degrees of freedom stays below 16.27 with probability 0.999
    assert ((chosen[1:] - expected) ** 2 / expected).sum() < 16.27
