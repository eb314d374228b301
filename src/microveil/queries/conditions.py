"""Conditions on attributes, and formulas of them, in a canonical form from which alone the engine's SQL is made.

Negations are carried down to the single conditions when a formula is built. A condition holds where a value lies in its
set; where the value is missing it holds only if it says so. That is what SQL means by a WHERE clause, in which NOT of
something unknown is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from microveil.typing import BoolArray, FloatArray, IntArray

Columns: TypeAlias = Callable[[str], FloatArray | IntArray]


@dataclass(frozen=True, order=True)
class Span:
    """An interval of numbers; an end that is infinite is open."""

    low: float
    high: float
    with_low: bool = True
    with_high: bool = True

    @property
    def is_empty(self) -> bool:
        return self.low > self.high or (self.low == self.high and not (self.with_low and self.with_high))

    def common(self, other: Span) -> Span:
        """What lies in both."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        ends = (self, other)
        return Span(
            low, high, all(s.with_low for s in ends if s.low == low), all(s.with_high for s in ends if s.high == high)
        )

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low:.17g}"
        return f"{'[' if self.with_low else '('}{self.low:.17g}, {self.high:.17g}{']' if self.with_high else ')'}"


_EVERYTHING = Span(-math.inf, math.inf, with_low=False, with_high=False)


@dataclass(frozen=True)
class NumberSet:
    """Numbers in some disjoint intervals, ascending.

    >>> adult = NumberSet.of(Span(18, math.inf, with_high=False))
    >>> str(adult.without()), str(adult & NumberSet.of(Span(-math.inf, 65, with_low=False)))
    ('(-inf, 18)', '[18, 65]')
    """

    spans: tuple[Span, ...]

    @classmethod
    def of(cls, *spans: Span) -> NumberSet:
        """The union of intervals that may overlap."""
        joined: list[Span] = []
        for span in sorted((s for s in spans if not s.is_empty), key=lambda s: (s.low, not s.with_low)):
            last = joined[-1] if joined else None
            touches = last is not None and (
                span.low < last.high or (span.low == last.high and (span.with_low or last.with_high))
            )
            if last is None or not touches:
                joined.append(span)
                continue
            high = max(last.high, span.high)
            closed = any(s.with_high for s in (last, span) if s.high == high)
            joined[-1] = Span(last.low, high, last.with_low, closed)
        return cls(tuple(joined))

    @classmethod
    def points(cls, values: Iterable[float]) -> NumberSet:
        return cls.of(*(Span(value, value) for value in values))

    @property
    def is_everything(self) -> bool:
        return self.spans == (_EVERYTHING,)

    @property
    def is_empty(self) -> bool:
        return not self.spans

    def __and__(self, other: NumberSet) -> NumberSet:
        return NumberSet.of(*(a.common(b) for a in self.spans for b in other.spans))

    def __or__(self, other: NumberSet) -> NumberSet:
        return NumberSet.of(*self.spans, *other.spans)

    def without(self) -> NumberSet:
        """All other numbers."""
        left, found = Span(-math.inf, -math.inf, with_low=False, with_high=False), []
        for span in self.spans:
            found.append(Span(left.high, span.low, not left.with_high and left.high > -math.inf, not span.with_low))
            left = span
        found.append(Span(left.high, math.inf, not left.with_high and left.high > -math.inf, with_high=False))
        return NumberSet.of(*found)

    def holds(self, values: FloatArray | IntArray) -> BoolArray:
        """Where the values lie in it; never for what is missing."""
        found = np.zeros(len(values), dtype=bool)
        with np.errstate(invalid="ignore"):
            for span in self.spans:
                above = values >= span.low if span.with_low else values > span.low
                found |= above & (values <= span.high if span.with_high else values < span.high)
        return found

    def to_sql(self, column: str) -> str:
        return " OR ".join(f"({_sql_of(span, column)})" for span in self.spans) or "FALSE"

    def __str__(self) -> str:
        return " or ".join(map(str, self.spans)) or "nothing"


def _double(number: float) -> str:
    """A number as SQL reads it without a detour by decimals, which would round it twice."""
    told = repr(float(number))
    return told if "e" in told else f"{told}e0"


def _sql_of(span: Span, column: str) -> str:
    if span.low == span.high:
        return f"{column} = {_double(span.low)}"
    ends = []
    if span.low > -math.inf:
        ends.append(f"{column} {'>=' if span.with_low else '>'} {_double(span.low)}")
    if span.high < math.inf:
        ends.append(f"{column} {'<=' if span.with_high else '<'} {_double(span.high)}")
    return " AND ".join(ends) or f"{column} IS NOT NULL"


@dataclass(frozen=True)
class CategorySet:
    """Some of the categories of an attribute, by their places in its domain of so many."""

    places: frozenset[int]
    domain: int

    @property
    def is_everything(self) -> bool:
        return len(self.places) == self.domain

    @property
    def is_empty(self) -> bool:
        return not self.places

    def __and__(self, other: CategorySet) -> CategorySet:
        return CategorySet(self.places & other.places, self.domain)

    def __or__(self, other: CategorySet) -> CategorySet:
        return CategorySet(self.places | other.places, self.domain)

    def without(self) -> CategorySet:
        """All other categories."""
        return CategorySet(frozenset(range(self.domain)) - self.places, self.domain)

    def holds(self, values: FloatArray | IntArray) -> BoolArray:
        """Where the places lie in it; never for what is missing, which has the place -1."""
        chosen = np.zeros(self.domain + 1, dtype=bool)
        chosen[list(self.places)] = True
        return chosen[np.asarray(values, dtype=np.int64)]

    def to_sql(self, column: str) -> str:
        if not self.places:
            return "FALSE"
        return f"{column} IN ({', '.join(map(str, sorted(self.places)))})"

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, sorted(self.places))) + "}"


