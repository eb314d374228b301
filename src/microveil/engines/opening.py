"""Opening a table that may be longer than memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from microveil.engines.base import Engine
from microveil.engines.large import LargeMicrodata, complete_schema
from microveil.engines.scratch import temporary_folder
from microveil.engines.stored import DELIMITED, StoredTable, files_in
from microveil.errors import FileError, ParameterError
from microveil.microdata import Schema
from microveil.microdata.ordered import is_number

EngineName = Literal["duckdb", "spark"]
ENGINES: tuple[EngineName, ...] = ("duckdb", "spark")


def open(  # noqa: A001 - the name that a user types
    paths: str | Path | Sequence[str | Path],
    engine: EngineName = "duckdb",
    schema: Schema | None = None,
    *,
    session: Any = None,
    keys: Sequence[str] | None = None,
    confidential: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    weight: str | None = None,
    strata: Sequence[str] | None = None,
    record_id: str | None = None,
) -> LargeMicrodata:
    """A table that may be longer than memory: a folder or pattern of Parquet or CSV files with the same columns.

    The order of the records is that of the files by name. Where the schema is silent, kinds are guessed by the first
    part of the records. Random numbers are drawn by the `record_id`, if one is named: then the order of the records and
    files changes nothing. `session` is a Spark session; without one, it is that which runs already,
    or one on the cluster that Spark's configuration names, or on this machine.
    """
    if engine not in ENGINES:
        raise ParameterError(f"engine = {engine!r} is not allowed; it is 'duckdb' or 'spark'")
    files = files_in(paths)
    with ExitStack() as undone:
        made: Engine | None = None
        if files[0].suffix.lower() in DELIMITED:
            made = undone.enter_context(_started(engine, session))
            made.refuse_copies(files[0])
            files = _as_parquet(files, undone.enter_context(temporary_folder()))
        table = StoredTable.of_files(files)
        if not len(table):
            raise FileError(files[0], "the table has no records")
        complete = complete_schema(
            table, schema, keys=keys, confidential=confidential, identifiers=identifiers, weight=weight, strata=strata,
            record_id=record_id,
        )  # fmt: skip
        made = made or undone.enter_context(_started(engine, session))
        return LargeMicrodata(table, complete, made, undone.pop_all())


def _started(engine: EngineName, session: Any) -> Engine:
    if engine == "spark":
        from microveil.engines.spark_engine import SparkEngine

        return SparkEngine(session)
    from microveil.engines.duckdb_engine import DuckDBEngine

    return DuckDBEngine()


def _as_parquet(files: Sequence[Path], folder: Path) -> list[Path]:
    """CSV files read one by one, each as `read` reads it, and written as Parquet with the types of the first."""
    from microveil.microdata.files import read

    written: list[Path] = []
    types: pa.Schema | None = None
    for number, file in enumerate(files):
        data = read(file)
        table = pa.table({name: data.arrow(name) for name in data.names})
        if types is not None and table.schema != types:
            if table.column_names != types.names:
                raise FileError(file, f"has other columns than '{files[0].name}'")
            for one, other in zip(table.schema, types, strict=True):
                if one.type != other.type and not (is_number(one.type) and is_number(other.type)):
                    raise FileError(
                        file,
                        f"has other kinds of values in column '{one.name}' than '{files[0].name}', so that texts and "
                        "numbers would be mixed; put all records into one file, or into Parquet files",
                    )
            try:
                table = table.cast(types)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise FileError(file, f"has numbers for which '{files[0].name}' has no room; name it first") from None
        types = table.schema
        written.append(folder / f"{number:06d}.parquet")
        pq.write_table(table, written[-1])
    return written
