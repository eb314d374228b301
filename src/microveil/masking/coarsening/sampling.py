"""Sampling: only some of the records are released."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method, OfHouseholds, OverRecords
from microveil.masking.households import household_of
from microveil.masking.notes import HOUSEHOLDS_DRAWN, RELEASED_AS_THEY_ARE, Note
from microveil.masking.preparation.strata import stratum_numbers
from microveil.microdata import Microdata
from microveil.microdata.equivalence_classes import equivalence_classes_of, key_codes
from microveil.microdata.schema import KINDS
from microveil.numerics.core.draws import uniforms
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams
from microveil.typing import Bits, BoolArray, FloatArray, IntArray, Places

_LABEL = "records"  # of the stream of the numbers that decide


class _Near(NamedTuple):
    """Of some records, how many of each stratum drew a number that is surely small enough, and those of which it is not
    sure: their strata, their numbers and their places."""

    below: IntArray
    strata: IntArray
    drawn: FloatArray
    places: Bits


class Limits(NamedTuple):
    """By stratum, the largest of the numbers drawn for the records that are released, and the place of the last of
    those that have it."""

    values: FloatArray
    places: Bits

    def released(self, strata: IntArray, drawn: FloatArray, places: Bits) -> BoolArray:
        limit = self.values[strata]
        return np.asarray((drawn < limit) | ((drawn == limit) & (places <= self.places[strata])))


@dataclass(frozen=True)
class _Draws:
    """The draws of a sample of so many records of each stratum."""

    wanted: IntArray
    sizes: IntArray
    strata_of: Callable[[Microdata], IntArray]
    streams: Streams

    def of(self, data: Microdata) -> tuple[IntArray, FloatArray, Bits]:
        """The stratum of each of some records, the number it drew, and its place."""
        return self.strata_of(data), uniforms(self.streams, data.places, _LABEL), _as_bits(data.places)

    def near(self, data: Microdata) -> _Near:
        """Around the share of a stratum, no more records than chance may have moved to the other side of it."""
        strata, drawn, places = self.of(data)
        low, high = self._around
        below = np.bincount(strata[drawn < low[strata]], minlength=len(low)).astype(np.int64)
        unsure = np.flatnonzero((drawn >= low[strata]) & (drawn <= high[strata]))
        return _Near(below, strata[unsure], drawn[unsure], places[unsure])

    @property
    def _around(self) -> tuple[FloatArray, FloatArray]:
        """By stratum, between which numbers the limit lies, as far as chances go."""
        share = self.wanted / self.sizes
        around = 8.0 * np.sqrt(share * (1.0 - share) / self.sizes) + 8.0 / self.sizes
        return share - around, share + around

    def limits(self, found: Sequence[_Near]) -> Limits:
        """Where the smallest numbers of each stratum end."""
        below: IntArray = np.sum([one.below for one in found], axis=0, dtype=np.int64)
        strata, drawn, places = (
            np.concatenate([getattr(one, name) for one in found]) for name in ("strata", "drawn", "places")
        )
        order = np.lexsort((places, drawn, strata))
        starts = np.searchsorted(strata[order], np.arange(len(self.sizes) + 1))
        missing = self.wanted - below
        if ((missing < 0) | (missing > np.diff(starts))).any():
            raise DataError("the random numbers of this seed cannot be told apart; choose another seed")
        surely = np.nextafter(self._around[0], -np.inf)  # where those that are sure are enough
        limits = Limits(surely, np.full(len(self.sizes), np.iinfo(np.uint64).max, dtype=np.uint64))
        more = missing > 0
        last = order[(starts[:-1] + missing - 1)[more]]
        limits.values[more], limits.places[more] = drawn[last], places[last]
        return limits


def _as_bits(places: Places) -> Bits:
    return np.arange(places.start, places.stop, dtype=np.uint64) if isinstance(places, range) else places


@parameterised
class Sampling(Method):
    """Releases a random part of the records, in their order; nobody can be sure that a person is in it.

    The sample is a share of the records (rounded up) or a number of them; stratified, it has that share of every
    stratum. Where the schema declares attributes of the household, whole households are drawn, and share and size
    count these; a household is in its first member's stratum. Sampling protects categories. Numbers come out as they
    went in, so whoever has them from elsewhere finds their record: mask numeric attributes too.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"job": ["cook", "nurse", "cook", "judge"], "w": [10.0, 20.0, 10.0, 30.0]}, weight="w")
    >>> release = Sampling(share=0.5).mask(people, ["job"], seed=1)
    >>> len(release), release.rows.tolist(), release.frame["w"].to_pylist()
    (2, [0, 1], [20.0, 40.0])
    """

    name: ClassVar[str] = "sampling"
    family: ClassVar[str] = "coarsening"
    summary: ClassVar[str] = "only a random sample of the records is released"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = "missing cells are released as they are; a missing stratum is a stratum of its own"
    weights: ClassVar[str] = "divided by the probability of being in the sample, unless `adjust` says no"
    changes_values: ClassVar[bool] = False
    of_households: ClassVar[OfHouseholds] = "itself"
    over_records: ClassVar[OverRecords] = "per record"
    source: ClassVar[str] = "Willenborg and de Waal (2001); Fayyoumi (2008), section 2.5.2"

    share: float = parameter(default=0.5, help="share of the records to release, rounded up", gt=0, le=1)
    size: int | None = parameter(
        default=None, help="number of records to release, instead of a share", ge=1, le=MOST_RECORDS
    )
    stratified: bool = parameter(
        default=False, help="whether every stratum (attributes with that role) is sampled by itself"
    )
    adjust: bool = parameter(
        default=True, help="whether the weights are divided by the probability of being in the sample"
    )

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        for name in attributes:
            key_codes(data, name)  # refuses what the schema does not allow
        if data.part is not None:
            return self._of_part(data, attributes, streams)
        unit, first = self._units(data)
        strata = self._strata(data)[first]
        sizes = np.bincount(strata)
        wanted = self._wanted(sizes, "records" if len(first) == len(data) else "households")
        places = self._places(data, unit, first)
        order = np.lexsort((_as_bits(places), uniforms(streams, places, _LABEL), strata))
        position = np.arange(len(first)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        drawn = np.zeros(len(first), dtype=np.bool_)
        drawn[order[position < wanted[strata[order]]]] = True
        rows = np.flatnonzero(drawn[unit])
        progress(0.9, f"{self.name}: records drawn")
        columns, changed = {}, []
        weight = data.schema.weight
        if weight is not None and self.adjust and len(rows) < len(data):
            values = data.numbers(weight).values / np.maximum(wanted / sizes, 1e-300)[strata][unit]
            limits = data[weight].range
            if limits is not None and np.nanmax(values[rows]) > limits[1]:
                changed.append(data[weight].changed(range=None))
            unlimited = replace(data, schema=data.schema.replacing(*changed))
            columns[weight] = unlimited.number_column(weight, values)
        notes = self._notes(data, attributes)
        if len(first) < len(data):
            notes += (HOUSEHOLDS_DRAWN(method=self.name, drawn=int(drawn.sum()), of=len(first)),)
        return Masked(columns, notes=notes, attributes=tuple(changed), rows=rows)

    def _of_part(self, data: Microdata, attributes: tuple[str, ...], streams: Streams) -> Masked:
        """The records of a part that are in the sample of the whole table."""
        facts, stratum = data.facts, data.schema.having("stratum") if self.stratified else ()
        sizes = self._sizes(data, stratum)
        wanted = self._wanted(sizes, "records")
        draws = _Draws(wanted, sizes, self._strata, streams)
        limits: Limits = facts.gathered("sampling", stratum or attributes[:1], draws.near, draws.limits)
        rows = np.flatnonzero(limits.released(*draws.of(data)))
        columns, changed = {}, []
        weight = data.schema.weight
        if weight is not None and self.adjust and wanted.sum() < facts.records:
            share = np.maximum(wanted / sizes, 1e-300)

            def adjusted(part: Microdata) -> FloatArray:
                return part.numbers(weight).values / share[self._strata(part)]

            def largest(part: Microdata) -> float:
                values = adjusted(part)[limits.released(*draws.of(part))]
                return float(np.nanmax(values, initial=-np.inf))

            limit = data[weight].range
            if limit is not None and facts.gathered("largest weight", (weight, *stratum), largest, max) > limit[1]:
                changed.append(data[weight].changed(range=None))
            unlimited = replace(data, schema=data.schema.replacing(*changed))
            columns[weight] = unlimited.number_column(weight, adjusted(data))
        return Masked(columns, notes=self._notes(data, attributes), attributes=tuple(changed), rows=rows)

    @staticmethod
    def _sizes(data: Microdata, stratum: tuple[str, ...]) -> IntArray:
        """How many records of the whole table each stratum has."""
        if not stratum:
            return np.array([data.facts.records])
        counted = data.facts.counted(stratum)
        classes = equivalence_classes_of(counted.data, stratum)
        return np.bincount(classes.of_record, weights=counted.counts, minlength=len(classes)).astype(np.int64)

    @staticmethod
    def _units(data: Microdata) -> tuple[IntArray, IntArray]:
        """What is drawn: the number of each record's unit, and the first record of each unit."""
        household = household_of(data) if data.schema.household_attributes else None
        if household is None:
            return np.arange(len(data)), np.arange(len(data))
        return household, np.unique(household, return_index=True)[1]

    @staticmethod
    def _places(data: Microdata, unit: IntArray, first: IntArray) -> Places:
        """Where the numbers of the units are in a random stream: that of a household is by the least id of a member."""
        places = data.places
        if isinstance(places, range):
            return range(len(first))
        least = np.full(len(first), np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(least, unit, places)
        return least

    def _strata(self, data: Microdata) -> IntArray:
        """The number of each record's stratum; one for all in a simple sample."""
        if not self.stratified:
            return np.zeros(len(data), dtype=np.int64)
        return stratum_numbers(data, f"{self.name}: stratified = True is not allowed")

    def _wanted(self, sizes: IntArray, units: str) -> IntArray:
        """How many units of each stratum are released; a number is divided by size, the largest remainders first."""
        if self.size is None:
            # a share such as 0.1 of 30 must not become 4 through rounding
            return np.array([math.ceil(self.share * size * (1.0 - 1e-12)) for size in sizes], dtype=np.int64)
        total = int(sizes.sum())
        if self.size > total:
            raise ParameterError(f"sampling: size = {self.size} is not allowed; the table has {total:,} {units}")
        quotas = self.size * sizes / total
        wanted = np.floor(quotas + 1e-9).astype(np.int64)
        largest = np.argsort(-(quotas - wanted), kind="stable")
        wanted[largest[: self.size - int(wanted.sum())]] += 1
        return wanted

    def _notes(self, data: Microdata, attributes: tuple[str, ...]) -> tuple[Note, ...]:
        numeric = [name for name in attributes if data[name].kind == "numeric"]
        return (RELEASED_AS_THEY_ARE(method=self.name, attributes=tuple(numeric)),) if numeric else ()
