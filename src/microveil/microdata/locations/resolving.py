"""From names as people write them to a tree of locations: places are looked up offline, and what is not known or could
be several places is said, never guessed. After Marés (2013), section 6.2.1, Algorithm 15."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol, get_args

import numpy as np

from microveil.errors import DataError, ParameterError, UnknownNameError, errors_of_file
from microveil.microdata.files.inputs import read_text
from microveil.microdata.hierarchy import Hierarchy
from microveil.microdata.locations.gazetteer import Places, continents, gazetteer
from microveil.microdata.locations.tree import (
    LEVELS,
    OTHER,
    WORLD,
    Fill,
    LocationTree,
    csv_rows,
    folded,
    known_type,
    split_alternatives,
)
from microveil.microdata.microdata import count
from microveil.typing import IntArray

Chain = Sequence[tuple[str, str | Sequence[str]]]
Choice = Literal["none", "most populous", "common ancestor"]
CHOICES: tuple[Choice, ...] = get_args(Choice)


@dataclass(frozen=True)
class Ambiguous:
    """The answer of a provider that knows several places of a name."""

    places: int


class GeoProvider(Protocol):
    """Whatever knows places, such as a gazetteer or stored answers of a geocoder."""

    def chain(self, name: str) -> Chain | Ambiguous | None:
        """The place and all that hold it, the smallest first, each with its type or all of its types; nothing for an
        unknown name. Continent and World may be left out."""
        ...


def chosen_chain(places: Places, name: str, ambiguous: Choice) -> Chain | Ambiguous | None:
    """The chain of the one place that a name means, or of what is to be taken where it means several."""
    found = places.named(name)
    if not found:
        return None
    if len(found) == 1:
        return places.chain(found[0])
    if ambiguous == "most populous":
        return places.chain(places.most_populous(found))
    if ambiguous == "common ancestor":
        return [*places.common_chain(found), (WORLD, WORLD)]
    return Ambiguous(len(found))


def _check_choice(ambiguous: str) -> None:
    if ambiguous not in CHOICES:
        raise UnknownNameError("choice among places of one name", str(ambiguous), CHOICES)


@dataclass(frozen=True)
class GazetteerProvider:
    """Countries, first-level regions and cities above 15,000 inhabitants, from the extract of GeoNames in the package.

    A name that several places have is `Ambiguous`, unless `ambiguous` says to take the most populous of them (of a
    region, the inhabitants of its cities count) or the smallest place that holds them all.

    >>> GazetteerProvider().chain("Springfield, US")
    Ambiguous(places=8)
    >>> GazetteerProvider().chain("NYC")[:2]
    [('New York City', 'Locality'), ('New York', 'Administrative area level 1')]
    """

    ambiguous: Choice = "none"

    def __post_init__(self) -> None:
        _check_choice(self.ambiguous)

    def chain(self, name: str) -> Chain | Ambiguous | None:
        return chosen_chain(gazetteer(), name, self.ambiguous)


@dataclass(frozen=True)
class TableProvider:
    """The places of a table of one's own, which `read` and `of_csv` make.

    The table has one of two forms. With the columns `name`, `type` and `parent` it has a row for each place, and the
    parent is the name of another one, or empty. Otherwise each row is a path, and each column is named after the type
    of what stands in it, such as Locality and Country. A column `alternatives` lists other names with | between them,
    and a column `population` inhabitants; in a path these belong to its smallest place.

    >>> table = TableProvider.of_csv("Locality,Country,alternatives\\nGraz,Austria,Gradec")
    >>> table.chain("gradec")
    [('Graz', 'Locality'), ('Austria', 'Country')]
    """

    places: Places
    ambiguous: Choice = "none"

    def __post_init__(self) -> None:
        _check_choice(self.ambiguous)

    @classmethod
    def read(cls, path: str | Path, *, ambiguous: Choice = "none") -> TableProvider:
        """Read a CSV file; a comma, a semicolon or a tab stands between its cells."""
        with errors_of_file(path, "is not UTF-8 text"):
            return cls.of_csv(read_text(path), ambiguous=ambiguous)

    @classmethod
    def of_csv(cls, text: str, *, ambiguous: Choice = "none") -> TableProvider:
        """The same from a text."""
        rows = csv_rows(text, "a table of places", ())
        header = rows[0][1].keys()
        places = _places_of_parents(rows) if "parent" in header else _places_of_paths(rows)
        return cls(places, ambiguous)

    def chain(self, name: str) -> Chain | Ambiguous | None:
        return chosen_chain(self.places, name, self.ambiguous)


Rows = Sequence[tuple[int, Mapping[str, str]]]


def _places_of_parents(rows: Rows) -> Places:
    """Places of a table with a row for each, whose parent is given by its name."""
    lacking = [name for name in ("name", "type") if name not in rows[0][1]]
    if lacking:
        raise DataError(f"a table of places with parents needs the columns name and type; {lacking[0]} is not there")
    codes_of_name: dict[str, list[int]] = {}
    for code, (line, row) in enumerate(rows):
        if not row["name"]:
            raise DataError(f"line {line}: the place has no name")
        codes_of_name.setdefault(folded(row["name"]), []).append(code)
    parents = [_parent(line, row["parent"], codes_of_name) for line, row in rows]
    types = [_type_at(line, row["type"]) for line, row in rows]
    line_of: dict[tuple[str, int], int] = {}
    for code, (line, row) in enumerate(rows):
        _check_way_up(code, parents, line)
        earlier = line_of.setdefault((row["name"], parents[code]), line)
        if earlier != line:
            raise DataError(f"line {line}: name and parent are those of line {earlier}")
        if parents[code] >= 0 and LEVELS[types[parents[code]]] < LEVELS[types[code]]:
            raise DataError(f"line {line}: the type {types[code]} is larger than {types[parents[code]]}, its parent's")
    return _places([row["name"] for _, row in rows], types, parents, rows)


def _parent(line: int, name: str, codes_of_name: Mapping[str, Sequence[int]]) -> int:
    if not name or folded(name) == folded(WORLD):
        return -1
    found = codes_of_name.get(folded(name), ())
    if not found:
        raise DataError(f"line {line}: the parent has no row of its own; add one")
    if len(found) > 1:
        raise DataError(f"line {line}: {len(found)} rows have the name of the parent; give a path in each row instead")
    return found[0]


def _check_way_up(code: int, parents: Sequence[int], line: int) -> None:
    passed = {code}
    while (code := parents[code]) >= 0:
        if code in passed:
            raise DataError(f"line {line}: the parents of this place lead back to a place that was passed already")
        passed.add(code)


def _type_at(line: int, text: str) -> str:
    kind = known_type(text)
    if kind is None or kind == WORLD:
        allowed = ", ".join(name for name in LEVELS if name != WORLD)
        raise DataError(f"line {line}: the type is not known; the types are {allowed}")
    return kind


def _places_of_paths(rows: Rows) -> Places:
    """Places of a table with a path in each row: every part of it is a place, the same as in other rows if all that
    holds it is the same."""
    others = [name for name in rows[0][1] if name not in ("alternatives", "population")]
    typed = [(name, known_type(name)) for name in others]
    unknown = [name for name, kind in typed if kind is None]
    if unknown or not typed:
        raise DataError(
            "a table of places has the columns name, type and parent, or columns named after types: "
            + ", ".join(LEVELS)
        )
    from_the_top = sorted(typed, key=lambda column: -LEVELS[column[1] or OTHER])
    codes: dict[tuple[tuple[str, str], ...], int] = {}
    parents: list[int] = []
    last: dict[int, tuple[int, Mapping[str, str]]] = {}
    for line, row in rows:
        path: tuple[tuple[str, str], ...] = ()
        code = -1
        for column, kind in from_the_top:
            if row[column] and kind is not None and kind != WORLD:
                path = (*path, (row[column], kind))
                above, code = code, codes.setdefault(path, len(codes))
                if code == len(parents):
                    parents.append(above)
        if code < 0:
            raise DataError(f"line {line}: the path has no places")
        if code in last:
            raise DataError(f"line {line}: this path stands in line {last[code][0]} already")
        last[code] = line, row
    blank: tuple[int, Mapping[str, str]] = (0, {})
    named = [path[-1] for path in codes]
    return _places(
        [name for name, _ in named], [kind for _, kind in named], parents, [last.get(c, blank) for c in codes.values()]
    )


def _places(names: Sequence[str], types: Sequence[str], parents: Sequence[int], rows: Rows) -> Places:
    """Places with the populations and alternative names of their rows."""
    populations = []
    for line, row in rows:
        given = row.get("population") or "0"
        if not given.isdecimal():
            raise DataError(f"line {line}: the population is not a whole number")
        populations.append(int(given))
    alternatives = (tuple(map(folded, split_alternatives(row.get("alternatives", "")))) for _, row in rows)
    return Places(tuple(names), tuple(types), tuple(parents), tuple(populations), tuple(alternatives))


@dataclass(frozen=True)
class ResolvedLocations:
    """The tree of the locations of a file, and which of them each name means.

    Names that nobody knows, and with them ambiguous ones, are World; `records_at_world` counts the records that have
    such a name or none (`missing` of them). For ambiguous names the number of places is told. `untyped` are names whose
    place has only types that Table 6.1 does not list; they are at level 0.
    """

    tree: LocationTree
    of_name: Mapping[str, int]
    unknown: tuple[str, ...] = ()
    ambiguous: Mapping[str, int] = field(default_factory=dict)
    untyped: tuple[str, ...] = ()
    missing: int = 0
    records_at_world: int = 0

    def codes(self, names: Iterable[object]) -> IntArray:
        """The codes of the locations of a column; World for missing ones."""
        found = []
        for name in names:
            key = _name_of(name)
            if key is not None and key not in self.of_name:
                raise ParameterError("a name was not among those that were resolved; resolve all names of the column")
            found.append(self.tree.root if key is None else self.of_name[key])
        return np.array(found, dtype=np.int64)

    def hierarchy(self, *, fill: Fill = "repeat") -> Hierarchy:
        """A hierarchy whose categories are the names themselves, for an attribute of an ordinary table."""
        return self.tree.hierarchy(list(self.of_name.values()), list(self.of_name), fill=fill)

    @cached_property
    def note(self) -> str:
        """One sentence on what was found and what was not."""
        found = {name: code for name, code in self.of_name.items() if name not in {*self.unknown, *self.ambiguous}}
        return (
            f"found {len(found):,} of {count(len(self.of_name), 'name')}, at "
            f"{count(len(set(found.values())), 'location')}; unknown: {len(self.unknown):,}; more than one place: "
            f"{len(self.ambiguous):,}; at {WORLD}: {count(self.records_at_world, 'record')}, of these without a name: "
            f"{self.missing:,}"
        )


def location_tree(
    names: Iterable[object], provider: GeoProvider, *, continent_of: Mapping[str, str] | None = None
) -> ResolvedLocations:
    """Build the tree of all locations that occur in a column (Marés 2013, Algorithm 15).

    Each distinct name is asked for once. A chain that ends with a country gets its continent, and every chain World;
    every value above a location is then in the tree, too. `continent_of` tells the continents of countries by name;
    without it those of the gazetteer are taken.

    >>> found = location_tree(["Brooklyn, NY", "Wien", "Middle-earth", "Springfield"], GazetteerProvider())
    >>> found.unknown, found.ambiguous
    (('Middle-earth',), {'Springfield': 8})
    """
    counts: dict[str, int] = {}
    missing = 0
    for value in names:
        key = _name_of(value)
        if key is None:
            missing += 1
        else:
            counts[key] = counts.get(key, 0) + 1
    known = None if continent_of is None else {folded(country): name for country, name in continent_of.items()}
    chains: dict[str, list[tuple[str, str]]] = {}
    unknown, untyped = [], []
    ambiguous: dict[str, int] = {}
    for name in counts:
        answer = provider.chain(name)
        if isinstance(answer, Ambiguous):
            ambiguous[name] = answer.places
        elif not answer:
            unknown.append(name)
        else:
            chain = typed_chain(answer)
            untyped += [name] if chain[0][1] == OTHER else []
            chains[name] = completed_chain(chain, known)
    others = _other_names(chains)
    tree = LocationTree.of(chains.values(), others)
    of_name = {
        name: tree.code([value for value, _ in chains[name]]) if name in chains else tree.root for name in counts
    }
    at_world = missing + sum(counts[name] for name in (*unknown, *ambiguous))
    return ResolvedLocations(tree, of_name, tuple(unknown), ambiguous, tuple(untyped), missing, at_world)


def typed_chain(chain: Chain) -> list[tuple[str, str]]:
    """A geocoder's answer with one type for each value: the first known one other than Political, or Political where it
    stands alone. Values without one are left out, but for the location itself, which is then of the type Other."""
    typed = []
    for place, (value, given) in enumerate(chain):
        words = [given] if isinstance(given, str) else list(given)
        known = [kind for kind in map(known_type, words) if kind is not None]
        chosen = next(
            (kind for kind in known if kind != "Political"), "Political" if known and len(words) == 1 else None
        )
        if chosen is not None:
            typed.append((value, chosen))
        elif place == 0:
            typed.append((value, OTHER))
    return typed


def completed_chain(chain: Sequence[tuple[str, str]], continent_of: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """The chain with the continent of its country, where that is known by its compared name, and World."""
    whole = [element for element in chain if element[1] != WORLD]
    if whole and whole[-1][1] == "Country":
        known = continents() if continent_of is None else continent_of
        continent = known.get(folded(whole[-1][0]))
        whole += [(continent, "Continent")] if continent else []
    return [*whole, (WORLD, WORLD)]


def _other_names(chains: Mapping[str, Sequence[tuple[str, str]]]) -> dict[tuple[str, ...], list[str]]:
    """For each location the names in the file that are not its own."""
    others: dict[tuple[str, ...], list[str]] = {}
    for name, chain in chains.items():
        if name != chain[0][0] and "|" not in name:
            others.setdefault(tuple(value for value, _ in chain), []).append(name)
    return others


def _name_of(value: object) -> str | None:
    """The text of a cell; nothing for an empty or missing one."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    text = str(value)
    return text if text.strip() else None
