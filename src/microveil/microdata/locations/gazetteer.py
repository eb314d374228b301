"""Places by their names: the extract of GeoNames that comes with the package, and whatever else lists places.

GAZETTEER.md beside this file says where the extract is from and under which licence.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from microveil.microdata.locations.tree import folded

_TYPE_OF_LETTER = {
    "C": "Continent",
    "N": "Country",
    "R": "Administrative area level 1",
    "L": "Locality",
}
_DEPTH_OF_LETTER = {letter: depth for depth, letter in enumerate(_TYPE_OF_LETTER)}
_COMMAS = re.compile(r"[,;|\n]+")
_ANY_SEPARATORS = re.compile(r"[,;|\n/()]+")


@dataclass(frozen=True)
class Places:
    """Places with their types, their parents (-1 for none), their populations, and their alternative names as they are
    compared (see `folded`).

    >>> places = Places(("Austria", "Graz"), ("Country", "Locality"), (-1, 0), (9_000_000, 290_000), ((), ("gradec",)))
    >>> places.named("GRADEC"), places.named("Graz, Austria"), places.named("Graz, Styria")
    ((1,), (1,), ())
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    parents: tuple[int, ...]
    populations: tuple[int, ...]
    alternatives: tuple[tuple[str, ...], ...]

    @cached_property
    def _codes_of_name(self) -> dict[str, list[int]]:
        """The places that have a name, or an alternative one."""
        found: dict[str, list[int]] = {}
        for code, (name, others) in enumerate(zip(self.names, self.alternatives, strict=True)):
            for key in dict.fromkeys((folded(name), *others)):
                found.setdefault(key, []).append(code)
        return found

    def around(self, code: int) -> list[int]:
        """The place itself and all that hold it, the smallest first."""
        held_by = [code]
        while self.parents[held_by[-1]] >= 0:
            held_by.append(self.parents[held_by[-1]])
        return held_by

    def chain(self, code: int) -> list[tuple[str, str]]:
        """The names and types of the place itself and all that hold it."""
        return [(self.names[c], self.types[c]) for c in self.around(code)]

    def named(self, name: str) -> tuple[int, ...]:
        """All places that a text can mean, such as "Graz", "Graz, Austria" or "Springfield, Illinois, US".

        Of places in each other that have the same name, such as a country and its capital, only the largest counts: it
        is right whichever was meant.
        """
        found: set[int] = set()
        for between in (_COMMAS, _ANY_SEPARATORS):  # a slash or a bracket can belong to a name
            parts = [part for part in map(folded, between.split(name)) if part]
            for own in range(1, len(parts) + 1):  # and so can a comma
                named = self._codes_of_name.get(" ".join(parts[:own]), ())
                found.update(code for code in named if self._is_held_by(code, parts[own:]))
            if found:
                break
        return tuple(sorted(code for code in found if not found.intersection(self.around(code)[1:])))

    def _is_held_by(self, code: int, holders: Sequence[str]) -> bool:
        """Whether places with these names hold the place, each further up than the one before."""
        above = iter(self.around(code)[1:])
        return all(any(place in self._codes_of_name.get(holder, ()) for place in above) for holder in holders)

    def most_populous(self, codes: Sequence[int]) -> int:
        """The place with the most inhabitants; of equal ones the first."""
        return max(codes, key=lambda code: (self.populations[code], -code))

    def common_chain(self, codes: Sequence[int]) -> list[tuple[str, str]]:
        """The smallest place that holds all of these, with all that hold it; nothing if only the world does."""
        shared = set(self.around(codes[0])).intersection(*(self.around(code) for code in codes[1:]))
        deepest = max(shared, key=lambda code: len(self.around(code)), default=None)
        return [] if deepest is None else self.chain(deepest)


@cache
def gazetteer() -> Places:
    """The extract that comes with the package: continents, countries, first-level regions and cities above 15,000
    inhabitants."""
    packed = files("microveil.microdata.locations").joinpath("gazetteer.csv.gz").read_bytes()
    return places_of_extract(gzip.decompress(packed).decode("utf-8"))


def places_of_extract(text: str) -> Places:
    """Places as `studies/gazetteer/make_gazetteer.py` writes them: letter of the type, name, thousands of inhabitants
    and alternative names, with tabs between; each place after the one that holds it."""
    letters, names, thousands, others = zip(*(line.split("\t") for line in text.splitlines()), strict=True)
    parents = []
    held_by: list[tuple[int, int]] = []  # the places around the next one, with their depths
    for code, letter in enumerate(letters):
        depth = _DEPTH_OF_LETTER[letter]
        while held_by and held_by[-1][0] >= depth:
            held_by.pop()
        parents.append(held_by[-1][1] if held_by else -1)
        held_by.append((depth, code))
    return Places(
        names,
        tuple(_TYPE_OF_LETTER[letter] for letter in letters),
        tuple(parents),
        tuple(1000 * int(number) for number in thousands),
        tuple(tuple(listed.split("|")) if listed else () for listed in others),
    )


@cache
def continents() -> dict[str, str]:
    """The continent of each country, by its compared name."""
    places = gazetteer()
    return {
        key: places.names[places.parents[code]]
        for code, kind in enumerate(places.types)
        if kind == "Country"
        for key in (folded(places.names[code]), *places.alternatives[code])
    }
