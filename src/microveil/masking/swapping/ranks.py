"""What the ways of rank swapping share: columns in the order of their values, and distances in ranks."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method
from microveil.microdata import Microdata
from microveil.numerics.perturbing.rank_shift import Weights
from microveil.progress import Progress, parts
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

Keys = FloatArray | IntArray
Unit = Literal["percent", "positions"]
Ties = Literal["random", "stable"]

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


class SwapByRank(Method):
    """Each attribute by itself: sort its values, exchange them, undo the sort; a subclass has the parameter `ties`."""

    family: ClassVar[str] = "swapping"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = MISSING
    weights: ClassVar[str] = WEIGHTS
    ties: Ties

    @classmethod
    def suits(cls, data: Microdata, name: str) -> bool:
        return super().suits(data, name) and _has_order(data, name)

    @abstractmethod
    def _exchange(self, values: int, rng: np.random.Generator) -> IntArray:
        """For so many values in ascending order: from which rank each rank receives its value."""

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        columns = {}
        for name, part in zip(attributes, parts(progress, len(attributes)), strict=True):
            rng = streams.generator(name)
            keys, present = _sort_keys(data, name, self.name)
            order = present[_ascending(keys[present], self.ties, rng)]
            receives = np.arange(len(data))
            receives[order] = order[self._exchange(len(order), rng)]
            columns[name] = data.reordered_column(name, receives)
            part(1.0, f"{self.name}: {name}")
        return Masked(columns)


def _ascending(keys: Keys, ties: Ties, rng: np.random.Generator) -> IntArray:
    """The order of the keys, equal ones as they stand or as drawn."""
    order = np.argsort(keys, kind="stable")
    if ties == "random":
        drawn = rng.random(len(keys))
        arranged = keys[order]
        differs = np.concatenate([[True], arranged[1:] != arranged[:-1], [True]])
        tied = np.flatnonzero(~(differs[:-1] & differs[1:]))  # mostly far fewer than all
        equals = order[tied]
        order[tied] = equals[np.lexsort((drawn[equals], keys[equals]))]
    return order


def _has_order(data: Microdata, name: str) -> bool:
    """Whether an attribute has an order to go by: a nominal one where its domain is declared."""
    return data[name].kind != "nominal" or data[name].domain is not None


def _sort_keys(data: Microdata, name: str, method: str) -> tuple[Keys, IntArray]:
    """What the records are sorted by, and which of them have a value."""
    attribute = data[name]
    if attribute.kind == "numeric":
        numbers = data.numbers(name)
        return numbers.values, np.flatnonzero(numbers.present)
    if not _has_order(data, name):
        raise DataError(
            f"attribute '{name}' is nominal and its schema declares no domain, so {method} has no order to go by; "
            "declare its domain in a sensible order or use data-swapping"
        )
    return data.categories(name).codes, np.flatnonzero(data.missing_states(name) == 0)
