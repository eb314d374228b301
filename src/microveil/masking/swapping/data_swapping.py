"""Data swapping: values change places between records of the same cell of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method
from microveil.masking.likelihood import Kept, Statement
from microveil.masking.ranges import Interval, OneOf, Ranges, ranges
from microveil.masking.swapping.ranks import MISSING, WEIGHTS
from microveil.microdata import Microdata
from microveil.microdata.equivalence_classes import equivalence_classes_of
from microveil.microdata.schema import KINDS
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import Streams
from microveil.typing import BoolArray, IntArray


@parameterised
class DataSwapping(Method):
    """Pairs of records, drawn at random, exchange their values of an attribute; each attribute has pairs of its own.

    Given attributes to swap within, both records of a pair agree on all of these, so every table of the swapped
    attribute with them stays exactly as it is (as long as they are not swapped themselves). A record without another
    in its cell keeps its value. The pairs can be those with the rarest combination of keys first, so that the records
    most at risk are swapped. Pairs may hold equal values: fewer cells change than are swapped.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": ["f", "m", "f", "m"], "income": [10, 20, 30, 40]})
    >>> DataSwapping(share=1.0, within=["sex"]).mask(people, ["income"], seed=1).frame["income"].to_pylist()
    [30, 40, 10, 20]
    """

    name: ClassVar[str] = "data-swapping"
    family: ClassVar[str] = "swapping"
    summary: ClassVar[str] = "values are swapped between records that agree on other attributes"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        f"{MISSING}; in the attributes to swap within, missing agrees with missing only, and in the keys as their "
        "schema says"
    )
    weights: ClassVar[str] = WEIGHTS.replace("ranks count", "shares count")
    source: ClassVar[str] = "Dalenius and Reiss (1982); Fayyoumi (2008), section 2.5.1"
    searched: ClassVar[Ranges] = ranges(share=Interval(0.02, 1.0, logarithmic=True), together=OneOf((False, True)))

    share: float = parameter(default=0.2, help="share of the records that take part in an exchange", ge=0, le=1)
    within: tuple[str, ...] | None = parameter(
        default=None, help="attributes on which both records of a pair agree; unset: the strata of the schema"
    )
    first: Literal["random", "rare"] = parameter(
        default="random",
        help="which pairs are swapped: random ones, or those with the rarest combinations of keys first (rare)",
    )
    keys: tuple[str, ...] | None = parameter(
        default=None, help="attributes whose rare combinations are swapped first; unset: the keys of the schema"
    )
    together: bool = parameter(
        default=False,
        help="whether all attributes are exchanged between the same pairs, which preserves the relations among them",
    )

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        for name in self.within or ():
            if name in attributes:
                raise ParameterError(f"{self.name}: within = '{name}' is not allowed, for this attribute is swapped")
        frequencies = self._frequencies(data)
        blocks = [attributes] if self.together else [(name,) for name in attributes]
        columns: dict[str, pa.Array] = {}
        cells: dict[tuple[str, ...], IntArray] = {}
        for block, part in zip(blocks, parts(progress, len(blocks)), strict=True):
            present = np.all([_present(data, name) for name in block], axis=0)
            within = self._within(data, block)
            if within not in cells:
                cells[within] = _cells_of(data, within)
            receives = self._exchange(cells[within], frequencies, present, streams.generator(*block))
            columns |= {name: data.reordered_column(name, receives) for name in block}
            part(1.0, f"{self.name}: {', '.join(block)}")
        return Masked(columns)

    def likelihood(
        self, data: Microdata, attributes: tuple[str, ...], streams: Streams
    ) -> Mapping[tuple[str, ...], Statement]:
        if self.first == "rare":
            return {}
        blocks = [attributes] if self.together else [(name,) for name in attributes]
        return {block: Kept(1.0 - self.share) for block in blocks}

    def _frequencies(self, data: Microdata) -> IntArray:
        """For each record how rare it is, as far as that matters."""
        if self.first == "random":
            return np.zeros(len(data), dtype=np.int64)
        keys = self.keys or data.schema.keys
        if not keys:
            raise DataError(
                f"{self.name} puts rare combinations of keys first, but no attribute is a key; name the keys"
            )
        return equivalence_classes_of(data, keys).per_record

    def _within(self, data: Microdata, swapped: tuple[str, ...]) -> tuple[str, ...]:
        """The attributes that make the cells; one that is swapped is none of its own cells' attributes."""
        within = data.schema.having("stratum") if self.within is None else self.within
        return tuple(name for name in within if name not in swapped)

    def _exchange(
        self, cells: IntArray, frequencies: IntArray, present: BoolArray, rng: np.random.Generator
    ) -> IntArray:
        """For each record, whose cell it receives."""
        receives = np.arange(len(cells))
        records = np.flatnonzero(present)
        order = records[np.lexsort((rng.random(len(records)), frequencies[records], cells[records]))]
        begins = np.flatnonzero(np.diff(cells[order], prepend=-1))
        sizes = np.diff(begins, append=len(order))
        half = np.repeat(sizes // 2, sizes)
        position = np.arange(len(order)) - np.repeat(begins, sizes)
        # the rarer half of a cell is paired with the other, and where one is left over it is the most frequent
        lower = np.flatnonzero(position < half)
        one, other = order[lower], order[lower + half[lower]]
        wanted = min(len(one), round(self.share * len(records) / 2))
        chosen = np.lexsort((rng.random(len(one)), frequencies[one]))[:wanted]
        receives[one[chosen]], receives[other[chosen]] = other[chosen], one[chosen]
        return receives


def _present(data: Microdata, name: str) -> BoolArray:
    if data[name].is_categorical:
        data.categories(name)  # refuses what the schema refuses
    return np.asarray(data.missing_states(name) == 0)


def _cells_of(data: Microdata, within: tuple[str, ...]) -> IntArray:
    """The number of each record's cell."""
    return equivalence_classes_of(data, within).of_record if within else np.zeros(len(data), dtype=np.int64)
