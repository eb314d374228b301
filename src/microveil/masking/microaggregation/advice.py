"""What to choose before microaggregating: the order and the aggregate of each attribute, the attributes, and k.

Practice takes k of 3 or 4. A larger k loses more and protects better; the survey this follows says the reverse of
both, which its own tables contradict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from microveil.masking.preparation.attribute_blocks import absolute_correlations
from microveil.microdata.microdata import as_microdata, count, resolve_attributes
from microveil.numerics.statistics.scaling import standardise
from microveil.typing import FloatArray

USUAL_K = (3, 4)
_FAR_OUT = 3.0  # interquartile ranges beyond the quartiles
_MANY_FAR_OUT = 0.01
_FEW_VALUES = 10
_NEARLY_THE_SAME = 0.95


@dataclass(frozen=True)
class Advice:
    """For one attribute: the order of its values, what its groups should publish, and what else is to be said."""

    attribute: str
    direction: Literal["ascending", "descending"]
    publish: Literal["mean", "median"]
    remarks: tuple[str, ...] = ()


def advise(data: Any, attributes: Sequence[str] | None = None) -> list[Advice]:
    """How to treat each numeric attribute; no value of a record is told.

    In fixed sizes the last group is the largest, so the order should run against the long tail. Means keep totals;
    where many values lie far out, medians show a group's typical member. Attributes with few distinct values, or
    that another one nearly determines, are poor ones to group by.

    >>> advise({"income": [9, 10, 11, 12, 13, 14, 15, 16, 17, 400]})
    [Advice(attribute='income', direction='descending', publish='median', remarks=())]
    """
    table = as_microdata(data)
    names = resolve_attributes(table, attributes, ("numeric",), "advice")
    columns = [table.numbers(name).values for name in names]
    return [
        Advice(
            name,
            "descending" if skewness(values) > 0 else "ascending",
            "median" if share_far_out(values) >= _MANY_FAR_OUT else "mean",
            (*_remarks_on_values(values), *_remarks_on_others(values, columns[:position], names)),
        )
        for position, (name, values) in enumerate(zip(names, columns, strict=True))
    ]


def advise_k(k: int) -> str:
    """What practice says about a group size."""
    if k < USUAL_K[0]:
        return f"k = {k} is small: with two records in a group either knows the other; 3 or 4 is usual"
    if k > USUAL_K[1]:
        return f"k = {k} protects better than the usual 3 or 4, but loses more: regressions may suffer"
    return f"k = {k} is usual"


def skewness(values: FloatArray) -> float:
    """The mean cube of the z-scores present: positive with a long tail of high values."""
    present = values[~np.isnan(values)]
    return float(np.mean(standardise(present[:, None]) ** 3)) if present.size else 0.0


def share_far_out(values: FloatArray) -> float:
    """The share of values more than three interquartile ranges beyond the quartiles."""
    present = values[~np.isnan(values)]
    if present.size == 0:
        return 0.0
    low, high = np.percentile(present, [25, 75])
    reach = _FAR_OUT * (high - low)
    return float(np.mean((present < low - reach) | (present > high + reach)))


def _remarks_on_values(values: FloatArray) -> list[str]:
    different = len(np.unique(values[~np.isnan(values)]))
    if different >= _FEW_VALUES:
        return []
    return [f"it has {count(different, 'distinct value')}: rather treat it as categories than group by it"]


def _remarks_on_others(values: FloatArray, earlier: list[FloatArray], names: Sequence[str]) -> list[str]:
    remarks = []
    for other, name in zip(earlier, names, strict=False):
        both = ~(np.isnan(values) | np.isnan(other))
        pair = np.column_stack([values[both], other[both]])
        if len(pair) > 1 and absolute_correlations(pair)[0, 1] >= _NEARLY_THE_SAME:
            remarks.append(f"'{name}' nearly determines it: one of the two is enough to group by")
    return remarks
