"""Tables of records with a schema: what they are, how they are read and written, and sample data."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microveil.microdata.hierarchy import Hierarchy, Intervals
    from microveil.microdata.microdata import Categories, Microdata, Numbers
    from microveil.microdata.schema import Attribute, Kind, MissingPolicy, Role, Schema

# each is imported when it is first used: a process that only reads a file must start quickly
_HOMES = {
    "Attribute": "schema",
    "Categories": "microdata",
    "Hierarchy": "hierarchy",
    "Intervals": "hierarchy",
    "Kind": "schema",
    "Microdata": "microdata",
    "MissingPolicy": "schema",
    "Numbers": "microdata",
    "Role": "schema",
    "Schema": "schema",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'microveil.microdata' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"microveil.microdata.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
