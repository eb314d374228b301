"""Long tables of series into the wide form and back, and which columns of a wide table are the series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError, SchemaError, UnknownNameError, shortened
from microveil.microdata.frames import Frame, arrow_column
from microveil.microdata.ordered import is_ordered, numbers_in
from microveil.microdata.panel import Panel
from microveil.microdata.schema import Attribute, Schema
from microveil.microdata.times import in_usual_spacing, instants_of, positions_of, why_unreadable
from microveil.typing import BoolArray, FloatArray, IntArray

_MOST_CELLS = 500_000_000


# --- long into wide -----------------------------------------------------------------------------------------------


def to_wide(frame: Frame, panel: Panel) -> tuple[Frame, Panel]:
    """A long table as a wide one, with a record for each series in the order in which they first occur.

    Times may come in any order, and series may lack some: these cells are empty. Columns that are neither id, time nor
    values belong to the series as a whole, and must have one value in all its rows.
    """
    assert panel.id is not None
    assert panel.time is not None
    for name in (panel.id, panel.time, *panel.values):
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    if not len(frame):
        raise DataError("the table has no rows, so it has no series")
    unit, first = _units(frame, panel.id)
    at, times, positions = _times(frame, panel.time)
    cells = _cells(unit, at, len(first), len(times), panel)
    columns: dict[str, pa.Array] = {panel.id: arrow_column(frame, panel.id).take(pa.array(first))}
    for name in frame.columns:
        if name not in (panel.id, panel.time, *panel.values):
            columns[name] = _static(frame, name, unit, first)
    labels = [_label(time) for time in times.to_pylist()]
    if len(set(labels)) < len(labels):
        labels = [f"{label} ({i})" for i, label in enumerate(labels, start=1)]
    found: dict[str, dict[str, int]] = {}
    for variable in panel.values:
        values = arrow_column(frame, variable)
        if not (is_ordered(values.type) or pa.types.is_null(values.type)):
            raise DataError(f"the values of series must be numbers, but column '{variable}' has {_no_numbers(values)}")
        pieces = [values.take(pa.array(rows, mask=rows < 0)) for rows in cells.T]
        named = {f"{variable} {label}": piece for label, piece in zip(labels, pieces, strict=True)}
        clash = next((name for name in named if name in columns), None)
        if clash is not None:
            raise DataError(f"column '{shortened(clash)}' has the name of a value of a series; rename it")
        columns |= named
        found[variable] = {name: i for i, name in enumerate(named)}
    order = tuple(frame.columns)
    read = replace(panel, columns=found, positions=tuple(positions.tolist()), times=times, order=order)
    wide = nw.DataFrame.from_arrow(pa.table(columns), backend=frame.implementation)
    return prepared(wide, read)


def _no_numbers(column: pa.Array) -> str:
    """How many cells of a column are no numbers."""
    odd = sum(not _is_number(cell) for cell in column.to_pylist() if cell is not None)
    return f"{odd:,} that {'is none' if odd == 1 else 'are none'}"


def _is_number(cell: object) -> bool:
    try:
        float(str(cell))
    except ValueError:
        return False
    return True


def _units(frame: Frame, name: str) -> tuple[IntArray, IntArray]:
    """The series that each row belongs to, numbered as they first occur, and the first row of each."""
    column = arrow_column(frame, name)
    if column.null_count:
        raise DataError(
            f"column '{name}' says which series a row belongs to, but is empty in {column.null_count:,} rows"
        )
    unit = _codes(column)
    _, first = np.unique(unit, return_index=True)
    return unit, first.astype(np.int64)


def _codes(column: pa.Array) -> IntArray:
    """Cells as numbers in the order in which they first occur."""
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _times(frame: Frame, name: str) -> tuple[IntArray, pa.Array, FloatArray]:
    """The position of each row's time among the distinct times in their order, these times, and when they are."""
    column = arrow_column(frame, name)
    if column.null_count:
        raise DataError(f"column '{name}' has the times of the series, but is empty in {column.null_count:,} rows")
    encoded = pc.dictionary_encode(_plain_times(column))
    when = instants_of(encoded.dictionary)
    if when is None:
        raise DataError(f"the times in column '{name}' {why_unreadable(encoded.dictionary)}")
    instants, first, rank = np.unique(when, return_index=True, return_inverse=True)
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return rank.reshape(-1)[codes], encoded.dictionary.take(pa.array(first)), in_usual_spacing(instants)


def _plain_times(column: pa.Array) -> pa.Array:
    """Periods of pandas as texts such as 2024-05; other columns as they are."""
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    return pa.array([None if cell is None else str(cell) for cell in column.to_pandas()], pa.string())


