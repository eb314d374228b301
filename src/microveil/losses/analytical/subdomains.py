"""Sub-domains: the records of each category of an attribute, before and after masking."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.typing import IntArray

Rows = tuple[IntArray, IntArray]  # those of the original, and those of the release


def everyone(pair: Pair) -> Rows:
    """The whole table as a sub-domain."""
    rows = np.arange(len(pair))
    return rows, rows


def by_category(pair: Pair, name: str, *, fewest: int = 1) -> list[Rows]:
    """A sub-domain for each category that the original has in at least so many records."""
    sides = [column.codes for column in pair.categories(name)]
    categories = max(int(codes.max(initial=-1)) for codes in sides) + 1
    both = zip(*(_rows_by_code(codes, categories) for codes in sides), strict=True)
    return [(before, after) for before, after in both if len(before) >= fewest]


def _rows_by_code(codes: IntArray, size: int) -> list[IntArray]:
    """For each code from 0 up the rows that have it, in one pass for all."""
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(size + 1))
    return [order[start:end] for start, end in pairwise(bounds)]


def categorical(pair: Pair, name: str) -> str:
    """The name, unless the attribute has no categories that both tables know."""
    if not pair.original[name].is_categorical:
        raise DataError(
            f"attribute '{name}' is numeric, so it has no categories to tabulate or to take sub-domains from"
        )
    if name not in pair.masked.names or name in pair.recoded:
        raise DataError(f"the masked table has no column '{name}' with the categories of the original")
    return name
