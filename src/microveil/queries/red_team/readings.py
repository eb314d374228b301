"""What an intruder computes with: readings of sums with their uncertainty, and claims about single records."""

from __future__ import annotations

import math
from dataclasses import dataclass

from microveil.queries.answers import Answer


@dataclass(frozen=True)
class Reading:
    """A number that was answered, or follows from answers: an estimate, the interval that holds the truth where one is
    known, and the standard deviation of its noise where that was stated."""

    value: float
    low: float = -math.inf
    high: float = math.inf
    deviation: float | None = None

    @classmethod
    def of(cls, answer: Answer) -> Reading | None:
        """The reading of an answer; None where it was refused."""
        if answer.is_refused or (answer.value is None and answer.interval is None):
            return None
        if answer.interval is None:
            assert answer.value is not None
            return cls(answer.value, deviation=answer.deviation)
        low, high = answer.interval
        return cls((low + high) / 2 if answer.value is None else answer.value, low, high, answer.deviation)

    def times(self, factor: float) -> Reading:
        low, high = sorted((factor * self.low, factor * self.high)) if factor else (0.0, 0.0)
        return Reading(factor * self.value, low, high, None if self.deviation is None else abs(factor) * self.deviation)

    def __add__(self, other: Reading) -> Reading:
        noise = [d for d in (self.deviation, other.deviation) if d is not None]
        deviation = math.hypot(*noise) if noise else None
        return Reading(self.value + other.value, self.low + other.low, self.high + other.high, deviation)

    def __sub__(self, other: Reading) -> Reading:
        return self + other.times(-1.0)


def mean_of(readings: list[Reading]) -> Reading:
    """The mean of readings of the same number; the truth lies in all their intervals."""
    total = sum((reading.times(1 / len(readings)) for reading in readings[1:]), readings[0].times(1 / len(readings)))
    low, high = max(r.low for r in readings), min(r.high for r in readings)
    return Reading(total.value, low, high, total.deviation)


@dataclass(frozen=True)
class Claim:
    """What an intruder says of a record; `is_certain` where it follows from exact answers."""

    record: int
    value: float
    is_certain: bool = False
