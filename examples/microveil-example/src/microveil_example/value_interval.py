"""How often a true value lies within some standard deviations of the released one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.attacks import Attack, Risk
from microveil.comparison.pairs import Pair
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts


@parameterised
class ValueInterval(Attack):
    """The intruder takes an interval around each released value; the risk is the share of true values that lie in it.

    The half-width of the interval is a share of the standard deviation of the original attribute.

    >>> from microveil.microdata import Microdata
    >>> before, after = Microdata.of({"age": [20.0, 40.0]}), Microdata.of({"age": [20.0, 30.0]})
    >>> ValueInterval().assess(before, after).value
    50.0
    """

    name: ClassVar[str] = "value-interval"
    family: ClassVar[str] = "intervals"
    summary: ClassVar[str] = "checks whether the original value lies within a distance of the released one"
    meaning: ClassVar[str] = "original values that lie close to their released values; lower is safer"
    assumes: ClassVar[str] = "which released record is a person's"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "cells missing in the original are left out; a suppressed cell discloses nothing"
    source: ClassVar[str] = "Mateo-Sanz, Sebé and Domingo-Ferrer (2004), interval disclosure by standard deviation"

    width: float = parameter(default=0.1, help="half-width of the interval, in standard deviations", ge=0, le=100)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        disclosed, present = np.zeros((2, len(attributes), len(pair)), dtype=np.bool_)
        for j, (name, part) in enumerate(zip(attributes, parts(progress, len(attributes)), strict=True)):
            before, after = (column.values for column in pair.numbers(name))
            present[j] = ~np.isnan(before)
            spread = float(before[present[j]].std()) if present[j].any() else 0.0
            disclosed[j] = np.abs(before - after) <= self.width * spread  # no comparison with NaN is true
            part(1.0, f"{self.name}: {name}")
        known = present.sum(axis=0)
        per_record = np.where(known > 0, disclosed.sum(axis=0) / np.maximum(known, 1), np.nan)
        scenario = (
            f"An intruder who has found a person's released record guesses that the true values of "
            f"{', '.join(attributes)} lie within {self.width:g} standard deviations of the released ones."
        )
        shares = 100 * disclosed.sum(axis=1) / np.maximum(present.sum(axis=1), 1)
        return Risk.of(
            self.name, per_record, attributes, scenario,
            per_attribute=dict(zip(attributes, shares.tolist(), strict=True)),
        )  # fmt: skip
