"""The process in which DuckDB answers questions: it loads the columns, locks itself, and serves."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

import pyarrow as pa

from microveil.microdata.files.isolation import taken_stdout
from microveil.queries.engines.duckdb import received, send

_LOCKED = (
    "SET temp_directory = ''",  # no copy of the data on a disk
    "SET allow_community_extensions = false",
    "SET enable_external_access = false",  # neither files nor the network
    "SET threads = 1",  # sums are made in one order
    "SET lock_configuration = true",
)
_CONFIG: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


def main() -> None:
    """Serve until the other side goes away."""
    answers = taken_stdout()
    connection, records = _loaded(sys.stdin.buffer)
    _lock_process()
    send(answers, json.dumps({"ready": records}).encode())
    while True:
        request = received(sys.stdin.buffer)
        if request is None:
            return
        head, content = _answer(connection, json.loads(request))
        send(answers, json.dumps(head).encode())
        if content is not None:
            send(answers, content)


def _loaded(source: Any) -> tuple[Any, int]:
    """A database in memory with the columns, which cannot reach anything else from here on."""
    import duckdb

    connection = duckdb.connect(":memory:", config=_CONFIG)
    records = 0
    with pa.ipc.open_stream(source) as stream:
        empty = pa.Table.from_batches([], schema=stream.schema)
        connection.register("incoming", empty)
        connection.execute("CREATE TABLE data AS SELECT * FROM incoming")
        connection.unregister("incoming")
        for batch in stream:
            connection.register("incoming", pa.Table.from_batches([batch]))
            connection.execute("INSERT INTO data SELECT * FROM incoming")
            connection.unregister("incoming")
            records += len(batch)
    for setting in _LOCKED:
        connection.execute(setting)
    return connection, records


def _lock_process() -> None:
    """What the process itself cannot do any more, where the system knows such limits: write files, start programs."""
    os.chdir("/")
    sys.addaudithook(_refuse)
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
            resource.setrlimit(limit, (0, 0))


def _refuse(event: str, arguments: Any) -> None:
    if event in ("open", "socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.exec", "os.fork"):
        raise PermissionError("this process may not do that")


def _answer(connection: Any, request: dict[str, str]) -> tuple[dict[str, Any], bytes | None]:
    try:
        result = connection.execute(request["sql"])
        if request["want"] == "row":
            return {"row": list(result.fetchone())}, None
        found = result.fetchnumpy()["record"]
        found.sort()
        return {"follows": True}, found.tobytes()
    except Exception as problem:
        return {"failed": type(problem).__name__}, None
