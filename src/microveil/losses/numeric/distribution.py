"""Distances between the distributions of each attribute before and after masking."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure
from microveil.numerics.statistics.distribution_distances import (
    hellinger,
    jensen_shannon,
    quantile_shares,
    step_distances,
)
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, reported
from microveil.typing import FloatArray


@parameterised
class Distribution(LossMeasure):
    """Four distances between the original's and the release's distribution of an attribute, and their means.

    `kolmogorov` is the greatest gap between the distribution functions; `wasserstein` the area between them, in
    standard deviations of the original: how far values would have to be carried; `hellinger` and `jensen-shannon`
    compare the shares of values in intervals cut at quantiles of the original. All but the second are in [0, 1].

    >>> from microveil.microdata import Microdata
    >>> before, after = Microdata.of({"a": [0.0, 2.0]}), Microdata.of({"a": [2.0, 2.0]})
    >>> Distribution().measure(before, after).value
    50.0
    """

    name: ClassVar[str] = "distribution"
    family: ClassVar[str] = "numeric"
    usual: ClassVar[bool] = True
    summary: ClassVar[str] = "distance between the distributions of each attribute before and after"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = "greatest gap between the distribution functions of an attribute; lower is better"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "distributions are those of the cells present in each file"
    source: ClassVar[str] = "Massey (1951), Vallender (1974), Lin (1991)"

    distance: Literal["kolmogorov", "wasserstein", "hellinger", "jensen-shannon"] = parameter(
        default="kolmogorov", help="distance that is the loss; `details` has all four"
    )
    bins: int = parameter(
        default=20, help="number of intervals for the Hellinger and Jensen-Shannon distances", ge=2, le=100_000
    )

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        found = {}
        for name in reported(attributes, progress, self.name):
            before, after = (column.values for column in pair.numbers(name))
            found[name] = self._distances(before[~np.isnan(before)], after[~np.isnan(before) & ~np.isnan(after)])
        means = {kind: float(np.mean([d[kind] for d in found.values()])) for kind in found[attributes[0]]}
        per_attribute = {name: 100 * distances[self.distance] for name, distances in found.items()}
        details = {kind: 100 * mean for kind, mean in means.items()}
        return Loss.of(self.name, means[self.distance], attributes, per_attribute=per_attribute, details=details)

    def _distances(self, before: FloatArray, after: FloatArray) -> dict[str, float]:
        if not len(before) or not len(after):
            return dict.fromkeys(("kolmogorov", "wasserstein", "hellinger", "jensen-shannon"), float(len(before) > 0))
        before, after = np.sort(before), np.sort(after)
        steps = step_distances(before, after)
        shares = quantile_shares(before, after, self.bins)
        deviation = float(before.std()) if before[-1] > before[0] else 0.0
        carried = steps.wasserstein / deviation if deviation > 0 else float(steps.wasserstein > 0)
        return {
            "kolmogorov": steps.kolmogorov,
            "wasserstein": carried,
            "hellinger": hellinger(*shares),
            "jensen-shannon": jensen_shannon(*shares),
        }
