"""A mixture of two classes of patterns, a rare one and a common one, fitted by expectation and maximisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.linkage.agreement import Patterns
from microveil.typing import FloatArray, IntArray

CommonFrom = Literal["rest", "all", "estimated"]
LEAST = 1e-6  # no level is thought less likely than this
# the rare class is found slowly: stopped at a change of 1e-6, estimates can still be off by several hundredths
_CHANGE = 1e-8
_FEWEST_STEPS, _MOST_STEPS, _AFFORDABLE = 200, 5000, 4 * 10**9
_RARE_AT_FIRST = 0.9  # how likely full agreement is thought to be in the rare class before anything is known


@dataclass(frozen=True)
class Classes:
    """For each attribute the probability of its levels in the rare and in the common class, the share of the rare one,
    and the logarithm of each pattern's probability in both."""

    rare: tuple[FloatArray, ...]
    common: tuple[FloatArray, ...]
    prevalence: float
    log_rare: FloatArray
    log_common: FloatArray


def independent_classes(
    patterns: Patterns, levels: Sequence[int], prevalence: float, common_from: CommonFrom, *, estimate_share: bool
) -> Classes:
    """Levels are independent within a class, and a level beyond the last says nothing about the class.

    The common class has the shares of levels over all pairs, less those of the rare class (`rest`) or with them
    (`all`), or it is `estimated` too. Better agreement never speaks for the common class. Where an estimated share
    leaves (0, 1/2], everything is fitted again with the share given.
    """
    width = max(levels) + 1
    whole, rare = np.zeros((len(levels), width)), np.zeros((len(levels), width))
    for j, size in enumerate(levels):
        whole[j, :size] = _at_levels(patterns, j, size, patterns.counts)
        rare[j, :size] = _at_first(size)
    sizes, source = np.array(levels, dtype=np.int64), ("all", "rest", "estimated").index(common_from)
    rows, counts, steps = patterns.levels, patterns.counts, _steps(patterns)
    rare, common, share = _fit(rows, counts, sizes, whole, rare, prevalence, source, estimate_share, steps)
    if not 0.0 < share <= 0.5:
        return independent_classes(patterns, levels, prevalence, common_from, estimate_share=False)
    log_rare, log_common = (_summed(rows, _logarithms(sizes, table)) for table in (rare, common))
    return Classes(
        tuple(row[:size] for row, size in zip(rare, levels, strict=True)),
        tuple(row[:size] for row, size in zip(common, levels, strict=True)),
        share,
        log_rare,
        log_common,
    )


def dependent_classes(patterns: Patterns, start: Classes, digits: Sequence[int], *, both: bool) -> Classes:
    """The common class (or `both`) with interactions between every two attributes; the share stays.

    `patterns` are all that are possible. Each step improves the fit by one round of proportional fitting to the
    expected counts of all pairs of levels.
    """
    pairs = [
        (patterns.levels[:, j].astype(np.int64) * digits[k] + patterns.levels[:, k], digits[j] * digits[k])
        for j, k in combinations(range(len(digits)), 2)
    ]
    total = float(patterns.counts.sum())
    unknown = [
        float(patterns.counts[patterns.levels[:, j] >= len(row)].sum()) / total for j, row in enumerate(start.rare)
    ]
    common = _with_unknown(patterns, start.common, unknown)
    levels = tuple(_at_first(len(row)) for row in start.rare)  # what independence has found may be a coincidence
    rare = _with_unknown(patterns, levels, unknown)
    for _ in range(max(_FEWEST_STEPS, _steps(patterns) // len(digits) ** 2)):
        joint = start.prevalence * rare
        chance = joint / np.maximum(joint + (1 - start.prevalence) * common, 1e-300)
        expected = chance * patterns.counts
        common = _fitted(common, patterns.counts - expected, pairs)
        before = rare
        if both:
            rare = _fitted(rare, expected, pairs)
        else:
            levels = tuple(
                _rising(_at_levels(patterns, j, len(row), expected), row_common)
                for j, (row, row_common) in enumerate(zip(levels, start.common, strict=True))
            )
            rare = _with_unknown(patterns, levels, unknown)
        if np.abs(rare - before).max() < _CHANGE:
            break
    return Classes(
        levels, start.common, start.prevalence, np.log(np.maximum(rare, 1e-12)), np.log(np.maximum(common, 1e-12))
    )


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
    return np.concatenate([[_RARE_AT_FIRST], (1 - _RARE_AT_FIRST) * rest / rest.sum()]) if size > 1 else np.ones(1)


@kernel
def _likely(sums: FloatArray) -> FloatArray:
    """Sums as probabilities, none of them 0."""
    total = sums.sum()
    shares = np.maximum(sums / total if total > 0.0 else np.full(len(sums), 1.0 / len(sums)), LEAST)
    return np.asarray(shares / shares.sum())


@kernel
def _rising(sums: FloatArray, common: FloatArray) -> FloatArray:
    """The likeliest probabilities whose ratio to the common class's never rises with the level (pooled neighbours)."""
    shares, size = _likely(sums), len(sums)
    mine, theirs, count = np.empty(size), np.empty(size), np.empty(size, dtype=np.int64)
    groups = 0
    for level in range(size):
        mine[groups], theirs[groups], count[groups] = shares[level], common[level], 1
        while groups > 0 and mine[groups - 1] * theirs[groups] < mine[groups] * theirs[groups - 1]:
            groups -= 1
            mine[groups] += mine[groups + 1]
            theirs[groups] += theirs[groups + 1]
            count[groups] += count[groups + 1]
        groups += 1
    pooled, level = np.empty(size), 0
    for group in range(groups):
        for _ in range(count[group]):
            pooled[level] = common[level] * mine[group] / theirs[group]
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
    rare: FloatArray,
    share: float,
    source: int,
    estimate_share: bool,
    steps: int,
) -> tuple[FloatArray, FloatArray, float]:
    """Expectation and maximisation in turn; `whole` has the sums over all pairs, and `source` says what the common
    class is: 0 all pairs, 1 the rest of them, 2 what is expected not to be rare."""
    d = len(sizes)
    shares, common = np.zeros_like(whole), np.zeros_like(whole)
    for j in range(d):
        shares[j, : sizes[j]] = _likely(whole[j, : sizes[j]])
        common[j, : sizes[j]] = shares[j, : sizes[j]]
    for _ in range(steps):
        ratios = _logarithms(sizes, rare) - _logarithms(sizes, common)
        sums, found = _expected(levels, counts, ratios, share)
        moved = 0.0
        for j in range(d):
            size = sizes[j]
            new = _rising(sums[j, :size], common[j, :size])
            moved = max(moved, np.abs(new - rare[j, :size]).max())
            rare[j, :size] = new
            if source == 1:
                common[j, :size] = _likely(np.maximum(shares[j, :size] - share * new, 0.0))
            elif source == 2:
                common[j, :size] = _likely(np.maximum(whole[j, :size] - sums[j, :size], 0.0))
        if estimate_share:
            new_share = found / counts.sum()
            moved, share = max(moved, abs(new_share - share)), new_share
            if not 0.0 < share <= 0.5:
                break
        if moved < _CHANGE:
            break
    return rare, common, share


@kernel
def _expected(
    levels: npt.NDArray[np.uint8], counts: FloatArray, ratios: FloatArray, share: float
) -> tuple[FloatArray, float]:
    """The expected number of pairs of the rare class at each level of each attribute, and in all."""
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
