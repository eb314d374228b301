"""Generalisation trees: every category of a domain, or every number, has one ancestor at each coarser level."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from microveil.errors import FileError, SchemaError, UnknownNameError, brief
from microveil.microdata.files.inputs import read_text
from microveil.typing import FloatArray, IntArray

_LARGEST_NODE = 1e300
_EMPTY = "a category is empty; what is missing has no place in a hierarchy"


Made = TypeVar("Made", "Hierarchy", "Intervals")


@dataclass(frozen=True)
class Hierarchy:
    """One path per category, from the category itself (level 0) to the coarsest level.

    It serves numbers too, where every number that occurs is listed as a category. Categories can be of different levels
    themselves, as a city and a country are among places: `own_levels` says of which each is; all of level 0 where it is
    empty.

    >>> h = Hierarchy.of([("Graz", "South", "*"), ("Linz", "North", "*"), ("Wels", "North", "*")])
    >>> h.levels, h.generalise("Wels", 1), h.categories(1)
    (3, 'North', ('South', 'North'))
    """

    paths: tuple[tuple[str, ...], ...]
    own_levels: tuple[int, ...] = ()

    @classmethod
    def of(cls, paths: Iterable[Sequence[object]], own_levels: Sequence[int] = ()) -> Hierarchy:
        """Build and check: equal lengths, no empty node, every category once, and one parent for every node."""
        listed = list(paths)
        if any(isinstance(path, str) or not isinstance(path, Sequence | np.ndarray) for path in listed):
            raise SchemaError("hierarchy: it must be a list of paths such as ['Graz', 'South', '*']")
        return _checked(cls(tuple(tuple(checked_node(node) for node in path) for path in listed), tuple(own_levels)))

    def problem(self) -> str | None:
        """What is wrong with it, if anything."""
        if not self.paths:
            return "it has no categories"
        if len({len(path) for path in self.paths}) > 1:
            return "every category needs the same number of levels"
        if self.levels == 0:
            return "it has no levels"
        seen: set[str] = set()
        for path in self.paths:
            if not path[0].strip():
                return _EMPTY
            if path[0] in seen:
                return f"category '{path[0]}' stands in it twice"
            seen.add(path[0])
        for level in range(1, self.levels):
            parents: dict[str, str] = {}
            for path in self.paths:
                child, parent = path[level - 1], path[level]
                if not parent.strip():
                    return f"category '{path[0]}' has a gap at level {level}"
                if parents.setdefault(child, parent) != parent:
                    return f"'{child}' at level {level - 1} has two parents, '{parents[child]}' and '{parent}'"
        if self.own_levels and len(self.own_levels) != len(self.paths):
            return "every category needs a level of its own"
        if any(type(level) is not int or not 0 <= level < self.levels for level in self.own_levels):
            return f"the level of a category is a whole number from 0 to {self.levels - 1}"
        return None

    @property
    def category_levels(self) -> tuple[int, ...]:
        """The level of each category."""
        return self.own_levels or (0,) * len(self.paths)

    @property
    def levels(self) -> int:
        """Number of levels, the categories themselves included."""
        return len(self.paths[0])

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {path[0]: row for row, path in enumerate(self.paths)}

    @cached_property
    def _nodes(self) -> tuple[dict[str, int], ...]:
        """For each level its categories with their positions, in order of appearance."""
        levels = []
        for level in range(self.levels):
            names = dict.fromkeys(path[level] for path in self.paths)
            levels.append({name: position for position, name in enumerate(names)})
        return tuple(levels)

    @cached_property
    def _numbers(self) -> tuple[FloatArray, IntArray] | None:
        """The categories as ascending numbers with the rows they stand in; none where one is not a number."""
        try:
            values = np.array([float(path[0]) for path in self.paths])
        except ValueError:
            return None
        order = np.argsort(values, kind="stable")
        return values[order], order.astype(np.int64)

    @property
    def is_numeric(self) -> bool:
        """Whether all categories are numbers, so that a numeric attribute can have this hierarchy."""
        return self._numbers is not None

    def generalise(self, category: object, level: int) -> str:
        """The ancestor of a category at a level; level 0 is the category itself."""
        check_level(level, self.levels)
        row = self._row_of.get(node_text(category))
        if row is None:
            raise UnknownNameError("category", node_text(category), [path[0] for path in self.paths])
        return self.paths[row][level]

    def categories(self, level: int = 0) -> tuple[str, ...]:
        """The categories of a level, in order of appearance."""
        check_level(level, self.levels)
        return tuple(self._nodes[level])

    def positions(self, categories: Iterable[object], level: int) -> IntArray:
        """The positions of the ancestors of these categories among the categories of a level; -1 for unknown ones."""
        check_level(level, self.levels)
        rows = (self._row_of.get(node_text(category), -1) for category in categories)
        nodes = self._nodes[level]
        return np.array([-1 if row < 0 else nodes[self.paths[row][level]] for row in rows], dtype=np.int64)

    def positions_of_numbers(self, values: FloatArray, level: int) -> IntArray:
        """The same for numbers, fast; -1 for those that are missing or not listed."""
        if self._numbers is None:
            raise SchemaError("hierarchy: its categories are not all numbers")
        listed, rows = self._numbers
        at = np.minimum(np.searchsorted(listed, values), len(listed) - 1)
        of_row = self.positions((path[0] for path in self.paths), level)
        return np.where(listed[at] == values, of_row[rows[at]], -1)

    @classmethod
    def read(cls, path: str | Path) -> Hierarchy:
        """Read the column-per-level form: one row per category; a comma, a semicolon or a tab between levels.

        A file whose name ends in .gz is unpacked.

        A first row whose cells are all of the form level0, level1, ... is a header; files without one, as ARX writes
        them, are read alike.
        """
        path = Path(path)
        try:
            text = read_text(path)
        except UnicodeDecodeError:
            raise FileError(path, "cannot be read as a hierarchy (it is not UTF-8 text)") from None
        unquoted = re.sub(r'"[^"]*"', "", text).split("\n", 1)[0]
        lines = io.StringIO(text, newline="")  # a line break inside a quoted category stays as it is
        try:
            rows = [row for row in csv.reader(lines, delimiter=max(",;\t", key=unquoted.count)) if row]
        except csv.Error:
            raise FileError(path, "cannot be read as a hierarchy (it is not a CSV file)") from None
        if rows and all(cell.lower() == f"level{i}" for i, cell in enumerate(rows[0])):
            rows = rows[1:]
        for number, row in enumerate(rows, start=1):
            if len(row) != len(rows[0]):
                raise FileError(
                    path, f"row {number} has {len(row)} levels where the first has {len(rows[0])}", line=number
                )
        try:
            return cls.of(rows)
        except SchemaError as problem:
            raise FileError(path, str(problem)) from None

    def write(self, path: str | Path, *, delimiter: str = ",", header: bool = True, force: bool = False) -> None:
        """Write the column-per-level form; ARX reads it with `delimiter=";", header=False`."""
        from microveil.microdata.files.atomic import write_text

        text = io.StringIO()
        returns = any("\r" in node for path in self.paths for node in path)  # Python 3.11 does not quote these
        writer = csv.writer(
            text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
        )
        if header:
            writer.writerow([f"level{i}" for i in range(self.levels)])
        writer.writerows(self.paths)
        write_text(path, text.getvalue(), force=force)

    def to_plain(self) -> list[list[str]] | dict[str, Any]:
        paths = [list(path) for path in self.paths]
        return {"paths": paths, "levels": list(self.own_levels)} if self.own_levels else paths


@dataclass(frozen=True)
class Intervals:
    """Numbers in ever wider intervals: the cut points of each level from 1 up; level 0 are the numbers themselves.

    An interval begins at its cut point and ends below the next; the first and the last of a level have no outer end, so
    every number lies in one. A cut point of a coarser level is one of the finer level too: nothing overlaps.

    >>> ages = Intervals.of([[20, 30, 40, 50], [30, 50], []])
    >>> ages.categories(2), ages.categories(3), ages.generalise(35, 1)
    (('< 30', '[30, 50)', '>= 50'), ('*',), '[30, 40)')
    """

    cuts: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, cuts: Iterable[Sequence[float]]) -> Intervals:
        """Build and check: ascending cut points, each level's among those of the level before."""
        try:
            intervals = cls(tuple(tuple(float(cut) for cut in level) for level in cuts))
        except (TypeError, ValueError, OverflowError):
            raise SchemaError("hierarchy: the cut points of a level must be a list of numbers") from None
        return _checked(intervals)

    def problem(self) -> str | None:
        """What is wrong with it, if anything."""
        if not self.cuts:
            return "it has no levels"
        finer: set[float] | None = None
        for level, cuts in enumerate(self.cuts, start=1):
            if not np.isfinite(cuts).all():
                return f"a cut point of level {level} is not a finite number"
            if any(a >= b for a, b in itertools.pairwise(cuts)):
                return f"the cut points of level {level} do not ascend"
            odd = [cut for cut in cuts if finer is not None and cut not in finer]
            if odd:
                return f"an interval of level {level - 1} overlaps two of level {level}, at {node_text(odd[0])}"
            finer = set(cuts)
        return None

    @property
    def levels(self) -> int:
        """Number of levels, the numbers themselves included."""
        return len(self.cuts) + 1

    def categories(self, level: int) -> tuple[str, ...]:
        """The intervals of a level, ascending."""
        self._check(level)
        cuts = [node_text(cut) for cut in self.cuts[level - 1]]
        if not cuts:
            return ("*",)
        inner = (f"[{low}, {high})" for low, high in itertools.pairwise(cuts))
        return (f"< {cuts[0]}", *inner, f">= {cuts[-1]}")

    def _check(self, level: int) -> None:
        check_level(level, self.levels)
        if level == 0:
            raise SchemaError("level 0 are the numbers themselves; intervals begin with level 1")

    def positions_of_numbers(self, values: FloatArray, level: int) -> IntArray:
        """The position of the interval of a level in which each number lies; -1 where it is missing."""
        self._check(level)
        positions = np.searchsorted(self.cuts[level - 1], values, side="right").astype(np.int64)
        return np.where(np.isnan(values), -1, positions)

    def generalise(self, number: float, level: int) -> str:
        """The interval of a level in which a number lies; level 0 is the number itself."""
        if level == 0:
            return node_text(number)
        return self.categories(level)[int(self.positions_of_numbers(np.array([float(number)]), level)[0])]

    def over(self, numbers: Iterable[float]) -> Hierarchy:
        """The same tree with a path for each of these numbers, as files and other programs want it."""
        listed = sorted(set(numbers))
        return Hierarchy.of([[self.generalise(number, level) for level in range(self.levels)] for number in listed])

    def to_plain(self) -> dict[str, list[list[float]]]:
        return {"cuts": [list(level) for level in self.cuts]}


