"""DuckDB in a process of its own that can reach neither files nor the network.

The process gets the columns once, through a pipe, under names that we make, with categories as places in their domains;
of a table that stays in its Parquet file it gets that one path, and may read nothing else. Then it gets SQL that we
make. Its configuration is locked before the first question.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from typing import IO, Any, Protocol

import numpy as np
import pyarrow as pa

from microveil.errors import MicroveilError, ParameterError
from microveil.queries.conditions import Formula
from microveil.queries.engines import ColumnArrays, Counted
from microveil.queries.questions import Fields
from microveil.queries.stored import StoredTable
from microveil.typing import IntArray

_START = "import sys; sys.path[:] = sys.argv[1:]; from microveil.queries.engines.duckdb_worker import main; main()"
_BATCH = 1_000_000  # records that go through the pipe at once


class EngineError(MicroveilError):
    """The process of the engine has ended or did not answer; what it said stays there, for it may hold values."""


class Source(Protocol):
    """Where the process has the table from."""

    @property
    def records(self) -> int:
        """How many there are."""

    @property
    def is_number(self) -> dict[str, bool]:
        """The attributes in order, and whether each has numbers."""

    def load(self, pipe: IO[bytes], names: dict[str, str]) -> None:
        """Tell the process what it needs, with the names that the columns have there."""

    def check(self) -> None:
        """Refuse a table that has changed meanwhile."""


class ColumnSource:
    """Columns in memory, which go through the pipe."""

    def __init__(self, columns: ColumnArrays, records: int) -> None:
        self.columns, self.records = columns, records
        self.is_number = {name: column.dtype.kind == "f" for name, column in columns.items()}

    def load(self, pipe: IO[bytes], names: dict[str, str]) -> None:
        send(pipe, json.dumps({"file": None}).encode())
        # the number of records stands for a table without columns too
        kinds = [(names[name], pa.float64() if number else pa.int32()) for name, number in self.is_number.items()]
        schema = pa.schema([("record", pa.int64()), *kinds])
        with pa.ipc.new_stream(_Pipe(pipe), schema) as stream:
            for batch in _batches(self.columns, self.records, schema):
                stream.write_batch(batch)
        pipe.flush()

    def check(self) -> None:
        """Arrays of ours do not change."""


class StoredSource:
    """A Parquet file: its path goes through the pipe, and how its columns are to be read."""

    def __init__(self, table: StoredTable, fields: Fields) -> None:
        self.table, self.records = table, len(table)
        self.is_number = {name: fields[name].is_numeric for name in fields}
        self.columns = list(table.columns(fields))

    def load(self, pipe: IO[bytes], names: dict[str, str]) -> None:
        self.check()
        told = [{**described, "name": names[described["column"]]} for described, _ in self.columns]
        send(pipe, json.dumps({"file": str(self.table.path), "columns": told}).encode())
        for _, places in self.columns:
            if places is not None:
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, places.schema) as stream:
                    stream.write_table(places)
                send(pipe, sink.getvalue().to_pybytes())

    def check(self) -> None:
        self.table.check_unchanged()


class DuckDBEngine:
    """The process, as those see it who ask. One question at a time; `patience` seconds for each."""

    def __init__(self, source: Source, *, patience: float = 60.0) -> None:
        if find_spec("duckdb") is None:
            raise ParameterError('this needs DuckDB; pip install "microveil[queries]", or choose the engine arrays')
        self.source, self.is_number = source, source.is_number
        self.names = {name: f"c{number}" for number, name in enumerate(self.is_number)}
        self.patience, self.lock = patience, threading.Lock()
        self.process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        """A process that has the columns and is locked."""
        self.process = process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, *filter(None, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("MICROVEIL_DEBUG") else subprocess.DEVNULL,
            env={name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ},
            start_new_session=True,
        )
        with contextlib.suppress(BrokenPipeError):
            self.source.load(self._input, self.names)
        if self._answer() != {"ready": self.source.records}:
            self.close()
            raise EngineError("the process of DuckDB could not be started")
        return process

    @property
    def _input(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    def counted(self, where: Formula, value: str | None) -> Counted:
        total = f"SUM({self.names[value]})" if value is not None and self.is_number[value] else "0e0"
        told = self._asked("row", f"SELECT COUNT(*), {total} FROM data WHERE {self._where(where, value)}")
        return Counted(int(told["row"][0]), float(told["row"][1] or 0.0))

    def members(self, where: Formula, value: str | None) -> IntArray:
        told = self._asked("records", f"SELECT record FROM data WHERE {self._where(where, value)}")
        members: IntArray = np.frombuffer(told["records"], dtype=np.int64)
        return members

    def _where(self, where: Formula, value: str | None) -> str:
        told = where.to_sql(self.names)
        return told if value is None else f"{told} AND {self.names[value]} IS NOT NULL"

    def _asked(self, want: str, sql: str) -> dict[str, Any]:
        with self.lock:
            self.source.check()
            if self.process.poll() is not None:  # it was ended, by whomever: the question before got no answer
                self.close()
                self.process = self._started()
            with contextlib.suppress(BrokenPipeError, ValueError):
                send(self._input, json.dumps({"want": want, "sql": sql}).encode())
            answer = self._answer()
            self.source.check()
        if answer is None or "failed" in answer:
            raise EngineError("the engine could not answer this question")
        return answer

    def _answer(self) -> dict[str, Any] | None:
        """The next message; a process that does not answer in time is ended."""
        assert self.process.stdout is not None
        timer = threading.Timer(self.patience, self.process.kill)
        timer.start()
        try:
            head = received(self.process.stdout)
            if head is None:
                return None
            message: dict[str, Any] = json.loads(head)
            if message.pop("follows", False):
                message["records"] = received(self.process.stdout)
        finally:
            timer.cancel()
        return message

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError, ValueError):
                assert pipe is not None
                pipe.close()


class _Pipe:
    """A pipe as Arrow writes to it: it is not closed at the end of the table."""

    closed = False

    def __init__(self, pipe: IO[bytes]) -> None:
        self.pipe = pipe

    def write(self, content: Any) -> int:
        self.pipe.write(content)
        return len(content)

    def flush(self) -> None:
        self.pipe.flush()

    def close(self) -> None:
        self.pipe.flush()


def _batches(columns: ColumnArrays, records: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for begin in range(0, records, _BATCH):
        rows = slice(begin, min(begin + _BATCH, records))
        arrays = [pa.array(np.arange(rows.start, rows.stop, dtype=np.int64))]
        for column in columns.values():
            part = column[rows]
            if part.dtype.kind == "f":
                arrays.append(pa.array(part, mask=np.isnan(part)))
            else:
                arrays.append(pa.array(part.astype(np.int32), mask=part < 0))
        yield pa.record_batch(arrays, schema=schema)


def send(pipe: IO[bytes], content: bytes) -> None:
    """A message with its length before it."""
    pipe.write(struct.pack(">Q", len(content)))
    pipe.write(content)
    pipe.flush()


def received(pipe: IO[bytes]) -> bytes | None:
    """The next message, or None if there is none any more."""
    try:
        head = pipe.read(8)
        if len(head) < 8:
            return None
        length = struct.unpack(">Q", head)[0]
        content = pipe.read(length)
    except (OSError, ValueError):
        return None
    return content if len(content) == length else None
