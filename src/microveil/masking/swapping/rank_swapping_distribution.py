"""Rank swapping whose moves have a distribution instead of a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any, ClassVar, Literal, cast

import numpy as np
import pydantic

from microveil.masking.ranges import Interval, Ranges, ranges
from microveil.masking.swapping.ranks import (
    TIES,
    UNIT,
    Reach,
    SwapByRank,
    Ties,
    Unit,
    check_ranks,
    check_weights,
    ranks,
)
from microveil.numerics.perturbing.rank_shift import Shape, Weights, shift_weights, tabulated
from microveil.parameters import parameter, parameterised
from microveil.typing import IntArray

_PLACES = [(part + 0.5) / 200 for part in range(200)]  # where a function is looked at, as shares of p


@parameterised
class RankSwappingDistribution(SwapByRank):
    """Rank swapping in which a value may move any way: each attribute by itself, in the order of its values, a value
    not swapped yet changes places with the one so many ranks above it as a random number says; both are then done.

    The number is normal with mean and standard deviation p/2, drawn again until it meets a value above that is not
    swapped yet (all below are). So no window holds the true record for certain, which is what the attack on plain rank
    swapping lives on. Other distributions of the move: uniform up to p (that is plain rank swapping), exponential or
    geometric with mean p/2, or a list of weights for equal parts of the way up to p; in Python also a function of the
    move as a share of p, of which a table is kept.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [31, 45, 62, 70]})
    >>> sorted(RankSwappingDistribution(p=50).mask(people, seed=1).frame["age"].to_pylist())
    [31, 45, 62, 70]
    >>> RankSwappingDistribution(shift=(3, 2, 1)).mask(people, seed=1).provenance.steps[0].parameters["shift"]
    [3.0, 2.0, 1.0]
    """

    name: ClassVar[str] = "rank-swapping-distribution"
    summary: ClassVar[str] = (
        "rank swapping in which the distance in ranks is drawn at random, short ones being likelier"
    )
    source: ClassVar[str] = "Nin, Herranz and Torra (2008c); Nin (2008), section 4.1.2"
    searched: ClassVar[Ranges] = ranges(p=Interval(0.5, 60.0, logarithmic=True))

    p: float = parameter(
        default=5.0,
        help="twice the mean difference in rank between swapped values, as a percentage of the records, or as "
        "a number of ranks with unit=positions",
        ge=0,
        le=100,
    )
    unit: Unit = parameter(default="percent", help=UNIT)
    shift: Shape | tuple[float, ...] | Callable[[float], float] = parameter(
        default="normal",
        help="distribution of the difference in rank: a name, or a list of weights for equal parts of the interval "
        "from 0 to p",
    )
    fallback: Literal["stay", "nearest"] = parameter(
        default="stay",
        help="a value for which no value still unswapped has a positive probability: stays, or is swapped with the "
        "nearest unswapped one",
    )
    ties: Ties = parameter(default="random", help=TIES)

    @pydantic.field_validator("shift", mode="before")
    @classmethod
    def _table_of_a_function(cls, shift: Any) -> Any:
        if callable(shift):
            return tabulated(shift, _PLACES)
        return shift

    def __post_init__(self) -> None:
        check_ranks(self.name, self.p, self.unit)
        check_weights(f"{self.name}: shift", self._weights)

    @property
    def _weights(self) -> Weights:
        return cast("Weights", self.shift)  # a function has become a table

    def reach(self, values: int) -> Reach:
        return Reach(ceil(ranks(self.p, self.unit, values)) if values else 0, False)

    def exchanges(self, values: int, rng: np.random.Generator) -> Iterator[IntArray]:
        from microveil.numerics.perturbing.swapping import swap_between_buckets

        reach = ranks(self.p, self.unit, values)
        if reach == 0 or values < 2:
            return iter([np.arange(values)])
        nearest = self.fallback == "nearest"
        starts = np.arange(values + 1, dtype=np.int32)  # every rank is a bucket of its own
        return iter(
            [swap_between_buckets(starts, shift_weights(self._weights, reach, values), False, False, nearest, rng)]
        )
