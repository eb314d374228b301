"""Which columns of a table were changed, found by comparing it with its original."""

from __future__ import annotations

import numpy as np

from microveil.microdata.hints import hints
from microveil.microdata.microdata import Microdata
from microveil.typing import IntArray

Codes = tuple[IntArray, IntArray]  # of the original and of the masked column, equal where the cells are


def changed(original: Microdata, columns: dict[str, Codes]) -> list[str]:
    """The columns whose values were changed, not only the order of the records.

    Any column that does not hold the same cells record by record was changed, such as one with swapped values. Only
    where every column holds the same values in another order were the records moved, and nothing was changed.
    Household numbers are renumbered in every release, which masks nothing.
    """
    moved = {name: codes for name, codes in columns.items() if not np.array_equal(*codes)}
    order_kept = any(len(np.unique(before)) > 1 for name, (before, _) in columns.items() if name not in moved)
    if not order_kept and all(_same_values(*codes) for codes in moved.values()):
        return []
    found = list(moved)
    households = [name for name, hint in hints(original.select(found)).items() if hint.looks_like == "household"]
    return [name for name in found if name not in households or not _renumbered(*columns[name])]


def _same_values(before: IntArray, after: IntArray) -> bool:
    """Whether both hold the same values, each as often."""
    return np.array_equal(np.sort(before), np.sort(after))


def _renumbered(before: IntArray, after: IntArray) -> bool:
    """Whether the same records agree with each other in both."""
    if len(before) != len(after):
        return False
    pairs = np.unique(np.stack([before, after]), axis=1)
    return int(pairs.shape[1]) == len(np.unique(before)) == len(np.unique(after))
