"""The history of the workbench: a tree that is made from events alone, and that survives whatever happens."""

from __future__ import annotations

import math
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import FileError, ParameterError
from microveil.workbench import jobs
from microveil.workbench.bench import Bench, safe_name, set_parameters
from microveil.workbench.history import DONE, LOST, History
from microveil.workbench.workspace import Places, Workspace

Idle = Callable[[Bench], None]
LOADED = {
    "node": "n0", "table": "t0", "file": "a.csv", "source": "path", "records": 9, "attributes": 1,
    "schema": {"attributes": {"age": {"kind": "numeric"}}},
}  # fmt: skip


def grown(moves: list[tuple[str, int]]) -> tuple[History, list[tuple[str, dict[str, Any]]]]:
    """A history in which steps are tried, undone, redone and visited, and the events that made it."""
    history, events = History(), []

    def happen(kind: str, content: dict[str, Any]) -> None:
        events.append((kind, content))
        history.apply(len(events), kind, content)

    happen("loaded", LOADED)
    for move, choice in moves:
        names = list(history.nodes)
        if move == "try":
            node = f"n{len(names)}"
            step = {"method": "mdav", "parameters": {"k": choice}}
            happen(
                "asked", {"node": node, "parent": history.current, "steps": [step], "seed": 1, "title": f"k={choice}"}
            )
            happen("made", {"node": node, "go": True})
        elif move == "undo" and history.undone is not None:
            happen("moved", {"node": history.undone.name})
        elif move == "redo" and history.redone is not None:
            happen("moved", {"node": history.redone.name})
        elif move == "go":
            happen("moved", {"node": names[choice % len(names)]})
    return history, events


MOVES = st.lists(st.tuples(st.sampled_from(["try", "undo", "redo", "go"]), st.integers(2, 50)), max_size=40)


@given(MOVES)
def test_the_events_alone_give_the_same_history_again(moves: list[tuple[str, int]]) -> None:
    history, events = grown(moves)
    again = History()
    for number, (kind, content) in enumerate(events, start=1):
        again.apply(number, kind, content)
    assert (again.nodes, again.current, again.redone) == (history.nodes, history.current, history.redone)


@given(MOVES)
def test_redo_leads_back_to_where_undo_came_from(moves: list[tuple[str, int]]) -> None:
    history, _ = grown(moves)
    before = history.current
    if history.undone is not None:
        history.apply(history.revision + 1, "moved", {"node": history.undone.name})
        assert history.redone is not None
        assert history.redone.name == before


@given(MOVES)
def test_nothing_is_lost_from_the_tree(moves: list[tuple[str, int]]) -> None:
    history, events = grown(moves)
    assert len(history.nodes) == 1 + sum(kind == "asked" for kind, _ in events)
    assert {node.name for _, node in history.tree()} == set(history.nodes)
    for node in history.nodes.values():
        assert len(node.steps) == len(history.line(node.name)) - 1
        assert not history.original_of(node.name).is_masked


def test_a_second_try_from_the_same_place_is_a_branch(bench: Bench, idle: Idle) -> None:
    first = bench.here()
    bench.undo()
    bench.try_method("noise", {"alpha": "0.2"}, ["income"])
    idle(bench)
    second = bench.here()
    assert (first.parent, len(bench.history.candidates())) == (second.parent, 2)
    bench.go(first.name)
    bench.name(first.name, "  groups   of five ")
    assert bench.here().title == "groups of five"


def test_a_second_step_stands_on_the_first_and_has_its_seed(bench: Bench, idle: Idle) -> None:
    first = bench.here()
    bench.try_method("noise", {"alpha": "0.2"}, ["benefit"])
    idle(bench)
    assert [step["method"] for step in bench.here().steps] == ["mdav", "noise"]
    assert bench.here().seed == first.seed


def test_other_roles_start_from_the_original_and_keep_the_candidates(bench: Bench, idle: Idle) -> None:
    assert bench.change_schema({"region": "nominal"}, {"health": ["key"], "region": ["key", "stratum"]})
    idle(bench)
    assert not bench.here().is_masked
    assert bench.here().schema["attributes"]["health"]["role"] == "key"
    assert len(bench.history.candidates()) == 1
    found = bench.risk(bench.here())
    assert found is not None
    assert "health" in found["keys"]
    assert not bench.change_schema({}, {"health": ["key"]})


def test_several_values_become_candidates_while_the_user_stays(bench: Bench, idle: Idle) -> None:
    bench.undo()
    here = bench.here()
    with pytest.raises(ParameterError, match="k = 1 is not allowed"):
        bench.grid("mdav", {}, ["age", "income"], "k", "3, 1")
    assert len(bench.history.candidates()) == 1
    assert bench.grid("mdav", {}, ["age", "income"], "k", "3, 10") == 2
    idle(bench)
    assert bench.here() == here
    assert [node.title for node in bench.history.candidates()] == ["mdav k=5", "mdav k=3", "mdav k=10"]


