"""A table longer than memory described attribute by attribute, in one pass over its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.engines.stored import StoredTable
from microveil.engines.stored_facts import KnownFacts
from microveil.errors import DataError
from microveil.microdata import Microdata, Schema
from microveil.microdata.description import TableOfAttributes, missing_cells, row_of
from microveil.microdata.frames import open_frame
from microveil.microdata.hints import hints
from microveil.microdata.tables import Several
from microveil.numerics.statistics.moment_sums import ColumnSums
from microveil.progress import Progress, silent

if TYPE_CHECKING:
    from microveil.engines.large import LargeMicrodata

MOST_DISTINCT = 100_000  # distinct values that are told apart
_LOOKED_AT = 100_000  # records, the first ones, by which columns look like something else


class LargeDescription(TableOfAttributes):
    """A table longer than memory described, as `Description` does it of one that is not.

    Means, deviations and missing cells are those of all records. Distinct values are counted exactly up to 100,000; of
    more, `distinct_above` says so. Hints rest on the first 100,000 records.
    """


def described(data: LargeMicrodata, progress: Progress = silent) -> LargeDescription:
    """What the columns of a stored table are."""
    table, schema = data.table, data.schema
    facts = KnownFacts(len(table), schema, {})

    def of_part(part: int) -> Several:
        held = table.part(part, schema, facts)
        return Several(tuple(_Column.of(held, name) for name in schema.names))

    found = data.engine.added(of_part, len(table.pieces), progress, "describing the table").found
    looks = hints(first_records(table, schema))
    rows = []
    for attribute, column in zip(schema, found, strict=True):
        row = row_of(attribute, looks.get(attribute.name)) | column.in_words(len(table))
        rows.append(row | ({"level": attribute.level} if attribute.level == "household" else {}))
    return LargeDescription(tuple(rows), len(table))


@dataclass(frozen=True)
class _Column:
    """What is known of a column in some parts: missing cells, moments of numbers, distinct values unless there are too
    many, and the first problem with its cells, if there is one."""

    missing: int
    by_codes: int
    numbers: ColumnSums | None
    distinct: pa.Array | None
    problem: str = ""

    @classmethod
    def of(cls, data: Microdata, name: str) -> _Column:
        distinct = _few([data.arrow(name).drop_null()])
        try:
            states = data.missing_states(name)
            numbers = ColumnSums.of(data.matrix([name])) if data[name].kind == "numeric" else None
        except DataError as problem:  # what one looks for here, so it must not end the description
            return cls(0, 0, None, distinct, f"{problem}, counted from record {data.range_of_places.start + 1:,} on")
        return cls(int((states > 0).sum()), int((states > 1).sum()), numbers, distinct)

    def __add__(self, other: _Column) -> _Column:
        return _Column(
            self.missing + other.missing,
            self.by_codes + other.by_codes,
            None if self.numbers is None or other.numbers is None else self.numbers + other.numbers,
            None if self.distinct is None or other.distinct is None else _few([self.distinct, other.distinct]),
            self.problem or other.problem,
        )

    def in_words(self, records: int) -> dict[str, Any]:
        """The entries of a row of a description."""
        row: dict[str, Any] = {"distinct": None if self.distinct is None else len(self.distinct)}
        if self.distinct is None:
            row["distinct_above"] = MOST_DISTINCT
        if self.problem:
            return row | {"looks_like": "problem", "hint": self.problem}
        row |= missing_cells(records, self.missing, self.by_codes)
        if self.numbers is not None and self.missing < records:
            row |= {
                "mean": float(self.numbers.means[0]),
                "standard_deviation": float(self.numbers.deviations[0]),
            }
        return row


def _few(columns: Sequence[pa.Array]) -> pa.Array | None:
    """The distinct values of some columns; nothing where there are too many. Lists and the like count by their form."""
    cells = pa.concat_arrays(columns)
    try:
        distinct = pc.unique(cells)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        distinct = pa.array(np.unique([repr(cell) for cell in cells.to_pylist()]))
    return distinct if len(distinct) <= MOST_DISTINCT else None


def first_records(table: StoredTable, schema: Schema) -> Microdata:
    """The records by which columns look like something else."""
    read: list[pa.Table] = []
    for part in range(len(table.pieces)):
        if sum(map(len, read)) >= _LOOKED_AT:
            break
        read.append(table.read(part, schema.names))
    return Microdata(open_frame(pa.concat_tables(read).slice(0, _LOOKED_AT)), schema)
