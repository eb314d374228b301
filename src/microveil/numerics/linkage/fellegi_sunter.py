"""The Fellegi-Sunter model: agreement patterns of matches and of non-matches, fitted by the EM algorithm.

The m-probabilities are those of the levels of agreement among matches, the u-probabilities those among non-matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from microveil.numerics.choices import UFrom
from microveil.numerics.core.compiled import kernel
from microveil.numerics.linkage.agreement import Patterns, Scheme
from microveil.typing import FloatArray, IntArray

LEAST = 1e-6  # no level is thought less likely than this
# matches are rare and found slowly: stopped at a change of 1e-6, estimates can still be off by several hundredths
_CHANGE = 1e-8
_FEWEST_STEPS, _MOST_STEPS, _AFFORDABLE = 200, 5000, 4 * 10**9
_PREFERENCE = 1e-3  # bits: too few to outweigh anything that was estimated
_M_AT_FIRST = 0.9  # how likely full agreement of matches is thought to be before anything is known


@dataclass(frozen=True)
class MatchModel:
    """For each attribute the m- and u-probabilities of its levels; the prevalence of matches among all pairs; and the
    logarithm of each pattern's probability among matches and among non-matches."""

    m: tuple[FloatArray, ...]
    u: tuple[FloatArray, ...]
    prevalence: float
    log_m: FloatArray
    log_u: FloatArray


def fit_independent(
    patterns: Patterns, levels: Sequence[int], prevalence: float, u_from: UFrom, *, estimate_prevalence: bool
) -> MatchModel:
    """Levels are independent given match or non-match, and a level beyond the last is no evidence.

    The u-probabilities are the shares of levels over all pairs, less those of the matches (`rest`) or with them
    (`all`), or they are `estimated` too. Better agreement never speaks against a match. Where an estimated prevalence
    leaves (0, 1/2], everything is fitted again with the prevalence given.
    """
    width = max(levels) + 1
    whole, m = np.zeros((len(levels), width)), np.zeros((len(levels), width))
    for j, size in enumerate(levels):
        whole[j, :size] = _at_levels(patterns, j, size, patterns.counts)
        m[j, :size] = _at_first(size)
    sizes, source = np.array(levels, dtype=np.int64), ("all", "rest", "estimated").index(u_from)
    rows, counts, steps = patterns.levels, patterns.counts, _steps(patterns)
    m, u, share = _fit(rows, counts, sizes, whole, m, prevalence, source, estimate_prevalence, steps)
    if not 0.0 < share <= 0.5:
        return fit_independent(patterns, levels, prevalence, u_from, estimate_prevalence=False)
    log_m, log_u = (_summed(rows, _logarithms(sizes, table)) for table in (m, u))
    return MatchModel(
        tuple(row[:size] for row, size in zip(m, levels, strict=True)),
        tuple(row[:size] for row, size in zip(u, levels, strict=True)),
        share,
        log_m,
        log_u,
    )


