"""Attributes released as labels that stand for several values, such as intervals, sets and nodes of a hierarchy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nextafter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from microveil.microdata.distances import Regions
from microveil.microdata.hierarchy import Hierarchy, node_text
from microveil.microdata.microdata import FIRST_CODE, SYSTEM_MISSING, as_categories
from microveil.microdata.pairs import Pair
from microveil.microdata.schema import Attribute

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Region = list[tuple[float, float]]

_EVERYTHING: Region = [(-inf, inf)]
_ANY = "*"
_ENDS = re.compile(r"([\[(])(.+), (.+)([\])])")
_BEYOND = re.compile(r"(<=|>=|<|>) ?(.+)")


@dataclass(frozen=True)
class Labels:
    """The known values of an attribute on a line, and the region of the line that each released record's label covers.

    `values` are numbers or places in the domain, NaN where missing, with their missing `states`; `codes` are the labels
    of the released records, or where missing minus their state. `size` is that of the domain; 0 for numbers.
    """

    values: FloatArray
    states: npt.NDArray[np.uint8]
    codes: IntArray
    regions: Regions
    size: int

    def over(self, unit: float) -> Labels:
        """On a line measured in another unit."""
        return replace(self, values=self.values / unit, regions=self.regions.over(unit))


def labels_of(pair: Pair, name: str) -> Labels | None:
    """How the released labels of an attribute are to be read; nothing if its released cells are values like the known.

    Intervals, sets, listed and joined categories and nodes of the schema's hierarchy are read as they are written. Any
    other label stands for the values that its records had, as a code book would tell.
    """
    column, numeric = pair.masked.arrow(name), pair.original[name].kind == "numeric"
    texts_held = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    if numeric and not any(held(column.type) for held in texts_held):
        return None
    column = as_categories(column)
    encoded = pc.dictionary_encode(column, null_encoding="mask")
    texts = [node_text(value) for value in encoded.dictionary.to_pylist()]
    of_record = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)
    states = [_missing_state(pair.original[name], text) for text in texts]
    present = {text: place for place, text in enumerate(texts) if not states[place]}
    read = _read_numbers(pair, name, present) if numeric else _read_categories(pair, name, present)
    if read is None:
        return None
    values, regions, size = read
    for text, place in present.items():
        if text not in regions:
            regions[text] = _observed(values[of_record == place], whole=not numeric)
    label = {text: number for number, text in enumerate(regions)}
    codes = np.array([*(label.get(text, -state) for text, state in zip(texts, states, strict=True)), -SYSTEM_MISSING])
    known = pair.original.missing_states(name)
    return Labels(values, known, codes[of_record], Regions.of([*regions.values()] or [_EVERYTHING]), size)


def _missing_state(attribute: Attribute, text: str) -> int:
    """0 for a label, else which missing code or range of the original it is; released codes are texts."""
    codes = [
        node_text(code)
        for code in attribute.missing_codes
        if attribute.is_categorical or isinstance(code, int | float)  # numbers know no other codes
    ]
    if text in codes:
        return FIRST_CODE + codes.index(text)
    number = _number(text)
    for place, (low, high) in enumerate(attribute.missing_ranges):
        if number is not None and low <= number <= high:
            return FIRST_CODE + len(codes) + place
    return 0


Read = tuple[FloatArray, dict[str, Region], int]


def _read_numbers(pair: Pair, name: str, texts: Iterable[str]) -> Read:
    values = pair.original.numbers(name).values
    known = np.unique(values[~np.isnan(values)])
    nodes = _nodes(pair, name)
    regions = {text: _numbers_of(text, known, nodes) for text in texts}
    return values, {text: region for text, region in regions.items() if region}, 0


def _numbers_of(text: str, known: FloatArray, nodes: Mapping[str, Sequence[str]]) -> Region | None:
    """The numbers a label stands for; an end that does not belong to it is moved to the next known value inside."""
    number, ends, beyond = _number(text), _ENDS.fullmatch(text), _BEYOND.fullmatch(text)
    if number is not None:
        return [(number, number)]
    if text == _ANY:
        return _EVERYTHING
    if ends is not None and _number(ends[2]) is not None and _number(ends[3]) is not None:
        return _between(float(ends[2]), float(ends[3]), ends[1] == "(", ends[4] == ")", known)
    if beyond is not None and (end := _number(beyond[2])) is not None:
        up, without = beyond[1].startswith(">"), not beyond[1].endswith("=")
        return _between(end, inf, without, False, known) if up else _between(-inf, end, False, without, known)
    low, _, high = text.partition(" to ")
    if text not in nodes and _number(low) is not None and _number(high) is not None:
        return [(float(low), float(high))]
    listed = [_number(leaf) for leaf in nodes.get(text, _listed(text))]
    return [(number, number) for number in listed if number is not None] if None not in listed else None


def _between(low: float, high: float, above: bool, below: bool, known: FloatArray) -> Region:
    """From one end to the other, without the low end (`above`) or the high one (`below`)."""
    if above:
        place = np.searchsorted(known, low, side="right")
        low = float(known[place]) if place < len(known) else nextafter(low, inf)
    if below:
        place = np.searchsorted(known, high, side="left")
        high = float(known[place - 1]) if place > 0 else nextafter(high, -inf)
    return [(min(low, high), high)] if below else [(low, max(low, high))]


def _read_categories(pair: Pair, name: str, texts: Iterable[str]) -> Read | None:
    """None where no released category is a label."""
    attribute, nodes = _described(pair, name), _nodes(pair, name)
    ordered = attribute.kind == "ordinal"
    valid = [c for c in pair.original.domain(name) if c is not None and not _missing_state(attribute, node_text(c))]
    cells = pc.unique(as_categories(pair.original.arrow(name))).drop_null()
    held = set(map(node_text, cells.to_pylist()))
    occurring = {node_text(c): place for place, c in enumerate(valid) if node_text(c) in held}
    if all(text in occurring for text in texts):
        return None
    declared = set(map(node_text, attribute.domain or ()))
    if pair.release is None:  # the domain may list labels too, if it was declared for the release
        declared = {text for text in declared if _places_of(text, occurring, nodes, ordered) is None}
    kept = [c for c in valid if node_text(c) in held or node_text(c) in declared]
    place = {node_text(c): number for number, c in enumerate(kept)}
    if all(text in place for text in texts):
        return None
    regions = {}
    for text in texts:
        members = [place[text]] if text in place else _places_of(text, place, nodes, ordered)
        if members:
            regions[text] = _runs(members)
    codes = pair.original.categories(name, kept).codes
    return np.where(codes < 0, np.nan, codes), regions, len(kept)


def _places_of(
    text: str, place: Mapping[str, int], nodes: Mapping[str, Sequence[str]], ordered: bool
) -> list[int] | None:
    """The places of the categories that a label stands for; None where it cannot be read."""
    if text in nodes:
        return [place[leaf] for leaf in nodes[text] if leaf in place]
    if text == _ANY:
        return list(place.values())
    ends = [text[1:-1]] if text.startswith("[") and text.endswith("]") else []
    first, _, last = text.partition(" to ")
    for low, high in [*(_split(inner, place, 2) or ("", "") for inner in ends), (first, last)]:
        if ordered and low in place and high in place:
            return list(range(place[low], place[high] + 1))
    listed = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    members = _split(listed, place)
    return None if members is None else [place[member] for member in members]


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


def _described(pair: Pair, name: str) -> Attribute:
    """The attribute as it was described before masking."""
    if pair.release is not None and name in pair.release.provenance.schema:
        attribute: Attribute = pair.release.provenance.schema[name]
        return attribute
    return pair.original[name]


def _nodes(pair: Pair, name: str) -> dict[str, list[str]]:
    """The categories below each node of the attribute's hierarchy."""
    hierarchy = _described(pair, name).hierarchy
    below: dict[str, dict[str, None]] = {}
    if isinstance(hierarchy, Hierarchy):
        for path in hierarchy.paths:
            for node in path[1:]:
                below.setdefault(node, {})[path[0]] = None
    return {node: list(leaves) for node, leaves in below.items()}


def _observed(values: FloatArray, *, whole: bool) -> Region:
    """The categories that some records had, or the span of their numbers; everything if none is known."""
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return _EVERYTHING
    if whole:
        return _runs(np.unique(present).astype(np.int64).tolist())
    return [(float(present.min()), float(present.max()))]


def _runs(places: Sequence[int]) -> Region:
    """Places in a domain as segments of neighbours.

    >>> _runs([4, 1, 2])
    [(1.0, 2.0), (4.0, 4.0)]
    """
    ordered = np.unique(places)
    starts = np.flatnonzero(np.diff(ordered, prepend=-2) > 1)
    ends = np.append(starts[1:], len(ordered)) - 1
    return [(float(low), float(high)) for low, high in zip(ordered[starts], ordered[ends], strict=True)]


def _listed(text: str) -> list[str]:
    """The numbers in {20, 25}; or in `20, 25`, as merged numbers are named."""
    inner = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    return inner.split(", ")


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
