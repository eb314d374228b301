"""Transition matrices as genomes: every cell a Gray-coded whole number of thousandths, and the operators on them."""

from __future__ import annotations

import numpy as np

from microveil.numerics.evolution.gray import from_gray, gray
from microveil.typing import BoolArray, FloatArray, IntArray

THOUSANDTHS = 1000  # so that a cell is a word of 10 bits
_ROUNDING = 1e-9  # of a probability such as 1 - 0.066, whose product with 1000 is a little less than 934


def encoded(matrix: FloatArray, scale: int = THOUSANDTHS) -> IntArray:
    """The genome of a matrix: floor(1000 p) of every cell, in Gray code.

    >>> [f"{word:010b}" for word in encoded(np.array([[0.609, 0.089, 0.302]]))[0]]
    ['1101010001', '0001110101', '0110111001']
    """
    return gray(np.floor(scale * matrix + _ROUNDING).astype(np.int64))


def decoded(genome: IntArray) -> FloatArray | None:
    """The matrix of a genome: rows divided by their sums; none if all cells of a row are 0.

    >>> decoded(gray(np.array([[622, 89, 302]]))).round(6).tolist()
    [[0.614018, 0.087858, 0.298124]]
    """
    cells = from_gray(genome).astype(np.float64)
    sums = cells.sum(axis=1, keepdims=True)
    return np.asarray(cells / sums) if (sums > 0).all() else None


def flipped(genome: IntArray, cell: int, bit: int) -> IntArray:
    """The genome with one bit of one cell flipped: cells are numbered row by row, bits from the right.

    >>> changed = flipped(encoded(np.array([[0.609, 0.089], [0.302, 0.002]])), 0, 3)
    >>> f"{changed[0, 0]:010b}", int(from_gray(changed)[0, 0])
    ('1101011001', 622)
    """
    changed = genome.copy()
    changed.flat[cell] ^= 1 << bit
    return changed


def exchanged(genome: IntArray, one: int, other: int, length: int) -> IntArray:
    """The genome with two ranges of so many cells exchanged, which begin at these cells and do not overlap.

    >>> exchanged(np.arange(1, 10).reshape(3, 3), 3, 7, 2).tolist()
    [[1, 2, 3], [8, 9, 6], [7, 4, 5]]
    """
    changed = genome.copy()
    changed.flat[one : one + length] = genome.flat[other : other + length]
    changed.flat[other : other + length] = genome.flat[one : one + length]
    return changed


def mutated(genome: IntArray, rng: np.random.Generator, bits: int, allowed: BoolArray | None = None) -> IntArray:
    """The genome with a random bit of a random cell flipped; of an allowed one if not all are."""
    cells = np.arange(genome.size) if allowed is None else np.flatnonzero(allowed)
    return flipped(genome, int(rng.choice(cells)), int(rng.integers(bits)))


def crossed(genome: IntArray, rng: np.random.Generator, allowed: BoolArray | None = None) -> IntArray:
    """The genome with two ranges of cells exchanged, drawn at random; a cell that is not allowed stays 0.

    Of two positions s and r drawn, at most |s - r| cells are exchanged and none beyond the end. Marés (2013) lets
    the ranges have one cell more, in which they would overlap.
    """
    one, other = (int(position) for position in rng.choice(genome.size, 2, replace=False))
    most = min(genome.size - max(one, other), abs(one - other))
    changed = exchanged(genome, one, other, int(rng.integers(1, most + 1)))
    return changed if allowed is None else np.where(allowed, changed, 0)
