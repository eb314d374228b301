"""`microveil study` as a user meets it: in a process of its own, stopped in the middle and started again."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from microveil.study import run_study
from microveil.study.cells import source_digest

Run = Callable[..., subprocess.CompletedProcess[str]]

LONG = """
seed = 3
data = "people.csv"
keys = ["age", "wealth"]
losses = ["sse", "il"]
[[method]]
name = "mdav"
grid = { k = [3, 5] }
[[method]]
name = "best"
set = { polish = 12_000 }
grid = { k = [3, 4, 5, 6, 7, 8] }
"""


@contextmanager
def started(command: list[str], store: Path) -> Iterator[subprocess.Popen[str]]:
    """A study in the background, as soon as it has finished its first cells."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        limit = time.monotonic() + 60
        while not (store.exists() and b"best polish=12000 k=3" in store.read_bytes()):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < limit
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.communicate()


def cells_of_summary(folder: Path) -> list[dict[str, str]]:
    """The summary without the release of the plan, whose seed is another one in every folder."""
    with (folder / "summary.csv").open(encoding="utf-8", newline="") as file:
        return [
            {name: value for name, value in row.items() if not name.startswith("again_")}
            for row in csv.DictReader(file)
        ]


def test_a_study_killed_in_the_middle_and_started_again_ends_with_the_identical_tables(
    study_file: Callable[..., Path], command: Callable[..., list[str]], microveil_study: Run, tmp_path: Path
) -> None:
    path = study_file(LONG)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    with started(command(path, "--out", killed, "--workers", 2), killed / "study.sqlite") as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert not (killed / "table.csv").exists()
    left = json.loads(microveil_study(path, "--out", killed, "--dry-run", "--json").stdout)
    assert 0 < left["finished"] < len(left["cells"]) == 8
    labels: list[str] = []
    source_digest.cache_clear()  # the modules as the other process has just seen them
    run_study(path, out=killed, workers=1, progress=lambda _, label: labels.append(label))
    assert f"cell {left['finished']} of 8" in labels
    assert f"cell {left['finished'] - 1} of 8" not in " ".join(labels)
    run_study(path, out=whole, workers=0)
    assert (killed / "table.csv").read_bytes() == (whole / "table.csv").read_bytes()
    assert cells_of_summary(killed) == cells_of_summary(whole)


def test_an_interrupted_study_says_how_many_releases_are_saved(
    study_file: Callable[..., Path], command: Callable[..., list[str]], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with started(command(study_file(LONG), "--out", out, "--workers", 1), out / "study.sqlite") as process:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert told.startswith("microveil: cancelled; ")
    assert f"of 8 releases are saved in {out}" in told
    assert len(told.splitlines()) == 1


def test_a_study_ranks_and_writes_its_files(study_file: Callable[..., Path], microveil_study: Run) -> None:
    path = study_file()
    done = microveil_study(path, "--workers", 0)
    assert done.returncode == 0, done.stderr
    assert "best score first" in done.stdout
    folder = path.with_name("small-results")
    assert sorted(file.name for file in folder.iterdir()) == [
        "plan-best.toml", "study.html", "study.sqlite", "summary.csv", "table.csv",
    ]  # fmt: skip
    plan = folder / "plan-best.toml"
    words = [*done.args[:3], "protect", str(path.with_name("people.csv"))]
    out = ["--plan", str(plan), "--out", str(folder / "safe.csv")]
    made = subprocess.run([*words, *out], capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 0, made.stderr
    page = (folder / "study.html").read_text(encoding="utf-8")
    assert f"microveil protect {path.with_name('people.csv')} --plan {plan}" in page


def test_failed_cells_are_told_and_end_in_status_1(study_file: Callable[..., Path], microveil_study: Run) -> None:
    text = "data = 'people.csv'\nkeys = ['age']\nlosses = ['sse']\n[[method]]\nname = 'mdav'\ngrid = { k = [3, 900] }"
    done = microveil_study(study_file(text), "--workers", 0, "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert [row["candidate"] for row in found["ranking"]] == ["mdav k=3"]
    assert "900" in found["failures"][0]["reason"]
    assert "mdav k=900 (repeat 1) failed" in done.stderr


def test_a_file_in_the_place_of_the_folder_is_one_sentence(
    study_file: Callable[..., Path], microveil_study: Run
) -> None:
    path = study_file()
    done = microveil_study(path, "--out", path)
    assert (done.returncode, done.stderr) == (1, f"microveil: {path}: this is a file; name a folder\n")
    demo = [*done.args[:3], "demo", "--out", str(path / "x")]
    told = subprocess.run(demo, capture_output=True, text=True, timeout=60, check=False)
    assert (told.returncode, told.stderr) == (1, f"microveil: {path}: this is a file; name a folder\n")


def test_a_dry_run_leaves_results_of_another_version_alone(
    study_file: Callable[..., Path], microveil_study: Run, tmp_path: Path
) -> None:
    path, out = study_file(), tmp_path / "out"
    run_study(path, out=out, workers=0)
    older = sqlite3.connect(out / "study.sqlite")
    older.execute("pragma user_version = 0")
    older.commit()
    older.close()
    before = (out / "study.sqlite").read_bytes()
    done = microveil_study(path, "--out", out, "--dry-run")
    assert done.stdout.endswith("6 releases, 0 of them finished\n")
    assert (out / "study.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[method]]\nname = 'mdva'", "method 1: unknown method 'mdva'; did you mean 'mdav'?"),
        ("data = 'none.csv'\n[[method]]\nname = 'mdav'", "none.csv: there is no such file"),
        ("[[method]]\nname = 'mdav'", "the study names no table"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    text: str, sentence: str, study_file: Callable[..., Path], microveil_study: Run
) -> None:
    path = study_file(text)
    done = microveil_study(path)
    assert done.returncode in (1, 2)
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not path.with_name("small-results").exists()