def fit_dependent(patterns: Patterns, start: MatchModel, digits: Sequence[int], *, both: bool) -> MatchModel:
    """The non-matches (or `both`) with interactions between every two attributes; the prevalence stays.

    `patterns` are all that are possible. Each step improves the fit by one round of proportional fitting to the
    expected counts of all pairs of levels.
    """
    pairs = [
        (patterns.levels[:, j].astype(np.int64) * digits[k] + patterns.levels[:, k], digits[j] * digits[k])
        for j, k in combinations(range(len(digits)), 2)
    ]
    total = float(patterns.counts.sum())
    unknown = [float(patterns.counts[patterns.levels[:, j] >= len(row)].sum()) / total for j, row in enumerate(start.m)]
    u = _with_unknown(patterns, start.u, unknown)
    levels = tuple(_at_first(len(row)) for row in start.m)  # what independence has found may be a coincidence
    m = _with_unknown(patterns, levels, unknown)
    for _ in range(max(_FEWEST_STEPS, _steps(patterns) // len(digits) ** 2)):
        joint = start.prevalence * m
        chance = joint / np.maximum(joint + (1 - start.prevalence) * u, 1e-300)
        expected = chance * patterns.counts
        u = _fitted(u, patterns.counts - expected, pairs)
        before = m
        if both:
            m = _fitted(m, expected, pairs)
        else:
            levels = tuple(
                _monotone(_at_levels(patterns, j, len(row), expected), row_u)
                for j, (row, row_u) in enumerate(zip(levels, start.u, strict=True))
            )
            m = _with_unknown(patterns, levels, unknown)
        if np.abs(m - before).max() < _CHANGE:
            break
    return MatchModel(levels, start.u, start.prevalence, np.log(np.maximum(m, 1e-12)), np.log(np.maximum(u, 1e-12)))


def level_weights(scheme: Scheme, model: MatchModel) -> list[FloatArray]:
    """For each attribute log2 of m over u for each of its levels, less a preference for better agreement; what is not
    known has weight 0."""
    weights = []
    for j, (same, different) in enumerate(zip(model.m, model.u, strict=True)):
        row = np.zeros(scheme.digits[j])
        row[: len(same)] = np.log2(same / different)
        weights.append(row - preference(scheme, j))
    return weights


def preference(scheme: Scheme, attribute: int) -> FloatArray:
    """What levels cost beyond their weight, so that of equal weights the better agreement wins; what
    is not known lies in the middle."""
    levels = float(scheme.levels[attribute])
    steps = np.arange(scheme.digits[attribute], dtype=np.float64)
    return _PREFERENCE * np.where(steps < levels, steps, (levels - 1) / 2)


def _steps(patterns: Patterns) -> int:
    """How many steps are affordable."""
    return int(np.clip(_AFFORDABLE / max(1, patterns.levels.size), _FEWEST_STEPS, _MOST_STEPS))


def _at_levels(patterns: Patterns, attribute: int, size: int, weights: FloatArray) -> FloatArray:
    """The sums of weights over the patterns with each level of an attribute, without those that are not known."""
    sums = np.bincount(patterns.levels[:, attribute], weights=weights, minlength=size)
    return sums[:size].astype(np.float64)


def _with_unknown(patterns: Patterns, rows: Sequence[FloatArray], unknown: Sequence[float]) -> FloatArray:
    """The probabilities of patterns of independent levels, of which some are not known."""
    whole = np.ones(len(patterns.counts))
    for j, (row, share) in enumerate(zip(rows, unknown, strict=True)):
        whole *= np.append(row * (1 - share), share)[patterns.levels[:, j]]
    return whole


def _fitted(table: FloatArray, wanted: FloatArray, pairs: Sequence[tuple[IntArray, int]]) -> FloatArray:
    """One round of proportional fitting to the sums that `wanted` has over every two attributes."""
    fitted, total = table, max(float(wanted.sum()), 1e-300)
    for cell, size in pairs:
        have = np.bincount(cell, weights=fitted, minlength=size)
        should = np.maximum(np.bincount(cell, weights=wanted, minlength=size) / total, 0.0)
        fitted = fitted * (should / np.maximum(have, 1e-300))[cell]
    return fitted


def _at_first(size: int) -> FloatArray:
    """Full agreement is likely, and every level of disagreement half as likely as the one before."""
    rest = 0.5 ** np.arange(size - 1)
    return np.concatenate([[_M_AT_FIRST], (1 - _M_AT_FIRST) * rest / rest.sum()]) if size > 1 else np.ones(1)


@kernel
def _likely(sums: FloatArray) -> FloatArray:
    """Sums as probabilities, none of them 0."""
    total = sums.sum()
    shares = np.maximum(sums / total if total > 0.0 else np.full(len(sums), 1.0 / len(sums)), LEAST)
    return np.asarray(shares / shares.sum())


@kernel
def _monotone(sums: FloatArray, u: FloatArray) -> FloatArray:
    """The likeliest probabilities whose ratio to the u-probabilities never rises with the level (pool adjacent
    violators)."""
    shares, size = _likely(sums), len(sums)
    mine, theirs, count = np.empty(size), np.empty(size), np.empty(size, dtype=np.int64)
    groups = 0
    for level in range(size):
        mine[groups], theirs[groups], count[groups] = shares[level], u[level], 1
        while groups > 0 and mine[groups - 1] * theirs[groups] < mine[groups] * theirs[groups - 1]:
            groups -= 1
            mine[groups] += mine[groups + 1]
            theirs[groups] += theirs[groups + 1]
            count[groups] += count[groups + 1]
        groups += 1
    pooled, level = np.empty(size), 0
    for group in range(groups):
        for _ in range(count[group]):
            pooled[level] = u[level] * mine[group] / theirs[group]
            level += 1
    return _likely(pooled)


@kernel
def _logarithms(sizes: IntArray, table: FloatArray) -> FloatArray:
    """The logarithms, a row for each attribute; 0 beyond the last level, where nothing is known."""
    laid = np.zeros_like(table)
    for j in range(len(sizes)):
        laid[j, : sizes[j]] = np.log(table[j, : sizes[j]])
    return laid


@kernel
def _summed(levels: npt.NDArray[np.uint8], logarithms: FloatArray) -> FloatArray:
    sums = np.zeros(len(levels))
    for g in range(len(levels)):
        for j in range(levels.shape[1]):
            sums[g] += logarithms[j, levels[g, j]]
    return sums


@kernel
def _fit(
    levels: npt.NDArray[np.uint8],
    counts: FloatArray,
    sizes: IntArray,
    whole: FloatArray,
    m: FloatArray,
    share: float,
    source: int,
    estimate_prevalence: bool,
    steps: int,
) -> tuple[FloatArray, FloatArray, float]:
    """Expectation and maximisation in turn; `whole` has the sums over all pairs, and `source` says where the
    u-probabilities come from: 0 all pairs, 1 the rest of them, 2 the pairs that are expected not to match."""
    d = len(sizes)
    shares, u = np.zeros_like(whole), np.zeros_like(whole)
    for j in range(d):
        shares[j, : sizes[j]] = _likely(whole[j, : sizes[j]])
        u[j, : sizes[j]] = shares[j, : sizes[j]]
    for _ in range(steps):
        ratios = _logarithms(sizes, m) - _logarithms(sizes, u)
        sums, found = _expected(levels, counts, ratios, share)
        moved = 0.0
        for j in range(d):
            size = sizes[j]
            new = _monotone(sums[j, :size], u[j, :size])
            moved = max(moved, np.abs(new - m[j, :size]).max())
            m[j, :size] = new
            if source == 1:
                u[j, :size] = _likely(np.maximum(shares[j, :size] - share * new, 0.0))
            elif source == 2:
                u[j, :size] = _likely(np.maximum(whole[j, :size] - sums[j, :size], 0.0))
        if estimate_prevalence:
            new_share = found / counts.sum()
            moved, share = max(moved, abs(new_share - share)), new_share
            if not 0.0 < share <= 0.5:
                break
        if moved < _CHANGE:
            break
    return m, u, share


@kernel
def _expected(
    levels: npt.NDArray[np.uint8], counts: FloatArray, ratios: FloatArray, share: float
) -> tuple[FloatArray, float]:
    """The expected number of matches at each level of each attribute, and in all."""
    d, found = levels.shape[1], 0.0
    sums = np.zeros_like(ratios)
    odds = np.log(share) - np.log1p(-share)
    for g in range(len(levels)):
        ratio = odds
        for j in range(d):
            ratio += ratios[j, levels[g, j]]
        expected = counts[g] / (1.0 + np.exp(-ratio))
        found += expected
        for j in range(d):
            sums[j, levels[g, j]] += expected
    return sums, found
