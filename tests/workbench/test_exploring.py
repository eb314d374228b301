"""Studies and searches from the map: what they leave, how they are cancelled, continued, and lost and found."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import microveil as mv
from microveil.workbench.bench import Bench
from microveil.workbench.history import CANCELLED, DONE, LOST, PLANNED, WAITING
from microveil.workbench.screens import map_of

Idle = Callable[[Bench], None]
KEYS = ["age", "income", "wealth"]
SEARCH: dict[str, Any] = {"evaluations": "6", "only": ["mdav-generic", "pram"]}


@pytest.fixture
def small(tmp_path: Path, idle: Idle) -> Bench:
    """A bench with a short table."""
    people = mv.datasets.survey(150, seed=3)
    mv.write(people, tmp_path / "people.csv")
    bench = Bench(tmp_path / "small")
    bench.load("path", "people.csv", path=str(tmp_path / "people.csv"), schema=people.schema.to_plain())
    idle(bench)
    assert not bench.last_failure
    return bench


def test_a_study_leaves_plans_that_are_made_by_a_click(small: Bench, idle: Idle) -> None:
    name = small.exploring.study(["mdav", "rank-swapping"], KEYS, "2", "1")
    assert small.history.explorations[name].state == WAITING
    idle(small)
    assert not small.last_failure
    one = small.history.explorations[name]
    assert (one.state, one.told) == (DONE, ("4 candidates were measured",))
    planned = [node for node in small.history.candidates() if node.state == PLANNED]
    assert sorted(node.steps[0]["method"] for node in planned) == ["mdav", "mdav", "rank-swapping", "rank-swapping"]
    assert small.exploring.count(name) == 4
    shown = map_of(small, "", "", "", "")
    assert len(shown["candidates"]) == 4
    assert shown["tried"] == 4
    assert shown["chart"].startswith("<svg")
    mdav = min((node for node in planned if node.steps[0]["method"] == "mdav"), key=lambda node: node.risk or 0)
    with pytest.raises(mv.MicroveilError, match="make it first"):
        small.go(mdav.name)
    small.again(mdav.name)
    idle(small)
    made = small.node(mdav.name)
    measures = small.measures(made)
    assert made.state == DONE
    assert measures is not None
    # what is not random is made as it was measured, by the same measures
    assert (measures["loss"], measures["risk"]) == pytest.approx((mdav.loss, mdav.risk))
    small.close()


def test_a_search_leaves_its_front_with_the_reasons(small: Bench, idle: Idle) -> None:
    name = small.exploring.search({**SEARCH, "risk_below": "60"})
    idle(small)
    assert not small.last_failure
    one = small.history.explorations[name]
    assert one.state == DONE
    assert "is chosen: it loses" in one.told[0]
    planned = [node for node in small.history.candidates() if node.group == name]
    assert planned
    assert all(node.state == PLANNED and node.seed is not None for node in planned)
    risks = [node.risk for node in planned]
    losses = [node.loss for node in planned]
    assert risks == sorted(risks, key=float)  # type: ignore[arg-type]
    assert losses == sorted(losses, key=float, reverse=True)  # type: ignore[arg-type]
    assert len(small.exploring.spots(small.here())) == small.exploring.count(name) >= 4
    small.close()
    again = Bench(small.workspace.folder)  # after a restart everything is there
    assert again.history.explorations[name] == one
    assert again.exploring.count(name) >= 4
    assert [node.name for node in again.history.candidates()] == [node.name for node in small.history.candidates()]
    again.close()


def test_a_bound_that_cannot_be_kept_is_told(small: Bench, idle: Idle) -> None:
    name = small.exploring.search({**SEARCH, "k": "140", "evaluations": "4", "only": ["noise"]})
    idle(small)
    assert small.history.explorations[name].state == "failed"
    assert "none of" in small.last_failure
    small.close()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"risk_below": "200"}, "risk"), ({"evaluations": "0"}, "pipelines = '0' is not allowed"),
        ({"evaluations": "many"}, "not allowed"), ({"k": "1"}, "k = '1' is not allowed"),
        ({"only": ["nothing"]}, "no method 'nothing'"), ({"attributes": ["nobody"]}, "no attribute 'nobody'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_search_is_told_at_once(bench: Bench, fields: dict[str, Any], told: str) -> None:
    with pytest.raises(mv.MicroveilError, match=told):
        bench.exploring.search(fields)
    assert not bench.history.explorations


def test_what_is_wrong_with_a_study_is_told_at_once(bench: Bench) -> None:
    for methods, strengths, told in (
        ([], "3", "tick the methods"),
        (["mdav"], "9", "strengths"),
        (["x"], "3", "no method"),
    ):
        with pytest.raises(mv.MicroveilError, match=told):
            bench.exploring.study(methods, [], strengths, "1")


def test_a_cancelled_search_keeps_its_best_and_can_go_on(small: Bench, idle: Idle) -> None:
    name = small.exploring.search({**SEARCH, "evaluations": "400", "only": []})
    until = time.monotonic() + 300
    while small.exploring.count(name) < 3:
        assert time.monotonic() < until
        time.sleep(0.05)
    (job,) = small.jobs.listed()
    assert small.jobs.cancel(job["job"])
    idle(small)
    one = small.history.explorations[name]
    assert one.state in (DONE, CANCELLED)  # done with the best so far, unless nothing could be kept
    if one.state == DONE:
        assert "cancelled before the front was measured" in one.told[-1]
        assert [node for node in small.history.candidates() if node.group == name]
    small.close()


def test_a_search_that_was_ended_with_the_workbench_goes_on(small: Bench, idle: Idle, tmp_path: Path) -> None:
    name = small.exploring.search(SEARCH)
    until = time.monotonic() + 300
    while small.exploring.count(name) < 2:
        assert time.monotonic() < until
        time.sleep(0.05)
    small.close()
    shutil.copytree(small.workspace.folder, tmp_path / "copy")
    again = Bench(tmp_path / "copy")
    assert again.history.explorations[name].state == LOST
    again.exploring.again(name)
    idle(again)
    assert again.history.explorations[name].state == DONE
    again.close()
