"""Guess what the columns of a table are. Kinds are guessed, roles are only suggested."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError, SchemaError, nearest_name
from microveil.microdata.frames import Frame, arrow_column, distinct_values, is_usable, ordered_intervals
from microveil.microdata.ordered import is_ordered
from microveil.microdata.schema import Attribute, Schema

if TYPE_CHECKING:
    from microveil.microdata.microdata import Microdata

FEW_VALUES = 12
_ENOUGH, _ALMOST_ALL = 10, 0.9
_NUMBER = r"^\s*[-+]?[0-9]+([.,][0-9]+)*\s*$"
_WEIGHT = re.compile(r"(^|[_. ])(weights?|wgt|wt|pond\w*|gewicht\w*)($|[_. ])|weight$|wgt$", re.IGNORECASE)
_HOUSEHOLD = re.compile(r"(^|[_. ])(household|hh|hid|hhid|family)[_. ]?(id|no|nr)?$", re.IGNORECASE)


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
    return Schema(given[name] if given and name in given else guess_attribute(frame, name) for name in columns)


def guess_attribute(frame: Frame, name: str) -> Attribute:
    """The guess for one column, from its type alone."""
    dtype = frame.schema[name]
    if dtype.is_numeric() or dtype.is_temporal() or _holds_ordered_values(frame, name):
        return Attribute(name=name, kind="numeric", missing="wildcard")
    if isinstance(dtype, nw.Enum) and all(isinstance(category, str) for category in dtype.categories):
        return Attribute(name=name, kind="ordinal", domain=tuple(dtype.categories), missing="own category")
    if isinstance(dtype, nw.Enum | nw.Categorical) and (intervals := ordered_intervals(frame, name)):
        return Attribute(name=name, kind="ordinal", domain=intervals, missing="own category")
    return Attribute(name=name, kind="nominal", missing="own category")


def _holds_ordered_values(frame: Frame, name: str) -> bool:
    """Whether a column of Python objects holds decimals, dates or long whole numbers."""
    if not isinstance(frame.schema[name], nw.Object | nw.Unknown):
        return False
    try:
        return is_ordered(arrow_column(frame, name).type)
    except DataError:
        return False


def almost_numbers(data: Microdata, name: str) -> str | None:
    """What to say of a text column that would be numeric but for a few cells."""
    column = data.arrow(name).drop_null()
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) or len(column) < _ENOUGH:
        return None
    numbers = pc.match_substring_regex(column, _NUMBER)
    share = pc.mean(numbers).as_py()
    if not _ALMOST_ALL <= share < 1:
        return None
    first = pc.index(pc.match_substring_regex(data.arrow(name).fill_null("0"), _NUMBER), False).as_py()
    return f"all but {len(column) - pc.sum(numbers).as_py()} values are numbers (see record {first + 1}): numeric?"


def suggestions(data: Microdata) -> dict[str, str]:
    """For columns whose guess deserves a second look, what the user may want to say about them."""
    found = {}
    for attribute in data.schema:
        if attribute.roles:
            continue
        name, distinct = attribute.name, distinct_values(data.frame, attribute.name)
        open_text = attribute.is_categorical and attribute.domain is None
        if not is_usable(data.frame, name):
            continue
        if open_text and (odd := almost_numbers(data, name)):
            found[name] = odd
        elif open_text and len(data) >= 20 and distinct == len(data):
            found[name] = "every value differs: an identifier?"
        elif attribute.kind == "numeric" and _WEIGHT.search(name):
            found[name] = "named like a weight: role weight?"
        elif _HOUSEHOLD.search(name):
            found[name] = "named like a household number: role household?"
        elif attribute.kind == "numeric" and distinct <= FEW_VALUES and len(data) > 4 * distinct:
            found[name] = f"only {distinct} different numbers: a code? kind nominal or ordinal?"
    return found
