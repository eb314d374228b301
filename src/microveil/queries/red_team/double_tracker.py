"""The double tracker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from microveil.parameters import parameterised
from microveil.queries.conditions import CategorySet, Condition, Formula, NumberSet, Span, all_of, any_of
from microveil.queries.red_team.intruder import Intruder, complement
from microveil.queries.red_team.readings import Reading
from microveil.queries.red_team.trackers import TrackerAttack


@parameterised
class DoubleTracker(TrackerAttack):
    """Two trackers, T within U, with s to N - 2s and 2s to N - s records, answer about a small set C:
    q(C) = q(U) + q(C or T) - q(T) - q(U and not (C and T)); with not C for C it answers about large ones.

    Two questions once, and two for each target. It works for limits s up to a third of the records, where a general
    tracker needs a quarter.
    """

    name: ClassVar[str] = "double-tracker"
    family: ClassVar[str] = "difference"
    summary: ClassVar[str] = "pads query sets with two nested trackers, against larger limits"
    source: ClassVar[str] = "Denning, Denning and Schwartz (1979)"

    tried: ClassVar[int] = 6

    def readings(self, intruder: Intruder, target: int, conditions: Sequence[Condition]) -> Iterator[Reading | None]:
        wanted = all_of(conditions)
        return (of_small_set(intruder, wanted, *pair) for pair in nested_trackers(intruder, target))

    @staticmethod
    def of_large_set(intruder: Intruder, wanted: Formula, inner: Formula, outer: Formula) -> Reading | None:
        """The sum over a set that is too large."""
        others = complement(wanted)
        rest = all_of([outer, complement(all_of([others, inner]))])
        return _combined(intruder, plus=(complement(outer), inner, rest), minus=(any_of([others, inner]),))


def of_small_set(intruder: Intruder, wanted: Formula, inner: Formula, outer: Formula) -> Reading | None:
    """The sum over a set that is too small to be asked about."""
    rest = all_of([outer, complement(all_of([wanted, inner]))])
    return _combined(intruder, plus=(outer, any_of([wanted, inner])), minus=(inner, rest))


def _combined(intruder: Intruder, plus: tuple[Formula, ...], minus: tuple[Formula, ...]) -> Reading | None:
    total = Reading(0.0, 0.0, 0.0)
    for sign, formulas in ((1.0, plus), (-1.0, minus)):
        for formula in formulas:
            found = intruder.total(formula)
            if found is None:
                return None
            total = total + found.times(sign)
    return total


def nested_trackers(intruder: Intruder, target: int) -> Iterator[tuple[Formula, Formula]]:
    """T, and U that has it inside, on one attribute each: the target's own category, joined with others."""
    smallest, records = intruder.facts.smallest_set, intruder.facts.records
    for name in intruder.knowledge.attributes:
        own = intruder.condition(target, name)
        for inner, outer in _chain(intruder, name, own):
            small, large = intruder.size(inner), intruder.size(outer)
            if small is None or large is None:
                continue
            if smallest <= small <= records - 2 * smallest and 2 * smallest <= large <= records - smallest:
                yield inner, outer
                break


def _chain(intruder: Intruder, name: str, own: Condition) -> Iterator[tuple[Formula, Formula]]:
    """Growing conditions around the target's value, each with the next larger one that could go around it."""
    field = intruder.facts.fields[name]
    steps: list[Formula] = [own]
    if field.is_numeric:
        at = own.values.spans[0].low if isinstance(own.values, NumberSet) and own.values.spans else 0.0
        widths = (2.0**power for power in range(-2, 40))
        steps += [Condition(name, NumberSet.of(Span(at - w, at + w)), or_missing=own.or_missing) for w in widths]
    else:
        assert isinstance(own.values, CategorySet)
        chosen = set(own.values.places)
        for place in range(len(field.domain)):
            if place not in chosen:
                chosen.add(place)
                found = CategorySet(frozenset(chosen), len(field.domain))
                steps.append(Condition(name, found, or_missing=own.or_missing))
    for first in range(len(steps)):
        for second in range(first + 1, len(steps)):
            yield steps[first], steps[second]
