"""Hierarchies of places for attributes that hold their names."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from microveil.microdata.frames import Frame, arrow_column
from microveil.microdata.locations.resolving import GazetteerProvider, ResolvedLocations, location_tree
from microveil.microdata.schema import Attribute, Schema, category_key


def with_places(frame: Frame, schema: Schema, names: Sequence[str]) -> Schema:
    """The schema with hierarchies from the gazetteer for these attributes, where they have none."""
    lacking = [schema[name] for name in names if schema[name].hierarchy is None]
    found = ((attribute, places_found(frame, attribute)) for attribute in lacking)
    return schema.replacing(*(a.changed(hierarchy=places.hierarchy()) for a, places in found if places is not None))


def places_found(frame: Frame, attribute: Attribute) -> ResolvedLocations | None:
    """What the gazetteer knows of the names in a column; nothing where it has none.

    Names that are not known or mean several places are somewhere in the world.
    """
    codes = set(map(category_key, attribute.missing_codes))
    held = pc.unique(arrow_column(frame, attribute.name)).drop_null().to_pylist()
    listed = [str(value) for value in (*(attribute.domain or ()), *held) if category_key(value) not in codes]
    names = list(dict.fromkeys(listed))
    return location_tree(names, GazetteerProvider()) if names else None
