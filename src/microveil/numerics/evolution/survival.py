"""Survival: who breeds in a generation, and whom the children replace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from microveil.errors import ParameterError
from microveil.typing import FloatArray, IntArray

Select = Callable[[FloatArray, int, np.random.Generator], IntArray]
Replacement = Literal["always", "if_better"]


class Breeding(NamedTuple):
    """The parents, paired in this order, and the slots for children, of which the best child takes the first."""

    parents: IntArray
    slots: IntArray


class Survival(Protocol):
    """What all ways of survival have in common; `replacement` says whether a child must be better to take a slot."""

    @property
    def replacement(self) -> Replacement: ...

    @property
    def crowded(self) -> bool:
        """Whether a child competes with its own parent instead of taking the slots in their order."""

    def breeding(self, scores: FloatArray, select: Select, rng: np.random.Generator) -> Breeding: ...


def _worst_first(scores: FloatArray) -> IntArray:
    """Of equals the first is the better one."""
    return np.argsort(scores, kind="stable")[::-1]


def _bred(slots: IntArray, scores: FloatArray, select: Select, rng: np.random.Generator) -> Breeding:
    """As many parents as make enough pairs for these slots."""
    return Breeding(select(scores, 2 * ceil(len(slots) / 2), rng), slots)


@dataclass(frozen=True)
class Generational:
    """Children replace the whole population; with `elitist` all but its best."""

    elitist: bool = False
    replacement: ClassVar[Replacement] = "always"
    crowded: ClassVar[bool] = False

    def breeding(self, scores: FloatArray, select: Select, rng: np.random.Generator) -> Breeding:
        slots = _worst_first(scores)
        return _bred(slots[:-1] if self.elitist and len(slots) > 1 else slots, scores, select, rng)


@dataclass(frozen=True)
class GenerationGap:
    """Children replace this share of the population, rounded up and drawn at random from all but its best."""

    gap: float = 0.5
    replacement: ClassVar[Replacement] = "always"
    crowded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.gap <= 1:
            raise ParameterError(f"gap = {self.gap} is not allowed; it is a share above 0, at most 1")

    def breeding(self, scores: FloatArray, select: Select, rng: np.random.Generator) -> Breeding:
        others = _worst_first(scores)[:-1]
        count = min(ceil(self.gap * len(scores) - 1e-9), len(others))
        return _bred(rng.choice(others, count, replace=False), scores, select, rng)


@dataclass(frozen=True)
class SteadyState:
    """One or a few children a generation replace the worst, always or if they are better."""

    children: int = 2
    replacement: Replacement = "always"
    crowded: ClassVar[bool] = False

    def breeding(self, scores: FloatArray, select: Select, rng: np.random.Generator) -> Breeding:
        return _bred(_worst_first(scores)[: self.children], scores, select, rng)


@dataclass(frozen=True)
class LosersReplaced:
    """Of `size` individuals drawn at random the better half breed, paired at random, and their children take the slots
    of the other half: the best child that of the worst loser, always or if it is better.
    """

    size: int = 4
    replacement: Replacement = "if_better"
    crowded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.size < 2 or self.size % 2:
            raise ParameterError(f"size = {self.size} is not allowed; it is an even number, at least 2")

    def breeding(self, scores: FloatArray, select: Select, rng: np.random.Generator) -> Breeding:
        if self.size > len(scores):
            raise ParameterError(f"{self.size} individuals cannot be drawn from a population of {len(scores)}")
        drawn = np.sort(rng.choice(len(scores), self.size, replace=False))
        ranked = drawn[_worst_first(scores[drawn])]
        return Breeding(rng.permutation(ranked[self.size // 2 :]), ranked[: self.size // 2])


@dataclass(frozen=True)
class DeterministicCrowding:
    """Pairs breed, and each child competes with its own parent alone, which stays unless the child is better."""

    children: int = 2
    replacement: ClassVar[Replacement] = "if_better"
    crowded: ClassVar[bool] = True

    def breeding(self, scores: FloatArray, select: Select, rng: np.random.Generator) -> Breeding:
        parents = select(scores, self.children, rng)
        return Breeding(parents, parents)
