"""What a search is to reach: a bound on the risk, guarantees, and bounds on single losses and risks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from microveil.errors import ParameterError, UnknownNameError, brief
from microveil.masking.guarantees import AT_MOST, check_requirements
from microveil.registry import names
from microveil.study.measuring import Measured
from microveil.units import percentage

_ROUNDING = 1e-9
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_BUDGET = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")
MOST_SECONDS = 30 * 24 * 3600.0


@dataclass(frozen=True)
class Aim:
    """What a release must keep to.

    `require` are guarantees, such as k of at least 3; `at_most` are bounds in per cent on losses and risks by their
    labels. A candidate that falls short of these is not chosen. Those with a risk below `risk_below` are admissible,
    and of them the one that loses least is the best.
    """

    risk_below: float | None = None
    require: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, risk_below: Any, require: Mapping[str, Any] | None, at_most: Mapping[str, Any] | None) -> Aim:
        """What a user says, checked."""
        bound = None if risk_below is None else percentage(risk_below, "risk_below")
        if bound == 0:
            raise ParameterError("risk_below = 0 is not allowed; no release has a risk below 0 %")
        limits = {}
        for name, value in (at_most or {}).items():
            known = (*names("loss"), *names("attack"))
            if name not in known:
                raise UnknownNameError("loss or attack", name, known)
            limits[name] = percentage(value, f"the bound on {name}")
        return cls(bound, check_requirements(require or {}), limits)

    def shortfalls(self, measured: Measured) -> dict[str, float]:
        """By how much a release falls short of each bound that it does not keep, as a share of the bound."""
        found = {}
        for name, wanted in self.require.items():
            reached = measured.guarantees.get(name, float("nan"))
            short = reached - wanted if name in AT_MOST else wanted - reached
            found[name] = short / max(abs(wanted), 0.01) if isfinite(short) else 1.0
        for value in measured.values:
            if value.measure in self.at_most:
                bound = self.at_most[value.measure]
                over = (value.value - bound) / max(bound, 1.0)
                found[value.label] = max(over, found.get(value.label, over))
        missing = set(self.at_most) - {value.measure for value in measured.values}
        found |= {name: 1.0 for name in missing if measured.complete}
        return {name: short for name, short in found.items() if short > _ROUNDING}

    def violation(self, measured: Measured) -> float:
        """The sum of all shortfalls; 0 of a release that keeps to everything."""
        return sum(self.shortfalls(measured).values())

    def told(self, measured: Measured) -> str:
        """What a release reaches of what is required, in words."""
        values: dict[str, float] = {}
        for value in measured.values:  # a measure may be there several times
            values[value.measure] = max(value.value, values.get(value.measure, value.value))
        reached = [f"{name} = {measured.guarantees[name]:g}" for name in self.require if name in measured.guarantees]
        reached += [f"{name} = {values[name]:.2f} %" for name in self.at_most if name in values]
        return ", ".join([*reached, f"risk {measured.risk:.2f} %", f"loss {measured.loss:.2f} %"])

    @property
    def words(self) -> str:
        """What is asked for, in words."""
        asked = [f"{name} {'at most' if name in AT_MOST else 'at least'} {v:g}" for name, v in self.require.items()]
        asked += [f"{name} at most {value:g} %" for name, value in self.at_most.items()]
        asked += [] if self.risk_below is None else [f"a risk below {self.risk_below:g} %"]
        return " and ".join(asked)


def seconds_of(budget: Any) -> float:
    """A time: a number of seconds, or a text such as 90s, 10m or 1.5h.

    >>> seconds_of("10m"), seconds_of("1.5h"), seconds_of(20)
    (600.0, 5400.0, 20.0)
    """
    text = str(budget).strip().lower() if not isinstance(budget, bool) else ""
    found = _BUDGET.fullmatch(text)
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not 0 < seconds <= MOST_SECONDS:
        raise ParameterError(
            f"budget = {brief(budget)} is not allowed; it must be a time above 0 and of at most 30 days, such as 90s, "
            "10m or 2h"
        )
    return seconds
