"""The general tracker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from microveil.parameters import parameterised
from microveil.queries.conditions import CategorySet, Condition, Formula, NumberSet, Span, all_of, any_of
from microveil.queries.red_team.intruder import Intruder, complement
from microveil.queries.red_team.readings import Reading
from microveil.queries.red_team.trackers import TrackerAttack


@parameterised
class GeneralTracker(TrackerAttack):
    """A tracker T with 2s to N - 2s records, where query sets have s to N - s, answers about any set C: with
    Q = q(T) + q(not T), q(C) = q(C or T) + q(C or not T) - Q for a small C, and 2 Q - q(not C or T) - q(not C or not T)
    for a large one.

    Two questions once, and two for each target.
    """

    name: ClassVar[str] = "general-tracker"
    family: ClassVar[str] = "difference"
    summary: ClassVar[str] = "pads query sets with one tracker that works for everybody"
    source: ClassVar[str] = "Denning, Denning and Schwartz (1979)"

    tried: ClassVar[int] = 8

    def readings(self, intruder: Intruder, target: int, conditions: Sequence[Condition]) -> Iterator[Reading | None]:
        wanted, used = all_of(conditions), {condition.attribute for condition in conditions}
        return (of_small_set(intruder, wanted, tracker) for tracker in trackers(intruder, used))

    @staticmethod
    def of_large_set(intruder: Intruder, wanted: Formula, tracker: Formula) -> Reading | None:
        """The sum over a set that is too large."""
        everybody, others = _everybody(intruder, tracker), complement(wanted)
        first = intruder.total(any_of([others, tracker]))
        second = intruder.total(any_of([others, complement(tracker)]))
        return None if everybody is None or first is None or second is None else everybody.times(2.0) - first - second


def of_small_set(intruder: Intruder, wanted: Formula, tracker: Formula) -> Reading | None:
    """The sum over a set that is too small to be asked about."""
    everybody = _everybody(intruder, tracker)
    if everybody is None:
        return None
    first = intruder.total(any_of([wanted, tracker]))
    second = intruder.total(any_of([wanted, complement(tracker)])) if first is not None else None
    return None if first is None or second is None else first + second - everybody


def _everybody(intruder: Intruder, tracker: Formula) -> Reading | None:
    inside = intruder.total(tracker)
    outside = intruder.total(complement(tracker)) if inside is not None else None
    return None if inside is None or outside is None else inside + outside


def trackers(intruder: Intruder, avoided: set[str]) -> Iterator[Formula]:
    """Conditions on one attribute that hold for 2s to N - 2s records, those nearest to half of them first, and those on
    attributes that are not avoided before others."""
    smallest, records = intruder.facts.smallest_set, intruder.facts.records
    found: list[tuple[bool, float, int, Formula]] = []
    for name in intruder.knowledge.attributes:
        for condition in _simple(intruder, name):
            size = intruder.size(condition)
            if size is not None and 2 * smallest <= size <= records - 2 * smallest:
                found.append((name in avoided, abs(size - records / 2), len(found), condition))
    yield from (condition for *_, condition in sorted(found, key=lambda entry: entry[:3]))


def _simple(intruder: Intruder, name: str) -> Iterator[Condition]:
    field = intruder.facts.fields[name]
    if not field.is_numeric:
        # the last category first: of two, it is the one that sorts behind
        for place in reversed(range(len(field.domain))):
            yield Condition(name, CategorySet(frozenset([place]), len(field.domain)))
        return
    values = np.asarray(intruder.knowledge.columns[name], dtype=float)[list(intruder.knowledge.targets)]
    if intruder.knowledge.scope == "register":
        values = np.asarray(intruder.knowledge.columns[name], dtype=float)
    if not np.isnan(values).all():
        yield Condition(name, NumberSet.of(Span(float(np.nanmedian(values)), np.inf, with_high=False)))
