"""The individual risk: the probability that a match of a sample record with the population is right, given the sample.

If f records of a sample share a combination and each unit of the population was taken with probability p, how many F
share it in the population follows a negative binomial distribution: F = f, f + 1, ... with f successes at rate p.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from microveil.numerics.counting.distinct_rows import number_values
from microveil.typing import FloatArray, IntArray

Estimate = Literal["negative-binomial", "approximation", "ratio"]

_MANY, _TERMS = 20, 60


def expected_inverse(sampled: npt.ArrayLike, rate: npt.ArrayLike) -> FloatArray:
    """E(1 / F) given f in the sample: (p / f) 2F1(1, 1; f + 1; 1 - p), which is 1/f at p = 1.

    For f = 1 this is p / (1 - p) log(1 / p).

    >>> expected_inverse([1, 2, 1], [0.5, 0.5, 1.0]).round(6).tolist()
    [0.693147, 0.306853, 1.0]
    """
    from scipy.special import hyp2f1

    f, p = np.broadcast_arrays(np.asarray(sampled, dtype=np.float64), np.asarray(rate, dtype=np.float64))
    f, q = np.maximum(f, 1.0), 1.0 - np.clip(p, 0.0, 1.0)
    few = f < _MANY
    found = np.where(few & (q < 1.0), hyp2f1(1.0, 1.0, np.where(few, f, 1.0) + 1.0, np.where(q < 1.0, q, 0.0)), 0.0)
    term = np.where(few, 0.0, 1.0)
    for n in range(_TERMS):  # the n-th term is q^n / binomial(f + n, n), so few are needed
        found = found + term
        term = term * q * (n + 1) / (f + n + 1)
    return np.asarray((1.0 - q) / f * found)


def approximate_inverse(sampled: npt.ArrayLike, rate: npt.ArrayLike) -> FloatArray:
    """The usual approximation of the same: exact for f = 1 and 2, and p / (f - (1 - p)) for larger f.

    >>> approximate_inverse([1, 2, 4], [0.5, 0.5, 0.5]).round(6).tolist()
    [0.693147, 0.306853, 0.142857]
    """
    f, p = np.broadcast_arrays(np.asarray(sampled, dtype=np.float64), np.asarray(rate, dtype=np.float64))
    return np.where(f <= 2, expected_inverse(np.minimum(f, 2.0), p), p / (np.maximum(f, 3.0) - (1.0 - p)))


def individual_risk(sampled: IntArray, population: FloatArray, estimate: Estimate = "negative-binomial") -> FloatArray:
    """The same for every record, from how many of the sample and (estimated) of the population agree with it.

    >>> individual_risk(np.array([1, 2, 2]), np.array([1.0, 4.0, 2.0])).round(6).tolist()
    [1.0, 0.306853, 0.5]
    """
    f = np.maximum(sampled, 1).astype(np.float64)
    if estimate == "ratio":
        return 1.0 / np.maximum(population, f)
    inverse = expected_inverse if estimate == "negative-binomial" else approximate_inverse
    persons = np.maximum(population, f)
    case_of, first = number_values([f, persons])  # many records are the same case
    return inverse(f[first], f[first] / persons[first])[case_of]


def at_least_one(chances: FloatArray, groups: IntArray) -> FloatArray:
    """For each member of a group the chance that at least one of the members is found, each by itself.

    >>> at_least_one(np.array([0.5, 0.5, 0.1]), np.array([0, 0, 1])).round(6).tolist()
    [0.75, 0.75, 0.1]
    """
    order = np.lexsort((chances, groups))  # the product is rounded the same in whatever order the members stand
    missed = np.ones(int(groups.max(initial=-1)) + 1)
    np.multiply.at(missed, groups[order], 1.0 - chances[order])
    return 1.0 - missed[groups]


def threshold_for(chances: FloatArray, expected: float) -> float:
    """The threshold at which so many are expected to be found if each chance above it is lowered to it.

    It is the t at which the sum of min(r, t) over all chances r is the number expected, and the largest chance where
    no more are expected anyway.

    >>> threshold_for(np.array([0.1, 0.2, 0.9, 1.0]), 1.1)
    0.4
    """
    ascending = np.sort(chances)
    below = np.concatenate([[0.0], np.cumsum(ascending)[:-1]])
    left = len(ascending) - np.arange(len(ascending))
    if not len(ascending) or below[-1] + ascending[-1] <= expected:
        return float(ascending.max(initial=0.0))
    lowered = int(np.argmax(below + ascending * left > expected))  # the first that has to be lowered, and all after it
    return float((expected - below[lowered]) / left[lowered])
