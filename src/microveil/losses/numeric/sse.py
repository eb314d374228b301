"""The share of the variation that is lost: SSE / SST."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure, Route
from microveil.microdata.facts import OverRecords
from microveil.microdata.tables import Tables
from microveil.numerics.grouping.sums_of_squares import changes_lost, squares
from microveil.numerics.statistics.moment_sums import ColumnSums
from microveil.numerics.statistics.scaling import Scale
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
    over_records: ClassVar[OverRecords] = "per record"
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
        centres, units = self._centres_and_units(pair.summed(partial(_sums, attributes), progress, self.name))
        found = pair.summed(partial(_squares, attributes, centres, units), progress, self.name)
        lost, total, kept = found.totals.reshape(3, len(attributes))
        by_attribute = zip(attributes, lost.tolist(), total.tolist(), strict=True)
        per_attribute = {name: 100 * ratio(sse, sst) for name, sse, sst in by_attribute}
        sums = {"sse": float(lost.sum()), "ssa": float(kept.sum()), "sst": float(total.sum())}
        details = {**sums, **self._analysis_of_variance(pair, attributes, centres, units)}
        return Loss.of(
            self.name, ratio(sums["sse"], sums["sst"]), attributes, per_attribute=per_attribute, details=details
        )

    def _centres_and_units(self, original: ColumnSums) -> tuple[FloatArray, FloatArray]:
        """What is taken off the values and what they are divided by; a constant is only centred."""
        deviations = original.deviations
        units = {"z": deviations, "minmax": original.ranges, "none": np.ones(len(deviations))}[self.scale]
        return original.means, np.where(deviations > 0, units, 1.0)

    def _analysis_of_variance(
        self, pair: Pair, attributes: tuple[str, ...], centres: FloatArray, units: FloatArray
    ) -> dict[str, float]:
        """The F ratio of the release's partition on scaled originals; none without exactly one partition."""
        partition = None if pair.release is None else pair.release.partition
        if partition is None or len(partition.labels) != len(pair):
            return {}
        columns = np.nan_to_num((pair.original.matrix(attributes) - centres) / units)
        made = squares(columns, partition.labels)
        found = {"groups": float(len(partition)), "kept": 100 * (1 - made.ratio)}
        within, between = len(pair) - len(partition), len(partition) - 1
        if made.sse > 0 and within > 0 and between > 0:
            found["anova_f"] = (made.ssa / between) / (made.sse / within)
        return found


def _sums(attributes: tuple[str, ...], pair: Tables) -> ColumnSums:
    return ColumnSums.of(pair.original.matrix(attributes))


def _squares(attributes: tuple[str, ...], centres: FloatArray, units: FloatArray, pair: Tables) -> ColumnSums:
    """The squares of the changes, of the original's distances from its mean, and of the release's from the same."""
    before, after = ((table.matrix(attributes) - centres) / units for table in (pair.original, pair.masked))
    kept = np.where(np.isnan(before), np.nan, after)
    return ColumnSums.of(np.hstack([changes_lost(before, after), before, kept]) ** 2)


def ratio(lost: float, total: float) -> float:
    """lost / total, where nothing lost of nothing is 0 and something lost of nothing is all."""
    return lost / total if total > 0 else float(lost > 0)
