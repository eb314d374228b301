"""What the ways of rank swapping share: columns in the order of their values, and distances in ranks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method, OverRecords
from microveil.masking.likelihood import Shift, Statement
from microveil.microdata import Microdata
from microveil.numerics.perturbing.rank_shift import Weights
from microveil.progress import Progress, reported
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

Keys = FloatArray | IntArray
Unit = Literal["percent", "positions"]
Ties = Literal["random", "stable"]

_SHIFTS, _FEWEST_RUNS, _MOST_RUNS = 400_000, 4, 400  # values that are exchanged to learn how far they move

KINDS = ("numeric", "ordinal", "nominal")
UNIT = "whether p is a percentage of the values or a number of ranks"
TIES = "order of equal values: random, or as in the file (stable)"
MISSING = "missing cells and missing codes stay where they are; values are swapped among the others"
WEIGHTS = (
    "sampling weights are not used: ranks count records; a value that changes places takes on the weight of its new "
    "record, so weighted totals change"
)


def check_ranks(method: str, p: float, unit: Unit) -> None:
    """Refuse a distance that makes no sense in its unit."""
    if unit == "percent" and p > 100:
        raise ParameterError(f"{method}: p = {p} is not allowed; a percentage is at most 100")
    if unit == "positions" and p != int(p):
        raise ParameterError(f"{method}: p = {p} is not allowed; a number of ranks is whole")


def check_weights(label: str, weights: Weights) -> None:
    """Refuse a list that no distribution can be made of."""
    if not isinstance(weights, str) and not (min(weights, default=-1.0) >= 0 and 0 < sum(weights) < np.inf):
        raise ParameterError(f"{label}: the weights must be numbers of at least 0, and one of them more")


def ranks(p: float, unit: Unit, values: int) -> float:
    """A distance in ranks among so many values: at least 1, unless p is 0."""
    if p == 0:
        return 0.0
    return max(1.0, p if unit == "positions" else p * values / 100)


@dataclass(frozen=True)
class Reach:
    """How many ranks a value is taken to have moved at most; none: nobody knows. `bound`: none can have moved more."""

    ranks: int | None
    bound: bool


class SwapByRank(Method):
    """Each attribute by itself: sort its values, exchange them, undo the sort; a subclass has the parameter `ties`."""

    family: ClassVar[str] = "swapping"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = MISSING
    weights: ClassVar[str] = WEIGHTS
    needs_order: ClassVar[bool] = True
    over_records: ClassVar[OverRecords] = "ordered"
    ties: Ties

    @abstractmethod
    def reach(self, values: int) -> Reach:
        """How far one of so many values moves, for all that an intruder who knows the method can tell."""

    @abstractmethod
    def exchanges(self, values: int, rng: np.random.Generator) -> Iterator[IntArray]:
        """For so many values in ascending order: from which rank each rank receives its value, some ranks after the
        other."""

    def _exchange(self, values: int, rng: np.random.Generator) -> IntArray:
        """The same for all ranks at once."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self.exchanges(values, rng)])

    def likelihood(
        self, data: Microdata, attributes: tuple[str, ...], streams: Streams
    ) -> Mapping[tuple[str, ...], Statement]:
        """How far values of each attribute move in rank, as exchanges of as many with other random numbers show."""
        counts = {name: len(sort_keys(data, name, self.name)[1]) for name in attributes}
        shifts = {count: self._shift(count, streams) for count in dict.fromkeys(counts.values())}
        return {(name,): shifts[count] for name, count in counts.items()}

    def _shift(self, values: int, streams: Streams) -> Shift:
        rng = streams.generator("shifts", str(values))
        runs = min(_MOST_RUNS, max(_FEWEST_RUNS, _SHIFTS // max(1, values)))
        moves = np.concatenate([self._exchange(values, rng) - np.arange(values) for _ in range(runs)])
        known = self.reach(values)
        reach = max(int(np.abs(moves).max(initial=0)), (known.ranks or 0) if known.bound else 0)
        return Shift(_shares(moves, reach), known.bound)

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        columns = {}
        for name in reported(attributes, progress, self.name):
            rng = streams.generator(name)
            keys, present = sort_keys(data, name, self.name)
            drawn = rng.random(len(present)) if self.ties == "random" else None
            order = present[ascending(keys[present], drawn)]
            receives = np.arange(len(data))
            receives[order] = order[self._exchange(len(order), rng)]
            columns[name] = data.reordered_column(name, receives)
        return Masked(columns)


def _shares(moves: IntArray, reach: int) -> FloatArray:
    """The share of each shift from -reach to reach; none of these is taken to be impossible.

    Shifts up and down are each smoothed over a tenth of the way; values that stay are counted apart.
    """
    counts: FloatArray = np.bincount(moves + reach, minlength=2 * reach + 1).astype(np.float64) + 0.5
    width = max(1, reach // 10)
    for side in (slice(0, reach), slice(reach + 1, None)):
        counts[side] = _smoothed(counts[side], width)
    return np.asarray(counts / counts.sum())


def _smoothed(counts: FloatArray, width: int) -> FloatArray:
    """The mean over up to so many neighbours on each side."""
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    positions = np.arange(len(counts))
    low, high = np.maximum(positions - width, 0), np.minimum(positions + width + 1, len(counts))
    return np.asarray((sums[high] - sums[low]) / (high - low))


def ascending(keys: Keys, drawn: FloatArray | None) -> IntArray:
    """The order of the keys; equal ones by the numbers drawn for them, or as they stand."""
    order = np.argsort(keys, kind="stable")
    if drawn is not None:
        arranged = keys[order]
        differs = np.concatenate([[True], arranged[1:] != arranged[:-1], [True]])
        tied = np.flatnonzero(~(differs[:-1] & differs[1:]))  # mostly far fewer than all
        equals = order[tied]
        order[tied] = equals[np.lexsort((drawn[equals], keys[equals]))]
    return order


def sort_keys(data: Microdata, name: str, method: str) -> tuple[Keys, IntArray]:
    """What the records are sorted by, and which of them have a value."""
    attribute = data[name]
    if attribute.kind == "numeric":
        numbers = data.numbers(name)
        return numbers.values, np.flatnonzero(numbers.present)
    if not attribute.has_order:
        raise DataError(
            f"attribute '{name}' is nominal and its schema declares no domain, so {method} has no order to go by; "
            "declare its domain in a sensible order or use data-swapping"
        )
    return data.categories(name).codes, np.flatnonzero(data.missing_states(name) == 0)
