"""The composition attack: the confidential values that a person can have are intersected over several releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from microveil.attacks.base import Risk
from microveil.attacks.confidential import CONFIDENTIAL, Target, mean_over, percent
from microveil.attacks.found_classes import ClassAttack, FoundClasses, classes_of, of_row_sets
from microveil.attacks.taxonomy import Disclosure
from microveil.comparison.columns import Columns
from microveil.comparison.common_codes import common_codes
from microveil.comparison.label_detection import holds_labels, readable_labels, texts_of
from microveil.comparison.labels import labels_of
from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.masking.release import Release
from microveil.microdata import Microdata
from microveil.microdata.hierarchy import node_text
from microveil.microdata.microdata import HasMicrodata, as_microdata, encoded
from microveil.microdata.schema import KINDS
from microveil.numerics.counting.distinct_rows import number_rows, number_values
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts, silent
from microveil.typing import BoolArray, FloatArray, IntArray

_CELLS = 1 << 22  # distances held at a time
_ROUNDING = 1e-12


@parameterised
class Composition(ClassAttack):
    """The intruder has several releases that hold a person, each made without regard to the others. In each they find
    the class that the person is in, and the person's confidential value is one that occurs in all these classes. The
    risk is the share of persons for whom a single value is left, and it is the true one.

    By itself the attack takes a single release: then a value is disclosed where all records of the class have it.
    `attack_versions` takes several releases of one table and releases of other tables that have some of the same
    persons (`microveil assess --also` and `--other`). In a release of another table a person is found by the known
    attributes alone: the records whose labels hold the true values, and with the nearest numbers. Where no record fits,
    the person is taken not to be in it.

    A class with a suppressed confidential value rules nothing out. Numbers are the same only if they are equal. The
    counters, in per cent: `chance`, the chance of drawing the true value from those left; `alone` and `chance alone`,
    the same two by the best of the single releases; `gain`, what the others add, (risk - alone) / (100 - alone);
    `misled`, persons with one value left that is not theirs; `empty`, those with none left, so that they are not in all
    releases or their values were changed.

    >>> from microveil.attacks.versions import attack_versions
    >>> from microveil.microdata import Microdata
    >>> cells = {"age": [21, 24, 33, 38], "sex": ["f", "m", "m", "f"], "ill": ["flu", "gout", "cold", "asthma"]}
    >>> people = Microdata.of(cells, keys=["age", "sex"], confidential=["ill"])
    >>> one = Microdata.of({**cells, "age": ["[20, 30)"] * 2 + ["[30, 40)"] * 2, "sex": ["*"] * 4})
    >>> two = Microdata.of({**cells, "age": ["*"] * 4})
    >>> found = attack_versions(people, [one, two], attack=Composition())
    >>> [risk.value for risk in found.alone], found.together.value, found.together.counters["chance alone"]
    ([0.0, 0.0], 100.0, 50.0)
    """

    name: ClassVar[str] = "composition"
    family: ClassVar[str] = "inference"
    disclosure: ClassVar[Disclosure] = Disclosure("attribute", "prediction", "deterministic", "exact")
    summary: ClassVar[str] = "intersects the confidential values of a person's classes over several releases"
    meaning: ClassVar[str] = (
        "persons for whom the classes of all releases leave one confidential value, the true one; lower is safer"
    )
    assumes: ClassVar[str] = (
        "the true values of some attributes of everyone, who is in which release, and so the classes of a person"
    )
    formula: ClassVar[str] = "share of i with { z_i } = intersection over releases r of { z'_l : l in class C_r(i) }"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "records without a true confidential value are not attacked; an empty key could be any value; a class with an "
        "empty confidential cell rules no value out"
    )
    source: ClassVar[str] = "Ganta, Kasiviswanathan and Smith (2008), intersection attack, section 3"

    confidential: tuple[str, ...] | None = parameter(default=None, help=CONFIDENTIAL, min_length=1)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        return self._intersected(pair, attributes, [_OfTable(pair)], progress)

    def assess_together(
        self, pairs: Sequence[Pair], others: Sequence[Other] = (), progress: Progress = silent
    ) -> tuple[list[Risk], Risk]:
        """The risk of each release by itself, and that of an intruder who has all of them.

        All pairs have the same persons; `others` are releases of other tables.
        """
        first = self.seen(pairs[0])
        attributes = first.of_kinds(self.kinds)
        seen: list[_OfTable | _OfOther] = [_OfTable(self.seen(pair)) for pair in pairs]
        seen += [_OfOther(first.original, other, attributes) for other in others]
        *single, whole = parts(progress, len(seen) + 1)
        alone = [self._intersected(first, attributes, [one], part) for one, part in zip(seen, single, strict=True)]
        together = self._intersected(first, attributes, seen, whole)
        best = max(alone, key=lambda risk: risk.value)
        chance = max(risk.counters["chance"] for risk in alone)
        gain = 100 * max(0.0, (together.value - best.value) / (100 - best.value)) if best.value < 100 else 0.0
        counters = {**together.counters, "alone": best.value, "chance alone": chance, "gain": gain}
        return alone, replace(together, counters=counters)

    def _intersected(
        self, pair: Pair, attributes: tuple[str, ...], seen: Sequence[_OfTable | _OfOther], progress: Progress
    ) -> Risk:
        targets = self.targets(pair, attributes)
        disclosed, shares = {}, dict[str, list[FloatArray]]()
        for target, part in zip(targets, parts(progress, len(targets)), strict=True):
            left = _left(pair.original, target, seen, part, f"{self.name}: finding classes")
            attacked = target.attacked & left.present
            found = {
                "risk": left.own & (left.number == 1),
                "chance": np.where(left.own, 1.0 / np.maximum(left.number, 1), 0.0),
                "misled": ~left.own & (left.number == 1),
                "empty": left.number == 0,
            }
            told = {name: np.where(attacked, share, np.nan) for name, share in found.items()}
            disclosed[target.name] = told.pop("risk")
            for name, share in told.items():
                shares.setdefault(name, []).append(share)
        known = ", ".join(attributes)
        several = (
            f"An intruder knows the true values of {known} for a person who is in {len(seen)} releases, finds the "
            f"person's class in each, and keeps the values of {', '.join(disclosed)} that occur in all of these."
        )
        single = (
            f"An intruder knows the true values of {known} for a person, finds the person's class in the only release "
            f"there is, and looks whether all its records have the same {' or '.join(disclosed)}."
        )
        return Risk.of(
            self.name,
            mean_over(list(disclosed.values())),
            attributes,
            several if len(seen) > 1 else single,
            counters={name: percent(mean_over(share)) for name, share in shares.items()},
            per_attribute={name: percent(one) for name, one in disclosed.items()},
        )


@dataclass(frozen=True)
class Other:
    """A release of another table that may have some of the same persons.

    `position` says which of its records is each person's, -1 for those who are not in it; where nobody knows, persons
    are looked for by what is known of them.
    """

    release: Any
    position: IntArray | None = None

    @classmethod
    def of(cls, original: Any, release: Any, match_by: str | None = None) -> Other:
        """With an identifier that both tables have, the persons that are in both are known."""
        table, before = as_microdata(release), as_microdata(original)
        if match_by is None or match_by not in table.names or match_by not in before.names:
            return cls(release)
        persons, records = common_codes(before.arrow(match_by), table.arrow(match_by))
        size = int(max(persons.max(initial=-1), records.max(initial=-1))) + 1
        if len(np.unique(records[records >= 0])) < int((records >= 0).sum()):
            raise DataError(f"column '{match_by}' does not identify the records of the other release")
        at = np.full(size + 1, -1, dtype=np.int64)
        at[records[records >= 0]] = np.flatnonzero(records >= 0)
        return cls(release, np.where(persons >= 0, at[persons], -1))


@dataclass(frozen=True)
class _Found:
    """The classes of persons in a release: whom the release is known to have, and whose class was found in it."""

    classes: FoundClasses
    present: BoolArray
    found: BoolArray


class _OfTable:
    """A release of the table itself."""

    def __init__(self, pair: Pair) -> None:
        self.pair, self.table = pair, pair.masked

    def has(self, name: str) -> bool:
        return name in self.table.names and name not in self.pair.recoded

    def find(self, known: tuple[str, ...], progress: Progress, label: str) -> _Found:
        everyone = np.ones(len(self.pair), dtype=np.bool_)
        return _Found(classes_of(self.pair, known, progress, label), everyone, everyone)


class _OfOther:
    """A release of another table."""

    def __init__(self, original: Microdata, other: Other, attributes: tuple[str, ...]) -> None:
        table = as_microdata(other.release)
        if not len(table):
            raise DataError("a release of another table has no records, so there is nothing to intersect with")
        shared = tuple(name for name in attributes if name in table.names)
        if not shared:
            raise DataError("a release of another table has none of the known attributes, so nobody is found in it")
        self.original, self.other = original, other
        self.pair = _beside_other(original, other.release, shared)
        self.table = self.pair.masked.take(np.arange(len(table)))

    def has(self, name: str) -> bool:
        """Whether it has the values of an attribute; of other persons it may have others."""
        if name not in self.table.names:
            return False
        before, after = (data.arrow(name) for data in (self.original, self.table))
        if self.original[name].kind == "numeric":
            return not holds_labels(self.original[name], before, after)
        known, released = texts_of(before), texts_of(after)
        return not readable_labels(self.original[name], released - known, known | released)

    def _is_wildcard(self, name: str) -> bool:
        """Whether an empty cell could be any value, as the release says or else the original."""
        release = self.other.release
        described = as_microdata(release) if isinstance(release, HasMicrodata | Microdata) else self.original
        return described[name].missing == "wildcard"

    def find(self, known: tuple[str, ...], progress: Progress, label: str) -> _Found:
        n, position = len(self.original), self.other.position
        shared = [name for name in known if name in self.table.names]
        columns = [_read(self.pair, name, n, len(self.table), self._is_wildcard(name)) for name in shared]
        row_of, first = number_rows([column.row_codes for column in columns] or [np.zeros(len(self.table), np.int64)])
        if position is not None:
            present = position >= 0
            row = np.where(present, row_of[position], 0)
            return _Found(of_row_sets(np.arange(n), row, row_of, n), present, present)
        alike, person = number_rows([column.person_codes for column in columns] or [np.zeros(n, np.int64)])
        query, row, fits = _nearest(columns, person, first, progress, label)
        many = np.bincount(query, minlength=len(person))
        starts, held = (np.cumsum(many) - many)[alike], many[alike]
        at = np.repeat(starts - (np.cumsum(held) - held), held) + np.arange(held.sum())
        classes = of_row_sets(np.repeat(np.arange(n), held), row[at], row_of, n)
        return _Found(classes, np.ones(n, dtype=np.bool_), fits[alike])


@dataclass(frozen=True)
class _Column:
    """An attribute of persons and of the records of another release, and how far each person is from each record."""

    values: FloatArray
    released: FloatArray
    person_codes: IntArray
    row_codes: IntArray
    gaps: Any
    scaled: bool
    wildcard: bool

    def apart(self, persons: IntArray, records: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Whether the record cannot be the person's, whether its cell is empty, and how far a number is off.

        A missing value on either side could be any. A cell that counts as empty, and not as a wildcard, is taken for
        the person's only where no other record fits.
        """
        lacking = np.isnan(self.released[records])[None, :]
        missing = np.isnan(self.values[persons])[:, None] | lacking
        if self.gaps is not None:
            apart = self.gaps(self.values[persons], self.released[records])
        else:
            apart = np.abs(self.values[persons][:, None] - self.released[records][None, :])
        apart = np.where(missing, 0.0, apart)
        empty = np.broadcast_to(lacking & (not self.wildcard), apart.shape).astype(np.float64)
        nothing = np.zeros(apart.shape)
        return (nothing, empty, apart**2) if self.scaled else ((apart > 0).astype(np.float64), empty, nothing)


