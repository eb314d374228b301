"""Variation: whether parents are crossed, mutated or both, with rates that stay, follow a schedule or learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from microveil.errors import ParameterError
from microveil.numerics.evolution.state import State

Crossover = Callable[[Any, Any, np.random.Generator], tuple[Any, Any] | None]  # none where two parents do not fit
Mutation = Callable[[Any, np.random.Generator], Any]


class Rates(NamedTuple):
    """How often parents are crossed, and how often a child is mutated."""

    crossover: float
    mutation: float


Schedule = Callable[[State], Rates]


class Child(NamedTuple):
    """A new individual, and how it was made."""

    made: Any
    crossed: bool
    mutated: bool


def constant(crossover: float, mutation: float) -> Schedule:
    """The same rates from beginning to end."""
    rates = _checked(crossover, mutation)
    return lambda state: rates


def scheduled(first: tuple[float, float], last: tuple[float, float], over: int) -> Schedule:
    """Rates that move evenly from the first to the last over so many generations, and then stay there.

    More crossover early and more mutation late is `scheduled((0.9, 0.1), (0.1, 0.9), over=100)`.
    """
    start, end = _checked(*first), _checked(*last)

    def rates(state: State) -> Rates:
        done = min(state.generation / max(over, 1), 1.0)
        return Rates(*(a + (b - a) * done for a, b in zip(start, end, strict=True)))

    return rates


def adapted(least: float = 0.1, latest: int = 100) -> Schedule:
    """Rates that add to 1, in proportion to how often crossover and mutation alone have improved a parent among the
    latest children; neither falls below `least`.
    """
    if not 0 <= least <= 0.5:
        raise ParameterError(f"least = {least} is not allowed; it is a rate from 0 to 0.5")

    def rates(state: State) -> Rates:
        recent = state.trials[-latest:]
        crossed = [trial.improved for trial in recent if trial.crossed and not trial.mutated]
        mutated = [trial.improved for trial in recent if trial.mutated and not trial.crossed]
        success = [(sum(tried) + 1) / (len(tried) + 2) for tried in (crossed, mutated)]
        crossover = least + (1 - 2 * least) * success[0] / sum(success)
        return Rates(crossover, 1 - crossover)

    return rates


def _checked(crossover: float, mutation: float) -> Rates:
    if not (0 <= crossover <= 1 and 0 <= mutation <= 1):
        raise ParameterError(f"the rates {crossover} and {mutation} are not allowed; they are probabilities")
    return Rates(crossover, mutation)


@dataclass(frozen=True)
class CrossoverAndMutation:
    """Parents are crossed with the rate of crossover; then each child is mutated with that of mutation. It can happen
    that nothing is changed.
    """

    crossover: Crossover
    mutation: Mutation
    rates: Schedule = field(default_factory=lambda: constant(0.9, 1.0))

    def __call__(self, parents: Sequence[Any], state: State, rng: np.random.Generator) -> Iterator[Child]:
        rates = self.rates(state)
        for pair in _pairs(parents):
            crossed = (
                self.crossover(pair[0], pair[1], rng) if len(pair) == 2 and rng.random() < rates.crossover else None
            )
            for made in crossed or pair:
                mutated = rng.random() < rates.mutation
                yield Child(self.mutation(made, rng) if mutated else made, crossed is not None, mutated)


@dataclass(frozen=True)
class CrossoverOrMutation:
    """Exactly one of the two happens to a pair of parents, in proportion to the rates. Parents that cannot be crossed,
    and one that has no partner, are mutated.
    """

    crossover: Crossover
    mutation: Mutation
    rates: Schedule = field(default_factory=lambda: constant(0.5, 0.5))

    def __call__(self, parents: Sequence[Any], state: State, rng: np.random.Generator) -> Iterator[Child]:
        rates = self.rates(state)
        for pair in _pairs(parents):
            crossing = len(pair) == 2 and rng.random() * (rates.crossover + rates.mutation) < rates.crossover
            crossed = self.crossover(pair[0], pair[1], rng) if crossing else None
            if crossed is not None:
                yield from (Child(made, True, False) for made in crossed)
            else:
                yield from (Child(self.mutation(parent, rng), False, True) for parent in pair)


def _pairs(parents: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (parents[i : i + 2] for i in range(0, len(parents), 2))
