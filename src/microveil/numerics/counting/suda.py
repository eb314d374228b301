"""SUDA scores of records by their minimal sample uniques, and the probability of a correct match that they mean."""

from __future__ import annotations

from math import prod

import numpy as np

from microveil.typing import FloatArray, IntArray


def sizes_of(sets: IntArray) -> IntArray:
    """How many attributes each set of bits has.

    >>> sizes_of(np.array([1, 6, 7])).tolist()
    [1, 2, 3]
    """
    return np.bitwise_count(sets).astype(np.int64)


def score_of_size(attributes: int, size: int) -> FloatArray:
    """What a minimal sample unique of k = 0, 1, ... of m attributes adds to a score if sets up to a size M are sought:
    the product of m - i for i from k to M, without the last factor where it would be 0. Up to this factor it counts in
    how many ways the set grows to the size M, each of which is unique as well. At M = m or m - 1 it is (m - k)!.

    >>> score_of_size(4, 4).tolist(), score_of_size(5, 2).tolist()
    ([24.0, 6.0, 2.0, 1.0, 1.0], [60.0, 12.0, 3.0])
    """
    last = min(size, attributes - 1)
    return np.array([prod(float(attributes - i) for i in range(k, last + 1)) for k in range(size + 1)])


def match_probability(uniques: int, in_pairs: int, fraction: float) -> float:
    """The probability that a unique match with a sample of this fraction of the population is correct, by data
    intrusion simulation: U p / (U p + P (1 - p)) for U unique records and P records in pairs that agree.

    >>> match_probability(4, 4, 0.01)
    0.01
    """
    certain, doubtful = uniques * fraction, in_pairs * (1.0 - fraction)
    return certain / (certain + doubtful) if uniques else 1.0


def score_exponent(attributes: int) -> float:
    """With which power of the score the others in the population who match a record become fewer.

    >>> round(score_exponent(4), 2), round(score_exponent(7), 2)
    (1.2, 1.05)
    """
    return max(1.4 - 0.05 * attributes, 0.05)


def dis_suda(scores: FloatArray, attributes: int, match: float, among: FloatArray) -> FloatArray:
    """The probability of a correct match for each score, where those of `among` have `match` for their harmonic mean.

    The mean number of persons who match one of these records is 1 / match. What is more than the one person is
    distributed over the records in proportion to a negative power of their scores; a record without a score has 0.

    >>> scores = np.array([0.0, 8.0, 6.0, 4.0, 8.0])
    >>> dis_suda(scores, 4, 0.01, scores).round(6).tolist()
    [0.0, 0.014213, 0.010106, 0.006237, 0.014213]
    """
    exponent, found = score_exponent(attributes), scores > 0
    scale = among[among > 0].max(initial=1.0)  # factorials of many attributes, whose powers are out of range
    usual = float(np.mean((among[among > 0] / scale) ** -exponent)) if (among > 0).any() else 1.0
    others = (1.0 / match - 1.0) * (scores[found] / scale) ** -exponent / usual
    chances = np.zeros(len(scores))
    chances[found] = 1.0 / (1.0 + others)
    return chances
