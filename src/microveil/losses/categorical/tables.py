"""CTBIL: contingency-table-based information loss."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from microveil.losses.base import Loss, LossMeasure
from microveil.microdata.pairs import Pair
from microveil.microdata.schema import CATEGORICAL
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress

IntArray = npt.NDArray[np.int64]


@parameterised
class CTBIL(LossMeasure):
    """Differences between the counts of all contingency tables of up to `dimension` attributes.

    `value` is the sum of the absolute differences over its greatest possible size (twice the records, for each table).
    The details give the sum itself (`ctbil`) and its mean per cell of the tables (`actbil`).

    >>> from microveil.microdata import Microdata
    >>> one, other = ({"job": list(text)} for text in ("cook", "cool"))
    >>> CTBIL().measure(Microdata.of(one), Microdata.of(other)).value
    25.0
    """

    name: ClassVar[str] = "ctbil"
    family: ClassVar[str] = "categorical"
    summary: ClassVar[str] = "differences between the contingency tables of the original and of the release"
    meaning: ClassVar[str] = "how far the counts in tables of the categories moved; lower is better"
    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = "missing cells are counted in a cell of their own"
    source: ClassVar[str] = "Domingo-Ferrer and Torra (2001); specification 05, IL-03"

    dimension: int = parameter(2, help="largest number of attributes crossed in a table", ge=1)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        columns = {name: _coded(pair, name) for name in attributes}
        subsets = [s for size in range(1, self.dimension + 1) for s in combinations(attributes, size)]
        moved, cells = 0, 0
        alone: dict[str, float] = {}
        for number, subset in enumerate(subsets, start=1):
            difference = _table_difference([columns[name] for name in subset])
            moved += difference
            cells += prod(columns[name][2] for name in subset)
            if len(subset) == 1:
                alone[subset[0]] = 100 * difference / (2 * len(pair))
            progress(number / len(subsets), f"{self.name}: tables")
        details = {"ctbil": float(moved), "actbil": moved / max(1, cells), "tables": float(len(subsets))}
        share = moved / (2 * len(pair) * len(subsets))
        return Loss.of(self.name, share, attributes, per_attribute=alone, details=details)


def _coded(pair: Pair, name: str) -> tuple[IntArray, IntArray, int]:
    """Both columns as positions, with one more place for missing cells where they occur; and the number of places."""
    one, other = pair.categories(name)
    size = len(one.domain)
    if (one.codes < 0).any() or (other.codes < 0).any():
        return np.where(one.codes < 0, size, one.codes), np.where(other.codes < 0, size, other.codes), size + 1
    return one.codes, other.codes, size


def _table_difference(columns: list[tuple[IntArray, IntArray, int]]) -> int:
    """The sum of the absolute differences between two contingency tables; only cells that occur are looked at."""
    crossed = np.zeros(2 * len(columns[0][0]), dtype=np.int64)
    for one, other, size in columns:
        crossed = crossed * size + np.concatenate([one, other])
        # numbered anew after each attribute, so that even huge tables fit
        crossed = np.unique(crossed, return_inverse=True)[1].reshape(-1)
    half = len(crossed) // 2
    cells = int(crossed.max()) + 1
    return int(
        np.abs(np.bincount(crossed[:half], minlength=cells) - np.bincount(crossed[half:], minlength=cells)).sum()
    )
