"""Locations as a tree below World: types and levels, how far two locations are apart, and what holds several of them.
After Marés (2013), sections 6.2 and 6.3."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from microveil.errors import DataError, ParameterError, SchemaError, UnknownNameError
from microveil.microdata.ancestry import Ancestry
from microveil.microdata.hierarchy import Hierarchy
from microveil.typing import BoolArray, FloatArray, IntArray

WORLD = "World"
OTHER = "Other"  # the type of a place whose geocoder knows none of Table 6.1
TOP_LEVEL = 7

LEVELS: Mapping[str, int] = {
    "Route": 0,
    "Sublocality": 0,
    "Natural feature": 0,
    "Point of interest": 0,
    "Neighborhood": 0,
    OTHER: 0,
    "Locality": 1,
    "Colloquial area": 1,
    "Administrative area level 3": 2,
    "Administrative area level 2": 3,
    "Administrative area level 1": 4,
    "Country": 5,
    "Political": 5,
    "Continent": 6,
    WORLD: TOP_LEVEL,
}

Fill = Literal["repeat", "world"]
FILLS: tuple[Fill, ...] = get_args(Fill)

_COLUMNS = ("id", "parent", "name", "type", "alternatives")
_BETWEEN_ALTERNATIVES = "|"
_ANYWHERE = "anywhere in"
_ACCENTS = re.compile("[\u0300-\u036f]")
_NO_LETTERS = re.compile(r"[^a-z0-9 ]")
_BLANKS = re.compile(r"[\s\-/]+")
_LETTERS_WITHOUT_ACCENT = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ħ": "h", "ŧ": "t"}
)


def folded(name: str) -> str:
    """A name without case, accents and punctuation, as names are compared.

    >>> folded("Saint-Étienne"), folded("WASHINGTON, D.C."), folded("Łódź")
    ('saint etienne', 'washington dc', 'lodz')
    """
    if name.isascii() and name.isalpha():
        return name.lower()  # most names, and a gazetteer has many
    text = _BLANKS.sub(" ", name)
    if text.isascii():
        return " ".join(_NO_LETTERS.sub("", text.lower()).split())
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    plain = _ACCENTS.sub("", apart).translate(_LETTERS_WITHOUT_ACCENT)
    # marks of other scripts, such as the vowels of Devanagari, are letters
    kept = "".join(sign for sign in plain if unicodedata.category(sign)[0] in "LMNZ")
    return unicodedata.normalize("NFC", " ".join(kept.split()))


def known_type(text: str) -> str | None:
    """The type of Table 6.1 that a geocoder's word means, such as `administrative_area_level_1`; none for others."""
    return _TYPE_OF_WORD.get(text.strip().lower().replace("_", " ").replace("neighbour", "neighbor"))


_TYPE_OF_WORD = {name.lower(): name for name in LEVELS}


@dataclass(frozen=True)
class LocationTables:
    """Distances and common ancestors between the distinct locations of a file, as kernels look them up.

    `codes` are these locations, ascending; `positions` says for each location of the file which of them it is;
    `ancestors` holds codes of the tree.
    """

    codes: IntArray
    positions: IntArray
    distances: FloatArray
    ancestors: IntArray


