"""A weighted moving average over the values in order."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method
from microveil.masking.microaggregation.classification import Traits
from microveil.microdata import Microdata
from microveil.microdata.microdata import check_records
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, reported
from microveil.randomness import Streams
from microveil.typing import FloatArray


@parameterised
class MovingAverage(Method):
    """Each value becomes a weighted average of itself and its two neighbours in order, attribute by attribute.

    There are no groups, and no value is repeated k times: it blurs, but promises no anonymity. The first and the last
    value have one neighbour only: they take over the value next to them, stay as they are, or are averaged with the
    one neighbour they have.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 60, 32, 40]})
    >>> MovingAverage().mask(people).frame["age"].to_pylist()
    [31.0, 43.0, 31.0, 43.0]
    """

    name: ClassVar[str] = "moving-average"
    family: ClassVar[str] = "microaggregation"
    summary: ClassVar[str] = "each value becomes a weighted average of itself and its two neighbours in rank order"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "missing cells and missing codes stay as they are and do not count as neighbours"
    traits: ClassVar[Traits] = Traits("univariate", "none", "heuristic")
    source: ClassVar[str] = "Fayyoumi (2008), section 2.6.3.1, weighted moving average"
    random: ClassVar[bool] = False

    shares: tuple[float, float, float] = parameter(
        default=(25.0, 50.0, 25.0),
        help="weights, in per cent, of the next lower value, of the value itself and of the next higher value",
    )
    ends: Literal["repeat", "keep", "renormalise"] = parameter(
        default="repeat",
        help="first and last value: take over the average next to them (repeat), stay unchanged (keep), or are "
        "averaged with their one neighbour (renormalise)",
    )

    def __post_init__(self) -> None:
        if min(self.shares) < 0 or abs(sum(self.shares) - 100) > 1e-9:
            raise ParameterError(
                f"{self.name}: shares = {self.shares} is not allowed; three percentages from 0 up must add up to 100"
            )

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        check_records(data, 3, self.name)
        columns = {}
        for name in reported(attributes, progress, self.name):
            numbers = data.numbers(name)
            present = np.flatnonzero(numbers.present)
            if 0 < len(present) < 3:
                raise DataError(f"'{name}' has {len(present)} values, but {self.name} needs at least 3")
            masked = numbers.values.copy()
            if len(present):
                masked[present] = self._averaged(numbers.values[present])
            columns[name] = data.number_column(name, masked)
        return Masked(columns)

    def _averaged(self, values: FloatArray) -> FloatArray:
        order = np.argsort(values, kind="stable")
        x = values[order]
        before, own, behind = self.shares
        blurred = x.copy()
        blurred[1:-1] = np.clip((before * x[:-2] + own * x[1:-1] + behind * x[2:]) / 100, x[:-2], x[2:])
        if self.ends == "repeat":
            blurred[0], blurred[-1] = blurred[1], blurred[-2]
        elif self.ends == "renormalise":
            blurred[0] = _share(x[0], own, x[1], behind)
            blurred[-1] = _share(x[-1], own, x[-2], before)
        masked = np.empty_like(values)
        masked[order] = blurred
        return masked


def _share(own: float, own_share: float, other: float, other_share: float) -> float:
    """The average of two values; where both shares are 0 nothing is known to average."""
    total = own_share + other_share
    if total == 0:
        return own
    return min(max((own * own_share + other * other_share) / total, min(own, other)), max(own, other))
