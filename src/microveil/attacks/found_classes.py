"""The classes of released records in which an intruder looks for persons, and the confidential values that are in them.

A k-anonymous release shows for every person a class of records, one of which is theirs. Attacks on such releases begin
here: who is looked for in which class, and how often each value occurs in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from microveil.attacks.base import Attack
from microveil.attacks.confidential import ConfidentialAttack, Target, known_tables
from microveil.comparison.pairs import Pair
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

PARTS = "how many classes a numeric attribute is divided into"
_TIED = 1e-9  # probabilities that differ by less are equal


class ClassAttack(ConfidentialAttack):
    """An attack on releases in which some records have the same keys."""

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        return super().suited(pair) if in_some_class(cls.seen(pair)) else ()

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        told = super().why_not(pair)
        applies = bool(cls.sought(pair)) and not in_some_class(cls.seen(pair))
        return "no two released records have the same keys" if applies else told


@dataclass(frozen=True)
class FoundClasses:
    """Which class of released records each person is looked for in, and the records of each class.

    `of_person` is the class of each person; `member_of` and `record` are pairs of a class and a released record in it.
    Classes may overlap where cells are empty, since an empty cell could be any value.
    """

    of_person: IntArray
    member_of: IntArray
    record: IntArray

    @classmethod
    def of_groups(cls, labels: IntArray) -> FoundClasses:
        """Groups of records, where persons are looked for in the group of their own record."""
        return cls(labels, labels, np.arange(len(labels)))

    @cached_property
    def number(self) -> int:
        return int(max(self.of_person.max(initial=-1), self.member_of.max(initial=-1))) + 1

    @cached_property
    def sizes(self) -> IntArray:
        """How many records each class has."""
        return np.bincount(self.member_of, minlength=self.number).astype(np.int64)

    @cached_property
    def closed(self) -> BoolArray:
        """Which classes have as many records as persons are looked for in them, all of them in no other class: then
        every record belongs to one of these persons."""
        persons = np.bincount(self.of_person, minlength=self.number)
        often = np.bincount(self.record)[self.record] > 1
        shared = np.bincount(self.member_of, weights=often, minlength=self.number) > 0
        return np.asarray((persons == self.sizes) & ~shared)

    def values(self, codes: IntArray) -> ClassValues:
        """How often each code occurs in each class."""
        size = int(codes.max(initial=0)) + 1
        key, counts = np.unique(self.member_of * size + codes[self.record], return_counts=True)
        return ClassValues(self, key // size, key % size, counts.astype(np.int64))


@dataclass(frozen=True)
class ClassValues:
    """How often each value occurs in each class: `count` of `value` in the class `of`, by class."""

    classes: FoundClasses
    of: IntArray
    value: IntArray
    count: IntArray

    @cached_property
    def distinct(self) -> IntArray:
        """How many different values each class has."""
        return np.bincount(self.of, minlength=self.classes.number).astype(np.int64)

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """Every person with every value that occurs in their class, by person: the person, and which of the counts."""
        of_person = self.classes.of_person
        many = self.distinct[of_person]
        starts = (np.cumsum(self.distinct) - self.distinct)[of_person]
        positions = np.repeat(starts - (np.cumsum(many) - many), many) + np.arange(many.sum())
        return np.repeat(np.arange(len(of_person)), many), positions

    @cached_property
    def shares(self) -> FloatArray:
        """For each of the pairs, the share of the class that has the value."""
        _, entry = self.pairs
        return np.asarray(self.count[entry] / self.classes.sizes[self.of[entry]])

    def beliefs(self, chances: FloatArray | None = None) -> Beliefs:
        """How probable each value is for each person: as these chances of the pairs say, else by the shares."""
        person, entry = self.pairs
        return Beliefs(person, self.value[entry], self.shares if chances is None else chances)


@dataclass(frozen=True)
class Beliefs:
    """How probable an intruder holds each value to be for each person: `chance` of `value` for `person`."""

    person: IntArray
    value: IntArray
    chance: FloatArray

    def of(self, wanted: IntArray) -> FloatArray:
        """For each person the chance of the value wanted; 0 where it is ruled out."""
        own = self.value == wanted[self.person]
        return np.bincount(self.person[own], weights=self.chance[own], minlength=len(wanted)).astype(np.float64)

    def right(self, wanted: IntArray, nothing: int) -> FloatArray:
        """For each person the chance that the most probable value is the one wanted, where equally probable ones are
        drawn from; the code `nothing` is no value that could be named."""
        chance = np.where(self.value == nothing, -1.0, self.chance)
        highest = np.full(len(wanted), -1.0)
        np.maximum.at(highest, self.person, chance)
        best = (chance >= highest[self.person] - _TIED) & (chance >= 0.0)
        ties = np.bincount(self.person[best], minlength=len(wanted))
        hit = best & (self.value == wanted[self.person])
        found = np.bincount(self.person[hit], minlength=len(wanted))
        return np.asarray(found / np.maximum(ties, 1))

    def highest(self, nothing: int) -> float:
        """The greatest chance that any value of any person has."""
        return float(self.chance[self.value != nothing].max(initial=0.0))


def classes_of(pair: Pair, known: tuple[str, ...], progress: Progress, label: str) -> FoundClasses:
    """The classes in which persons are looked for by the true values of these attributes.

    They are the groups that the release was made with, where these are known: whoever knows the keys of everybody and
    how the release was made can form them, and within them tells records apart by known attributes that were not
    masked, or as labels. Else they are the released records nearest to what is known, with all that are equally near.
    """
    made = made_groups(pair, known)
    if made is not None and pair.release is not None:
        grouped = {name for block in pair.release.partitions for name in block}
        masked = pair.release.provenance.attributes
        plain = [n for n in known if n not in grouped and (n not in masked or n in pair.recoded)]
        return FoundClasses.of_groups(number_rows([made, *(codes + 1 for codes in _released_codes(pair, plain))])[0])
    from microveil.numerics.neighbours.nearest_sets import nearest_rows

    found = nearest_rows(*known_tables(pair, known), np.arange(len(pair)), progress, label)
    return of_row_sets(found.query, found.row, found.row_of, len(pair))


def of_row_sets(query: IntArray, row: IntArray, row_of: IntArray, persons: int) -> FoundClasses:
    """Classes that are unions of rows of equal records, one for each different union; `query` is in order."""
    many = np.bincount(query, minlength=persons)
    starts = np.cumsum(many) - many
    number: dict[bytes, int] = {}
    of_person = np.empty(persons, dtype=np.int64)
    unions: list[IntArray] = []
    for person, (start, length) in enumerate(zip(starts.tolist(), many.tolist(), strict=True)):
        union = row[start : start + length]
        if length > 1:
            union = np.sort(union)
        at = number.setdefault(union.tobytes(), len(unions))
        if at == len(unions):
            unions.append(union)
        of_person[person] = at
    order, sizes = np.argsort(row_of, kind="stable"), np.bincount(row_of)
    first = np.cumsum(sizes) - sizes
    lengths = np.array([len(union) for union in unions], dtype=np.int64)
    rows = np.concatenate(unions)
    held = sizes[rows]
    positions = np.repeat(first[rows] - (np.cumsum(held) - held), held) + np.arange(held.sum())
    return FoundClasses(of_person, np.repeat(np.repeat(np.arange(len(unions)), lengths), held), order[positions])


def in_some_class(pair: Pair) -> bool:
    """Whether the release has classes: on the whole at least two records for every combination of released keys."""
    if made_groups(pair, pair.attributes) is not None:
        return True
    confidential = pair.original.schema.confidential
    known = [name for name in pair.attributes if name in pair.masked.names and name not in confidential]
    codes = _released_codes(pair, known)
    return bool(known) and 2 * len(number_rows([column + 1 for column in codes])[1]) <= len(pair)


def equal_values(pair: Pair, known: Sequence[str]) -> IntArray:
    """Which records have equal released values of these attributes."""
    if not known:
        return np.zeros(len(pair), dtype=np.int64)
    return number_rows([column + 1 for column in _released_codes(pair, known)])[0]


def _released_codes(pair: Pair, names: Sequence[str]) -> list[IntArray]:
    """The released values of attributes as codes, labels as they are; -1 for a wildcard."""
    from microveil.comparison.columns import label_codes
    from microveil.microdata.equivalence_classes import key_codes

    return [label_codes(pair, n).released if n in pair.recoded else key_codes(pair.masked, n) for n in names]


def made_groups(pair: Pair, attributes: Sequence[str]) -> IntArray | None:
    """Which records share all the groups that known attributes were masked in; none if nothing is known of any."""
    partitions = {} if pair.release is None else pair.release.partitions
    labels = [
        p.labels for block, p in partitions.items() if set(block) & set(attributes) and len(p.labels) == len(pair)
    ]
    return number_rows(labels)[0] if labels else None


def in_parts(target: Target, number: int) -> Target:
    """The target with each number replaced by which of so many equal parts of the released values it lies in."""
    if target.kind != "numeric":
        return target
    released = target.after[~np.isnan(target.after)]
    cuts = np.quantile(released, np.arange(1, number) / number) if len(released) else np.empty(0)
    before, after = (
        np.where(np.isnan(side), np.nan, np.searchsorted(cuts, side, side="right"))
        for side in (target.before, target.after)
    )
    return replace(target, before=before, after=after)


def common_value_codes(target: Target) -> tuple[IntArray, IntArray, int]:
    """The true and the released values numbered alike, and the number for a missing value."""
    both = np.concatenate([target.before, target.after])
    values = np.unique(both[~np.isnan(both)])
    before, after = (
        np.where(np.isnan(side), len(values), np.searchsorted(values, side)).astype(np.int64)
        for side in (target.before, target.after)
    )
    return before, after, len(values)