def _beside_other(original: Microdata, release: Any, known: tuple[str, ...]) -> Pair:
    """The original and a release of another table as a pair, so that released labels can be read. Both are repeated to
    the same length; that record i of both is the same person must not be used."""
    table = as_microdata(release)
    longest = max(len(original), len(table))
    before, after = (data.take(np.arange(longest) % len(data)) for data in (original, table))
    pair = Pair.of(before, after, known, known=known)
    return replace(pair, release=release) if isinstance(release, Release) else pair


def _read(pair: Pair, name: str, persons: int, records: int, wildcard: bool) -> _Column:
    labels = labels_of(pair, name)
    if labels is None:
        columns = Columns.of(pair, (name,))
        values, released = columns.before[0][:persons], columns.after[0][:records]
        numeric = pair.original[name].kind == "numeric"
        spread = float(np.nanstd(values)) if numeric and not np.isnan(values).all() else 0.0
        unit = spread or 1.0
        codes = [number_values([np.nan_to_num(side, nan=np.inf)])[0] for side in (values, released)]
        return _Column(values / unit, released / unit, codes[0], codes[1], None, numeric, wildcard)
    if labels.by_code_book:
        raise DataError(
            f"attribute '{name}' of a release of another table has labels that do not say what they stand for; declare "
            "its hierarchy in the schema, or leave it out of what is known"
        )
    values = np.where(labels.states > 0, np.nan, labels.values)[:persons]
    released = np.where(labels.codes < 0, np.nan, labels.codes.astype(np.float64))[:records]

    def gaps(of: FloatArray, codes: FloatArray) -> FloatArray:
        return labels.regions.gaps(np.nan_to_num(of), np.nan_to_num(codes).astype(np.int64))

    codes = [number_values([np.nan_to_num(side, nan=np.inf)])[0] for side in (values, released)]
    return _Column(values, released, codes[0], codes[1], gaps, False, wildcard)


