"""Which attributes are masked together when they are masked in blocks.

Correlated attributes in one block lose little; correlated attributes spread over the blocks make the same records
fall together again and again, so that more of them share a released record. Nin, Herranz and Torra (2008a); Nin (2008),
sections 3.1.2 and 3.1.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from microveil.errors import ParameterError
from microveil.numerics.statistics.scaling import standardise
from microveil.typing import FloatArray

Layout = list[list[int]]
Leftover = Literal["own", "merge", "drop"]


@dataclass(frozen=True)
class Blocks:
    """Attributes in blocks, with the mean absolute correlation of pairs within a block and across blocks.

    The mean is NaN where there is no such pair.
    """

    blocks: tuple[tuple[str, ...], ...]
    within: float
    between: float

    @property
    def order(self) -> list[str]:
        """The attributes block after block, as a method with `block` takes them."""
        return [name for block in self.blocks for name in block]


def consecutive_blocks(
    attributes: Sequence[str], sizes: int | Sequence[int], leftover: Leftover = "own"
) -> list[tuple[str, ...]]:
    """Attributes in their order, so many in each block; one size is repeated as often as it fits.

    Those left over make a block of their own, join the last one, or are dropped: then leave them out of the file and
    of all measures too.

    >>> consecutive_blocks("abcdefg", 3)
    [('a', 'b', 'c'), ('d', 'e', 'f'), ('g',)]
    >>> consecutive_blocks("abcdefg", 3, "merge")
    [('a', 'b', 'c'), ('d', 'e', 'f', 'g')]
    >>> consecutive_blocks("abcdefg", (3, 2), "drop")
    [('a', 'b', 'c'), ('d', 'e')]
    """
    given = list(sizes) if isinstance(sizes, Sequence) else [sizes]
    if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in given):
        raise ParameterError(f"sizes = {sizes!r} is not allowed; a block has at least one attribute, a whole number")
    if leftover not in get_args(Leftover):
        raise ParameterError(f"leftover = {leftover!r} is not allowed; it must be {' or '.join(get_args(Leftover))}")
    wanted = given * (len(attributes) // sizes) if isinstance(sizes, int) else given
    if sum(wanted) > len(attributes):
        raise ParameterError(f"the blocks need {sum(wanted)} attributes, but only {len(attributes)} are given")
    made, used = [], 0
    for size in wanted:
        made.append(tuple(attributes[used : used + size]))
        used += size
    left = tuple(attributes[used:])
    if left and leftover == "merge" and made:
        made[-1] += left
    elif left and leftover != "drop":
        made.append(left)
    return made


def absolute_correlations(matrix: FloatArray) -> FloatArray:
    """The absolute correlations of the columns; a constant column has none with any other."""
    z = standardise(matrix)
    made = np.clip(np.abs(z.T @ z) / len(z), 0.0, 1.0)
    np.fill_diagonal(made, 1.0)
    return np.asarray(made)


def correlated_blocks(matrix: FloatArray, names: Sequence[str], size: int) -> Blocks:
    """Blocks of so many attributes (the last may be smaller) that are correlated with each other.

    >>> x, y = np.random.default_rng(1).normal(size=(2, 50))
    >>> correlated_blocks(np.column_stack([x, y, x, y]), ["a1", "a2", "a3", "a4"], 2).blocks
    (('a1', 'a3'), ('a2', 'a4'))
    """
    correlations = absolute_correlations(matrix)
    return _described(_correlated_layout(correlations, size), correlations, names)


def spread_blocks(matrix: FloatArray, names: Sequence[str], size: int) -> Blocks:
    """Blocks of so many attributes at most, each with one attribute of every group of correlated attributes.

    Attributes in the same place of consecutive blocks are the best correlated.

    >>> x, y = np.random.default_rng(1).normal(size=(2, 50))
    >>> spread_blocks(np.column_stack([x, y, x, y]), ["a1", "a2", "a3", "a4"], 2).blocks
    (('a1', 'a2'), ('a3', 'a4'))
    """
    correlations = absolute_correlations(matrix)
    number = -(-len(names) // size)
    groups = _correlated_layout(correlations, number)
    layout = [[group[t] for group in groups if t < len(group)] for t in range(number)]
    return _described(_aligned(layout, correlations), correlations, names)


def _correlated_layout(correlations: FloatArray, size: int) -> Layout:
    """Average linkage puts correlated attributes side by side; cut into blocks, then exchanged while that helps."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    d = len(correlations)
    leaves = list(range(d))
    if d > 2:
        leaves = leaves_list(linkage(squareform(1.0 - correlations, checks=False), "average")).tolist()
    layout = [leaves[start : start + size] for start in range(0, d, size)]
    while _exchanged(layout, correlations):
        pass
    full = [sorted(block) for block in layout if len(block) == size]
    rest = [sorted(block) for block in layout if len(block) < size]
    return sorted(full) + rest


def _exchanged(layout: Layout, correlations: FloatArray) -> bool:
    """Exchange the two attributes of different blocks that gain most correlation within blocks, if any gain."""
    best, gain = None, 1e-9
    for one, other in combinations(range(len(layout)), 2):
        for a in layout[one]:
            for b in layout[other]:
                with_one = [x for x in layout[one] if x != a]
                with_other = [x for x in layout[other] if x != b]
                now = correlations[a, with_one].sum() + correlations[b, with_other].sum()
                then = correlations[b, with_one].sum() + correlations[a, with_other].sum()
                if then - now > gain:
                    best, gain = (one, a, other, b), float(then - now)
    if best is None:
        return False
    one, a, other, b = best
    layout[one][layout[one].index(a)] = b
    layout[other][layout[other].index(b)] = a
    return True


def _aligned(layout: Layout, correlations: FloatArray) -> Layout:
    from scipy.optimize import linear_sum_assignment

    aligned = layout[:1]
    for block in layout[1:]:
        _, positions = linear_sum_assignment(-correlations[np.ix_(aligned[-1], block)])
        assigned = [block[position] for position in positions]
        aligned.append(assigned + [x for x in block if x not in assigned])
    return aligned


def _described(layout: Layout, correlations: FloatArray, names: Sequence[str]) -> Blocks:
    block_of = np.empty(len(names), dtype=np.int64)
    for number, block in enumerate(layout):
        block_of[block] = number
    one, other = np.triu_indices(len(names), 1)
    same = block_of[one] == block_of[other]
    values = correlations[one, other]
    means = [float(part.mean()) if len(part) else np.nan for part in (values[same], values[~same])]
    return Blocks(tuple(tuple(names[j] for j in block) for block in layout), *means)
