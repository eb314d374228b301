"""What a release leaks about its own records: the success of an attack on them beside that on a control group.

Part of what an attack finds out is true of everybody, and would be found out about persons who are not in the file.
After Giomi et al. (2023) the leak is what is left of the success when this part is taken off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, hypot
from typing import Any, Protocol

import numpy as np

from microveil.numerics.statistics.wilson import wilson_interval
from microveil.typing import FloatArray


@dataclass(frozen=True)
class Leak:
    """All numbers are percentages. `original` is the success on persons of the original, and `control` that on persons
    of the control group; `attacked` and `controls` are how many of each, and `meaning` says what a success is.

    `value` is the leak (original - control) / (100 - control): 0 where the persons in the release are no worse off than
    anybody, 100 where every attack on them succeeds beyond what is true of everybody; by chance it may be below 0.
    `low` and `high` bound its 95 % confidence interval, propagated from the Wilson intervals of the two shares.
    """

    value: float
    low: float
    high: float
    original: float
    original_interval: tuple[float, float]
    control: float
    control_interval: tuple[float, float]
    attacked: int
    controls: int
    meaning: str

    @property
    def is_seen(self) -> bool:
        """Whether there is a leak beyond what chance explains."""
        return self.low > 0

    def to_plain(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "interval": [self.low, self.high],
            "original": self.original,
            "original_interval": list(self.original_interval),
            "control": self.control,
            "control_interval": list(self.control_interval),
            "attacked": self.attacked,
            "controls": self.controls,
            "meaning": self.meaning,
        }


def leak_of(original: FloatArray, control: FloatArray, meaning: str) -> Leak | None:
    """The leak, from the success on each person of the original and of the control group; NaN was not attacked.

    >>> found = leak_of(np.array([1.0] * 80 + [0.0] * 20), np.array([1.0] * 20 + [0.0] * 80), "a right guess")
    >>> [round(number, 1) for number in (found.value, found.low, found.high)]
    [75.0, 63.6, 83.6]
    """
    sides = [_share(success) for success in (original, control)]
    if any(trials == 0 for _, _, _, trials in sides):
        return None
    (r, r_low, r_high, attacked), (c, c_low, c_high, controls) = sides
    if c < 1:
        value, by_original, by_control = (r - c) / (1 - c), 1 / (1 - c), (1 - r) / (1 - c) ** 2
        low = value - hypot(by_original * (r - r_low), by_control * (c_high - c))
        high = min(1.0, value + hypot(by_original * (r_high - r), by_control * (c - c_low)))
    else:  # everybody is found out, so nothing is left to leak, and nothing can be said
        value, low, high = 0.0, -1.0, 1.0
    return Leak(
        100 * value, 100 * low, 100 * high, 100 * r, (100 * r_low, 100 * r_high), 100 * c, (100 * c_low, 100 * c_high),
        attacked, controls, meaning,
    )  # fmt: skip


def _share(success: FloatArray) -> tuple[float, float, float, int]:
    """The mean success with its interval, over how many; the order of the persons plays no part."""
    found = success[~np.isnan(success)]
    total = fsum(found.tolist())
    return (total / len(found) if len(found) else 0.0, *wilson_interval(total, len(found)), len(found))


class HasLeak(Protocol):
    """A risk."""

    @property
    def leak(self) -> Leak | None: ...


LEAK_HEAD = ("attack", "original", "control", "leak", "95 % interval")
LEAK_MEANING = (
    "original, control: per cent of successes on persons in the release, and on persons of the control group, who are "
    "not in it; leak = (original - control) / (100 - control): what the release discloses of its own records beyond "
    "what is true of everybody"
)


def leaks_of(risks: Mapping[str, HasLeak]) -> dict[str, Leak]:
    """The leaks among some risks, by their labels."""
    return {label: risk.leak for label, risk in risks.items() if risk.leak is not None}


def leak_rows(leaks: Mapping[str, Leak]) -> list[tuple[str, ...]]:
    """The leaks of attacks as they are shown, by their labels, below `LEAK_HEAD`."""
    return [
        (label, f"{one.original:.2f}", f"{one.control:.2f}", f"{one.value:.2f}", f"{one.low:.2f} to {one.high:.2f}")
        for label, one in leaks.items()
    ]