def _nearest(
    columns: Sequence[_Column], persons: IntArray, records: IntArray, progress: Progress, label: str
) -> tuple[IntArray, IntArray, BoolArray]:
    """Pairs of a person and a row of released records that is nearest, by person, both by their place among those
    given; and whether no label and no category speaks against it."""
    queries, rows = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    fits = np.zeros(len(persons), dtype=np.bool_)
    chunk = max(1, _CELLS // max(1, len(records)))
    for start in range(0, len(persons), chunk):
        these = persons[start : start + chunk]
        against, empty, far = np.zeros((3, len(these), len(records)))
        for column in columns:
            for total, part in zip((against, empty, far), column.apart(these, records), strict=True):
                total += part
        fits[start : start + chunk] = against.min(axis=1) == 0
        for ahead in (against, empty):
            far = np.where(ahead == np.where(np.isinf(far), np.inf, ahead).min(axis=1, keepdims=True), far, np.inf)
        best = far.min(axis=1, keepdims=True)
        query, row = np.nonzero(far <= (np.sqrt(best) + _ROUNDING) ** 2)
        queries.append(start + query)
        rows.append(row)
        progress(min(1.0, (start + chunk) / len(persons)), label)
    return np.concatenate(queries), np.concatenate(rows), fits


@dataclass(frozen=True)
class _Left:
    """How many values are left for each person, whether the true one is among them, and who is in all releases."""

    number: IntArray
    own: BoolArray
    present: BoolArray


def _left(
    original: Microdata, target: Target, seen: Sequence[_OfTable | _OfOther], progress: Progress, label: str
) -> _Left:
    """Intersect the values of the classes of every person over the releases that have the attribute."""
    telling = [one for one in seen if one.has(target.name)]
    if not telling:
        raise DataError(f"no release has the values of '{target.name}', so there is nothing to intersect")
    columns = _common_values(original, [one.table for one in telling], target.name)
    true, size = columns[0], max(int(column.max(initial=0)) for column in columns) + 1
    present = np.ones(len(original), dtype=np.bool_)
    asked = np.zeros(len(original), dtype=np.int64)
    keys = []
    for one, codes, part in zip(telling, columns[1:], parts(progress, len(telling)), strict=True):
        found = one.find(target.known, part, label)
        values = found.classes.values(codes + 1)  # 0: empty
        open_class = np.zeros(found.classes.number, dtype=np.bool_)
        open_class[values.of[values.value == 0]] = True
        binding = found.found & ~open_class[found.classes.of_person]
        present &= found.present
        asked += binding
        person, entry = values.pairs
        kept = binding[person]
        keys.append(person[kept] * size + values.value[entry[kept]] - 1)
    key, times = np.unique(np.concatenate(keys), return_counts=True)
    key = key[times == asked[key // size]]
    number = np.bincount(key // size, minlength=len(original))
    own = np.zeros(len(original), dtype=np.bool_)
    hit = key[key % size == true[key // size]] // size
    own[hit] = True
    nothing_told = asked == 0  # any value of the attribute is left
    everything = len(np.unique(np.concatenate([column[column >= 0] for column in columns])))
    return _Left(np.where(nothing_told, max(2, everything), number), own | nothing_told, present)


def _common_values(original: Microdata, tables: Sequence[Microdata], name: str) -> list[IntArray]:
    """The values of an attribute in the original and in each release, numbered alike; -1 where missing."""
    numeric = original[name].kind == "numeric"
    held: list[Any] = []
    for table in (original, *tables):
        empty = table.missing_states(name) > 0
        if numeric:
            cells: Any = table.numbers(name).values
        else:
            values, codes = encoded(table.arrow(name))
            cells = np.array([*(node_text(value) for value in values), ""], dtype=object)[codes]
        held.append((cells, empty))
    every = np.concatenate([cells[~empty] for cells, empty in held])
    numbers = np.unique(every) if numeric else np.array(sorted(set(every)), dtype=object)
    found = []
    for cells, empty in held:
        codes = np.full(len(cells), -1, dtype=np.int64)
        codes[~empty] = np.searchsorted(numbers, cells[~empty])
        found.append(codes)
    return found
