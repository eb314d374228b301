"""Exact linear audit: a question is refused if the answers together would determine somebody's value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, cast

import numpy as np

from microveil.numerics.auditing.row_space import RowSpace, prime_from, told_apart
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.queries.answers import Answer
from microveil.queries.conditions import CategorySet, Condition, Formula
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.controls.keyed import hashed
from microveil.queries.controls.memory import ALONE_OR_TOGETHER, Memory, RememberingGuard
from microveil.queries.database import Database
from microveil.typing import IntArray

_MOST_ENTRIES = 200_000_000  # numbers that the bases of all attributes may take
_FEW_VALUES = 20  # up to which a number is like a category: fewer sums than unknowns tell all of them
_DETERMINED = "with the answers given so far, this one would determine the value of a record"


class _AuditGuard(RememberingGuard):
    control: Audit

    def __init__(self, control: Audit, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        self.primes = tuple(prime_from(hashed(key, "audit", str(number))) for number in range(2))
        self.known: dict[tuple[str, str], RowSpace] = {}
        self.atoms: dict[str, IntArray] = {}  # the groups of people whom counts have not told apart
        self.counted_like: dict[str, bool] = {}

    def objection(self, asked: Asked) -> str | None:
        question = asked.question
        if question.statistic not in ("count", "sum", "mean"):
            return "the audit answers counts, sums and means"
        if (
            asked.has_secret
            and question.statistic == "count"
            and not all(map(_is_countable, _conditions(asked.secret)))
        ):
            return "the audit answers counts of the categories of confidential attributes, not of ranges"
        if self._is_counted(asked):
            smallest = int(np.bincount(self._atoms_after(asked)).min(initial=self.database.records))
            if smallest < self.control.smallest:
                return (
                    "with the answers given so far, this one would tell groups of fewer than "
                    f"{self.control.smallest} people apart"
                )
        if not self._is_summed(asked):
            return None
        after = self._after(asked)
        if after.entries + sum(space.entries for space in self.known.values()) > _MOST_ENTRIES:
            return "the audit has as many answers to remember as it can hold"
        return _DETERMINED if after.determined().size else None

    def noted(self, asked: Asked, answer: Answer) -> None:
        if self._is_counted(asked):
            self.atoms[self.whose(asked)] = self._atoms_after(asked)
        if self._is_summed(asked):
            self.known[str(asked.question.value), self.whose(asked)] = self._after(asked)

    def _is_summed(self, asked: Asked) -> bool:
        """Whether values of an attribute that is protected are added up."""
        value = asked.question.value
        if asked.question.statistic not in ("sum", "mean") or value is None:
            return False
        return value in self.database.confidential or not self.database.data.schema.confidential

    def _is_counted(self, asked: Asked) -> bool:
        """Whether people with a confidential category are counted, or numbers added up that tell as much as counts."""
        if asked.question.statistic == "count":
            return asked.has_secret
        return self._is_summed(asked) and self._is_like_a_count(str(asked.question.value))

    def _is_like_a_count(self, name: str) -> bool:
        """Whether sums of an attribute tell as much as counts: it has few values, or some are missing, so that a sum
        and a mean tell how many are not, and a refusal tells whose."""
        if name not in self.counted_like:
            values = np.asarray(self.database.values(name), dtype=float)
            present = values[~np.isnan(values)]
            has_few = len(np.unique(present)) <= min(_FEW_VALUES, len(present) / 2)
            self.counted_like[name] = has_few or len(present) < len(values)
        return self.counted_like[name]

    def public_facts(self) -> dict[str, object]:
        names = [name for name in self.database.fields if self.database.fields[name].is_numeric]
        secret = self.database.confidential or frozenset(names)
        return {"in_groups": [name for name in names if name in secret and self._is_like_a_count(name)]}

    def _after(self, asked: Asked) -> RowSpace:
        """What is known of the attribute after the answer; worked out once for a decision and its note."""
        if self in asked.workings:
            return cast(RowSpace, asked.workings[self])
        whose = str(asked.question.value), self.whose(asked)
        before = self.known.get(whose) or RowSpace.of(self.database.records, self.primes)
        asked.workings[self] = after = before.with_answer(asked.query_set)
        return after

    def _atoms_after(self, asked: Asked) -> IntArray:
        before = self.atoms.get(self.whose(asked))
        nobody = np.zeros(self.database.records, dtype=np.int64)
        # also those whose value is missing: who they are must not decide
        everybody = asked.query_set if asked.question.value is None else asked.described
        return told_apart(nobody if before is None else before, everybody)


def _conditions(formula: Formula) -> Iterator[Condition]:
    if isinstance(formula, Condition):
        yield formula
    else:
        for part in formula.parts:
            yield from _conditions(part)


def _is_countable(condition: Condition) -> bool:
    return isinstance(condition.values, CategorySet) or condition.is_about_presence


@parameterised
class Audit(Control):
    """Refuses a sum or mean if it would put somebody's value into the row space of all answers.

    It decides by the query sets alone, so a refusal tells nothing about values, and no sequence of questions determines
    a value exactly; that a value lies in a narrow interval it does not prevent. What has few possible values follows
    from fewer sums than unknowns, and of what is missing in some records a sum with a mean tells how many: counts of
    confidential categories, and sums of numbers with at most 20 different values or with missing ones, are answered
    only as long as all of them together tell no group of fewer than `smallest` people apart. Which numbers these are
    is a public fact.
    """

    name: ClassVar[str] = "audit"
    family: ClassVar[str] = "restriction"
    summary: ClassVar[str] = "refuses what would determine somebody's value together with former answers"
    source: ClassVar[str] = "Chin and Özsoyoğlu (1982)"
    assumes: ClassVar[str] = "no limits are known that narrow values down, and every question is in the log"
    has_memory: ClassVar[bool] = True

    smallest: int = parameter(
        default=5, ge=2, le=MOST_RECORDS, help="fewest people whom counts of confidential categories may tell apart"
    )
    analysts: Memory = parameter(default="all", help=ALONE_OR_TOGETHER)

    def guard(self, database: Database, key: str) -> Guard:
        return _AuditGuard(self, database, key)
