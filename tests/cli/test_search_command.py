from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import microveil as mv
from microveil.cli.app import app

RUN = CliRunner()


@pytest.fixture
def people(tmp_path: Path) -> Path:
    mv.write(mv.datasets.survey(60, 1), tmp_path / "people.csv")
    return tmp_path / "people.csv"


def words(people: Path, *more: str) -> list[str]:
    quick = ["--only", "rank-swapping,noise,pram", "--evaluations", "18", "--seed", "5", "--workers", "0"]
    return ["search", str(people), "--keys", "age,sex,income", *quick, *more]


def test_a_search_writes_its_front_and_the_plan_of_the_best(people: Path, tmp_path: Path) -> None:
    done = RUN.invoke(app, words(people, "--risk-below", "60", "--out", str(tmp_path / "found")))
    assert done.exit_code == 0, done.output
    with (tmp_path / "found" / "front.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"loss", "risk", "candidate"} <= set(rows[0])
    assert [float(row["risk"]) for row in rows] == sorted(float(row["risk"]) for row in rows)
    assert "is chosen" in " ".join(done.output.split())
    made = RUN.invoke(
        app,
        [
            "protect",
            str(people),
            "--plan",
            str(tmp_path / "found" / "plan-best.toml"),
            "--out",
            str(tmp_path / "s.csv"),
        ],
    )
    assert made.exit_code == 0, made.output


def test_json_has_the_front(people: Path, tmp_path: Path) -> None:
    done = RUN.invoke(app, words(people, "--json"))
    assert done.exit_code == 0, done.output
    plain = json.loads(done.stdout)
    assert plain["folder"] == str(tmp_path / "people-search")
    assert {"loss", "risk", "candidate"} == set(plain["front"][0])
    assert 9 <= plain["explored"] < 18, "different pipelines; the other evaluations measured some of them again"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--risk-below", "0.05"], "could also be meant as a share of 1"),
        (["--budget", "5m"], "not both"),
        (["--insist", "mdaw"], "unknown method 'mdaw'"),
        (["--require", "k=many"], "--require takes a number"),
        (["--at-most", "il"], "--at-most takes name=value"),
        (["--attacks", "none-such"], "unknown attack"),
    ],
)
def test_bad_wishes_are_refused_in_one_sentence(people: Path, more: list[str], told: str) -> None:
    done = RUN.invoke(app, words(people, *more))
    assert done.exit_code != 0
    assert told in str(done.exception)
