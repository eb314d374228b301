"""Global recoding: an attribute is published in broader categories or intervals, the same for all records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pydantic

from microveil.errors import DataError, ParameterError
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
from microveil.microdata.combinations import canonical, combinations_of, population_weights
from microveil.microdata.hierarchies import check_width, cut_ranks, equal_width, frequency_cuts
from microveil.microdata.hierarchy import Hierarchy, Intervals, check_level, node_text
from microveil.microdata.microdata import check_records, count
from microveil.microdata.schema import KINDS
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.parameters import LARGEST_NUMBER, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, reported
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.counting.category_merging import Wanted

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
        if self.by == "automatic":
            return "whole table"
        return "per record" if self.publish == "label" or self.centre == "mean" else "whole table"

    def _cuts(self) -> tuple[float, ...]:
        return self.cuts if isinstance(self.cuts, tuple) else () if self.cuts is None else (self.cuts,)

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        notes: tuple[Note, ...] = ()
        if self.by == "automatic":
            if self.combinations is None:
                check_records(data, self.k, f"recode with k = {self.k}")
            coarse, notes = self._automatic(data, attributes, Part(progress, 0.0, 0.8))
        else:
            names = reported(attributes, Part(progress, 0.0, 0.8), self.name)
            coarse = {name: self._coarse(data, name) for name in names}
        columns: dict[str, pa.Array] = {}
        changed: list[Attribute] = []
        for name in attributes:
            whole = whole_of(data, name, partial(self._coarse, name=name)) if self.publish != "label" else None
            columns[name], attribute = published(data, name, coarse[name], self.publish, self.centre, whole)
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
        least, largest, present = float(moments.low[0]), float(moments.high[0]), int(moments.records[0])
        if least >= largest:
            return Intervals.of([()])
        if self.by == "frequency":
            at_cuts = data.facts.order_statistics(name, cut_ranks(present, self.groups))
            return Intervals.of([sorted({float(value) for value in at_cuts if value > least})])
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
    ) -> tuple[dict[str, Coarse], tuple[Note, ...]]:
        from microveil.numerics.counting.category_merging import merge_until_frequent
        from microveil.numerics.counting.local_suppression import sums_by_number

        atoms = {name: _Atoms(data, name, self.groups) for name in attributes}
        codes = [atoms[name].counted for name in attributes]
        number, first = number_rows([c + 1 for c in codes])
        rows = np.column_stack([c[first] for c in codes])
        columns = [atoms[name].column for name in attributes]
        spare = int(self.leave * len(data) + 1e-9)
        measures, wanted = self._wanted(data, attributes)
        left = merge_until_frequent(
            rows, sums_by_number(number, measures, len(first)), columns, wanted, spare, progress
        )
        if left > spare:
            rare = f"share their pattern of missing values with fewer than {self.k}"
            rare = rare if self.combinations is None else "are in combinations that are too rare"
            raise DataError(
                f"even with everything merged {count(left, 'record')} {rare}; leave them to suppress (leave = "
                f"{left / len(data):.2g}) or declare missing wildcards"
            )
        coarse = {name: atoms[name].merged() for name in attributes}
        fewer = tuple(
            VALUES_OF_ATTRIBUTE(attribute=name, before=len(atoms[name].codes_held), after=len(coarse[name].labels))
            for name in attributes
        )
        if self.combinations is not None:
            return coarse, (VALUES_MERGED_FOR_COMBINATIONS(method=self.name, attributes=fewer, left=left),)
        return coarse, (VALUES_MERGED(method=self.name, attributes=fewer, left=left, k=self.k),)

    def _wanted(self, data: Microdata, attributes: tuple[str, ...]) -> tuple[FloatArray, list[Wanted]]:
        """What each record counts for, under each measure, and how much must agree on which columns."""
        from microveil.numerics.counting.category_merging import Wanted

        measures = [np.ones(len(data))]
        if self.combinations is None:
            return np.column_stack(measures), [Wanted(np.arange(len(attributes)), 0, float(self.k))]
        wanted = []
        for asked in combinations_of(self.combinations):
            if asked.population and len(measures) == 1:
                measures.append(population_weights(data, f"'{asked}'"))
            for names in asked.sets(attributes):
                for name in set(names) - set(attributes):
                    raise ParameterError(
                        f"recode: a combination names '{name}', which is not among the attributes to mask"
                    )
                columns = np.array([attributes.index(name) for name in names], dtype=np.int64)
                wanted.append(Wanted(columns, int(asked.population), asked.at_least))
        return np.column_stack(measures), wanted


class _Atoms:
    """The finest values that automatic recoding starts from: categories, or intervals of numbers."""

    def __init__(self, data: Microdata, name: str, groups: int) -> None:
        from microveil.numerics.counting.category_merging import Column

        self.attribute = data[name]
        self.hierarchy = self.attribute.hierarchy
        self.categories: Categories | None = None
        self.intervals: Intervals | None = None
        if self.attribute.kind == "numeric":
            values = data.numbers(name).values
            self.codes, size = self._start_intervals(data, name, values, groups)
        else:
            self.categories = valid_categories(data, name)
            self.codes, size = self.categories.codes, len(self.categories.domain)
        counts = np.bincount(self.codes[self.codes >= 0], minlength=size).astype(np.int64)
        states = data.missing_states(name).astype(np.int64)
        policy = self.attribute.missing
        self.counted = np.where(self.codes >= 0, self.codes, -1 if policy == "wildcard" else size - 1 + states)
        self.codes_held = np.flatnonzero(counts)
        ordered = self.attribute.kind in ("numeric", "ordinal")
        self.column = Column(counts, ordered, self._levels(data, size))

    def _start_intervals(self, data: Microdata, name: str, values: FloatArray, groups: int) -> tuple[IntArray, int]:
        if isinstance(self.hierarchy, Hierarchy):
            indices = self.hierarchy.positions_of_numbers(values, 0)
            refuse_unlisted(data, name, indices, ~np.isnan(values))
            return indices, len(self.hierarchy.categories(0))
        if isinstance(self.hierarchy, Intervals):
            self.intervals = self.hierarchy
        else:
            present = np.sort(values[~np.isnan(values)])
            self.intervals = Intervals.of([frequency_cuts(present, groups) if len(present) else ()])
        return self.intervals.positions_of_numbers(values, 1), len(self.intervals.cuts[0]) + 1

    def _levels(self, data: Microdata, size: int) -> Sequence[IntArray]:
        """For each level of the hierarchy the branch of each value; nothing where there is none."""
        if isinstance(self.hierarchy, Intervals):
            starts = np.array([-np.inf, *self.hierarchy.cuts[0]])
            return [self.hierarchy.positions_of_numbers(starts, level) for level in range(2, self.hierarchy.levels)]
        if not isinstance(self.hierarchy, Hierarchy):
            return ()
        names = self.hierarchy.categories(0) if self.categories is None else self.categories.domain
        levels = [self.hierarchy.positions(names, level) for level in range(1, self.hierarchy.levels)]
        present = np.append(levels[0] if levels else np.zeros(size, np.int64), 0)[self.codes]
        refuse_unlisted(data, self.attribute.name, present, self.codes >= 0)
        return levels

    def merged(self) -> Coarse:
        """What was merged, with the names that the hierarchy has for it, if any."""
        group = self.column.group
        names = self._branch_names(group)
        if self.categories is not None:
            ordered = self.attribute.kind == "ordinal"
            return merged(self.categories, group, names, ordered=ordered)
        if self.intervals is None:
            listed = Categories(self.attribute.name, self.codes, tuple(self.hierarchy.categories(0)))  # type: ignore[union-attr]
            return merged(listed, group, names, ordered=True)
        kept = np.flatnonzero(group[1:] != group[:-1])
        cuts = np.array(self.intervals.cuts[0])[kept].tolist()
        number = np.unique(group, return_inverse=True)[1].reshape(-1)
        indices = np.append(number, -1)[self.codes]
        return Coarse(indices, Intervals.of([cuts]).categories(1), _ends(tuple(cuts)))

    def _branch_names(self, group: IntArray) -> list[str | None] | None:
        """For each code the name of the branch that is exactly its group; none where there is no such branch."""
        if not isinstance(self.hierarchy, Hierarchy):
            return None
        found: list[str | None] = [None] * len(group)
        for level, branch in enumerate(self.column.levels, start=1):
            labels = self.hierarchy.categories(level)
            for name in np.unique(group):
                members = np.flatnonzero(group == name)
                whole = found[name] is None and len(members) > 1
                if whole and np.array_equal(members, np.flatnonzero(branch == branch[members[0]])):
                    found[name] = labels[branch[members[0]]]
        return [found[name] for name in group]


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
