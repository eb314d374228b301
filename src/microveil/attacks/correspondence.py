"""Do the records correspond? Every measure takes record i of both files for the same person; here that is checked.

Released files come sorted, shuffled or shifted. If an identifier is named, records are matched by it. If not, three
signs say that the order is wrong: identifiers that both files have disagree; records equal other originals than their
own in far more than chance would give; or no attribute of any record has to do with itself in the other file. Masking
leaves none of these signs. An intruder needs no order, so the records are then matched by what they hold: by equal
values, by the order of values under an increasing or decreasing transformation, by the frequencies of renamed
categories, and else by the nearest values. Nodes of a graph are told by their links before all else: who is linked like
the own original is the own record, whatever its values say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from microveil.attacks.linkage.rank_alignment import correlation
from microveil.comparison.common_codes import as_floats, common_codes, is_number
from microveil.comparison.pairs import another_original, check_records_known
from microveil.errors import DataError
from microveil.masking.release import Release
from microveil.microdata.edges import Edges
from microveil.microdata.microdata import HasMicrodata, Microdata, as_microdata, both_as_microdata, count
from microveil.numerics.linkage.category_alignment import CodedAttribute, agreement, align_categories
from microveil.numerics.linkage.correspondence import (
    RANK_DEVIATION,
    Compared,
    attributes_with_same_rows,
    combination_numbers,
    have_same_rows,
    is_associated,
    matched_by_content,
    pointers,
    unmasked_attributes,
)
from microveil.numerics.linkage.monotone_direction import decreasing
from microveil.numerics.series.courses import courses, matched_courses
from microveil.numerics.statistics.scaling import relative_ranks, standardise
from microveil.typing import FloatArray, IntArray

By = Literal["identifier", "content"]

_MOST_SAMPLED = 300  # released records whose own original is compared with all others; fewer in a long file
_MOST_COMPARED = 30_000_000  # pairs of records
_FEWEST_SAMPLED = 50
_ASSOCIATED = 20_000  # records by which attributes are compared with themselves
_FEWEST = 100  # records without which no association means nothing
_FEWEST_EQUAL = 20  # records of which nearly all equal another one by more than chance
_OTHER_SCALE = 0.25  # standardised quantiles that differ by more on average are those of transformed values
_STEPS = 4  # from a node: the links by which it is told from others
_NUMBERED = {"identifier", "household", "node"}
_ADVICE = "if both have an identifier, match by it (match_by, or --match-by on the command line)"
_AGREE = 0.95  # of the identifiers must be those of the same record
_BETTER = 0.1  # by so much other attributes agree better in the order of an identifier, or categories by frequency


@dataclass(frozen=True)
class Correspondence:
    """The original and the release with their records in the same order.

    `by` says how they were brought into it: not at all (None), by an identifier, or by what they hold. `warning` is a
    sentence for who reads the results, empty where the records corresponded. `whole` is the original with all of its
    records; `original` has those that were released, where nothing else says which these are.
    """

    whole: Any
    original: Any
    release: Any
    by: By | None = None
    warning: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Also what cannot be measured, where the release was read back without its private file."""
        incomplete = self.release.incomplete if isinstance(self.release, Release) else ""
        return tuple(told for told in (self.warning, incomplete) if told)


def corresponding(original: Any, release: Any, match_by: str | None = None) -> Correspondence:
    """The original and the release, record by record: matched by an identifier if one is named, as they are if nothing
    speaks against it, else matched by what they hold, with a warning.

    >>> people = Microdata.of({"id": [1, 2, 3], "age": [20, 41, 63]})
    >>> found = corresponding(people, Microdata.of({"id": [3, 1], "age": [60, 20]}), "id")
    >>> found.original.frame["age"].to_list(), found.release.frame["age"].to_list()
    ([20, 63], [20, 60])
    """
    before, after = both_as_microdata(original, release)
    original = original if isinstance(original, HasMicrodata) else before
    release = release if isinstance(release, HasMicrodata) else after
    if match_by is not None:
        return _in_order(original, release, before, matched_by(before, after, match_by), "identifier")
    made = release if isinstance(release, Release) else None
    if made is not None and _made_from(before, made):
        return Correspondence(original, original, release)
    if made is not None and made.rows is not None and made.provenance.input_records != len(before):
        raise DataError(another_original(before, made))
    if len(before) != len(after) or len(after) < 2:
        return Correspondence(original, original, release)
    found = disorder_of(before, after)
    if found is None and made is not None and made.provenance.shuffled:
        check_records_known(made)
        raise DataError(
            "the records of this release are in random order, and this original is not the table it was made from, so "
            f"they cannot be compared with it; give the original it was made from; {_ADVICE}"
        )
    if found is None:
        return Correspondence(original, original, release)
    return _in_order(original, release, before, found.order, found.by, found.warning)


