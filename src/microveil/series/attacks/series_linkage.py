"""Linkage of series: the intruder takes the released series nearest to the one they know."""

from __future__ import annotations

from typing import ClassVar

from microveil.attacks.base import Attack, Risk, Variant
from microveil.comparison.pairs import Pair
from microveil.parameters import parameterised
from microveil.progress import Part, Progress, parts
from microveil.series.attacks.base import NearestSeries, named
from microveil.series.attacks.paired import paired_series

_QUICKLY_WARPED = 3e9  # cells of warping tables that are filled in seconds
_BY = {
    "euclidean": "by the Euclidean distance of their values",
    "sts": "by the distance of their slopes, which does not depend on levels",
    "dtw": "under dynamic time warping",
    "quantiles": "by the Euclidean distance of their values in ascending order",
}


def _is_quickly_warped(pair: Pair) -> bool:
    panel = pair.original.schema.panel
    lengths = [] if panel is None else [len(columns) for columns in panel.columns.values()]
    return len(pair) ** 2 * sum(length * max(3, length // 5) for length in lengths) <= _QUICKLY_WARPED


@parameterised
class SeriesLinkage(NearestSeries):
    """For every series the intruder knows, link the nearest released one; the risk is the share of right links.

    Series are compared by their values (`euclidean`, the measure EULD of the literature); by their changes from each
    time to the next (`sts`, the short time series distance, STSLD), so that levels play no part; under dynamic time
    warping (`dtw`), so that shifts in time within a `band` play no part; or by their values in ascending order
    (`quantiles`), so that no change in the order of times hides them.

    Who releases series on another scale has not masked them. So by default the intruder tries several scales, and the
    largest risk counts; counters have that of each. With `file` every file is brought to mean 0 and standard
    deviation 1 by its own values, which sees through a common change of units; with `series` each series by its own
    values, which sees through a change of level and spread that differs from series to series; `ranks` within each
    series see through any increasing transformation; and mirrored, they see through `1e9 - x`. None of them sees
    through another change at every time (distance-linkage and rank-alignment-linkage do), series of which some
    were turned upside down and others not, or values that were added up over time.

    With several variables their squared distances are summed. The intruder knows them all; the counter `average` is
    the mean risk of those who know the first, the first two, and so on, as it is published, and `per_attribute` has
    the risk by each variable alone. Where several released series are equally near, the value counts the chance that
    a random one of them is right, so groups of k equal series leave at most 100/k per cent.

    >>> from microveil.microdata import Microdata
    >>> meters = Microdata.of({"h1": [1, 5, 11, 15], "h2": [3, 3, 13, 13], "h3": [5, 1, 15, 11]})
    >>> release = Microdata.of({"h1": [3, 3, 13, 13], "h2": [3, 3, 13, 13], "h3": [3, 3, 13, 13]})
    >>> risk = SeriesLinkage(normalise="none").assess(meters, release)
    >>> risk.value, SeriesLinkage(distance="sts", normalise="none").assess(meters, release).value
    (50.0, 25.0)
    """

    name: ClassVar[str] = "series-linkage"
    general: ClassVar[bool] = True
    summary: ClassVar[str] = "links each known series to the nearest released series"
    meaning: ClassVar[str] = "series an intruder links to the right unit by nearest distance; lower is safer"
    assumes: ClassVar[str] = "the true series of everyone in the file"
    formula: ClassVar[str] = "mean over series of [own among the nearest] / number of nearest"
    missing: ClassVar[str] = (
        "a wildcard adds the typical difference at its time between nearest series; before its first and after its "
        "last value a series is like others that are missing there; a record without values is not linked"
    )
    source: ClassVar[str] = "Nin and Torra (2006); Nin (2008), section 6.3.2, Algorithm 7, and section 6.3.4"

    variants: ClassVar[tuple[Variant, ...]] = (
        Variant({"distance": "sts"}),
        Variant({"distance": "quantiles"}),
        Variant({"distance": "dtw"}, _is_quickly_warped),
    )

    @classmethod
    def usual_forms(cls, pair: Pair) -> tuple[Attack, ...]:
        """Levels and shapes are different things to be found by, so every assessment has both distances."""
        return cls.suited(pair)

    @classmethod
    def too_long(cls, pair: Pair) -> tuple[tuple[Attack, str], ...]:
        return () if _is_quickly_warped(pair) else ((cls(distance="dtw"), "warping so many series takes too long"),)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        series = paired_series(pair, attributes)
        several = len(series) > 1
        # the first ones in turn are half of all on average, and each alone adds up to all
        terms = self.metric.effort(series) * len(self.scales(len(series))) * (len(series) / 2 + 1)
        attacked = self.attacked(pair, attributes, terms)
        linked = self.linked(series, attacked, Part(progress, 0.0, 0.4 if several else 1.0))
        full = linked.risk
        alone, average = {series[0].name: full}, {}
        if several:
            stretches = iter(parts(Part(progress, 0.4, 1.0), 2 * len(series) - 2))
            alone = {
                one.name: self.linked([one], attacked, part).risk for one, part in zip(series, stretches, strict=False)
            }
            firsts = [alone[series[0].name]]
            firsts += [self.linked(series[:size], attacked, next(stretches)).risk for size in range(2, len(series))]
            average = {"average": (sum(firsts) + full) / len(series)}
        scenario = (
            f"An intruder knows {named(pair, series)} of everyone in the file and takes for each unit the released "
            f"record that is nearest {_BY[self.distance]}."
        )
        return self.risk(pair, attributes, attacked, linked, scenario, average, alone)
