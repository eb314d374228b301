"""Hierarchies proposed from the data, where a schema has none: intervals, prefixes of codes, periods, neighbours."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from microveil.microdata.hierarchies import dates, equal_width, prefixes
from microveil.microdata.hierarchy import Hierarchy, Intervals, node_text
from microveil.microdata.microdata import Microdata
from microveil.microdata.schema import category_key
from microveil.typing import FloatArray

_TOP = "*"
_MOST_INTERVALS = 40  # of the finest level of intervals
_SHORTEST_CODE = 3  # characters; shorter texts are no codes whose first characters mean something


def propose_hierarchy(data: Microdata, name: str) -> Hierarchy | Intervals:
    """A hierarchy for an attribute of a table: the one that it has, or else one that its values suggest.

    Numbers are put in intervals with round ends, each level twice as wide as the one before. Dates become months,
    quarters, years and decades; codes of one length lose their last characters one by one; ordered categories are
    joined with their neighbours, two, four, eight and so on; other categories have no level but that of all.

    >>> people = Microdata.of({"age": [18, 24, 31, 47, 90], "zip": ["8010", "8020", "8022", "4020", "4030"]})
    >>> [propose_hierarchy(people, "age").generalise(47, level) for level in (1, 2, 3)]
    ['[40, 50)', '[40, 60)', '[40, 80)']
    >>> propose_hierarchy(people, "zip").paths[0]
    ('4020', '402', '40', '4', '*')
    """
    attribute = data[name]
    if attribute.hierarchy is not None:
        return attribute.hierarchy
    if attribute.kind == "numeric":
        values = data.numbers(name).values
        return _intervals(np.unique(values[~np.isnan(values)]), attribute.range)
    missing = {category_key(code) for code in attribute.missing_codes}
    categories = [c for c in data.domain(name) if c is not None and category_key(c) not in missing]
    texts = [node_text(category) for category in categories]
    if not texts:
        return Hierarchy.of([(_TOP, _TOP)])
    if attribute.kind == "ordinal":
        return _neighbours(texts)
    if _are_dates(texts):
        return dates(texts)
    if _are_codes(texts):
        return prefixes(texts, range(len(texts[0]) - 1, 0, -1))
    return Hierarchy.of([(text, _TOP) for text in texts])


def _intervals(distinct: FloatArray, declared: tuple[float, float] | None) -> Intervals:
    """Intervals of a round width, then twice as wide, until one holds all."""
    if len(distinct) < 2:
        return Intervals.of([()])
    low, high = declared or (float(distinct[0]), float(distinct[-1]))
    low, high = min(low, float(distinct[0])), max(high, float(distinct[-1]))
    width = _round_width(max((high - low) / _MOST_INTERVALS, 1.5 * float(np.diff(distinct).min())))
    widths = [width]
    while widths[-1] * 2 < high - low:
        widths.append(widths[-1] * 2)
    start = math.floor(low / widths[-1]) * widths[-1]
    return Intervals.of([*equal_width(start, max(high, start + widths[-1]), widths).cuts, ()])


def _round_width(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below this."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= least * (1.0 - 1e-9))


def _neighbours(texts: Sequence[str]) -> Hierarchy:
    levels, joined = [list(texts)], 2
    while joined < len(texts):
        parts = [texts[start : start + joined] for start in range(0, len(texts), joined)]
        levels.append([part[0] if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts for _ in part])
        joined *= 2
    return Hierarchy.of([*zip(*levels, [_TOP] * len(texts), strict=True)])


def _are_dates(texts: Sequence[str]) -> bool:
    try:
        return all(datetime.datetime.fromisoformat(text) and len(text) >= len("2024-05-17") for text in texts)
    except ValueError:
        return False


def _are_codes(texts: Sequence[str]) -> bool:
    """Whether these are codes of one length with a digit in each, some of which begin alike."""
    length = len(texts[0])
    alike = length >= _SHORTEST_CODE and all(len(text) == length and text.isalnum() for text in texts)
    return (
        alike and all(any(map(str.isdigit, text)) for text in texts) and len({text[:-1] for text in texts}) < len(texts)
    )


def with_proposals(data: Microdata, names: Sequence[str]) -> Microdata:
    """The table whose attributes of these names have hierarchies, proposed where its schema has none."""
    proposed = [data[name].changed(hierarchy=propose_hierarchy(data, name)) for name in names]
    return data.with_schema(data.schema.replacing(*proposed))


def write_hierarchies(data: Microdata, names: Sequence[str], folder: str | Path, *, force: bool = False) -> list[Path]:
    """Write the hierarchies of these attributes to files of a folder, one row for each value that occurs or is listed.

    The files are as other programs read them, to be corrected and named in a schema. They hold values of the records,
    so they are as private as these.
    """
    from microveil.microdata.files.atomic import make_folder

    made = make_folder(folder)
    paths = []
    for name in names:
        hierarchy = propose_hierarchy(data, name)
        if isinstance(hierarchy, Intervals):
            values = data.numbers(name).values
            hierarchy = hierarchy.over(values[~np.isnan(values)].tolist())
        paths.append(made / (re.sub(r"[^\w.-]", "_", name) + ".csv"))
        hierarchy.write(paths[-1], force=force)
    return paths
