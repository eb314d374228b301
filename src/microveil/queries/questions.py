"""Questions to a statistical database: one statistic over the records that meet a formula, or a table of such ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from microveil.errors import MicroveilError, SchemaError, UnknownNameError, brief, shortened
from microveil.microdata.hierarchy import Hierarchy, Intervals, node_text
from microveil.microdata.schema import Category, category_key
from microveil.queries.conditions import (
    EVERYBODY,
    AllOf,
    CategorySet,
    Condition,
    Formula,
    NumberSet,
    Span,
    all_of,
    any_of,
    attributes_of,
)

Statistic = Literal["count", "sum", "mean", "median", "min", "max"]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
ORDER_STATISTICS: tuple[Statistic, ...] = ("median", "min", "max")
# of the values of a query set
COMPUTED: dict[Statistic, Callable[[Any], Any]] = {
    "sum": np.sum, "mean": np.mean, "median": np.median, "min": np.min, "max": np.max,
}  # fmt: skip
MOST_CELLS = 10_000  # of one table that is asked for
_DEEPEST, _LONGEST = 60, 10_000  # formulas in each other, and values or parts in one list
_LARGEST = 1e300
Value: TypeAlias = str | int | float | bool


class QuestionError(MicroveilError, ValueError):
    """What was asked is no question of the language; the sentence holds nothing but public facts."""


@dataclass(frozen=True)
class Question:
    """A statistic of an attribute over the records that meet `where`; with `by`, for every combination of categories.

    `count` without an attribute counts records, with one those in which it is not missing.
    """

    statistic: Statistic
    value: str | None = None
    where: Formula = EVERYBODY
    by: tuple[str, ...] = ()

    @property
    def attributes(self) -> frozenset[str]:
        """All attributes that it looks at."""
        return attributes_of(self.where) | set(self.by) | ({self.value} if self.value is not None else set())

    def __str__(self) -> str:
        asked = f"{self.statistic}({'*' if self.value is None else self.value})"
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"{asked}{by} where {self.where}"

    def restricted(self, formula: Formula) -> Question:
        """The same about those who meet a formula too."""
        return replace(self, where=all_of([self.where, formula]))


@dataclass(frozen=True)
class Field:
    """What everybody may know of an attribute: its name, its categories in order or the range of its numbers.

    `domain` is empty for numbers. `is_declared` says that the owner published the categories; otherwise they are those
    that occur. A category that is asked for and that is not among them then stands for no record, without a word.
    """

    name: str
    domain: tuple[Category, ...] = ()
    is_numeric: bool = True
    is_ordered: bool = True
    is_declared: bool = True
    range: tuple[float, float] | None = None
    hierarchy: Hierarchy | Intervals | None = None

    def to_plain(self) -> dict[str, Any]:
        """What everybody may know; categories only where the owner has published them."""
        plain: dict[str, Any] = {"name": self.name, "kind": "numeric" if self.is_numeric else "categorical"}
        if self.range is not None:
            plain["range"] = list(self.range)
        if not self.is_numeric and self.is_declared:
            plain["categories"] = list(self.domain)
        if self.hierarchy is not None:
            plain["levels"] = self.hierarchy.levels
        return plain

    def places(self, values: Sequence[Value]) -> list[int]:
        """The places of categories in the domain; those that are not in it are left out, or refused if it is public."""
        known = {category_key(category): place for place, category in enumerate(self.domain)}
        texts = {node_text(category): place for place, category in enumerate(self.domain)}
        found = []
        for value in values:
            place = known.get(category_key(value), texts.get(node_text(value)))
            if place is not None:
                found.append(place)
            elif self.is_declared:
                raise UnknownNameError(f"category of '{self.name}'", str(value), list(map(node_text, self.domain)))
        return found

    @property
    def nothing(self) -> NumberSet | CategorySet:
        """The set of none of its values."""
        return NumberSet(()) if self.is_numeric else CategorySet(frozenset(), len(self.domain))

    def among(self, values: Sequence[Value]) -> NumberSet | CategorySet:
        """The set of these values."""
        if self.is_numeric:
            return NumberSet.points(map(self.number, values))
        return CategorySet(frozenset(self.places(values)), len(self.domain))

    def beside(self, comparison: str, value: Value) -> NumberSet | CategorySet:
        """The set of values that compare with one in a way such as `<` or `>=`."""
        low, high = comparison.startswith(">"), comparison.startswith("<")
        closed = comparison.endswith("=")
        if self.is_numeric:
            limit, infinite = self.number(value), float("inf")
            return NumberSet.of(
                Span(limit, infinite, closed, with_high=False) if low else Span(-infinite, limit, False, closed)
            )
        if not self.is_ordered:
            raise QuestionError(f"the categories of '{self.name}' have no order, so {comparison} has no meaning")
        place = next(iter(self.places([value])), None)
        if place is None:
            return self.nothing
        chosen = range(place + (not closed), len(self.domain)) if low else range(place + closed if high else place)
        return CategorySet(frozenset(chosen), len(self.domain))

    def number(self, value: Value) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
            raise QuestionError(f"'{self.name}' is compared with numbers, not with {brief(value)}")
        return float(value)

    def at_level(self, level: int, values: Sequence[Value]) -> NumberSet | CategorySet:
        """The set of values that the hierarchy generalises to one of these on a level."""
        if self.hierarchy is None:
            raise QuestionError(f"'{self.name}' has no hierarchy, so it has no levels")
        try:
            nodes = self.hierarchy.categories(level)
        except SchemaError as problem:
            raise QuestionError(f"'{self.name}': {problem}") from None
        wanted = {node_text(value) for value in values}
        for value in wanted - set(nodes):
            raise UnknownNameError(f"category of '{self.name}' on level {level}", value, nodes)
        if isinstance(self.hierarchy, Intervals):
            cuts = (-float("inf"), *self.hierarchy.cuts[level - 1], float("inf"))
            spans = [Span(a, b, a > -float("inf"), with_high=False) for a, b in itertools.pairwise(cuts)]
            return NumberSet.of(*(span for node, span in zip(nodes, spans, strict=True) if node in wanted))
        if self.is_numeric:
            paths = [path for path in self.hierarchy.paths if path[level] in wanted]
            return NumberSet.points(float(path[0]) for path in paths)
        places = self.hierarchy.positions(self.domain, level)
        chosen = {place for place, at in enumerate(places) if at >= 0 and nodes[at] in wanted}
        return CategorySet(frozenset(chosen), len(self.domain))


class Fields(Mapping[str, Field]):
    """The attributes that may be asked about, by name; others do not exist for an analyst."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._fields = {field.name: field for field in fields}
        self._folded = {name.casefold(): name for name in reversed(self._fields)}

    def __getitem__(self, name: str) -> Field:
        """An attribute by its name; capital letters do not matter where only one can be meant."""
        found = self._fields.get(name) or self._fields.get(self._folded.get(name.casefold(), ""))
        if found is None:
            raise UnknownNameError("attribute", name, list(self._fields))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def checked(self, question: Question) -> Question:
        """A question with the names as the schema writes them, refused where it makes no sense."""
        value = None if question.value is None else self[question.value]
        if question.statistic not in STATISTICS:
            raise QuestionError(f"a question asks for {', '.join(STATISTICS)}, not {brief(question.statistic)}")
        if value is None and question.statistic != "count":
            raise QuestionError(f"{question.statistic} needs an attribute, such as {question.statistic}(income)")
        if value is not None and question.statistic != "count" and not value.is_numeric:
            raise QuestionError(f"'{value.name}' has categories, so it has no {question.statistic}")
        by = tuple(self[name].name for name in question.by)
        if len(set(by)) < len(by):
            raise QuestionError("a table names an attribute twice")
        cells = 1
        for name in by:
            if self[name].is_numeric:
                raise QuestionError(
                    f"a table goes by categories, and '{name}' has numbers; give it a hierarchy, or ask about ranges"
                )
            cells *= len(self[name].domain)
        if cells > MOST_CELLS:
            raise QuestionError(f"this table has {cells:,} cells, more than {MOST_CELLS:,}; ask for fewer attributes")
        return replace(question, value=None if value is None else value.name, by=by)

    def cells(self, question: Question) -> list[tuple[tuple[Category, ...], Question]]:
        """The single questions of a table, with the categories of each; without `by`, the question itself."""
        domains = [[(place, category) for place, category in enumerate(self[name].domain)] for name in question.by]
        found = []
        for combination in itertools.product(*domains):
            conditions = [
                Condition(name, CategorySet(frozenset([place]), len(self[name].domain)))
                for name, (place, _) in zip(question.by, combination, strict=True)
            ]
            single = replace(question, where=all_of([question.where, *conditions]), by=())
            found.append((tuple(category for _, category in combination), single))
        return found

    def condition(
        self, name: str, comparison: str, value: Any, *, level: int | None = None, not_: bool = False
    ) -> Formula:
        """One condition: `=`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `not in`, `between`, `is missing` or `is present`."""
        field = self[name]
        turned = not_ != (comparison in ("!=", "not in", "is present"))
        if comparison in ("is missing", "is present"):
            made = Condition(field.name, field.nothing, or_missing=True)
        elif comparison == "between":
            low, high = _pair(value)
            made = Condition(field.name, field.beside(">=", low) & field.beside("<=", high))  # type: ignore[operator]
        elif comparison in ("=", "!=", "in", "not in"):
            values = _listed(value) if comparison in ("in", "not in") else [_single(value)]
            chosen = field.among(values) if level is None else field.at_level(level, values)
            made = Condition(field.name, chosen)
        elif comparison in ("<", "<=", ">", ">="):
            made = Condition(field.name, field.beside(comparison, _single(value)))
        else:
            raise QuestionError(
                f"{brief(comparison)} is no comparison; there are =, !=, <, <=, >, >=, in, not in, "
                "between, is missing, is present"
            )
        if level is not None and comparison not in ("=", "!=", "in", "not in"):
            raise QuestionError("a level of a hierarchy is compared with = or in")
        return all_of([made.negated() if turned else made])

    def from_plain(self, plain: object) -> Question:
        """A question in its JSON form.

        `{"statistic": "mean", "value": "income", "by": ["sex"],
        "where": [{"attribute": "age", "is": ">=", "than": 90}]}`
        """
        if not isinstance(plain, Mapping):
            raise QuestionError("a question in JSON is an object with the entry statistic")
        unknown = set(plain) - {"statistic", "value", "by", "where"}
        if unknown:
            raise QuestionError(
                f"a question has no entry '{shortened(str(min(map(str, unknown))))}'; there are "
                "statistic, value, by, where"
            )
        statistic, value, by = plain.get("statistic"), plain.get("value"), plain.get("by", [])
        if statistic not in STATISTICS:
            raise QuestionError(f"a question asks for {', '.join(STATISTICS)}, not {brief(statistic)}")
        if value is not None and not isinstance(value, str):
            raise QuestionError("the entry value names an attribute")
        if not isinstance(by, list | tuple) or not all(isinstance(name, str) for name in by):
            raise QuestionError("the entry by is a list of attributes")
        where = plain.get("where", [])
        formula = self._formula({"all": where} if isinstance(where, list | tuple) else where)
        return self.checked(Question(statistic, value, formula, tuple(by)))

    def told(self, question: Question) -> str:
        """A question in the words of SQL, as an analyst reads it."""
        name = {"mean": "AVG"}.get(question.statistic, question.statistic.upper())
        where = "" if question.where == EVERYBODY else f" WHERE {self._told(question.where)}"
        by = f" GROUP BY {', '.join(question.by)}" if question.by else ""
        return f"{name}({'*' if question.value is None else question.value}){where}{by}"

    def _told(self, formula: Formula, *, inside: bool = False) -> str:
        if isinstance(formula, Condition):
            return self._told_condition(formula)
        if not formula.parts:
            return "TRUE" if isinstance(formula, AllOf) else "FALSE"
        joined = (" AND " if isinstance(formula, AllOf) else " OR ").join(
            self._told(part, inside=True) for part in formula.parts
        )
        return f"({joined})" if inside else joined

    def _told_condition(self, condition: Condition) -> str:
        name, values = condition.attribute, condition.values
        if values.is_everything:
            told = [f"{name} IS NOT NULL"]
        elif isinstance(values, CategorySet):
            chosen = [self[name].domain[place] for place in sorted(values.places)]
            quoted = [f"'{c}'" if isinstance(c, str) else node_text(c) for c in chosen]
            told = (
                [f"{name} = {quoted[0]}" if len(quoted) == 1 else f"{name} IN ({', '.join(quoted)})"] if quoted else []
            )
        else:
            told = [_told_span(name, span) for span in values.spans]
        told += [f"{name} IS NULL"] if condition.or_missing else []
        return told[0] if len(told) == 1 else f"({' OR '.join(told)})" if told else "FALSE"

    def to_plain(self, question: Question) -> dict[str, Any]:
        """The JSON form of a question, from which `from_plain` makes it again."""
        plain: dict[str, Any] = {"statistic": question.statistic, "where": self._plain_formula(question.where)}
        return (
            plain
            | ({} if question.value is None else {"value": question.value})
            | ({"by": list(question.by)} if question.by else {})
        )

    def _plain_formula(self, formula: Formula) -> dict[str, Any]:
        if not isinstance(formula, Condition):
            return {"all" if isinstance(formula, AllOf) else "any": list(map(self._plain_formula, formula.parts))}
        held = [self._plain_set(formula)] + (
            [{"attribute": formula.attribute, "is": "is missing"}] if formula.or_missing else []
        )
        return held[0] if len(held) == 1 else {"any": held}

    def _plain_set(self, condition: Condition) -> dict[str, Any]:
        name, values = condition.attribute, condition.values
        if values.is_everything:
            return {"attribute": name, "is": "is present"}
        if values.is_empty:
            return {"any": []}
        if isinstance(values, CategorySet):
            domain = self[name].domain
            return {"attribute": name, "is": "in", "than": [domain[place] for place in sorted(values.places)]}
        spans = []
        for span in values.spans:
            ends = [(">=" if span.with_low else ">", span.low), ("<=" if span.with_high else "<", span.high)]
            spans.append({"all": [{"attribute": name, "is": c, "than": e} for c, e in ends if math.isfinite(e)]})
        return {"any": spans}

    def _formula(self, plain: object, *, not_: bool = False, depth: int = 0) -> Formula:
        if not isinstance(plain, Mapping):
            raise QuestionError('a condition in JSON is an object such as {"attribute": "age", "is": ">=", "than": 90}')
        if depth > _DEEPEST:
            raise QuestionError("conditions are nested too deeply")
        if len(plain) == 1 and set(plain) <= {"all", "any", "not"}:
            ((kind, inside),) = plain.items()
            if kind == "not":
                return self._formula(inside, not_=not not_, depth=depth + 1)
            if not isinstance(inside, list | tuple) or len(inside) > _LONGEST:
                raise QuestionError(f"'{kind}' has a list of at most {_LONGEST:,} conditions")
            parts = [self._formula(part, not_=not_, depth=depth + 1) for part in inside]
            return all_of(parts) if (kind == "all") != not_ else any_of(parts)
        if set(plain) - {"attribute", "is", "than", "level"} or not isinstance(plain.get("attribute"), str):
            raise QuestionError("a condition has the entries attribute, is, than and level")
        level = plain.get("level")
        if level is not None and (isinstance(level, bool) or not isinstance(level, int)):
            raise QuestionError("a level is a whole number")
        return self.condition(plain["attribute"], str(plain.get("is", "=")), plain.get("than"), level=level, not_=not_)


def _told_span(name: str, span: Span) -> str:
    if span.low == span.high:
        return f"{name} = {span.low:.12g}"
    ends = [f"{name} {'>=' if span.with_low else '>'} {span.low:.12g}"] if span.low > -math.inf else []
    ends += [f"{name} {'<=' if span.with_high else '<'} {span.high:.12g}"] if span.high < math.inf else []
    return " AND ".join(ends)


def _single(value: object) -> Value:
    if not isinstance(value, str | int | float):
        raise QuestionError(f"a condition compares with a text or a number, not with {brief(value)}")
    return value


def _listed(value: object) -> list[Value]:
    if not isinstance(value, list | tuple) or not 0 < len(value) <= _LONGEST:
        raise QuestionError(f"'in' needs a list of 1 to {_LONGEST:,} values")
    return list(map(_single, value))


def _pair(value: object) -> tuple[Value, Value]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise QuestionError("'between' needs two values")
    return _single(value[0]), _single(value[1])
