"""The share of the variation that is lost: SSE / SST."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.losses.base import Loss, LossMeasure, Route
from microveil.microdata.pairs import Pair
from microveil.numerics.standard import Scaling
from microveil.parameters import parameterised
from microveil.progress import Progress


@parameterised
class SSE(LossMeasure):
    """Squared distances between original and released values over the total squared distances from the mean.

    Every attribute is standardised by the original's mean and deviation, so that all count alike; for microaggregation
    this is the share of the variation that lies within the groups. `details` has the sums: `sse` within the groups,
    `sst` in all, and `ssa`, the squared distances of the released values from the original's mean; where groups
    publish their means, `sst` is the sum of the other two.

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
    source: ClassVar[str] = "Domingo-Ferrer and Mateo-Sanz (2002); specification 03, ME-1; specification 02, LM02"

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
        sums = {"sse": lost, "ssa": kept, "sst": total}
        return Loss.of(self.name, ratio(lost, total), attributes, per_attribute=per_attribute, details=sums)


def ratio(lost: float, total: float) -> float:
    """lost / total, where nothing lost of nothing is 0 and something lost of nothing is all."""
    return lost / total if total > 0 else float(lost > 0)
