"""Coarser values of one attribute and how they are published: recoding and top and bottom coding share this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError
from microveil.microdata import Attribute, Categories, Microdata
from microveil.microdata.facts import Counted
from microveil.microdata.hierarchy import node_text
from microveil.microdata.microdata import count
from microveil.microdata.schema import category_key
from microveil.numerics.core.ordering import in_order_by_group, numbered_by_first
from microveil.numerics.grouping.groups import means_by_group
from microveil.numerics.statistics.category_coordinates import median_by_group, plurality_by_group
from microveil.typing import BoolArray, FloatArray, IntArray

Publish = Literal["representative", "label"]
Centre = Literal["mean", "median", "midpoint"]

_LISTED = 4  # a label that joins more names than this says how many more there are


@dataclass(frozen=True)
class Coarse:
    """The coarser value of each record, as a position among `labels`; -1 where a cell stays as it is.

    For numbers `ends` are the lower and upper end of each interval, NaN where it has none.
    """

    indices: IntArray
    labels: tuple[str, ...]
    ends: FloatArray | None = None


def valid_categories(data: Microdata, name: str) -> Categories:
    """A categorical attribute without its missing states: code -1 for these, and a domain of true categories."""
    column = data.categories(name)
    missing = {category_key(code) for code in data[name].missing_codes}
    domain = tuple(v for v in column.domain if v is not None and category_key(v) not in missing)
    codes = np.where(column.codes < len(domain), column.codes, -1)  # missing categories stand last
    return Categories(name, codes, domain)


def merged(
    column: Categories, groups: IntArray, labels: Sequence[str | None] | None = None, *, ordered: bool
) -> Coarse:
    """Categories in groups, in the order of the domain, given the group of each; unnamed ones list their members."""
    of_category = numbered_by_first(groups)
    names = []
    for group in range(int(of_category.max(initial=-1)) + 1):
        members = np.flatnonzero(of_category == group)
        given = None if labels is None else labels[groups[members[0]]]
        names.append(given if given is not None else _joined([column.domain[m] for m in members], members, ordered))
    indices = np.append(of_category, -1)[column.codes]
    return Coarse(indices, _distinct(names))


def _joined(members: Sequence[object], positions: IntArray, ordered: bool) -> str:
    names = [node_text(member) for member in members]
    if ordered and len(names) > 2 and positions[-1] - positions[0] == len(names) - 1:
        return f"{names[0]} to {names[-1]}"
    if len(names) <= _LISTED:
        return ", ".join(names)
    return f"{', '.join(names[: _LISTED - 1])} and {len(names) - _LISTED + 1} more"


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names of which no two are equal."""
    found: dict[str, None] = {}
    for name in names:
        new, number = name, 2
        while new in found:
            new, number = f"{name} ({number})", number + 1
        found[new] = None
    return tuple(found)


def refuse_unlisted(data: Microdata, name: str, indices: IntArray, present: BoolArray) -> None:
    """Refuse values for which a hierarchy has no place."""
    outside = np.flatnonzero((indices < 0) & present)
    if outside.size:
        raise DataError(
            f"attribute '{name}' has {count(outside.size, 'value')} that its hierarchy has no place for "
            f"(the first in record {data.range_of_places.start + outside[0] + 1}); add them to the hierarchy"
        )


class CoarseWhole(NamedTuple):
    """The coarser values of records that stand for the whole table, of which the others are a part."""

    coarse: Coarse
    counted: Counted


def whole_of(data: Microdata, name: str, coarse_of: Callable[[Microdata], Coarse]) -> CoarseWhole | None:
    """What a part of a table needs to know of the whole; nothing where the whole is at hand."""
    if data.part is None:
        return None
    counted = data.facts.counted([name])
    return CoarseWhole(coarse_of(counted.data), counted)


def published(
    data: Microdata,
    name: str,
    coarse: Coarse,
    publish: Publish,
    centre: Centre = "mean",
    whole: CoarseWhole | None = None,
) -> tuple[pa.Array, Attribute | None]:
    """The released column, and the attribute's new description where that changes.

    A representative is a value of the group itself, so that the release can be compared with the original: the median
    category of an ordered attribute, the most frequent of another, the centre of an interval. A label names the group.
    """
    if publish == "label":
        return _labels(data, name, coarse)
    if data[name].kind == "numeric":
        return data.number_column(name, centred(data, name, coarse, centre, whole)), None
    table, of_table, counts = (data, coarse, None) if whole is None else (whole.counted.data, *_weighed(whole))
    column = valid_categories(table, name)
    grouped = np.where(of_table.indices < 0, -1, column.codes)
    number = np.maximum(of_table.indices, 0)
    in_common = median_by_group if data[name].kind == "ordinal" else plurality_by_group
    codes = np.where(grouped >= 0, in_common(grouped, number, counts), -1)
    domain, described = data.categories(name).domain, _described(data[name], column, codes, of_table)
    if whole is not None:
        codes = _by_group(codes, of_table, -1)[coarse.indices]
    return data.category_column(Categories(name, codes, domain)), described


