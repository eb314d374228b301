"""The log: on the disk before the answer leaves, never changed, and what was asked before counts."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import microveil as mv
from microveil.errors import FileError
from microveil.microdata import Microdata
from microveil.queries import QueryServer

Serve = Callable[..., QueryServer]
WOMEN, OTHER_WOMEN = "SELECT SUM(salary) FROM data WHERE sex = 'F'", (
    "SELECT SUM(salary) FROM data WHERE sex = 'F' AND dept <> 'B'"
)  # fmt: skip


def test_what_was_asked_in_an_earlier_session_counts(serve: Serve, tmp_path: Path) -> None:
    log = tmp_path / "questions.log"
    first = serve("audit", log=log)
    assert first.ask(WOMEN, "alice").value == 268
    first.close()
    assert serve("audit", log=log).ask(OTHER_WOMEN, "bob").control == "audit"


def test_every_control_with_a_memory_remembers(employees: Microdata, serve: Serve, tmp_path: Path) -> None:
    ranged = employees.with_schema(employees.schema.replacing(employees["salary"].changed(range=(20.0, 100.0))))
    for control in ("overlap limit=1", "interval-audit width=0.2", "differential-privacy epsilon=0.5 budget=0.5"):
        log = tmp_path / control.partition(" ")[0]
        first = serve(control, data=ranged, log=log)
        answer = first.ask("SELECT SUM(salary) FROM data WHERE dept = 'B'")
        assert not answer.is_refused
        first.close()
        again = serve(control, data=ranged, log=log)
        assert again.ask("SELECT SUM(salary) FROM data WHERE sex = 'M' AND dept = 'B'").is_refused
        assert again.ask("SELECT SUM(salary) FROM data WHERE dept = 'B'").value == answer.value


def test_noise_is_the_same_in_every_session_and_unknown_without_the_log(serve: Serve, tmp_path: Path) -> None:
    log = tmp_path / "questions.log"
    first = serve("output-noise", log=log, key=None)
    answer = first.ask(WOMEN)
    first.close()
    assert serve("output-noise", log=log, key=None).ask(WOMEN).value == answer.value
    assert serve("output-noise", key=None).ask(WOMEN).value != answer.value


def test_a_table_is_remembered_cell_by_cell(serve: Serve, tmp_path: Path) -> None:
    log = tmp_path / "questions.log"
    first = serve("set-size k=2", "audit", log=log)
    cells = first.ask("SELECT dept, sex, SUM(salary) FROM data GROUP BY dept, sex").cells
    # B F and C M have one record; after the others, B and C as a whole would give them away
    assert [cell.value for _, cell in cells] == [83, 75, None, 126, 121, None]
    first.close()
    again = serve("set-size k=2", "audit", log=log)
    assert again.ask("SELECT SUM(salary) FROM data WHERE dept = 'B'").control == "audit"
    assert again.ask("SELECT SUM(salary) FROM data WHERE dept = 'A'").value == 158


def test_only_its_owner_can_read_it_and_no_cell_of_the_table_stands_in_it(serve: Serve, tmp_path: Path) -> None:
    log = tmp_path / "questions.log"
    server = serve("set-size k=3", log=log)
    server.ask(WOMEN)
    server.ask("SELECT SUM(salary) FROM data WHERE sex = 'F' AND dept = 'B'")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [line.get("outcome") for line in lines] == [None, "answered", "refused"]
    assert "64" not in json.dumps(lines[2]["asked"]) + json.dumps(lines[2]["reason"])


def test_a_log_that_was_changed_is_not_used(serve: Serve, tmp_path: Path) -> None:
    log = tmp_path / "questions.log"
    server = serve("audit", log=log)
    for dept in "AB":
        server.ask(f"SELECT SUM(salary) FROM data WHERE dept = '{dept}'")
    server.close()
    whole = log.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    for changed in (
        "".join([lines[0], lines[2]]),
        whole.replace("dept = 'A'", "dept = 'C'"),
        whole.replace('"outcome": "answered"', '"outcome": "refused"', 1),
        "nonsense\n",
        "[]\n",
    ):
        log.write_text(changed, encoding="utf-8")
        with pytest.raises(FileError, match=r"this log was changed|not a log of questions"):
            serve("audit", log=log)
    log.write_text(whole, encoding="utf-8")
    assert len(list(serve("audit", log=log).log.questions())) == 2


def test_a_line_that_was_cut_off_is_dropped(serve: Serve, tmp_path: Path) -> None:
    log = tmp_path / "questions.log"
    server = serve("audit", log=log)
    server.ask(WOMEN)
    server.close()
    with log.open("a", encoding="utf-8") as lines:
        lines.write('{"analyst": "alice", "asked": "SELECT SU')
    again = serve("audit", log=log)
    assert len(list(again.log.questions())) == 1
    again.ask("SELECT SUM(salary) FROM data WHERE dept = 'A'")
    again.close()
    assert len(list(serve("audit", log=log).log.questions())) == 2


def test_a_log_of_another_table_or_of_another_process_is_refused(
    serve: Serve, employees: Microdata, tmp_path: Path
) -> None:
    log = tmp_path / "questions.log"
    server = serve(log=log)
    with pytest.raises(FileError, match="another process is using this log"):
        serve(log=log)
    server.close()
    with pytest.raises(FileError, match="belongs to another table"):
        serve(data=employees.take(np.arange(11)), log=log)
    with pytest.raises(FileError, match="belongs to another key"):
        serve(log=log, key="other")
    with pytest.raises(FileError, match="cannot be opened"):
        serve(log=tmp_path)


_CLIENT = """
import sys, microveil as mv
data = mv.datasets.survey(200, seed=4)
with mv.QueryServer(data, ["audit"], log=sys.argv[1], engine="arrays") as server:
    for age in range(18, 80):
        answer = server.ask(f"SELECT SUM(income) FROM data WHERE age >= {age}")
        print(age, flush=True)
"""


def test_no_answer_was_given_that_is_not_in_the_log_of_a_killed_process(tmp_path: Path) -> None:
    log = tmp_path / "questions.log"
    process = subprocess.Popen([sys.executable, "-c", _CLIENT, str(log)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(5)]
    os.kill(process.pid, signal.SIGKILL)
    told += process.stdout.read().splitlines()
    process.wait()
    process.stdout.close()
    with mv.QueryServer(mv.datasets.survey(200, seed=4), ["audit"], log=log, engine="arrays") as server:
        assert len(list(server.log.questions())) >= len(told)


def test_nothing_is_answered_if_the_log_cannot_be_written(serve: Serve, tmp_path: Path) -> None:
    server = serve(log=tmp_path / "questions.log")
    server.log.close()
    server.log._file = (tmp_path / "questions.log").open("rb")
    with pytest.raises(FileError, match="so nothing is answered"):
        server.ask(WOMEN)


def test_after_a_line_that_could_not_be_written_there_is_none_and_the_log_stays_good(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that was full for a moment: a line in part, and then another, would make the whole log worthless."""
    path = tmp_path / "questions.log"
    server = serve("audit", log=path)
    assert server.ask(WOMEN).value == 268

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("microveil.queries.log.os.fsync", full)
        with pytest.raises(FileError, match="so nothing is answered"):
            server.ask("SELECT SUM(salary) FROM data WHERE dept = 'B'")
    with pytest.raises(FileError, match="so nothing is answered"):
        server.ask("SELECT SUM(salary) FROM data WHERE dept = 'A'")
    server.close()
    path.write_bytes(path.read_bytes()[:-20])  # what of the line had reached the disk
    assert serve("audit", log=path).ask(WOMEN).value == 268
