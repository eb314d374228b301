"""What each masked record adds to linkage by distance: the chance that the original record nearest to it is its own.

It depends on the masked record and the originals alone, so where one record changes only its own chance does, and where
two files exchange records the chances go with them. Chances are whole numbers of a small unit, so that sums that are
changed over and over stay exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.neighbours.mixed_distance import Settings, Table, Terms, distances_from
from microveil.numerics.neighbours.nearest import distinct, link
from microveil.progress import silent
from microveil.typing import FloatArray, IntArray

CERTAIN = 1 << 40  # the unit: a chance of 1; a sum over all records is off by less than 1e-12 of it
_ROUNDING = 1e-12


class Originals(NamedTuple):
    """The distinct original records with how often each occurs, which of them each record is, and how distances to
    them are taken."""

    records: Table
    counts: IntArray
    of_record: IntArray
    settings: Settings
    greatest: float
    squared: bool


def originals_of(table: Table, terms: Terms) -> Originals:
    """The originals as masked records are compared with them."""
    rows, of_record = distinct(table)
    counts = np.bincount(of_record).astype(np.int64)
    greatest = float(np.abs(rows.cells).max(initial=1.0))
    settings = terms.between(rows, rows)
    return Originals(rows.contiguous(), counts, of_record.astype(np.int64), settings, greatest, terms.is_squared)


def link_credits(masked: Table, original: Table, terms: Terms) -> IntArray:
    """The chances of all records."""
    records = np.arange(masked.cells.shape[1])
    links = link(masked, original, terms, records, silent, "")
    return np.where(links.own, _share(np.maximum(links.ties, 1)), 0).astype(np.int64)


def _share(ties: IntArray) -> IntArray:
    return np.asarray((CERTAIN + ties // 2) // ties)


@kernel
def link_credit(originals: Originals, record: int, cells: FloatArray) -> int:
    """The chance of one record with these cells."""
    size = originals.records.cells.shape[1]
    sums, shared = np.empty(size), np.empty(size)
    source = cells, np.zeros(len(cells), dtype=np.uint8)
    distances_from(source, originals.records, 0, originals.settings, sums, shared)
    nearest, greatest = sums.min(), originals.greatest
    for cell in cells:
        greatest = max(greatest, abs(cell))
    border = nearest + _ROUNDING * greatest
    if originals.squared:
        border = (np.sqrt(nearest) + _ROUNDING * greatest) ** 2
    if sums[originals.of_record[record]] > border:
        return 0
    ties = 0
    for i in range(size):
        if sums[i] <= border:
            ties += originals.counts[i]
    return (CERTAIN + ties // 2) // ties


@kernel
def set_credit(total: IntArray, chances: IntArray, slot: int, parent: int, record: int, credit: int) -> None:
    """Give a record of a slot its chance, and the slot's sum the difference to that of the parent."""
    total[slot] += credit - chances[parent, record]
    chances[slot, record] = credit