def _cells(unit: IntArray, at: IntArray, units: int, times: int, panel: Panel) -> IntArray:
    """The row that holds the value of each series at each time; -1 where there is none."""
    if units * times > _MOST_CELLS:
        raise DataError(
            f"{units:,} series at {times:,} distinct times are too many cells; round the times to a common grid first"
        )
    cell = unit * times + at
    found = np.full(units * times, -1, dtype=np.int64)
    found[cell] = np.arange(len(cell))
    repeated = len(cell) - int((found >= 0).sum())
    if repeated:
        raise DataError(
            f"{repeated:,} rows repeat a time of the same series (column '{panel.time}' within '{panel.id}'); every "
            "time may occur once in a series"
        )
    return found.reshape(units, times)


def _static(frame: Frame, name: str, unit: IntArray, first: IntArray) -> pa.Array:
    """A column that has one value for each series."""
    column = arrow_column(frame, name)
    codes = _codes(column)
    differing = len(np.unique(unit[codes != codes[first][unit]]))
    if differing:
        raise DataError(
            f"column '{name}' changes within {differing:,} series; name it among the values (value={name}) or leave it "
            "out of the table"
        )
    return column.take(pa.array(first))


def _label(time: object) -> str:
    """A time as a part of the name of a column."""
    return shortened(str(time).removesuffix(" 00:00:00"))


# --- series on a common grid --------------------------------------------------------------------------------------


def prepared(wide: Frame, panel: Panel) -> tuple[Frame, Panel]:
    """Gaps filled and series resampled, as far as the panel says so."""
    if panel.length is None and panel.fill == "none":
        return wide, panel
    from microveil.numerics.series.resampling import fill_gaps, resampled

    columns = {name: arrow_column(wide, name) for name in wide.columns}
    found: dict[str, dict[str, int]] = {}
    times, positions = panel.times, panel.positions
    for variable, listed in panel.columns.items():
        matrix = np.column_stack([_numbers(columns.pop(name), name) for name in listed])
        when = np.array([panel.positions[i] for i in listed.values()])
        if panel.length is None:
            made, names = fill_gaps(matrix, when), list(listed)
        else:
            made = resampled(matrix, when, panel.length)
            names = [f"{variable} {i}" for i in range(1, panel.length + 1)]
        columns |= {name: pa.array(c, mask=np.isnan(c)) for name, c in zip(names, made.T, strict=True)}
        found[variable] = {name: i for i, name in enumerate(names)}
    if panel.length is not None:
        times = pa.array(np.arange(1, panel.length + 1))
        positions = tuple(np.arange(panel.length, dtype=np.float64).tolist())
    made_of = nw.DataFrame.from_arrow(pa.table(columns), backend=wide.implementation)
    return made_of, replace(panel, columns=found, times=times, positions=positions)


def _numbers(column: pa.Array, name: str) -> FloatArray:
    values = numbers_in(column)
    if values is None:
        raise DataError(f"attribute '{name}' is a value of a series, but holds no numbers")
    return values


# --- wide tables --------------------------------------------------------------------------------------------------


def read_wide(frame: Frame, schema: Schema, panel: Panel) -> tuple[Frame, Schema, Panel]:
    """A wide table with its panel: the columns that the patterns name, else all numeric ones without a role."""
    if panel.id is not None and panel.id not in schema:
        raise UnknownNameError("column", panel.id, schema.names)
    free = [a.name for a in schema if a.kind == "numeric" and not a.roles and a.name != panel.id]
    found: dict[str, dict[str, int]] = {}
    for variable in panel.values:
        columns = panel.matching(variable, schema.names) if panel.patterns else tuple(free)
        if not columns:
            raise DataError(
                f"no column is a value of the series '{variable}'; without patterns these are all numeric columns that "
                "have no role"
            )
        other = next((name for name in columns if schema[name].kind != "numeric"), None)
        if other is not None:
            raise DataError(f"attribute '{other}' is {schema[other].kind}, so it cannot be a value of a series")
        taken = next((name for name in columns if any(name in listed for listed in found.values())), None)
        if taken is not None:
            raise SchemaError(f"series: column '{taken}' is a value of two variables")
        if variable in schema:
            raise SchemaError(f"series: '{variable}' is the name of a column; give the series another (value=NAME)")
        found[variable] = {name: i for i, name in enumerate(columns)}
    lengths = {len(columns) for columns in found.values()}
    if len(lengths) > 1:
        raise SchemaError("series: all variables of a wide table must have as many columns as the others")
    listed = list(next(iter(found.values())))
    positions = _positions_of_names(listed)
    read = replace(panel, columns=found, positions=tuple(positions.tolist()), times=pa.array(listed))
    attributes = [a.changed(roles=(*a.roles, "series")) if a.name == panel.id and not a.roles else a for a in schema]
    frame, read = prepared(frame, read)
    names = list(frame.columns)
    described = {a.name: a for a in attributes}
    made = [described.get(name) or Attribute(name=name, kind="numeric") for name in names]
    return frame, Schema(made, read), read


