"""What a group publishes when it tells its span: the middle of it, its most frequent value, or the span itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError
from microveil.masking.partition import Partition
from microveil.microdata import Attribute, Categories, Hierarchy, Microdata
from microveil.microdata.hierarchy import node_text
from microveil.numerics.statistics.category_coordinates import plurality_by_group
from microveil.typing import BoolArray, FloatArray, IntArray

Even = Literal["lower", "upper"]


@dataclass(frozen=True)
class Axis:
    """An attribute as numbers that can be put in order: `values` with NaN where missing.

    `span` is the width of all values that could be. Categories are their places in the list `names`: that of the
    domain, or of the leaves of a `tree` from left to right; `heights` are then the levels of the tree at which a leaf
    and the one before have their first common ancestor.
    """

    attribute: Attribute
    values: FloatArray
    span: float
    names: tuple[object, ...] = ()
    tree: Hierarchy | None = None
    heights: IntArray | None = None

    @property
    def is_ordered(self) -> bool:
        return self.attribute.kind in ("numeric", "ordinal")


def axis_of(data: Microdata, name: str) -> Axis:
    """Numbers as they are, ordered categories by their domain, others by their hierarchy or else by their domain."""
    attribute = data[name]
    missing = data.missing_states(name) > 0
    if attribute.kind == "numeric":
        values = data.numbers(name).values
        low, high = attribute.range or (np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf))
        return Axis(attribute, values, float(high - low))
    column = data.categories(name)
    names = tuple(c for c in column.domain if c is not None)
    codes = np.where(missing, -1, column.codes)
    tree = attribute.hierarchy if isinstance(attribute.hierarchy, Hierarchy) and attribute.kind != "ordinal" else None
    heights = None
    if tree is not None:
        used = np.unique(codes[codes >= 0])
        leaves, heights = _leaves(tree, [names[code] for code in used], name)
        place = np.full(len(names) + 1, -1, dtype=np.int64)
        place[used[leaves]] = np.arange(len(used))
        codes, names = place[codes], tuple(names[code] for code in used[leaves])
    return Axis(attribute, np.where(codes < 0, np.nan, codes), float(len(names)), names, tree, heights)


def _leaves(tree: Hierarchy, categories: Sequence[object], name: str) -> tuple[IntArray, IntArray]:
    """The categories in the order of the tree's leaves, and the level at which each meets the one before."""
    levels = [tree.positions(categories, level) for level in range(tree.levels)]
    if any(places.min(initial=0) < 0 for places in levels):
        raise DataError(f"attribute '{name}' has categories that its hierarchy lacks; add them to the hierarchy")
    order = np.lexsort(levels)  # the coarsest level decides first
    heights = np.full(len(order), tree.levels, dtype=np.int64)
    for level in range(tree.levels - 1, -1, -1):
        places = levels[level][order]
        heights[1:][places[1:] == places[:-1]] = level
    return order.astype(np.int64), heights


@dataclass(frozen=True)
class Spans:
    """The lowest and highest value of each group; NaN where a group has none."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, values: FloatArray, partition: Partition) -> Spans:
        order = np.argsort(partition.labels, kind="stable")
        starts = np.cumsum(partition.sizes) - partition.sizes
        low = np.fmin.reduceat(values[order], starts)
        return cls(low, np.fmax.reduceat(values[order], starts))


def middle_column(data: Microdata, axis: Axis, partition: Partition, suppressed: BoolArray, even: Even) -> pa.Array:
    """The middle of each group's span: of numbers the midpoint, of ordered categories the middle one of the domain."""
    spans = Spans.of(axis.values, partition)
    middle = (spans.low + spans.high) / 2.0
    if axis.attribute.kind == "numeric":
        return data.number_column(axis.attribute.name, middle[partition.labels], suppressed)
    middle = np.floor(middle) if even == "lower" else np.ceil(middle)
    return _category_column(data, axis, np.nan_to_num(middle, nan=-1.0)[partition.labels], suppressed)


def mode_column(data: Microdata, axis: Axis, partition: Partition, suppressed: BoolArray) -> pa.Array:
    """The most frequent value of each group, of equals the first."""
    present = ~np.isnan(axis.values)
    codes = np.full(len(axis.values), -1, dtype=np.int64)
    found, codes[present] = np.unique(axis.values[present], return_inverse=True)
    chosen = plurality_by_group(codes, partition.labels)
    values = np.append(found, np.nan)[chosen]
    if axis.attribute.kind == "numeric":
        return data.number_column(axis.attribute.name, values, suppressed)
    return _category_column(data, axis, np.nan_to_num(values, nan=-1.0), suppressed)


