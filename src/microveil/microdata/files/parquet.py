"""Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from microveil.errors import FileError, is_short_of_memory
from microveil.microdata.files.inputs import unreadable
from microveil.microdata.microdata import Microdata


def read_parquet(path: Path) -> pa.Table:
    """The whole file as one table."""
    import pyarrow.parquet as parquet

    try:
        table = parquet.ParquetFile(path).read()
    except PermissionError as problem:
        raise unreadable(path, problem) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:  # also names of columns may be damaged
        if is_short_of_memory(problem):
            raise MemoryError from None
        raise FileError(path, "the Parquet file is damaged or cut off; fetch it again") from None
    return table.replace_schema_metadata(None)


def write_parquet(data: Microdata, target: Path, staged: Path) -> None:
    """The columns in the types they have."""
    import pyarrow.parquet as parquet

    table = pa.table([data.arrow(name) for name in data.names], names=list(data.names))
    try:
        parquet.write_table(table, staged)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise FileError(target, "the table has columns that Parquet cannot hold") from None
