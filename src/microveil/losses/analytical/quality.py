"""Data quality as an analyst meets it: accuracy, completeness and consistency of the released cells."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure, Route
from microveil.microdata.schema import KINDS
from microveil.parameters import parameterised
from microveil.progress import Progress, reported


@parameterised
class Quality(LossMeasure):
    """Three shares, in `details`, and their mean. `accuracy`: how far cells moved; a category by 1 if it changed, a
    number by its change in standard deviations, at most 1. `completeness`: cells that were suppressed. `consistency`:
    released cells that the original could not hold: numbers outside its least and greatest value, fractions where it
    has whole numbers only, categories that do not occur in it.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 30, 40, 50]})
    >>> Quality().measure(people, Microdata.of({"age": [20, 30.5, None, 60]})).details["consistency"].__round__(1)
    66.7
    """

    name: ClassVar[str] = "quality"
    family: ClassVar[str] = "analytical"
    summary: ClassVar[str] = "accuracy, completeness and consistency of the released cells"
    meaning: ClassVar[str] = (
        "cells that changed, are empty, or hold values that the original cannot have; lower is better"
    )
    route: ClassVar[Route] = "data"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = "cells missing in the original are left out"
    source: ClassVar[str] = "Nin (2008), section 2.5, names the three; the definitions are Microveil's own"

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        found = {}
        for name in reported(attributes, progress, self.name):
            found[name] = (
                _of_numbers(pair, name) if pair.original[name].kind == "numeric" else _of_categories(pair, name)
            )
        means = {kind: float(np.mean([shares[kind] for shares in found.values()])) for kind in found[attributes[0]]}
        per_attribute = {name: 100 * float(np.mean(list(shares.values()))) for name, shares in found.items()}
        details = {kind: 100 * share for kind, share in means.items()}
        value = sum(means.values()) / len(means)
        return Loss.of(self.name, value, attributes, per_attribute=per_attribute, details=details)


def _of_numbers(pair: Pair, name: str) -> dict[str, float]:
    before, after = (column.values for column in pair.numbers(name))
    present = ~np.isnan(before)
    before, after = before[present], after[present]
    if not len(before):
        return _shares(np.zeros(0), 0, np.zeros(0))
    released = ~np.isnan(after)
    before, held = before[released], before
    deviation = float(held.std()) if np.ptp(held) > 0 else 0.0
    after = after[released]
    change = np.abs(after - before)
    moved = np.minimum(change / deviation, 1.0) if deviation > 0 else (change > 0).astype(np.float64)
    broken = (after < held.min()) | (after > held.max())
    if (held == np.round(held)).all():
        broken |= after != np.round(after)
    return _shares(moved, int((~released).sum()), broken)


def _of_categories(pair: Pair, name: str) -> dict[str, float]:
    one, other = pair.categories(name)
    present = pair.original.missing_states(name) == 0
    before, after = one.codes[present], other.codes[present]
    released = pair.masked.missing_states(name)[present] == 0
    occurring = np.zeros(len(one.domain), dtype=np.bool_)
    occurring[before] = True
    before, after = before[released], after[released]
    return _shares(before != after, int((~released).sum()), ~occurring[after])


def _shares(moved: npt.NDArray[np.generic], suppressed: int, broken: npt.NDArray[np.generic]) -> dict[str, float]:
    released = len(moved)
    return {
        "accuracy": float(moved.sum()) / max(1, released),
        "completeness": suppressed / max(1, released + suppressed),
        "consistency": float(broken.sum()) / max(1, released),
    }
