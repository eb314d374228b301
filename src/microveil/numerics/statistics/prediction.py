"""Three learners that predict a column from others: a tree, ridge regression, and naive Bayes.

They see columns of numbers or codes with NaN where a cell is missing. Records are put into an order of their own first,
so that the order of the table cannot change a prediction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.counting.class_divergence import class_counts
from microveil.numerics.statistics.conditional_trees import BINS, BinArray, Cuts, grow, leaves_of, nominal_bins
from microveil.numerics.statistics.scaling import Scaling
from microveil.typing import BoolArray, FloatArray, IntArray

_MOST_DUMMIES = 50  # categories of one column that get a column of their own in a regression
_ROUNDING = 1e-9
_MOST_PARTS = 20  # that naive Bayes cuts an ordered column into


@dataclass(frozen=True)
class Task:
    """Columns `seen[j, i]` with the `target` to learn from, and the columns `new[j, i]` to predict it for.

    `nominal` says which columns hold codes without an order; with `classes` the target holds codes too.
    """

    seen: FloatArray
    target: FloatArray
    new: FloatArray
    nominal: BoolArray
    classes: bool

    def learnable(self) -> Task:
        """Without the records that have no target, in an order that depends on their content alone."""
        present = np.flatnonzero(~np.isnan(self.target))
        order = present[np.lexsort((*self.seen[:, present], self.target[present]))]
        return Task(self.seen[:, order], self.target[order], self.new, self.nominal, self.classes)


def by_tree(task: Task, leaf: int, evidence: float) -> FloatArray:
    """For classes the chance (columns) that each is named for a new record (rows), else a column with the mean of its
    leaf. Equally frequent classes of a leaf share the chance.
    """
    task = task.learnable()
    seen, new = _bins(task)
    target: FloatArray | IntArray = task.target.astype(np.int64) if task.classes else task.target
    tree = grow(seen, task.nominal, target, np.arange(len(target)), leaf=leaf, evidence=evidence)
    learnt, at = leaves_of(tree, seen), leaves_of(tree, new)
    if task.classes:
        return _named(class_counts(learnt, task.target.astype(np.int64)).astype(np.float64))[at]
    sums = np.bincount(learnt, weights=task.target, minlength=len(tree.column))
    return (sums / np.maximum(np.bincount(learnt, minlength=len(tree.column)), 1))[at][:, None]


def by_ridge(task: Task, penalty: float) -> FloatArray:
    """The same by a regression on standardised columns and dummies, of the target or of an indicator of each class."""
    task = task.learnable()
    seen, new = _design(task)
    responses = task.target[:, None]
    if task.classes:
        responses = np.eye(int(task.target.max()) + 1)[task.target.astype(np.int64)]
    centre = responses.mean(axis=0)
    square = seen.T @ seen + penalty * np.eye(seen.shape[1])
    found = centre + new @ np.linalg.solve(square, seen.T @ (responses - centre))
    return _named(found) if task.classes else np.asarray(found)


def by_bayes(task: Task) -> FloatArray:
    """For classes alone: the chance that each is named by naive Bayes, with one added to every count.

    Ordered columns are cut into twenty parts of about equally many records; a missing cell is a part of its own.
    """
    task = task.learnable()
    classes = task.target.astype(np.int64)
    held = np.bincount(classes).astype(np.float64)
    scores = np.tile(np.log(held + 1.0), (task.new.shape[1], 1))
    for seen, new, nominal in zip(*_bins(task), task.nominal, strict=True):
        parts = np.arange(BINS) if nominal else _parts(seen)
        counts = class_counts(classes, parts[seen], int(parts[np.concatenate([seen, new])].max()) + 1) + 1.0
        scores += np.log(counts / counts.sum(axis=1, keepdims=True)).T[parts[new]]
    scores[:, held == 0] = -np.inf  # classes without records cannot be learnt
    return _named(scores)


def _parts(bins: BinArray) -> IntArray:
    """For each of the ordered bins the part it belongs to; missing cells, in the first bin, stay alone."""
    held = np.bincount(bins, minlength=BINS)
    below = np.cumsum(held) - held - held[0]
    parts = 1 + below * _MOST_PARTS // max(1, len(bins) - int(held[0]))
    parts[0] = 0
    return np.asarray(np.unique(parts, return_inverse=True)[1], dtype=np.int64)


def _named(scores: FloatArray) -> FloatArray:
    """The chance that each class is named: the highest score of a row has it, or those that tie share it."""
    highest = scores.max(axis=1, keepdims=True)
    best = scores >= highest - _ROUNDING * np.maximum(1.0, np.abs(highest))
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def _bins(task: Task) -> tuple[BinArray, BinArray]:
    """Both tables in bins; ordered columns are cut where those to learn from are dense."""
    learnt, shape = task.seen.shape[1], (len(task.seen), task.seen.shape[1] + task.new.shape[1])
    bins = np.zeros(shape, dtype=np.uint8)
    for j, (seen, new) in enumerate(zip(task.seen, task.new, strict=True)):
        cells = np.concatenate([seen, new])
        if task.nominal[j]:
            bins[j] = nominal_bins(np.where(np.isnan(cells), -1, np.nan_to_num(cells)).astype(np.int64))
        else:
            bins[j] = Cuts.of(seen).bins(cells)
    return np.ascontiguousarray(bins[:, :learnt]), np.ascontiguousarray(bins[:, learnt:])


def _design(task: Task) -> tuple[FloatArray, FloatArray]:
    """Columns for a regression: numbers and codes of ordered categories standardised, a dummy for each frequent
    category; missing is 0."""
    seen, new = [np.zeros((task.seen.shape[1], 0))], [np.zeros((task.new.shape[1], 0))]
    for j in range(len(task.seen)):
        columns = task.seen[j][:, None], task.new[j][:, None]
        if task.nominal[j]:
            codes, counts = np.unique(task.seen[j][~np.isnan(task.seen[j])], return_counts=True)
            frequent = codes[np.argsort(-counts, kind="stable")[:_MOST_DUMMIES]]
            columns = columns[0] == frequent, columns[1] == frequent
        scaling = Scaling.of(np.asarray(columns[0], dtype=np.float64))
        for side, column in zip((seen, new), columns, strict=True):
            side.append(np.nan_to_num(scaling.apply(np.asarray(column, dtype=np.float64))))
    return np.hstack(seen), np.hstack(new)
