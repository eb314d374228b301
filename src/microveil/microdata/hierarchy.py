"""A generalisation tree over a domain: every category has one ancestor at each coarser level."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from microveil.errors import FileError, SchemaError, UnknownNameError


@dataclass(frozen=True)
class Hierarchy:
    """One path per category, from the category itself (level 0) to the coarsest level.

    >>> h = Hierarchy.of([("Graz", "South", "*"), ("Linz", "North", "*"), ("Wels", "North", "*")])
    >>> h.levels, h.generalise("Wels", 1), h.categories(1)
    (3, 'North', ('South', 'North'))
    """

    paths: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, paths: Iterable[Sequence[object]]) -> Hierarchy:
        """Build and check: equal lengths, every category once, and one parent for every node."""
        hierarchy = cls(tuple(tuple(str(node) for node in path) for path in paths))
        problem = hierarchy._problem()
        if problem:
            raise SchemaError(f"hierarchy: {problem}")
        return hierarchy

    def _problem(self) -> str | None:
        if not self.paths:
            return "it has no categories"
        if len({len(path) for path in self.paths}) > 1:
            return "every category needs the same number of levels"
        seen: set[str] = set()
        for path in self.paths:
            if path[0] in seen:
                return f"category '{path[0]}' stands in it twice"
            seen.add(path[0])
        for level in range(1, self.levels):
            parents: dict[str, str] = {}
            for path in self.paths:
                child, parent = path[level - 1], path[level]
                if parents.setdefault(child, parent) != parent:
                    return f"'{child}' at level {level - 1} has two parents, '{parents[child]}' and '{parent}'"
        return None

    @property
    def levels(self) -> int:
        """Number of levels, the categories themselves included."""
        return len(self.paths[0])

    def generalise(self, category: object, level: int) -> str:
        """The ancestor of a category at a level; level 0 is the category itself."""
        if not 0 <= level < self.levels:
            raise SchemaError(f"level {level} does not exist; the hierarchy has levels 0 to {self.levels - 1}")
        for path in self.paths:
            if path[0] == str(category):
                return path[level]
        raise UnknownNameError("category", str(category), [path[0] for path in self.paths])

    def categories(self, level: int = 0) -> tuple[str, ...]:
        """The categories of a level, in order of appearance."""
        return tuple(dict.fromkeys(path[level] for path in self.paths))

    @classmethod
    def read(cls, path: str | Path) -> Hierarchy:
        """Read the column-per-level form: one row per category; a comma or a semicolon between levels.

        A first row whose cells are all of the form level0, level1, ... is a header.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as problem:
            raise FileError(path, f"cannot be read as a hierarchy ({_reason(problem)})") from None
        first = text.split("\n", 1)[0]
        rows = [
            r for r in csv.reader(text.splitlines(), delimiter=";" if first.count(";") > first.count(",") else ",") if r
        ]
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

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the column-per-level form with a header."""
        from microveil.microdata.files.atomic import write_text

        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([f"level{i}" for i in range(self.levels)])
        writer.writerows(self.paths)
        write_text(path, text.getvalue(), force=force)


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or "it is not UTF-8 text"
