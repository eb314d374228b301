"""Opening a table that may be longer than memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from microveil.engines.base import Engine
from microveil.engines.finding import DELIMITED, files_in
from microveil.engines.large import LargeMicrodata, complete_schema
from microveil.engines.scratch import moved_into_place, temporary_folder
from microveil.engines.stored import StoredTable, check_names
from microveil.errors import FileError, ParameterError
from microveil.microdata import Schema
from microveil.microdata.files.delimited.reader import Wishes
from microveil.microdata.files.delimited.several import DelimitedFiles
from microveil.microdata.files.formats import ending_of
from microveil.microdata.files.reading import declared_types

EngineName = Literal["duckdb", "spark"]
ENGINES: tuple[EngineName, ...] = ("duckdb", "spark")
_ROWS, _BYTES = 2**18, 2**26  # of a group in the copy of a CSV file, which is held in memory while it grows


def open(  # noqa: A001 - the name that a user types
    paths: str | Path | Sequence[str | Path],
    engine: EngineName = "duckdb",
    schema: Schema | None = None,
    *,
    session: Any = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
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
    files changes nothing. Delimiter, encoding and decimal mark of CSV files are detected unless they are given, and
    files that are not written alike are refused. `session` is a Spark session; without one, it is that which runs
    already, or one on the cluster that Spark's configuration names, or on this machine.
    """
    if engine not in ENGINES:
        raise ParameterError(f"engine = {engine!r} is not allowed; it is 'duckdb' or 'spark'")
    files = files_in(paths)
    with ExitStack() as undone:
        made: Engine | None = None
        if ending_of(files[0]) in DELIMITED:
            made = undone.enter_context(_started(engine, session))
            made.refuse_copies(files[0])
            wishes = Wishes(delimiter, encoding, decimal, declared_types(schema))
            files = _as_parquet(files, wishes, undone.enter_context(temporary_folder()))
        elif any(one is not None for one in (delimiter, encoding, decimal)):
            raise ParameterError("delimiter, encoding and decimal mark are for CSV files; these are Parquet files")
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


def _as_parquet(files: Sequence[Path], wishes: Wishes, folder: Path) -> list[Path]:
    """A copy of CSV files as Parquet files, written chunk by chunk, so that none of them has to fit into memory."""
    found = DelimitedFiles.of(files, wishes)
    check_names(files[0], found.schema.names)
    if not any(one.look.records for one in found.seen):
        raise FileError(files[0], "the table has no records")
    copies = [folder / f"{number:06d}.parquet" for number in range(len(found))]
    for number, copy in enumerate(copies):
        with moved_into_place(copy) as unfinished, pq.ParquetWriter(unfinished, found.schema) as writer:
            waiting: list[pa.Table] = []
            for table in found.tables(number):
                waiting.append(table)
                if sum(len(one) for one in waiting) >= _ROWS or sum(one.nbytes for one in waiting) >= _BYTES:
                    writer.write_table(pa.concat_tables(waiting), row_group_size=_ROWS)
                    waiting = []
            if waiting:
                writer.write_table(pa.concat_tables(waiting), row_group_size=_ROWS)
    return copies
