"""Exact linear audit: a question is refused if the answers together would determine somebody's value."""

from __future__ import annotations

import hashlib
from typing import ClassVar

import numpy as np

from microveil.numerics.auditing.row_space import RowSpace, prime_from
from microveil.parameters import parameter, parameterised
from microveil.queries.answers import Answer
from microveil.queries.conditions import CategorySet, Condition
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.controls.overlap import ALONE_OR_TOGETHER, Memory
from microveil.queries.database import Database
from microveil.typing import BoolArray

_MOST_ENTRIES = 200_000_000  # numbers that the bases of all attributes may take
_DETERMINED = "with the answers given so far, this one would determine the value of a record"


class _AuditGuard(Guard):
    control: Audit

    def __init__(self, control: Audit, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        seals = (hashlib.sha256(f"{key}|audit|{number}".encode()).digest() for number in range(2))
        self.primes = tuple(prime_from(int.from_bytes(seal[:8], "big")) for seal in seals)
        self.known: dict[tuple[str, str], RowSpace] = {}

    def objection(self, asked: Asked) -> str | None:
        subject = self._subject(asked)
        if subject is None:
            return None
        if isinstance(subject, str):
            return subject
        after = self._after(asked, *subject)
        if after.entries + sum(space.entries for space in self.known.values()) > _MOST_ENTRIES:
            return "the audit has as many answers to remember as it can hold"
        return _DETERMINED if after.determined().size else None

    def noted(self, asked: Asked, answer: Answer) -> None:
        subject = self._subject(asked)
        if subject is not None and not isinstance(subject, str):
            self.known[self._whose(asked, subject[0])] = self._after(asked, *subject)

    def _whose(self, asked: Asked, attribute: str) -> tuple[str, str]:
        return attribute, asked.analyst if self.control.analysts == "each" else ""

    def _after(self, asked: Asked, attribute: str, columns: BoolArray | None) -> RowSpace:
        """What is known of an attribute after the answer."""
        whose = self._whose(asked, attribute)
        if whose not in self.known:
            width = 1 if columns is None else len(columns)
            self.known[whose] = RowSpace.of(self.database.records, self.primes, width)
        return self.known[whose].with_answer(asked.query_set, columns)

    def _subject(self, asked: Asked) -> tuple[str, BoolArray | None] | str | None:
        """The attribute whose values are summed, with the categories that are counted; None where nothing is
        protected; a sentence where the audit cannot follow."""
        question = asked.question
        if question.statistic in ("sum", "mean"):
            assert question.value is not None
            open_to_all = bool(self.database.data.schema.confidential) and question.value not in (
                self.database.confidential
            )
            return None if open_to_all else (question.value, None)
        if question.statistic != "count":
            return "the audit answers counts, sums and means"
        if not asked.has_secret:
            return None
        secret = asked.secret
        if not isinstance(secret, Condition) or not (
            secret.is_about_presence or (isinstance(secret.values, CategorySet) and not secret.or_missing)
        ):
            return "the audit answers counts of the categories of one confidential attribute"
        if not isinstance(secret.values, CategorySet):
            return f"whether {secret.attribute} is missing", None
        field = self.database.fields[secret.attribute]
        missing = bool((np.asarray(self.database.values(field.name)) < 0).any())
        # of the categories, and of missing where it occurs, the last follows from the others
        width = len(field.domain) - (not missing)
        places = secret.values.without().places if secret.or_missing else secret.values.places
        if not missing and width in places:
            places = secret.values.without().places
        if not places or not width:
            return None
        columns = np.zeros(width, dtype=bool)
        columns[list(places)] = True
        return field.name, columns


@parameterised
class Audit(Control):
    """Refuses a sum or mean if it would put somebody's value into the row space of all answers.

    It decides by the query sets alone, so a refusal tells nothing about values, and no sequence of questions determines
    a value exactly; that a value lies in a narrow interval it does not prevent. Counts of the categories of a
    confidential attribute are sums of unknown 0s and 1s and are followed in the same way; but as there are no other
    values, fewer answers than unknowns can tell all of them, which it does not see (`linear-reconstruction` of the red
    team). Put `differential-privacy` in its place where a category is confidential.
    """

    name: ClassVar[str] = "audit"
    family: ClassVar[str] = "restriction"
    summary: ClassVar[str] = "refuses what would determine somebody's value together with former answers"
    source: ClassVar[str] = "Chin and Özsoyoğlu (1982)"
    assumes: ClassVar[str] = "no limits are known that narrow values down, and every question is in the log"
    has_memory: ClassVar[bool] = True

    analysts: Memory = parameter(default="all", help=ALONE_OR_TOGETHER)

    def guard(self, database: Database, key: str) -> Guard:
        return _AuditGuard(self, database, key)
