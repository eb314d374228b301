"""The fitness of transition matrices: categories are perturbed with them several times, and the outcome is measured.

A fitness is in per cent, lower for better matrices, and noisy: another perturbation gives another value. A search that
keeps the best value it has seen believes in luck, so what it finds is to be evaluated anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import Literal, NamedTuple, Protocol

import numpy as np

from microveil.numerics.choices import By
from microveil.numerics.evolution.categorical_measures import CategoricalMeasures, Measures, score_of
from microveil.numerics.evolution.tabulated_measures import TabulatedMeasures
from microveil.numerics.perturbing.transition_matrices import bayes_inverse, draw_categories
from microveil.typing import FloatArray, IntArray

_AT_ONCE = 250_000  # records that are perturbed at a time
REPEATS = 5  # as many perturbations as Marés (2013), Eq. 4.4, takes the mean of
# what is taken from the matrices instead of from a perturbation: nothing, what is exact, or what is nearly so, too
Expected = Literal["none", "exact", "approximate"]


class Evaluation(NamedTuple):
    """The means over several perturbations, and the standard deviation of a single score.

    A fitness without a part for risk has NaN there.
    """

    score: float
    loss: float
    risk: float
    deviation: float


class Fitness(Protocol):
    """What a search of matrices minimises, one matrix for each attribute."""

    def of(self, matrices: Sequence[FloatArray], rng: np.random.Generator, repeats: int | None = None) -> Evaluation:
        """Of so many perturbations, or of the usual number."""


def perturbed(codes: IntArray, matrices: Sequence[FloatArray], rng: np.random.Generator, times: int = 1) -> IntArray:
    """Every column drawn with its matrix, independently of the others (Eq. 4.2), so many times: the files come one
    below the other.

    >>> swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> perturbed(np.array([[0, 0], [1, 0]]), [swap, np.eye(2)], np.random.default_rng(1), times=2).tolist()
    [[1, 0], [0, 0], [1, 0], [0, 0]]
    """
    columns = zip(codes.T, matrices, strict=True)
    return np.column_stack([draw_categories(np.tile(column, times), matrix, rng) for column, matrix in columns])


def _batches(times: int, records: int) -> Iterator[int]:
    """So many perturbations, as many at once as have room."""
    at_once = max(1, _AT_ONCE // max(1, records))
    while times > 0:
        yield min(times, at_once)
        times -= at_once


@dataclass(frozen=True)
class GeneralFitness:
    """The mean or the greater of information loss and disclosure risk (Eq. 4.1 to 4.4 and 4.9 to 4.12), as a mean over
    `repeats` perturbations of the original that `measures` holds.

    Linkage by match weight takes by far the most time and counts only if it is `probabilistic`. With `expected`
    "exact", DBIL and, where intervals hold a category alone, interval disclosure are their expectations by the
    matrices. With "approximate" EBIL is that of the Bayes inverse, and CTBIL of one-way tables the mean of a folded
    normal distribution, too. Little time is saved, and the noise of DBIL and of interval disclosure, which cancels in
    the mean score, no longer does so where only these are exact.

    >>> original = np.array([[0], [0], [1], [1]])
    >>> measures = CategoricalMeasures(original, np.array([2]), np.array([False]))
    >>> GeneralFitness(measures).of([np.eye(2)], np.random.default_rng(1))
    Evaluation(score=37.5, loss=0.0, risk=75.0, deviation=0.0)
    """

    measures: CategoricalMeasures
    by: By = "mean"
    repeats: int = REPEATS
    probabilistic: bool = False
    expected: Expected = "none"

    def of(self, matrices: Sequence[FloatArray], rng: np.random.Generator, repeats: int | None = None) -> Evaluation:
        known = self._expected(matrices)
        found = [
            one._replace(**known)
            for times in _batches(repeats or self.repeats, len(self.measures.original))
            for one in self._measured(perturbed(self.measures.original, matrices, rng, times))
        ]
        losses, risks = [one.loss for one in found], [one.risk for one in found]
        scores = [score_of(loss, risk, self.by) for loss, risk in zip(losses, risks, strict=True)]
        return Evaluation(_mean(scores), _mean(losses), _mean(risks), _deviation(scores))

    def _measured(self, masked: IntArray) -> list[Measures]:
        """Of several masked files, one below the other."""
        if self._tabulated is not None:
            return self._tabulated.of(masked, probabilistic=self.probabilistic)
        files = masked.reshape(-1, *self.measures.original.shape)
        return [self.measures.of(file, probabilistic=self.probabilistic) for file in files]

    @cached_property
    def _tabulated(self) -> TabulatedMeasures | None:
        return TabulatedMeasures(self.measures) if TabulatedMeasures.suits(self.measures) else None

    def _expected(self, matrices: Sequence[FloatArray]) -> dict[str, float]:
        """The measures that are not taken from a perturbation."""
        if self.expected == "none":
            return {}
        flows = [t[:, None] * matrix for t, matrix in zip(self._frequencies, matrices, strict=True)]
        measures, cells = self.measures, self.measures.original.size
        found = {"dbil": 100 * _moved(flows, measures) / cells}
        if not measures.ordinal.any() or set(measures.conventions.widths) == {0.0}:
            found["interval"] = 100 * sum(float(np.trace(flow)) for flow in flows) / cells
        if self.expected == "approximate":
            found["ebil"] = 100 * _mean(list(self._entropy_shares(matrices)))
            if measures.conventions.dimension == 1:
                apart = [
                    float(expected_differences(t, m).sum()) for t, m in zip(self._frequencies, matrices, strict=True)
                ]
                found["ctbil"] = 100 * sum(apart) / (2 * cells)
        return found

    def _entropy_shares(self, matrices: Sequence[FloatArray]) -> Iterator[float]:
        sizes = self.measures.loss_sizes.tolist()
        for t, matrix, size in zip(self._frequencies, matrices, sizes, strict=True):
            yield expected_bits(t, matrix) / log2(size) if size > 1 else 0.0

    @cached_property
    def _frequencies(self) -> list[FloatArray]:
        columns = zip(self.measures.original.T, self.measures.sizes.tolist(), strict=True)
        return [np.bincount(column, minlength=size).astype(np.float64) for column, size in columns]


@dataclass(frozen=True)
class BivariateFitness:
    """The absolute differences of the joint counts of a perturbed attribute and one that is not, over twice the records
    (Eq. 4.5), as a mean over all such pairs and over `repeats` perturbations.

    `codes` has a column for each perturbed attribute, `beside` one for each of the others.

    >>> fitness = BivariateFitness(np.array([[0], [0], [1], [1]]), np.array([2]), np.array([[0], [1], [0], [1]]))
    >>> fitness.of([np.array([[1.0, 0.0], [1.0, 0.0]])], np.random.default_rng(1)).score
    50.0
    """

    codes: IntArray
    sizes: IntArray
    beside: IntArray
    repeats: int = REPEATS

    def of(self, matrices: Sequence[FloatArray], rng: np.random.Generator, repeats: int | None = None) -> Evaluation:
        scores = [
            self._difference(file)
            for times in _batches(repeats or self.repeats, len(self.codes))
            for file in perturbed(self.codes, matrices, rng, times).reshape(times, *self.codes.shape)
        ]
        return Evaluation(_mean(scores), _mean(scores), np.nan, _deviation(scores))

    def _difference(self, masked: IntArray) -> float:
        apart = [np.abs(self._counts(masked, j, z) - known).sum() for (j, z), known in self._known.items()]
        return 100 * float(sum(apart)) / (2 * len(masked) * len(apart))

    @cached_property
    def _known(self) -> dict[tuple[int, int], IntArray]:
        """The joint counts of the original."""
        pairs = [(j, z) for j in range(self.codes.shape[1]) for z in range(self.beside.shape[1])]
        return {(j, z): self._counts(self.codes, j, z) for j, z in pairs}

    def _counts(self, codes: IntArray, j: int, z: int) -> IntArray:
        size, other = int(self.sizes[j]), int(self.beside[:, z].max(initial=0)) + 1
        return np.bincount(codes[:, j] * other + self.beside[:, z], minlength=size * other)


def expected_differences(frequencies: FloatArray, matrix: FloatArray) -> FloatArray:
    """About how far the count of each published category will be from the original one.

    The count is nearly normal, with mean t P and variance sum over k of t_k p_kl (1 - p_kl), so that the difference is
    folded at 0; where t P = t it is sqrt(2 variance / pi).

    >>> expected_differences(np.array([50.0, 50.0]), np.full((2, 2), 0.5)).round(3).tolist()
    [3.989, 3.989]
    """
    shift = frequencies @ matrix - frequencies
    deviation = np.sqrt(frequencies @ (matrix * (1.0 - matrix)))
    steps = np.divide(shift, deviation, out=np.zeros_like(shift), where=deviation > 0)
    folded = deviation * np.sqrt(2 / np.pi) * np.exp(-(steps**2) / 2) + shift * (2 * _normal_share(steps) - 1)
    return np.where(deviation > 0, folded, np.abs(shift))


def expected_bits(frequencies: FloatArray, matrix: FloatArray) -> float:
    """About how many bits are not known of a category if the published one is: the entropy of the Bayes inverse.

    It is a little more than the mean over perturbations, whose cells vary.

    >>> expected_bits(np.array([50.0, 50.0]), np.full((2, 2), 0.5))
    1.0
    """
    inverse = bayes_inverse(matrix, frequencies)
    bits = -np.where(inverse > 0, inverse * np.log2(np.where(inverse > 0, inverse, 1.0)), 0.0).sum(axis=1)
    return float((frequencies @ matrix) @ bits / frequencies.sum())


def _normal_share(steps: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    return np.asarray(ndtr(steps))


def _moved(flows: Sequence[FloatArray], measures: CategoricalMeasures) -> float:
    """The expected sum of distances between original and published categories."""
    total = 0.0
    for flow, distance in zip(flows, measures.loss_distances, strict=True):
        positions = np.arange(len(flow))
        total += float((flow * distance(positions[:, None], positions[None, :])).sum())
    return total


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
