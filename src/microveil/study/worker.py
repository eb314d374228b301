"""A worker process: it gets the table once, then one cell after another and what measures it; it answers with outcomes.

It is started as a program of its own instead of through `multiprocessing`, which would run the caller's script again.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import queue
import sys
import threading
import time
from typing import IO, Any

import pyarrow as pa

from microveil.microdata import Microdata
from microveil.microdata.files.isolation import taken_stdout
from microveil.microdata.schema import Schema
from microveil.study.measuring import Outcome

READY = "ready"
_PAUSE = 0.2  # seconds between two reports of progress


def packed(table: Microdata) -> bytes:
    """The table as a worker takes it: Arrow columns and the schema."""
    columns = pa.table({name: table.arrow(name) for name in table.names})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, columns.schema) as stream:
        stream.write_table(columns)
    return pickle.dumps((sink.getvalue(), table.schema, table.edges))


def unpacked(content: bytes) -> Microdata:
    columns, schema, edges = pickle.loads(content)
    assert isinstance(schema, Schema)
    return Microdata.of(pa.ipc.open_stream(columns).read_all(), schema, graph=edges)


def main() -> None:
    """Serve until the other side goes away, which also ends a cell that is being worked on."""
    answers = taken_stdout()
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    table = unpacked(requests.get())
    answer(answers, READY)
    while True:
        measure, cell = requests.get()
        answer(answers, measure(table, cell, _Reports(answers)))


class _Reports:
    """Progress as messages, not too many of them."""

    def __init__(self, answers: IO[bytes]) -> None:
        self.answers, self.last = answers, time.monotonic()

    def __call__(self, fraction: float, label: str, /) -> None:
        now = time.monotonic()
        if now - self.last >= _PAUSE:
            self.last = now
            answer(self.answers, fraction)


def _listen(source: IO[bytes], requests: queue.SimpleQueue[Any]) -> None:
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            requests.put(pickle.load(source))
    os._exit(0)  # nobody waits for the work any more


def answer(stream: IO[bytes], message: str | float | Outcome) -> None:
    with contextlib.suppress(BrokenPipeError):
        pickle.dump(message, stream)
        stream.flush()
