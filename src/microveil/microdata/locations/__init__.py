"""Locations: a tree of places with types and levels, a gazetteer, and the way from written names to the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microveil.entries import offered

if TYPE_CHECKING:
    from microveil.microdata.locations.gazetteer import Places
    from microveil.microdata.locations.resolving import (
        Ambiguous,
        GazetteerProvider,
        GeoProvider,
        ResolvedLocations,
        TableProvider,
        location_tree,
    )
    from microveil.microdata.locations.tree import LEVELS, WORLD, LocationTables, LocationTree

__all__ = [
    "LEVELS",
    "WORLD",
    "Ambiguous",
    "GazetteerProvider",
    "GeoProvider",
    "LocationTables",
    "LocationTree",
    "Places",
    "ResolvedLocations",
    "TableProvider",
    "location_tree",
]

_HOMES = {
    "tree": ("LEVELS", "WORLD", "LocationTables", "LocationTree"),
    "gazetteer": ("Places",),
    "resolving": (
        "Ambiguous",
        "GazetteerProvider",
        "GeoProvider",
        "ResolvedLocations",
        "TableProvider",
        "location_tree",
    ),
}
# each is imported when it is first used, and the gazetteer is read when a name is first looked up
__getattr__, __dir__ = offered(
    globals(),
    {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names},
    __all__,
)
