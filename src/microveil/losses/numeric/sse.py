"""The share of the variation that is lost: SSE / SST."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.losses.base import Loss, LossMeasure, Route
from microveil.microdata.pairs import Pair
from microveil.numerics.squares import squares
from microveil.numerics.standard import Scaling, standardise
from microveil.parameters import parameterised
from microveil.progress import Progress


@parameterised
class SSE(LossMeasure):
    """Squared distances between original and released values over the total squared distances from the mean.

    Every attribute is standardised by the original's mean and deviation, so that all count alike; for microaggregation
    this is the share of the variation that lies within the groups. `details` has the sums: `sse` within the groups,
    `sst` in all, and `ssa`, the squared distances of the released values from the original's mean; where groups
    publish their means, `sst` is the sum of the other two. `kept` is ssa/sst in percent. For a release with one
    partition, `groups` says how many it has, and `anova_f` is their F = (SSA / (groups - 1)) / (SSE / (n - groups)).

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [1.0, 2.0, 3.0, 6.0]})
    >>> SSE().measure(people, Microdata.of({"age": [1.5, 1.5, 4.5, 4.5]})).value.__round__(3)
    35.714
    """

    name: ClassVar[str] = "sse"
    family: ClassVar[str] = "numeric"
    summary: ClassVar[str] = "sum of squared changes as a share of the total sum of squares (SSE/SST)"
    meaning: ClassVar[str] = "share of the variation of the original values that is gone; lower is better"
    route: ClassVar[Route] = "data"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = (
        "cells missing in the original are left out; a suppressed cell counts as replaced by the mean"
    )
    source: ClassVar[str] = "Domingo-Ferrer and Mateo-Sanz (2002); specifications 03, ME-1; 02, LM02; 01, IL-2"

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        lost, total, kept, per_attribute = 0.0, 0.0, 0.0, {}
        for name in attributes:
            before, after = (column.values for column in pair.numbers(name))
            scaling = Scaling.of(before[:, None])
            z, z_released = (scaling.apply(column[:, None])[:, 0] for column in (before, after))
            z_released = np.where(np.isnan(z_released), 0.0, z_released)
            sse, sst = float(np.nansum((z - z_released) ** 2)), float(np.nansum(z**2))
            per_attribute[name] = 100 * ratio(sse, sst)
            lost += sse
            total += sst
            kept += float((z_released[~np.isnan(z)] ** 2).sum())
        details = {"sse": lost, "ssa": kept, "sst": total, "kept": 100 * (kept / total if total > 0 else 1.0)}
        details |= _analysis_of_variance(pair, attributes)
        return Loss.of(self.name, ratio(lost, total), attributes, per_attribute=per_attribute, details=details)


def _analysis_of_variance(pair: Pair, attributes: tuple[str, ...]) -> dict[str, float]:
    """The F ratio of the release's partition on standardised originals; none without exactly one partition."""
    partition = getattr(pair.release, "partition", None)
    if partition is None or len(partition.labels) != len(pair):
        return {}
    cells = np.column_stack([pair.original.numbers(name).values for name in attributes])
    made = squares(np.nan_to_num(standardise(cells)), partition.labels)
    found = {"groups": float(len(partition))}
    within, between = len(cells) - len(partition), len(partition) - 1
    if made.sse > 0 and within > 0 and between > 0:
        found["anova_f"] = (made.ssa / between) / (made.sse / within)
    return found


def ratio(lost: float, total: float) -> float:
    """lost / total, where nothing lost of nothing is 0 and something lost of nothing is all."""
    return lost / total if total > 0 else float(lost > 0)
