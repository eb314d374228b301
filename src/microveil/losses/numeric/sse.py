"""The share of the variation that is lost: SSE / SST."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure, Route
from microveil.numerics.grouping.sums_of_squares import squares, squares_lost
from microveil.numerics.statistics.scaling import Scale, Scaling
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray


@parameterised
class SSE(LossMeasure):
    """Squared distances between original and released values over the total squared distances from the mean.

    Both tables are scaled by the original: by its standard deviations, so that all attributes count alike, by its
    ranges, or not at all. For microaggregation the value is the share of the variation that lies within the groups.
    `details` has the sums: `sse` of the changes, `sst` in all, and `ssa`, the squared distances of the released values
    from the original's mean; where groups publish their means, `sst` is the sum of the other two.

    For a release with one partition, `groups` says how many it has, `kept` is the share of the original's variation
    that lies between them, in percent, and `anova_f` is their F = (SSA / (groups - 1)) / (SSE / (n - groups)).

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [1.0, 2.0, 3.0, 6.0]})
    >>> SSE().measure(people, Microdata.of({"age": [1.5, 1.5, 4.5, 4.5]})).value.__round__(3)
    35.714
    """

    name: ClassVar[str] = "sse"
    family: ClassVar[str] = "numeric"
    usual: ClassVar[bool] = True
    summary: ClassVar[str] = "sum of squared changes as a share of the total sum of squares (SSE/SST)"
    meaning: ClassVar[str] = "share of the variation of the original values that is lost; lower is better"
    route: ClassVar[Route] = "data"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = (
        "cells missing in the original are left out; a suppressed cell counts as replaced by the mean"
    )
    source: ClassVar[str] = (
        "Domingo-Ferrer and Mateo-Sanz (2002); Fayyoumi (2008), section 2.6.2; Nin (2008), section 2.4.2"
    )

    scale: Scale = parameter(
        default="z",
        help="values are divided by the original's standard deviation (z) or range (minmax), or are taken raw",
    )

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        lost, total, kept, per_attribute = 0.0, 0.0, 0.0, {}
        for name in attributes:
            before, after = (column.values for column in pair.numbers(name))
            centre, unit = self._centre_and_unit(before)
            scaled, released = ((column - centre) / unit for column in (before, after))
            sse, sst = squares_lost(scaled, released), float(np.nansum(scaled**2))
            per_attribute[name] = 100 * ratio(sse, sst)
            lost += sse
            total += sst
            kept += float(np.nansum(released[~np.isnan(scaled)] ** 2))
        details = {"sse": lost, "ssa": kept, "sst": total, **self._analysis_of_variance(pair, attributes)}
        return Loss.of(self.name, ratio(lost, total), attributes, per_attribute=per_attribute, details=details)

    def _centre_and_unit(self, column: FloatArray) -> tuple[float, float]:
        """What is taken off the values and what they are divided by; a constant is only centred."""
        scaling = Scaling.of(column[:, None])
        centre, deviation = float(scaling.mean[0]), float(scaling.deviation[0])
        if self.scale == "none" or deviation == 0:
            return centre, 1.0
        return centre, deviation if self.scale == "z" else float(np.nanmax(column) - np.nanmin(column))

    def _analysis_of_variance(self, pair: Pair, attributes: tuple[str, ...]) -> dict[str, float]:
        """The F ratio of the release's partition on scaled originals; none without exactly one partition."""
        partition = None if pair.release is None else pair.release.partition
        if partition is None or len(partition.labels) != len(pair):
            return {}
        columns = []
        for name in attributes:
            values = pair.original.numbers(name).values
            centre, unit = self._centre_and_unit(values)
            columns.append(np.nan_to_num((values - centre) / unit))
        made = squares(np.column_stack(columns), partition.labels)
        found = {"groups": float(len(partition)), "kept": 100 * (1 - made.ratio)}
        within, between = len(pair) - len(partition), len(partition) - 1
        if made.sse > 0 and within > 0 and between > 0:
            found["anova_f"] = (made.ssa / between) / (made.sse / within)
        return found


def ratio(lost: float, total: float) -> float:
    """lost / total, where nothing lost of nothing is 0 and something lost of nothing is all."""
    return lost / total if total > 0 else float(lost > 0)