def _positions_of_names(names: Sequence[str]) -> FloatArray:
    """When the columns of a wide table are, by their names; one after the other where these do not say."""
    when = positions_of(pa.array(list(names)))
    rising = when is not None and (np.diff(when) > 0).all()
    return when if when is not None and rising else np.arange(len(names), dtype=np.float64)


# --- schemas ------------------------------------------------------------------------------------------------------


def expanded_schema(given: Schema | None, panel: Panel, names: Sequence[str]) -> Schema:
    """A schema of the columns of a long table as one of the wide table: what it says of a variable holds at all
    times, and the column of series numbers has the role `series`."""
    attributes = []
    for attribute in given or ():
        if attribute.name == panel.time:
            continue
        if attribute.name == panel.id:
            roles = attribute.roles if "series" in attribute.roles else (*attribute.roles, "series")
            attribute = attribute.changed(roles=roles) if "identifier" not in attribute.roles else attribute
        if attribute.name in panel.columns:
            if attribute.kind != "numeric":
                raise SchemaError(f"attribute '{attribute.name}' holds the values of series, so it must be numeric")
            attributes += [attribute.changed(name=column) for column in panel.columns[attribute.name]]
        else:
            attributes.append(attribute)
    described = {a.name for a in attributes}
    if panel.id is not None and panel.id in names and panel.id not in described:
        attributes.append(Attribute(name=panel.id, kind="nominal", roles=("series",), missing="own category"))
    return Schema(attributes, panel)


# --- wide into long -----------------------------------------------------------------------------------------------


def to_long(frame: Frame, schema: Schema) -> tuple[Frame, Schema]:
    """A wide table as the long one that it was read from: the rows of each series in the order of their times, without
    those in which all values are missing. A series without any value, and a time at which no series has one, keep one
    such row, so that none is lost when the table is read again."""
    panel = schema.panel
    assert panel is not None
    assert panel.times is not None
    records, points = len(frame), len(panel.times)
    values = {v: _stacked(frame, listed, records, points) for v, listed in panel.columns.items()}
    present: BoolArray = np.zeros(records * points, dtype=np.bool_)
    for column in values.values():
        present |= ~column.is_null().to_numpy(zero_copy_only=False)
    by_series = present.reshape(records, points)
    by_series[~by_series.any(axis=1), 0] = True
    by_series[0, ~by_series.any(axis=0)] = True
    rows = np.flatnonzero(present)
    columns = {v: column.take(pa.array(rows)) for v, column in values.items()}
    columns[str(panel.time)] = panel.times.take(pa.array(rows % points))
    for name in schema.names:
        if panel.variable_of(name) is None:
            columns[name] = arrow_column(frame, name).take(pa.array(rows // points))
    order = [*(name for name in panel.order if name in columns), *(name for name in columns if name not in panel.order)]
    table = pa.table({name: columns[name] for name in order})
    described = {panel.variable_of(a.name) or a.name: a for a in reversed(schema.attributes)}
    attributes = [
        Attribute(name=name, kind="nominal") if name == panel.time else described[name].changed(name=name)
        for name in order
    ]
    return nw.DataFrame.from_arrow(table, backend=frame.implementation), Schema(attributes)


def _stacked(frame: Frame, listed: Mapping[str, int], records: int, points: int) -> pa.Array:
    """The columns of a variable as one column, series after series."""
    pieces: list[pa.Array | None] = [None] * points
    for name, i in listed.items():
        pieces[i] = arrow_column(frame, name)
    kinds = {piece.type for piece in pieces if piece is not None and not pa.types.is_null(piece.type)}
    kind = next(iter(kinds)) if len(kinds) == 1 else _common(kinds)
    whole = [pa.nulls(records, kind) if piece is None else piece.cast(kind, safe=False) for piece in pieces]
    order = np.arange(records * points).reshape(points, records).T.reshape(-1)
    return pa.concat_arrays(whole).take(pa.array(order))


def _common(kinds: set[pa.DataType]) -> pa.DataType:
    """A type for columns of several types: numbers unless some are texts."""
    numbers = all(pa.types.is_integer(k) or pa.types.is_floating(k) or pa.types.is_decimal(k) for k in kinds)
    return pa.float64() if numbers else pa.string()
