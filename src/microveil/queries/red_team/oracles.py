"""Attacks by an oracle: something in the server's behaviour tells whether the target's value lies in a set.

Whatever the oracle is (an answer that changes, a refusal, the time), a number is then found by bisection and a category
by trying.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable

from microveil.parameters import parameter, parameterised
from microveil.queries.conditions import CategorySet, Condition, NumberSet, Span
from microveil.queries.red_team.base import TargetAttack
from microveil.queries.red_team.intruder import Intruder
from microveil.queries.red_team.readings import Claim

_LARGEST = 2.0**60  # where a search without declared limits ends


@parameterised
class OracleAttack(TargetAttack):
    """Tells by `says` whether the target's value lies in a set. Before it is believed, it must tell the set of all
    values from one that no value lies in."""

    precision: float = parameter(
        default=1e-7, gt=0, le=1, help="width at which a number counts as found, as a share of its size"
    )

    @abstractmethod
    def says(self, intruder: Intruder, target: int, condition: Condition) -> bool | None:
        """Whether the target's value meets a condition on the confidential attribute; None where nothing tells."""

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        if not self._is_reliable(intruder, target):
            return None
        if intruder.secret.place is not None:
            holds = self.says(intruder, target, intruder.secret.condition())
            return None if holds is None else Claim(target, float(holds), is_certain=intruder.is_certain)
        found = self._bisected(intruder, target)
        return None if found is None else Claim(target, found, is_certain=intruder.is_certain)

    def _is_reliable(self, intruder: Intruder, target: int) -> bool:
        secret = intruder.secret
        if secret.place is None:
            ends: tuple[NumberSet | CategorySet, ...] = (_above(-_LARGEST), _above(_LARGEST))
        else:
            ends = tuple(CategorySet(frozenset(p), secret.categories) for p in (range(secret.categories), ()))
        always, never = (self.says(intruder, target, Condition(secret.attribute, values)) for values in ends)
        return always is True and never is False

    def _bisected(self, intruder: Intruder, target: int) -> float | None:
        def is_above(limit: float) -> bool | None:
            return self.says(intruder, target, Condition(intruder.secret.attribute, _above(limit)))

        bounds = intruder.facts.fields[intruder.secret.attribute].range or self._bounds(is_above)
        if bounds is None:
            return None
        low, high = bounds
        if is_above(high):
            return high
        while high - low > self.precision * max(abs(low), abs(high), 1e-3):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            above = is_above(middle)
            if above is None:
                return None
            low, high = (middle, high) if above else (low, middle)
        return nearest_round(low, high)

    def _bounds(self, is_above: Callable[[float], bool | None]) -> tuple[float, float] | None:
        """A power of two above the value, and one below it or below nothing."""
        sign = 1.0 if is_above(0.0) else -1.0
        size = 1.0
        while size < _LARGEST:
            beyond = is_above(sign * size)
            if beyond is None:
                return None
            if beyond != (sign > 0):
                previous = 0.0 if size == 1.0 else size / 4.0
                return (previous, size) if sign > 0 else (-size, -previous)
            size *= 4.0
        return None


def _above(limit: float) -> NumberSet:
    return NumberSet.of(Span(limit, math.inf, with_high=False))


def nearest_round(low: float, high: float) -> float:
    """The shortest decimal number in an interval: values that people report are round.

    >>> nearest_round(63.9999991, 64.0000004), nearest_round(0.1234567, 0.1234568)
    (64.0, 0.1234568)
    """
    middle = (low + high) / 2
    for digits in range(16):
        rounded = round(middle, digits)
        if low <= rounded <= high:
            return rounded
    return middle
