"""The process in which DuckDB answers questions: it loads the columns, or opens one file, locks itself, and serves."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any, BinaryIO

import pyarrow as pa

from microveil.microdata.files.isolation import taken_stdout
from microveil.queries.engines.duckdb import received, send
from microveil.queries.engines.landlock import restrict_to

_LOCKED = (
    "SET temp_directory = ''",  # no copy of the data on a disk
    "SET allow_community_extensions = false",
    "SET enable_external_file_cache = false",  # a file may be larger than memory
    "SET enable_external_access = false",  # neither files nor the network
    "SET lock_configuration = true",
)
_CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": 1,  # sums are made in one order
}
_OF_THE_SYSTEM = ("/proc", "/sys")  # where DuckDB finds how much memory there is when it starts


def main() -> None:
    """Serve until the other side goes away."""
    answers, source = taken_stdout(), sys.stdin.buffer
    head = json.loads(received(source) or b"{}")
    own = [] if head["file"] is None else [head["file"]]
    _warm_up()
    restrict_to(*_OF_THE_SYSTEM, *own)  # now, so that it holds for the threads that DuckDB starts
    connection, records = _opened(head, source)
    restrict_to(*own)
    _lock_process()
    send(answers, json.dumps({"ready": records}).encode())
    while True:
        request = received(source)
        if request is None:
            return
        told, content = _answer(connection, json.loads(request))
        send(answers, json.dumps(told).encode())
        if content is not None:
            send(answers, content)


def _warm_up() -> None:
    """Load what DuckDB loads when it is used, for nothing can be loaded later."""
    import duckdb

    with duckdb.connect(":memory:", config=_CONFIG) as trial:
        trial.register("incoming", pa.table({"record": [1]}))
        trial.execute("SELECT record FROM incoming").fetchnumpy()


def _opened(head: dict[str, Any], source: BinaryIO) -> tuple[Any, int]:
    """A database with the table, which cannot reach anything else from here on."""
    import duckdb

    connection = duckdb.connect(":memory:", config=_CONFIG)
    records = _load(connection, source) if head["file"] is None else _open_file(connection, head, source)
    for setting in _LOCKED:
        connection.execute(setting)
    return connection, records


def _load(connection: Any, source: BinaryIO) -> int:
    """Take the columns from the pipe into memory."""
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
    return records


def _open_file(connection: Any, head: dict[str, Any], source: BinaryIO) -> int:
    """Let the table be a view of a Parquet file, the only file that may be read from here on."""
    path = _quoted(head["file"], "'")
    shown = [f"{_expression(connection, column, source)} AS {column['name']}" for column in head["columns"]]
    told = ", ".join(["file_row_number AS record", *shown])
    options = "file_row_number = true, hive_partitioning = false, union_by_name = false"
    connection.execute(f"CREATE VIEW data AS SELECT {told} FROM read_parquet({path}, {options})")
    connection.execute(f"SET allowed_paths = [{path}]")
    return int(connection.execute("SELECT COUNT(*) FROM data").fetchone()[0])


def _expression(connection: Any, column: dict[str, Any], source: BinaryIO) -> str:
    """What makes the values that we ask about of a column: a number, or the place of its category; else NULL."""
    cells = _quoted(column["column"], '"')
    if column["reads"] == "category":
        return _place(connection, column["name"], cells, source)
    value = f"CAST({cells} - DATE '1970-01-01' AS DOUBLE)" if column["reads"] == "date" else f"CAST({cells} AS DOUBLE)"
    missing = [f"isnan({value})", *(f"{value} = {code!r}::DOUBLE" for code in column["missing"])]
    missing += [f"{value} BETWEEN {low!r}::DOUBLE AND {high!r}::DOUBLE" for low, high in column["ranges"]]
    return f"CASE WHEN {' OR '.join(missing)} THEN NULL ELSE {value} END"


def _place(connection: Any, name: str, cells: str, source: BinaryIO) -> str:
    """The place of a category: that among those that occur, which are a type of their own, and from it that in the
    domain where others do not occur."""
    places = pa.ipc.open_stream(received(source)).read_all()
    if not len(places):
        return "CAST(NULL AS INTEGER)"
    connection.register("incoming", places)
    connection.execute(
        f"CREATE TYPE categories_of_{name} AS ENUM (SELECT CAST(value AS VARCHAR) FROM incoming ORDER BY place)"
    )
    connection.unregister("incoming")
    found = f"enum_code(TRY_CAST(CAST({cells} AS VARCHAR) AS categories_of_{name}))"
    codes = places["place"].to_pylist()
    if codes == list(range(len(codes))):
        return found
    return f"list_extract([{', '.join(map(str, codes))}], 1 + {found})"


def _quoted(text: str, sign: str) -> str:
    return sign + text.replace(sign, sign + sign) + sign


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
