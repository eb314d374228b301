"""Crossover of strings: two parents, two children, every gene from one parent to one child."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from microveil.errors import ParameterError
from microveil.typing import BoolArray, IntArray

Pair = tuple[IntArray, IntArray]


def cross_by_mask(one: IntArray, other: IntArray, own: BoolArray) -> Pair:
    """Each child has the genes of its own parent where the mask says so, and elsewhere those of the other.

    >>> cross_by_mask(np.array([1, 2, 3]), np.array([7, 8, 9]), np.array([True, False, True]))
    (array([1, 8, 3]), array([7, 2, 9]))
    """
    return np.where(own, one, other), np.where(own, other, one)


def cross_at(one: IntArray, other: IntArray, cuts: Sequence[int] | IntArray) -> Pair:
    """The parents are exchanged behind every cut; cut 3 lies behind the third gene.

    >>> cross_at(np.array([1, 2, 3, 4]), np.array([5, 6, 7, 8]), [1, 3])
    (array([1, 6, 7, 4]), array([5, 2, 3, 8]))
    """
    exchanges = np.bincount(cuts, minlength=len(one))[: len(one)]
    return cross_by_mask(one, other, np.cumsum(exchanges) % 2 == 0)


@dataclass(frozen=True)
class PointCrossover:
    """One-, two- or m-point crossover: `points` different cuts drawn at random; as many as there are if these are
    fewer.
    """

    points: int = 1

    def __post_init__(self) -> None:
        if self.points < 1:
            raise ParameterError(f"points = {self.points} is not allowed; a crossover has at least one cut")

    def __call__(self, one: IntArray, other: IntArray, rng: np.random.Generator) -> Pair:
        between = len(one) - 1
        cuts = 1 + rng.choice(between, size=min(self.points, between), replace=False) if between else ()
        return cross_at(one, other, np.asarray(cuts, dtype=np.int64))


@dataclass(frozen=True)
class UniformCrossover:
    """Each gene by itself is kept with probability `p`, and else exchanged; the nearer p is to 0.5, the more is
    disrupted.
    """

    p: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise ParameterError(f"p = {self.p} is not allowed; it is a probability")

    def __call__(self, one: IntArray, other: IntArray, rng: np.random.Generator) -> Pair:
        return cross_by_mask(one, other, rng.random(len(one)) < self.p)
