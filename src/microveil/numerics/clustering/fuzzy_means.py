"""Fuzzy c-means: every record belongs to every cluster to a degree, and a centre is the mean weighted by the degrees.

Two forms: the standard one, in which a degree falls with a power of the distance, and the entropy one, in which it
falls exponentially with the squared distance. The number of clusters adapts: those that are the foremost of fewer than
k records are given up, those of 2k or more are clustered again by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.grouping.centroid_groups import split_large
from microveil.numerics.grouping.groups import group_centres
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.numerics.grouping.steps import join_nearest
from microveil.progress import Part, Progress, silent
from microveil.typing import FloatArray, IntArray

_ROUNDS = 20
_ITERATIONS = 300
_ITERATIONS_PER_CALL = 20
_SETTLED = 1e-5
_FIRST_FIT = 0.6  # of the work, as reported to the caller
_MEMBER = 1e-3  # a smaller degree of membership counts as none


@dataclass(frozen=True)
class Fuzziness:
    """The form of the degrees: `power` (above 1) for the standard form, `sharpness` (above 0) for the entropy form."""

    entropy: bool
    power: float = 2.0
    sharpness: float = 1.0

    @property
    def exponent(self) -> float:
        """What the squared distance is multiplied by (entropy) or raised to (standard), with a minus."""
        return self.sharpness if self.entropy else 1.0 / (self.power - 1.0)

    def pulls(self, degrees: FloatArray) -> FloatArray:
        """How strongly each record pulls each centre."""
        return degrees if self.entropy else degrees**self.power


def natural_sharpness(columns: FloatArray, k: int) -> float:
    """One over the mean squared distance of a record to its group's mean in MDAV: the scale on which groups differ."""
    labels, centres = _groups_of_mdav(columns, k)
    spread = float(((columns - centres[labels]) ** 2).sum()) / len(columns)
    return 1.0 / spread if spread > 0 else 1.0


