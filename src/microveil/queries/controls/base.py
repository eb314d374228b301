"""What every control is: a frozen component with its parameters, and a guard that watches over one database with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from microveil.errors import DataError
from microveil.parameters import Parameterised
from microveil.queries.answers import Answer, Estimate
from microveil.queries.conditions import EVERYBODY, Formula
from microveil.queries.database import Database, ProxyMaker
from microveil.queries.engines import Counted
from microveil.queries.questions import ORDER_STATISTICS, Question
from microveil.typing import IntArray


@dataclass(eq=False)
class Asked:
    """A single question that an analyst asks, evaluated as far as somebody wants to know.

    Controls decide by the query set: the records that meet its conditions on attributes that everybody may know, and in
    which the attribute that is measured is not missing. Conditions on confidential attributes are no part of it.
    """

    database: Database
    question: Question
    analyst: str
    table: Question | None = None  # of which it is a cell
    workings: dict[Guard, object] = field(default_factory=dict)  # what guards keep from their decision for their note

    @cached_property
    def _parts(self) -> tuple[Formula, Formula]:
        return self.database.public_part(self.question)

    @property
    def public(self) -> Formula:
        return self._parts[0]

    @property
    def secret(self) -> Formula:
        return self._parts[1]

    @property
    def has_secret(self) -> bool:
        return self.secret != EVERYBODY

    @cached_property
    def query_set(self) -> IntArray:
        """The numbers of its records, ascending."""
        return self.database.members(self.public, self.question.value)

    @cached_property
    def described(self) -> IntArray:
        """The records that meet its public conditions, also those in which the measured attribute is missing."""
        return self.query_set if self.question.value is None else self.database.members(self.public, None)

    @cached_property
    def size(self) -> int:
        """The number of records of the query set."""
        if "query_set" in self.__dict__:
            return len(self.query_set)
        return self.exact.records if not self.has_secret else self.database.counted(self.public, None).records

    @cached_property
    def exact(self) -> Counted:
        """The truth: the records that meet all conditions, and their sum."""
        return self.database.counted(self.question.where, self.question.value)

    @cached_property
    def members(self) -> IntArray:
        """The records that meet all conditions."""
        return self.database.members(self.question.where, self.question.value) if self.has_secret else self.query_set

    @cached_property
    def fingerprint(self) -> str:
        return self.database.fingerprint(self.members)


class Change:
    """A table before and after it has changed; records are recognised by their names."""

    def __init__(self, before: Database, after: Database) -> None:
        self.before, self.after = before, after
        if tuple(before.fields) != tuple(after.fields):
            raise DataError("the changed table has other attributes")

    @cached_property
    def touched(self) -> frozenset[str]:
        """The names of the records that were added, removed or changed."""
        before, after = ({name: row for row, name in enumerate(table.ids)} for table in (self.before, self.after))
        common = [name for name in before if name in after]
        rows = np.array([[before[name], after[name]] for name in common], dtype=np.int64).reshape(-1, 2)
        differs = np.zeros(len(common), dtype=bool)
        for name in self.before.fields:
            old, new = self.before.cells(name)[rows[:, 0]], self.after.cells(name)[rows[:, 1]]
            differs |= old != new
        changed = {name for name, other in zip(common, differs, strict=True) if other}
        return frozenset(changed | (before.keys() ^ after.keys()))


class Guard:
    """A control at work on one database. It changes nothing by itself; a control overrides what it does.

    `objection` may look at the question, the query sets, what was asked before and the answers given then, and at
    nothing else: an analyst learns no value from a refusal. `noted` is called for every question that is answered, also
    for those of earlier sessions, which are read from the log.
    """

    def __init__(self, control: Control, database: Database, key: str) -> None:
        self.control, self.database, self.key = control, database, key

    def replaced(self, question: Question) -> Question:
        """Another question that is answered instead."""
        return question

    def objection(self, asked: Asked) -> str | None:
        """Why the question is refused, if it is."""
        return None

    def estimate(self, asked: Asked, estimate: Estimate) -> Estimate | None:
        """The estimate as this control changes it; None where it cannot be given."""
        return estimate

    def noted(self, asked: Asked, answer: Answer) -> None:
        """Remember a question that was answered."""

    def public_facts(self) -> dict[str, object]:
        """What decides beside questions and public attributes, and is therefore told to everybody."""
        return {}

    def change_objection(self, change: Change) -> str | None:
        """Why the table may not change in this way, if it may not: a difference between two answers is one too."""
        if self.control.has_memory:
            return "it remembers what was asked about the table, which cannot change under it"
        if len(change.touched) == 1:
            return "a change must touch at least two records, or the difference of two answers tells the one"
        return None


class Control(Parameterised, ABC):
    """A way of controlling inference. `strategy` is its family: what it does to a question that is not harmless."""

    kinds: ClassVar[tuple[str, ...]] = ("numeric", "ordinal", "nominal")
    assumes: ClassVar[str]  # what must hold for it to protect
    missing: ClassVar[str] = "records in which the measured attribute is missing are no part of the query set"
    has_memory: ClassVar[bool] = False  # whether it must know what was asked before
    answers_order_statistics: ClassVar[bool] = False  # median, minimum and maximum
    gives_exact_answers: ClassVar[bool] = True
    decides_without_data: ClassVar[bool] = False  # whether nothing but questions and answers decides a refusal

    @abstractmethod
    def guard(self, database: Database, key: str) -> Guard:
        """The control at work; `key` is the secret that its random numbers belong to."""

    def proxies(self, key: str) -> Sequence[ProxyMaker]:
        """What takes the place of the data, if anything does."""
        return ()

    def to_plain(self) -> dict[str, object]:
        return {"name": self.name, **{k: v for k, v in self.parameters().items() if v is not None}}


def refused_statistic(question: Question, controls: Sequence[Control]) -> str | None:
    """Why a median, minimum or maximum is refused: each is the value of one record, unless a control coarsens it."""
    if question.statistic not in ORDER_STATISTICS or not controls:
        return None
    if any(control.answers_order_statistics for control in controls):
        return None
    return (
        f"a {question.statistic} is the value of one record; it is answered only as an interval, from a partition or "
        "from masked data"
    )
