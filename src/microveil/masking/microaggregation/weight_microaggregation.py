"""Microaggregation of sampling weights: at least k records, or households, share every released weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from microveil.errors import DataError, ParameterError, SchemaError
from microveil.masking.base import Masked, Method, OfHouseholds
from microveil.masking.households import household_of, units_of
from microveil.masking.microaggregation.classification import Traits
from microveil.masking.notes import STRATA_TOLD, WEIGHTS_GROUPED, WEIGHTS_POOLED, Note
from microveil.masking.partition import Partition
from microveil.masking.preparation.strata import stratum_numbers
from microveil.microdata import Microdata
from microveil.microdata.equivalence_classes import key_codes
from microveil.microdata.microdata import check_records, count
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.grouping.groups import pooled
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, reported
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class _Units:
    """What is grouped: members of a household who have the same weight, or single records.

    `first` is the first record of each unit, `sizes` the number of its records.
    """

    of_record: IntArray
    first: IntArray
    sizes: IntArray
    household: IntArray
    stratum: IntArray
    word: str

    @classmethod
    def of(cls, data: Microdata, name: str, present: IntArray) -> _Units:
        """Of the records that have a weight."""
        home = household_of(data)
        unit = np.arange(len(data)) if home is None else units_of(data, home, [name])
        _, first, of_record, sizes = np.unique(
            unit[present], return_index=True, return_inverse=True, return_counts=True
        )
        first = present[first]
        household = np.arange(len(data)) if home is None else home
        stratum = stratum_numbers(data, "") if data.schema.having("stratum") else np.zeros(len(data), dtype=np.int64)
        word = "records" if home is None else "households"
        return cls(of_record.reshape(-1), first, sizes.astype(np.int64), household[first], stratum[first], word)


@parameterised
class WeightMicroaggregation(Method):
    """Groups similar sampling weights and releases their mean, so that at least k records share every weight.

    A weight tells the stratum of the design, the size of the household or a unit drawn with its own probability, though
    none of these is released. The weights are put in order and grouped with the least sum of squares, in groups of at
    least k records; where households are declared, of k households, and members with the same weight keep sharing
    one. A group releases the mean of its records' weights, so that their total is kept, up to the rounding of the last
    digit. With `within`, groups are made inside every combination of these attributes, and the total of each is kept.

    A stratum with k records or more and one weight for all is told by its weight all the same; with `strata = 2` every
    weight is shared by records of two strata at least. A note says how many released weights tell one stratum.

    It masks the attribute with the role weight, unless others are named, such as replicate weights, each by itself.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"w": [10.0, 10.5, 11.0, 40.0, 41.0, 99.0]}, weight="w")
    >>> WeightMicroaggregation(k=3).mask(people).frame["w"].to_pylist()
    [10.5, 10.5, 10.5, 60.0, 60.0, 60.0]
    """

    name: ClassVar[str] = "weight-microaggregation"
    family: ClassVar[str] = "microaggregation"
    traits: ClassVar[Traits] = Traits("univariate", "data-oriented", "heuristic")
    summary: ClassVar[str] = "sampling weights in groups of at least k records with one weight; totals stay as they are"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    random: ClassVar[bool] = False
    of_households: ClassVar[OfHouseholds] = "itself"
    missing: ClassVar[str] = "missing weights and missing codes stay as they are and belong to no group"
    weights: ClassVar[str] = "they are what is masked: groups of similar weights get their mean, and totals are kept"
    source: ClassVar[str] = (
        "de Waal and Willenborg (1997) on what weights tell; Hansen and Mukherjee (2003) on optimal groups"
    )

    k: int = parameter(
        default=3,
        help="fewest records, or households where these are declared, that share a weight",
        ge=1,
        le=MOST_RECORDS,
    )
    within: tuple[str, ...] = parameter(
        default=(),
        help="attributes in whose every combination the total of the weights is kept, such as published strata; "
        "combinations of too few records are pooled",
    )
    strata: int = parameter(
        default=1, help="fewest strata of the design (role stratum) that share a weight", ge=1, le=MOST_RECORDS
    )

    def _chosen(self, table: Microdata, attributes: Sequence[str] | None) -> tuple[str, ...]:
        if attributes is None and table.schema.weight is not None:
            return (table.schema.weight,)
        if attributes is None and table.schema.has_roles:
            raise SchemaError(
                f"{self.name}: no attribute is the sampling weight; declare it with --weight NAME, or name the weights"
            )
        return super()._chosen(table, attributes)

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        check_records(data, self.k, f"{self.name} with k = {self.k}")
        if self.strata > 1:
            stratum_numbers(data, f"{self.name}: strata = {self.strata} is not allowed")
        for name in self.within:
            if name in attributes:
                raise ParameterError(f"{self.name}: within = '{name}' is not allowed, for it is masked")
            data[name]
        partitions: dict[tuple[str, ...], Partition] = {}
        columns, notes = {}, list[Note]()
        for name in reported(attributes, progress, self.name):
            values = data.numbers(name).values
            labels = np.full(len(data), -1, dtype=np.int64)
            present = np.flatnonzero(~np.isnan(values))
            if len(present):
                labels[present], said = self._grouped(data, name, values, present)
                values[present] = _means(values[present], labels[present])
                notes += said
            columns[name] = data.number_column(name, values)
            partitions[name,] = Partition.of(labels)
        return Masked(columns, partitions, notes=tuple(notes))

    def _grouped(
        self, data: Microdata, name: str, values: FloatArray, present: IntArray
    ) -> tuple[IntArray, list[Note]]:
        """The groups of the records that have a weight, and what there is to say."""
        from microveil.numerics.grouping.univariate import optimal_groups

        units = _Units.of(data, name, present)
        cells = self._cells(data, name, units, present)
        labels, used = np.empty(len(units.first), dtype=np.int64), 0
        for members in pooled(cells, self.k):
            weights = values[units.first[members]]
            groups = np.zeros(len(members), dtype=np.int64)
            if len(members) >= 2 * self.k:
                groups = optimal_groups(weights, self.k)
            groups = self._large_enough(groups, weights, units, members)
            labels[members] = used + groups
            used += int(groups.max()) + 1
        held = number_rows([labels, units.household])[1]
        smallest = int(np.bincount(labels[held]).min())
        notes: list[Note] = [
            WEIGHTS_GROUPED(
                method=self.name, attribute=name, before=len(np.unique(values[present])), after=used,
                smallest=smallest, units=units.word,
            )
        ]  # fmt: skip
        small = sum(len(members) < self.k for members in cells)
        if small:
            notes.append(WEIGHTS_POOLED(method=self.name, cells=small, attributes=self.within))
        if len(np.unique(units.stratum)) > 1:
            pairs = number_rows([labels, units.stratum])[1]
            told = int((np.bincount(labels[pairs]) == 1).sum())
            if told:
                notes.append(STRATA_TOLD(method=self.name, weights=told, attribute=name))
        return labels[units.of_record], notes

    def _cells(self, data: Microdata, name: str, units: _Units, present: IntArray) -> list[IntArray]:
        """The units of each combination of the attributes within which totals are kept."""
        if not self.within:
            return [np.arange(len(units.first))]
        cell = number_rows([key_codes(data, attribute) + 1 for attribute in self.within])[0]
        differing = len(np.unique(units.of_record[cell[units.first][units.of_record] != cell[present]]))
        if differing:
            raise ParameterError(
                f"{self.name}: within = {', '.join(self.within)} is not allowed, for members of "
                f"{count(differing, 'household')} with one weight differ in it; name attributes that members share"
            )
        return Partition.of(cell[units.first]).groups

    def _large_enough(self, groups: IntArray, weights: FloatArray, units: _Units, members: IntArray) -> IntArray:
        """Neighbouring groups joined until each has k households and as many strata as asked for."""
        order = np.argsort(weights, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        joined = np.empty(len(groups), dtype=np.int64)
        number, homes, strata = 0, set[int](), set[int]()
        for rows in np.split(order, starts[1:]):
            joined[rows] = number
            homes.update(units.household[members[rows]].tolist())
            strata.update(units.stratum[members[rows]].tolist())
            if len(homes) >= self.k and len(strata) >= self.strata:
                number, homes, strata = number + 1, set(), set()
        if number == 0:
            short = units.word if len(homes) < self.k else "strata"
            least = self.k if len(homes) < self.k else self.strata
            raise DataError(
                f"{self.name}: there are fewer than {least} {short} to share a weight"
                + (f" within a combination of {', '.join(self.within)}" if self.within else "")
            )
        joined[joined == number] = number - 1  # what is left over joins the last group
        return joined


def _means(values: FloatArray, labels: IntArray) -> FloatArray:
    """The mean of every group for its records, exact but for one rounding; a common value stays as it is."""
    found = np.empty(len(values))
    for rows in Partition.of(labels).groups:
        low, high = values[rows].min(), values[rows].max()
        found[rows] = low if low == high else min(high, max(low, math.fsum(values[rows]) / len(rows)))
    return found
