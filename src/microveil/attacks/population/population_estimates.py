"""The population frequency of each combination of a sample, by the estimators that several attacks offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from microveil.attacks.population.sampling_design import Sample, largest
from microveil.numerics.counting.individual_risk import individual_risk
from microveil.numerics.statistics.population_frequencies import (
    below_negative_binomial,
    below_poisson,
    inverse_poisson,
    truncated_mean,
    unseen_poisson,
)
from microveil.typing import FloatArray

Estimator = Literal["ratio", "poisson", "truncated-poisson", "negative-binomial"]
ESTIMATORS = (
    "population frequency F of a combination: its sum of weights (ratio); the records and a Poisson number of others, "
    "with the mean from that sum (poisson) or from the Poisson distribution truncated at zero (truncated-poisson, "
    "under which a sample unique is taken for a population unique); or negative binomial"
)


def chances_of(samples: Sequence[Sample], estimator: Estimator) -> FloatArray:
    """For each person the largest expected 1/F in any view of the release, 0 where its own record no longer agrees."""
    return largest([sample.found(inverse_frequencies(sample, estimator)) for sample in samples])


def inverse_frequencies(sample: Sample, estimator: Estimator) -> FloatArray:
    """E(1/F) of each combination; 0 where no released record agrees."""
    f = sample.frequencies.astype(np.float64)
    if estimator == "ratio":
        found = 1.0 / np.maximum(sample.population, 1.0)
    elif estimator == "negative-binomial":
        found = individual_risk(sample.frequencies, sample.population)
    else:
        found = inverse_poisson(f, _unseen(sample, estimator))
    return np.where(f > 0, found, 0.0)


def below(sample: Sample, estimator: Estimator, k: int) -> FloatArray:
    """P(F < k) of each combination."""
    f = sample.frequencies.astype(np.float64)
    if estimator == "ratio":
        return np.asarray(sample.population < k - 1e-9, dtype=np.float64)
    if estimator == "negative-binomial":
        return below_negative_binomial(k, f, sample.rates)
    return below_poisson(k, f, _unseen(sample, estimator))


def _unseen(sample: Sample, estimator: Estimator) -> FloatArray:
    """The expected number of units outside the sample."""
    if estimator == "poisson":
        return unseen_poisson(sample.rates, sample.population)
    rates = sample.rates
    return unseen_poisson(rates, truncated_mean(sample.frequencies.astype(np.float64)) / np.maximum(rates, 1e-12))
