"""Cells in several processes: the same numbers, nothing repeated, and no cell takes others down with it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from microveil.errors import Cancelled
from microveil.microdata import Microdata
from microveil.study import Design, Study, run_study
from microveil.study.cells import unfold
from microveil.study.measuring import measure_cell
from microveil.study.runner import Worker, run_cells
from microveil.study.store import Store
from microveil.study.worker import packed

PLAIN: dict[str, Any] = {
    "seed": 3,
    "keys": ["age", "wealth"],
    "repeats": 2,
    "losses": ["sse", "il"],
    "method": [
        {"name": "mdav", "grid": {"k": [3, 5]}},
        {"name": "noise", "grid": {"alpha": [0.1, 0.5]}},
        {"name": "mdav", "set": {"k": 1000}},
        {"name": "pram", "attributes": ["sex"], "set": {"p": 0.7}},
    ],
}


@pytest.fixture(scope="module")
def here(people: Microdata) -> Study:
    return run_study(PLAIN, people, workers=0)


def children() -> set[int]:
    """The processes that this one has started and that are still there."""
    mine = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                mine.add(int(entry.name))
    return mine


@pytest.mark.parametrize("workers", [1, 2])
def test_the_numbers_do_not_depend_on_the_number_of_workers(people: Microdata, here: Study, workers: int) -> None:
    """On the way progress rises to one, and no process is left behind."""
    before = children()
    seen: list[float] = []
    there = run_study(PLAIN, people, workers=workers, progress=lambda fraction, _: seen.append(fraction))
    assert there.rows == here.rows
    assert there.failures == here.failures
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)
    assert children() <= before


def test_a_cell_that_cannot_be_made_fails_alone_and_says_why(here: Study) -> None:
    assert [(f.candidate.label, f.repeat) for f in here.failures] == [("mdav k=1000", 1)]
    assert "120 records" in here.failures[0].reason
    assert len(here.results) == 5


def test_a_study_that_is_cancelled_keeps_what_is_finished_and_leaves_no_process(people: Microdata) -> None:
    design = Design.from_plain(PLAIN)
    table = design.table(people)
    cells = unfold(design, table)
    before = children()

    def impatient(fraction: float, label: str, /) -> None:
        if fraction >= 0.3:
            raise Cancelled("enough")

    with Store() as store:
        with pytest.raises(Cancelled):
            run_cells(cells, table, store, workers=2, progress=impatient)
        assert children() <= before
        kept = store.finished(cells)
        assert 0 < len(kept) < len(cells)
        worked_on: list[str] = []
        run_cells(cells, table, store, workers=0, progress=lambda _, label: worked_on.append(label))
        assert worked_on[0] == f"cell {len(kept)} of {len(cells)}"


SLOW: dict[str, Any] = {"name": "best", "set": {"k": 5, "polish": 10_000_000}}  # long enough to be caught at work


def test_a_worker_that_is_killed_fails_its_cell_and_the_others_go_on(people: Microdata) -> None:
    before = children()

    def kill_the_slow_one(fraction: float, label: str, /) -> None:
        if label == "cell 0 of 5: best k=5 polish=10000000":
            for process in children() - before:
                os.kill(process, signal.SIGKILL)

    plain = {**PLAIN, "repeats": 1, "method": [SLOW, *PLAIN["method"][:2]]}
    study = run_study(plain, people, workers=1, progress=kill_the_slow_one)
    assert [(f.candidate.family, f.reason) for f in study.failures] == [
        ("best", "its process was ended from outside (SIGKILL), perhaps because memory ran short")
    ]
    assert len(study.results) == 4


def test_a_worker_goes_when_the_one_who_started_it_goes(people: Microdata) -> None:
    (slow_cell,) = unfold(Design.from_plain({"method": [{**SLOW, "attributes": ["age", "wealth"]}]}), people)
    worker = Worker(packed(people), 1)

    def hang_up(fraction: float) -> None:
        assert worker.process is not None
        assert worker.process.stdin is not None
        if not worker.process.stdin.closed:
            worker.process.stdin.close()

    began = time.monotonic()
    outcome = worker.outcome(measure_cell, slow_cell, hang_up)
    assert outcome.measured is None
    assert time.monotonic() - began < 20
    worker.close()


def test_resuming_does_only_what_is_new_or_failed(people: Microdata, tmp_path: Path) -> None:
    labels: list[str] = []
    watch: Callable[[float, str], None] = lambda _, label: labels.append(label)  # noqa: E731
    run_study({**PLAIN, "method": PLAIN["method"][:3]}, people, out=tmp_path / "out", workers=0)
    run_study({**PLAIN, "method": PLAIN["method"][1:3]}, people, out=tmp_path / "out", workers=0, progress=watch)
    assert "cell 4 of 5" in labels
    assert {label.partition(": ")[2] for label in labels if " of 5" in label} <= {"", "mdav k=1000"}
    labels.clear()
    more = [*PLAIN["method"][:3], {"name": "noise", "set": {"alpha": 0.9}}]
    run_study({**PLAIN, "method": more}, people, out=tmp_path / "out", workers=0, progress=watch)
    assert "cell 6 of 9" in labels


@pytest.mark.parametrize("frame", ["pandas", "polars", "pyarrow"])
def test_every_kind_of_frame_gives_the_same_numbers(people: Microdata, here: Study, frame: str) -> None:
    arrow = pa.table({name: people.arrow(name) for name in people.names})
    if frame == "pandas":
        table = arrow.to_pandas().astype({"sex": "category"})
    else:
        table = pytest.importorskip("polars").from_arrow(arrow) if frame == "polars" else arrow
    assert run_study(PLAIN, Microdata.of(table, people.schema), workers=0).rows == here.rows
