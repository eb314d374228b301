"""DuckDB: one machine, tables longer than memory. It counts combinations; the parts are worked on by threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from microveil.engines.base import COUNT, Engine, Result
from microveil.engines.scratch import temporary_folder
from microveil.errors import DataError, ParameterError
from microveil.numerics.core.compiled import threads
from microveil.progress import Progress

if TYPE_CHECKING:
    from microveil.engines.stored import StoredTable

_MEMORY = "1500MB"  # beyond this DuckDB writes what it counts to the disk


class DuckDBEngine(Engine):
    """One machine: as many parts at a time as there are processors."""

    name = "duckdb"

    def __init__(self) -> None:
        try:
            import duckdb
        except ImportError:
            raise ParameterError("the engine duckdb is an extra: pip install 'microveil[duckdb]'") from None
        self.waiting = 4 * threads()
        self._held = ExitStack()
        spill = self._held.enter_context(temporary_folder())
        self._connection: Any = duckdb.connect(
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "threads": str(threads()),
                "memory_limit": _MEMORY,
                "temp_directory": str(spill),
                "preserve_insertion_order": "false",
            }
        )

    def map(self, work: Callable[[int], Result], parts: int, progress: Progress, label: str) -> list[Result]:
        results: list[Result] = []
        with ThreadPoolExecutor(max_workers=threads()) as pool:
            waiting = [pool.submit(work, part) for part in range(parts)]
            try:
                for done, one in enumerate(waiting, start=1):
                    results.append(one.result())
                    progress(done / parts, label)
            finally:
                for one in waiting:
                    one.cancel()
        return results

    def each(self, work: Callable[[int], Result], pieces: int, progress: Progress, label: str) -> list[Result]:
        results = []
        for piece in range(pieces):
            results.append(work(piece))
            progress((piece + 1) / pieces, label)
        return results

    def counted(self, table: StoredTable, names: Sequence[str]) -> pa.Table | None:
        alike = len({name.casefold() for name in table.names}) < len(table.names)  # DuckDB cannot tell A from a
        if alike or not table.alike or any(n in table.newer for n in names) or not table.is_of_whole_files:
            return None
        listed = ", ".join(_quoted(name) for name in names)
        query = f"SELECT {listed}, count(*) AS {_quoted(COUNT)} FROM read_parquet($files, hive_partitioning = false) "
        query += f"GROUP BY {listed}"
        import duckdb

        try:
            files = [_literal(file) for file in table.files]
            found = self._connection.sql(query, params={"files": files}).to_arrow_table()
        except duckdb.Error as problem:  # its sentences may hold values
            raise DataError(
                f"the combinations of {', '.join(names)} could not be counted ({type(problem).__name__}): there are "
                "too many of them for the memory and the disk, or a file cannot be read"
            ) from None
        if pc.sum(found[COUNT]).as_py() != len(table):
            raise DataError("the files were changed while they were read")
        types = [*(table.types[name] for name in names), pa.int64()]
        return pa.table(
            [column.cast(kind) for column, kind in zip(found.columns, types, strict=True)], names=[*names, COUNT]
        )

    def close(self) -> None:
        self._connection.close()
        self._held.close()


def _literal(file: str) -> str:
    """The name of a file in which no character stands for others."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in file)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
