"""The cells of a study or of a search as tasks of Spark."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from microveil.progress import silent
from microveil.study.cells import Cell
from microveil.study.measuring import Outcome
from microveil.study.runner import CellWorker, Measure, Workers
from microveil.study.worker import unpacked


@dataclass(frozen=True)
class SparkWorkers(Workers):
    """So many cells at a time on the workers of a Spark session: `run_study(..., workers=SparkWorkers(8, session))`.

    Outcomes are those of processes on one machine. A task that is lost with its worker is done again by another.
    """

    session: Any = field(kw_only=False, default=None)

    def started(self, content: bytes) -> CellWorker:
        return _SparkWorker(self.session, content)


class _SparkWorker(CellWorker):
    """Hands one cell after another to Spark, and waits for it."""

    def __init__(self, session: Any, content: bytes) -> None:
        self.session, self.group = session, f"microveil-{secrets.token_hex(8)}"
        self.table = session.sparkContext.broadcast(content)

    def outcome(self, measure: Measure, cell: Cell, progress: Callable[[float], None]) -> Outcome:
        from pyspark import cloudpickle

        pickling: Any = cloudpickle
        table, asked = self.table, pickling.dumps((measure, cell))

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for _ in batches:
                of_worker, of_cell = pickling.loads(asked)
                found = pickling.dumps(of_worker(unpacked(table.value), of_cell, silent))
                yield pa.RecordBatch.from_pydict({"outcome": [found]}, schema=pa.schema([("outcome", pa.binary())]))

        self.session.sparkContext.setJobGroup(self.group, "a cell of a study", True)
        try:
            (row,) = self.session.range(0, 1, 1, 1).mapInArrow(task, "outcome binary").collect()
        except Exception as problem:
            if self.stopped:
                raise
            return Outcome(None, f"the cell was lost on the cluster ({type(problem).__name__})")
        made: Outcome = pickling.loads(bytes(row["outcome"]))
        return made

    def stop(self) -> None:
        self.stopped = True
        self.session.sparkContext.cancelJobGroup(self.group)

    def close(self) -> None:
        self.table.unpersist()
