"""The ways in which the released records of each class can belong to the persons in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import comb, factorial, prod

import numpy as np

from microveil.attacks.found_classes import FoundClasses
from microveil.comparison.pairs import Pair
from microveil.microdata import Microdata
from microveil.microdata.microdata import encoded
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.randomness import PublicStreams
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Assigned:
    """Which released record each person is taken to have, what its empty cells are taken to hold, and how probable
    that is beside other assignments. `filled` has for each attribute the record whose value each record takes."""

    record: IntArray
    filled: Mapping[str, IntArray]
    weight: float


@dataclass(frozen=True)
class Assignments:
    """All ways to give the records of each class to the persons in it.

    Persons of a class with equal keys are `alike`, and records of a class with equal values too: only how many of which
    go to whom makes a difference. `empty` are the cells that were suppressed, by attribute, and what may be in them.
    """

    classes: FoundClasses
    alike: IntArray
    same: IntArray
    empty: tuple[tuple[str, int], ...]
    candidates: Mapping[str, tuple[IntArray, FloatArray]]

    @classmethod
    def of(
        cls, pair: Pair, known: tuple[str, ...], classes: FoundClasses, moving: Sequence[str], emptied: Sequence[str]
    ) -> Assignments:
        keys = [_codes(pair.original, name) for name in known]
        cells = [_codes(pair.masked, name) for name in moving]
        of_record = np.empty(len(pair), dtype=np.int64)
        of_record[classes.record] = classes.member_of
        alike, _ = number_rows([classes.of_person, *keys])
        same, _ = number_rows([of_record, *cells])
        empty, candidates = [], {}
        for name in emptied:
            gone = np.flatnonzero(pair.masked.missing_states(name) > 0)
            kept = np.flatnonzero(pair.masked.missing_states(name) == 0)
            codes = _codes(pair.masked, name)[kept]
            _, first, often = np.unique(codes, return_index=True, return_counts=True)
            if len(gone) and len(kept):
                empty += [(name, int(record)) for record in gone]
                candidates[name] = (kept[first], often / often.sum())
        return cls(classes, alike, same, tuple(empty), candidates)

    @cached_property
    def _groups(self) -> list[tuple[list[IntArray], list[IntArray]]]:
        """For each class that has persons: those who are alike, and the records that are the same."""
        of_record = np.empty(len(self.alike), dtype=np.int64)
        of_record[self.classes.record] = self.classes.member_of
        found = []
        for number in np.unique(self.classes.of_person):
            persons, records = np.flatnonzero(self.classes.of_person == number), np.flatnonzero(of_record == number)
            found.append((_split(persons, self.alike), _split(records, self.same)))
        return found

    @property
    def number(self) -> float:
        """At most so many have to be tried."""
        fillings = prod(float(len(self.candidates[name][0])) for name, _ in self.empty)
        total = fillings
        for number in np.unique(self.classes.of_person):
            persons = np.unique(self.alike[self.classes.of_person == number], return_counts=True)[1]
            if len(persons) == 1:
                continue
            of_record = self.classes.record[self.classes.member_of == number]
            kinds = len(np.unique(self.same[of_record]))
            # each group of persons but the last takes some of each kind of record
            total *= prod(float(comb(int(size) + kinds - 1, kinds - 1)) for size in np.sort(persons)[:-1])
            if total > 1e12:
                break
        return total

    def every(self) -> Iterator[Assigned]:
        tables = [
            list(_divided([len(p) for p in persons], [len(r) for r in records])) for persons, records in self._groups
        ]
        names = [name for name, _ in self.empty]
        for picks in product(*(range(len(self.candidates[name][0])) for name in names)):
            filled = {name: np.arange(len(self.alike)) for name in self.candidates}
            weight = 1.0
            for (name, record), pick in zip(self.empty, picks, strict=True):
                source, shares = self.candidates[name]
                filled[name][record] = source[pick]
                weight *= float(shares[pick])
            for chosen in product(*tables):
                given_to = np.empty(len(self.alike), dtype=np.int64)
                ways = 1
                for (persons, records), table in zip(self._groups, chosen, strict=True):
                    ways *= _ways(table)
                    left = [list(some) for some in records]
                    for group, row in zip(persons, table, strict=True):
                        given = [left[kind].pop() for kind, many in enumerate(row) for _ in range(many)]
                        given_to[group] = given
                yield Assigned(given_to, filled, weight * ways)

    def drawn(self, samples: int, order: IntArray, seed: int) -> Iterator[Assigned]:
        """Assignments drawn at random, the same in any order of the file."""
        rng = PublicStreams(seed).generator("minimality", "assignments")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        of_record = np.empty(len(order), dtype=np.int64)
        of_record[self.classes.record] = self.classes.member_of
        persons = np.lexsort((place, self.classes.of_person))
        for _ in range(samples):
            records = np.lexsort((rng.random(len(order))[place], of_record))
            record = np.empty(len(order), dtype=np.int64)
            record[persons] = records
            filled = {name: np.arange(len(order)) for name in self.candidates}
            for name, cell in sorted(self.empty, key=lambda one: (one[0], place[one[1]])):
                source, shares = self.candidates[name]
                filled[name][cell] = rng.choice(source, p=shares)
            yield Assigned(record, filled, 1.0)


def _codes(table: Microdata, name: str) -> IntArray:
    return encoded(table.arrow(name))[1]


def _split(members: IntArray, numbers: IntArray) -> list[IntArray]:
    """The members by their number."""
    ordered = members[np.argsort(numbers[members], kind="stable")]
    return np.split(ordered, np.flatnonzero(np.diff(numbers[ordered])) + 1)


def _divided(groups: list[int], kinds: list[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All tables of how many records of each kind go to each group, with these margins.

    >>> list(_divided([1, 1], [1, 1]))
    [((0, 1), (1, 0)), ((1, 0), (0, 1))]
    """
    if len(groups) == 1:
        yield (tuple(kinds),)
        return
    for row in _taken(groups[0], kinds):
        left = [have - taken for have, taken in zip(kinds, row, strict=True)]
        for rest in _divided(groups[1:], left):
            yield (row, *rest)


def _taken(number: int, kinds: list[int]) -> Iterator[tuple[int, ...]]:
    """All ways to take so many records of these kinds."""
    if len(kinds) == 1:
        if number <= kinds[0]:
            yield (number,)
        return
    for first in range(min(number, kinds[0]) + 1):
        for rest in _taken(number - first, kinds[1:]):
            yield (first, *rest)


def _ways(table: tuple[tuple[int, ...], ...]) -> int:
    """In how many ways single persons can have what a table says of groups."""
    return prod(factorial(sum(row)) // prod(factorial(many) for many in row) for row in table)
