"""`microveil assess` and `microveil report` on files whose records do not stand in the same order."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from microveil.cli.app import app
from microveil.errors import DataError
from microveil.microdata import Microdata
from microveil.microdata.files import write

KEYS = ["--keys", "age,income,job"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    people = Microdata.of(
        {
            "id": np.arange(120),
            "age": rng.integers(18, 90, 120),
            "income": np.round(np.exp(rng.normal(7, 1, 120)), 2),
            "job": rng.choice(["cook", "judge", "nurse", "clerk"], 120),
        }
    )
    order = rng.permutation(120)
    write(people, tmp_path / "people.csv")
    write(people.take(order), tmp_path / "shuffled.csv")
    write(people.select(["age", "income", "job"]).take(order), tmp_path / "unnumbered.csv")
    write(people.take(order[:50]), tmp_path / "sample.csv")
    return tmp_path


def run(place: Path, command: str, masked: str, *options: str) -> tuple[int, str, str]:
    arguments = [command, str(place / "people.csv"), str(place / masked), *KEYS, *options]
    found = CliRunner().invoke(app, arguments)
    return found.exit_code, found.stdout, found.stderr


def test_a_shuffled_file_is_warned_of_and_not_called_safe(place: Path) -> None:
    for masked in ("shuffled.csv", "unnumbered.csv"):
        status, shown, told = run(place, "assess", masked, "--json")
        assert status == 0
        assert told.startswith("warning: ")
        found = json.loads(shown)
        assert found["risks"]["distance-linkage"]["value"] == 100.0
        assert found["warnings"] == [told.split("warning: ")[1].splitlines()[0]]


def test_match_by_needs_no_warning(place: Path) -> None:
    status, shown, told = run(place, "assess", "shuffled.csv", "--match-by", "id", "--json")
    assert (status, "warning" in told) == (0, False)
    found = json.loads(shown)
    assert (found["warnings"], found["risks"]["distance-linkage"]["value"]) == ([], 100.0)


def test_match_by_takes_a_sample(place: Path) -> None:
    status, shown, told = run(place, "assess", "sample.csv", "--match-by", "id", "--json")
    assert status == 0
    assert json.loads(shown)["records"] == 50
    assert "50 of 120 records were released" in told


def test_match_by_puts_several_versions_in_order(place: Path) -> None:
    also = ["--also", str(place / "people.csv"), "--match-by", "id", "--json"]
    status, shown, _ = run(place, "assess", "shuffled.csv", *also)
    assert status == 0
    assert json.loads(shown)["versions"]["risks"]["distance-linkage"]["together"]["value"] == 100.0


def test_an_identifier_that_a_file_lacks_is_said_in_one_sentence(place: Path) -> None:
    arguments = ["assess", str(place / "people.csv"), str(place / "unnumbered.csv"), *KEYS, "--match-by", "id"]
    with pytest.raises(DataError, match="the masked table has no column 'id' to match records by"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_explain_shows_the_matched_record(place: Path) -> None:
    status, shown, _ = run(place, "assess", "shuffled.csv", "--match-by", "id", "--explain")
    assert status == 0
    example = next(line for line in shown.splitlines() if line.startswith("Example: record"))
    cells = [cell.rpartition(" released as ") for cell in example.split(" has ")[1].split("; ")[0].split(", ")]
    assert all(before.split()[-1] == after for before, _, after in cells)


def test_the_report_takes_match_by(place: Path) -> None:
    out = place / "report.html"
    status, _, _ = run(place, "report", "shuffled.csv", "--match-by", "id", "--out", str(out))
    assert status == 0
    assert "is not the same person" not in out.read_text(encoding="utf-8")
