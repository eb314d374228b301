"""The interval attack on individual ranking: a value lies between the means of the groups beside its own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.attacks.base import Risk, Subject
from microveil.attacks.ordered_groups import OrderedGroupsAttack, masked_in_order
from microveil.comparison.pairs import Pair
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, reported
from microveil.typing import FloatArray


@parameterised
class RankingIntervals(OrderedGroupsAttack):
    """Where an attribute was masked by itself in groups of neighbouring values, each value lies between the released
    means next to its own, below and above. A value is disclosed when that interval holds it and is narrow.

    Narrow is less than `narrow` times the released column's standard deviation; the lowest and the highest group have
    no end on one side and are never narrow. The counters: `contained`, the share of values that lie in their interval
    (all of them, where groups were made in order); `narrow`, the share of narrow intervals; `width`, the mean width of
    those with two ends, in per cent of the released range.

    >>> from microveil.masking.microaggregation.individual_ranking import IndividualRanking
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"income": [1, 2, 3, 4, 5, 6, 7, 8]})
    >>> risk = RankingIntervals(narrow=2.0).assess(people, IndividualRanking(k=2).mask(people))
    >>> risk.value, risk.counters["contained"], round(risk.counters["width"], 1)
    (50.0, 100.0, 66.7)
    """

    name: ClassVar[str] = "ranking-intervals"
    family: ClassVar[str] = "intervals"
    subject: ClassVar[Subject] = "masked"
    summary: ClassVar[str] = "encloses a value between the released means of the adjacent groups"
    meaning: ClassVar[str] = (
        "values that lie in a narrow interval between the means of the adjacent groups; lower is safer"
    )
    assumes: ClassVar[str] = "that attributes were masked one at a time, in groups of neighbouring values"
    formula: ClassVar[str] = "x_ij in [m_(g-1), m_(g+1)] for group g, and m_(g+1) - m_(g-1) < narrow * sd_j"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "cells missing in the original are left out; a suppressed cell discloses nothing"
    source: ClassVar[str] = "Domingo-Ferrer et al. (2002); Fayyoumi (2008), section 2.6.3.1"

    narrow: float = parameter(
        default=0.1,
        help="an interval is narrow if its width is less than this number of standard deviations of the released "
        "attribute",
        gt=0,
        le=1e6,
    )

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        # of a release whose making is known, only what was masked in order is bounded by its neighbours
        attributes = tuple(name for name in attributes if masked_in_order(pair, name)) or attributes
        shape = len(attributes), len(pair)
        counted, contained, narrow = (np.zeros(shape, dtype=np.bool_) for _ in range(3))
        widths = []
        for j, name in enumerate(reported(attributes, progress, self.name)):
            before, after = (column.values for column in pair.numbers(name))
            counted[j] = pair.original.missing_states(name) == 0
            released = pair.masked.missing_states(name) == 0
            low, high = beside(np.where(released, after, np.nan))
            contained[j] = counted[j] & released & (low <= before) & (before <= high)
            values = after[released]
            spread, span = (float(values.std()), float(np.ptp(values))) if len(values) else (0.0, 0.0)
            narrow[j] = counted[j] & released & (high - low < self.narrow * spread)
            ended = counted[j] & released & np.isfinite(high - low)
            widths.append((high - low)[ended] / (span or 1.0))
        disclosed, cells = contained & narrow, counted.sum(axis=0)
        per_record = np.where(cells > 0, disclosed.sum(axis=0) / np.maximum(cells, 1), np.nan)
        cases = max(1, int(counted.sum()))
        all_widths = np.concatenate(widths)
        counters = {
            "contained": 100 * float(contained.sum()) / cases,
            "narrow": 100 * float(narrow.sum()) / cases,
            "width": 100 * float(all_widths.mean()) if len(all_widths) else 0.0,
        }
        per_attribute = {
            name: 100 * float(disclosed[j].sum()) / max(1, int(counted[j].sum())) for j, name in enumerate(attributes)
        }
        scenario = (
            f"An intruder who has found a person's released record bounds {', '.join(attributes)} by the released "
            "values next to the person's own, below and above."
        )
        return Risk.of(self.name, per_record, attributes, scenario, counters=counters, per_attribute=per_attribute)


def beside(column: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each value the next lower and the next higher one of the column; infinite at the ends, NaN where missing.

    >>> [side.tolist() for side in beside(np.array([2.0, 5.0, 2.0, 9.0]))]
    [[-inf, 2.0, -inf, 5.0], [5.0, 9.0, 5.0, inf]]
    """
    distinct = np.unique(column[~np.isnan(column)])
    ends = np.concatenate([[-np.inf], distinct, [np.inf]])
    at = np.searchsorted(distinct, column)
    absent = np.isnan(column)
    low, high = ends[at], ends[np.minimum(at + 2, len(ends) - 1)]
    return np.where(absent, np.nan, low), np.where(absent, np.nan, high)
