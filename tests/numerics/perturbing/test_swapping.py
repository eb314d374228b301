"""Pairing positions of a sorted column, and telling whether a column was swapped so."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.perturbing.swapping import (
    holdings_by_range,
    is_valid_rank_swap,
    swap_between_buckets,
    swap_partners,
)


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


def swap_repeatedly(window: int, draws: np.ndarray) -> np.ndarray:
    return np.concatenate(list(holdings_by_range(window, len(draws), lambda some: draws[some.start : some.stop])))


def test_without_marks_a_position_can_be_exchanged_again() -> None:
    assert swap_repeatedly(1, np.zeros(4)).tolist() == [1, 2, 3, 0]
    assert swap_repeatedly(2, np.full(4, 0.99)).tolist() == [2, 3, 1, 0]
    holds = swap_repeatedly(50, np.random.default_rng(1).random(1000))
    assert sorted(holds) == list(range(1000))
    assert (np.arange(1000) - holds).max() > 50


# --- buckets ---------------------------------------------------------------------------------------------------------

SHARES = (0.45, 0.3, 0.1, 0.05)


def pairings(
    starts: list[int], shares: tuple[float, ...], to_last: bool, by_room: bool
) -> dict[tuple[int, ...], float]:
    """The probability of every pairing, by working out all that can be drawn, position by position."""
    n, buckets = starts[-1], len(starts) - 1
    bucket = np.searchsorted(starts, np.arange(n), side="right") - 1
    found: dict[tuple[int, ...], float] = {}

    def go(i: int, partner: tuple[int, ...], probability: float) -> None:
        while i < n and partner[i] >= 0:
            i += 1
        if i == n:
            found[partner] = found.get(partner, 0.0) + probability
            return
        own = bucket[i]
        weights: dict[int, float] = {}
        for b in range(own, buckets):
            above = [j for j in range(starts[b], starts[b + 1]) if j > i]
            free = [j for j in above if partner[j] < 0]
            share = 1.0 - sum(shares[: b - own]) if to_last and b == buckets - 1 else shares[b - own]
            for j in free:
                weights[j] = share / (len(above) if by_room else len(free))
        total = sum(weights.values())
        if total == 0:
            go(i + 1, (*partner[:i], i, *partner[i + 1 :]), probability)
        for j, weight in weights.items():
            if weight > 0:
                changed = list(partner)
                changed[i], changed[j] = j, i
                go(i + 1, tuple(changed), probability * weight / total)

    go(0, (-1,) * n, 1.0)
    return found


@pytest.mark.spec("04:RS-PB", "04:RS-PX")
@pytest.mark.parametrize("by_room", [False, True])
@pytest.mark.parametrize("to_last", [False, True])
@pytest.mark.parametrize("starts", [[0, 2, 4, 6], [0, 3, 5], [0, 1, 2, 3, 4]])
def test_pairings_have_the_probabilities_of_the_rule(starts: list[int], to_last: bool, by_room: bool) -> None:
    rng, runs = np.random.default_rng(8), 6000
    shares = np.array(SHARES[: len(starts) - 1])
    expected = pairings(starts, SHARES, to_last, by_room)
    counted = dict.fromkeys(expected, 0)
    for _ in range(runs):
        counted[tuple(swap_between_buckets(np.array(starts), shares, to_last, by_room, False, rng).tolist())] += 1
    for pairing, probability in expected.items():
        # five standard errors; there are 10 or so pairings in each of 12 cases
        error = 5 * np.sqrt(probability * (1 - probability) / runs) + 1e-9
        assert abs(counted[pairing] / runs - probability) <= error


@pytest.mark.spec("04:RS-PD")
def test_positions_that_are_hardly_ever_drawn_are_weighed_when_all_others_are_taken() -> None:
    """Position 1 finds its likely partner taken by position 0, and chooses among 3, 4, 5 by their small shares."""
    shares = np.array([0.0, 1.0, 0.004, 0.008, 0.012, 0.0])
    rng = np.random.default_rng(2)
    runs = [swap_between_buckets(np.arange(7), shares, False, False, False, rng) for _ in range(40_000)]
    chosen = np.bincount([partner[1] for partner in runs if partner[0] == 2], minlength=6)
    assert chosen[:3].sum() == 0
    expected = chosen.sum() * np.array([1, 2, 3]) / 6
    assert chosen.sum() > 100
    # chi-square with 2 degrees of freedom stays below 13.82 with probability 0.999
    assert ((chosen[3:] - expected) ** 2 / expected).sum() < 13.82


def test_without_any_share_in_reach_a_position_stays_or_takes_the_nearest() -> None:
    shares = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    rng = np.random.default_rng(1)
    assert swap_between_buckets(np.arange(6), shares, False, False, False, rng).tolist() == [2, 3, 0, 1, 4]
    assert swap_between_buckets(np.arange(7), np.append(shares, 0), False, False, True, rng).tolist() == [
        *(2, 3, 0, 1, 5, 4)
    ]


# --- the validator ---------------------------------------------------------------------------------------------------


def valid_by_trial(before: list[int], after: list[int], window: int) -> bool:
    """All orders of equal values, and in each all exchanges in pairs."""
    n = len(before)

    def exchanged(values: list[int], wanted: list[int], done: tuple[bool, ...], i: int) -> bool:
        while i < n and done[i]:
            i += 1
        if i == n:
            return True
        for j in range(i, min(n, i + window + 1)):
            if not done[j] and values[j] == wanted[i] and values[i] == wanted[j]:
                following = tuple(d or k in (i, j) for k, d in enumerate(done))
                if exchanged(values, wanted, following, i + 1):
                    return True
        return False

    orders = (o for o in permutations(range(n)) if all(before[a] <= before[b] for a, b in pairwise(o)))
    return any(exchanged([before[r] for r in o], [after[r] for r in o], (False,) * n, 0) for o in orders)


@settings(max_examples=250, deadline=None)
@given(data=st.data(), window=st.integers(0, 4))
@pytest.mark.spec("05:PM-09", "04:RS-BASE")
def test_the_validator_finds_an_order_of_equal_values_if_there_is_one(data: st.DataObject, window: int) -> None:
    before = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=6))
    after = data.draw(st.permutations(before))
    assert is_valid_rank_swap(before, after, window) == valid_by_trial(before, after, window)


def test_the_validator_refuses_other_shapes_other_values_and_moved_gaps() -> None:
    assert not is_valid_rank_swap([1, 2], [2, 1, 3], 5)
    assert not is_valid_rank_swap([1, 2, 3], [2, 3, 1], 5)
    assert not is_valid_rank_swap([1, 2], [1, 3], 5)
    assert not is_valid_rank_swap([1, np.nan], [np.nan, 1], 5)
    assert is_valid_rank_swap([1, np.nan, 2], [2, np.nan, 1], 1)
    assert not is_valid_rank_swap([[1, 1], [2, 2], [3, 3]], [[2, 3], [1, 2], [3, 1]], 1)
