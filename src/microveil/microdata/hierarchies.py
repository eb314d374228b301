"""Hierarchies built by rule: from intervals, from the leading characters of codes, from dates, from trees."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from microveil.errors import ParameterError, SchemaError, UnknownNameError
from microveil.microdata.hierarchy import Hierarchy, Intervals, checked_node, node_text
from microveil.typing import FloatArray, IntArray

Period = Literal["day", "month", "quarter", "year", "decade"]
_TOP = "*"
_MOST_INTERVALS = 100_000


def equal_width(low: float, high: float, widths: Sequence[float]) -> Intervals:
    """Intervals from `low` to `high` whose width grows from level to level; each width is a multiple of the one before.

    >>> equal_width(0, 20, [5, 10]).categories(2)
    ('< 10', '>= 10')
    """
    if not (np.isfinite([low, high]).all() and low < high):
        raise ParameterError("equal widths need a smallest number below the largest one")
    if not widths or min(widths) <= 0:
        raise ParameterError("the width of an interval must be above 0")
    check_width(high - low, widths[0])
    for narrow, wide in itertools.pairwise(widths):
        if not math.isclose(wide / narrow, round(wide / narrow), rel_tol=1e-9):
            raise SchemaError(
                f"intervals of width {node_text(narrow)} overlap those of width {node_text(wide)}; "
                "each width must be a multiple of the one before"
            )
    steps = max(1, math.ceil((high - low) / widths[0] - 1e-9))
    positions = range(1, steps)
    levels = []
    for width in widths:
        every = round(width / widths[0])
        levels.append([low + position * widths[0] for position in positions if position % every == 0])
    return Intervals.of(levels)


def check_width(span: float, width: float) -> None:
    """Refuse intervals that would be too many to be listed."""
    if float(span) / float(width) > _MOST_INTERVALS * (1.0 + 1e-9):
        raise ParameterError(
            f"a width of {node_text(width)} would make more than {_MOST_INTERVALS:,} intervals; choose a larger one"
        )


def equal_frequency(numbers: npt.ArrayLike, groups: Sequence[int], counts: IntArray | None = None) -> Intervals:
    """Intervals that hold about equally many of these numbers, in ever fewer groups; each divides the one before.

    Equal numbers are never divided, so there may be fewer intervals than asked for. With `counts` every number stands
    for so many.

    >>> equal_frequency([1, 2, 3, 4, 5, 6, 7, 8], [4, 2]).cuts
    ((3.0, 5.0, 7.0), (5.0,))
    """
    values = np.asarray(numbers, dtype=np.float64).ravel()
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]  # missing ones come last
    ordered, held = values[order], None if counts is None else counts[order]
    if not len(ordered):
        raise ParameterError("equal frequencies need at least one number")
    if not groups or min(groups) < 1:
        raise ParameterError("the number of intervals must be at least 1")
    for many, few in itertools.pairwise(groups):
        if many % few:
            raise SchemaError(f"{many} intervals cannot be joined to {few} equal ones; {few} must divide {many}")
    return Intervals.of([frequency_cuts(ordered, number, held) for number in groups])


def frequency_cuts(ordered: FloatArray, groups: int, counts: IntArray | None = None) -> list[float]:
    """The cut points that divide ascending numbers into groups as equal as ties allow.

    >>> frequency_cuts(np.array([1.0, 2.0, 3.0]), 2), frequency_cuts(np.array([1.0, 2.0, 3.0]), 2, np.array([1, 1, 4]))
    ([2.0], [3.0])
    """
    if counts is None:
        cuts = ordered[cut_ranks(len(ordered), groups)]
    else:
        cuts = ordered[np.searchsorted(np.cumsum(counts), cut_ranks(int(counts.sum()), groups), side="right")]
    return sorted({float(value) for value in cuts if value > ordered[0]})


def cut_ranks(values: int, groups: int) -> list[int]:
    """The ranks, from 0, of the values at which groups of so many numbers begin, but for the first."""
    return [values * g // groups for g in range(1, groups)]


def from_bounds(levels: Iterable[Sequence[Sequence[float]]]) -> Intervals:
    """Intervals given by both ends, level by level; those that overlap or leave a gap are refused.

    >>> from_bounds([[(0, 18), (18, 65), (65, 120)], [(0, 65), (65, 120)]]).categories(2)
    ('< 0', '[0, 65)', '[65, 120)', '>= 120')
    """
    return Intervals.of([_cuts_of_bounds(bounds, level) for level, bounds in enumerate(levels, start=1)])


def _cuts_of_bounds(bounds: Sequence[Sequence[float]], level: int) -> list[float]:
    try:
        ordered = sorted((float(low), float(high)) for low, high in bounds)
    except (TypeError, ValueError):
        raise SchemaError(f"hierarchy: every interval of level {level} needs two numbers, its ends") from None
    for low, high in ordered:
        if not low < high:
            raise SchemaError(f"hierarchy: an interval of level {level} ends where it begins, at {node_text(low)}")
    for (_, end), (begin, _) in itertools.pairwise(ordered):
        if begin != end:
            what = "overlap" if begin < end else "leave a gap"
            between = f"between {node_text(min(begin, end))} and {node_text(max(begin, end))}"
            raise SchemaError(f"hierarchy: the intervals of level {level} {what} {between}")
    ends = {bound for pair in ordered for bound in pair}
    return sorted(end for end in ends if math.isfinite(end))


def prefixes(codes: Iterable[object], lengths: Sequence[int], *, fill: str = "") -> Hierarchy:
    """Codes such as postcodes, ISCO or ICD by their leading characters: the lengths kept at each level, then all.

    With `fill` the characters left out are shown by it.

    >>> prefixes(["8010", "8020", "4020"], [2, 1], fill="*").paths[0]
    ('8010', '80**', '8***', '*')
    """
    if any(a <= b for a, b in itertools.pairwise(lengths)) or any(length < 1 for length in lengths):
        raise ParameterError("the lengths of prefixes must be at least 1 and become shorter from level to level")
    texts = list(dict.fromkeys(checked_node(code) for code in codes))
    widest = max(map(len, texts), default=0)

    def shown(text: str, length: int) -> str:
        return text[:length] + fill * ((widest - len(text[:length])) if fill else 0)

    return Hierarchy.of([(text, *(shown(text, length) for length in lengths), _TOP) for text in texts])


_PERIODS: Mapping[str, Callable[[datetime.date], str]] = {
    "day": lambda day: day.isoformat(),
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
}


def dates(days: Iterable[Any], levels: Sequence[Period] = ("month", "quarter", "year", "decade")) -> Hierarchy:
    """Dates (or texts such as 2024-05-17, also with a time) by ever longer periods, then all.

    >>> dates(["2024-05-17"], ["month", "year"]).paths
    (('2024-05-17', '2024-05', '2024', '*'),)
    """
    known = list(get_args(Period))
    for level in levels:
        if level not in known:
            raise UnknownNameError("period", str(level), known)
    if [known.index(level) for level in levels] != sorted({known.index(level) for level in levels}):
        raise ParameterError("periods must become longer from level to level: day, month, quarter, year, decade")
    paths: dict[str, tuple[str, ...]] = {}
    for day in days:
        paths.setdefault(str(day), (str(day), *(_PERIODS[level](_as_date(day)) for level in levels), _TOP))
    return Hierarchy.of(paths.values())


def _as_date(day: Any) -> datetime.date:
    if isinstance(day, datetime.datetime):
        return day.date()
    if isinstance(day, datetime.date):
        return day
    try:
        return datetime.datetime.fromisoformat(str(day)).date()
    except ValueError:
        raise SchemaError("hierarchy: a category is not a date of the form 2024-05-17") from None


def tree(branches: Mapping[str, Any], top: str = _TOP) -> Hierarchy:
    """An explicit tree: nested mappings of names to further branches, ending in lists of categories.

    A branch that ends early stands for itself at the levels it does not have.

    >>> tree({"South": {"Styria": ["Graz", "Leoben"]}, "Vienna": []}).paths
    (('Graz', 'Styria', 'South', '*'), ('Leoben', 'Styria', 'South', '*'), ('Vienna', 'Vienna', 'Vienna', '*'))
    """
    found = [*_leaves(branches, ())]
    deepest = max((len(path) for path in found), default=0)
    return Hierarchy.of([(*[path[-1]] * (deepest - len(path)), *reversed(path), top) for path in found])


def _leaves(branches: Any, above: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    if isinstance(branches, Mapping):
        for name, below in branches.items():
            yield from _leaves(below, (*above, checked_node(name)))
    elif isinstance(branches, str) or not isinstance(branches, Iterable):
        yield (*above, checked_node(branches))
    else:
        categories = [checked_node(category) for category in branches]
        yield from ((*above, category) for category in categories) if categories else (above,)
