"""The values of a method's parameters that a search tries: ranges to draw from, and steps from one value to a near one.

A method declares them in `searched`. Values are rounded to three digits, so that plans can be read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, log
from types import MappingProxyType
from typing import Any

import numpy as np

_STEP = 0.15  # standard deviation of a step to a near value, as a share of the range
_DIGITS = 3


class Range(ABC):
    """The values of one parameter."""

    @abstractmethod
    def drawn(self, rng: np.random.Generator) -> Any:
        """Any value of the range."""

    @abstractmethod
    def near(self, value: Any, rng: np.random.Generator) -> Any:
        """Another value, near to this one where the values have an order."""

    @abstractmethod
    def spread(self, count: int) -> list[Any]:
        """So many values, evenly over the range; of a list, the first ones."""

    def among(self, records: int) -> Range:
        """The values that make sense for so many records."""
        return self


@dataclass(frozen=True)
class Interval(Range):
    """Numbers from `low` to `high`, even on a logarithmic scale if `logarithmic`.

    >>> Interval(0.0, 1.0).spread(3)
    [0.0, 0.5, 1.0]
    >>> Interval(1.0, 100.0, logarithmic=True).spread(3)
    [1.0, 10.0, 100.0]
    """

    low: float
    high: float
    logarithmic: bool = False

    def drawn(self, rng: np.random.Generator) -> Any:
        return self.at(rng.random())

    def near(self, value: Any, rng: np.random.Generator) -> Any:
        at = self.position(float(value)) + _STEP * rng.standard_normal()
        at = abs(at) if at <= 1 else 2 - at  # reflected at the ends
        return self.at(min(1.0, max(0.0, at)))

    def spread(self, count: int) -> list[Any]:
        return [self.at(at) for at in np.linspace(0.0, 1.0, count)]

    def position(self, value: float) -> float:
        """How far in the range a value lies, from 0 to 1."""
        low, high, value = (log(v) if self.logarithmic else v for v in (self.low, self.high, value))
        return (value - low) / (high - low) if high > low else 0.0

    def at(self, position: float) -> Any:
        """The value so far in the range, from 0 to 1."""
        if self.logarithmic:
            return self._rounded(exp(log(self.low) + position * (log(self.high) - log(self.low))))
        return self._rounded(self.low + position * (self.high - self.low))

    def _rounded(self, value: float) -> Any:
        return min(self.high, max(self.low, float(f"{value:.{_DIGITS}g}")))


@dataclass(frozen=True)
class Whole(Interval):
    """Whole numbers from `low` to `high`, on a logarithmic scale unless told otherwise.

    A number `of_records`, such as the size of a group, is at most half of those there are.

    >>> Whole(2, 50).spread(3)
    [2, 10, 50]
    >>> Whole(2, 50, of_records=True).among(60)
    Whole(low=2, high=30, logarithmic=True, of_records=True)
    """

    logarithmic: bool = True
    of_records: bool = False

    def among(self, records: int) -> Range:
        return replace(self, high=min(self.high, max(2, records // 2))) if self.of_records else self

    def near(self, value: Any, rng: np.random.Generator) -> Any:
        found = super().near(value, rng)
        if found == value:  # a step too small to leave a whole number is one up or down
            found = value + (1 if value <= self.low or (value < self.high and rng.random() < 0.5) else -1)
        return int(min(self.high, max(self.low, found)))

    def _rounded(self, value: float) -> Any:
        return int(min(self.high, max(self.low, round(value))))


@dataclass(frozen=True)
class OneOf(Range):
    """One of some values, the usual one first.

    >>> OneOf(("nearest", "random")).near("nearest", np.random.default_rng(1))
    'random'
    """

    values: tuple[Any, ...]

    def drawn(self, rng: np.random.Generator) -> Any:
        return self.values[rng.integers(len(self.values))]

    def near(self, value: Any, rng: np.random.Generator) -> Any:
        others = [other for other in self.values if other != value]
        return others[rng.integers(len(others))] if others else value

    def spread(self, count: int) -> list[Any]:
        return list(self.values[:count])


GROUP_SIZES = Whole(2, 500, of_records=True)  # k of groups and equivalence classes
Ranges = Mapping[str, Range]


def ranges(**searched: Range) -> Ranges:
    """The ranges of some parameters, as a method declares them."""
    return MappingProxyType(searched)
