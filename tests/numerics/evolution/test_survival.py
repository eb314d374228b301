from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.evolution.survival import (
    DeterministicCrowding,
    Generational,
    GenerationGap,
    LosersReplaced,
    SteadyState,
)
from microveil.typing import FloatArray, IntArray

SCORES = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])


def first(scores: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    return np.arange(count) % len(scores)


def places(survival: object, seed: int = 1) -> list[int]:
    return survival.breeding(SCORES, first, np.random.default_rng(seed)).slots.tolist()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.spec("05:EA-10")
def test_a_generation_replaces_all_or_all_but_the_first_of_the_best() -> None:
    assert places(Generational()) == [5, 4, 2, 0, 3, 1]
    assert places(Generational(elitist=True)) == [5, 4, 2, 0, 3]


@pytest.mark.spec("05:EA-10")
@given(st.floats(0.01, 1.0), st.integers(0, 2**32))
def test_a_gap_replaces_its_share_rounded_up_and_never_the_best(gap: float, seed: int) -> None:
    replaced = places(GenerationGap(gap), seed)
    assert 1 not in replaced
    assert len(set(replaced)) == len(replaced) == min(int(np.ceil(gap * 6 - 1e-9)), 5)


@pytest.mark.spec("05:EA-10")
def test_a_gap_replaces_members_drawn_alike() -> None:
    drawn = np.bincount([place for seed in range(1000) for place in places(GenerationGap(0.3), seed)], minlength=6)
    assert drawn[1] == 0
    assert drawn[[0, 2, 3, 4, 5]] / 1000 == pytest.approx([0.4] * 5, abs=0.07)


@pytest.mark.spec("05:EA-10")
def test_a_steady_state_replaces_the_worst() -> None:
    assert places(SteadyState(1)) == [5]
    assert places(SteadyState()) == [5, 4]


@pytest.mark.spec("05:GP-01")
@given(st.integers(0, 2**32), st.sampled_from([2, 4, 6]))
def test_the_better_half_of_those_drawn_breed_and_the_worst_lose_their_places_first(seed: int, size: int) -> None:
    parents, losers = LosersReplaced(size).breeding(SCORES, first, np.random.default_rng(seed))
    assert len(set(parents.tolist()) | set(losers.tolist())) == size
    assert max((SCORES[i], i) for i in parents) < min((SCORES[i], i) for i in losers)
    assert SCORES[losers].tolist() == sorted(SCORES[losers], reverse=True)


@pytest.mark.spec("05:EA-10")
def test_in_crowding_parents_defend_their_own_places() -> None:
    crowding = DeterministicCrowding(4)
    parents, own = crowding.breeding(SCORES, first, np.random.default_rng(1))
    assert parents.tolist() == own.tolist() == [0, 1, 2, 3]
    assert crowding.replacement == "if_better"


@pytest.mark.spec("05:EA-10")
def test_there_are_enough_parents_for_pairs() -> None:
    for survival, parents in ((Generational(), 6), (Generational(elitist=True), 6), (SteadyState(1), 2)):
        assert len(survival.breeding(SCORES, first, np.random.default_rng(1)).parents) == parents


def test_impossible_sizes_are_refused() -> None:
    for size in (0, 3):
        with pytest.raises(ParameterError, match="even number"):
            LosersReplaced(size)
    with pytest.raises(ParameterError, match="8 individuals cannot be drawn from a population of 6"):
        places(LosersReplaced(8))
    for gap in (0, 1.5):
        with pytest.raises(ParameterError, match="gap = "):
            GenerationGap(gap)
