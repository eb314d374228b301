"""How an intruder addresses a person, and any set of people, by the attributes that are known."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from microveil.numerics.counting.distinct_rows import number_rows
from microveil.queries.conditions import EVERYBODY, CategorySet, Condition, Formula, NumberSet, Span, all_of, any_of
from microveil.queries.red_team.intruder import Intruder, complement
from microveil.typing import BoolArray, FloatArray, IntArray

_MOST_CONDITIONS = 6  # that are split in all ways


def identifying(intruder: Intruder, target: int) -> list[Condition] | None:
    """Few conditions that together hold for the target alone; None where somebody else meets all that is known.

    Who has no register takes all that is known of the target; counts then tell whether it is enough.
    """
    knowledge = intruder.knowledge
    conditions = [intruder.condition(target, name) for name in knowledge.attributes]
    if knowledge.scope == "target":
        return conditions
    left, chosen = np.arange(knowledge.records), []
    held = {c.attribute: np.zeros(knowledge.records, dtype=bool) for c in conditions}
    for condition in conditions:
        held[condition.attribute][knowledge.members(condition)] = True
    while len(left) > 1 and conditions:
        best = min(conditions, key=lambda c: int(held[c.attribute][left].sum()))
        narrowed = left[held[best.attribute][left]]
        conditions.remove(best)
        if len(narrowed) < len(left):
            chosen.append(best)
            left = narrowed
    return chosen if len(left) == 1 else None


def splits(intruder: Intruder, target: int) -> Iterator[tuple[Formula, Formula]]:
    """Pairs of query sets that differ by the target alone and are large enough to be answered: C1, and C1 and not C2,
    where C1 and C2 identify the target. The smallest first where answers are noisy, else the largest."""
    if target not in intruder.pairs:
        intruder.pairs[target] = list(_split(intruder, target))
    yield from intruder.pairs[target]


def _split(intruder: Intruder, target: int) -> Iterator[tuple[Formula, Formula]]:
    found = identifying(intruder, target)
    if not found:
        return
    pairs = []
    conditions = [*found, *(c for c in _all_known(intruder, target) if c not in found)][:_MOST_CONDITIONS]
    for kept in (found, conditions):
        for size in range(1, len(kept)):
            for first in itertools.combinations(kept, size):
                c1 = all_of(first)
                c2 = all_of([c for c in kept if c not in first])
                pairs.append((c1, all_of([c1, complement(c2)])))
        if intruder.knowledge.scope == "register":
            sizes = [(intruder.size(c1) or 0, intruder.size(rest) or 0) for c1, rest in pairs]
            fits = [all(map(intruder.is_answerable, pair)) for pair in sizes]
            order = sorted(range(len(pairs)), key=lambda i: sizes[i] if not intruder.is_certain else (-sizes[i][0], 0))
            yield from (pairs[i] for i in order if fits[i])
        else:
            yield from pairs
        pairs = []


def _all_known(intruder: Intruder, target: int) -> list[Condition]:
    return [intruder.condition(target, name) for name in intruder.knowledge.attributes]


def differs_by_target(intruder: Intruder, larger: Formula, smaller: Formula) -> bool:
    """Whether two query sets differ by one record, as the register or counts tell."""
    sizes = intruder.size(larger), intruder.size(smaller)
    return sizes[0] is not None and sizes[1] is not None and sizes[0] - sizes[1] == 1


class Addresses:
    """Formulas for any set of people, from a register."""

    def __init__(self, intruder: Intruder) -> None:
        self.intruder = intruder
        self.unique = {name: _unique(intruder, name) for name in intruder.knowledge.attributes}
        self.one_by_one: dict[int, Formula | None] = {}

    @property
    def by_one_attribute(self) -> str:
        """The attribute that tells most people apart."""
        return max(self.unique, key=lambda name: int(self.unique[name].sum()))

    def formula(self, records: Sequence[int]) -> Formula | None:
        """A formula that holds for these people alone; a list of values of one attribute where that is enough."""
        chosen = list(records)
        for name, unique in self.unique.items():
            if unique[chosen].all():
                return self._listed(name, chosen)
        if self.intruder.facts.only_conjunctions:
            return None
        parts = [self._single(record) for record in chosen]
        return None if None in parts else any_of(part for part in parts if part is not None)

    def _listed(self, name: str, records: list[int]) -> Formula:
        values = self.intruder.knowledge.columns[name][records]
        field = self.intruder.facts.fields[name]
        if field.is_numeric:
            return Condition(name, NumberSet.points(map(float, values)))
        return Condition(name, CategorySet(frozenset(map(int, values)), len(field.domain)))

    def _single(self, record: int) -> Formula | None:
        if record not in self.one_by_one:
            conditions = identifying(self.intruder, record)
            self.one_by_one[record] = None if conditions is None else all_of(conditions)
        return self.one_by_one[record]

    def addressable(self, limit: int, first: Sequence[int] = ()) -> list[int]:
        """At most so many people who can be addressed one by one: those given, then others in the order of the
        register."""
        name = self.by_one_attribute
        listed = np.flatnonzero(self.unique[name]) if self.intruder.facts.only_conjunctions else _singled_out(self)
        allowed = set(listed.tolist())
        chosen = [record for record in first if record in allowed]
        others = (record for record in listed.tolist() if record not in set(chosen))
        return [*chosen, *itertools.islice(others, max(limit - len(chosen), 0))][:limit]


def _unique(intruder: Intruder, name: str) -> BoolArray:
    """The people whose value of an attribute nobody else has."""
    column = intruder.knowledge.columns[name]
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    present = ~np.isnan(column) if column.dtype.kind == "f" else column >= 0
    return np.asarray((counts[np.ravel(place)] == 1) & present)


def _singled_out(addresses: Addresses) -> IntArray:
    return singled_out(addresses.intruder.knowledge.columns, addresses.intruder.knowledge.attributes)


def singled_out(columns: Mapping[str, FloatArray | IntArray], attributes: Sequence[str]) -> IntArray:
    """The people whose combination of attributes nobody else has."""
    codes = [np.ravel(np.unique(columns[name], return_inverse=True)[1]).astype(np.int64) for name in attributes]
    cells, first = number_rows(codes)
    return np.flatnonzero(np.bincount(cells, minlength=len(first))[cells] == 1)


def halves(intruder: Intruder, *, most: int) -> Iterator[Formula]:
    """Conditions that hold for about half of the people, each unlike those before: some categories of an attribute, or
    the numbers above a limit."""
    rng, names = intruder.rng, intruder.knowledge.attributes
    seen: set[str] = set()
    for _ in range(20 * most):
        name = names[int(rng.integers(len(names)))]
        field = intruder.facts.fields[name]
        if field.is_numeric:
            column = np.asarray(intruder.knowledge.columns[name], dtype=float)
            cut = float(rng.choice(column[~np.isnan(column)]))
            found: Formula = Condition(name, NumberSet.of(Span(cut, float("inf"), with_high=False)))
        else:
            chosen = frozenset(np.flatnonzero(rng.random(len(field.domain)) < 0.5).tolist())
            found = Condition(name, CategorySet(chosen, len(field.domain)))
        if rng.random() < 0.5 and len(names) > 1:
            other = names[int(rng.integers(len(names)))]
            found = all_of([found, _random_categories(intruder, other)])
        if str(found) not in seen and found != EVERYBODY:
            seen.add(str(found))
            yield found
        if len(seen) >= most:
            return


def _random_categories(intruder: Intruder, name: str) -> Formula:
    field = intruder.facts.fields[name]
    if field.is_numeric:
        return EVERYBODY
    chosen = frozenset(np.flatnonzero(intruder.rng.random(len(field.domain)) < 0.7).tolist())
    return Condition(name, CategorySet(chosen, len(field.domain)), or_missing=True)
