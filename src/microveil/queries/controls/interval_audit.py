"""Interval audit: a question is refused if the answers would probably confine somebody's value to a narrow interval."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.errors import ParameterError
from microveil.numerics.auditing.value_intervals import atoms_of, confine_somebody, consistent_sums, rows_of
from microveil.parameters import parameter, parameterised
from microveil.queries.answers import Answer
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.controls.keyed import hashed
from microveil.queries.controls.memory import ALONE_OR_TOGETHER, Memory, RememberingGuard
from microveil.queries.database import Database
from microveil.typing import IntArray

_MOST_ATOMS = 400  # groups of records that no question has told apart


class _IntervalGuard(RememberingGuard):
    control: IntervalAudit

    def __init__(self, control: IntervalAudit, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        self.known: dict[tuple[str, str], tuple[list[IntArray], list[float]]] = {}

    def _before(self, asked: Asked) -> tuple[list[IntArray], list[float]]:
        whose = (str(asked.question.value), self.whose(asked))
        return self.known.setdefault(whose, ([], []))

    def objection(self, asked: Asked) -> str | None:
        question = asked.question
        if question.statistic not in ("sum", "mean"):
            return (
                None
                if question.statistic == "count" and not asked.has_secret
                else ("the interval audit answers sums and means, and counts by public attributes")
            )
        assert question.value is not None
        limits = self.database.fields[question.value].range
        if limits is None:
            return f"the interval audit needs the range of '{question.value}', which the schema does not declare"
        sets, totals = self._before(asked)
        matrix, sizes, _ = atoms_of([*sets, asked.query_set], self.database.records)
        if len(sizes) > _MOST_ATOMS:
            return "the interval audit has as many answers to remember as it can hold"
        rng = np.random.default_rng(hashed(self.key, "interval audit", asked.fingerprint, str(len(sets)), bits=128))
        drawn = consistent_sums(matrix[:-1], np.array(totals), sizes, *limits, self.control.draws, rng)
        width = self.control.width * (limits[1] - limits[0])
        rows, confined = rows_of(matrix), 0
        for sums in drawn:
            confined += confine_somebody(matrix, sums, sizes, *limits, width, rows)
            if confined > self.control.tolerance * len(drawn):
                break
        if not len(drawn) or confined > self.control.tolerance * len(drawn):
            return "with the answers given so far, this one would probably confine a value to a narrow interval"
        return None

    def noted(self, asked: Asked, answer: Answer) -> None:
        if asked.question.statistic in ("sum", "mean") and answer.value is not None:
            sets, totals = self._before(asked)
            sets.append(asked.query_set)
            # exact answers are told in full; of others it is what the analyst would compute with
            totals.append(asked.exact.total)


@parameterised
class IntervalAudit(Control):
    """Refuses a sum or mean if too many of the tables that agree with all former answers would give somebody away.

    A value is given away if the answers confine it to an interval shorter than `width` times its range, by linear
    programming. Whether the true answer would do so must not decide, for the refusal would tell: tables that agree with
    the answers given so far are drawn at random, and the question is refused if in more than the share `tolerance` of
    them the answer would give somebody away. It needs the range of the attribute in the schema, and is for tables of
    hundreds of records.
    """

    name: ClassVar[str] = "interval-audit"
    family: ClassVar[str] = "restriction"
    summary: ClassVar[str] = "refuses what would probably confine somebody's value to a narrow interval"
    source: ClassVar[str] = "Kenthapadi, Mishra and Nissim (2005); Li et al. (2002b)"
    assumes: ClassVar[str] = "the declared range is all that is known of a value, and every question is in the log"
    has_memory: ClassVar[bool] = True

    width: float = parameter(default=0.1, gt=0, le=1, help="shortest interval, as a share of the attribute's range")
    draws: int = parameter(default=8, ge=1, le=1000, help="tables that are drawn")
    tolerance: float = parameter(
        default=0.0, ge=0, lt=1, help="share of the tables in which somebody may be given away"
    )
    analysts: Memory = parameter(default="all", help=ALONE_OR_TOGETHER)

    def guard(self, database: Database, key: str) -> Guard:
        ranges = [database.fields[name].range for name in database.fields if database.fields[name].is_numeric]
        if not any(ranges):
            raise ParameterError("interval-audit needs the range of at least one numeric attribute in the schema")
        return _IntervalGuard(self, database, key)
