"""Equivalence classes of generalised records: which records are equal at given levels, and what their classes have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.splitmix import INCREMENT, finished
from microveil.typing import BoolArray, FloatArray, IntArray

Levels = tuple[int, ...]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Records:
    """Distinct records, what each amounts to, and how each attribute is generalised.

    `codes` has a row for each distinct record. `tables` has for each attribute a row for each level, with the code of
    every code of level 0. A column of `amounts` is summed over a class; the first one counts records. A word of `held`
    has a bit for each confidential value that occurs; over a class they are joined.
    """

    codes: IntArray
    tables: tuple[IntArray, ...]
    amounts: FloatArray
    held: Words

    @property
    def levels(self) -> Levels:
        """The number of levels of each attribute."""
        return tuple(len(table) for table in self.tables)

    @property
    def number(self) -> float:
        """How many records there are, equal ones included."""
        return float(self.amounts[:, 0].sum())

    @cached_property
    def flat(self) -> npt.NDArray[np.int32]:
        """All tables, one after the other."""
        return np.concatenate([table.ravel() for table in self.tables]).astype(np.int32)

    @cached_property
    def starts(self) -> IntArray:
        """Where the table of each attribute begins in `flat`."""
        return np.cumsum([0, *(table.size for table in self.tables[:-1])]).astype(np.int64)

    @cached_property
    def sizes(self) -> IntArray:
        """The number of codes of level 0 of each attribute."""
        return np.array([table.shape[1] for table in self.tables], dtype=np.int64)

    @cached_property
    def hashes(self) -> Words:
        """A random word for each attribute and code at each level, beside `flat`; a class adds those of its codes."""
        number = np.concatenate(
            [
                (np.uint64(1 + j * 1_000 + level) << np.uint64(40)) + codes.astype(np.uint64)
                for j, table in enumerate(self.tables)
                for level, codes in enumerate(table)
            ]
        )
        return finished(number * INCREMENT)

    @cached_property
    def columns(self) -> tuple[IntArray, ...]:
        """The codes of each attribute."""
        return tuple(np.ascontiguousarray(column) for column in self.codes.T)

    @cached_property
    def told_apart(self) -> tuple[BoolArray, ...]:
        """For each attribute and level, whether it has more than one code."""
        return tuple(np.array([codes.min() != codes.max() for codes in table]) for table in self.tables)

    def begin(self, levels: Levels) -> IntArray:
        """Where in `flat` the codes of each attribute at these levels begin."""
        return self.starts + np.array(levels, dtype=np.int64) * self.sizes

    def classes(self, rows: IntArray, levels: Levels) -> tuple[IntArray, IntArray]:
        """The class of each of these rows at these levels, and the place of the first row of each class among them."""
        active = np.array([j for j, level in enumerate(levels) if self.told_apart[j][level]], dtype=np.int64)
        return equal_at_levels(self.codes, rows, active, self.begin(levels)[active], self.flat, self.hashes)


@kernel
def equal_at_levels(
    codes: IntArray, rows: IntArray, attributes: IntArray, begin: IntArray, flat: npt.NDArray[np.int32], hashes: Words
) -> tuple[IntArray, IntArray]:
    """The class of each row, and the place of its first row: an open hash table that compares what collides."""
    slots = 16
    while slots < 2 * len(rows):
        slots *= 2
    class_in = np.full(slots, -1, dtype=np.int64)
    labels = np.empty(len(rows), dtype=np.int64)
    first = np.empty(len(rows), dtype=np.int64)
    found = 0
    for i in range(len(rows)):
        row = rows[i]
        word = np.uint64(0)
        for a in range(len(attributes)):
            word += hashes[begin[a] + codes[row, attributes[a]]]
        at = np.int64(word >> np.uint64(8)) & (slots - 1)
        while True:
            known = class_in[at]
            if known < 0:
                class_in[at] = found
                first[found] = i
                labels[i] = found
                found += 1
                break
            other = rows[first[known]]
            same = True
            for a in range(len(attributes)):
                j = attributes[a]
                if flat[begin[a] + codes[row, j]] != flat[begin[a] + codes[other, j]]:
                    same = False
                    break
            if same:
                labels[i] = known
                break
            at = (at + 1) & (slots - 1)
    return labels, first[:found].copy()


@kernel
def sums_by_class(labels: IntArray, number: int, amounts: FloatArray) -> FloatArray:
    """The amounts of each class."""
    sums = np.zeros((number, amounts.shape[1]))
    for i in range(len(labels)):
        for column in range(amounts.shape[1]):
            sums[labels[i], column] += amounts[i, column]
    return sums


@kernel
def joined_by_class(labels: IntArray, number: int, held: Words) -> Words:
    """The values that occur in each class."""
    joined = np.zeros((number, held.shape[1]), dtype=np.uint64)
    for i in range(len(labels)):
        for word in range(held.shape[1]):
            joined[labels[i], word] |= held[i, word]
    return joined


@kernel
def sufficient(sums: FloatArray, least: FloatArray, held: Words, of_word: IntArray, distinct: IntArray) -> BoolArray:
    """Which classes have the least amounts, and so many distinct values of every confidential attribute.

    `of_word` is the confidential attribute that each word of `held` belongs to.
    """
    enough = np.ones(len(sums), dtype=np.bool_)
    number = np.empty(len(distinct), dtype=np.int64)
    for c in range(len(sums)):
        for column in range(len(least)):
            if sums[c, column] < least[column]:
                enough[c] = False
        number[:] = 0
        for word in range(len(of_word)):
            bits = held[c, word]
            while bits:
                bits &= bits - np.uint64(1)
                number[of_word[word]] += 1
        for attribute in range(len(distinct)):
            if number[attribute] < distinct[attribute]:
                enough[c] = False
    return enough


@kernel
def kept_by_rows(
    codes: IntArray,
    rows: IntArray,
    levels: npt.NDArray[np.int8],
    starts: IntArray,
    sizes: IntArray,
    cells: FloatArray,
) -> FloatArray:
    """For each row the sum over attributes of what it keeps at its own levels; `cells` lies like the flat tables."""
    kept = np.zeros(len(rows))
    for i in range(len(rows)):
        for j in range(levels.shape[1]):
            kept[i] += cells[starts[j] + levels[i, j] * sizes[j] + codes[rows[i], j]]
    return kept


@kernel
def kept_at(codes: IntArray, rows: IntArray, begin: IntArray, cells: FloatArray) -> FloatArray:
    """The same where all rows have the same levels."""
    kept = np.zeros(len(rows))
    for i in range(len(rows)):
        for j in range(len(begin)):
            kept[i] += cells[begin[j] + codes[rows[i], j]]
    return kept
