"""Publishing the span of a group: its middle, its most frequent value, or the interval or set itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.masking.coarsening.axes import Axis, axis_of
from microveil.masking.partition import Partition
from microveil.masking.publishing.aggregate import Aggregate, InCommon, aggregate_columns
from microveil.masking.publishing.publishing import Published, Publishing, publishings, without_cells
from microveil.microdata import Attribute, Categories, Hierarchy, Microdata
from microveil.microdata.hierarchy import node_text
from microveil.numerics.statistics.category_coordinates import plurality_by_group
from microveil.parameters import parameter, parameterised
from microveil.randomness import Streams
from microveil.typing import BoolArray, FloatArray, IntArray

Even = Literal["lower", "upper"]


@parameterised
class Span(Publishing):
    """A group publishes its median, mean, mode or the middle of its span, or the span itself as an interval or set.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43]})
    >>> MDAV(k=2, publishing=Span(publish="interval")).mask(people).frame["age"].to_pylist()
    ['[20, 22]', '[20, 22]', '[41, 43]', '[41, 43]']
    """

    name: ClassVar[str] = "span"
    summary: ClassVar[str] = "a group publishes its median, mean, mode or middle, or its interval or set of values"

    publish: Literal["median", "mean", "middle", "mode", "interval", "set"] = parameter(
        default="median",
        help="what a region publishes; numbers and ordered categories: the median, the mean (of ordered categories "
        "the median), the midpoint of their interval, the mode, the interval such as [20, 35], or the set of "
        "values; other categories: the mode, or with interval their node of the hierarchy or their set, or with "
        "set their set",
    )
    even: Even = parameter(default="lower", help="with middle: which of two middle categories is published")

    @classmethod
    def offered(cls) -> Mapping[str, type[Publishing]]:
        return publishings()

    @property
    def judged_by(self) -> Publishing:
        return Aggregate()

    def _published(
        self, data: Microdata, partition: Partition, suppressed: Mapping[str, BoolArray], streams: Streams, label: str
    ) -> Published:
        columns: dict[str, pa.Array] = {}
        changed: list[Attribute] = []
        for name, cells in suppressed.items():
            axis = axis_of(data, name)
            if self.publish in ("interval", "set"):
                columns[name], described = label_column(data, axis, partition, cells, as_set=self.publish == "set")
                changed.append(described)
            elif self.publish == "mode" or not axis.is_ordered:
                columns[name] = mode_column(data, axis, partition, cells)
            elif self.publish == "middle":
                columns[name] = middle_column(data, axis, partition, cells, self.even)
            else:
                in_common: InCommon = "mean" if self.publish == "mean" else "median"
                columns |= aggregate_columns(data, partition, {name: cells}, in_common)
        return Published(columns, tuple(changed))


@parameterised
class MiddleOfSpan(Span):
    """A group always publishes the middle of its span."""

    publish: Literal["middle"] = parameter(default="middle", help="regions always publish the middle of their range")

    @classmethod
    def offered(cls) -> Mapping[str, type[Publishing]]:
        return {cls.name: cls}


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


def _category_column(data: Microdata, axis: Axis, positions: FloatArray, suppressed: BoolArray) -> pa.Array:
    codes = np.where(np.isnan(axis.values), -1, positions).astype(np.int64)
    names = tuple(axis.names)
    column = data.category_column(Categories(axis.attribute.name, codes, names))  # type: ignore[arg-type]
    return without_cells(column, suppressed)


def label_column(
    data: Microdata, axis: Axis, partition: Partition, suppressed: BoolArray, *, as_set: bool
) -> tuple[pa.Array, Attribute]:
    """Each group's span, or all its values, as text; with the attribute's new description.

    Spans are written [20, 35], sets {cook, nurse}; a group of a tree has the name of the lowest node that holds it.
    """
    if pa.types.is_null(data.arrow(axis.attribute.name).type):  # a column without a type has nothing to tell
        return data.arrow(axis.attribute.name), axis.attribute
    if as_set or (axis.tree is None and not axis.is_ordered):
        of_group, texts = _sets(axis, partition)
    else:
        of_group, texts = _intervals(axis, partition) if axis.tree is None else _nodes(axis, axis.tree, partition)
    hidden = suppressed | np.isnan(axis.values)
    chosen = np.where(hidden, len(texts), of_group[partition.labels])
    held = _missing_texts(data, axis.attribute.name)
    column = pc.if_else(pa.array(hidden), held, pa.array([*texts, None], pa.string()).take(pa.array(chosen)))
    column = without_cells(column, suppressed)
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
    number = {codes: position for position, codes in enumerate(sorted(set(members)))}
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
