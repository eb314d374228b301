"""Nodes of the lattice that differ from one node in a single attribute, each by one cheap pass over the records.

A class is known by the sum of random words, one for the code of each attribute at its level, and a record keeps the sum
of what its cells keep. Where a single attribute moves to another level, both sums change by the difference of two
terms. So a pass need not look at the other attributes: it takes about a tenth of the time of a whole grouping.

Counted is only which classes have enough records. What a pass finds is therefore what the node keeps if nothing else is
asked for, and else the most that it can keep. Two classes with the same word are taken for one; with words of 64 bits
that does not happen by chance, and what is released is grouped again exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.lattice.checking import Utility
from microveil.numerics.lattice.classes import Levels, Records, Words
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Neighbourhood:
    """A node, and what it takes to look at those around it: `least` is the least number of records in a class."""

    records: Records
    utility: Utility
    least: float
    levels: Levels

    @cached_property
    def words(self) -> Words:
        """The word of the class of each row."""
        return self._sums(self.records.hashes)

    @cached_property
    def kept(self) -> FloatArray:
        """What the cells of each row keep."""
        return self._sums(self.utility.cells)

    def _sums(self, terms: np.ndarray) -> np.ndarray:
        sums = np.zeros(len(self.records.codes), dtype=terms.dtype)
        for j, level in enumerate(self.levels):
            sums += self._terms(terms, j, level)[self.records.columns[j]]
        return sums

    def _terms(self, terms: np.ndarray, j: int, level: int) -> np.ndarray:
        """The terms of the codes of an attribute at a level."""
        begin = int(self.records.starts[j] + level * self.records.sizes[j])
        return terms[begin : begin + int(self.records.sizes[j])]

    def moved(self, j: int, level: int) -> tuple[float, float]:
        """What the node keeps at most with an attribute at another level, and how many records are then suppressed at
        least."""
        hashes, cells = self.records.hashes, self.utility.cells
        change = self._terms(hashes, j, level) - self._terms(hashes, j, self.levels[j])
        gain = self._terms(cells, j, level) - self._terms(cells, j, self.levels[j])
        of_size = np.empty(0) if self.utility.of_size is None else self.utility.of_size
        counts = self.records.amounts[:, 0]
        kept, released = _after_move(
            self.records.columns[j], counts, self.words, self.kept, change, gain, of_size, self.least
        )
        return kept, self.records.number - released

    def at(self, j: int, level: int) -> Neighbourhood:
        """The neighbourhood of the node with an attribute at another level."""
        levels = (*self.levels[:j], level, *self.levels[j + 1 :])
        there = Neighbourhood(self.records, self.utility, self.least, levels)
        column = self.records.columns[j]
        for name, terms in (("words", self.records.hashes), ("kept", self.utility.cells)):
            change = self._terms(terms, j, level) - self._terms(terms, j, self.levels[j])
            there.__dict__[name] = getattr(self, name) + change[column]
        return there


@kernel
def _after_move(
    codes: IntArray,
    counts: FloatArray,
    words: Words,
    kept: FloatArray,
    change: Words,
    gain: FloatArray,
    of_size: FloatArray,
    least: float,
) -> tuple[float, float]:
    """What the classes with the least number of records keep, and how many records these are: an open hash table."""
    slots = 16
    while slots < 2 * len(codes):
        slots *= 2
    word_in = np.zeros(slots, dtype=np.uint64)
    size, sums = np.zeros(slots), np.zeros(slots)
    for i in range(len(codes)):
        code = codes[i]
        word = words[i] + change[code]
        at = np.int64(word >> np.uint64(8)) & (slots - 1)
        while size[at] > 0.0 and word_in[at] != word:
            at = (at + 1) & (slots - 1)
        word_in[at] = word
        size[at] += counts[i]
        sums[at] += counts[i] * (kept[i] + gain[code])
    total, released = 0.0, 0.0
    for slot in range(slots):
        if size[slot] > 0.0 and size[slot] >= least:
            total += sums[slot]
            released += size[slot]
            if len(of_size) > 0:
                total += size[slot] * of_size[np.int64(size[slot])]
    return total, released
