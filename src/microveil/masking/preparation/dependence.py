"""EMAD: choosing the few attributes on which distances are taken, by the tree of their strongest dependences.

An attribute that many others hang on in the tree stands for them. Groups are formed on the chosen attributes only;
the loss is still that of all attributes. Oommen and Fayyoumi (2008); Fayyoumi (2008), section 6.2, Algorithm 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.numerics.statistics.dependence_tree import (
    Metric,
    bins,
    degrees,
    dependence,
    maximum_spanning_tree,
    tied_choices,
)
from microveil.typing import FloatArray, IntArray

Choice = tuple[str, ...]
Constant = Literal["exclude", "attach"]  # what becomes of an attribute that depends on nothing


def chosen_attributes(
    matrix: FloatArray,
    names: Sequence[str],
    size: int,
    metric: Metric = "normal",
    width: float | None = None,
    constant: Constant = "exclude",
) -> list[Choice]:
    """The attributes with most neighbours in the tree of dependence, so many of them, or all choices tied for that.

    `matrix` holds the values in their own units, `width` the width of the intervals they are cut into (not for
    `normal`). An attribute whose values all fall into one interval depends on nothing: it is left out of the tree
    unless there are too few others, or, as in Fayyoumi (2008), attached to the first attribute.

    >>> rng = np.random.default_rng(1)
    >>> a, noise = rng.normal(size=500), rng.normal(size=(500, 3))
    >>> chosen_attributes(np.column_stack([a[:, None] + noise, a]), ["x", "y", "z", "a"], 1)
    [('a',)]
    """
    if not 1 <= size <= len(names):
        raise ParameterError(f"size = {size} is not allowed; there are {len(names)} attributes to choose from")
    if metric != "normal" and (width is None or width <= 0):
        raise ParameterError(f"width = {width} is not allowed; {metric} needs a positive width of intervals")
    degree = tree_degrees(matrix, metric, width, constant)
    return [tuple(names[j] for j in choice) for choice in tied_choices(degree, size)]


def tree_degrees(
    matrix: FloatArray,
    metric: Metric,
    width: float | None = None,
    constant: Constant = "exclude",
) -> IntArray:
    """How many neighbours each attribute has in the tree; -1 for one that is left out."""
    d = matrix.shape[1]
    inside = np.arange(d)
    if constant == "exclude":
        spread = np.ptp(matrix if metric == "normal" else bins(matrix, width or 1.0), axis=0)
        inside = np.flatnonzero(spread > 0)
    degree = np.full(d, -1, dtype=np.int64)
    tree = maximum_spanning_tree(dependence(matrix[:, inside], metric, width))
    degree[inside] = degrees(tree, len(inside))
    return degree
