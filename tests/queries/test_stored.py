"""Tables that stay in their Parquet file: the same answers as from memory, and no other file can be read."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.errors import DataError, FileError, MicroveilError, SchemaError, UnknownNameError
from microveil.microdata.schema import Schema
from microveil.queries import StoredTable
from microveil.queries.engines.duckdb import DuckDBEngine, send
from microveil.queries.server import QueryServer

NAMES = ["red 'wine'", 'a "b"', "", "ü", "-9", "NULL"]
ROLES: dict[str, Any] = {
    "identifiers": ["id"], "confidential": ["pay"], "nominal": ["zone"], "ordinal": {"size": ["s", "m", "l", "xl"]},
}  # fmt: skip


def table(records: int = 300) -> pa.Table:
    draw = np.random.default_rng(5)

    def holed(values: Any, kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind, mask=draw.random(records) < 0.1)

    pay = draw.lognormal(7, 1, records).round(1)
    return pa.table(
        {
            "id": [f"p{number}" for number in range(records)],
            "name": holed(draw.choice(NAMES, records), pa.string()),
            "zone": holed(draw.integers(-1, 4, records), pa.int16()),
            "size": holed(draw.choice(["s", "m", "xl"], records), pa.string()),
            "is 'here'": holed(draw.random(records) < 0.5, pa.bool_()),
            "Job": holed(draw.choice(["cook", "nurse"], records), pa.string()).dictionary_encode(),
            "age": holed(draw.integers(18, 90, records), pa.int8()),
            "born": holed(draw.integers(-7000, 3000, records), pa.int32()).cast(pa.date32()),
            "pay": holed(np.where(draw.random(records) < 0.05, np.nan, pay), pa.float64()),
        }
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("stored's") / "people'.parquet"
    pq.write_table(table(), found, row_group_size=70)
    return found


SCHEMA = Schema.from_plain(
    {
        "attributes": {
            "age": {"kind": "numeric", "missing_codes": [33], "missing_ranges": [[70, 72]]},
            "name": {"kind": "nominal", "missing_codes": ["-9"]},
        }
    }
)


@pytest.fixture(scope="module")
def served(path: Path) -> Iterator[tuple[QueryServer, QueryServer]]:
    stored = StoredTable(path, schema=SCHEMA, **ROLES)
    assert stored.why_in_memory is None
    with (
        mv.QueryServer(stored, [], key="demo") as one,
        mv.QueryServer(mv.read(path, schema=SCHEMA, **ROLES), [], key="demo", engine="arrays") as other,
    ):
        yield one, other


def _conditions() -> st.SearchStrategy[dict[str, Any]]:
    chosen = {
        "name": st.sampled_from(NAMES), "zone": st.integers(-1, 3), "size": st.sampled_from(["s", "m", "l", "xl"]),
        "is 'here'": st.booleans(), "Job": st.sampled_from(["cook", "nurse"]),
    }  # fmt: skip
    categories = [
        st.fixed_dictionaries({"attribute": st.just(name), "is": st.sampled_from(["=", "!="]), "than": values})
        for name, values in chosen.items()
        if name != "name"
    ]
    listed = st.fixed_dictionaries(
        {"attribute": st.just("name"), "is": st.just("in"), "than": st.lists(chosen["name"], min_size=1)}
    )
    numbers = st.sampled_from(["age", "born", "pay"]).flatmap(
        lambda name: st.fixed_dictionaries(
            {
                "attribute": st.just(name),
                "is": st.sampled_from(["<", "<=", ">", ">=", "="]),
                "than": st.integers(-8000, 3000) if name != "age" else st.integers(18, 90),
            }
        )
    )
    absent = st.sampled_from([*chosen, "age", "born", "pay"]).map(lambda name: {"attribute": name, "is": "is missing"})
    return st.one_of(*categories, listed, numbers, absent)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(_conditions(), max_size=3),
    st.sampled_from(["all", "any"]),
    st.sampled_from([("count", None), ("count", "pay"), ("sum", "pay"), ("mean", "age"), ("sum", "born")]),
)
def test_a_file_answers_what_the_table_in_memory_answers(
    served: tuple[QueryServer, QueryServer], where: list[dict[str, Any]], joined: str, asked: tuple[str, str | None]
) -> None:
    question = {"statistic": asked[0], "where": {joined: where}} | ({} if asked[1] is None else {"value": asked[1]})
    one, other = (server.ask(question) for server in served)
    assert (one.reason, one.question) == (other.reason, other.question)
    assert one.value == pytest.approx(other.value, rel=1e-12) if one.value is not None else other.value is None


def test_domains_schemas_and_public_facts_are_those_of_the_table_in_memory(
    served: tuple[QueryServer, QueryServer],
) -> None:
    one, other = served
    assert one.public_facts() == other.public_facts()
    for name in one.database.fields:
        assert one.database.fields[name] == other.database.fields[name]
        assert np.array_equal(one.database.values(name), other.database.values(name), equal_nan=True)
    assert one.database.ids == other.database.ids


@pytest.mark.parametrize(
    "control",
    ["audit", "overlap", "output-noise", "random-sample", "intervals", "lattice k=2", "cell-key", "rounding", "proxy",
     "partition by=Job k=5", "cell-suppression by=Job", "set-size k=5", "interval-audit"],
)  # fmt: skip
def test_controls_work_on_a_file(path: Path, control: str) -> None:
    asks = ["SELECT COUNT(*) FROM data WHERE Job = 'cook'", "SELECT SUM(pay) FROM data WHERE Job = 'cook'",
            "SELECT Job, AVG(pay) FROM data GROUP BY Job"]  # fmt: skip
    told = []
    ranged = Schema.from_plain({"attributes": {"pay": {"kind": "numeric", "range": [0, 100_000]}}})
    for data in (StoredTable(path, schema=ranged, **ROLES), mv.read(path, schema=ranged, **ROLES)):
        with mv.QueryServer(data, [control], key="demo") as server:
            told.append([str(server.ask(ask)) for ask in asks])
    assert told[0] == told[1]


def _failing(engine: DuckDBEngine, sql: str) -> bool:
    """Whether the process refuses a statement that no question could ever become."""
    send(engine._input, json.dumps({"want": "row", "sql": sql}).encode())
    answer = engine._answer()
    return answer is not None and "failed" in answer


@pytest.fixture(params=["file", "memory"])
def engine(request: pytest.FixtureRequest, path: Path) -> Iterator[DuckDBEngine]:
    data = StoredTable(path, **ROLES) if request.param == "file" else mv.read(path, **ROLES)
    with mv.QueryServer(data, []) as server:
        assert isinstance(server.database.engine, DuckDBEngine)
        yield server.database.engine


def test_the_process_reads_no_other_file(engine: DuckDBEngine, tmp_path: Path, path: Path) -> None:
    """Even if somebody could say what the engine is told; the secret lies beside the table, too."""
    secrets = [tmp_path / "secret.csv", path.parent / "secret.parquet", path.parent / "secret.csv"]
    pq.write_table(pa.table({"a": [1]}), secrets[1])
    secrets[0].write_text("a\n1\n", encoding="utf-8")
    secrets[2].write_text("a\n1\n", encoding="utf-8")
    link = path.parent / "link.parquet"
    if not link.exists():
        link.symlink_to(secrets[1])
    names = [
        str(name).replace("'", "''") for name in (*secrets, link, f"{path}/../secret.csv", path.parent / "*.parquet")
    ]
    for name in names:
        for read in ("read_csv", "read_parquet", "read_text", "read_blob", "read_json", "sniff_csv", "glob"):
            assert _failing(engine, f"SELECT * FROM {read}('{name}')"), read
        assert _failing(engine, f"SELECT * FROM '{name}'")
        assert _failing(engine, f"ATTACH '{name}' AS other")
    for sql in ("SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM read_blob('/proc/self/environ')",
                "INSTALL httpfs", "LOAD httpfs", "LOAD 'x.duckdb_extension'", "SELECT * FROM 'https://example.org/x.csv'",
                "SET enable_external_access = true", "SET allowed_paths = ['/etc/passwd']",
                "SET allowed_directories = ['/']", "RESET allowed_paths", "SET lock_configuration = false",
                "PRAGMA temp_directory = '/tmp'", "CREATE SECRET s (TYPE s3)"):  # fmt: skip
        assert _failing(engine, sql), sql
    assert engine.process.poll() is None


def test_the_process_writes_no_file_not_even_its_own(engine: DuckDBEngine, tmp_path: Path, path: Path) -> None:
    before = path.read_bytes()
    quoted = str(path).replace("'", "''")
    for name in (quoted, f"{tmp_path}/out.parquet", f"{tmp_path}/out.csv"):
        assert _failing(engine, f"COPY (SELECT 1 AS a) TO '{name}' (FORMAT csv, USE_TMP_FILE false)")
        assert _failing(engine, f"COPY (SELECT 1 AS a) TO '{name}' (FORMAT parquet)")
        assert _failing(engine, f"EXPORT DATABASE '{name}'")
    assert path.read_bytes() == before
    assert not list(tmp_path.iterdir())


def test_a_file_that_changes_is_not_asked_any_more(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(table(), path)
    with mv.QueryServer(StoredTable(path, **ROLES), []) as server:
        assert server.ask("SELECT COUNT(*) FROM data").value == 300
        pq.write_table(table(301), path)
        with pytest.raises(FileError, match="has changed since it was opened"):
            server.ask("SELECT COUNT(*) FROM data")


def test_a_log_belongs_to_the_file_whatever_the_engine(tmp_path: Path) -> None:
    path, log = tmp_path / "people.parquet", tmp_path / "questions.log"
    pq.write_table(table(), path)
    with mv.QueryServer(StoredTable(path, **ROLES), ["audit"], log=log) as server:
        assert not server.ask("SELECT SUM(pay) FROM data").is_refused
    with mv.QueryServer(StoredTable(path, **ROLES), ["audit"], log=log, engine="arrays") as server:
        assert server.ask("SELECT SUM(pay) FROM data WHERE age > 19").value is not None
    pq.write_table(table(301), path)
    with pytest.raises(FileError, match="another table"):
        mv.QueryServer(StoredTable(path, **ROLES), ["audit"], log=log)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda t: t.append_column("AGE", t["age"]), "names of columns"),
        (lambda t: t.append_column("when", pa.array([datetime.datetime(2020, 1, 1)] * len(t))), "column 'when'"),
        (lambda t: t.append_column("list", pa.array([[1]] * len(t))), "column 'list'"),
    ],
)
def test_what_duckdb_would_read_in_another_way_is_read_into_memory(
    tmp_path: Path, made: Callable[[pa.Table], pa.Table], why: str
) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(made(table()), path)
    stored = StoredTable(path, **ROLES)
    assert why in str(stored.why_in_memory)
    assert len(stored) == 300
    if "list" not in why:
        with mv.QueryServer(stored, []) as server:
            assert server.ask("SELECT COUNT(*) FROM data").value == 300


def test_a_pattern_in_the_name_means_the_file_of_that_name(tmp_path: Path) -> None:
    pq.write_table(table(10), tmp_path / "ab.parquet")
    pq.write_table(table(), tmp_path / "a*.parquet")
    with mv.QueryServer(StoredTable(tmp_path / "a*.parquet", **ROLES), []) as server:
        assert server.ask("SELECT COUNT(*) FROM data").value == 300


def test_folders_named_like_partitions_add_no_column(tmp_path: Path) -> None:
    (tmp_path / "age=5").mkdir()
    pq.write_table(table(), tmp_path / "age=5" / "people.parquet")
    with mv.QueryServer(StoredTable(tmp_path / "age=5" / "people.parquet", **ROLES), []) as server:
        assert server.ask("SELECT COUNT(*) FROM data WHERE age = 5").value == 0


@pytest.mark.parametrize(
    ("roles", "schema", "error"),
    [
        ({"confidential": ["wage"]}, None, UnknownNameError),
        ({"ordinal": ["name"]}, None, SchemaError),
        ({"ordinal": {"size": ["s", "m"]}}, None, DataError),
        ({}, {"attributes": {"pay": {"kind": "numeric", "range": [0, 500]}}}, DataError),
        ({}, {"attributes": {"age": {"kind": "numeric", "missing": "refuse"}}}, DataError),
        ({}, {"attributes": {"size": {"kind": "nominal", "domain": ["s"]}}}, DataError),
    ],
)
def test_what_is_wrong_is_said_in_the_same_words(
    path: Path, roles: dict[str, Any], schema: dict[str, Any] | None, error: type[MicroveilError]
) -> None:
    told = []
    described = None if schema is None else Schema.from_plain(schema)
    for opened in (StoredTable, mv.read):
        with pytest.raises(error) as caught:
            mv.QueryServer(opened(path, schema=described, **{"identifiers": ["id"], **roles}), [])
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_damaged_and_other_files_are_refused(tmp_path: Path) -> None:
    whole = tmp_path / "people.parquet"
    pq.write_table(table(), whole)
    content = whole.read_bytes()
    for name, damaged, why in (
        ("cut.parquet", content[:-200], "damaged or cut off"),
        ("holed.parquet", content[:50] + b"\0" * 3000 + content[3050:], "damaged or cut off"),
        ("empty.parquet", b"", "the file is empty"),
        ("text.parquet", b"a,b\n1,2\n", "a text file, not Parquet"),
    ):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(FileError, match=why):
            StoredTable(tmp_path / name)
    (tmp_path / "people.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(FileError, match="only Parquet files"):
        StoredTable(tmp_path / "people.csv")
    with pytest.raises(FileError, match="no such file"):
        StoredTable(tmp_path / "nobody.parquet")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Landlock is a part of Linux")
@pytest.mark.parametrize("allowed", [None, "own.txt"])
def test_a_restricted_process_reads_one_file_and_opens_nothing_else(tmp_path: Path, allowed: str | None) -> None:
    for name in ("own.txt", "other.txt"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    lines = """
