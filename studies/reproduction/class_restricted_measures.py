"""How class-restricted microaggregation is judged: biases of moments, and ranks of the own record in linkage.

Li and Sarkar (2013).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.typing import FloatArray, IntArray

_NEARLY_ZERO = 1e-12


@dataclass(frozen=True)
class MomentBiases:
    """Mean absolute biases in percent, the mean change of a correlation, and how many terms had to be left out."""

    means: float
    deviations: float
    correlations: float
    correlation_change: float
    left_out: int


def moment_biases(original: FloatArray, masked: FloatArray) -> MomentBiases:
    """ABIM, ABISD and ABICO: relative changes of means, standard deviations and correlations.

    Terms that would divide by (nearly) zero are left out and counted. ABICO is ruled by correlations near zero; the
    mean absolute change of a correlation stands beside it.
    """
    varying = (np.ptp(original, axis=0) > 0) & (np.ptp(masked, axis=0) > 0)
    pairs = np.triu_indices(int(varying.sum()), 1)
    before, after = (np.atleast_2d(np.corrcoef(x[:, varying], rowvar=False))[pairs] for x in (original, masked))
    means, no_means = relative_bias(original.mean(axis=0), masked.mean(axis=0))
    deviations, no_deviations = relative_bias(original.std(axis=0, ddof=1), masked.std(axis=0, ddof=1))
    correlations, no_correlations = relative_bias(before, after)
    change = float(np.abs(after - before).mean()) if before.size else 0.0
    return MomentBiases(means, deviations, correlations, change, no_means + no_deviations + no_correlations)


def relative_bias(before: FloatArray, after: FloatArray) -> tuple[float, int]:
    """The mean relative change in percent, and how many terms were left out because they began at (nearly) zero."""
    usable = np.abs(before) > _NEARLY_ZERO
    if not usable.any():
        return 0.0, before.size
    biases = np.abs((after[usable] - before[usable]) / before[usable])
    return 100.0 * float(biases.mean()), int((~usable).sum())


def linkage_ranks(original: FloatArray, masked: FloatArray) -> IntArray:
    """For each masked record how many originals are nearer to it than its own; scaled by the originals' ranges."""
    span = np.ptp(original, axis=0)
    span = np.where(span > 0, span, 1.0)
    originals, drawn = original / span, masked / span
    own = np.square(drawn - originals).sum(axis=1)
    ranks = np.empty(len(drawn), dtype=np.int64)
    for start in range(0, len(drawn), 256):
        rows = slice(start, start + 256)
        apart = sum(np.square(drawn[rows, j, None] - originals[:, j]) for j in range(drawn.shape[1]))
        nearer = np.asarray(apart) < own[rows, None] * (1.0 - _NEARLY_ZERO)
        ranks[rows] = nearer.sum(axis=1)
    return ranks
