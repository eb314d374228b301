"""Rank swapping: every value changes places with one whose rank is close."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from microveil.errors import ParameterError
from microveil.masking.base import Masked, Method
from microveil.microdata import Microdata
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import Streams

IntArray = npt.NDArray[np.int64]


@parameterised
class RankSwapping(Method):
    """Each attribute by itself: in the order of its values, a value not swapped yet changes places with one drawn
    from those at most p ranks above it that are not swapped yet either; both are then done.

    So a value takes part in one exchange at most and moves at most p ranks. A value without a partner stays. A
    percentage is rounded down, so that p is never exceeded, but allows at least one rank.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [31, 45, 62, 70]})
    >>> sorted(RankSwapping(p=1, unit="positions").mask(people, seed=1).frame["age"].to_pylist())
    [31, 45, 62, 70]
    """

    name: ClassVar[str] = "rank-swapping"
    family: ClassVar[str] = "swapping"
    summary: ClassVar[str] = "values change places with values of a similar rank, each attribute by itself"
    kinds: ClassVar[tuple[str, ...]] = ("numeric", "ordinal")
    missing: ClassVar[str] = "missing cells and missing codes stay where they are; values are swapped among the others"
    source: ClassVar[str] = "Moore (1996); specification 04, RS-BASE"

    p: float = parameter(5.0, help="farthest a value may move, in ranks: a percentage of the records", ge=0)
    unit: Literal["percent", "positions"] = parameter("percent", help="whether p is a percentage or a number of ranks")
    ties: Literal["random", "stable"] = parameter("random", help="order of equal values: drawn, or as in the file")

    def __post_init__(self) -> None:
        if self.unit == "percent" and self.p > 100:
            raise ParameterError(f"rank-swapping: p = {self.p} is not allowed; a percentage is at most 100")
        if self.unit == "positions" and self.p != int(self.p):
            raise ParameterError(f"rank-swapping: p = {self.p} is not allowed; a number of ranks is whole")

    def window(self, values: int) -> int:
        """The farthest move in ranks among so many values: at least 1, unless p is 0."""
        if self.p == 0:
            return 0
        return min(values, max(1, int(self.p if self.unit == "positions" else self.p * values / 100)))

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        columns = {}
        for name, part in zip(attributes, parts(progress, len(attributes)), strict=True):
            columns[name] = data.reordered_column(name, self._exchange(data, name, streams.generator(name)))
            part(1.0, f"{self.name}: {name}")
        return Masked(columns)

    def _exchange(self, data: Microdata, name: str, rng: np.random.Generator) -> IntArray:
        """For each record, whose cell it receives."""
        from microveil.numerics.swapping import swap_partners

        order_of = data.numbers(name).values if data[name].kind == "numeric" else data.categories(name).codes
        present = np.flatnonzero(data.missing_states(name) == 0)
        keys = order_of[present]
        among_equals = rng.random(len(keys)) if self.ties == "random" else np.arange(len(keys))
        order = np.lexsort((among_equals, keys))
        partners = swap_partners(self.window(len(keys)), rng.random(len(keys)))
        receives = np.arange(len(data))
        receives[present[order]] = present[order[partners]]
        return receives
