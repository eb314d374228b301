"""Values as the normal scores of their ranks, and back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from microveil.typing import FloatArray


def normal_scores(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The normal quantile of (rank - 1/2)/n for each of the values present; NaN stays.

    The ranks of equal values are dealt out at random, so that the scores are those of a normal sample however many
    values are equal.

    >>> normal_scores(np.array([5.0, np.nan, 1.0, 3.0]), np.random.default_rng(1)).round(3).tolist()
    [0.967, nan, -0.967, 0.0]
    """
    from scipy.special import ndtri

    present = np.flatnonzero(~np.isnan(values))
    order = np.lexsort((rng.random(len(present)), values[present]))
    scores = np.full(len(values), np.nan)
    scores[present[order]] = ndtri((np.arange(len(present)) + 0.5) / max(1, len(present)))
    return scores


def from_normal_scores(scores: FloatArray, values: FloatArray) -> FloatArray:
    """The value at the quantile of each score in the distribution of the values present: always one of them.

    >>> from_normal_scores(np.array([-2.0, 0.1, np.nan]), np.array([5.0, 1.0, 3.0])).tolist()
    [1.0, 3.0, nan]
    """
    from scipy.special import ndtr

    known = np.sort(values[~np.isnan(values)])
    found = np.full(len(scores), np.nan)
    present = ~np.isnan(scores)
    if known.size:
        rank = np.floor(ndtr(scores[present]) * len(known)).astype(np.int64)
        found[present] = known[np.clip(rank, 0, len(known) - 1)]
    return found


def scored_columns(columns: FloatArray, generators: Iterable[np.random.Generator]) -> FloatArray:
    """Each column as normal scores."""
    return np.column_stack([normal_scores(column, rng) for column, rng in zip(columns.T, generators, strict=True)])


def unscored_columns(scores: FloatArray, columns: FloatArray) -> FloatArray:
    """Each column of scores as values of the column they came from."""
    return np.column_stack([from_normal_scores(s, column) for s, column in zip(scores.T, columns.T, strict=True)])
