"""Random orthogonal matrices that keep the vector of ones, block by block: means and covariances do not change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from microveil.typing import FloatArray, IntArray

_MOST_NUMBERS = 4_000_000  # of the matrices that are held at once


def blocks_of(records: int, size: int, rng: np.random.Generator) -> list[IntArray]:
    """All records in random order, divided into as equal blocks as there are blocks of about this size.

    >>> [len(block) for block in blocks_of(11, 5, np.random.default_rng(1))]
    [6, 5]
    """
    return np.array_split(rng.permutation(records), max(1, records // size))


def rotated(values: FloatArray, blocks: list[IntArray], strength: float, rng: np.random.Generator) -> FloatArray:
    """Each block of rows multiplied by a random orthogonal matrix of its own whose rows and columns add up to 1.

    The matrix is what orthonormalisation makes of the identity plus `strength` times standard normal numbers: near the
    identity for a small strength, drawn from all such matrices alike for an infinite one.
    """
    found = values.copy()
    for group in _of_equal_size(blocks):
        rows = np.stack(group)
        found[rows] = _rotated_blocks(values[rows], strength, rng)
    return found


def _of_equal_size(blocks: list[IntArray]) -> Iterator[list[IntArray]]:
    """Blocks of the same size, as many as are worked on at once."""
    for size in sorted({len(block) for block in blocks}):
        alike = [block for block in blocks if len(block) == size]
        some = max(1, _MOST_NUMBERS // size**2)
        yield from (alike[start : start + some] for start in range(0, len(alike), some))


def _rotated_blocks(values: FloatArray, strength: float, rng: np.random.Generator) -> FloatArray:
    """For blocks of equal size, along the first axis."""
    count, size, _ = values.shape
    normal = rng.standard_normal((count, size - 1, size - 1))
    start = normal if np.isinf(strength) else np.eye(size - 1) + strength * normal
    orthogonal, triangle = np.linalg.qr(start)
    # without the signs the result would depend on how the decomposition is computed
    signs = np.sign(np.diagonal(triangle, axis1=1, axis2=2))
    orthogonal = orthogonal * np.where(signs == 0, 1.0, signs)[:, None, :]
    means = values.mean(axis=1, keepdims=True)
    contrasts = _contrasts(size)
    return np.asarray(means + contrasts @ (orthogonal @ (contrasts.T @ (values - means))))


def _contrasts(size: int) -> FloatArray:
    """An orthonormal basis of the vectors that add up to 0, one in each column."""
    reflector = np.full(size, 1.0 / np.sqrt(size))
    reflector[0] += 1.0
    reflector /= np.linalg.norm(reflector)
    return np.asarray((np.eye(size) - 2.0 * np.outer(reflector, reflector))[:, 1:])