@dataclass(frozen=True)
class LocationTree:
    """Every location with its type and the location that holds it; the code of a location is its place in the tuples.

    Names are not unique, so a location is known by its full path: no two locations of the same name have the same
    parent. World alone has no parent (-1).

    >>> vienna = [("Vienna", "Locality"), ("Austria", "Country"), ("Europe", "Continent")]
    >>> graz = [("Graz", "Locality"), ("Styria", "Administrative area level 1"), *vienna[1:]]
    >>> tree = LocationTree.of([vienna, graz])
    >>> both = [tree.code(["Vienna", "Austria", "Europe"]), tree.code(["Graz", "Styria", "Austria", "Europe"])]
    >>> tree.names[tree.common_ancestor(both)]
    'Austria'
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    parents: tuple[int, ...]
    alternatives: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if not self.alternatives:
            object.__setattr__(self, "alternatives", ((),) * len(self.names))
        problem = self._problem_of_values() or self._problem_of_shape()
        if problem:
            raise DataError(f"locations: {problem}")

    def _problem_of_values(self) -> str | None:
        n = len(self.names)
        if not n == len(self.types) == len(self.parents) == len(self.alternatives):
            return "names, types, parents and alternative names must be equally many"
        for code, (name, kind) in enumerate(zip(self.names, self.types, strict=True)):
            if not isinstance(name, str) or not name.strip():
                return f"location {code} has no name"
            if kind not in LEVELS:
                return f"location {code} has a type that is not known; the types are {', '.join(LEVELS)}"
        if any(not isinstance(p, int | np.integer) or not -1 <= p < n for p in self.parents):
            return f"a parent must be a location from 0 to {n - 1}, or -1 for World"
        if any(_BETWEEN_ALTERNATIVES in other for others in self.alternatives for other in others):
            return f"an alternative name must not hold the character {_BETWEEN_ALTERNATIVES}"
        return None

    def _problem_of_shape(self) -> str | None:
        roots = [code for code, parent in enumerate(self.parents) if parent == -1]
        if len(roots) != 1 or self.names[roots[0]] != WORLD or self.types[roots[0]] != WORLD:
            return f"exactly one location has no parent, which is {WORLD} with the type {WORLD}"
        if self.types.count(WORLD) > 1:
            return f"only the root has the type {WORLD}"
        if len(self._from_the_root) < len(self.names):
            return f"{len(self.names) - len(self._from_the_root)} locations have no way to {WORLD}; there is a cycle"
        if len(set(zip(self.names, self.parents, strict=True))) < len(self.names):
            return "two locations have the same path; names below one parent must differ"
        falling = np.flatnonzero(self.level > self.level[np.where(self.parent < 0, np.arange(len(self)), self.parent)])
        if len(falling):
            code = int(falling[0])
            return (
                f"location {code} of the type {self.types[code]} lies in one of the type "
                f"{self.types[self.parents[code]]}, whose level is lower; levels must not fall towards {WORLD}"
            )
        return None

    @classmethod
    def of(
        cls, chains: Iterable[Sequence[tuple[str, str]]], alternatives: Mapping[tuple[str, ...], Sequence[str]] = {}
    ) -> LocationTree:
        """From chains of values with their types, each from a location towards World, which may be left out.

        Alternative names go by the path of names from the location to World.
        """
        codes: dict[tuple[str, ...], int] = {(WORLD,): 0}
        names, types, parents = [WORLD], [WORLD], [-1]
        for number, chain in enumerate(chains, start=1):
            values = _checked_chain(chain, number)
            path = tuple(name for name, _ in values)
            for start in reversed(range(len(values) - 1)):
                name, kind = values[start]
                code = codes.setdefault(path[start:], len(names))
                if code == len(names):
                    names.append(name)
                    types.append(kind)
                    parents.append(codes[path[start + 1 :]])
                elif types[code] != kind:
                    raise DataError(f"locations: a value of chain {number} has the type {types[code]} in another chain")
        others: list[tuple[str, ...]] = [()] * len(names)
        for path, given in alternatives.items():
            full = path if path[-1:] == (WORLD,) else (*path, WORLD)
            if full not in codes:
                raise DataError("locations: alternative names are given for a path that is in no chain")
            others[codes[full]] = tuple(given)
        return cls(tuple(names), tuple(types), tuple(parents), tuple(others))

    @classmethod
    def from_arrays(cls, names: Sequence[str], types: Sequence[str], parent: npt.ArrayLike) -> LocationTree:
        """From the code of each location's parent; -1 for World."""
        codes = np.asarray(parent)
        if codes.ndim != 1 or not np.issubdtype(codes.dtype, np.integer):
            raise DataError("locations: the parents must be a list of whole numbers")
        return cls(tuple(names), tuple(types), tuple(codes.tolist()))

    @classmethod
    def from_csv(cls, text: str) -> LocationTree:
        """From what `to_csv` writes: a row for each location with its id, the id of its parent, its name and type."""
        rows = csv_rows(text, "a tree of locations", _COLUMNS[:4])
        code_of: dict[str, int] = {}
        for line, row in rows:
            if row["id"] in code_of:
                raise DataError(f"line {line}: this id stands in it twice; a location has one parent")
            code_of[row["id"]] = len(code_of)
        for line, row in rows:
            if row["parent"] and row["parent"] not in code_of:
                raise DataError(f"line {line}: there is no location with the id of the parent")
            if known_type(row["type"]) is None:
                raise DataError(f"line {line}: the type is not known; the types are {', '.join(LEVELS)}")
        return cls(
            tuple(row["name"] for _, row in rows),
            tuple(known_type(row["type"]) or "" for _, row in rows),
            tuple(code_of[row["parent"]] if row["parent"] else -1 for _, row in rows),
            tuple(split_alternatives(row.get("alternatives", "")) for _, row in rows),
        )

    def to_csv(self) -> str:
        """The tree as CSV text that `from_csv` gives back."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        rows = zip(self.parents, self.names, self.types, self.alternatives, strict=True)
        for code, (parent, name, kind, others) in enumerate(rows):
            joined = _BETWEEN_ALTERNATIVES.join(others)
            writer.writerow([code, "" if parent < 0 else parent, name, kind, joined])
        return text.getvalue()

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def parent(self) -> IntArray:
        """The code of each location's parent; -1 for World."""
        return _kept(np.array(self.parents, dtype=np.int64))

    @cached_property
    def level(self) -> IntArray:
        """The level of each location's type (Table 6.1), from 0 for a street to 7 for World."""
        return _kept(np.array([LEVELS[kind] for kind in self.types], dtype=np.int64))

    @cached_property
    def root(self) -> int:
        """The code of World."""
        return self.parents.index(-1)

    @cached_property
    def _from_the_root(self) -> list[int]:
        """The codes in order of depth, as far as World is reached."""
        children: list[list[int]] = [[] for _ in self.parents]
        for code, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(code)
        reached = [self.root]
        for code in reached:
            reached += children[code]
        return reached

    @cached_property
    def depth(self) -> IntArray:
        """How many steps each location is below World."""
        depth = np.zeros(len(self), dtype=np.int64)
        for code in self._from_the_root[1:]:
            depth[code] = depth[self.parents[code]] + 1
        return _kept(depth)

    @cached_property
    def paths(self) -> IntArray:
        """A row for each location: the codes from World to itself, then -1."""
        paths = np.full((len(self), int(self.depth.max()) + 1), -1, dtype=np.int64)
        paths[:, 0] = self.root
        for depth in range(1, paths.shape[1]):
            there = np.flatnonzero(self.depth == depth)
            paths[there, :depth] = paths[self.parent[there], :depth]
            paths[there, depth] = there
        return _kept(paths)

    def path(self, code: int) -> tuple[str, ...]:
        """The names from a location to World."""
        (checked,) = self._checked([code])
        return tuple(self.names[c] for c in reversed(self.paths[checked].tolist()) if c >= 0)

    def code(self, path: Sequence[str]) -> int:
        """The location with this path of names towards World, which may be left out."""
        if isinstance(path, str):
            raise ParameterError("a location is asked for by its path, a list of names such as ['Graz', 'Austria']")
        full = tuple(path) if tuple(path[-1:]) == (WORLD,) else (*path, WORLD)
        if full not in self._code_of_path:
            raise UnknownNameError("location", ", ".join(full), [", ".join(known) for known in self._code_of_path])
        return self._code_of_path[full]

    @cached_property
    def _code_of_path(self) -> dict[tuple[str, ...], int]:
        return {self.path(code): code for code in range(len(self))}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A text for each location that no other one has: its name, with as much of its path as that needs.

        >>> LocationTree.of([[("Paris", "Locality"), (country, "Country")] for country in ("France", "Canada")]).labels
        ('World', 'France', 'Paris, France', 'Canada', 'Paris, Canada')
        """
        paths = [self.path(code) for code in range(len(self))]
        used = [1] * len(self)
        while True:
            labels = [", ".join(path[:parts]) for path, parts in zip(paths, used, strict=True)]
            alike: dict[str, list[int]] = {}
            for code, label in enumerate(labels):
                alike.setdefault(label, []).append(code)
            again = [code for codes in alike.values() if len(codes) > 1 for code in codes]
            longer = [code for code in again if used[code] < len(paths[code])]
            if not longer:  # names with commas can read alike to the end
                for code in again:
                    labels[code] = f"{labels[code]} #{code}"
                return tuple(labels)
            for code in longer:
                used[code] += 1

    def _checked(self, codes: npt.ArrayLike) -> IntArray:
        checked = np.asarray(codes)
        if checked.size and not np.issubdtype(checked.dtype, np.integer):
            raise ParameterError("locations are given by their codes, which are whole numbers")
        if checked.size and not (checked.min() >= 0 and checked.max() < len(self)):
            raise ParameterError(f"a location's code is from 0 to {len(self) - 1}")
        return checked.astype(np.int64)

    def is_within(self, first: npt.ArrayLike, second: npt.ArrayLike) -> BoolArray:
        """Whether each second location lies on the path from the first to World; every location is within itself."""
        return self._ancestry.is_within(*np.broadcast_arrays(self._checked(first), self._checked(second)))

    @cached_property
    def _ancestry(self) -> Ancestry:
        return Ancestry(self.paths, self.level, TOP_LEVEL)

    def distances(
        self, first: npt.ArrayLike, second: npt.ArrayLike, *, strict: bool = False, eps: float = 0.0
    ) -> FloatArray:
        """The distance of each first location and its second one: the difference of their levels over 7 if one is on
        the path from the other to World, else 1 (Marés 2013, Eq. 6.1). It is not a metric.

        `strict` takes the equation as it is printed, where only the second may be on the path of the first. `eps` is
        the distance of two different locations of one path with the same level, such as a street and its quarter.
        """
        a, b = np.broadcast_arrays(self._checked(first), self._checked(second))
        return self._ancestry.distances(a, b, strict=strict, eps=eps)

    def common_ancestors(self, first: npt.ArrayLike, second: npt.ArrayLike) -> IntArray:
        """For each first location and its second one the smallest location that holds both."""
        return self._ancestry.common_ancestors(*np.broadcast_arrays(self._checked(first), self._checked(second)))

    def common_ancestor(self, codes: npt.ArrayLike) -> int:
        """The smallest location that holds all of these, by which they are aggregated."""
        listed = self._checked(codes).ravel()
        return int(self.common_ancestors_of_groups(listed, np.zeros(len(listed), dtype=np.int64))[0])

    def common_ancestors_of_groups(self, codes: npt.ArrayLike, groups: npt.ArrayLike) -> IntArray:
        """For each group, numbered from 0 without gaps, the smallest location that holds all of its members'."""
        listed, group = self._checked(codes), np.asarray(groups)
        if not len(listed):
            raise ParameterError("the common ancestor of no location is not defined; give at least one")
        if listed.shape != group.shape or not np.array_equal(np.unique(group), np.arange(group.max() + 1)):
            raise ParameterError("every location needs a group, and groups are numbered from 0 without gaps")
        return self._ancestry.common_ancestors_of_groups(listed, group)

    def tables(self, codes: npt.ArrayLike, *, strict: bool = False, eps: float = 0.0) -> LocationTables:
        """Distances and common ancestors between the distinct ones of these locations."""
        distinct, positions = np.unique(self._checked(codes), return_inverse=True)
        rows, columns = distinct[:, None], distinct[None, :]
        distances = self.distances(rows, columns, strict=strict, eps=eps)
        return LocationTables(distinct, positions.astype(np.int64), distances, self.common_ancestors(rows, columns))

    def restricted_to(self, codes: npt.ArrayLike) -> tuple[LocationTree, IntArray]:
        """The tree of these locations and all that hold them, and their codes in it."""
        listed = self._checked(codes)
        kept = np.unique(np.append(self.paths[listed], self.root))
        kept = kept[kept >= 0]
        new = np.full(
            len(self) + 1, -1, dtype=np.int64
        )  # the last place is where the parent of World, -1, is looked up
        new[kept] = np.arange(len(kept))
        small = LocationTree(
            tuple(self.names[c] for c in kept),
            tuple(self.types[c] for c in kept),
            tuple(new[self.parent[kept]].tolist()),
            tuple(self.alternatives[c] for c in kept),
        )
        return small, new[listed]

    def hierarchy(
        self, codes: npt.ArrayLike | None = None, categories: Sequence[str] | None = None, *, fill: Fill = "repeat"
    ) -> Hierarchy:
        """These locations, or all, as a hierarchy of an attribute; its categories are the given ones, as they stand in
        the table, or the labels of the locations.

        With `repeat` it has the levels 0 to 7 of Table 6.1, and a location without one of them repeats what it has
        below. With `world` each level is one step up the tree, and World fills up the paths that are shorter.

        A table can have both Graz and Austria as cells. Then the node that holds both is named "anywhere in Austria",
        for a released cell "Austria" would be taken for the one that stood in the table.
        """
        if fill not in FILLS:
            raise UnknownNameError("way to fill up a hierarchy", str(fill), FILLS)
        listed = self._checked(np.arange(len(self)) if codes is None else codes)
        if categories is not None and len(categories) != len(listed):
            raise ParameterError(f"{len(categories)} categories are given for {len(listed)} locations")
        if not len(listed):
            raise SchemaError("hierarchy: there are no locations to make it of")
        by_level = fill == "repeat"
        nodes = self._at_every_level(listed) if by_level else self._at_every_step(listed, categories is not None)
        own = [self.labels[code] for code in listed] if categories is None else categories
        columns = [self._names_of_nodes(column.tolist(), own) for column in nodes.T]
        levels = self.level[listed].tolist() if by_level else ()
        return Hierarchy.of(list(zip(own, *columns, strict=True)), levels)

    def _names_of_nodes(self, nodes: Sequence[int], categories: Sequence[str]) -> list[str]:
        """The labels of the nodes of a level, none of which is also a category that is not all that the node holds."""
        held: dict[int, set[str]] = {}
        for node, category in zip(nodes, categories, strict=True):
            held.setdefault(node, set()).add(category)
        taken = set(categories)
        names = {}
        for node, inside in held.items():
            names[node] = self.labels[node]
            while names[node] in taken and inside != {names[node]}:
                names[node] = f"{_ANYWHERE} {names[node]}"
        return [names[node] for node in nodes]

    def _at_every_level(self, codes: IntArray) -> IntArray:
        """For the levels 1 to 7 the largest location around each with no higher level, else the location itself."""
        nodes = np.repeat(codes[:, None], TOP_LEVEL, axis=1)
        for column in self.paths[codes].T[::-1]:  # larger ones come later and replace smaller ones
            for level in range(1, TOP_LEVEL + 1):
                fits = (column >= 0) & (self.level[column] <= level)
                nodes[fits, level - 1] = column[fits]
        return nodes

    def _at_every_step(self, codes: IntArray, with_own: bool) -> IntArray:
        """The locations around each, from its own or from its parent up, filled up with World."""
        columns = [codes]
        for _ in range(int(self.depth[codes].max())):
            above = self.parent[columns[-1]]
            columns.append(np.where(above < 0, self.root, above))
        if len(columns) == 1:
            with_own = True
        return np.column_stack(columns if with_own else columns[1:])