def _groups_of_mdav(columns: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """Labels, and the means of the groups."""
    labels = mdav_groups(columns, k)
    return labels, group_centres(columns, labels, int(labels.max()) + 1)


@dataclass(frozen=True)
class Clusters:
    """`pulls[i, h]`: how strongly record i pulls centre h; `degrees[i, h]`: to what degree it belongs to it."""

    pulls: FloatArray
    degrees: FloatArray


def fuzzy_clusters(
    columns: FloatArray, k: int, form: Fuzziness, progress: Progress = silent, label: str = "clustering"
) -> Clusters:
    """Clusters of which each is, as far as that can be reached, the foremost of k to 2k-1 records."""
    n = len(columns)
    waiting, settled, pulls = [np.arange(n)], 0, []
    while waiting:
        rows = waiting.pop()
        at = _FIRST_FIT + (1.0 - _FIRST_FIT) * settled / n
        part = Part(progress, 0.0, _FIRST_FIT) if len(rows) == n else Part(progress, at, at)
        fitted = _fit_and_give_up(np.ascontiguousarray(columns[rows]), k, form, part, label)
        foremost = fitted.argmax(axis=1)
        for cluster in range(fitted.shape[1]):
            members = rows[foremost == cluster]
            if len(members) < 2 * k:
                pulls.append(_spread(form.pulls(fitted[:, cluster]), rows, n))
                settled += len(members)
            elif len(members) < len(rows):
                waiting.append(members)
            else:  # nothing tells them apart; MDAV divides them
                pulls += _pulls_of_groups(columns, rows, k)
                settled += len(rows)
    made = np.column_stack(pulls)
    centres = weighted_centres(columns, made)
    degrees = np.zeros_like(made)
    _update(columns, np.ascontiguousarray(centres.T), form.entropy, form.exponent, degrees)
    progress(1.0, label)
    return Clusters(made, degrees)


def _fit_and_give_up(columns: FloatArray, k: int, form: Fuzziness, progress: Progress, label: str) -> FloatArray:
    """Degrees for as many clusters as are the foremost of k records or more; it starts from MDAV's groups."""
    _, centres = _groups_of_mdav(columns, k)
    for turn in range(_ROUNDS):
        part = Part(progress, turn / _ROUNDS, (turn + 1) / _ROUNDS)
        degrees, centres = _fit(columns, centres, form, part, label)
        large_enough = np.bincount(degrees.argmax(axis=1), minlength=len(centres)) >= k
        if large_enough.all():
            break
        centres = centres[large_enough] if large_enough.any() else columns.mean(axis=0, keepdims=True)
    return degrees


def _spread(pulls: FloatArray, rows: IntArray, n: int) -> FloatArray:
    """The pulls of some records among all; the others pull nothing."""
    among_all = np.zeros(n)
    among_all[rows] = pulls
    return among_all


def _pulls_of_groups(columns: FloatArray, rows: IntArray, k: int) -> list[FloatArray]:
    labels = mdav_groups(np.ascontiguousarray(columns[rows]), k)
    return [_spread(np.asarray(labels == group, dtype=np.float64), rows, len(columns)) for group in np.unique(labels)]


def crisp_groups(columns: FloatArray, degrees: FloatArray, k: int) -> IntArray:
    """Groups of k to 2k-1 records: everyone in the foremost cluster; small clusters are shared out, large ones divided.

    The records of a small cluster join the groups with the nearest means.
    """
    foremost = degrees.argmax(axis=1)
    sizes = np.bincount(foremost, minlength=degrees.shape[1])
    number = np.where(sizes >= k, np.cumsum(sizes >= k) - 1, -1)
    labels = join_nearest(columns, number[foremost], int((sizes >= k).sum()))
    return split_large(columns, labels, k)


def _fit(
    columns: FloatArray, centres: FloatArray, form: Fuzziness, progress: Progress, label: str
) -> tuple[FloatArray, FloatArray]:
    """Degrees and centres by turns, until no degree changes by more than 1e-5."""
    degrees = np.zeros((len(columns), len(centres)))
    by_attribute = np.array(centres.T, order="C")
    for done in range(0, _ITERATIONS, _ITERATIONS_PER_CALL):
        settled = _iterate(
            columns, by_attribute, form.entropy, form.exponent, form.power, degrees, _ITERATIONS_PER_CALL, _SETTLED
        )
        progress((done + _ITERATIONS_PER_CALL) / _ITERATIONS, label)
        if settled:
            break
    return degrees, np.ascontiguousarray(by_attribute.T)


@kernel
def _iterate(
    columns: FloatArray,
    centres: FloatArray,
    entropy: bool,
    exponent: float,
    power: float,
    degrees: FloatArray,
    iterations: int,
    settled: float,
) -> bool:
    """So many turns of degrees and centres, both put in place; whether the degrees no longer change."""
    n, d = columns.shape
    c = centres.shape[1]
    pulls, totals, sums = np.empty(c), np.empty(c), np.empty((d, c))
    for _ in range(iterations):
        if _update(columns, centres, entropy, exponent, degrees) < settled:
            return True
        totals[:] = 0.0
        sums[:] = 0.0
        for i in range(n):
            if entropy:
                pulls[:] = degrees[i]
            elif power == 2.0:
                pulls[:] = degrees[i] * degrees[i]
            else:
                pulls[:] = degrees[i] ** power
            totals += pulls
            for j in range(d):
                x, row = columns[i, j], sums[j]
                for h in range(c):
                    row[h] += pulls[h] * x
        for h in range(c):
            if totals[h] > 0.0:
                for j in range(d):
                    centres[j, h] = sums[j, h] / totals[h]
    return False


@kernel
def _update(columns: FloatArray, centres: FloatArray, entropy: bool, exponent: float, degrees: FloatArray) -> float:
    """Put the degrees for these centres (one column a centre) in place; return the largest change of any of them."""
    n, d = columns.shape
    c = centres.shape[1]
    fresh = np.empty(c)
    change = 0.0
    for i in range(n):
        fresh[:] = 0.0
        for j in range(d):
            x, row = columns[i, j], centres[j]
            for h in range(c):
                across = row[h] - x
                fresh[h] += across * across
        least = fresh.min()
        if entropy:
            for h in range(c):
                fresh[h] = np.exp(-exponent * (fresh[h] - least))
        elif least == 0.0:
            for h in range(c):
                fresh[h] = 1.0 if fresh[h] == 0.0 else 0.0
        elif exponent == 1.0:
            for h in range(c):
                fresh[h] = least / fresh[h]
        else:
            for h in range(c):
                fresh[h] = (least / fresh[h]) ** exponent
        total = fresh.sum()
        row = degrees[i]
        for h in range(c):
            degree = fresh[h] / total
            change = max(change, abs(degree - row[h]))
            row[h] = degree
    return change


@kernel
def weighted_centres(columns: FloatArray, pulls: FloatArray) -> FloatArray:
    """The means of the columns weighted by the pulls, one row a cluster; missing cells (NaN) pull nothing.

    A cluster that nothing pulls lies at the plain mean, and no mean leaves the span of its column through rounding.
    """
    n, d = columns.shape
    c = pulls.shape[1]
    sums, totals = np.zeros((c, d)), np.zeros((c, d))
    for i in range(n):
        for h in range(c):
            pull = pulls[i, h]
            if pull > 0.0:
                for j in range(d):
                    if not np.isnan(columns[i, j]):
                        sums[h, j] += pull * columns[i, j]
                        totals[h, j] += pull
    for j in range(d):
        low, high, plain = np.nanmin(columns[:, j]), np.nanmax(columns[:, j]), np.nanmean(columns[:, j])
        for h in range(c):
            centre = sums[h, j] / totals[h, j] if totals[h, j] > 0.0 else plain
            sums[h, j] = min(max(centre, low), high)
    return sums


def drawn_clusters(degrees: FloatArray, proportional: bool, draws: FloatArray) -> IntArray:
    """One cluster for each record: with the degrees as probabilities, or any it belongs to alike."""
    chances = degrees if proportional else (degrees > _MEMBER).astype(np.float64)
    none = chances.sum(axis=1) == 0  # so many clusters that none has a degree worth the name
    chances = np.where(none[:, None], degrees, chances)
    steps = np.cumsum(chances, axis=1)
    return np.asarray((steps <= (draws * steps[:, -1])[:, None]).sum(axis=1).clip(max=degrees.shape[1] - 1))
