"""Interval answers: an interval that holds the truth, made of the intervals of small groups of records."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from microveil.errors import TooFewRecordsError
from microveil.parameters import LARGEST_NUMBER, MOST_RECORDS, parameter, parameterised
from microveil.queries.answers import Estimate
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.database import Database
from microveil.queries.questions import COMPUTED
from microveil.typing import FloatArray


class _IntervalsGuard(Guard):
    control: IntervalAnswers

    def __init__(self, control: IntervalAnswers, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        self.limits: dict[str, FloatArray] = {}

    def objection(self, asked: Asked) -> str | None:
        if asked.question.statistic == "count" and asked.has_secret:
            return "interval answers are about numbers; counts are answered by public attributes only"
        return None

    def estimate(self, asked: Asked, estimate: Estimate) -> Estimate:
        if asked.question.statistic == "count":
            return estimate
        assert asked.question.value is not None
        lows, highs = self._limits_of(asked.question.value)[asked.members].T
        if not len(lows):
            return replace(estimate, value=None)
        chosen = COMPUTED[asked.question.statistic]
        return replace(estimate, value=None, interval=(float(chosen(lows)), float(chosen(highs))))

    def _limits_of(self, name: str) -> FloatArray:
        """The interval of the group of every record."""
        if name not in self.limits:
            values = np.asarray(self.database.values(name), dtype=float)
            present = np.flatnonzero(~np.isnan(values))
            order = present[np.argsort(values[present], kind="stable")]
            limits = np.full((len(values), 2), np.nan)
            if len(order):
                starts = np.arange(max(len(order) // self.control.k, 1)) * self.control.k
                ends = np.append(starts[1:], len(order))  # the last group has the rest
                limits[order] = np.repeat(values[order[np.stack([starts, ends - 1], axis=1)]], ends - starts, axis=0)
            if self.control.base:
                base = self.control.base
                limits = np.column_stack([np.floor(limits[:, 0] / base) * base, np.ceil(limits[:, 1] / base) * base])
            self.limits[name] = limits
        return self.limits[name]


@parameterised
class IntervalAnswers(Control):
    """Answers with an interval that holds the truth: the sum, mean or median of the ends of the intervals of groups of
    k records with neighbouring values, rounded outward to multiples of `base`.

    Differences of answers are wider than the interval of a group, and asking again narrows nothing, also while the
    database changes. A mean, median, minimum or maximum is answered too.
    """

    name: ClassVar[str] = "intervals"
    family: ClassVar[str] = "output perturbation"
    summary: ClassVar[str] = "answers with intervals that hold the truth"
    source: ClassVar[str] = "Gopal, Garfinkel and Goes (2002)"
    assumes: ClassVar[str] = "the group of neighbouring values is wide enough to hide a value in"
    answers_order_statistics: ClassVar[bool] = True
    gives_exact_answers: ClassVar[bool] = False

    k: int = parameter(default=3, ge=2, le=MOST_RECORDS, help="records of a group")
    base: float = parameter(
        default=0.0, ge=0, le=LARGEST_NUMBER, help="ends are rounded outward to its multiples; 0: not at all"
    )

    def guard(self, database: Database, key: str) -> Guard:
        if database.records < self.k:
            raise TooFewRecordsError(database.records, self.k, "intervals")
        return _IntervalsGuard(self, database, key)
