"""Interval disclosure of series: how often a true value lies within a few per cent of the released one."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from microveil.attacks.base import Risk, Subject
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.numerics.series.comparing import cells_within
from microveil.numerics.statistics.wilson import wilson_interval
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.series.attacks.base import SeriesAttack, named
from microveil.series.attacks.paired import paired_series


@parameterised
class SeriesIntervals(SeriesAttack):
    """The intruder takes an interval of p per cent around every released value; the risk is the share of true values
    that lie in their interval, in the mean over all widths p.

    Every value of every series counts, also those released as they were. The counters have the share for each width
    and, with several variables, for each of them; `per_attribute` has it at each time. The interval is one of values,
    so it is wide around large values and has no width around 0, and series released on another scale seem safe:
    linkage sees through that.

    >>> from microveil.microdata import Microdata
    >>> meters = Microdata.of({"h1": [9.0, 20.0], "h2": [10.0, 30.0]})
    >>> risk = SeriesIntervals().assess(meters, {"h1": [10.0, 10.0], "h2": [10.0, 31.0]})
    >>> risk.value, risk.counters["p=10"], risk.per_attribute["h1"]
    (45.0, 75.0, 5.0)
    """

    name: ClassVar[str] = "series-intervals"
    family: ClassVar[str] = "intervals"
    subject: ClassVar[Subject] = "masked"
    general: ClassVar[bool] = True
    summary: ClassVar[str] = "checks whether values of a series lie within a few per cent of the released ones"
    meaning: ClassVar[str] = "values of series that lie close to their released values; lower is safer"
    assumes: ClassVar[str] = "which released record is a unit's"
    formula: ClassVar[str] = "mean over p of the share of cells with |x_it - x'_it| <= p |x'_it|"
    missing: ClassVar[str] = "cells missing in the original are left out; a suppressed cell discloses nothing"
    source: ClassVar[str] = "Nin and Torra (2006); Nin (2008), section 6.3.3, Algorithm 8"

    widths: tuple[float, ...] = parameter(
        default=tuple(float(p) for p in range(1, 11)),
        help="half-widths of the interval in per cent of the released value",
        min_length=1,
    )

    def __post_init__(self) -> None:
        if not all(0 <= width <= 100 for width in self.widths):
            raise ParameterError(f"{self.name}: widths = {self.widths} is not allowed; each is from 0 to 100")

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        series = paired_series(pair, attributes)
        known = np.column_stack([one.known for one in series])
        released = np.column_stack([one.released for one in series])
        columns = [name for one in pair.original.series_among(attributes) for name in one.columns]
        variable = np.repeat(np.arange(len(series)), [one.length for one in series])
        counted = ~np.isnan(known)
        hits, by_width = np.zeros(known.shape), {}
        for width, part in zip(self.widths, parts(progress, len(self.widths)), strict=True):
            within = cells_within(known, released, width)
            by_width[f"p={width:g}"] = 100 * float(within.sum() / max(1, counted.sum()))
            hits += within
            part(1.0, f"{self.name}: intervals")
        cases = len(self.widths) * counted
        of_record = cases.sum(axis=1)
        per_record = np.where(of_record > 0, hits.sum(axis=1) / np.maximum(of_record, 1), np.nan)
        at_time = 100 * hits.sum(axis=0) / np.maximum(cases.sum(axis=0), 1)
        by_variable = {
            one.name: 100 * float(hits[:, variable == j].sum() / max(1, cases[:, variable == j].sum()))
            for j, one in enumerate(series)
        }
        scenario = (
            f"An intruder who has found a unit's released record guesses that the true values of {named(pair, series)} "
            "lie within a few per cent of the released ones."
        )
        counters = {**by_width, **(by_variable if len(series) > 1 else {})}
        per_attribute = dict(zip(columns, at_time.tolist(), strict=True))
        risk = Risk.of(self.name, per_record, attributes, scenario, counters=counters, per_attribute=per_attribute)
        # records with missing cells weigh less in the share of values than in the mean over records, and the cells of
        # a record are not independent: the interval is that of as many draws as there are records
        share = float(hits.sum() / max(1, cases.sum()))
        low, high = wilson_interval(share * risk.attacked, risk.attacked)
        return replace(risk, value=100 * share, low=100 * low, high=100 * high)
