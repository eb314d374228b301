from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.evolution.state import State, Trial
from microveil.numerics.evolution.variation import (
    Child,
    CrossoverAndMutation,
    CrossoverOrMutation,
    Rates,
    adapted,
    constant,
    scheduled,
)


def state(generation: int = 0, trials: list[Trial] | None = None) -> State:
    return State([], np.zeros(0), None, [0.0] * (generation + 1), 0, trials=trials or [])


def crossed(one: str, other: str, rng: np.random.Generator) -> tuple[str, str]:
    return one + "x" + other, other + "x" + one


def mutated(one: str, rng: np.random.Generator) -> str:
    return one + "!"


def unfit(one: Any, other: Any, rng: np.random.Generator) -> None:
    return None


@pytest.mark.spec("05:EA-07")
def test_crossover_and_mutation_can_both_happen_or_neither() -> None:
    def children(crossover: float, mutation: float) -> list[Child]:
        vary = CrossoverAndMutation(crossed, mutated, constant(crossover, mutation))
        return list(vary(["a", "b"], state(), np.random.default_rng(1)))

    assert children(1, 1) == [Child("axb!", True, True), Child("bxa!", True, True)]
    assert children(1, 0) == [Child("axb", True, False), Child("bxa", True, False)]
    assert children(0, 1) == [Child("a!", False, True), Child("b!", False, True)]
    assert children(0, 0) == [Child("a", False, False), Child("b", False, False)]


@pytest.mark.spec("05:EA-07")
@given(st.floats(0.01, 1), st.floats(0.01, 1), st.integers(0, 2**32))
def test_exactly_one_of_crossover_or_mutation_happens(crossover: float, mutation: float, seed: int) -> None:
    vary = CrossoverOrMutation(crossed, mutated, constant(crossover, mutation))
    children = list(vary(["a", "b", "c", "d"], state(), np.random.default_rng(seed)))
    assert len(children) == 4
    assert all(child.crossed != child.mutated for child in children)
    assert children[0].crossed == children[1].crossed


@pytest.mark.spec("05:EA-07")
def test_one_of_the_two_happens_in_proportion_to_the_rates() -> None:
    vary = CrossoverOrMutation(crossed, mutated, constant(0.6, 0.2))
    children = list(vary(["a", "b"] * 4000, state(), np.random.default_rng(1)))
    assert np.mean([child.crossed for child in children]) == pytest.approx(0.75, abs=0.03)
    vary_both = CrossoverAndMutation(crossed, mutated, constant(0.6, 0.2))
    children = list(vary_both(["a", "b"] * 4000, state(), np.random.default_rng(1)))
    assert np.mean([child.crossed for child in children]) == pytest.approx(0.6, abs=0.03)
    assert np.mean([child.mutated for child in children]) == pytest.approx(0.2, abs=0.03)


@pytest.mark.spec("05:EA-07")
def test_who_has_no_partner_or_does_not_fit_is_mutated() -> None:
    rng = np.random.default_rng(1)
    alone = list(CrossoverOrMutation(crossed, mutated, constant(1, 0))(["a", "b", "c"], state(), rng))
    assert [child.made for child in alone] == ["axb", "bxa", "c!"]
    assert list(CrossoverOrMutation(unfit, mutated, constant(1, 0))(["a", "b"], state(), rng)) == [
        Child("a!", False, True),
        Child("b!", False, True),
    ]
    assert [child.crossed for child in CrossoverAndMutation(unfit, mutated)(["a", "b"], state(), rng)] == [False] * 2


@pytest.mark.spec("05:EA-07")
def test_rates_follow_a_schedule() -> None:
    rates = scheduled((0.9, 0.1), (0.1, 0.5), over=100)
    assert rates(state(0)) == Rates(0.9, 0.1)
    assert rates(state(50)) == pytest.approx((0.5, 0.3))
    assert rates(state(100)) == rates(state(400)) == pytest.approx((0.1, 0.5))


@pytest.mark.spec("05:EA-07")
def test_rates_adapt_to_the_recent_success_of_the_operators() -> None:
    """8 of 8 crossovers and none of 8 mutations improved, with one of two added to each: 9/10 against 1/10."""
    trials = [Trial(True, False, True)] * 8 + [Trial(False, True, False)] * 8
    assert adapted(least=0.0)(state(trials=trials)) == pytest.approx((0.9, 0.1))
    assert adapted(least=0.1)(state(trials=trials)) == pytest.approx((0.1 + 0.8 * 0.9, 0.1 + 0.8 * 0.1))
    assert adapted(least=0.1)(state()) == Rates(0.5, 0.5)
    long_ago = [Trial(False, True, True)] * 50
    assert adapted(latest=16)(state(trials=long_ago + trials)) == adapted()(state(trials=trials))
    both = [Trial(True, True, True)] * 5
    assert adapted()(state(trials=both)) == Rates(0.5, 0.5)


def test_rates_are_probabilities() -> None:
    with pytest.raises(ParameterError, match=r"rates 1\.5 and 0\.1"):
        constant(1.5, 0.1)
    with pytest.raises(ParameterError, match=r"rates 0\.5 and -1"):
        scheduled((0.5, 0.5), (0.5, -1), over=3)
    with pytest.raises(ParameterError, match=r"least = 0\.6"):
        adapted(least=0.6)
