"""Tables that every method and measure is tried on."""

from __future__ import annotations

from typing import Any

import pytest

from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.microdata.schema import Schema

FRAMES = ("pandas", "polars", "pyarrow")


def to_frame(data: Microdata, library: str) -> Any:
    """The table as a frame of another library, the pandas one with an index of its own."""
    table = data.frame.to_arrow()
    if library == "pyarrow":
        return table
    if library == "polars":
        import polars as pl

        return pl.from_arrow(table)
    frame = table.to_pandas()
    frame.index = [f"r{i}" for i in range(len(frame))]
    return frame


@pytest.fixture(scope="session")
def people() -> Microdata:
    """Two hundred persons of the sample survey, with missing cells and missing codes."""
    return survey(200, seed=11)


@pytest.fixture(scope="session")
def complete(people: Microdata) -> Microdata:
    """The same attributes without any missing cell: each filled with its first present one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {}
    for name in people.names:
        column, present = people.arrow(name), people.missing_states(name) == 0
        first = column[int(present.argmax())]
        columns[name] = pc.if_else(pa.array(present), column, first)
    return people.with_columns(columns)


def fitting(data: Microdata, kinds: tuple[str, ...]) -> list[str]:
    """The keys of the table that a method or measure can treat."""
    return [name for name in data.schema.keys if data[name].kind in kinds]


def plain(columns: dict[str, Any], kinds: tuple[str, ...]) -> Microdata:
    """A table in which every column is of the first kind given, where its values allow it."""
    data = Microdata.of(columns)
    if "numeric" in kinds:
        return data
    names = list(data.names)
    return Microdata.of(data, nominal=names) if "nominal" in kinds else Microdata.of(data, ordinal=names)


def with_policy(data: Microdata, names: list[str], policy: str) -> Microdata:
    schema = data.schema.replacing(*(data[name].changed(missing=policy) for name in names))
    return data.with_schema(Schema(schema))