def csv_rows(text: str, what: str, needed: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV text by the names of its columns, each with its line; needed columns must be there."""
    first = re.sub(r'"[^"]*"', "", text).split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=max(",;\t", key=first.count))
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        header = [cell.strip() for cell in next(reader, [])]
        missing = [name for name in needed if name not in header]
        if missing:
            raise DataError(f"{what} needs the columns {', '.join(needed)}; {', '.join(missing)} is not there")
        if len(set(header)) < len(header):
            raise DataError("line 1: two columns have the same name")
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise DataError(f"line {reader.line_num}: it has {len(cells)} cells where the first has {len(header)}")
            rows.append((reader.line_num, {n: c.strip() for n, c in zip(header, cells, strict=True)}))
    except csv.Error:
        raise DataError(f"line {reader.line_num}: this is not CSV") from None
    if not rows:
        raise DataError(f"{what} has no rows")
    return rows


def split_alternatives(text: str) -> tuple[str, ...]:
    """Alternative names as they stand in a cell, with | between them."""
    return tuple(part.strip() for part in text.split(_BETWEEN_ALTERNATIVES) if part.strip())


def _checked_chain(chain: Sequence[tuple[str, str]], number: int) -> list[tuple[str, str]]:
    """The chain with World at its end, where nothing else may be World, and with the types' own words."""
    values = []
    for element in chain:
        if isinstance(element, str) or len(element) != 2 or not all(isinstance(part, str) for part in element):
            raise DataError(f"locations: chain {number} must be a list of pairs of a name and a type")
        kind = known_type(element[1])
        if kind is None:
            raise DataError(
                f"locations: chain {number} has a type that is not known; the types are {', '.join(LEVELS)}"
            )
        values.append((element[0], kind))
    if values[-1:] != [(WORLD, WORLD)]:
        values.append((WORLD, WORLD))
    if any(kind == WORLD for _, kind in values[:-1]):
        raise DataError(f"locations: chain {number} has {WORLD} before its end")
    return values


def _kept(array: IntArray) -> IntArray:
    array.flags.writeable = False
    return array
