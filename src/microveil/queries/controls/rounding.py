"""Rounding of answers to multiples of a base."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from microveil.parameters import LARGEST_NUMBER, parameter, parameterised
from microveil.queries.answers import Estimate
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.controls.keyed import hashed, label_of
from microveil.queries.database import Database


class _RoundingGuard(Guard):
    control: RoundedAnswers

    def estimate(self, asked: Asked, estimate: Estimate) -> Estimate:
        shown, base = estimate.shown, self.control.base
        if shown is None:
            return estimate
        lower, part = math.floor(shown / base), shown / base - math.floor(shown / base)
        if self.control.unbiased:
            drawn = hashed(self.key, label_of(asked, "set and attribute"), asked.question.statistic, "rounding")
            up = drawn / 2.0**64 < part
        else:
            up = part > 0.5 or (part == 0.5 and lower % 2 == 1)
        return replace(estimate, value=base * (lower + up))


@parameterised
class RoundedAnswers(Control):
    """Rounds every answer to a multiple of the base: to the nearest one or, where `unbiased`, up or down at random with
    the right mean, and always alike for the same query set.

    Many overlapping questions still find the values: rounding is bounded noise.
    """

    name: ClassVar[str] = "rounding"
    family: ClassVar[str] = "output perturbation"
    summary: ClassVar[str] = "rounds answers to multiples of a base"
    source: ClassVar[str] = "Adam and Wortmann (1989)"
    assumes: ClassVar[str] = "few enough questions are asked that rounding does not average out"
    gives_exact_answers: ClassVar[bool] = False

    base: float = parameter(default=5.0, gt=0, le=LARGEST_NUMBER, help="what answers are multiples of")
    unbiased: bool = parameter(default=False, help="whether answers are rounded up or down at random")

    def guard(self, database: Database, key: str) -> Guard:
        return _RoundingGuard(self, database, key)