@dataclass(frozen=True)
class Condition:
    """That the value of an attribute lies in a set or, with `or_missing`, is missing."""

    attribute: str
    values: NumberSet | CategorySet
    or_missing: bool = False

    @property
    def is_always_true(self) -> bool:
        return self.or_missing and self.values.is_everything

    @property
    def is_never_true(self) -> bool:
        return not self.or_missing and self.values.is_empty

    @property
    def is_about_presence(self) -> bool:
        """Whether it says no more than that the value is there, or that it is not."""
        return self.values.is_empty if self.or_missing else self.values.is_everything

    def of_other_values(self) -> Condition:
        """That the value is another one; what it says of missing values stays."""
        return Condition(self.attribute, self.values.without(), self.or_missing)

    def negated(self) -> Condition:
        """NOT of it as SQL has it: of what is missing it is known only whether it is missing."""
        if self.or_missing and self.values.is_empty:
            return Condition(self.attribute, self.values.without())
        if not self.or_missing and self.values.is_everything:
            return Condition(self.attribute, self.values.without(), or_missing=True)
        return Condition(self.attribute, self.values.without())

    def joined(self, other: Condition, *, both: bool) -> Condition:
        """Two conditions on one attribute as one."""
        if both:
            values, missing = self.values & other.values, self.or_missing and other.or_missing  # type: ignore[operator]
        else:
            values, missing = self.values | other.values, self.or_missing or other.or_missing  # type: ignore[operator]
        return Condition(self.attribute, values, missing)

    def holds(self, columns: Columns, records: int) -> BoolArray:
        found = columns(self.attribute)
        held = self.values.holds(found)
        if self.or_missing:
            held = held | (np.isnan(found) if found.dtype.kind == "f" else found < 0)
        return held

    def to_sql(self, columns: Mapping[str, str]) -> str:
        column = columns[self.attribute]
        told = self.values.to_sql(column)
        return f"({told} OR {column} IS NULL)" if self.or_missing else f"({told})"

    def __str__(self) -> str:
        missing = " or missing" if self.or_missing else ""
        return f"{self.attribute} in {self.values}{missing}"


@dataclass(frozen=True)
class AllOf:
    """That all parts hold; without parts, always."""

    parts: tuple[Formula, ...] = ()

    def holds(self, columns: Columns, records: int) -> BoolArray:
        held = np.ones(records, dtype=bool)
        for part in self.parts:
            held &= part.holds(columns, records)
        return held

    def to_sql(self, columns: Mapping[str, str]) -> str:
        return f"({' AND '.join(part.to_sql(columns) for part in self.parts)})" if self.parts else "TRUE"

    def __str__(self) -> str:
        return "(" + " and ".join(map(str, self.parts)) + ")" if self.parts else "all"


@dataclass(frozen=True)
class AnyOf:
    """That at least one part holds; without parts, never."""

    parts: tuple[Formula, ...] = ()

    def holds(self, columns: Columns, records: int) -> BoolArray:
        held = np.zeros(records, dtype=bool)
        for part in self.parts:
            held |= part.holds(columns, records)
        return held

    def to_sql(self, columns: Mapping[str, str]) -> str:
        return f"({' OR '.join(part.to_sql(columns) for part in self.parts)})" if self.parts else "FALSE"

    def __str__(self) -> str:
        return "(" + " or ".join(map(str, self.parts)) + ")" if self.parts else "none"


Formula: TypeAlias = Condition | AllOf | AnyOf
EVERYBODY = AllOf()
NOBODY = AnyOf()


def all_of(parts: Iterable[Formula]) -> Formula:
    """The canonical form of a conjunction: conditions on one attribute are one, and the parts have an order."""
    return _combined(parts, both=True)


def any_of(parts: Iterable[Formula]) -> Formula:
    """The same for a disjunction."""
    return _combined(parts, both=False)


def _combined(parts: Iterable[Formula], *, both: bool) -> Formula:
    same, neutral, absorbing = (AllOf, EVERYBODY, NOBODY) if both else (AnyOf, NOBODY, EVERYBODY)
    flat: list[Formula] = []
    for part in parts:
        flat += part.parts if isinstance(part, same) else (part,)
    by_attribute: dict[str, Condition] = {}
    others: dict[str, Formula] = {}
    for part in flat:
        if isinstance(part, Condition):
            before = by_attribute.get(part.attribute)
            by_attribute[part.attribute] = part if before is None else before.joined(part, both=both)
        else:
            others[str(part)] = part
    if str(absorbing) in others:
        return absorbing
    simplified = [_simplified(condition) for condition in by_attribute.values()]
    if absorbing in simplified:
        return absorbing
    kept = {str(part): part for part in (*simplified, *others.values()) if part != neutral}
    if len(kept) == 1:
        return next(iter(kept.values()))
    return same(tuple(kept[text] for text in sorted(kept)))


def _simplified(condition: Condition) -> Formula:
    return EVERYBODY if condition.is_always_true else NOBODY if condition.is_never_true else condition


def attributes_of(formula: Formula) -> frozenset[str]:
    """The attributes that a formula looks at."""
    if isinstance(formula, Condition):
        return frozenset([formula.attribute])
    return frozenset().union(*map(attributes_of, formula.parts))


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The parts that must all hold."""
    return formula.parts if isinstance(formula, AllOf) else (formula,)


def is_conjunction(formula: Formula) -> bool:
    """Whether it is made of conditions that must all hold."""
    return all(isinstance(part, Condition) for part in conjuncts(formula))
