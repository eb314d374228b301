"""Spark: the parts of a table are tasks of a cluster, whose workers read and write them in a folder that all can reach.

A task that is lost with its worker is done again by another. What it writes is moved into place when it is complete,
and is the same bytes whoever writes it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from microveil.engines.base import Engine, Result
from microveil.errors import FileError, MicroveilError, ParameterError
from microveil.progress import Progress

_RESULT = "part long, failed boolean, result binary"


class SparkEngine(Engine):
    """A cluster: a session that the caller has, or one that is started here.

    It is started on the cluster that Spark's configuration names, such as spark-submit, spark-defaults.conf or
    PYSPARK_SUBMIT_ARGS; where these name none, it runs on this machine.
    """

    name = "spark"
    _using: ClassVar[int] = 0  # how many engines work with the session that was started here; the last one stops it

    def __init__(self, session: Any = None) -> None:
        try:
            from pyspark import SparkContext
            from pyspark.sql import SparkSession
        except ImportError:
            raise ParameterError(
                "the engine spark is an extra: pip install 'microveil[spark]'; it needs Java"
            ) from None
        # a session that was there before is taken, because there can be no second one, but it is the caller's
        is_running = SparkContext._active_spark_context is not None
        self._own = session is None and (not is_running or SparkEngine._using > 0)
        if session is None and is_running:
            session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        elif session is None:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            builder: Any = SparkSession.builder
            quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
            session = builder.appName("microveil").config(map=quiet).getOrCreate()  # Spark's own default is local[*]
        SparkEngine._using += self._own
        self._session = session

    def refuse_copies(self, path: Path) -> None:
        master = str(self._session.conf.get("spark.master", "local"))
        if not master.startswith("local"):
            raise FileError(
                path, "workers on other machines cannot read CSV; give Parquet files on storage that all machines share"
            )

    def map(self, work: Callable[[int], Result], parts: int, progress: Progress, label: str) -> list[Result]:
        from pyspark import cloudpickle

        pickling: Any = cloudpickle
        carried = pickling.dumps(work)

        def tasks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            done = pickling.loads(carried)
            for batch in batches:
                for part in batch.column(0).to_pylist():
                    failed, result = False, b""
                    try:
                        result = pickling.dumps(done(part))
                    except MicroveilError as problem:  # said in one sentence to whoever asked, and not tried again
                        failed, result = True, pickling.dumps(problem)
                    yield pa.RecordBatch.from_pydict(
                        {"part": [part], "failed": [failed], "result": [result]},
                        schema=pa.schema([("part", pa.int64()), ("failed", pa.bool_()), ("result", pa.binary())]),
                    )

        from pyspark.errors import PySparkException

        try:
            rows = self._session.range(0, parts, 1, parts).mapInArrow(tasks, _RESULT).collect()
        except PySparkException as problem:  # its words are a traceback, which may hold values
            raise MicroveilError(
                f"{label}: Spark gave up after several tries ({type(problem).__name__}); its own log says why"
            ) from None
        results: list[Any] = [None] * parts
        for row in sorted(rows, key=lambda row: int(row["part"])):
            result = pickling.loads(bytes(row["result"]))
            if row["failed"]:
                raise result
            results[row["part"]] = result
        progress(1.0, label)
        return results

    def close(self) -> None:
        if not self._own:
            return
        self._own = False
        SparkEngine._using -= 1
        if not SparkEngine._using:
            self._session.stop()
