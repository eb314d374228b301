"""Rank swapping between buckets of neighbouring ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any, ClassVar, Literal, cast

import numpy as np
import pydantic

from microveil.masking.ranges import Ranges, Whole, ranges
from microveil.masking.swapping.ranks import TIES, Reach, SwapByRank, Ties, check_weights
from microveil.numerics.perturbing.rank_shift import Shape, Weights, bucket_shares, tabulated
from microveil.parameters import parameter, parameterised
from microveil.typing import IntArray


@parameterised
class RankSwappingBuckets(SwapByRank):
    """Each attribute by itself: its values in order are divided into buckets of equal size; a value not swapped yet
    draws a bucket, its own with probability 1/2, the next with 1/4 and so on, and changes places with one of the values
    of that bucket that are not swapped yet (in its own, with one above it). A bucket without such a value is drawn
    again. With `taken="bucket"` any value of the bucket is drawn, and bucket and value are drawn again when that value
    is swapped already, so that buckets with many swapped values are chosen less often.

    The fewer buckets, the stronger the masking. The probabilities of the buckets left do not sum to 1: what they lack
    goes to the last bucket, or they are taken in proportion. Other
    probabilities: exponential, normal (with a standard deviation of one bucket), uniform, or a list for the own bucket,
    the next and so on; in Python also a function of the number of buckets between, of which a table is kept. Where
    there are too few values, the buckets are made fewer, so that each has two at least.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [31, 45, 62, 70]})
    >>> sorted(RankSwappingBuckets(buckets=2).mask(people, seed=1).frame["age"].to_pylist())
    [31, 45, 62, 70]
    """

    name: ClassVar[str] = "rank-swapping-buckets"
    summary: ClassVar[str] = "rank swapping within and between buckets of ranks, near buckets being likelier"
    source: ClassVar[str] = "Nin, Herranz and Torra (2008c); Nin (2008), section 4.1.2"
    searched: ClassVar[Ranges] = ranges(buckets=Whole(2, 100))

    buckets: int = parameter(default=25, help="number of buckets that the ranks are divided into", ge=1, le=1_000_000)
    bucket_weights: Shape | tuple[float, ...] | Callable[[int], float] = parameter(
        default="geometric",
        help="probabilities of a value's own bucket, the next one and so on: the name of a distribution, or a list of "
        "weights",
    )
    renormalise: bool = parameter(
        default=False,
        help="rescale the probabilities of the available buckets to sum to 1, instead of giving the remainder to the "
        "last bucket",
    )
    taken: Literal["place", "bucket"] = parameter(
        default="place",
        help="where the value drawn has been swapped already: only the value is drawn again, among the unswapped ones "
        "of the bucket (place), or bucket and value are drawn again (bucket)",
    )
    ties: Ties = parameter(default="random", help=TIES)

    @pydantic.field_validator("bucket_weights", mode="before")
    @classmethod
    def _table_of_a_function(cls, weights: Any, info: pydantic.ValidationInfo) -> Any:
        if callable(weights):
            return tabulated(weights, range(info.data.get("buckets", 1)))
        return weights

    def __post_init__(self) -> None:
        check_weights(f"{self.name}: bucket_weights", self._weights)

    @property
    def _weights(self) -> Weights:
        return cast("Weights", self.bucket_weights)  # a function has become a table

    def reach(self, values: int) -> Reach:
        buckets = max(1, min(self.buckets, values // 2))
        return Reach(2 * ceil(values / buckets), False)

    def exchanges(self, values: int, rng: np.random.Generator) -> Iterator[IntArray]:
        from microveil.numerics.perturbing.swapping import swap_between_buckets

        if values < 2:
            return iter([np.arange(values)])
        count = min(self.buckets, values // 2)
        starts = np.arange(count + 1) * values // count
        shares = bucket_shares(self._weights, count)
        return iter([swap_between_buckets(starts, shares, not self.renormalise, self.taken == "bucket", False, rng)])