def hierarchy_from_plain(value: object) -> object:
    """A hierarchy from its form in TOML or JSON: a list of paths, with the levels of its categories where they differ,
    or `{ cuts = [...] }`; other things as they are."""
    if isinstance(value, list | tuple):
        return Hierarchy.of(value)
    if isinstance(value, Mapping) and set(value) == {"paths", "levels"}:
        if not all(isinstance(part, list | tuple) for part in value.values()):
            raise SchemaError("hierarchy: paths and levels are lists")
        return Hierarchy.of(value["paths"], value["levels"])
    if isinstance(value, Mapping):
        if set(value) != {"cuts"}:
            raise SchemaError("hierarchy: it must be a list of paths or cut points such as { cuts = [[20, 40]] }")
        return Intervals.of(value["cuts"])
    return value


def node_text(value: object) -> str:
    """A category or number as it is written in a hierarchy: whole numbers without decimals."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def checked_node(value: object) -> str:
    """The same, where something must be written."""
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        raise SchemaError(f"hierarchy: {_EMPTY}")
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not (isinstance(value, str) or (is_number and -_LARGEST_NODE <= cast(float, value) <= _LARGEST_NODE)):
        raise SchemaError(f"hierarchy: {brief(value)} is no category; it must be a text or a number")
    return node_text(value)


def check_level(level: int, levels: int) -> None:
    """Refuse a level that a hierarchy does not have."""
    if not 0 <= level < levels:
        raise SchemaError(f"level {level} does not exist; the hierarchy has levels 0 to {levels - 1}")


def _checked(made: Made) -> Made:
    problem = made.problem()
    if problem:
        raise SchemaError(f"hierarchy: {problem}")
    return made
