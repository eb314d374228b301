"""How far an evolution has come, and the rules that say when it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from microveil.typing import FloatArray, IntArray


class Trial(NamedTuple):
    """How a child was made, and whether it is better than the parent whose place in the pair it has."""

    crossed: bool
    mutated: bool
    improved: bool


@dataclass
class State:
    """The population with its scores, of which the least is the best, and what has happened so far.

    `best` is the best individual that there has ever been and `trajectory` its score after each generation, beginning
    with that of the first population. `trials` are the latest children.
    """

    population: list[Any]
    scores: FloatArray
    best: Any
    trajectory: list[float]
    evaluations: int
    seconds: float = 0.0
    trials: list[Trial] = field(default_factory=list)

    @property
    def score(self) -> float:
        """The best score so far."""
        return self.trajectory[-1]

    @property
    def generation(self) -> int:
        return len(self.trajectory) - 1


Rule = Callable[[State], bool]  # any predicate can end an evolution


def generations(most: int) -> Rule:
    """After so many generations."""
    return lambda state: state.generation >= most


def evaluations(most: int) -> Rule:
    """After so many individuals have been scored."""
    return lambda state: state.evaluations >= most


def seconds(most: float) -> Rule:
    """After so much time; what has been found by then depends on the machine."""
    return lambda state: state.seconds >= most


def diversity_below(least: float) -> Rule:
    """When the strings of the population have become alike."""
    return lambda state: diversity(state.population) < least


def score_reached(target: float) -> Rule:
    """When the best score is as low as this."""
    return lambda state: state.score <= target


def improved_by(share: float) -> Rule:
    """When the best score has fallen by this share of the best of the first population."""
    return lambda state: state.trajectory[0] - state.score >= share * abs(state.trajectory[0])


def any_of(*rules: Rule) -> Rule:
    """When the first of these rules says so."""
    return lambda state: any(rule(state) for rule in rules)


def all_of(*rules: Rule) -> Rule:
    """When all of these rules say so at once."""
    return lambda state: all(rule(state) for rule in rules)


def diversity(population: Sequence[IntArray]) -> float:
    """The share of genes in which two strings differ, on average over all pairs.

    >>> round(diversity(np.array([[0, 0], [0, 1], [1, 1]])), 3)
    0.667
    """
    strings = np.asarray(population)
    count = len(strings)
    if count < 2:
        return 0.0
    alike = 0.0
    for gene in strings.T:
        held = np.unique(gene, return_counts=True)[1]
        alike += float((held * (held - 1)).sum())
    return float(1.0 - alike / (count * (count - 1) * strings.shape[1]))
