from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.evolution.crossover import PointCrossover, UniformCrossover
from microveil.numerics.evolution.evolve import evolve
from microveil.numerics.evolution.mutation import BernoulliMutation, PoissonMutation, complement
from microveil.numerics.evolution.representations import Quantised, Strings, Variable
from microveil.numerics.evolution.selection import Roulette, Tournament
from microveil.numerics.evolution.state import Rule, State, evaluations, generations, score_reached, seconds
from microveil.numerics.evolution.survival import (
    DeterministicCrowding,
    Generational,
    GenerationGap,
    LosersReplaced,
    SteadyState,
    Survival,
)
from microveil.numerics.evolution.variation import (
    Child,
    CrossoverAndMutation,
    CrossoverOrMutation,
    adapted,
    scheduled,
)
from microveil.typing import IntArray

BITS = Strings.of(12)
SURVIVALS = [
    Generational(),
    Generational(elitist=True),
    GenerationGap(0.4),
    SteadyState(1),
    SteadyState(2, replacement="if_better"),
    LosersReplaced(4),
    LosersReplaced(4, replacement="always"),
    DeterministicCrowding(),
]
FOR_LONG = generations(30)
VARY = CrossoverAndMutation(PointCrossover(2), PoissonMutation(BITS, change=complement))


def zeros(string: IntArray) -> float:
    return float((string == 0).sum())


def run(survive: Survival, seed: int = 1, stop: Rule = FOR_LONG, **options: Any) -> State:
    rng = np.random.default_rng(seed)
    return evolve(BITS.draw(10, rng), zeros, **{"vary": VARY, **options}, survive=survive, stop=stop, rng=rng)


@pytest.mark.spec("05:EA-01", "05:EA-10")
@pytest.mark.parametrize("survive", SURVIVALS, ids=repr)
def test_every_way_of_survival_finds_the_string_of_ones(survive: Survival) -> None:
    assert run(survive, stop=score_reached(0)).best.tolist() == [1] * 12


@pytest.mark.spec("05:EA-01", "05:EA-10")
@given(st.sampled_from(SURVIVALS), st.integers(0, 2**32), st.booleans())
def test_scores_belong_to_the_population_and_the_best_never_gets_worse(
    survive: Survival, seed: int, duplicates: bool
) -> None:
    ended = run(survive, seed, generations(8), duplicates=duplicates)
    assert len(ended.population) == 10
    assert [zeros(string) for string in ended.population] == ended.scores.tolist()
    assert zeros(ended.best) == ended.score == min(ended.trajectory)
    assert ended.trajectory == sorted(ended.trajectory, reverse=True)
    if isinstance(survive, Generational) and not survive.elitist:
        return
    assert ended.scores.min() == ended.score


@pytest.mark.spec("05:EA-10")
@given(st.integers(0, 2**32))
def test_in_crowding_no_place_ever_gets_worse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    population = BITS.draw(6, rng)
    before = [zeros(string) for string in population]
    ended = evolve(population, zeros, vary=VARY, survive=DeterministicCrowding(), stop=generations(5), rng=rng)
    assert (ended.scores <= before).all()
    assert (ended.scores < before).sum() <= 10


@pytest.mark.spec("05:EA-10")
def test_without_duplicates_all_members_differ() -> None:
    rng = np.random.default_rng(1)
    population = np.array(list(itertools.product([0, 1], repeat=4)))[:8]
    mutation = PoissonMutation(Strings.of(4), change=complement)
    ended = evolve(
        population, zeros, vary=CrossoverAndMutation(PointCrossover(1), mutation), survive=SteadyState(),
        stop=generations(50), rng=rng, duplicates=False,
    )  # fmt: skip
    assert len({tuple(string) for string in ended.population}) == 8
    assert ended.score == 0


@pytest.mark.spec("05:EA-10")
def test_where_nothing_new_can_be_born_evolution_ends() -> None:
    both = np.array([[0], [1]])
    ended = evolve(
        both, zeros, vary=CrossoverAndMutation(PointCrossover(1), BernoulliMutation(Strings.of(1), 0.5)),
        survive=Generational(), stop=evaluations(100), rng=np.random.default_rng(1), duplicates=False,
    )  # fmt: skip
    assert ended.evaluations == 2


def given_children(*children: str) -> Any:
    def vary(parents: Sequence[str], state: State, rng: np.random.Generator) -> list[Child]:
        return [Child(made, False, True) for made in children]

    return vary


@pytest.mark.spec("05:GP-01", "05:EA-10")
def test_the_best_child_takes_the_place_of_the_worst_loser() -> None:
    """Scores are lengths: of a, bb, ccc and dddd the last two lose."""
    population = ["a", "bb", "ccc", "dddd"]

    def ended(replacement: Any, *children: str) -> State:
        survive, rng = LosersReplaced(4, replacement), np.random.default_rng(1)
        return evolve(population, len, vary=given_children(*children), survive=survive, stop=generations(1), rng=rng)

    assert ended("if_better", "xxx", "yy").population == ["a", "bb", "ccc", "yy"]
    assert ended("if_better", "xxxx", "yyyy").population == population
    assert ended("always", "xxxxx", "yy").population == ["a", "bb", "xxxxx", "yy"]
    assert ended("always", "", "yy").best == ""
    assert population == ["a", "bb", "ccc", "dddd"]


