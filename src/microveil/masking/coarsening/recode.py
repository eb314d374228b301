"""Global recoding: an attribute is published in broader categories or intervals, the same for all records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pydantic

from microveil.errors import DataError, ParameterError, TooFewRecordsError
from microveil.masking.base import Masked, Method, OfHouseholds, OverRecords
from microveil.masking.coarsening.coarse import (
    Centre,
    Coarse,
    Publish,
    merged,
    published,
    refuse_unlisted,
    valid_categories,
    whole_of,
)
from microveil.masking.notes import VALUES_MERGED, VALUES_MERGED_FOR_COMBINATIONS, VALUES_OF_ATTRIBUTE, Note
from microveil.masking.ranges import GROUP_SIZES, OneOf, Ranges, Whole, ranges
from microveil.microdata import Attribute, Categories, Microdata
from microveil.microdata.combinations import Combination, canonical, combinations_of, population_weights
from microveil.microdata.hierarchies import check_width, cut_ranks, equal_width
from microveil.microdata.hierarchy import Hierarchy, Intervals, check_level, node_text
from microveil.microdata.microdata import count
from microveil.microdata.schema import KINDS, Category
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.parameters import LARGEST_NUMBER, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, reported
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.counting.category_merging import Column, Wanted

By = Literal["automatic", "hierarchy", "width", "frequency", "cuts", "rare", "map"]

_FOR_NUMBERS: tuple[By, ...] = ("width", "frequency", "cuts")
_FOR_CATEGORIES: tuple[By, ...] = ("rare", "map")


@parameterised
class Recode(Method):
    """Publishes broader values: categories are merged, numbers become intervals, alike for all records.

    How they are merged: by a level of the attribute's hierarchy; numbers in intervals of equal width, of equal
    frequency or at given cuts; the p least frequent categories (of equally frequent ones the later first); or by a map
    from new labels to categories. By itself (`automatic`) it merges what loses least entropy, step by step, and only
    what a rare combination has, until at least k records share every combination: neighbours of ordered attributes and
    numbers, the rarest of other categories, whole branches where there is a hierarchy. What is then still rare can be
    left to `suppress` with `leave`. With `combinations`, such as `"age,sex,region >= 5"` or `"every pair of keys >=
    3"`, these must be frequent instead of all attributes together; `suppress` takes the same ones for the rest.

    A group is published as one of its own values, so that the release can be compared with the original: the median
    category of an ordered attribute, the most frequent of another, the mean, median or midpoint of an interval. As
    `label` it is named instead; then numbers become ordered categories.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [21, 25, 34, 38, 61]})
    >>> Recode(by="cuts", cuts=(30, 60), publish="label").mask(people).frame["age"].to_pylist()
    ['< 30', '< 30', '[30, 60)', '[30, 60)', '>= 60']
    """

    name: ClassVar[str] = "recode"
    family: ClassVar[str] = "coarsening"
    summary: ClassVar[str] = (
        "global recoding: broader categories and intervals, as given or until at least k records share every "
        "combination"
    )
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are and are never merged; automatic recoding counts them as the "
        "schema says"
    )
    source: ClassVar[str] = "Willenborg and de Waal (2001); Fayyoumi (2008), section 2.5.2; Marés (2013), section 2.3.5"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES, groups=Whole(2, 50), leave=OneOf((0.0, 0.01, 0.05)))
    random: ClassVar[bool] = False
    of_households: ClassVar[OfHouseholds] = "itself"  # the same value becomes the same everywhere
    quick: ClassVar = {"k": 2, "leave": 0.5}
    over_records: ClassVar[OverRecords] = "per record"

    by: By = parameter(default="automatic", help="how values are merged")
    k: int = parameter(default=5, help="automatic: fewest records that share every combination", ge=1, le=MOST_RECORDS)
    leave: float = parameter(
        default=0.0,
        help="automatic: share of the records that may remain in combinations of fewer than k records",
        ge=0,
        le=1,
    )
    combinations: Annotated[tuple[str, ...] | None, pydantic.BeforeValidator(canonical)] = parameter(
        default=None,
        help="automatic: combinations that must be frequent instead of all attributes together, such as 'age,sex >= 5' "
        "or 'every triple >= 100 population', with commas between them; k is not used then",
    )
    level: int = parameter(default=1, help="hierarchy: the level, 0 being the values themselves", ge=0, le=1_000)
    groups: int = parameter(
        default=10,
        help="width, frequency: number of intervals; automatic: number of intervals that numbers are divided into at "
        "first",
        ge=1,
        le=100_000,
    )
    width: float | None = parameter(
        default=None, help="width: width of an interval, counted from 0, instead of groups", gt=0, le=LARGEST_NUMBER
    )
    cuts: float | tuple[float, ...] | None = parameter(default=None, help="cuts: where intervals begin, ascending")
    p: int = parameter(
        default=2, help="rare: number of least frequent categories that are merged into one", ge=0, le=1_000_000
    )
    map: dict[str, list[str | int | float | bool] | tuple[str | int | float | bool, ...]] | None = parameter(
        default=None, help="map: new labels, each with the categories it replaces; others stay"
    )
    publish: Publish = parameter(
        default="representative", help="what is published for merged values: one of them (representative), or a label"
    )
    centre: Centre = parameter(default="mean", help="which number represents an interval")

    def __post_init__(self) -> None:
        for needed in ("cuts", "map"):
            if self.by == needed and getattr(self, needed) is None:
                raise ParameterError(f"recode: {needed} must be given where by = '{needed}'")
        if self.combinations is not None and self.by != "automatic":
            raise ParameterError(f"recode: combinations are for automatic recoding, not for by = '{self.by}'")
        cuts = self._cuts()
        if any(a >= b for a, b in pairwise(cuts)):
            raise ParameterError(f"recode: cuts = {self.cuts!r} is not allowed; cuts must ascend")

    @property
    def works_over(self) -> OverRecords:
        return "per record" if self.publish == "label" or self.centre == "mean" else "whole table"

    def _cuts(self) -> tuple[float, ...]:
        return self.cuts if isinstance(self.cuts, tuple) else () if self.cuts is None else (self.cuts,)

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        notes: tuple[Note, ...] = ()
        if self.by == "automatic":
            atoms, merging, notes = self._automatic(data, attributes, Part(progress, 0.0, 0.8))
            coarsened = {name: partial(atoms[name].merged, group=merging.groups[name]) for name in attributes}
        else:
            coarsened = {name: partial(self._coarse, name=name) for name in attributes}
        columns: dict[str, pa.Array] = {}
        changed: list[Attribute] = []
        for name in reported(attributes, Part(progress, 0.8, 0.95), self.name):
            whole = whole_of(data, name, coarsened[name]) if self.publish != "label" else None
            columns[name], attribute = published(data, name, coarsened[name](data), self.publish, self.centre, whole)
            changed += [] if attribute is None else [attribute]
        progress(0.95, f"{self.name}: values brought together")
        return Masked(columns, notes=notes, attributes=tuple(changed))

    def _coarse(self, data: Microdata, name: str) -> Coarse:
        return self._numbers(data, name) if data[name].kind == "numeric" else self._categories(data, name)

    def _refuse_kind(self, data: Microdata, name: str) -> None:
        numeric = data[name].kind == "numeric"
        if self.by in (_FOR_CATEGORIES if numeric else _FOR_NUMBERS):
            others = "categories" if numeric else "numbers"
            raise DataError(f"attribute '{name}' is {data[name].kind}, but recoding by {self.by} is for {others} only")
        if self.by == "hierarchy" and data[name].hierarchy is None:
            raise DataError(f"attribute '{name}' has no hierarchy; give it one in the schema or recode in another way")

    # --- numbers -------------------------------------------------------------------------------------------------

    def _numbers(self, data: Microdata, name: str) -> Coarse:
        self._refuse_kind(data, name)
        numbers = data.numbers(name)
        hierarchy = data[name].hierarchy
        if self.by == "hierarchy" and hierarchy is not None:
            check_level(self.level, hierarchy.levels)
            if self.level == 0:
                return _as_they_are(numbers.values)
            if isinstance(hierarchy, Hierarchy):
                indices = hierarchy.positions_of_numbers(numbers.values, self.level)
                refuse_unlisted(data, name, indices, numbers.present)
                return Coarse(indices, hierarchy.categories(self.level))
            return _in_intervals(numbers.values, hierarchy, self.level)
        return _in_intervals(numbers.values, self._intervals(data, name))

    def _intervals(self, data: Microdata, name: str) -> Intervals:
        if self.by == "cuts":
            return Intervals.of([self._cuts()])
        moments = data.facts.moments([name])
        least, largest = float(moments.low[0]), float(moments.high[0])
        if least >= largest:
            return Intervals.of([()])
        if self.by == "frequency":
            return _even_intervals(data, name, self.groups)
        low, high = data[name].range or (least, largest)
        if self.width is None:
            return equal_width(low, high, [(high - low) / self.groups])
        check_width(high - low, self.width)
        return equal_width(np.floor(low / self.width) * self.width, high + self.width / 1e6, [self.width])

    # --- categories ----------------------------------------------------------------------------------------------

    def _categories(self, data: Microdata, name: str) -> Coarse:
        self._refuse_kind(data, name)
        column, ordered = valid_categories(data, name), data[name].kind == "ordinal"
        hierarchy = data[name].hierarchy
        if self.by == "hierarchy" and isinstance(hierarchy, Hierarchy):
            indices = hierarchy.positions(column.domain, self.level)
            refuse_unlisted(data, name, np.append(indices, 0)[column.codes], column.present)
            return merged(column, indices, hierarchy.categories(self.level), ordered=ordered)
        if self.by == "map":
            return self._mapped(column, ordered)
        counted = data.facts.counted([name])
        codes = valid_categories(counted.data, name).codes
        held = np.bincount(codes[codes >= 0], weights=counted.counts[codes >= 0], minlength=len(column.domain))
        return merged(column, rare_groups(held.astype(np.int64), self.p), ordered=ordered)

    def _mapped(self, column: Categories, ordered: bool) -> Coarse:
        index = {node_text(category): number for number, category in enumerate(column.domain)}
        groups = np.arange(len(column.domain), dtype=np.int64)
        labels: list[str | None] = [None] * len(column.domain)
        taken: set[int] = set()
        for label, members in (self.map or {}).items():
            for member in members:
                if node_text(member) not in index:
                    raise DataError(
                        f"attribute '{column.name}' has no category '{node_text(member)}', which the map names"
                    )
                number = index[node_text(member)]
                if number in taken:
                    raise ParameterError(f"recode: the map has the category '{node_text(member)}' twice")
                taken.add(number)
                groups[number] = index[node_text(members[0])]
                labels[groups[number]] = label
        return merged(column, groups, labels, ordered=ordered)

    # --- until no combination is rare ----------------------------------------------------------------------------

    def _automatic(
        self, data: Microdata, attributes: tuple[str, ...], progress: Progress
    ) -> tuple[dict[str, _Atoms], _Merging, tuple[Note, ...]]:
        records = data.facts.records
        if self.combinations is None and records < self.k:
            raise TooFewRecordsError(records, self.k, f"recode with k = {self.k}")
        atoms = {name: _Atoms.of(data, name, self.groups) for name in attributes}
        merging: _Merging = data.facts.once("recode", lambda: self._merging(data, attributes, atoms, progress))
        if data.range_of_places.start:  # the first part speaks for the whole table
            return atoms, merging, ()
        fewer = tuple(
            VALUES_OF_ATTRIBUTE(attribute=name, before=merging.held[name], after=len(set(group.tolist())))
            for name, group in merging.groups.items()
        )
        if self.combinations is not None:
            said = VALUES_MERGED_FOR_COMBINATIONS(method=self.name, attributes=fewer, left=merging.left)
        else:
            said = VALUES_MERGED(method=self.name, attributes=fewer, left=merging.left, k=self.k)
        return atoms, merging, (said,)

    def _merging(
        self, data: Microdata, attributes: tuple[str, ...], atoms: Mapping[str, _Atoms], progress: Progress
    ) -> _Merging:
        """What is merged in the whole table."""
        from microveil.numerics.counting.category_merging import merge_until_frequent

        def combinations(part: Microdata) -> _Combinations:
            codes = np.column_stack([atoms[name].counted(part) for name in attributes])
            return _Combinations.of(codes, self._measures(part))

        needed = (*attributes, *((data.schema.weight,) if data.schema.weight and self._asks_for_population else ()))
        found: _Combinations = data.facts.gathered("combinations of codes", needed, combinations, _Combinations.sum)
        columns = [atoms[name].column(found.masses_of(at)) for at, name in enumerate(attributes)]
        records = data.facts.records
        spare = int(self.leave * records + 1e-9)
        left = merge_until_frequent(found.codes, found.masses, columns, self._wanted(attributes), spare, progress)
        if left > spare:
            rare = f"share their pattern of missing values with fewer than {self.k}"
            rare = rare if self.combinations is None else "are in combinations that are too rare"
            raise DataError(
                f"even with everything merged {count(left, 'record')} {rare}; leave them to suppress (leave = "
                f"{left / records:.2g}) or declare missing wildcards"
            )
        held = {name: int((column.counts > 0).sum()) for name, column in zip(attributes, columns, strict=True)}
        return _Merging({name: column.group for name, column in zip(attributes, columns, strict=True)}, held, left)

    @property
    def _listed(self) -> tuple[Combination, ...]:
        return () if self.combinations is None else combinations_of(self.combinations)

    @property
    def _asks_for_population(self) -> bool:
        return any(asked.population for asked in self._listed)

    def _measures(self, data: Microdata) -> FloatArray:
        """What each record counts for, under each measure."""
        measures = [np.ones(len(data))]
        for asked in self._listed:
            if asked.population and len(measures) == 1:
                measures.append(population_weights(data, f"'{asked}'"))
        return np.column_stack(measures)

    def _wanted(self, attributes: tuple[str, ...]) -> list[Wanted]:
        """How much must agree on which columns."""
        from microveil.numerics.counting.category_merging import Wanted

        if self.combinations is None:
            return [Wanted(np.arange(len(attributes)), 0, float(self.k))]
        wanted = []
        for asked in self._listed:
            for names in asked.sets(attributes):
                for name in set(names) - set(attributes):
                    raise ParameterError(
                        f"recode: a combination names '{name}', which is not among the attributes to mask"
                    )
                columns = np.array([attributes.index(name) for name in names], dtype=np.int64)
                wanted.append(Wanted(columns, int(asked.population), asked.at_least))
        return wanted


class _Merging(NamedTuple):
    """By attribute the group that each code is in at the end and how many codes occur; and how many records are left in
    rare combinations."""

    groups: Mapping[str, IntArray]
    held: Mapping[str, int]
    left: int


class _Combinations(NamedTuple):
    """The combinations of codes that occur, and what the records of each count for under each measure."""

    codes: IntArray
    masses: FloatArray

    @classmethod
    def of(cls, codes: IntArray, masses: FloatArray) -> _Combinations:
        from microveil.numerics.counting.local_suppression import sums_by_number

        number, first = number_rows([column + 1 for column in codes.T])
        return cls(codes[first], sums_by_number(number, masses, len(first)))

    @classmethod
    def sum(cls, parts: Sequence[_Combinations]) -> _Combinations:
        return cls.of(np.concatenate([p.codes for p in parts]), np.concatenate([p.masses for p in parts]))

    def masses_of(self, column: int) -> IntArray:
        """How many records have each code of a column; those without one are left out."""
        codes = self.codes[:, column]
        held = codes >= 0
        return np.bincount(codes[held], weights=self.masses[held, 0]).astype(np.int64)


@dataclass(frozen=True)
class _Atoms:
    """The finest values that automatic recoding starts from: categories, or intervals of numbers.

    Where they have names, `names` are these, else they are the `intervals`. `levels` has the branch of each value for
    each level of its hierarchy.
    """

    attribute: Attribute
    size: int
    names: tuple[Category, ...]
    intervals: Intervals | None
    levels: Sequence[IntArray]

    @classmethod
    def of(cls, data: Microdata, name: str, groups: int) -> _Atoms:
        attribute, hierarchy = data[name], data[name].hierarchy
        if attribute.kind == "numeric" and not isinstance(hierarchy, Hierarchy):
            intervals = hierarchy or _even_intervals(data, name, groups)
            starts = np.array([-np.inf, *intervals.cuts[0]])
            coarser = range(2, 1 if hierarchy is None else hierarchy.levels)
            levels = [intervals.positions_of_numbers(starts, level) for level in coarser]
            return cls(attribute, len(intervals.cuts[0]) + 1, (), intervals, levels)
        if isinstance(hierarchy, Hierarchy) and attribute.kind == "numeric":
            names: tuple[Category, ...] = tuple(hierarchy.categories(0))
        else:
            names = tuple(value for value in valid_categories(data, name).domain if value is not None)
        levels = []
        if isinstance(hierarchy, Hierarchy):
            levels = [hierarchy.positions(names, level) for level in range(1, hierarchy.levels)]
        return cls(attribute, len(names), names, None, levels)

    def codes(self, data: Microdata) -> IntArray:
        """Which of the values each record has, -1 where it has none."""
        name, hierarchy = self.attribute.name, self.attribute.hierarchy
        if self.attribute.kind != "numeric":
            codes = valid_categories(data, name).codes
            if self.levels:
                refuse_unlisted(data, name, np.append(self.levels[0], 0)[codes], codes >= 0)
            return codes
        values = data.numbers(name).values
        if self.intervals is not None:
            return self.intervals.positions_of_numbers(values, 1)
        assert isinstance(hierarchy, Hierarchy)
        codes = hierarchy.positions_of_numbers(values, 0)
        refuse_unlisted(data, name, codes, ~np.isnan(values))
        return codes

    def counted(self, data: Microdata) -> IntArray:
        """The codes, with others for missing cells as the schema says: -1 could be any, and every other is one."""
        codes, states = self.codes(data), data.missing_states(self.attribute.name).astype(np.int64)
        return np.where(codes >= 0, codes, -1 if self.attribute.missing == "wildcard" else self.size - 1 + states)

    def column(self, held: IntArray) -> Column:
        """Given how often each code occurs, those of missing cells included."""
        from microveil.numerics.counting.category_merging import Column

        counts = np.zeros(self.size, dtype=np.int64)
        counts[: min(self.size, len(held))] = held[: self.size]
        return Column(counts, self.attribute.kind in ("numeric", "ordinal"), self.levels)

    def merged(self, data: Microdata, group: IntArray) -> Coarse:
        """What was merged, with the names that the hierarchy has for it, if any."""
        codes = self.codes(data)
        if self.intervals is None:
            ordered = self.attribute.kind in ("numeric", "ordinal")
            listed = Categories(self.attribute.name, codes, self.names)
            return merged(listed, group, self._branch_names(group), ordered=ordered)
        kept = np.flatnonzero(group[1:] != group[:-1])
        cuts = np.array(self.intervals.cuts[0])[kept].tolist()
        number = np.unique(group, return_inverse=True)[1].reshape(-1)
        return Coarse(np.append(number, -1)[codes], Intervals.of([cuts]).categories(1), _ends(tuple(cuts)))

    def _branch_names(self, group: IntArray) -> list[str | None] | None:
        """For each code the name of the branch that is exactly its group; none where there is no such branch."""
        hierarchy = self.attribute.hierarchy
        if not isinstance(hierarchy, Hierarchy):
            return None
        found: list[str | None] = [None] * len(group)
        for level, branch in enumerate(self.levels, start=1):
            labels = hierarchy.categories(level)
            for name in np.unique(group):
                members = np.flatnonzero(group == name)
                whole = found[name] is None and len(members) > 1
                if whole and np.array_equal(members, np.flatnonzero(branch == branch[members[0]])):
                    found[name] = labels[branch[members[0]]]
        return [found[name] for name in group]


def _even_intervals(data: Microdata, name: str, groups: int) -> Intervals:
    """About equally frequent intervals of a number."""
    moments = data.facts.moments([name])
    present = int(moments.records[0])
    ranks = cut_ranks(present, groups) if present else []
    at_cuts = data.facts.order_statistics(name, ranks) if ranks else ()
    return Intervals.of([sorted({float(value) for value in at_cuts if value > moments.low[0]})])


def rare_groups(frequencies: IntArray, p: int) -> IntArray:
    """The group of each category when the p least frequent become one, of equally frequent ones the later first.

    >>> rare_groups(np.array([5, 1, 7, 1, 3]), 2).tolist()
    [0, 1, 2, 1, 4]
    """
    groups = np.arange(len(frequencies), dtype=np.int64)
    if p > 1 and len(groups):
        rarest = np.lexsort((-groups, frequencies))[:p]
        groups[rarest] = rarest.min()
    return groups


def _in_intervals(values: FloatArray, intervals: Intervals, level: int = 1) -> Coarse:
    indices = intervals.positions_of_numbers(values, level)
    return Coarse(indices, intervals.categories(level), _ends(intervals.cuts[level - 1]))


def _ends(cuts: tuple[float, ...]) -> FloatArray:
    return np.column_stack([[np.nan, *cuts], [*cuts, np.nan]])


def _as_they_are(values: FloatArray) -> Coarse:
    distinct, indices = np.unique(values, return_inverse=True)
    return Coarse(np.where(np.isnan(values), -1, indices.reshape(-1)), tuple(map(node_text, distinct)))
