"""The energy distance between whole tables."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure
from microveil.losses.numeric.moments import moments_of
from microveil.numerics.statistics.energy_distance import energy_distance
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress


@parameterised
class EnergyLoss(LossMeasure):
    """How far the joint distribution of all attributes moved: the energy distance of the standardised records, as a
    share of its greatest possible size. It sees every change of a distribution, also one that leaves all moments alone.

    Every record is compared with every other; beyond `sample` records, with those drawn at random.

    >>> from microveil.microdata import Microdata
    >>> before, after = Microdata.of({"a": [0.0, 2.0]}), Microdata.of({"a": [1.0, 3.0]})
    >>> EnergyLoss().measure(before, after).value.__round__(2)
    57.74
    """

    name: ClassVar[str] = "energy"
    family: ClassVar[str] = "numeric"
    summary: ClassVar[str] = "energy distance between the joint distributions before and after"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = "change of the joint distribution of the attributes; lower is better"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "cells missing in the original are left out; a suppressed cell counts as the mean"
    source: ClassVar[str] = "Székely and Rizzo (2013)"

    sample: int | None = parameter(
        default=5000,
        help="largest number of records, drawn at random where there are more; none: all, in time that grows with the "
        "square of their number",
        ge=2,
        le=MOST_RECORDS,
    )
    seed: int = parameter(default=0, help="seed of the sample", ge=0, le=LARGEST_SEED)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        before, after = moments_of(pair, attributes)
        rows = drawn(pair, attributes, self.sample or len(pair), self.seed, self.name)
        scaling = Scaling.of(before.cells)
        one, other = (np.nan_to_num(scaling.apply(moments.cells[rows])) for moments in (before, after))
        found = energy_distance(one, other, progress, self.name)
        details = {}
        if len(rows) < len(pair):
            error = 100 * found.error * (1 - len(rows) / len(pair)) ** 0.5
            details = {"standard_error": error, "sampled": float(len(rows))}
        return Loss.of(self.name, found.share, attributes, details=details)