@pytest.mark.spec("05:EA-10")
def test_surplus_children_are_not_scored_and_a_steady_state_of_one_takes_one() -> None:
    ended = evolve(
        ["a", "bb"], len, vary=given_children("x", "", ""), survive=SteadyState(1), stop=generations(3),
        rng=np.random.default_rng(1),
    )  # fmt: skip
    assert ended.evaluations == 2 + 3
    assert ended.score == 1


@pytest.mark.spec("05:GP-02")
def test_a_generation_without_elitism_keeps_nobody_but_the_best_is_remembered() -> None:
    ended = evolve(
        ["a", "bb"], len, vary=given_children("xxx", "yyyy"), survive=Generational(), stop=generations(1),
        rng=np.random.default_rng(1),
    )  # fmt: skip
    assert sorted(ended.population) == ["xxx", "yyyy"]
    assert ended.best == "a"
    assert ended.trajectory == [1, 1]


@pytest.mark.spec("05:EA-01", "05:EA-02")
def test_the_least_of_a_function_of_quantised_numbers_is_found() -> None:
    numbers = Quantised((Variable(-5, 5, 0.01), Variable(-5, 5, 0.01)))
    rng = np.random.default_rng(3)

    def bowl(string: IntArray) -> float:
        x, y = numbers.decode(string)
        return float((x - 1) ** 2 + (y + 2) ** 2)

    vary = CrossoverAndMutation(UniformCrossover(), PoissonMutation(numbers.strings, change=complement))
    ended = evolve(
        numbers.strings.draw(40, rng), bowl, vary=vary, survive=Generational(elitist=True), stop=evaluations(4000),
        rng=rng, select=Roulette("rank"),
    )  # fmt: skip
    assert ended.score < 0.01


@pytest.mark.spec("05:EA-07")
def test_rates_can_follow_a_schedule_or_success_inside_an_evolution() -> None:
    crossover, mutation = PointCrossover(1), BernoulliMutation(BITS, 1.0, unit="string")
    for rates in (adapted(), scheduled((1, 0), (0, 1), over=10)):
        ended = run(SteadyState(), vary=CrossoverOrMutation(crossover, mutation, rates), stop=generations(40))
        assert len(ended.trials) == 80
        assert {(trial.crossed, trial.mutated) for trial in ended.trials} == {(True, False), (False, True)}
    assert not ended.trials[-1].crossed
    assert ended.trials[0].crossed


@pytest.mark.spec("05:EA-04")
def test_an_evolution_ends_by_the_clock() -> None:
    ticks = itertools.count()
    assert run(SteadyState(), stop=seconds(5), clock=lambda: float(next(ticks))).generation == 5


@pytest.mark.spec("05:EA-01")
def test_the_same_generator_gives_the_same_evolution() -> None:
    one, other = run(Generational(), 5), run(Generational(), 5)
    assert one.trajectory == other.trajectory
    assert np.array_equal(one.population, other.population)
    assert not np.array_equal(one.population, run(Generational(), 6).population)


@pytest.mark.spec("05:EA-01")
def test_a_rule_that_holds_at_once_leaves_the_first_population() -> None:
    ended = run(Generational(), stop=generations(0), select=Tournament(3))
    assert ended.evaluations == 10
    assert ended.generation == 0


@pytest.mark.spec("05:EA-01")
def test_a_score_that_is_no_number_is_the_worst() -> None:
    scores = {"a": float("nan"), "bb": 3.0, "xx": float("nan"), "yy": 2.0}
    ended = evolve(
        ["a", "bb"], scores.__getitem__, vary=given_children("xx", "yy"), survive=SteadyState(replacement="if_better"),
        stop=generations(1), rng=np.random.default_rng(1),
    )  # fmt: skip
    assert ended.trajectory == [3.0, 2.0]
    assert ended.population == ["yy", "bb"]


def test_one_individual_alone_can_evolve() -> None:
    rng = np.random.default_rng(1)
    for survive in (Generational(elitist=True), GenerationGap(0.5)):
        ended = evolve(BITS.draw(1, rng), zeros, vary=VARY, survive=survive, stop=generations(3), rng=rng,
                       select=Tournament(1))  # fmt: skip
        assert ended.generation == 3


def test_nobody_evolves_from_nobody() -> None:
    with pytest.raises(ParameterError, match="at least one individual"):
        evolve([], len, vary=VARY, survive=Generational(), stop=generations(1), rng=np.random.default_rng(1))
