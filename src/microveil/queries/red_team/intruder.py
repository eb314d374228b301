"""The intruder: an analyst with knowledge of people who asks questions and sees answers, refusals and the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from microveil.queries.answers import Answer
from microveil.queries.conditions import AllOf, CategorySet, Condition, Formula, NumberSet, all_of, any_of
from microveil.queries.controls.base import Control
from microveil.queries.engines.arrays import ArrayEngine
from microveil.queries.questions import Fields, Question
from microveil.queries.red_team.readings import Reading
from microveil.typing import FloatArray, IntArray

Scope = Literal["register", "target"]


class OutOfQuestionsError(Exception):
    """The intruder may ask no more."""


@dataclass(frozen=True)
class Secret:
    """What the intruder wants to learn: a number, or whether a confidential attribute has a category."""

    attribute: str
    place: int | None = None  # of the category in the domain
    categories: int = 0

    def asked(self, where: Formula) -> Question:
        """The question for the sum over the records that meet a formula."""
        if self.place is None:
            return Question("sum", self.attribute, where)
        return Question("count", None, all_of([where, self.condition()]))

    def condition(self) -> Condition:
        assert self.place is not None
        return Condition(self.attribute, CategorySet(frozenset([self.place]), self.categories))


@dataclass(frozen=True)
class Knowledge:
    """What the intruder knows beforehand: the known attributes of everybody (a register) or of the targets alone."""

    attributes: tuple[str, ...]
    columns: Mapping[str, FloatArray | IntArray]
    records: int
    targets: tuple[int, ...]
    scope: Scope = "register"

    @cached_property
    def register(self) -> ArrayEngine:
        return ArrayEngine({name: self.columns[name] for name in self.attributes}, self.records)

    def members(self, formula: Formula) -> IntArray:
        return self.register.members(formula, None)

    def has_missing(self, name: str) -> bool:
        column = self.columns[name]
        return bool(np.isnan(column).any() if column.dtype.kind == "f" else (column < 0).any())


@dataclass(frozen=True)
class PublicFacts:
    """What the owner publishes: attributes, the number of records and the controls; the key stays secret."""

    fields: Fields
    records: int
    controls: tuple[Control, ...]

    @property
    def answers_are_exact(self) -> bool:
        return all(control.gives_exact_answers for control in self.controls)

    @property
    def smallest_set(self) -> int:
        """The fewest records of a query set, as far as the controls say."""
        return max((c.parameters()["k"] for c in self.controls if c.name == "set-size"), default=1)

    @property
    def only_conjunctions(self) -> bool:
        return any(c.name == "statistics" and c.parameters()["conjunctions"] for c in self.controls)


class Intruder:
    """Asks through one door and counts. An answer that is known already is not asked for again, unless `ask` is used.

    `clock` tells the time, so that a test can tell it, too.
    """

    def __init__(
        self,
        door: Callable[[Question], Answer],
        facts: PublicFacts,
        knowledge: Knowledge,
        secret: Secret,
        *,
        questions: int,
        rng: np.random.Generator,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.door, self.facts, self.knowledge, self.secret = door, facts, knowledge, secret
        self.questions, self.rng, self.clock = questions, rng, clock
        self.asked = self.refused = 0
        self.known: dict[Question, Answer] = {}
        self.sizes: dict[Formula, int] = {}  # of sets in the register
        self.times: dict[int, tuple[float, float] | None] = {}  # of a target, with all conditions met and with none
        self.pairs: dict[int, list[tuple[Formula, Formula]]] = {}  # of sets that differ by a target

    def ask(self, question: Question) -> Answer:
        """Ask, whether or not the answer is known."""
        if self.asked >= self.questions:
            raise OutOfQuestionsError
        self.asked += 1
        answer = self.door(question)
        self.refused += answer.is_refused
        self.known[question] = answer
        return answer

    def answer(self, question: Question) -> Answer:
        """The answer, asked for if it is not known."""
        return self.known.get(question) or self.ask(question)

    def timed(self, question: Question) -> float:
        """The seconds that an answer takes."""
        began = self.clock()
        self.ask(question)
        return self.clock() - began

    def total(self, where: Formula) -> Reading | None:
        """The sum of the secret over the records that meet a formula; None where it is refused."""
        return Reading.of(self.answer(self.secret.asked(where)))

    def mean(self, where: Formula) -> Reading | None:
        return Reading.of(self.answer(Question("mean", self.secret.attribute, where)))

    def count(self, where: Formula) -> Reading | None:
        return Reading.of(self.answer(Question("count", None, where)))

    def size(self, where: Formula) -> int | None:
        """How many records meet a formula: known from the register, or asked for."""
        if self.knowledge.scope == "register":
            if where not in self.sizes:
                self.sizes[where] = len(self.knowledge.members(where))
            return self.sizes[where]
        counted = self.count(where)
        return None if counted is None else round(counted.value)

    def is_answerable(self, size: int | None) -> bool:
        """Whether the size of a query set lies within the limits that are known."""
        if size is None:
            return False
        smallest = self.facts.smallest_set
        both_ways = any(c.name == "set-size" and c.parameters()["both_ways"] for c in self.facts.controls)
        return smallest <= size <= self.facts.records - (smallest if both_ways else 0)

    @property
    def is_certain(self) -> bool:
        """Whether what follows from the answers is sure."""
        return self.facts.answers_are_exact

    def condition(self, target: int, name: str) -> Condition:
        """That an attribute is what it is known to be of a person."""
        value = self.knowledge.columns[name][target]
        field = self.facts.fields[name]
        if field.is_numeric:
            present = not np.isnan(value)
            return Condition(name, NumberSet.points([float(value)] if present else []), or_missing=not present)
        places = frozenset([int(value)] if value >= 0 else [])
        return Condition(name, CategorySet(places, len(field.domain)), or_missing=value < 0)


def complement(formula: Formula) -> Formula:
    """All other records, also those in which an attribute is missing, unlike NOT in SQL."""
    if isinstance(formula, Condition):
        return Condition(formula.attribute, formula.values.without(), or_missing=not formula.or_missing)
    parts = map(complement, formula.parts)
    return any_of(parts) if isinstance(formula, AllOf) else all_of(parts)


def shuffled(rng: np.random.Generator, items: Sequence[int]) -> list[int]:
    """The items in a random order."""
    return [int(items[place]) for place in rng.permutation(len(items))]
