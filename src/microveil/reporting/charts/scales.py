"""From values to coordinates on the page, and the round numbers along an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from microveil.display import number

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """A linear scale from values to coordinates, in tenths of a unit.

    >>> Scale(0.0, 10.0, 100.0, 0.0)(2.5)
    75.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        share = (inside / 2 - self.low / 2) / (self.high / 2 - self.low / 2)  # halves: the span may not overflow
        return round(self.start + (self.end - self.start) * share, 1)


def widened(low: float, high: float) -> tuple[float, float]:
    """Limits with room between them, also where all values are alike."""
    least = max(abs(low), abs(high)) * 1e-9
    if high / 2 - low / 2 > least:
        return low, high
    room = max(abs(low) * 0.05, 0.5)
    return low - room, high + room


def round_limits(low: float, high: float, ticks: int = 6) -> tuple[float, float]:
    """The round numbers that enclose the values.

    >>> round_limits(3.1, 47.2)
    (0.0, 50.0)
    """
    low, high = widened(low, high)
    step = _step(low, high, ticks)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def ticks_between(low: float, high: float, at_most: int = 6) -> list[float]:
    """Round numbers from low to high, about as many as asked for.

    >>> ticks_between(0, 47)
    [0.0, 10.0, 20.0, 30.0, 40.0]
    """
    low, high = widened(low, high)
    step = _step(low, high, at_most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _step(low: float, high: float, ticks: int) -> float:
    rough = (high / ticks - low / ticks) or math.ulp(1.0)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(s * power for s in _STEPS if s * power >= rough * (1 - 1e-9))


def tick_texts(ticks: list[float]) -> list[str]:
    """The numbers as they stand at an axis, all with as many decimals as the finest needs.

    >>> tick_texts([0.0, 2.5, 5.0]), tick_texts([1000.0, 2000.0])
    (['0.0', '2.5', '5.0'], ['1,000', '2,000'])
    """
    largest = max(map(abs, ticks), default=0.0)
    if largest >= 1e7 or 0 < largest < 1e-3:
        return [number(tick) for tick in ticks]
    decimals = next((d for d in range(6) if all(abs(round(t, d) - t) <= 1e-9 * largest for t in ticks)), 6)
    return [f"{tick + 0.0:,.{decimals}f}" for tick in ticks]
