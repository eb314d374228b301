"""Probabilistic information loss: changes of the statistics relative to their sampling errors in the original."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure
from microveil.losses.numeric.moments import Moments, moments_of
from microveil.numerics.statistics.distribution_distances import density_at
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.typing import FloatArray

_ROUNDING = 1e-12
Percent = Annotated[float, Field(ge=0, le=100)]
PERCENTS = tuple(float(p) for p in range(5, 100, 5))


@parameterised
class PIL(LossMeasure):
    """The probability that a statistic of another sample of the same population lies nearer to the original's than the
    release's does: 2 Φ(|s' - s| / sd(s)) - 1, in [0, 1] by itself.

    `details` has the means of five classes: `mean`, `variance`, `covariance`, `correlation` and `quantile`; the value
    is the mean of those that the attributes have. Sampling errors shrink as files grow, so that in a long file even
    small changes come out near 100.

    >>> from microveil.microdata import Microdata
    >>> before, after = Microdata.of({"a": [1.0, 2.0, 3.0, 6.0]}), Microdata.of({"a": [2.0, 3.0, 4.0, 7.0]})
    >>> PIL().measure(before, after).details["mean"].__round__(2)
    64.55
    """

    name: ClassVar[str] = "pil"
    family: ClassVar[str] = "numeric"
    summary: ClassVar[str] = (
        "probabilistic information loss: changes of moments and quantiles relative to their sampling errors"
    )
    meaning: ClassVar[str] = (
        "changes of means, variances, covariances, correlations and quantiles relative to their sampling "
        "errors; lower is better"
    )
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "statistics are taken over the cells, or pairs of cells, present in each file"
    source: ClassVar[str] = (
        "Mateo-Sanz, Domingo-Ferrer and Sebé (2005); Fayyoumi (2008), section 2.4.2; Nin (2008), section 2.5"
    )

    percents: tuple[Percent, ...] = parameter(
        default=PERCENTS, help="which quantiles are compared, in per cent", min_length=1
    )

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        before, after = moments_of(pair, attributes)
        first, second = parts(progress, 2)
        classes = _moment_losses(before, after)
        first(1.0, f"{self.name}: moments")
        classes["quantile"] = np.empty(len(attributes))
        for j, part in enumerate(parts(second, len(attributes))):
            classes["quantile"][j] = self._quantile_loss(before.cells[:, j], after.cells[:, j])
            part(1.0, f"{self.name}: quantiles")
        found = {name: float(losses.mean()) for name, losses in classes.items() if losses.size}
        per_attribute = {
            name: 100 * float(np.mean([classes[c][j] for c in ("mean", "variance", "quantile")]))
            for j, name in enumerate(attributes)
        }
        value = sum(found.values()) / len(found)
        details = {name: 100 * loss for name, loss in found.items()}
        return Loss.of(self.name, value, attributes, per_attribute=per_attribute, details=details)

    def _quantile_loss(self, before: FloatArray, after: FloatArray) -> float:
        """The mean over the quantiles q, whose variance is q (1 - q) / (n f(Q)^2) with the density f."""
        one, other = (np.sort(column[~np.isnan(column)]) for column in (before, after))
        if not len(one) or not len(other):
            return float(len(one) > 0)
        shares = np.array(self.percents) / 100
        quantiles = np.quantile(one, shares)
        density = density_at(quantiles, one)
        flat = np.full(len(shares), np.inf if one[-1] > one[0] else 0.0)
        variances = np.divide(shares * (1 - shares) / len(one), density**2, out=flat, where=density > 0)
        return float(surprise(quantiles, np.quantile(other, shares), variances).mean())


def surprise(before: FloatArray, after: FloatArray, variances: FloatArray) -> FloatArray:
    """2 Φ(|after - before| / sd) - 1; without variance 0 where nothing changed, else 1.

    >>> surprise(np.zeros(3), np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])).round(4).tolist()
    [0.0, 1.0, 0.6827]
    """
    from scipy.special import erf

    change = np.abs(after - before)
    rounding = _ROUNDING * np.maximum(np.abs(before), np.abs(after))
    certain = (change > rounding).astype(np.float64)
    scale = np.sqrt(2 * variances)
    steps = np.divide(change, scale, out=np.zeros_like(change), where=scale > 0)
    return np.where(scale > 0, erf(steps), certain)


def _moment_losses(before: Moments, after: Moments) -> dict[str, FloatArray]:
    """Of means, variances, and of the covariances and correlations of pairs; a pair counts once."""
    size = len(before.means)
    upper = np.triu_indices(size, 1)
    counts = _counts(before.cells)
    second = before.covariances
    population = second * (counts - 1) / counts
    of_means = before.variances / np.diag(counts)
    of_covariances = np.maximum(_fourth_moments(before) - population**2, 0.0) / counts
    of_correlations = (1 - before.correlations**2) ** 2 / counts
    return {
        "mean": surprise(before.means, after.means, of_means),
        "variance": surprise(before.variances, after.variances, np.diag(of_covariances)),
        "covariance": surprise(second[upper], after.covariances[upper], of_covariances[upper]),
        "correlation": surprise(before.correlations[upper], after.correlations[upper], of_correlations[upper]),
    }


def _counts(cells: FloatArray) -> FloatArray:
    """How many records have both of two attributes, at least 1."""
    present = (~np.isnan(cells)).astype(np.float64)
    return np.maximum(present.T @ present, 1.0)


def _fourth_moments(moments: Moments) -> FloatArray:
    """The mean of (x - mean)^2 (y - mean)^2 over the records that have both."""
    squared = np.nan_to_num(np.square(moments.cells - moments.means))
    return np.asarray(squared.T @ squared / _counts(moments.cells))
