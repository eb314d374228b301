"""Attributes released as labels that stand for several values, such as intervals, sets and nodes of a hierarchy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from microveil.comparison.label_detection import texts_of
from microveil.comparison.pairs import Pair
from microveil.comparison.written_numbers import ANY, EVERYTHING, Region, number_of, points_of, region_of
from microveil.microdata.distances import Regions
from microveil.microdata.hierarchy import Hierarchy, node_text
from microveil.microdata.microdata import FIRST_CODE, SYSTEM_MISSING, encoded
from microveil.microdata.schema import Attribute
from microveil.numerics.core.ordering import in_order_by_group
from microveil.typing import BoolArray, FloatArray, IntArray

_JOINTS = re.compile(r" to | ?[-–—] ?")
_FEWEST = 2  # records whose values tell what their label stands for


@dataclass(frozen=True)
class Labels:
    """The known values of an attribute on a line, and the region of the line that each released record's label covers.

    `values` are numbers or positions in the domain, NaN where missing, with their missing `states`; `codes` are the
    labels of the released records, or where missing minus their state. `size` is that of the domain; 0 for numbers.
    `by_code_book` is whether some labels could not be read as they are written.
    """

    values: FloatArray
    states: npt.NDArray[np.uint8]
    codes: IntArray
    regions: Regions
    size: int
    by_code_book: bool = False

    @property
    def released(self) -> FloatArray:
        """The values of the persons in the release, without those of a control group, who come after them."""
        return self.values[: len(self.codes)]

    def over(self, unit: float) -> Labels:
        """On a line measured in another unit."""
        return replace(self, values=self.values / unit, regions=self.regions.over(unit))


def labels_of(pair: Pair, name: str) -> Labels | None:
    """How the released labels of an attribute are to be read; nothing if its released cells are values like the known.

    Intervals, ranges, sets, listed and joined categories, nodes of the schema's hierarchy and groups that the
    provenance names are read as they are written. Any other label stands for the values that its records had, as a code
    book would tell, if there are several; of a single record it tells nothing, for else every random text would give
    its record away.
    """
    column, numeric = pair.masked.arrow(name), pair.original[name].kind == "numeric"
    as_texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    if numeric and not any(written(column.type) for written in as_texts):
        return None
    held, of_record = encoded(column)
    texts = [node_text(value) for value in held]
    states = [_missing_state(pair.original[name], text) for text in texts]
    present = {text: index for index, text in enumerate(texts) if not states[index]}
    read = _read_numbers(pair, name, present) if numeric else _read_categories(pair, name, present)
    if read is None:
        return None
    values, regions, size = read
    unread = np.array([text in present and text not in regions for text in texts], dtype=np.bool_)
    decoded = _code_book(values[: len(of_record)], of_record, np.append(unread, False), whole=not numeric)
    regions |= {text: decoded.get(index, EVERYTHING) for text, index in present.items() if unread[index]}
    label = {text: number for number, text in enumerate(regions)}
    codes = np.array([*(label.get(text, -state) for text, state in zip(texts, states, strict=True)), -SYSTEM_MISSING])
    covered = [*regions.values()] or [EVERYTHING]
    line = Regions.of([one.segments for one in covered], [one.without for one in covered], _hair(values))
    known = pair.original.missing_states(name)
    return Labels(values, known, codes[of_record], line, size, bool(decoded))


def can_be_read(pair: Pair, name: str) -> bool:
    """Whether all that is released in the place of an attribute's values can be read as it is written: as values, or as
    labels that say which values they stand for."""
    attribute, nodes = pair.original[name], _nodes(pair, name)
    texts = [text for text in texts_of(pair.masked.arrow(name)) if not _missing_state(attribute, text)]
    if attribute.kind == "numeric":
        return all(_numbers_of(text, nodes) is not None for text in texts)
    names = texts_of(pair.original.arrow(name)).union(map(node_text, attribute.domain or ()))
    position = {text: number for number, text in enumerate(sorted(names))}
    ordered = attribute.kind == "ordinal"
    return all(text in names or _positions_of(text, position, nodes, ordered) is not None for text in texts)


def _hair(values: FloatArray) -> float:
    """Half the least difference of known values: nearer than any other value outside is the end that is left out."""
    steps = np.diff(np.unique(values[~np.isnan(values)]))
    return float(steps.min()) / 2 if len(steps) else 0.5


def _missing_state(attribute: Attribute, text: str) -> int:
    """0 for a label, else which missing code or range of the original it is; released codes are texts."""
    codes = [
        node_text(code)
        for code in attribute.missing_codes
        if attribute.is_categorical or isinstance(code, int | float)  # numbers know no other codes
    ]
    if text in codes:
        return FIRST_CODE + codes.index(text)
    number = number_of(text)
    for number_of_range, (low, high) in enumerate(attribute.missing_ranges):
        if number is not None and low <= number <= high:
            return FIRST_CODE + len(codes) + number_of_range
    return 0


Read = tuple[FloatArray, dict[str, Region], int]


def _read_numbers(pair: Pair, name: str, texts: Iterable[str]) -> Read:
    nodes = _nodes(pair, name)
    regions = {text: _numbers_of(text, nodes) for text in texts}
    read = {text: region for text, region in regions.items() if region is not None}
    return pair.original.numbers(name).values, read, 0


def _numbers_of(text: str, nodes: Mapping[str, Sequence[str]]) -> Region | None:
    """The numbers a label stands for; None where it cannot be read."""
    region = region_of(text)
    if region is not None or text not in nodes:
        return region
    return points_of([number_of(leaf) for leaf in nodes[text]])


def _read_categories(pair: Pair, name: str, texts: Iterable[str]) -> Read | None:
    """None where no released category is a label."""
    attribute, nodes = described(pair, name), _nodes(pair, name)
    ordered = attribute.kind == "ordinal"
    valid = [c for c in pair.original.domain(name) if c is not None and not _missing_state(attribute, node_text(c))]
    held = texts_of(pair.original.arrow(name))
    occurring = {node_text(c): position for position, c in enumerate(valid) if node_text(c) in held}
    if all(text in occurring for text in texts):
        return None
    declared = set(map(node_text, attribute.domain or ()))
    if pair.release is None:  # the domain may list labels too, if it was declared for the release
        declared = {text for text in declared if _positions_of(text, occurring, nodes, ordered) is None}
    kept = [c for c in valid if node_text(c) in held or node_text(c) in declared]
    position = {node_text(c): number for number, c in enumerate(kept)}
    if all(text in position for text in texts):
        return None
    regions = {}
    for text in texts:
        members = [position[text]] if text in position else _positions_of(text, position, nodes, ordered)
        if members:
            regions[text] = _runs(members)
    codes = pair.original.categories(name, kept).codes
    return np.where(codes < 0, np.nan, codes), regions, len(kept)


def _positions_of(
    text: str, position: Mapping[str, int], nodes: Mapping[str, Sequence[str]], ordered: bool
) -> list[int] | None:
    """The positions of the categories that a label stands for; None where it cannot be read."""
    if text in nodes:
        return [position[leaf] for leaf in nodes[text] if leaf in position]
    if text == ANY:
        return list(position.values())
    if ordered and (ends := _first_and_last(text, position)) is not None:
        return list(range(position[ends[0]], position[ends[1]] + 1))
    listed = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    members = _split(listed, position)
    if members is not None:
        return [position[member] for member in members]
    region = region_of(text) if ordered else None
    if region is None:
        return None
    return [number for name, number in position.items() if (value := number_of(name)) is not None and value in region]


def _first_and_last(text: str, position: Mapping[str, int]) -> tuple[str, str] | None:
    """The first and the last category of `[low, high]`, `low to high` or `low - high`, with any dash."""
    if text.startswith("[") and text.endswith("]") and (ends := _split(text[1:-1], position, 2)) is not None:
        return ends[0], ends[1]
    for joint in _JOINTS.finditer(text):
        first, last = text[: joint.start()], text[joint.end() :]
        if first in position and last in position:
            return first, last
    return None


def _split(text: str, names: Mapping[str, int], parts: int | None = None) -> tuple[str, ...] | None:
    """The names that a list joins with commas; a name may hold a comma itself."""
    pieces, found, start = text.split(", "), [], 0
    while start < len(pieces):
        ends = range(len(pieces), start, -1)
        joined = next(((e, n) for e in ends if (n := ", ".join(pieces[start:e])) in names), None)
        if joined is None:
            return None
        start = joined[0]
        found.append(joined[1])
    return tuple(found) if parts in (None, len(found)) else None


def described(pair: Pair, name: str) -> Attribute:
    """The attribute as it was described when the release was made."""
    if pair.release is not None and name in pair.release.provenance.schema:
        attribute: Attribute = pair.release.provenance.schema[name]
        return attribute
    return pair.original[name]


def _nodes(pair: Pair, name: str) -> dict[str, list[str]]:
    """The categories below each node of the attribute's hierarchy, and in each group that a step of the release named.

    A group may hold names that an earlier step made; in the end it stands for what these stood for.
    """
    hierarchy = described(pair, name).hierarchy
    below: dict[str, dict[str, None]] = {}
    if isinstance(hierarchy, Hierarchy):
        for path in hierarchy.paths:
            for node in path[1:]:
                below.setdefault(node, {})[path[0]] = None
    for step in () if pair.release is None else pair.release.provenance.steps:
        if (
            name not in pair.original.schema.expanded(step.attributes or ())
            or step.parameters.get("publish") != "label"
        ):
            continue
        groups: Mapping[str, Sequence[object]] = step.parameters.get("map") or {}
        texts = {label: [node_text(member) for member in members] for label, members in groups.items()}
        made = {
            label: dict.fromkeys(leaf for text in members for leaf in below.get(text, (text,)))
            for label, members in texts.items()
        }
        below |= made
    return {node: list(leaves) for node, leaves in below.items()}


def _code_book(values: FloatArray, of_record: IntArray, wanted: BoolArray, *, whole: bool) -> dict[int, Region]:
    """What labels stand for by the values of their records: these categories, or the span of these numbers.

    Only for the labels that are wanted, and of these only for those of several records.
    """
    order, starts, numbers = in_order_by_group(np.where(wanted[of_record], values, np.nan), of_record)
    book = {}
    for label, start, number in zip(of_record[order[starts]].tolist(), starts.tolist(), numbers.tolist(), strict=True):
        held = values[order[start : start + number]]
        if number >= _FEWEST:
            book[label] = Region(((float(held[0]), float(held[-1])),)) if not whole else _runs(held.astype(np.int64))
    return book


def _runs(positions: Sequence[int] | IntArray) -> Region:
    """Positions in a domain as segments of neighbours.

    >>> _runs([4, 1, 2]).segments
    ((1.0, 2.0), (4.0, 4.0))
    """
    ordered = np.unique(positions)
    starts = np.flatnonzero(np.diff(ordered, prepend=-2) > 1)
    ends = np.append(starts[1:], len(ordered)) - 1
    return Region(tuple(zip(ordered[starts].astype(float).tolist(), ordered[ends].astype(float).tolist(), strict=True)))
