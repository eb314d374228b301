"""Sampling: only some of the records are released."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method, OfHouseholds, OverRecords
from microveil.masking.households import household_of
from microveil.masking.notes import HOUSEHOLDS_DRAWN, RELEASED_AS_THEY_ARE, Note
from microveil.masking.preparation.strata import stratum_numbers
from microveil.microdata import Microdata
from microveil.microdata.equivalence_classes import key_codes
from microveil.microdata.schema import KINDS
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams
from microveil.typing import IntArray

_DRAWN_AT_A_TIME = 2**22


class Limit(NamedTuple):
    """The largest of the numbers drawn for the records that are released, and the place of the last that has it."""

    value: float
    place: int


def limit_of_smallest(records: int, wanted: int, streams: Streams, *labels: str) -> Limit:
    """Where the smallest of the numbers drawn for so many records end. No more are kept than lie around that.

    >>> drawn = Streams(7).uniforms(range(1000), "records")
    >>> bool(limit_of_smallest(1000, 10, Streams(7), "records").value == sorted(drawn)[9])
    True
    """
    share = wanted / records
    around = 8.0 * math.sqrt(share * (1.0 - share) / records) + 8.0 / records  # never missed, as far as chances go
    below, kept, places = 0, [], []
    for start in range(0, records, _DRAWN_AT_A_TIME):
        part = range(start, min(records, start + _DRAWN_AT_A_TIME))
        drawn = streams.uniforms(part, *labels)
        below += int((drawn < share - around).sum())
        near = np.flatnonzero(np.abs(drawn - share) <= around)
        kept.append(drawn[near])
        places.append(start + near)
    values, at = np.concatenate(kept), np.concatenate(places)
    if not below < wanted <= below + len(values):
        raise DataError("the random numbers of this seed cannot be told apart; choose another seed")
    last = np.lexsort((at, values))[wanted - below - 1]
    return Limit(float(values[last]), int(at[last]))


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
        order = np.lexsort((streams.generator("records").random(len(first)), strata))
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

    @property
    def works_over(self) -> OverRecords:
        return "whole table" if self.stratified else "per record"

    def _of_part(self, data: Microdata, attributes: tuple[str, ...], streams: Streams) -> Masked:
        """The records of a part that are in a simple sample of the whole table."""
        records = data.facts.records
        (wanted,) = self._wanted(np.array([records]), "records").tolist()
        limit: Limit = data.facts.once("sampling", lambda: limit_of_smallest(records, wanted, streams, "records"))
        drawn = streams.uniforms(data.places, "records")
        places = np.arange(data.places.start, data.places.stop)
        rows = np.flatnonzero((drawn < limit.value) | ((drawn == limit.value) & (places <= limit.place)))
        columns, changed = {}, []
        weight = data.schema.weight
        if weight is not None and self.adjust and wanted < records:
            share = max(wanted / records, 1e-300)
            limits = data[weight].range
            if limits is not None and data.facts.moments([weight]).high[0] / share > limits[1]:
                changed.append(data[weight].changed(range=None))
            unlimited = replace(data, schema=data.schema.replacing(*changed))
            columns[weight] = unlimited.number_column(weight, data.numbers(weight).values / share)
        return Masked(columns, notes=self._notes(data, attributes), attributes=tuple(changed), rows=rows)

    @staticmethod
    def _units(data: Microdata) -> tuple[IntArray, IntArray]:
        """What is drawn: the number of each record's unit, and the first record of each unit."""
        household = household_of(data) if data.schema.household_attributes else None
        if household is None:
            return np.arange(len(data)), np.arange(len(data))
        return household, np.unique(household, return_index=True)[1]

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
