"""Linkage by extremes: the intruder knows when a series had its maximum, and perhaps how large it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from microveil.attacks.base import Risk, Variant
from microveil.attacks.linkage.candidates import RECORDS, attacked, risk_of
from microveil.comparison.pairs import Pair
from microveil.numerics.statistics.scaling import standardise
from microveil.parameters import LARGEST_NUMBER, LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.series.attacks.base import SeriesAttack, named, percent_of
from microveil.series.attacks.paired import PairedSeries, paired_series
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.neighbours.range_search import Inside
    from microveil.numerics.series.extremes import Peaks


@parameterised
class ExtremesLinkage(SeriesAttack):
    """The intruder knows when each series had its maximum, and links a released series that has its own at that time;
    the risk is the share of right links.

    Candidates are the released series with the same time of the maximum, or of maximum and minimum (`extremes`), up to
    a `tolerance`; of several variables all must agree. Who knows the `size` too takes the candidate whose maximum
    is nearest, as it stands or standardised in its file, whichever gains more. The counter `time alone` is the risk
    by the times without the size. Where a value stands several times, each of its times counts. Series that were turned
    upside down or shifted in time are not seen through; linkage of whole series does that.

    >>> from microveil.microdata import Microdata
    >>> meters = Microdata.of({"h1": [1, 9, 8, 2], "h2": [7, 2, 3, 6], "h3": [5, 5, 5, 5]})
    >>> ExtremesLinkage(size=False).assess(meters, meters).value
    50.0
    >>> ExtremesLinkage().assess(meters, meters).value
    100.0
    """

    name: ClassVar[str] = "extremes-linkage"
    family: ClassVar[str] = "linkage"
    general: ClassVar[bool] = True
    summary: ClassVar[str] = "links series by the time and size of their maximum"
    meaning: ClassVar[str] = "series an intruder links to the right unit by time and size of a peak; lower is safer"
    assumes: ClassVar[str] = "the time at which each series has its maximum, and how large it is"
    formula: ClassVar[str] = "mean over i of [i in C_i] / |C_i|, C_i = { l : |t'_l - t_i| <= tolerance, size nearest }"
    missing: ClassVar[str] = "missing cells are left out; a series without values is not linked"
    source: ClassVar[str] = "Microveil's own; de Montjoye et al. (2013) on how few points single out a trace"

    extremes: Literal["maximum", "minimum", "both"] = parameter(
        default="maximum", help="what the intruder knows of each series: its maximum, its minimum, or both"
    )
    size: bool = parameter(default=True, help="whether the intruder knows the size of the extremes beside their time")
    tolerance: float = parameter(
        default=0.0,
        help="by how much the times of known and released extremes may differ, in units of the usual spacing of times",
        ge=0,
        le=LARGEST_NUMBER,
    )
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(default=0, help="seed for drawing the records to attack", ge=0, le=LARGEST_SEED)

    variants: ClassVar[tuple[Variant, ...]] = (Variant({"extremes": "both"}),)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        series = paired_series(pair, attributes)
        signs = {"maximum": (1,), "minimum": (-1,), "both": (1, -1)}[self.extremes]
        steps = 2.0 * len(pair) * len(signs) * sum(one.length for one in series)
        own = attacked(pair, attributes, self.records, steps, self.seed, self.name)
        first, *rest = parts(progress, 4 if len(series) == 1 else 4 + len(series))
        times = self._linked(series, signs, own, None, first)
        found = self._best(series, signs, own, times, rest[:2])
        alone = {series[0].name: _gained(found)}
        for one, part in zip(series, rest[3:], strict=False):
            alone[one.name] = _gained(self._best([one], signs, own, None, [part]))
        what = {"maximum": "the maximum", "minimum": "the minimum", "both": "maximum and minimum"}[self.extremes]
        within = "" if self.tolerance == 0 else f", up to {self.tolerance:g} steps"
        size = " and how large it is" if self.size else ""
        nearest = " and takes the one of the nearest size" if self.size else " and takes one of them"
        scenario = (
            f"An intruder knows when {named(pair, series)} of a unit have {what}{size}, looks for the released records "
            f"with the same time{within}{nearest}."
        )
        risk = risk_of(self.name, pair, attributes, own, found, scenario, per_attribute=alone)
        counters: dict[str, float] = {**risk.counters, "time alone": _gained(times)}
        return Risk.of(
            self.name, risk.per_record, attributes, scenario, counters=counters, per_attribute=risk.per_attribute
        )

    def _best(
        self,
        series: Sequence[PairedSeries],
        signs: Sequence[int],
        own: IntArray,
        times: Inside | None,
        progress: Sequence[Progress],
    ) -> Inside:
        """By what the intruder knows; of sizes on both scales the one that gains more."""
        if not self.size:
            return times if times is not None else self._linked(series, signs, own, None, progress[0])
        stretches = progress if len(progress) == 2 else parts(progress[0], 2)
        tried = [self._linked(series, signs, own, on, part) for on, part in zip((False, True), stretches, strict=True)]
        return max(tried, key=_gained)

    def _linked(
        self,
        series: Sequence[PairedSeries],
        signs: Sequence[int],
        own: IntArray,
        standardised: bool | None,
        progress: Progress,
    ) -> Inside:
        """The candidates by time, and the nearest of them by size; by time alone where that has no scale."""
        from microveil.numerics.series.extremes import Peaks, link_by_peaks

        known: list[Peaks] = []
        released: list[Peaks] = []
        for one in series:
            near = np.abs(one.positions[:, None] - one.positions[None, :]) <= self.tolerance
            for sign in signs:
                before, after = Peaks.of(sign * one.known), Peaks.of(sign * one.released)
                if standardised:
                    before, after = (peaks._replace(size=_standardised(peaks.size)) for peaks in (before, after))
                known.append(before.within(near))
                released.append(after)
        return link_by_peaks(
            known, released, standardised is not None, own, progress, f"{self.name}: comparing extremes"
        )


def _standardised(sizes: FloatArray) -> FloatArray:
    return standardise(sizes[:, None])[:, 0]


def _gained(found: Inside) -> float:
    """The expected share of right links in per cent."""
    return percent_of(np.where(found.nearest, 1.0 / np.maximum(found.ties, 1), 0.0))
