"""Linkage by another period: yesterday's curve leads to today's."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from microveil.attacks.base import Risk, Variant
from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.numerics.series.comparing import mean_cycle
from microveil.parameters import MOST_ATTRIBUTES, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.series.attacks.base import NearestSeries, named
from microveil.series.attacks.paired import PairedSeries, paired_series


@parameterised
class PeriodLinkage(NearestSeries):
    """The intruder knows an earlier period of each series, of which only a later one is released, and links the
    released series whose later period is nearest to the earlier one; the risk is the share of right links.

    Habits link the periods: who used much yesterday uses much today, and at the same hours. The time is `cut` in two.
    The last points before the cut are compared with as many after it, one by one; with a `cycle`, such as the number of
    points in a day, the mean day before the cut is compared with the mean day after it. The counter `unmasked` is the
    risk that the later period would have had if it had been released as it was.

    >>> from microveil.microdata import Microdata
    >>> week = {"mon": [1, 5, 9], "tue": [2, 6, 8], "wed": [2, 4, 9], "thu": [1, 6, 9]}
    >>> PeriodLinkage().assess(week, week).value
    100.0
    """

    name: ClassVar[str] = "period-linkage"
    general: ClassVar[bool] = True
    fewest_points: ClassVar[int] = 2
    summary: ClassVar[str] = "links the known earlier period of each series to the released later one"
    meaning: ClassVar[str] = "series an intruder links to the right unit by an earlier period; lower is safer"
    assumes: ClassVar[str] = "the true values of an earlier period of each series, not of the released one"
    formula: ClassVar[str] = "mean over series of [own among the nearest in the other period] / number of nearest"
    missing: ClassVar[str] = (
        "a wildcard adds the typical difference at its phase between nearest series; a record without values in the "
        "earlier period is not linked"
    )
    source: ClassVar[str] = (
        "Microveil's own, after Nin (2008), section 6.3.2, Algorithm 7, and section 7.2 on data released at different "
        "times"
    )

    cut: float = parameter(default=0.5, help="share of the times that lie before the cut", gt=0, lt=1)
    cycle: int | None = parameter(
        default=None,
        help="number of points in a cycle, such as a day, whose means are compared; unset: point by point",
        ge=1,
        le=MOST_ATTRIBUTES,
    )

    variants: ClassVar[tuple[Variant, ...]] = (Variant({"distance": "sts"}),)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        whole = paired_series(pair, attributes)
        long = [one for one in whole if one.length > 1]
        if not long:
            raise DataError(f"{self.name} needs series of at least two points: one before the cut and one after it")
        series = [self._periods(one) for one in long]
        unmasked = [
            self._periods(replace(one, released=one.known, states=(one.states[0], one.states[0]))) for one in long
        ]
        terms = self.metric.effort(series) * len(self.scales(len(series))) * (2 + (len(series) > 1))
        attacked = self.attacked(pair, attributes, terms)
        first, second, *rest = parts(progress, 2 + (len(series) if len(series) > 1 else 0))
        linked = self.linked(series, attacked, first)
        before = self.linked(unmasked, attacked, second)
        alone = {series[0].name: linked.risk}
        for one, part in zip(series, rest, strict=False):
            alone[one.name] = self.linked([one], attacked, part).risk
        scenario = (
            f"An intruder knows {named(pair, series)} of everyone up to {100 * self.cut:g} % of the time, of which "
            "only the rest is released, and takes for each unit the released record whose later period is nearest to "
            f"the earlier one{'' if self.cycle is None else f', in the mean over cycles of {self.cycle} points'}."
        )
        counters = {"unmasked": before.risk}
        return self.risk(pair, attributes, attacked, linked, scenario, counters, alone)

    def _periods(self, series: PairedSeries) -> PairedSeries:
        """The known points before the cut beside the released ones after it."""
        length = series.length
        cut = min(length - 1, max(1, round(self.cut * length)))
        if self.cycle is None:
            shared = min(cut, length - cut)
            known, released = series.at(np.arange(cut - shared, cut)), series.at(np.arange(cut, cut + shared))
            return replace(
                known,
                released=released.released,
                states=(known.states[0], released.states[1]),
                wildcard=released.wildcard,
            )
        earlier = mean_cycle(series.known[:, :cut], self.cycle)
        # phases count from the first time on: the later period may begin in the middle of a cycle
        begun = np.full((len(earlier), cut % self.cycle), np.nan)
        later = mean_cycle(np.column_stack([begun, series.released[:, cut:]]), self.cycle)
        phases = min(earlier.shape[1], later.shape[1])
        earlier, later = earlier[:, :phases], later[:, :phases]
        states = np.isnan(earlier).astype(np.uint8), np.isnan(later).astype(np.uint8)
        wildcard = np.full(phases, bool(series.wildcard.any()))
        return PairedSeries(series.name, np.arange(float(phases)), earlier, later, states, wildcard)