def _category_column(data: Microdata, axis: Axis, places: FloatArray, suppressed: BoolArray) -> pa.Array:
    codes = np.where(np.isnan(axis.values), -1, places).astype(np.int64)
    names = tuple(axis.names)
    column = data.category_column(Categories(axis.attribute.name, codes, names))  # type: ignore[arg-type]
    return pc.if_else(pa.array(suppressed), pa.scalar(None, column.type), column) if suppressed.any() else column


def label_column(
    data: Microdata, axis: Axis, partition: Partition, suppressed: BoolArray, *, as_set: bool
) -> tuple[pa.Array, Attribute]:
    """Each group's span, or all its values, as text; with the attribute's new description.

    Spans are written [20, 35], sets {cook, nurse}; a group of a tree has the name of the lowest node that holds it.
    """
    if pa.types.is_null(data.arrow(axis.attribute.name).type):
        return data.arrow(axis.attribute.name), axis.attribute  # a column without a type has nothing to tell
    if as_set or (axis.tree is None and not axis.is_ordered):
        of_group, texts = _sets(axis, partition)
    else:
        of_group, texts = _intervals(axis, partition) if axis.tree is None else _nodes(axis, axis.tree, partition)
    hidden = suppressed | np.isnan(axis.values)
    chosen = np.where(hidden, len(texts), of_group[partition.labels])
    held = _missing_texts(data, axis.attribute.name)
    column = pc.if_else(pa.array(hidden), held, pa.array([*texts, None], pa.string()).take(pa.array(chosen)))
    described = axis.attribute.changed(
        kind="ordinal" if axis.is_ordered else "nominal",
        domain=texts,
        range=None,
        hierarchy=None,
        value_labels={},
        missing_codes=tuple(dict.fromkeys(held.drop_null().to_pylist())),
        missing_ranges=(),
    )
    return column, described


def _text(axis: Axis, value: float) -> str:
    return node_text(float(value) if axis.attribute.kind == "numeric" else axis.names[int(value)])


def _intervals(axis: Axis, partition: Partition) -> tuple[IntArray, tuple[str, ...]]:
    """For each group which of the texts is its own; the texts are in the order of their intervals."""
    spans, of_group = _distinct_spans(axis, partition)
    return of_group, tuple(f"[{_text(axis, low)}, {_text(axis, high)}]" for low, high in spans)


def _nodes(axis: Axis, tree: Hierarchy, partition: Partition) -> tuple[IntArray, tuple[str, ...]]:
    assert axis.heights is not None
    spans, of_group = _distinct_spans(axis, partition)
    names = []
    for low, high in spans.astype(np.int64):
        level = int(axis.heights[low + 1 : high + 1].max(initial=0))
        names.append(tree.generalise(axis.names[low], level) if level < tree.levels else "*")
    texts = {name: number for number, name in enumerate(dict.fromkeys(names))}
    number = np.array([texts[name] for name in names], dtype=np.int64)
    return (number[of_group] if len(number) else of_group), tuple(texts)


def _distinct_spans(axis: Axis, partition: Partition) -> tuple[FloatArray, IntArray]:
    """The different spans of groups, ascending, and which of them each group has; 0 for one without values."""
    spans = Spans.of(axis.values, partition)
    some = ~np.isnan(spans.low)
    distinct, inverse = np.unique(np.column_stack([spans.low, spans.high])[some], axis=0, return_inverse=True)
    of_group = np.zeros(len(some), dtype=np.int64)
    of_group[some] = inverse.reshape(-1)
    return distinct, of_group


def _sets(axis: Axis, partition: Partition) -> tuple[IntArray, tuple[str, ...]]:
    present = ~np.isnan(axis.values)
    found, codes = np.unique(axis.values[present], return_inverse=True)
    pairs = np.unique(partition.labels[present] * max(1, len(found)) + codes.reshape(-1))
    group, code = pairs // max(1, len(found)), pairs % max(1, len(found))
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    members = [tuple(codes.tolist()) for codes in np.split(code, starts[1:])] if len(starts) else []
    number = {codes: place for place, codes in enumerate(sorted(set(members)))}
    of_group = np.zeros(len(partition), dtype=np.int64)
    of_group[group[starts]] = [number[codes] for codes in members]
    names = [_text(axis, value) for value in found]
    return of_group, tuple("{" + ", ".join(names[code] for code in codes) + "}" for codes in number)


def _missing_texts(data: Microdata, name: str) -> pa.Array:
    """The missing codes of a column as text; other cells empty."""
    held, missing = data.arrow(name), data.missing_states(name) > 0
    if not missing.any():
        return pa.nulls(len(held), pa.string())
    texts = np.full(len(held), None, dtype=object)
    where = np.flatnonzero(missing)
    texts[where] = [None if cell is None or cell != cell else node_text(cell) for cell in held.take(where).to_pylist()]
    return pa.array(texts, pa.string())
