"""What the ways of rank swapping share: columns in the order of their values, and distances in ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked
from microveil.masking.likelihood import Shift, Statement
from microveil.microdata import Microdata
from microveil.numerics.perturbing.rank_shift import Weights
from microveil.progress import Progress, parts
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

Keys = FloatArray | IntArray
Unit = Literal["percent", "positions"]
Ties = Literal["random", "stable"]
# for so many values in ascending order: from which rank each rank receives its value
Exchange = Callable[[int, np.random.Generator], IntArray]

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


def swap_by_rank(
    data: Microdata,
    attributes: tuple[str, ...],
    exchange: Exchange,
    ties: Ties,
    streams: Streams,
    progress: Progress,
    method: str,
) -> Masked:
    """Each attribute by itself: sort its values, exchange them, and undo the sort."""
    columns = {}
    for name, part in zip(attributes, parts(progress, len(attributes)), strict=True):
        rng = streams.generator(name)
        keys, present = _sort_keys(data, name, method)
        order = present[_ascending(keys[present], ties, rng)]
        receives = np.arange(len(data))
        receives[order] = order[exchange(len(order), rng)]
        columns[name] = data.reordered_column(name, receives)
        part(1.0, f"{method}: {name}")
    return Masked(columns)


def shifts_by_rank(
    data: Microdata,
    attributes: tuple[str, ...],
    exchange: Exchange,
    window: Callable[[int], int] | None,
    streams: Streams,
    method: str,
) -> dict[tuple[str, ...], Statement]:
    """How far values of each attribute move in rank, as exchanges of as many values with other random numbers show.

    The `window` says how far values can move at most, if there is a bound.
    """
    found: dict[int, Shift] = {}
    for name in attributes:
        values = len(_sort_keys(data, name, method)[1])
        if values not in found:
            rng = streams.generator("shifts", str(values))
            runs = min(_MOST_RUNS, max(_FEWEST_RUNS, _SHIFTS // max(1, values)))
            moves = np.concatenate([exchange(values, rng) - np.arange(values) for _ in range(runs)])
            reach = max(int(np.abs(moves).max(initial=0)), 0 if window is None else window(values))
            found[values] = Shift(_shares(moves, reach), window is not None)
    return {(name,): found[len(_sort_keys(data, name, method)[1])] for name in attributes}


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
    places = np.arange(len(counts))
    low, high = np.maximum(places - width, 0), np.minimum(places + width + 1, len(counts))
    return np.asarray((sums[high] - sums[low]) / (high - low))


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


def _sort_keys(data: Microdata, name: str, method: str) -> tuple[Keys, IntArray]:
    """What the records are sorted by, and which of them have a value."""
    attribute = data[name]
    if attribute.kind == "numeric":
        numbers = data.numbers(name)
        return numbers.values, np.flatnonzero(numbers.present)
    if attribute.kind == "nominal" and attribute.domain is None:
        raise DataError(
            f"attribute '{name}' is nominal and its schema declares no domain, so {method} has no order to go by; "
            "declare its domain in a sensible order or use data-swapping"
        )
    return data.categories(name).codes, np.flatnonzero(data.missing_states(name) == 0)
