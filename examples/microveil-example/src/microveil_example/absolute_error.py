"""The mean absolute error of the released values."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.losses import Loss, LossMeasure
from microveil.parameters import parameterised
from microveil.progress import Progress, parts


@parameterised
class AbsoluteError(LossMeasure):
    """The sum of the absolute changes of an attribute, as a share of its absolute deviations from the median.

    100 % is what a release that publishes the median for everyone loses.

    >>> from microveil.microdata import Microdata
    >>> before, after = Microdata.of({"age": [20.0, 30.0, 40.0]}), Microdata.of({"age": [25.0, 30.0, 40.0]})
    >>> AbsoluteError().measure(before, after).value
    25.0
    """

    name: ClassVar[str] = "absolute-error"
    family: ClassVar[str] = "numeric"
    summary: ClassVar[str] = "absolute change of the values against their absolute deviation from the median"
    meaning: ClassVar[str] = "share of the absolute deviation from the median that is lost; lower is better"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "cells missing in both files are left out; one missing in a single file is lost"
    source: ClassVar[str] = "Yancey, Winkler and Creecy (2002), in the form with absolute deviations"

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        lost = {}
        for name, part in zip(attributes, parts(progress, len(attributes)), strict=True):
            before, after = (column.values for column in pair.numbers(name))
            lost[name] = _share_lost(before, after)
            part(1.0, f"{self.name}: {name}")
        per_attribute = {name: 100 * share for name, share in lost.items()}
        return Loss.of(self.name, float(np.mean(list(lost.values()))), attributes, per_attribute=per_attribute)


def _share_lost(before: np.ndarray, after: np.ndarray) -> float:
    held, released = ~np.isnan(before), ~np.isnan(after)
    both = held & released
    gone = float((held != released).sum() / max(1, (held | released).sum()))
    if not both.any():
        return gone
    change = float(np.abs(before - after)[both].sum())
    spread = float(np.abs(before[both] - np.median(before[both])).sum())
    # a constant has no spread: it is kept, or it is lost
    share = change / spread if spread > 0 else float(change > 0)
    return gone + (1 - gone) * share
