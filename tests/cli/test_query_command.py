"""The commands that ask a table, and the one that serves it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

Run = Callable[..., Any]
PEOPLE = "id,age,sex,income\n" + "".join(
    f"{number},{20 + number % 70},{'FM'[number % 2]},{1000 + 37 * number % 900}\n" for number in range(200)
)
DECLARED = ("--identifiers", "id", "--confidential", "income", "--engine", "arrays")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE, encoding="utf-8")
    return path


def test_a_question_is_answered_or_refused_with_its_reason(run: Run, people: Path) -> None:
    asked = ("--ask", "SELECT COUNT(*) FROM data WHERE age >= 80 AND sex = 'F'", "--json")
    done = run("query", people, *DECLARED, "--control", "set-size k=5", *asked)
    assert (done.status, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told == {"question": "COUNT(*) WHERE age >= 80 AND sex = 'F'", "answer": 10, "refused": False}
    done = run("query", people, *DECLARED, "--control", "set-size k=11", *asked)
    told = json.loads(done.stdout)
    assert done.status == 0
    assert (told["answer"], told["refused"], told["control"]) == (None, True, "set-size")
    assert told["reason"] == "the query set must have at least 11 records, and at most 11 fewer than all"


def test_duckdb_is_the_usual_engine(run: Run, people: Path) -> None:
    done = run("query", people, "--ask", "SELECT SUM(income) FROM data WHERE sex = 'F'", "--control", "none", "--json")
    assert json.loads(done.stdout)["answer"] == sum(1000 + 37 * number % 900 for number in range(0, 200, 2))
    assert "no attribute is declared confidential" in done.stderr


def test_parquet_is_asked_like_any_table(run: Run, people: Path, tmp_path: Path) -> None:
    parquet = tmp_path / "people.parquet"
    pq.write_table(csv.read_csv(people), parquet)
    asked = ("--ask", "SELECT SUM(income) FROM data WHERE sex = 'F'", "--exact", "--json")
    told = [run("query", path, *DECLARED, "--control", "set-size k=5", *asked).stdout for path in (people, parquet)]
    assert told[0] == told[1]
    assert json.loads(told[0])["answer"] is not None
    done = run("query", people, *DECLARED, "--control", "rounding", *asked)
    assert json.loads(done.stdout)["reason"] == "answers are not exact here (rounding)"


def test_several_questions_and_a_table(run: Run, people: Path) -> None:
    asked = ("--ask", "SELECT AVG(income) FROM data", "--ask", "SELECT sex, COUNT(*) FROM data GROUP BY sex")
    done = run("query", people, *DECLARED, "--control", "none", *asked)
    assert done.status == 0
    assert done.stdout.splitlines()[0].startswith("14")
    assert "COUNT(*) GROUP BY sex" in done.stdout
    plain = json.loads(run("query", people, *DECLARED, "--control", "none", *asked, "--json").stdout)
    assert [cell["answer"] for cell in plain[1]["cells"]] == [100, 100]


def test_earlier_calls_count_with_a_log_and_are_spoken_of_without(run: Run, people: Path, tmp_path: Path) -> None:
    log = tmp_path / "questions.log"
    first = ("--ask", "SELECT SUM(income) FROM data WHERE sex = 'F'", "--analyst", "alice")
    second = ("--ask", "SELECT SUM(income) FROM data WHERE sex = 'F' AND NOT age = 20", "--analyst", "bob")
    third = ("--ask", "SELECT SUM(income) FROM data WHERE sex = 'F' AND NOT age IN (20, 22)")
    for asked in (first, second):
        assert not json.loads(run("query", people, *DECLARED, "--log", log, *asked, "--json").stdout)["refused"]
    assert not json.loads(run("query", people, *DECLARED, "--log", log, *third, "--json").stdout)["refused"]
    alone = ("--ask", "SELECT SUM(income) FROM data WHERE id = 1")
    assert run("query", people, *DECLARED, "--log", log, *alone).status == 2
    assert "without --log" in run("query", people, *DECLARED, *first).stderr
    lines = log.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line).get("analyst") for line in lines] == [None, "alice", "bob", "analyst", "analyst"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--ask", "SELECT * FROM read_csv('/etc/passwd')"), "refused: there is one table"),
        (("--ask", "DROP TABLE data"), "refused: DROP is not allowed"),
        (("--ask", "SELECT COUNT(*) FROM data", "--control", "nobody"), "unknown control 'nobody'"),
        (("--ask", "SELECT COUNT(*) FROM data", "--control", "set-size k=0"), "set-size: k = 0 is not allowed"),
        (("--ask", "SELECT COUNT(*) FROM data", "--control", "set-size 5"), "a control is a name and its parameters"),
        (("--ask", "SELECT COUNT(*) FROM data", "--engine", "spark"), "the engine is duckdb or arrays"),
        (("--ask", "SELECT COUNT(*) FROM data", "--log", "people.csv"), "the log must be another file"),
        ((), "Missing option '--ask'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    run: Run, people: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = run("query", people, "--engine", "arrays", "--confidential", "income", *arguments)
    assert done.status == 2
    problem = [line for line in done.stderr.splitlines() if line.startswith("microveil:")]
    assert len(problem) == 1
    assert sentence in problem[0]


@pytest.mark.parametrize(("named", "analyst"), [(("--analyst", "alice"), "alice"), ((), "analyst")])
def test_the_service_answers_until_it_is_stopped(
    people: Path, tmp_path: Path, named: tuple[str, ...], analyst: str
) -> None:
    command = [sys.executable, "-m", "microveil.cli", "serve-queries", str(people), *DECLARED, *named,
               "--control", "set-size k=5", "--log", str(tmp_path / "questions.log"), "--pace", "0"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address, told = process.stdout.readline().strip(), process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    name, _, token = told.partition(": ")
    assert name == analyst

    def post(path: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
        body = b"" if content is None else json.dumps(content).encode()
        request = urllib.request.Request(f"{address}{path}", body, {"Authorization": f"Bearer {token}"}, method="POST")
        with urllib.request.urlopen(request, timeout=20) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    session = post("/sessions")["session"]
    answer = post("/questions", {"session": session, "number": 1, "ask": "SELECT COUNT(*) FROM data WHERE sex = 'F'"})
    assert answer["answer"] == 100
    os.kill(process.pid, signal.SIGTERM)
    assert "cancelled" in process.communicate(timeout=20)[1]
    assert process.returncode == 1
    assert len((tmp_path / "questions.log").read_text(encoding="utf-8").splitlines()) == 2


def test_the_service_refuses_nonsense_before_it_listens(run: Run, people: Path) -> None:
    for arguments, sentence in (
        (("--analyst", "alice", "--analyst", "alice"), "named twice"),
        (("--analyst", " "), "an analyst has a name"),
        (("--analyst", "alice", "--pace", "-1"), "the pace"),
        (("--analyst", "alice", "--port", "70000"), "65535"),
    ):
        done = run("serve-queries", people, *DECLARED, *arguments)
        assert done.status == 2
        assert sentence in done.stderr
