"""Targeted record swapping: households that stand out where they live change places with similar ones elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from microveil.errors import ParameterError
from microveil.masking.base import Masked, Method, OfHouseholds
from microveil.masking.households import compositions, household_of, units_of
from microveil.masking.notes import HOUSEHOLDS_SWAPPED, NO_PARTNER, Note
from microveil.masking.ranges import GROUP_SIZES, Interval, Ranges, ranges
from microveil.microdata import Microdata
from microveil.microdata.equivalence_classes import EquivalenceClasses, key_codes
from microveil.microdata.microdata import resolve_attributes
from microveil.microdata.schema import KINDS
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import Streams
from microveil.typing import BoolArray, IntArray


@dataclass(frozen=True)
class _Units:
    """The households of a table: the number of each record's, one record of each, how many members each has, and
    whether it is known where it lives."""

    of_record: IntArray
    first: IntArray
    sizes: IntArray
    placed: BoolArray

    @classmethod
    def of(cls, data: Microdata, attributes: tuple[str, ...]) -> _Units:
        """Members who live at different places count as households apart; a record without a household is its own."""
        household = household_of(data)
        unit = np.arange(len(data)) if household is None else units_of(data, household, attributes)
        _, first, sizes = np.unique(unit, return_index=True, return_counts=True)
        placed = np.all([data.missing_states(name)[first] == 0 for name in attributes], axis=0)
        return cls(unit, first, sizes.astype(np.int64), placed)


@parameterised
class RecordSwapping(Method):
    """Households exchange where they live: the attributes to mask, such as region, district and municipality, from the
    largest areas to the smallest.

    A household is at risk in an area if fewer than k persons there have the combination of risk attributes of one of
    its members. From the largest areas down, every household at risk exchanges places with one of another area; of
    the same area above it, if there is one, else of any. Beyond these, households drawn at random are swapped until
    the share of all is reached. Both households of a pair have the same number of members and the same values of the
    `similar` attributes, whichever member has which; where there is no such partner, the last of these attributes is
    given up, then the one before it, and so on. A household is swapped once at most.

    Everything but the place stays as it is, and so does every household; every area keeps the number of its households
    and of its persons, and where no attribute had to be given up, every table of the areas with the similar attributes.

    >>> from microveil.microdata import Microdata
    >>> homes = Microdata.of({"area": list("aabb"), "rooms": [1, 2, 1, 2]})
    >>> RecordSwapping(share=0.5, similar=["rooms"]).mask(homes, ["area"], seed=2).frame["area"].to_pylist()
    ['b', 'a', 'a', 'b']
    """

    name: ClassVar[str] = "record-swapping"
    family: ClassVar[str] = "swapping"
    summary: ClassVar[str] = "targeted record swapping: households at risk change places with similar ones elsewhere"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    joint: ClassVar[bool] = True
    detaches_values: ClassVar[bool] = True
    of_households: ClassVar[OfHouseholds] = "members"
    missing: ClassVar[str] = (
        "a household whose place is missing is not swapped; in similar attributes missing agrees with missing only, "
        "and in risk attributes as their schema says"
    )
    weights: ClassVar[str] = "sampling weights stay with their records; k counts records"
    source: ClassVar[str] = "Shlomo, Tudor and Groom (2010)"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES, share=Interval(0.01, 1.0, logarithmic=True))

    k: int = parameter(
        default=3,
        help="a household is at risk if fewer persons of an area than this share the risk attributes of a member",
        ge=1,
        le=MOST_RECORDS,
    )
    share: float = parameter(
        default=0.05, help="share of the households that are swapped, those at risk included", ge=0, le=1
    )
    similar: tuple[str, ...] = parameter(
        default=(), help="attributes in which households that change places agree, the most important first"
    )
    risk: tuple[str, ...] | None = parameter(
        default=None, help="attributes whose rare combinations put a household at risk; unset: the keys not swapped"
    )

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        similar, risk = self._named(data, attributes)
        units = _Units.of(data, attributes)
        codes = [key_codes(data, name) + 1 for name in attributes]
        areas = [number_rows(codes[: level + 1])[0] for level in range(len(codes))]
        profiles = [compositions(units.of_record, key_codes(data, name) + 1) for name in similar]
        rng = streams.generator("places")
        partner = np.arange(len(units.sizes))
        at_risk = np.zeros(len(partner), dtype=np.bool_)
        for level, part in enumerate(parts(progress, len(areas))):
            at_risk = at_risk | self._at_risk(data, risk, areas[level], units)
            for above in _within(areas, level):
                self._swap(partner, at_risk, units, profiles, areas[level], above, len(partner), rng)
            part(1.0, f"{self.name}: areas")
        alone = int((at_risk & (partner == np.arange(len(partner)))).sum())
        left = round(self.share * len(partner)) - int((partner != np.arange(len(partner))).sum())
        everybody = np.ones(len(partner), dtype=np.bool_)
        for above in _within(areas, len(areas) - 1):
            left -= self._swap(partner, everybody, units, profiles, areas[-1], above, left // 2, rng)
        donors = units.first[partner][units.of_record]
        return Masked({name: data.reordered_column(name, donors) for name in attributes}, notes=_told(partner, alone))

    def _named(self, data: Microdata, attributes: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The similar and the risk attributes."""
        for option, names in (("similar", self.similar), ("risk", self.risk or ())):
            for name in names:
                if name in attributes:
                    raise ParameterError(f"{self.name}: {option} = '{name}' is not allowed, for it is swapped")
        unswapped = tuple(name for name in data.schema.keys if name not in attributes)
        risk = unswapped if self.risk is None else self.risk
        similar = resolve_attributes(data, self.similar, KINDS, self.name) if self.similar else ()
        return similar, resolve_attributes(data, risk, KINDS, self.name) if risk else ()

    def _at_risk(self, data: Microdata, risk: tuple[str, ...], area: IntArray, units: _Units) -> BoolArray:
        """The households with a member whose combination fewer than k persons of the area have."""
        found = np.zeros(len(units.sizes), dtype=np.bool_)
        if risk:
            codes = [area, *(key_codes(data, name) for name in risk)]
            rare = EquivalenceClasses.of(("area", *risk), codes).per_record < self.k
            found[units.of_record[rare]] = True
        return found

    @staticmethod
    def _swap(
        partner: IntArray, wanted: BoolArray, units: _Units, profiles: list[IntArray], area: IntArray, above: IntArray,
        most: int, rng: np.random.Generator,
    ) -> int:  # fmt: skip
        """Pair households between the areas within the one above, the most similar first; how many were swapped."""
        from microveil.numerics.perturbing.area_swapping import pair_elsewhere

        before = most
        for kept in range(len(profiles), -1, -1):
            free = units.placed & (partner == np.arange(len(partner)))
            if most <= 0 or not (free & wanted).any():
                break
            likeness = number_rows([units.sizes, above[units.first], *profiles[:kept]])[0]
            paired = pair_elsewhere(likeness, area[units.first], wanted, free, most, rng)
            partner[free] = paired[free]
            most -= int((paired != np.arange(len(paired))).sum()) // 2
        return 2 * (before - most)


def _within(areas: list[IntArray], level: int) -> Iterator[IntArray]:
    """Within which areas to look for a partner: the one above, then everywhere."""
    if level > 0:
        yield areas[level - 1]
    yield np.zeros_like(areas[level])


def _told(partner: IntArray, alone: int) -> tuple[Note, ...]:
    swapped = int((partner != np.arange(len(partner))).sum())
    said = [HOUSEHOLDS_SWAPPED(households=swapped, share=100 * swapped / len(partner))]
    return (*said, NO_PARTNER(households=alone)) if alone else tuple(said)
