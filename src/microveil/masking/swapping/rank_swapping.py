"""Rank swapping: every value changes places with one whose rank is close."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from microveil.masking.ranges import Interval, Ranges, ranges
from microveil.masking.swapping.ranks import TIES, UNIT, Reach, SwapByRank, Ties, Unit, check_ranks, ranks
from microveil.parameters import parameter, parameterised
from microveil.typing import IntArray


@parameterised
class RankSwapping(SwapByRank):
    """Each attribute by itself: in the order of its values, a value not swapped yet changes places with one drawn
    from those at most p ranks above it that are not swapped yet either; both are then done.

    So a value takes part in one exchange at most and moves at most p ranks. A value without a partner stays. A
    percentage is rounded down, so that p is never exceeded, but allows at least one rank. With `mark` off, values that
    were swapped can be swapped again: they drift, and p is no bound any more. A nominal attribute is swapped in the
    order of its declared domain.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [31, 45, 62, 70]})
    >>> sorted(RankSwapping(p=1, unit="positions").mask(people, seed=1).frame["age"].to_pylist())
    [31, 45, 62, 70]
    """

    name: ClassVar[str] = "rank-swapping"
    summary: ClassVar[str] = "values are swapped with values of a similar rank, attribute by attribute"
    source: ClassVar[str] = "Moore (1996); Nin (2008), section 2.4.1; Marés (2013), section 2.3.4"
    searched: ClassVar[Ranges] = ranges(p=Interval(0.5, 60.0, logarithmic=True))

    p: float = parameter(
        default=5.0,
        help="largest difference in rank between swapped values, as a percentage of the records, or as a "
        "number of ranks with unit=positions",
        ge=0,
        le=100,
    )
    unit: Unit = parameter(default="percent", help=UNIT)
    ties: Ties = parameter(default="random", help=TIES)
    rounding: Literal["floor", "round"] = parameter(
        default="floor", help="a percentage as a number of ranks: rounded down, or to the nearest"
    )
    mark: bool = parameter(
        default=True, help="whether a swapped value takes no further part; if false, it can be swapped again"
    )

    def __post_init__(self) -> None:
        check_ranks(self.name, self.p, self.unit)

    def window(self, values: int) -> int:
        """The farthest move in ranks among so many values: at least 1, unless p is 0."""
        reach = ranks(self.p, self.unit, values)
        return min(values, round(reach) if self.rounding == "round" else int(reach))

    def reach(self, values: int) -> Reach:
        return Reach(self.window(values), self.mark)

    def exchanges(self, values: int, rng: np.random.Generator) -> Iterator[IntArray]:
        from microveil.numerics.perturbing.swapping import holdings_by_range, partners_by_range

        swap = partners_by_range if self.mark else holdings_by_range
        return swap(self.window(values), values, lambda ranks: rng.random(len(ranks)))
