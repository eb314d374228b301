"""Series put together from blocks of other series: the average shape of some neighbours, and on it blocks of what is
left of these neighbours when the average shapes of their own neighbours are taken off. Shapes are without level and of
standard deviation 1, so that those of large and small series can stand for each other."""

from __future__ import annotations

import numpy as np

from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

_COORDINATES = 8  # means over so many stretches, by which a tree can still find neighbours quickly
_CELLS = 2_000_000  # cells that are worked on at a time
_FLAT = 1e-9  # of the standard deviation 1 of shapes


def nearest_others(values: FloatArray, k: int, threads: int) -> IntArray:
    """For each complete series the k nearest others, by their means over eight stretches of time."""
    from scipy.spatial import cKDTree

    stretches = np.array_split(np.arange(values.shape[1]), min(_COORDINATES, values.shape[1]))
    coarse = np.column_stack([values[:, part].mean(axis=1) for part in stretches])
    found = cKDTree(coarse).query(coarse, k=k + 1, workers=threads)[1]
    own = found == np.arange(len(values))[:, None]
    own[~own.any(axis=1), -1] = True  # among more than k equal ones it may not have found itself
    return np.asarray(found[~own].reshape(len(values), k), dtype=np.int64)


def neighbour_shapes(shapes: FloatArray, neighbours: IntArray | None) -> FloatArray:
    """For each series the average shape of its neighbours, or of all others, never its own."""
    if neighbours is None:
        return np.asarray((shapes.sum(axis=0) - shapes) / (len(shapes) - 1))
    average = np.zeros_like(shapes)
    for column in neighbours.T:
        average += shapes[column]
    return np.asarray(average / neighbours.shape[1])


def resampled(
    levels: FloatArray,
    spreads: FloatArray,
    shapes: FloatArray,
    neighbours: IntArray | None,
    *,
    block: int,
    stationary: bool,
    period: int | None,
    rng: np.random.Generator,
    progress: Progress,
    label: str,
) -> FloatArray:
    """For each series a new one, from its neighbours or, without these, from all others.

    Its level and standard deviation are exactly those of one neighbour. Its shape is the neighbours' average with
    blocks of their residuals, each block of a neighbour drawn anew, from the same points or from points whole periods
    away. Blocks are `block` long, or on average if stationary.
    """
    series, length = shapes.shape
    k = series - 1 if neighbours is None else neighbours.shape[1]
    average = neighbour_shapes(shapes, neighbours)
    residuals = shapes - average
    residuals *= _share_of_residuals(shapes, average, residuals, neighbours)
    made = np.empty_like(shapes)
    chunk = max(1, _CELLS // length)
    for first in range(0, series, chunk):
        rows = np.arange(first, min(series, first + chunk))
        model = _others(rows[:, None], rng.integers(0, k, size=(len(rows), 1)), neighbours)
        began = _beginnings(len(rows), length, block, stationary, rng)
        donors = _others(rows[:, None], _held(rng.integers(0, k, size=began.shape), began), neighbours)
        shape = average[rows] + residuals[donors, _times(began, period, rng)]
        made[rows] = levels[model] + spreads[model] * _standardised(shape)
        progress((rows[-1] + 1) / series, label)
    return made


def _standardised(shapes: FloatArray) -> FloatArray:
    """With mean 0 and standard deviation 1; a flat shape stays flat."""
    rest = shapes - shapes.mean(axis=1, keepdims=True)
    spread = rest.std(axis=1, keepdims=True)
    return np.asarray(np.where(spread > _FLAT, rest / np.maximum(spread, _FLAT), 0.0))


def _share_of_residuals(
    shapes: FloatArray, average: FloatArray, residuals: FloatArray, neighbours: IntArray | None
) -> float:
    """The factor for residuals with which an average and the residual of a random neighbour together have the mean
    square of the shapes, in expectation."""
    wanted, own, left = (float((cells**2).mean()) for cells in (shapes, average, residuals))
    common = float((average * neighbour_shapes(residuals, neighbours)).mean())
    if left == 0:
        return 1.0
    return float((np.sqrt(max(0.0, common**2 + left * (wanted - own))) - common) / left)


def _others(rows: IntArray, drawn: IntArray, neighbours: IntArray | None) -> IntArray:
    """The series that draws from 0 to k - 1 stand for; those of the whole file pass over the own one."""
    if neighbours is None:
        return np.asarray(drawn + (drawn >= rows))
    return np.asarray(neighbours[rows, drawn])


def _beginnings(rows: int, length: int, block: int, stationary: bool, rng: np.random.Generator) -> BoolArray:
    """Where a new block begins: with the chance 1 / block, or every `block` points from a point drawn at random."""
    if stationary:
        began = rng.random((rows, length)) < 1.0 / block
    else:
        began = (np.arange(length) + rng.integers(0, block, size=rows)[:, None]) % block == 0
    began[:, 0] = True
    return np.asarray(began)


def _held(drawn: IntArray, began: BoolArray) -> IntArray:
    """What was drawn where a block begins, at all of its points."""
    at = np.maximum.accumulate(np.where(began, np.arange(began.shape[1]), 0), axis=1)
    return np.asarray(np.take_along_axis(drawn, at, axis=1))


def _times(began: BoolArray, period: int | None, rng: np.random.Generator) -> IntArray:
    """From which point each point takes its residual: the same one, or one a whole number of periods away."""
    length = began.shape[1]
    at = np.broadcast_to(np.arange(length), began.shape)
    periods = 0 if period is None else length // period
    if period is None or periods < 2:
        return at
    moved = _held(rng.integers(0, periods, size=began.shape), began) * period
    return np.where(at < periods * period, (at + moved) % (periods * period), at)