def _weighed(whole: CoarseWhole) -> tuple[Coarse, FloatArray]:
    return whole.coarse, whole.counted.counts.astype(np.float64)


def _by_group(values: npt.NDArray[Any], coarse: Coarse, of_none: Any) -> npt.NDArray[Any]:
    """The value that the records of each group have in common, and last that of records that stay as they are."""
    found = np.full(len(coarse.labels) + 1, of_none, dtype=values.dtype)
    inside = coarse.indices >= 0
    found[coarse.indices[inside]] = values[inside]
    return found


def centred(data: Microdata, name: str, coarse: Coarse, centre: Centre, whole: CoarseWhole | None = None) -> FloatArray:
    """The centre of each record's interval; numbers without one stay."""
    values = data.numbers(name).values
    if whole is not None:
        of_all = np.where(whole.coarse.indices >= 0, whole.counted.data.numbers(name).values, np.nan)
        number = np.maximum(whole.coarse.indices, 0)
        means = means_by_group(of_all[:, None], number, whole.counted.counts.astype(np.float64))[:, 0]
        return np.where(coarse.indices >= 0, _by_group(means, whole.coarse, np.nan)[coarse.indices], values)
    inside = coarse.indices >= 0
    if not inside.any():
        return values
    number = np.where(inside, coarse.indices, 0)
    grouped = np.where(inside, values, np.nan)
    if centre == "mean":
        centres = means_by_group(grouped[:, None], number)[:, 0]
    else:
        centres = _middles(grouped, number, coarse.ends if centre == "midpoint" else None, centre)
    return np.where(inside, centres, values)


def _middles(values: FloatArray, number: IntArray, ends: FloatArray | None, centre: Centre) -> FloatArray:
    """The median of each group, or the middle of its ends, of its least and largest value where it has none."""
    rows, starts, sizes = in_order_by_group(values, number)
    groups, ordered = number[rows[starts]], values[rows]
    if centre == "median":
        low, high = ordered[starts + (sizes - 1) // 2], ordered[starts + sizes // 2]
    else:
        low, high = ordered[starts], ordered[starts + sizes - 1]
        if ends is not None:
            low = np.where(np.isnan(ends[groups, 0]), low, ends[groups, 0])
            high = np.where(np.isnan(ends[groups, 1]), high, ends[groups, 1])
    middle = np.full(int(number.max(initial=0)) + 1, np.nan)
    middle[groups] = low + (high - low) / 2
    return middle[number]


def _described(attribute: Attribute, column: Categories, codes: IntArray, coarse: Coarse) -> Attribute | None:
    """The attribute with the names of its groups as value labels of the categories that stand for them."""
    names = dict(attribute.value_labels)
    for group in np.unique(coarse.indices[coarse.indices >= 0]):
        chosen = column.domain[codes[int(np.argmax(coarse.indices == group))]]
        if chosen is not None and node_text(chosen) != coarse.labels[group]:
            names[chosen] = coarse.labels[group]
    return attribute.changed(value_labels=names) if names != attribute.value_labels else None


def _labels(data: Microdata, name: str, coarse: Coarse) -> tuple[pa.Array, Attribute]:
    """The labels as text; a missing code becomes the same code as text."""
    attribute, before = data[name], data.arrow(name)
    kept = coarse.indices < 0
    column = pa.array(coarse.labels, pa.string()).take(pa.array(np.maximum(coarse.indices, 0)))
    held = pc.unique(before.filter(pa.array(kept))).drop_null()
    texts = [node_text(value) for value in held.to_pylist()]
    if kept.any():
        indices = pc.index_in(before, value_set=held) if len(held) else pa.nulls(len(before), pa.int32())
        column = pc.if_else(pa.array(kept), pa.array(texts, pa.string()).take(indices), column)
    codes = dict.fromkeys([*(node_text(code) for code in attribute.missing_codes), *texts])
    known = {*coarse.labels, *codes}
    described = attribute.changed(
        kind="ordinal" if attribute.kind == "numeric" else attribute.kind,
        domain=coarse.labels,
        range=None,
        hierarchy=None,
        missing_codes=tuple(codes),
        missing_ranges=(),
        value_labels={node_text(v): text for v, text in attribute.value_labels.items() if node_text(v) in known},
    )
    return column, described
