"""The cell-key method: a small deviation that belongs to the records of a cell, so that the same cell always gets it.

Every record has a secret key, and a cell the sum of the keys of its records. The sum chooses the deviation, of counts
from a perturbation table of greatest entropy (Marley and Leaver (2011); Giessing (2016)), of sums as a share of the
largest contribution. Two tables, or two questions, that come to the same records give the same number, so asking again
averages nothing out. Margins do not add up, and the sum of perturbed parts is another estimate of their total:
`averaging_attack` measures what that is worth.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.optimize import linprog, minimize

from microveil.errors import ParameterError
from microveil.parameters import Settings, parameter, parameterised
from microveil.randomness import SEED_BITS, check_seed
from microveil.tables.aggregation import Cells, KeyArray
from microveil.tables.structure import Structure
from microveil.typing import BoolArray, FloatArray, IntArray

_FOR_COUNTS, _FOR_SUMS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)


def record_keys(names: list[str], seed: int) -> KeyArray:
    """A key of 64 bits for each record, from a keyed hash of what identifies it.

    >>> record_keys(["a", "b"], 7)[0] == record_keys(["b", "a"], 7)[1]
    np.True_
    """
    key = check_seed(seed).to_bytes(SEED_BITS // 8, "big")
    hashed = (
        hashlib.blake2b(name.encode(), digest_size=8, key=key, person=b"microveil cells").digest() for name in names
    )
    return np.frombuffer(b"".join(hashed), dtype=">u8").astype(np.uint64)


@parameterised
class CellKey(Settings):
    """How far cells are perturbed.

    >>> CellKey().table.probabilities[0].tolist()
    [1.0]
    """

    name: ClassVar[str] = "cell-key"
    summary: ClassVar[str] = "how far counts and sums deviate"
    variance: float = parameter(default=2.0, help="variance of the deviations of counts", gt=0, le=1e6)
    deviation: int = parameter(default=5, help="largest deviation of a count", ge=1, le=1000)
    small: int = parameter(default=2, help="counts from 1 to this number are never published; 0: all are", ge=0, le=100)
    share: float = parameter(
        default=0.3, help="largest deviation of a sum, as a share of the largest contribution to it", gt=0, le=1
    )

    @cached_property
    def table(self) -> PerturbationTable:
        """The perturbation table of counts."""
        return perturbation_table(self.variance, self.deviation, self.small)

    def perturbed(self, cells: Cells) -> FloatArray:
        """The values that are published: of an empty cell zero, whatever its key."""
        if cells.keys is None:
            raise ParameterError("the cell-key method needs records; a table of cells has no keys")
        if cells.is_count:
            each = np.where(cells.contributors > 0, cells.values / np.maximum(cells.contributors, 1), 0.0)
            return np.asarray(self.perturbed_counts(cells.contributors, cells.keys) * each)
        made = self.perturbed_sums(cells.values, cells.largest[:, 0], cells.keys)
        return np.asarray(np.where(cells.contributors > 0, made, 0.0), dtype=np.float64)

    def perturbed_counts(self, counts: IntArray, keys: KeyArray) -> FloatArray:
        """Counts after perturbation, by the keys of their cells."""
        return self.table.perturbed(counts, _uniform(keys, _FOR_COUNTS))

    def perturbed_sums(self, sums: FloatArray, largest: FloatArray, keys: KeyArray) -> FloatArray:
        """Sums after perturbation, by their largest contributions and the keys of their cells."""
        return sums + self.share * largest * _triangular(_uniform(keys, _FOR_SUMS))


@dataclass(frozen=True)
class PerturbationTable:
    """For each count the counts that it can become and their probabilities; the last row serves all larger ones."""

    targets: tuple[IntArray, ...]
    probabilities: tuple[FloatArray, ...]

    def perturbed(self, counts: IntArray, keys: FloatArray) -> FloatArray:
        """Counts after perturbation, by keys between 0 and 1."""
        last = len(self.targets) - 1
        made = counts.astype(np.float64)
        for row in range(last + 1):
            here = np.flatnonzero(counts == row if row < last else counts >= row)
            if here.size:
                chosen = np.searchsorted(np.cumsum(self.probabilities[row]), keys[here], side="right")
                found = self.targets[row][np.minimum(chosen, len(self.targets[row]) - 1)]
                made[here] = counts[here] + (found - row)
        return made


def perturbation_table(variance: float, deviation: int, small: int) -> PerturbationTable:
    """Deviations of greatest entropy with mean zero and this variance, or the nearest one that a small count allows.

    Zero stays zero, no count becomes one between 1 and `small`, none becomes negative.
    """
    targets, probabilities = [np.zeros(1, dtype=np.int64)], [np.ones(1)]
    for count in range(1, deviation + small + 2):
        among = np.arange(max(0, count - deviation), count + deviation + 1)
        among = among[(among == 0) | (among > small)]
        targets.append(among)
        probabilities.append(_greatest_entropy((among - count).astype(np.float64), variance))
    return PerturbationTable(tuple(targets), tuple(probabilities))


def _greatest_entropy(deviations: FloatArray, variance: float) -> FloatArray:
    """The distribution over deviations with mean zero, this variance and the greatest entropy."""
    sums = np.stack([np.ones(len(deviations)), deviations])
    ends = [linprog(s * deviations**2, A_eq=sums, b_eq=[1, 0], bounds=(0, None), method="highs") for s in (1, -1)]
    if any(end.status != 0 for end in ends):
        raise ParameterError(
            "no perturbation without bias exists for these parameters; choose a larger deviation or fewer small counts"
        )
    least, most = ends[0].fun, -ends[1].fun
    if most - least < 1e-9:
        return np.asarray(ends[0].x)
    wanted = np.clip(variance, least + 0.02 * (most - least), most - 0.02 * (most - least))
    moments = np.stack([deviations, deviations**2 - wanted])
    size = np.abs(moments).max(axis=1, keepdims=True)

    def potential(multipliers: FloatArray) -> tuple[float, FloatArray]:
        exponent = multipliers @ (moments / size)
        weights = np.exp(exponent - exponent.max())
        return float(np.log(weights.sum()) + exponent.max()), (moments / size) @ weights / weights.sum()

    found = minimize(potential, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-12, "maxiter": 2000})
    exponent = found.x @ (moments / size)
    weights = np.exp(exponent - exponent.max())
    return np.asarray(weights / weights.sum())


def _uniform(keys: KeyArray, purpose: np.uint64) -> FloatArray:
    """Numbers between 0 and 1 from cell keys, unrelated for counts and sums, and for keys that are near each other."""
    mixed = keys ^ purpose
    with np.errstate(over="ignore"):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) / 2.0**53


def _triangular(uniform: FloatArray) -> FloatArray:
    """A symmetric triangular distribution between -1 and 1."""
    return np.where(uniform < 0.5, np.sqrt(2 * uniform) - 1, 1 - np.sqrt(2 * (1 - uniform)))


@dataclass(frozen=True)
class Averaging:
    """How often totals are guessed exactly: from their own value, and from all sums that estimate them, too."""

    totals: int
    alone: int
    averaged: int


def averaging_attack(structure: Structure, true: FloatArray, published: FloatArray, among: BoolArray) -> Averaging:
    """Estimate totals of counts by their own value and by the sums of their parts, weighted by their precision."""
    equations = structure.equations
    parts = equations.copy()
    parts.data = (parts.data > 0).astype(np.float64)
    sizes = np.asarray(parts.sum(axis=1)).ravel()
    sums = parts @ published
    precision, estimate = np.ones(len(structure)), published.copy()
    for row in range(equations.shape[0]):
        entries = slice(equations.indptr[row], equations.indptr[row + 1])
        parent = equations.indices[entries][equations.data[entries] < 0][0]
        if sizes[row] > 0:
            estimate[parent] += sums[row] / sizes[row]
            precision[parent] += 1 / sizes[row]
    totals = among & ~structure.is_inner
    guess = np.round(estimate / precision)
    return Averaging(
        int(totals.sum()),
        int((totals & (np.round(published) == true)).sum()),
        int((totals & (guess == true)).sum()),
    )
