"""The mean squared change of values that each table scales by its own range."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure, Route
from microveil.numerics.grouping.mic1d import separate_squares
from microveil.numerics.statistics.scaling import min_max
from microveil.parameters import parameterised
from microveil.progress import Progress


@parameterised
class SeparateSSE(LossMeasure):
    """Squared differences between the original values and the released ones, each scaled to [0, 1] by its own range.

    Because every table has its own scale, the measure is blind to a shift or a stretch and sees mostly how the range
    shrinks when extreme records are averaged. Some published tables call it SSE; `details["sse"]` is that sum, the
    value is its mean over the cells.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [1.0, 2.0, 3.0, 6.0]})
    >>> SeparateSSE().measure(people, Microdata.of({"age": [1.5, 1.5, 4.5, 4.5]})).details["sse"].__round__(3)
    0.4
    """

    name: ClassVar[str] = "sse-separate"
    family: ClassVar[str] = "numeric"
    summary: ClassVar[str] = "mean squared change of values scaled to [0, 1] by each table's own range"
    meaning: ClassVar[str] = "squared change of a cell as a share of the greatest possible; lower is better"
    route: ClassVar[Route] = "data"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = (
        "cells missing in the original are left out; a suppressed cell counts as replaced by the mean"
    )
    source: ClassVar[str] = "Nin (2008), section 3.1.1, as its Table 4.7 is computed"

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        total, cells, per_attribute = 0.0, 0, {}
        for name in attributes:
            before, after = (column.values[:, None] for column in pair.numbers(name))
            changed = separate_squares(before, after)
            suppressed = np.isnan(after) & ~np.isnan(before)
            if suppressed.any():
                scaled = min_max(before)
                changed = np.where(suppressed, (scaled - np.nanmean(scaled)) ** 2, changed)
            sse, present = float(np.nansum(changed)), int((~np.isnan(before)).sum())
            per_attribute[name] = 100 * sse / max(1, present)
            total += sse
            cells += present
        return Loss.of(
            self.name, total / max(1, cells), attributes, per_attribute=per_attribute, details={"sse": total}
        )
