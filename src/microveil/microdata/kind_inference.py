"""Guess what kind the columns of a table are; roles are never guessed."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microveil.errors import DataError, SchemaError, nearest_name
from microveil.microdata.frames import Frame, arrow_column, ordered_intervals
from microveil.microdata.ordered import is_ordered
from microveil.microdata.schema import Attribute, Category, Schema


def infer_schema(frame: Frame, given: Schema | None = None) -> Schema:
    """A schema for every column: what is given stays, the rest is guessed from the column types.

    Numbers, dates, times and durations are numeric, truth values and text are nominal, ordered categories are ordinal.
    Missing numbers are wildcards, a missing category is a category of its own.
    """
    columns = list(frame.columns)
    if given is not None:
        for name in given.names:
            if name not in columns:
                raise SchemaError(
                    f"the schema describes '{name}', but the table has no such column{nearest_name(name, columns)}"
                )
    found = (given[name] if given and name in given else guess_attribute(frame, name) for name in columns)
    return Schema(found, None if given is None else given.panel)


def guess_attribute(frame: Frame, name: str) -> Attribute:
    """The guess for one column, from its type alone."""
    dtype = frame.schema[name]
    if dtype.is_numeric() or dtype.is_temporal() or _holds_ordered_values(frame, name):
        return Attribute(name=name, kind="numeric", missing="wildcard")
    ordered = ordered_intervals(frame, name) or _ordered_categories(frame, name)
    if ordered is not None:
        return Attribute(name=name, kind="ordinal", domain=ordered, missing="own category")
    return Attribute(name=name, kind="nominal", missing="own category")


def _ordered_categories(frame: Frame, name: str) -> tuple[Category, ...] | None:
    """The categories of a column whose type has them in order."""
    dtype = frame.schema[name]
    categories: list[Any] = []
    if isinstance(dtype, nw.Enum):
        categories = [c.item() if isinstance(c, np.generic) else c for c in dtype.categories]
    elif frame.implementation.is_pyarrow():
        column = frame.to_native()[name]
        if pa.types.is_dictionary(column.type) and column.type.ordered and column.num_chunks:
            categories = column.unify_dictionaries().chunk(0).dictionary.to_pylist()
    plain = categories and all(isinstance(category, str | int | float | bool) for category in categories)
    return tuple(categories) if plain else None


def _holds_ordered_values(frame: Frame, name: str) -> bool:
    """Whether a column of Python objects holds decimals, dates or long whole numbers."""
    if not isinstance(frame.schema[name], nw.Object | nw.Unknown):
        return False
    try:
        return is_ordered(arrow_column(frame, name).type)
    except DataError:
        return False