def matched_by(before: Microdata, after: Microdata, name: str) -> IntArray:
    """For each released record the original with the same identifier."""
    for data in (before, after):
        if name not in data.names:
            where = "the original" if data is before else "the masked table"
            raise DataError(f"{where} has no column '{name}' to match records by")
    known, released = common_codes(before.arrow(name), after.arrow(name))
    for codes, where in ((known, "the original"), (released, "the masked table")):
        empty, different = int((codes < 0).sum()), len(np.unique(codes[codes >= 0]))
        if empty:
            raise DataError(f"column '{name}' is empty in {count(empty, 'record')} of {where}, so it cannot match all")
        if different < len(codes):
            raise DataError(
                f"column '{name}' has only {different:,} distinct values in the {count(len(codes), 'record')} of "
                f"{where}, so it does not identify them"
            )
    position = np.full(int(max(known.max(initial=-1), released.max(initial=-1))) + 1, -1, dtype=np.int64)
    position[known] = np.arange(len(known))
    order: IntArray = position[released]
    unknown = int((order < 0).sum())
    if unknown:
        raise DataError(
            f"column '{name}' has values in {count(unknown, 'record')} of the masked table that the original does not "
            "have, so these cannot be matched"
        )
    return order


@dataclass(frozen=True)
class Disorder:
    """For each released record the original it belongs to, how that was found, and what to say of it."""

    order: IntArray
    by: By
    warning: str


def disorder_of(before: Microdata, after: Microdata) -> Disorder | None:
    """What speaks against record i of both tables being the same person, and the order that does not; None where
    nothing does. Both tables have the same number of records."""
    names = before.names_to_compare(after)
    columns = {name: _Column.of(before, after, name) for name in names}
    by_identifier = _by_identifier(before, columns)
    if by_identifier is not None:
        return by_identifier
    links = _Links.of(before, after)
    if links is not None and links.in_order:
        return None
    # persons and households get new numbers on release
    usable = {name: one for name, one in columns.items() if one.varies and not _NUMBERED & set(before[name].roles)}
    if links is not None and links.moved and not (usable and _related(usable)):
        return links.disorder()
    if not usable:
        return None
    return _by_equal_records(usable) or _by_course(before, after) or _by_no_association(usable)


@dataclass(frozen=True)
class _Links:
    """The nodes of two graphs in one numbering, by what can be told of them from their links within a few steps."""

    before: IntArray
    after: IntArray

    @classmethod
    def of(cls, before: Microdata, after: Microdata) -> _Links | None:
        """Nothing for tables without links."""
        from microveil.numerics.graphs.neighbourhoods import node_colours

        if before.edges is None or after.edges is None or not len(before.edges):
            return None
        n, one, other = len(before), before.edges, after.edges
        source, target = np.append(one.source, other.source + n), np.append(one.target, other.target + n)
        colours = node_colours(Edges.of(source, target, 2 * n).graph, np.zeros(2 * n, dtype=np.int64), _STEPS)
        return cls(colours[:n], colours[n:])

    @property
    def tell(self) -> bool:
        """Whether there are enough nodes, and few that are linked alike by chance."""
        alike = float(np.square(np.bincount(self.before) / len(self.before)).sum())
        return len(self.before) >= _FEWEST_EQUAL and alike <= 1 - _AGREE

    @property
    def in_order(self) -> bool:
        """Whether nearly all nodes are linked like the own original."""
        return self.tell and float((self.before == self.after).mean()) >= _AGREE

    @property
    def moved(self) -> bool:
        """Whether nearly all nodes are linked like some original, and many of them not like their own."""
        displaced = float((self.before != self.after).mean())
        return self.tell and _unlike(self.before, self.after) <= 1 - _AGREE < displaced

    def disorder(self) -> Disorder:
        """The order in which nodes are linked like their originals; of those that are linked alike, as they come."""
        known, released = (np.argsort(side, kind="stable") for side in (self.before, self.after))
        order = np.empty(len(known), dtype=np.int64)
        pairs = _matched_in_order(self.before[known], self.after[released])
        order[released[pairs[1]]] = known[pairs[0]]
        left = np.ones(len(known), dtype=np.bool_), np.ones(len(known), dtype=np.bool_)
        left[0][known[pairs[0]]], left[1][released[pairs[1]]] = False, False
        order[left[1]] = np.flatnonzero(left[0])
        share = 100 * float((self.before != self.after).mean())
        warning = (
            f"record i of the two tables is not the same node: {share:.0f} % of the released nodes are linked like "
            f"another original; they were matched by their links, as an intruder would; {_ADVICE}"
        )
        return Disorder(order, "content", warning)


