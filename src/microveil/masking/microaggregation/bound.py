"""How far a microaggregation is from the least loss that groups of at least k can have: a proven lower bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.partition import Partition
from microveil.masking.preparation import Preparation
from microveil.masking.preparation.coordinates import coordinates
from microveil.microdata import Microdata
from microveil.microdata.microdata import as_microdata, check_records, resolve_attributes
from microveil.numerics.grouping.groups import joined_labels, means_by_group
from microveil.progress import Progress, parts, silent
from microveil.typing import BoolArray, FloatArray, IntArray

Effort = Literal["fast", "tight"]

ROUNDS, NODES = 30, 1_000


@dataclass(frozen=True)
class LossBound:
    """What no partition into groups of at least k can lose less than, in per cent of the variation (SSE/SST).

    The groups are those of a release: records of one stratum where strata are kept apart, and with the same missing
    cells as far as these tell records apart. `partition` is the best one that is known, `known` what it loses with
    means in per cent, and `optimal` says whether it is proved that nothing loses less. `variation` is the sum of the
    squared z-scores, of which the others are shares.

    The bound holds for whatever single value the members of a group publish. It is 1e-9 of the variation below what was
    computed (1e-6 where an integer programme proved it), so that rounding cannot lift it above the true optimum.
    """

    k: int
    attributes: tuple[str, ...]
    effort: Effort
    least: float
    known: float
    partition: Partition
    optimal: bool
    variation: float

    def gap(self, loss: float | None = None) -> float:
        """The largest share of a loss, in per cent, that could still be saved; of the best known one by default."""
        lost = self.known if loss is None else loss
        return max(0.0, 100.0 * (1.0 - self.least / lost)) if lost > 0 else 0.0


def microaggregation_bound(
    data: Any,
    k: int = 3,
    attributes: Sequence[str] | None = None,
    *,
    effort: Effort = "tight",
    strata: bool = False,
    start: Partition | None = None,
    rounds: int = ROUNDS,
    nodes: int = NODES,
    progress: Progress = silent,
) -> LossBound:
    """A lower bound on SSE/SST on z-scores of every microaggregation of some attributes together.

    "fast" adds up what each record loses at least with its nearest neighbours; "tight" generates columns, which takes
    so many `rounds`, each of at most so many `nodes` for a record and size of its group. More of both raise the bound.
    `start` is a partition that is known, such as that of a release; without one it is that of `mdav`.

    >>> found = microaggregation_bound({"age": [20, 22, 41, 43, 61, 65], "pay": [1, 2, 4, 5, 8, 9]}, k=2)
    >>> found.optimal, found.partition.labels.tolist(), round(found.gap(), 3)
    (True, [0, 0, 1, 1, 2, 2], 0.0)
    """
    table = as_microdata(data)
    preparation = Preparation(strata=strata)
    grouping = MDAV(k=k, preparation=preparation)
    if effort not in ("fast", "tight"):
        raise ParameterError(f"effort = {effort!r} is not allowed; it is 'fast' or 'tight'")
    for name, value in (("rounds", rounds), ("nodes", nodes)):
        if not isinstance(value, int) or value < 1:
            raise ParameterError(f"{name} = {value!r} is not allowed; it is a whole number of at least 1")
    names = resolve_attributes(table, attributes, ("numeric",), "a bound of microaggregation")
    check_records(table, k, f"a bound of microaggregation with k = {k}")
    if start is None:
        start = grouping.mask(table, list(names)).partitions[names]
    return bound_of_partition(table, names, k, start, preparation, effort, rounds, nodes, progress)


def bound_of_partition(
    data: Microdata,
    names: tuple[str, ...],
    k: int,
    known: Partition,
    preparation: Preparation,
    effort: Effort,
    rounds: int = ROUNDS,
    nodes: int = NODES,
    progress: Progress = silent,
) -> LossBound:
    """The bound of the parts of the file that a preparation keeps apart, added up; chunks are not such parts."""
    points, _ = coordinates(data, names, "z")
    filled = np.where(np.isnan(points), 0.0, points)
    total = float((filled**2).sum())
    apart = replace(preparation, chunk=None).parts_of_the_file(data, names, filled, k)
    if len(known.labels) != len(data) or known.smallest < k:
        raise ParameterError(f"the partition to begin with must have groups of at least {k} of the {len(data)} records")
    least, lost, labels, optimal = 0.0, 0.0, [], True
    for rows, part in zip(apart, parts(progress, len(apart)), strict=True):
        found = _part_bound(points[rows], known.labels[rows], k, effort, rounds, nodes, part)
        least, lost, optimal = least + found[0], lost + found[1], optimal and found[3]
        labels.append(found[2])
    share = 100.0 / total if total > 0 else 0.0
    best = Partition.of(joined_labels(apart, labels))
    return LossBound(k, names, effort, share * min(least, lost), share * lost, best, optimal, total)


def _part_bound(
    points: FloatArray, labels: IntArray, k: int, effort: Effort, rounds: int, nodes: int, progress: Progress
) -> tuple[float, float, IntArray, bool]:
    """The bound on the sum of squares of one part, what the best known lose, these, and whether none are better."""
    from microveil.numerics.grouping.column_generation import column_generation_bound, neighbour_bound
    from microveil.numerics.grouping.univariate import optimal_groups

    points = np.ascontiguousarray(points[:, _varying(points)])
    is_complete = not np.isnan(points).any()
    if len(points) < 2 * k or points.shape[1] == 0:
        only = np.zeros(len(points), dtype=np.int64) if points.shape[1] > 0 else labels
        return _lost(points, only), _lost(points, only), only, True
    if points.shape[1] == 1 and is_complete:
        best = optimal_groups(points[:, 0], k, progress=progress)
        return _lost(points, best), _lost(points, best), best, True
    if effort == "fast":
        return neighbour_bound(points, k, progress), _lost(points, labels), labels, False
    found = column_generation_bound(points, labels, k, rounds, nodes, progress)
    best = min((found.labels, labels), key=lambda made: _lost(points, made))
    return found.least, _lost(points, best), best, found.optimal and is_complete


def rounded_down(least: float) -> float:
    """To the four decimals that are told: the nearest number of four decimals could exceed the optimum.

    >>> rounded_down(14.48096)
    14.4809
    """
    return math.floor(least * 10_000) / 10_000


def _varying(points: FloatArray) -> BoolArray:
    """Which columns have two values or more."""
    high, low = (np.where(np.isnan(points), fill, points) for fill in (-np.inf, np.inf))
    return np.asarray(high.max(axis=0) > low.min(axis=0))


def _lost(points: FloatArray, labels: IntArray) -> float:
    """The squared distances to the group means; a missing cell has none."""
    return float(np.nansum((points - means_by_group(points, labels)) ** 2))
