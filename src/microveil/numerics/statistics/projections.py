"""One number for each record, to put records in an order: principal components, sums of z-scores, and the direction of
parallel slabs that fits them best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.choices import Remainder
from microveil.numerics.grouping.univariate import fixed_groups, spread_within
from microveil.numerics.statistics.scaling import min_max, standardise
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_STEADY_DIGITS = 10


@dataclass(frozen=True)
class Component:
    """A principal component: its loadings, the records' scores on it and its share of the variance."""

    loadings: FloatArray
    scores: FloatArray
    share: float


def first_component(centred: FloatArray) -> Component:
    """The first principal component of centred columns, with the sign that makes the sum of its loadings positive.

    >>> first_component(np.array([[-1.0, -2.0], [1.0, 2.0]])).scores.round(3).tolist()
    [-2.236, 2.236]
    """
    return _along_first(centred, centred.T @ centred)


def steady_component(centred: FloatArray) -> Component:
    """The same from sums of products without their last digits, which depend on the order of the records and would
    decide where several directions are equally long.

    >>> steady_component(np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0 + 1e-15]])).loadings.tolist()
    [0.0, 1.0]
    """
    products = centred.T @ centred
    largest = float(np.abs(products).max(initial=0.0)) or 1.0
    return _along_first(centred, np.round(products / largest, _STEADY_DIGITS) * largest)


def _along_first(centred: FloatArray, products: FloatArray) -> Component:
    variances, vectors = np.linalg.eigh(products)
    loadings = _signed(vectors[:, -1])
    total = float(variances.sum())
    return Component(loadings, centred @ loadings, float(variances[-1]) / total if total > 0 else 0.0)


def _signed(loadings: FloatArray) -> FloatArray:
    direction = loadings.sum()
    if abs(direction) < 1e-12:
        direction = loadings[np.argmax(np.abs(loadings))]
    return loadings if direction > 0 else -loadings


def sum_of_z_scores(columns: FloatArray) -> FloatArray:
    """The sum of each record's standardised values; a constant column adds nothing."""
    return np.asarray(standardise(columns).sum(axis=1))


def to_unit_interval(columns: FloatArray) -> FloatArray:
    """Each column to [0, 1], as integrals over fuzzy measures need it; a constant column lies in the middle."""
    return np.where(np.ptp(columns, axis=0) > 0, min_max(columns), 0.5)


def slab_groups(
    rows: FloatArray,
    k: int,
    starts: int,
    rng: np.random.Generator,
    remainder: Remainder = "last",
    progress: Progress = silent,
    label: str = "grouping",
) -> IntArray:
    """Hanani's groups of k between parallel hyperplanes, the best from several first directions.

    From each direction: cut the records into groups of k along it, turn it to the direction in which the means of the
    groups differ most, and again while the sum of squares falls. The first component and the sum of the columns are the
    first two starts, the others are drawn.
    """
    centred = rows - rows.mean(axis=0)
    directions = [first_component(centred).loadings, np.ones(rows.shape[1])]
    directions += list(rng.standard_normal((max(0, starts - 2), rows.shape[1])))
    best, least = np.zeros(len(rows), dtype=np.int64), np.inf
    for number, direction in enumerate(directions[:starts]):
        labels, loss = _settled_slabs(centred, k, direction, remainder)
        if loss < least:
            best, least = labels, loss
        progress((number + 1) / starts, label)
    return best


def _settled_slabs(centred: FloatArray, k: int, direction: FloatArray, remainder: Remainder) -> tuple[IntArray, float]:
    best, least = np.zeros(len(centred), dtype=np.int64), np.inf
    while True:
        labels = fixed_groups(centred @ direction, k, remainder)
        loss = spread_within(centred, labels)
        if not loss < least:
            return best, least
        best, least = labels, loss
        sizes = np.bincount(labels)
        sums = np.column_stack([np.bincount(labels, weights=column) for column in centred.T])
        direction = first_component(sums / np.sqrt(sizes)[:, None]).loadings
