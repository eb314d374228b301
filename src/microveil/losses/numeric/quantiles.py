"""How far the quantiles of each attribute moved."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure
from microveil.losses.numeric.moments import relative_change
from microveil.losses.numeric.probabilistic import PERCENTS, Percent
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, reported
from microveil.typing import FloatArray


@parameterised
class Quantiles(LossMeasure):
    """The mean shift of the quantiles of an attribute, as a share of its standard deviation or of the quantile itself.

    `details` has the largest shift (`largest`) and those of the quantile nearest to the median (`median`) and of both
    ends (`lowest`, `highest`), in percent too.

    >>> from microveil.microdata import Microdata
    >>> before, after = Microdata.of({"a": [0.0, 2.0]}), Microdata.of({"a": [0.5, 2.5]})
    >>> Quantiles().measure(before, after).value
    50.0
    """

    name: ClassVar[str] = "quantiles"
    family: ClassVar[str] = "numeric"
    summary: ClassVar[str] = "mean relative shift of the quantiles of each attribute"
    meaning: ClassVar[str] = "mean relative shift of the quantiles; lower is better"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "quantiles are taken over the cells present in each file"
    source: ClassVar[str] = "Mateo-Sanz, Domingo-Ferrer and Sebé (2005), quantiles; Fayyoumi (2008), section 2.4.2"

    percents: tuple[Percent, ...] = parameter(
        default=PERCENTS, help="which quantiles are compared, in per cent", min_length=1
    )
    relative_to: Literal["deviation", "value"] = parameter(
        default="deviation", help="a shift is divided by the original's standard deviation or by the quantile itself"
    )

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        shifts = {}
        for name in reported(attributes, progress, self.name):
            before, after = (column.values for column in pair.numbers(name))
            shifts[name] = self._shifts(before[~np.isnan(before)], after[~np.isnan(before) & ~np.isnan(after)])
        table = np.array(list(shifts.values()))
        percents = np.array(self.percents)
        columns = {"lowest": percents.argmin(), "median": np.abs(percents - 50).argmin(), "highest": percents.argmax()}
        details = {label: 100 * float(table[:, at].mean()) for label, at in columns.items()}
        details["largest"] = 100 * float(table.max())
        per_attribute = {name: 100 * float(shift.mean()) for name, shift in shifts.items()}
        return Loss.of(self.name, float(table.mean()), attributes, per_attribute=per_attribute, details=details)

    def _shifts(self, before: FloatArray, after: FloatArray) -> FloatArray:
        if not len(before) or not len(after):
            return np.full(len(self.percents), float(len(before) > 0))
        shares = np.array(self.percents) / 100
        one, other = np.quantile(before, shares), np.quantile(after, shares)
        unit = np.full(len(shares), before.std())
        if self.relative_to == "value":
            return relative_change(one, other, unit, "scale")
        return relative_change(unit, unit + np.abs(one - other), unit, "released")
