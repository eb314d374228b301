"""Linkage by a fragment: the intruder saw a few points of a series, or one stretch of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from microveil.attacks.base import Risk, Variant
from microveil.attacks.linkage.base import Hits
from microveil.comparison.pairs import Pair
from microveil.numerics.series.comparing import CommonScale, scattered, stretches
from microveil.parameters import MOST_ATTRIBUTES, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import PublicStreams
from microveil.series.attacks.base import NearestSeries, mean_hits, named, percent_of
from microveil.series.attacks.paired import PairedSeries, link_series, paired_series
from microveil.typing import FloatArray, IntArray


@parameterised
class FragmentLinkage(NearestSeries):
    """The intruder saw a few points of each series, such as one day of a meter, and links the released series that is
    nearest there; the risk is the share of right links, in the mean over several fragments.

    A fragment is a `stretch` of consecutive times, or as many `scattered` ones. Stretches are spread evenly over the
    time; scattered points are drawn, the same for all series. Of several variables the same times are seen. The
    counters `lowest` and `highest` are the risks of the fragments that tell least and most.

    >>> from microveil.microdata import Microdata
    >>> meters = Microdata.of({"h1": [1, 5, 11], "h2": [3, 3, 13], "h3": [5, 5, 15], "h4": [7, 7, 0]})
    >>> risk = FragmentLinkage(points=1, fragments=4, normalise="none").assess(meters, meters)
    >>> risk.value, round(risk.counters["lowest"], 2), risk.counters["highest"]
    (75.0, 66.67, 100.0)
    """

    name: ClassVar[str] = "fragment-linkage"
    general: ClassVar[bool] = True
    summary: ClassVar[str] = "links series by a few known points or one known stretch"
    meaning: ClassVar[str] = "series an intruder links to the right unit by a few of their points; lower is safer"
    assumes: ClassVar[str] = "a few true values of each series, or one stretch of it, such as a day"
    formula: ClassVar[str] = "mean over fragments and series of [own among the nearest there] / number of nearest"
    missing: ClassVar[str] = (
        "a wildcard adds the typical difference at its time between nearest fragments; a record without values in a "
        "fragment is not linked by it"
    )
    source: ClassVar[str] = (
        "Microveil's own, after Nin (2008), section 6.3.2, Algorithm 7; de Montjoye et al. (2013) on how few points "
        "single out a trace"
    )

    points: int = parameter(default=5, help="number of points that the intruder saw", ge=1, le=MOST_ATTRIBUTES)
    kind: Literal["stretch", "scattered"] = parameter(
        default="stretch", help="whether the points follow each other (stretch) or are drawn from all times (scattered)"
    )
    fragments: int = parameter(default=10, help="number of fragments that are tried", ge=1, le=10_000)

    variants: ClassVar[tuple[Variant, ...]] = (Variant({"kind": "scattered"}),)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        series = paired_series(pair, attributes)
        times = np.unique(np.concatenate([one.positions for one in series]))
        chosen = self._fragments(len(times))
        scales = self.scales(len(series))
        seen = [[_seen(one, times[points]) for one in series] for points in chosen]
        seen = [[one for one in fragment if one.length] for fragment in seen]
        terms = sum(self.metric.effort(fragment) for fragment in seen) * len(scales) * (1 + (len(series) > 1))
        attacked = self.attacked(pair, attributes, terms)
        whole, *alone = parts(progress, 1 + (len(series) if len(series) > 1 else 0))
        by_scale = self._by_scale(seen, scales, attacked, whole)
        linked = self.largest({how: mean_hits(found) for how, found in by_scale.items()}, len(series))
        risks = [percent_of(hits["expected"]) for hits in by_scale[linked.how]]
        per_attribute = {series[0].name: linked.risk}
        for one, part in zip(series, alone, strict=False):
            fragments = [[other for other in fragment if other.name == one.name] for fragment in seen]
            found = self._by_scale([f for f in fragments if f], self.scales(1), attacked, part)
            per_attribute[one.name] = self.largest({how: mean_hits(hits) for how, hits in found.items()}, 1).risk
        saw = f"{len(chosen[0])} {'consecutive' if self.kind == 'stretch' else 'scattered'} points"
        scenario = (
            f"An intruder saw {saw} of {named(pair, series)} and takes for each unit the released record that is "
            f"nearest there; the mean over {len(chosen)} choices of points."
        )
        counters = {"lowest": min(risks), "highest": max(risks)}
        return self.risk(pair, attributes, attacked, linked, scenario, counters, per_attribute)

    def _fragments(self, points: int) -> list[IntArray]:
        if self.kind == "stretch":
            return stretches(points, self.points, self.fragments)
        return scattered(points, self.points, self.fragments, PublicStreams(self.seed).generator(self.name, "points"))

    def _by_scale(
        self,
        seen: Sequence[Sequence[PairedSeries]],
        scales: Sequence[CommonScale],
        attacked: IntArray,
        progress: Progress,
    ) -> dict[CommonScale, list[Hits]]:
        steps = iter(parts(progress, len(scales) * len(seen)))
        label = f"{self.name}: linking fragments"
        return {
            how: [link_series(series, self.metric, how, attacked, next(steps), label) for series in seen]
            for how in scales
        }


def _seen(series: PairedSeries, times: FloatArray) -> PairedSeries:
    """The series at the times that were seen."""
    return series.at(np.flatnonzero(np.isin(series.positions, times)))
