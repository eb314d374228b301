"""Each row represented by K numbers, comparable between rows of any length: one aggregate for each of K quantifiers.

Rows of different tables, with different columns, become comparable in this way as far as they hold large and small
numbers alike. A missing number (NaN) is left out, and the rest is a shorter row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.numerics.statistics.aggregation_operators import Quantifier, owa_sorted, sugeno_sorted, twofold_sorted
from microveil.typing import FloatArray

Operator = Literal["owa", "sugeno", "twofold"]


def representatives(
    rows: FloatArray, operator: Operator, first: Sequence[Quantifier], second: Sequence[Quantifier] | None = None
) -> FloatArray:
    """The operator with each quantifier, a column each; NaN for a row without any number.

    The twofold integral takes a second quantifier for each, that of its Choquet part; unset, it is the first again.
    Numbers outside [0, 1] are taken as they are, though the integrals mean little there.

    >>> from microveil.numerics.statistics.aggregation_operators import quantifiers
    >>> rows = np.array([[0.2, 0.4, 0.2, 0.4], [0.5, 0.1, np.nan, np.nan]])
    >>> representatives(rows, "owa", quantifiers("exponent", [1, 2])).round(3).tolist()
    [[0.3, 0.25], [0.3, 0.2]]
    """
    again = first if second is None else second
    if len(first) != len(again):
        raise ParameterError(f"a twofold integral needs as many second quantifiers as first ones, got {len(again)}")
    ascending = np.sort(rows, axis=1)  # what is missing comes last
    present = (~np.isnan(rows)).sum(axis=1)
    made = np.full((len(rows), len(first)), np.nan)
    for size in np.unique(present[present > 0]).tolist():
        chosen = np.flatnonzero(present == size)
        shorter, shares = ascending[chosen, :size], np.arange(size + 1) / size
        for k, (one, other) in enumerate(zip(first, again, strict=True)):
            made[chosen, k] = _OPERATORS[operator](shorter, one(shares), other(shares))
    return made


def distinct_columns(*tables: FloatArray) -> list[int]:
    """The columns that differ, in some of the tables, from all columns before them.

    >>> distinct_columns(np.array([[1.0, 1.0, 2.0]]), np.array([[3.0, 3.0, 3.0]]))
    [0, 2]
    """
    kept: list[int] = []
    for k in range(tables[0].shape[1]):
        if not any(all(np.array_equal(t[:, k], t[:, j], equal_nan=True) for t in tables) for j in kept):
            kept.append(k)
    return kept


# a quantifier's values at 0, 1/N, ..., 1, from the largest down, are those of the sets from each number up
_OPERATORS: dict[Operator, Callable[[FloatArray, FloatArray, FloatArray], FloatArray]] = {
    "owa": lambda rows, one, _: owa_sorted(rows, one),
    "sugeno": lambda rows, one, _: sugeno_sorted(rows, one[:0:-1]),
    "twofold": lambda rows, one, other: twofold_sorted(rows, one[:0:-1], other[:0:-1], float(other[0])),
}
