"""The generic evolutionary loop, for strings and for trees: select, alter, score, let survive, until a rule ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from microveil.errors import ParameterError
from microveil.numerics.evolution.selection import Tournament
from microveil.numerics.evolution.state import Rule, State, Trial
from microveil.numerics.evolution.survival import Select, Survival
from microveil.numerics.evolution.variation import Child
from microveil.typing import FloatArray

_REMEMBERED = 1000  # latest children whose success rates may adapt to
_BARREN = 1000  # generations in a row without a new individual, after which none is expected


class Variation(Protocol):
    """How parents become children: in pairs, in their order."""

    def __call__(self, parents: Sequence[Any], state: State, rng: np.random.Generator) -> Iterable[Child]: ...


def evolve(
    population: Sequence[Any],
    score: Callable[[Any], float],
    *,
    vary: Variation,
    survive: Survival,
    stop: Rule,
    rng: np.random.Generator,
    select: Select = Tournament(),  # noqa: B008 - it has no state
    duplicates: bool = True,
    identity: Callable[[Any], Hashable] = tuple,
    clock: Callable[[], float] = time.monotonic,
) -> State:
    """Evolve a population towards the least score (Marés 2013, Algorithms 1 to 3); the state in which it ended.

    A score that is no number counts as infinite. Without `duplicates` a child that is like a member of the population
    or a sibling is not born; `identity` says what is compared.

    >>> from microveil.numerics.evolution.crossover import PointCrossover
    >>> from microveil.numerics.evolution.mutation import PoissonMutation, complement
    >>> from microveil.numerics.evolution.representations import Strings
    >>> from microveil.numerics.evolution.state import score_reached
    >>> from microveil.numerics.evolution.survival import Generational
    >>> from microveil.numerics.evolution.variation import CrossoverAndMutation
    >>> bits, rng = Strings.of(20), np.random.default_rng(1)
    >>> vary = CrossoverAndMutation(PointCrossover(2), PoissonMutation(bits, change=complement))
    >>> zeros = lambda string: float((string == 0).sum())
    >>> ended = evolve(bits.draw(30, rng), zeros, vary=vary, survive=Generational(elitist=True),
    ...                stop=score_reached(0), rng=rng)
    >>> int(ended.best.sum())
    20
    """
    if len(population) == 0:
        raise ParameterError("a population needs at least one individual")
    began = clock()
    scores = _scored(population, score)
    first = int(np.argmin(scores))
    state = State(list(population), scores, population[first], [float(scores[first])], len(scores))
    barren = 0
    while not stop(state) and barren < _BARREN:
        born = _generation(state, score, vary, survive, select, rng, None if duplicates else identity)
        barren = 0 if born else barren + 1
        state.seconds = clock() - began
    return state


def _generation(
    state: State,
    score: Callable[[Any], float],
    vary: Variation,
    survive: Survival,
    select: Select,
    rng: np.random.Generator,
    identity: Callable[[Any], Hashable] | None,
) -> int:
    """Breed, score and replace once; how many children were born."""
    parents, slots = survive.breeding(state.scores, select, rng)
    children = list(vary([state.population[i] for i in parents], state, rng))[: len(slots)]
    bred = list(zip(parents.tolist(), children, strict=False))
    if identity is not None:
        bred = list(_unlike(bred, state.population, identity))
    scores = _scored([child.made for _, child in bred], score).tolist()
    state.evaluations += len(bred)
    state.trials += [
        Trial(child.crossed, child.mutated, reached < state.scores[parent])
        for (parent, child), reached in zip(bred, scores, strict=True)
    ]
    del state.trials[:-_REMEMBERED]
    ranked = range(len(bred)) if survive.crowded else np.argsort(scores, kind="stable").tolist()
    best, least = state.best, state.score
    for child, taken in zip(ranked, slots.tolist(), strict=False):
        slot = bred[child][0] if survive.crowded else taken
        if scores[child] < least:
            best, least = bred[child][1].made, scores[child]
        if survive.replacement == "always" or scores[child] < state.scores[slot]:
            state.population[slot], state.scores[slot] = bred[child][1].made, scores[child]
    state.best = best
    state.trajectory.append(least)
    return len(bred)


def _scored(individuals: Sequence[Any], score: Callable[[Any], float]) -> FloatArray:
    scores = np.array([score(individual) for individual in individuals], dtype=np.float64)
    return np.where(np.isnan(scores), np.inf, scores)


def _unlike(
    bred: list[tuple[int, Child]], population: Sequence[Any], identity: Callable[[Any], Hashable]
) -> Iterator[tuple[int, Child]]:
    seen = {identity(individual) for individual in population}
    for parent, child in bred:
        own = identity(child.made)
        if own not in seen:
            seen.add(own)
            yield parent, child
