"""`microveil reproduce`: list, run, JSON, files, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from microveil.cli.app import app
from microveil.errors import OutputExistsError
from reproduction.catalogue import reproductions

Ran = subprocess.CompletedProcess[str]


@pytest.fixture
def reproduce(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The command within this process; what it prints."""

    def run(*arguments: object) -> str:
        app(["reproduce", *map(str, arguments)], standalone_mode=False)
        return capsys.readouterr().out

    return run


def in_a_process(*arguments: str, **environment: str) -> Ran:
    """As a user meets it, with its exit status."""
    command = [sys.executable, "-m", "microveil.cli", "reproduce", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)


def test_the_list_names_every_reproduction(reproduce: Callable[..., str]) -> None:
    entries = json.loads(reproduce("--list", "--json"))
    assert [entry["name"] for entry in entries] == list(reproductions())
    assert {"title", "source", "why", "needs", "rows", "seconds", "quick"} <= set(entries[0])
    table = reproduce("scores", "--list")
    assert "5 published tables" in table
    assert "scores-6.5" in table


def test_a_table_is_shown_with_a_line_that_sums_it_up(reproduce: Callable[..., str]) -> None:
    made = reproduce("pram-4.7", "representatives-5.3")
    assert "pram-4.7: measured against print: 1 of 8 as printed, 7 recomputed" in made
    assert "representatives-5.3: measured against print: 26 of 28 as printed, 2 differs" in made


def test_json_has_every_value(reproduce: Callable[..., str]) -> None:
    (outcome,) = json.loads(reproduce("scores-4.3", "--json"))
    assert outcome["name"] == "scores-4.3"
    assert outcome["summary"]["arithmetic on printed values"] == {"adds up": 58}
    assert outcome["summary"]["measured against print"] == {}
    assert len(outcome["values"]) == 58
    assert {"label", "printed", "measured", "difference", "verdict"} <= set(outcome["values"][0])


def test_only_what_differs_is_shown_if_asked_for(reproduce: Callable[..., str]) -> None:
    made = reproduce("blocks-shapes", "--differing")
    assert "sphere S2 IL" in made
    assert "sphere S1 IL" not in made


def test_results_are_written_and_nothing_is_overwritten(reproduce: Callable[..., str], tmp_path: Path) -> None:
    page, values = tmp_path / "page.md", tmp_path / "values.csv"
    assert "pram-4.1: measured against print: 63 of 64 as printed, 1 recomputed" in reproduce("pram-4.1", "--out", page)
    assert "## pram-4.1: The frequency-based matrix of DEGREE" in page.read_text(encoding="utf-8")
    reproduce("pram-4.1", "--out", values)
    assert len(values.read_text(encoding="utf-8").splitlines()) == 73
    with pytest.raises(OutputExistsError):
        reproduce("pram-4.1", "--out", values)
    reproduce("pram-4.1", "--out", values, "--force")


def test_kept_results_are_taken(reproduce: Callable[..., str], tmp_path: Path) -> None:
    first = reproduce("pram-4.1", "--keep", tmp_path / "kept", "--json")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["pram-4.1.json"]
    assert reproduce("pram-4.1", "--keep", tmp_path / "kept", "--json") == first


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        ((), 2, "name at least one table"),
        (("kward",), 2, "did you mean 'k-ward'?"),
        (("pram-4.1", "--out", "page.html"), 2, "ends in .md or .csv"),
    ],
)
def test_bad_usage_is_told_in_one_sentence(arguments: tuple[str, ...], status: int, sentence: str) -> None:
    made = in_a_process(*arguments)
    assert made.returncode == status
    assert sentence in made.stderr
    assert made.stderr.count("\n") == 1


def test_without_the_reference_data_it_says_how_to_point_to_it(tmp_path: Path) -> None:
    made = in_a_process("k-ward-3.3", MICROVEIL_DATA=str(tmp_path))
    assert made.returncode == 1
    assert "set MICROVEIL_DATA to the folder that holds its CSV files" in made.stderr
    assert made.stderr.count("\n") == 1


def test_a_folder_of_data_that_does_not_exist_is_named(tmp_path: Path) -> None:
    made = in_a_process("k-ward-3.3", MICROVEIL_DATA=str(tmp_path / "nowhere"))
    assert made.returncode == 1
    assert str(tmp_path / "nowhere") in made.stderr
    assert "shared/data" not in made.stderr
    assert made.stderr.count("\n") == 1


def test_results_are_not_kept_in_a_file(tmp_path: Path) -> None:
    place = tmp_path / "people.csv"
    place.write_text("age\n1\n")
    made = in_a_process("pram-4.1", "--keep", str(place))
    assert made.returncode == 1
    assert "name a folder" in made.stderr
    assert made.stderr.count("\n") == 1
