"""Differential privacy: calibrated noise on every answer, and a ledger of what has been spent."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from microveil.errors import ParameterError
from microveil.parameters import parameter, parameterised
from microveil.queries.answers import Answer, Estimate
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.controls.memory import ALONE_OR_TOGETHER, Memory, RememberingGuard
from microveil.queries.database import Database
from microveil.queries.questions import Question


class LedgerGuard(RememberingGuard):
    """Adds noise and keeps the ledger. An answer that was given is given again, and costs nothing."""

    control: DifferentialPrivacy

    def __init__(self, control: DifferentialPrivacy, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        self.spent: dict[str, float] = {}
        self.given: dict[str, Answer] = {}
        self.paid: Question | None = None  # the table whose cells are being answered: they are disjoint and cost once

    def _cost(self, asked: Asked) -> float:
        if str(asked.question) in self.given or (asked.table is not None and asked.table is self.paid):
            return 0.0
        return self.control.epsilon

    def objection(self, asked: Asked) -> str | None:
        question = asked.question
        if question.statistic not in ("count", "sum", "mean"):
            return "with differential privacy counts, sums and means are answered"
        if question.statistic != "count" and self._range(question) is None:
            return f"the range of '{question.value}' must be declared in the schema, for the noise depends on it"
        left = self.control.budget - self.spent.get(self.whose(asked), 0.0)
        if self._cost(asked) > left * (1 + 1e-12) + 1e-15:
            return f"the privacy budget of {self.control.budget:g} is used up"
        return None

    def _range(self, question: Question) -> tuple[float, float] | None:
        assert question.value is not None
        return self.database.fields[question.value].range

    def estimate(self, asked: Asked, estimate: Estimate) -> Estimate:
        before = self.given.get(str(asked.question))
        if before is not None:
            return replace(estimate, value=before.value, deviation=before.deviation)
        epsilon, statistic = self.control.epsilon, asked.question.statistic
        if statistic == "count":
            noisy = _laplace(int(asked.exact.records), 1.0 / epsilon)
            return replace(estimate, value=max(noisy, 0.0), deviation=math.sqrt(2) / epsilon)
        limits = self._range(asked.question)
        assert limits is not None
        assert asked.question.value is not None
        low, high = limits
        values = np.clip(self.database.values(asked.question.value)[asked.members], low, high)
        if statistic == "sum":
            scale = max(abs(low), abs(high)) / epsilon
            noisy = _laplace(math.fsum(values), scale)
            return replace(estimate, value=noisy, deviation=math.sqrt(2) * scale)
        middle, half = (low + high) / 2, (high - low) / 2
        records = max(_laplace(len(values), 2.0 / epsilon), 1.0)
        total = _laplace(math.fsum(values - middle), 2.0 * half / epsilon)
        return replace(estimate, value=min(max(middle + total / records, low), high))

    def noted(self, asked: Asked, answer: Answer) -> None:
        cost = self._cost(asked)
        if cost:  # a cell that was answered before has not paid for the others
            self.paid = asked.table
        self.spent[self.whose(asked)] = self.spent.get(self.whose(asked), 0.0) + cost
        self.given[str(asked.question)] = answer


def _laplace(value: float, scale: float) -> float:
    """The value with Laplace noise that is safe in floating point, from OpenDP's generator of secure random numbers."""
    if scale == 0:
        return float(value)
    dp = _opendp()
    kind = int if isinstance(value, int) else float
    domain = dp.atom_domain(T=int) if kind is int else dp.atom_domain(T=float, nan=False)
    return float(dp.m.make_laplace(domain, dp.absolute_distance(T=kind), scale=float(scale))(value))


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


@parameterised
class DifferentialPrivacy(Control):
    """Answers with Laplace noise such that every answer is epsilon-differentially private, until the budget is used up.

    Neighbouring tables differ by one record. A count has sensitivity 1; a sum needs the declared range of the
    attribute, to which values are clipped; a mean spends half on the number of records and half on the sum. The cells
    of a table are disjoint and cost as much as one question. The noise cannot be drawn again from any key: what was
    answered stands in the log. Nothing but the budget decides about a refusal.
    """

    name: ClassVar[str] = "differential-privacy"
    family: ClassVar[str] = "output perturbation"
    summary: ClassVar[str] = "adds Laplace noise and keeps a budget"
    source: ClassVar[str] = "Dwork et al. (2006)"
    assumes: ClassVar[str] = "the budget covers all who collude, and one record is one person"
    has_memory: ClassVar[bool] = True
    gives_exact_answers: ClassVar[bool] = False
    decides_without_data: ClassVar[bool] = True

    epsilon: float = parameter(default=0.1, gt=0, le=100, help="what one question costs")
    budget: float = parameter(default=1.0, gt=0, le=10_000, help="what all questions together may cost")
    analysts: Memory = parameter(default="all", help=ALONE_OR_TOGETHER)

    def guard(self, database: Database, key: str) -> Guard:
        if find_spec("opendp") is None:
            raise ParameterError('differential-privacy needs OpenDP; pip install "microveil[differential-privacy]"')
        return LedgerGuard(self, database, key)
