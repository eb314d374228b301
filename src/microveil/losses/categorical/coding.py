"""Categorical attributes as losses read them: both columns as positions in one domain, missing cells in a position of
their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.microdata.tables import Tables
from microveil.typing import IntArray

ADD_MISSING = "count one more category, for missing cells, in a domain that has none for them"
MISSING = "missing cells are counted as a category of their own"


@dataclass(frozen=True)
class Coded:
    """The positions of both columns, and how many positions there are."""

    before: IntArray
    after: IntArray
    size: int


def coded(pair: Tables, name: str, *, add_missing_category: bool = False) -> Coded:
    """Both columns of an attribute, with one more position for missing cells where they occur."""
    one, other = pair.categories(name)
    size = domain_size(pair, name, add_missing_category=add_missing_category)
    if (one.codes < 0).any() or (other.codes < 0).any():
        extra = len(one.domain)
        before, after = (np.where(column.codes < 0, extra, column.codes) for column in (one, other))
        return Coded(before, after, max(size, extra + 1))
    return Coded(one.codes, other.codes, size)


def domain_size(pair: Tables, name: str, *, add_missing_category: bool = False) -> int:
    """How many categories there are; with one for missing cells, if that is wanted and there is none yet."""
    attribute, domain = pair.original[name], pair.categories(name)[0].domain
    has_one = attribute.missing == "own category" and (None in domain or len(attribute.missing_codes) > 0)
    return len(domain) + int(add_missing_category and not has_one)