def test_a_step_that_fails_says_why_and_leaves_the_rest(bench: Bench, idle: Idle) -> None:
    bench.undo()
    node = bench.try_method("mdav", {"k": "5000"}, ["age"])
    idle(bench)
    assert bench.node(node).state == "failed"
    assert "records" in bench.node(node).reason
    assert not bench.here().is_masked


def test_a_job_that_waits_or_runs_can_be_cancelled(bench: Bench, idle: Idle) -> None:
    bench.undo()
    idle(bench)
    names = [bench.try_method("mdav-generic", {"k": str(k)}, []) for k in (3, 4)]
    for job in bench.jobs.listed():
        assert bench.jobs.cancel(job["job"])
    idle(bench)
    assert {bench.node(name).state for name in names} == {"cancelled"}
    assert not bench.here().is_masked
    bench.again(names[1])
    idle(bench)
    assert bench.node(names[1]).state == DONE


@pytest.fixture
def patient(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A bench that never ends a process because it does not listen."""
    monkeypatch.setitem(jobs._GRACE, jobs.SHORT, math.inf)
    shutil.copytree(made, tmp_path / "space")
    found = Bench(tmp_path / "space")
    yield found
    found.close()


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.3, 1.0, 2.0, 3.0])
def test_a_step_is_cancelled_whenever_cancel_says_so(patient: Bench, idle: Idle, seconds: float) -> None:
    """Before there is a process, while it starts, while it works, and while its answer is on the way."""
    patient.undo()
    node = patient.try_method("rank-swapping", {"p": "5"}, ["income"])
    (job,) = patient.jobs.listed()
    time.sleep(seconds)
    cancelled = patient.jobs.cancel(job["job"])
    idle(patient)
    assert patient.node(node).state == ("cancelled" if cancelled else DONE)


def test_a_restart_shows_the_same_and_a_running_step_is_lost(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "space"
    shutil.copytree(made, folder)
    first = Bench(folder)
    before, here = dict(first.history.nodes), first.here()
    lost = first.try_method("mdav", {"k": "7"}, ["age"])
    first.close()  # while it runs
    again = Bench(folder)
    try:
        assert again.here() == here
        assert again.node(lost).state == LOST
        assert {name: node for name, node in again.history.nodes.items() if name != lost} == before
        assert again.measures(here) is not None
    finally:
        again.close()


def test_one_workbench_at_a_time_has_a_workspace(bench: Bench) -> None:
    with pytest.raises(FileError, match="in use by another workbench"):
        Workspace(bench.workspace.folder)


def test_a_workspace_is_for_its_owner_alone_and_takes_no_folder_of_others(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    space.close()
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FileError, match="other files"):
        Workspace(tmp_path / "letters")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "history.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(FileError, match="damaged"):
        Workspace(tmp_path / "damaged")


def test_a_history_of_another_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "new")
    space.append("loaded", {"node": "n1"})
    space.close()
    with pytest.raises(FileError, match="this version cannot read"):
        Bench(tmp_path / "new")


def test_everything_is_removed_with_one_action(bench: Bench) -> None:
    folder = bench.workspace.folder
    assert any((folder / "tables").iterdir())
    bench.remove_everything()
    assert bench.history.here is None
    assert {path.name for path in folder.iterdir()} <= {"history.sqlite", "history.sqlite-wal", "history.sqlite-shm"}
    assert b"Aldermark" not in b"".join(path.read_bytes() for path in folder.iterdir())


def test_events_are_on_the_disk_when_an_action_is_answered(bench: Bench) -> None:
    bench.name(bench.here().name, "five")
    # what another process would find if this one were killed now: the database with its log, without closing it
    copy = bench.workspace.folder.parent / "copy"
    shutil.copytree(bench.workspace.folder, copy)
    found = sqlite3.connect(copy / "history.sqlite").execute("SELECT kind FROM events ORDER BY number DESC").fetchone()
    assert found == ("named",)


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "A", "n" * 40, "n\n", "/etc"])
def test_no_name_leads_out_of_the_workspace(tmp_path: Path, name: str) -> None:
    places = Places(tmp_path)
    for place in (places.table, places.release, places.export, places.upload):
        with pytest.raises(FileError):
            place(name)


@given(st.text(min_size=1, max_size=150))
def test_the_name_of_a_file_that_is_sent_has_no_folder_in_it(name: str) -> None:
    try:
        made = safe_name(name)
    except ParameterError:
        return
    assert Path(made).name == made
    assert not set(made) & set("/\\\0\n:")
    assert made not in (".", "..")


def test_only_what_is_set_otherwise_than_usual_is_kept() -> None:
    assert set_parameters("mdav", {"k": "3", "polish": "0", "publish": "median"}) == {"k": 3, "publish": "median"}
    assert set_parameters("mdav", {"k": "", "polish": "0"}, "polish") == {"k": 3, "polish": 0}