def _matched_in_order(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    """Positions in two ascending lists that have equal numbers, each used once."""
    start = np.searchsorted(first, second) + np.arange(len(second)) - np.searchsorted(second, second)
    fits = np.append(first, -1)[np.minimum(start, len(first))] == second
    return start[fits], np.flatnonzero(fits)


def _by_equal_records(columns: dict[str, _Column]) -> Disorder | None:
    """The order in which records equal each other, where they equal others far more than their own.

    Means that happen to equal rare values point elsewhere too. But then not nearly all records have an equal one, in
    the same attributes.
    """
    known, released = _stacked(columns)
    records = known.shape[1]
    affordable = max(_FEWEST_SAMPLED, min(_MOST_SAMPLED, _MOST_COMPARED // records))
    sampled = _spread(records, affordable)
    found = pointers(known, released, sampled)
    if not found.are_disordered:
        return None
    kept = max(
        unmasked_attributes(known, released, sampled, found), attributes_with_same_rows(known, released), key=len
    )
    if not have_same_rows(known[kept], released[kept]):
        return None
    share = 100 * float(found.displaced.mean())
    matched = _Matched.of(columns, kept)
    warning = (
        f"record i of the two tables is not the same person: {share:.0f} % of the released records agree with another "
        f"original in far more attributes than with their own; they were matched with originals of the same values "
        f"({matched.told}), as an intruder would; {_ADVICE}"
    )
    return Disorder(matched.order, "content", warning)


def _by_course(before: Microdata, after: Microdata) -> Disorder | None:
    """Of tables of series, the order in which they have the same course at whatever level and scale, where they have it
    with others and not with their own."""
    panel = before.schema.panel
    if panel is None:
        return None
    names = [name for name in panel.all_columns if name in after.names and after[name].kind == "numeric"]
    known = before.series_among(names)
    released = [after.matrix(series.columns) for series in known]
    found = matched_courses(courses([series.values for series in known]), courses(released)) if names else None
    if found is None:
        return None
    warning = (
        f"record i of the two tables is not the same series: {100 * found.displaced:.0f} % of the released series have "
        f"the course of another original, at some level and scale; they were matched by it, as an intruder would; "
        f"{_ADVICE}"
    )
    return Disorder(found.order, "content", warning)


def _by_no_association(columns: dict[str, _Column]) -> Disorder | None:
    """The order in which records are equal or nearest, where in that of the tables no attribute has to do with itself.

    In a short file that may be chance, so nearly all records must have an equal one elsewhere.
    """
    known, released = _stacked(columns)
    records = known.shape[1]
    if records < _FEWEST_EQUAL or _related(columns) is not False:
        return None
    matched = _Matched.of(columns, attributes_with_same_rows(known, released))
    if records < _FEWEST and len(matched.kept) < 2:
        return None
    how = (
        f"they were matched with originals of the same values ({matched.told})"
        if matched.kept
        else "every released record was taken for that of the nearest person, so risks may come out too high or too low"
    )
    warning = (
        "in no attribute are the values of record i in the masked table related to those of record i in the original: "
        f"the records are in another order, or synthetic; {how}; {_ADVICE}"
    )
    return Disorder(matched.order, "content", warning)


def _related(columns: dict[str, _Column]) -> bool | None:
    """Whether some attribute has to do with itself in the order of the tables; None where that cannot be told."""
    rows = _spread(len(next(iter(columns.values())).before), _ASSOCIATED)
    return is_associated([one.at(rows) for one in columns.values()])


def _stacked(columns: dict[str, _Column]) -> tuple[IntArray, IntArray]:
    sides = [np.stack([getattr(one, side) for one in columns.values()]) for side in ("before", "after")]
    return sides[0], sides[1]


def _spread(records: int, wanted: int) -> IntArray:
    """So many record numbers, evenly spread over the table; all if it has no more."""
    return np.unique(np.linspace(0, records - 1, min(records, wanted)).astype(np.int64))


@dataclass(frozen=True)
class _Column:
    """A column of both tables as common codes, and where it has numbers, these and their relative ranks."""

    before: IntArray
    after: IntArray
    numbers: tuple[FloatArray, FloatArray] | None

    @cached_property
    def ranks(self) -> tuple[FloatArray, FloatArray] | None:
        return None if self.numbers is None else (relative_ranks(self.numbers[0]), relative_ranks(self.numbers[1]))

    @classmethod
    def of(cls, before: Microdata, after: Microdata, name: str) -> _Column:
        cells = before.arrow(name), after.arrow(name)
        numeric = before[name].kind == "numeric" and all(map(is_number, cells))
        numbers = (as_floats(cells[0]), as_floats(cells[1])) if numeric else None
        return cls(*common_codes(*cells), numbers)

    @property
    def varies(self) -> bool:
        return all(len(np.unique(side)) > 1 for side in (self.before, self.after))

    @property
    def identifies(self) -> bool:
        """Whether both tables have the same values, each once."""
        both = np.sort(self.before), np.sort(self.after)
        return bool(both[0][0] >= 0 and np.array_equal(*both) and (np.diff(both[0]) > 0).all())

    def at(self, rows: IntArray) -> tuple[Any, Any]:
        if self.ranks is not None:
            return self.ranks[0][rows], self.ranks[1][rows]
        return self.before[rows], self.after[rows]

    @property
    def compared(self) -> Compared:
        """As records are matched by it: numbers by their values, or by their ranks if on another scale."""
        if self.numbers is None or self.ranks is None:
            return Compared.as_codes(self.before, self.after)
        standard = [standardise(side[:, None])[:, 0] for side in self.numbers]
        levels = np.linspace(0, 1, 99)
        quantiles = [np.quantile(side[~np.isnan(side)], levels) for side in standard]
        if float(np.abs(quantiles[0] - quantiles[1]).mean()) > _OTHER_SCALE:
            return Compared.in_order(self.ranks[0], self.ranks[1])
        return Compared.in_order(standard[0] * RANK_DEVIATION, standard[1] * RANK_DEVIATION)

    def read_in_order(self, turned: bool) -> _Read:
        """With the released values turned around where larger ones were released as smaller ones. If equal values are
        as many at every position of the order, they are the original ones under a transformation."""
        assert self.numbers is not None
        read = replace(self, numbers=(self.numbers[0], -self.numbers[1] if turned else self.numbers[1]))
        how = " in decreasing order" if turned else ""
        known, known_counts = np.unique(self.before[self.before >= 0], return_counts=True)
        released, counts = np.unique(self.after[self.after >= 0], return_counts=True)
        if not np.array_equal(known_counts, counts[::-1] if turned else counts):
            return _Read(read, how)
        original = np.append(np.full(int(self.after.max(initial=-1)) + 1, -1), -1)
        original[released] = known[::-1] if turned else known
        return _Read(replace(read, after=original[self.after]), how or " in the same order", is_exact=True)

    @property
    def coded(self) -> CodedAttribute:
        """As frequencies are counted beside it."""
        if self.ranks is not None:
            return CodedAttribute.in_classes(*self.ranks)
        return CodedAttribute(self.before, self.after, comparable=True)

    def read_by_frequency(self, found: CodedAttribute) -> _Read:
        """With the categories that have the same frequencies, if those of the same names clearly differ."""
        by_name, by_frequency = _unlike(self.before, self.after), _unlike(found.before, found.after)
        if by_name <= by_frequency + _BETTER:
            return _Read(self)
        return _Read(_Column(found.before, found.after, None), " under new names", is_exact=by_frequency == 0)

    def alike(self, order: IntArray) -> float:
        """How much released cells have to do with those of the originals in this order, from 0 to 1."""
        equal = agreement(self.before[order], self.after)
        return max(equal, 0.0 if self.ranks is None else abs(correlation(self.ranks[0][order], self.ranks[1])))


def _by_identifier(before: Microdata, columns: dict[str, _Column]) -> Disorder | None:
    """The order that an identifier of both tables says, unless the other attributes agree better as they are.

    A column that is not declared an identifier may be one if it has the same values in both tables, each once; but so
    has a number whose values were exchanged, so the other attributes must agree clearly better in its order.
    """
    as_they_are = np.arange(len(before))
    candidates = [
        name
        for name, one in columns.items()
        if one.identifies and (one.before != one.after).mean() > _tolerated(before, name)
    ]
    for name in sorted(candidates, key=lambda candidate: "identifier" not in before[candidate].roles):
        one, declared = columns[name], "identifier" in before[name].roles
        order = np.argsort(one.before)[np.argsort(np.argsort(one.after))]
        others = [other for key, other in columns.items() if key != name and other.varies]
        gain = sum(other.alike(order) - other.alike(as_they_are) for other in others) / max(1, len(others))
        if gain >= (-_BETTER if declared else _BETTER):
            differing = 100 * float((one.before != one.after).mean())
            return Disorder(
                order,
                "identifier",
                f"record i of the two tables is not the same person: '{name}', which both have, differs in "
                f"{differing:.3g} % of the records; they were matched by it",
            )
    return None


def _tolerated(before: Microdata, name: str) -> float:
    """The share of records in which a column that identifies them may differ between the tables: one that is declared
    in none, any other in some, and in a very short table in all."""
    if "identifier" in before[name].roles:
        return 0.0
    return 1 - _AGREE if len(before) >= _FEWEST_EQUAL else 1.0


@dataclass(frozen=True)
class _Matched:
    """For each released record the original that it was matched with; the attributes on which nearly all of them agree,
    and those with what was done to their values, to be named in a sentence."""

    order: IntArray
    kept: tuple[int, ...]
    told: str

    @classmethod
    def of(cls, columns: dict[str, _Column], kept: Sequence[int]) -> _Matched:
        """The records matched by the attributes `kept`, which were left alone, and by what can be read of the others:
        an intruder sees that values were turned around, and that categories have new names."""
        names = list(columns)
        read = _read(columns, [names[j] for j in kept])
        known, released = _stacked({name: one.column for name, one in read.items()})
        exact = [j for j, name in enumerate(names) if j in kept or read[name].is_exact]
        if not have_same_rows(known[exact], released[exact]):
            exact = list(kept)
        others = [one.column.compared for j, one in enumerate(read.values()) if j not in exact]
        told = ", ".join(f"{names[j]}{read[names[j]].how}" for j in exact)
        return cls(matched_by_content(known, released, exact, others), tuple(exact), told)


@dataclass(frozen=True)
class _Read:
    """A column as an intruder reads it; how, in words; and whether both tables then have the same values."""

    column: _Column
    how: str = ""
    is_exact: bool = False


def _read(columns: dict[str, _Column], kept: Sequence[str]) -> dict[str, _Read]:
    """The columns other than those `kept`, read by the order of their values or by the frequencies of their categories,
    where this makes the tables more alike."""
    classes = None
    if kept:
        known, released = _stacked({name: columns[name] for name in kept})
        classes = combination_numbers(known, released)
    ordered = {name: one.ranks for name, one in columns.items() if name not in kept and one.ranks is not None}
    turned = decreasing([side[0] for side in ordered.values()], [side[1] for side in ordered.values()], classes)
    read = {name: _Read(columns[name], is_exact=True) for name in kept}
    read |= {name: columns[name].read_in_order(turn) for name, turn in zip(ordered, turned, strict=True)}
    named = [name for name in columns if name not in read]
    found = align_categories(
        [columns[name].coded.nameless for name in named] + [one.column.coded for one in read.values()]
    )
    for name, one in zip(named, found, strict=False):
        read[name] = columns[name].read_by_frequency(one)
    return {name: read[name] for name in columns}


def _unlike(before: IntArray, after: IntArray) -> float:
    """Half the sum of the differences between the shares of codes, from 0 to 1."""
    size = int(max(before.max(initial=-1), after.max(initial=-1))) + 2
    counts = [np.bincount(side + 1, minlength=size) for side in (before, after)]
    return float(np.abs(counts[0] - counts[1]).sum()) / 2 / max(1, len(before))


def _made_from(before: Microdata, release: Release) -> bool:
    """Whether the provenance says that the release was made from this very table, and which record is which."""
    if release.provenance.shuffled and release.rows is None:
        return False
    return bool(release.provenance.input_digest == before.digest())


def _in_order(
    original: Any,
    release: Any,
    before: Microdata,
    order: IntArray,
    by: By,
    warning: str = "",
) -> Correspondence:
    """Both with the released records in the order of the original, which is cut to them where it has more."""
    ascending = np.argsort(order, kind="stable").astype(np.int64)
    rows = order[ascending]
    whole = len(rows) == len(before)
    if not isinstance(release, Release):
        data = as_microdata(release).take(ascending)
        return Correspondence(original, original if whole else before.take(rows), data, by, warning)
    in_order = whole and not release.provenance.shuffled
    made = replace(release.taken(ascending), rows=None if in_order else rows)
    return Correspondence(original, original, made, by, warning)


def in_original_order(release: Release) -> Release:
    """The release with its records in the order of the original, where it is known which of these they are."""
    if release.rows is None or bool(np.all(release.rows[1:] > release.rows[:-1])):
        return release
    return release.taken(np.argsort(release.rows, kind="stable").astype(np.int64))
