"""SQL is read by a whitelist: what the language has is understood as SQL means it, and everything else is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.errors import MicroveilError
from microveil.microdata import Microdata
from microveil.queries import QueryServer
from microveil.queries.questions import QuestionError

Serve = Callable[..., QueryServer]

UNDERSTOOD = {
    "SELECT COUNT(*) FROM data": "COUNT(*)",
    "select avg(salary) from DATA where SEX = 'F'": "AVG(salary) WHERE sex = 'F'",
    "SELECT SUM(data.salary) FROM data WHERE data.sex <> 'F'": "SUM(salary) WHERE sex = 'M'",
    "SELECT COUNT(*) FROM data WHERE sex = 'F' AND sex = 'M'": "COUNT(*) WHERE FALSE",
    "SELECT COUNT(*) FROM data WHERE NOT (sex = 'F' OR dept IN ('A'))": (
        "COUNT(*) WHERE dept IN ('B', 'C') AND sex = 'M'"
    ),
    "SELECT COUNT(*) FROM data WHERE dept = 'A' OR dept = 'B'": "COUNT(*) WHERE dept IN ('A', 'B')",
    "SELECT dept, sex, COUNT(*) FROM data GROUP BY sex, dept": "COUNT(*) GROUP BY sex, dept",
    'SELECT COUNT("salary") FROM data': "COUNT(salary)",
}


@pytest.mark.parametrize(("text", "told"), UNDERSTOOD.items())
def test_a_question_has_one_canonical_form(serve: Serve, text: str, told: str) -> None:
    server = serve()
    question = server.understood(text)
    assert server.database.fields.told(question) == told
    assert server.database.fields.from_plain(server.database.fields.to_plain(question)) == question


REFUSED = [
    "SELECT * FROM data",
    "SELECT salary FROM data",
    "SELECT sex, COUNT(*) FROM data",
    "SELECT COUNT(*), SUM(salary) FROM data",
    "SELECT COUNT(*) AS n FROM data",
    "SELECT COUNT(DISTINCT sex) FROM data",
    "SELECT COUNT(*) FROM data LIMIT 1",
    "SELECT COUNT(*) FROM data ORDER BY 1",
    "SELECT COUNT(*) FROM data HAVING COUNT(*) > 1",
    "SELECT COUNT(*) FROM data JOIN data AS b ON TRUE",
    "SELECT COUNT(*) FROM data, data",
    "SELECT COUNT(*) FROM data TABLESAMPLE 10%",
    "SELECT COUNT(*) FROM (SELECT * FROM data)",
    "SELECT COUNT(*) FROM other",
    "SELECT COUNT(*) FROM main.data",
    "SELECT COUNT(*) FROM data AS d",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) FROM '/etc/passwd'",
    "SELECT COUNT(*) FROM data WHERE salary > (SELECT AVG(salary) FROM data)",
    "SELECT COUNT(*) FROM data WHERE EXISTS (SELECT 1)",
    "SELECT COUNT(*) FROM data WHERE length(sex) > 1",
    "SELECT COUNT(*) FROM data WHERE salary + 1 > 2",
    "SELECT COUNT(*) FROM data WHERE salary = salary",
    "SELECT COUNT(*) FROM data WHERE sex LIKE 'F%'",
    "SELECT COUNT(*) FROM data WHERE sex = CAST('F' AS TEXT)",
    "SELECT COUNT(*) FROM data WHERE getenv('HOME') = 'x'",
    "SELECT COUNT(*) FROM data WHERE id = 8",
    "SELECT COUNT(*) FROM data WHERE nobody = 8",
    "SELECT COUNT(*) FROM data WHERE sex < 'M'",
    "SELECT COUNT(*) FROM data WHERE salary = 'much'",
    "SELECT COUNT(*) FROM data WHERE salary > 1e400",
    "SELECT COUNT(*) FROM data WHERE salary > " + "9" * 400,
    "SELECT COUNT(*) FROM data WHERE salary > 1 -- all of them",
    "SELECT COUNT(*) /* hidden */ FROM data",
    "SELECT COUNT(*) FROM data; DROP TABLE data",
    "SELECT COUNT(*) FROM data UNION SELECT 1",
    "WITH x AS (SELECT 1) SELECT COUNT(*) FROM data",
    "SELECT COUNT(*) OVER () FROM data",
    "SELECT COUNT(*) FILTER (WHERE sex = 'F') FROM data",
    "SELECT SUM(sex) FROM data",
    "SELECT SUM(*) FROM data",
    "SELECT SUM(salary * 2) FROM data",
    "SELECT STDDEV(salary) FROM data",
    "SELECT salary, COUNT(*) FROM data GROUP BY salary",
    "SELECT COUNT(*) FROM data GROUP BY ROLLUP (sex)",
    "SELECT COUNT(*) FROM data GROUP BY sex, sex",
    "COPY data TO 'x.csv'",
    "ATTACH 'x.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "SET enable_external_access = true",
    "CREATE TABLE x AS SELECT 1",
    "DROP TABLE data",
    "INSERT INTO data VALUES (1)",
    "DELETE FROM data",
    "EXPLAIN SELECT COUNT(*) FROM data",
    "",
    ";",
    "what is the mean income?",
    "SELECT COUNT(*) FROM data WHERE " + " AND ".join(["sex = 'F'"] * 5000),
    "SELECT COUNT(*) FROM data WHERE " + "(" * 400 + "sex = 'F'" + ")" * 400,
    "SELECT COUNT(*) FROM data WHERE " + "NOT " * 200 + "sex = 'F'",
    "SELECT COUNT(*) FROM data WHERE sex = 'F' \x00",
    "\x1b[2J",
]


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_anything_else_is_refused_in_one_sentence_and_logged(serve: Serve, text: str) -> None:
    server = serve()
    answer = server.ask(text)
    assert answer.is_refused
    assert answer.control == "language"
    assert answer.reason is not None
    assert "\n" not in answer.reason
    assert len(answer.reason) < 400
    entry = server.log.entries[-1]
    assert (entry["outcome"], entry["control"]) == ("refused", "language")
    assert text.startswith(entry["asked"].removesuffix("...")[:100])


@pytest.mark.parametrize(
    "plain",
    [
        None, [], 5, {}, {"statistic": "count", "more": 1}, {"statistic": "variance"}, {"statistic": "sum"},
        {"statistic": "count", "by": "sex"}, {"statistic": "count", "where": [5]}, {"statistic": ["count"]},
        {"statistic": "count", "where": [{"attribute": "sex", "is": "like", "than": "F"}]},
        {"statistic": "count", "where": [{"attribute": "salary", "is": ">", "than": True}]},
        {"statistic": "count", "where": [{"attribute": "salary", "is": ">", "than": [1]}]},
        {"statistic": "count", "where": [{"attribute": "salary", "is": "between", "than": [1]}]},
        {"statistic": "count", "where": [{"attribute": "sex", "is": "in", "than": []}]},
        {"statistic": "count", "where": [{"attribute": "sex", "than": "F", "level": 1}]},
        {"statistic": "count", "where": [{"attribute": "salary", "is": ">", "than": float("nan")}]},
        {"statistic": "count", "where": [{"attribute": "salary", "is": ">", "than": float("inf")}]},
    ],
)  # fmt: skip
def test_a_question_in_json_that_is_none_is_refused(serve: Serve, plain: object) -> None:
    server = serve()
    answer = server.ask(plain)  # type: ignore[arg-type]
    assert answer.control == "language"


@pytest.mark.parametrize("text", ["CALL pragma_version()", "EXPLAIN SELECT COUNT(*) FROM data", "VACUUM FULL x"])
def test_what_analysts_write_is_not_repeated_on_the_terminal(
    serve: Serve, text: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    assert serve().ask(text).is_refused
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_nesting_without_end_is_refused(serve: Serve) -> None:
    nested: object = {"attribute": "sex", "than": "F"}
    for _ in range(3000):
        nested = {"not": nested}
    assert serve().ask({"statistic": "count", "where": nested}).control == "language"


def test_an_unknown_category_is_no_channel_unless_categories_are_public(serve: Serve, employees: Microdata) -> None:
    assert serve().ask("SELECT COUNT(*) FROM data WHERE sex = 'X'").value == 0
    declared = employees.with_schema(employees.schema.replacing(employees["sex"].changed(domain=("F", "M", "X"))))
    assert serve(data=declared).ask("SELECT COUNT(*) FROM data WHERE sex = 'X'").value == 0
    reason = serve(data=declared).ask("SELECT COUNT(*) FROM data WHERE sex = 'Y'").reason
    assert reason is not None
    assert "unknown category of 'sex' 'Y'" in reason


def test_generalisations_are_asked_by_their_level() -> None:
    people = mv.datasets.survey(300, seed=3)
    schema = people.schema.replacing(people["age"].changed(hierarchy=mv.Intervals.of([[30, 50, 70], [50]])))
    server = mv.QueryServer(people.with_schema(schema), [], engine="arrays")
    ages = people.numbers("age").values
    asked = "SELECT COUNT(*) FROM data WHERE generalise(age, 1) IN ('[30, 50)', '>= 70')"
    assert server.ask(asked).value == np.sum(((ages >= 30) & (ages < 50)) | (ages >= 70))
    assert server.ask("SELECT COUNT(*) FROM data WHERE generalise(age, 2) = '< 50'").value == np.sum(ages < 50)
    for wrong in (
        "generalise(age, 7) = 'x'",
        "generalise(age, 1) = 'x'",
        "generalise(sex, 1) = 'x'",
        "generalise(age)",
    ):
        assert server.ask(f"SELECT COUNT(*) FROM data WHERE {wrong}").control == "language"


# --- the meaning of SQL, missing values included, is that of DuckDB reading the text itself ------------------------

ROWS = {
    "x": [1.0, 2.0, None, 4.0, 2.5, None, 7.0, 1.0],
    "c": ["a", "b", None, "c", "a", "b", None, "c"],
    "v": [10.0, None, 30.0, 40.0, None, 60.0, 70.0, 80.0],
}
LITERALS = st.sampled_from(
    ["x > 2", "x <= 2.5", "x = 1", "x <> 1", "x BETWEEN 1 AND 2.5", "x IN (1, 7)", "x NOT IN (2, 4)", "x IS NULL",
     "x IS NOT NULL", "2 < x", "c = 'a'", "c <> 'b'", "c IN ('a', 'c')", "c NOT IN ('a')", "c IS NULL", "c IS NOT NULL"]
)  # fmt: skip
FORMULAS = st.recursive(
    LITERALS,
    lambda inside: st.one_of(
        inside.map("NOT ({})".format),
        st.tuples(inside, st.sampled_from(["AND", "OR"]), inside).map("({0[0]}) {0[1]} ({0[2]})".format),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[QueryServer, QueryServer, duckdb.DuckDBPyConnection]]:
    table = Microdata.of(pa.table(ROWS), nominal=["c"], numeric=["x", "v"])
    plain = duckdb.connect()
    plain.register("data", pa.table(ROWS))
    with mv.QueryServer(table, [], engine="arrays") as arrays, mv.QueryServer(table, []) as engine:
        yield arrays, engine, plain
    plain.close()


@settings(max_examples=150, deadline=None)
@given(where=FORMULAS)
def test_formulas_mean_what_sql_means(
    both: tuple[QueryServer, QueryServer, duckdb.DuckDBPyConnection], where: str
) -> None:
    arrays, engine, plain = both
    for statistic in ("COUNT(*)", "SUM(v)", "COUNT(v)"):
        text = f"SELECT {statistic} FROM data WHERE {where}"
        truth = plain.execute(text).fetchone()
        assert truth is not None
        expected = truth[0] or 0
        assert arrays.ask(text).value == engine.ask(text).value == expected
    fields = arrays.database.fields
    question = arrays.understood(f"SELECT SUM(v) FROM data WHERE {where}")
    again = fields.from_plain(json.loads(json.dumps(fields.to_plain(question))))
    assert again == question
    retold = arrays.understood(
        fields.told(question)
        .replace("SUM(v)", "SELECT SUM(v) FROM data")
        .replace("FALSE", "x IN (99)")
        .replace("TRUE", "(x IS NULL OR x IS NOT NULL)")
    )
    assert arrays.ask(retold).value == arrays.ask(question).value


def test_the_engine_answers_nothing_but_our_own_sql(serve: Serve, tmp_path: Path) -> None:
    engine = serve(engine="duckdb").database.engine
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n", encoding="utf-8")
    for sql in (
        f"SELECT COUNT(*), 0 FROM read_csv('{secret}')",
        f"COPY data TO '{tmp_path / 'out.csv'}'",
        f"ATTACH '{tmp_path / 'x.db'}'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ):
        with pytest.raises(MicroveilError, match="could not answer"):
            engine._asked("row", sql)  # type: ignore[attr-defined]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.csv"]
    assert not issubclass(QuestionError, AssertionError)


def test_an_engine_that_dies_is_said_in_one_sentence_and_started_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(engine="duckdb")
    engine: Any = server.database.engine
    monkeypatch.setattr(engine.process, "poll", lambda: None)  # as if it died while it was asked
    engine.process.kill()
    with pytest.raises(MicroveilError, match="the engine could not answer this question"):
        server.ask("SELECT COUNT(*) FROM data")
    monkeypatch.undo()
    engine.process.wait()
    assert server.ask("SELECT COUNT(*) FROM data").value == 12