import os, socket, sys
from microveil.queries.engines.landlock import restrict_to
folder, allowed = sys.argv[1], sys.argv[2] or None
done = restrict_to(*[] if allowed is None else [os.path.join(folder, allowed)])
def tried(what):
    try:
        what()
        return "done"
    except OSError as problem:
        return type(problem).__name__
def connect():
    with socket.create_server(("127.0.0.1", 0)):
        pass
print(done, *map(tried, [
    lambda: open(os.path.join(folder, "own.txt")).read(), lambda: open(os.path.join(folder, "other.txt")).read(),
    lambda: open(os.path.join(folder, "own.txt"), "a"), lambda: open(os.path.join(folder, "new.txt"), "w"),
    lambda: os.listdir(folder), lambda: os.truncate(os.path.join(folder, "own.txt"), 0),
    lambda: os.remove(os.path.join(folder, "own.txt")), connect]))
"""
    run = subprocess.run([sys.executable, "-c", lines, str(tmp_path), allowed or ""], capture_output=True, text=True)
    told = run.stdout.split()
    if told[0] == "False":
        pytest.skip("this kernel has no Landlock")
    assert told == ["True", "done" if allowed else "PermissionError", *["PermissionError"] * 7], run.stderr
    assert (tmp_path / "own.txt").read_text(encoding="utf-8") == "text"
