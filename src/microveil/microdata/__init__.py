"""Tables of records with a schema: what they are, how they are read and written, and sample data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microveil.entries import offered

if TYPE_CHECKING:
    from microveil.microdata.hierarchy import Hierarchy, Intervals
    from microveil.microdata.microdata import Categories, Microdata, Numbers
    from microveil.microdata.schema import Attribute, Kind, MissingPolicy, Role, Schema

__all__ = [
    "Attribute",
    "Categories",
    "Hierarchy",
    "Intervals",
    "Kind",
    "Microdata",
    "MissingPolicy",
    "Numbers",
    "Role",
    "Schema",
]

_HOMES = {
    "schema": ("Attribute", "Kind", "MissingPolicy", "Role", "Schema"),
    "microdata": ("Categories", "Microdata", "Numbers"),
    "hierarchy": ("Hierarchy", "Intervals"),
}
# each is imported when it is first used: a process that only reads a file must start quickly
__getattr__, __dir__ = offered(
    globals(),
    {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names},
    __all__,
)
