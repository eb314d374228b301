"""What must be known of all records to mask some of them: frequencies, moments and order statistics.

A table that is too long for memory is masked part by part. A part gets its share of the random numbers by its place, or
by the ids of its records, and what a method asks about the whole table it asks the facts, so that it need not know
whether it has all records at hand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from microveil.microdata.schema import Category
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.microdata.microdata import Microdata
    from microveil.numerics.statistics.moment_sums import MomentSums

Found = TypeVar("Found")

# what must be known of other records to mask or measure one: nothing but facts, those with the same combination of
# values, those next to it in the order of an attribute, those near to it, or all
OverRecords = Literal["per record", "per combination", "ordered", "neighbours", "whole table"]


class Counted(NamedTuple):
    """Records that stand for others with the same values, and for how many."""

    data: Microdata
    counts: IntArray


class Facts(ABC):
    """What a method may ask about all records of a table."""

    records: int

    @abstractmethod
    def occurring(self, name: str) -> Sequence[Category]:
        """The categories that a column has anywhere, in any order; missing codes are none."""

    @abstractmethod
    def has_empty(self, name: str) -> bool:
        """Whether any cell of a column is empty."""

    @abstractmethod
    def counted(self, names: Sequence[str]) -> Counted:
        """The combinations of values of some columns, and how many records have each; a combination may come twice."""

    @abstractmethod
    def moments(self, names: Sequence[str]) -> MomentSums:
        """Means, covariances and ranges of numbers."""

    @abstractmethod
    def order_statistics(self, name: str, ranks: Sequence[int]) -> FloatArray:
        """The values of some ranks, from 0, among the numbers of a column that are not missing."""

    @abstractmethod
    def once(self, what: str, find: Callable[[], Any]) -> Any:
        """What a method concludes from other facts, by whoever asks first; `what` names the question."""

    @abstractmethod
    def gathered(
        self,
        what: str,
        names: Sequence[str],
        find: Callable[[Microdata], Found],
        together: Callable[[Sequence[Found]], Any],
    ) -> Any:
        """What a method finds in a way of its own in every part of the table, put together; `what` names the question.

        A part has the columns that are named, and at least one must be.
        """

    @abstractmethod
    def next_value(self, name: str, value: float, *, up: bool) -> float | None:
        """The number of a column nearest to a value on one side of it; none where there is no other."""

    def quantile(self, name: str, share: float) -> float:
        """The value below which this share of the numbers lies, between two of them by linear interpolation.

        There must be a number.
        """
        place = share * (int(self.moments([name]).records[0]) - 1)
        low = int(place)
        around = self.order_statistics(name, [low, low + 1] if place > low else [low])
        return float(np.quantile(around, place - low))


@dataclass(frozen=True)
class Part:
    """Which records of a table a part has, by where they stand one after the other, and what is known of all.

    With `counts` every record stands for so many of the table, itself included, and the part for the whole.
    """

    places: range
    facts: Facts
    counts: IntArray | None = None


class FactsAtHand(Facts):
    """Those of a table that is in memory."""

    def __init__(self, data: Microdata) -> None:
        self._data, self.records = data, len(data)

    def occurring(self, name: str) -> Sequence[Category]:
        return self._data.occurring(name)

    def has_empty(self, name: str) -> bool:
        return self._data.has_empty(name)

    def counted(self, names: Sequence[str]) -> Counted:
        return Counted(self._data, np.ones(self.records, dtype=np.int64))

    def moments(self, names: Sequence[str]) -> MomentSums:
        from microveil.numerics.statistics.moment_sums import MomentSums

        return MomentSums.of(self._data.matrix(names))

    def order_statistics(self, name: str, ranks: Sequence[int]) -> FloatArray:
        values = self._data.numbers(name).values
        present = values[~np.isnan(values)]
        return np.asarray(np.partition(present, list(ranks))[list(ranks)])

    def once(self, what: str, find: Callable[[], Any]) -> Any:
        return find()

    def gathered(
        self,
        what: str,
        names: Sequence[str],
        find: Callable[[Microdata], Found],
        together: Callable[[Sequence[Found]], Any],
    ) -> Any:
        return together([find(self._data)])

    def next_value(self, name: str, value: float, *, up: bool) -> float | None:
        return next_beyond(self._data.numbers(name).values, value, up=up)


def next_beyond(values: FloatArray, value: float, *, up: bool) -> float | None:
    """The number nearest to a value on one side of it; none where there is no other.

    >>> next_beyond(np.array([1.0, 4.0, np.nan, 6.0]), 4.0, up=True), next_beyond(np.array([4.0]), 4.0, up=False)
    (6.0, None)
    """
    beyond = values[values > value] if up else values[values < value]
    return None if not len(beyond) else float(beyond.min() if up else beyond.max())
