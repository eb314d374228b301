"""`microveil assess` and `microveil report` with a control group."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microveil as mv

ATTACKS = "distance-linkage,attribute-disclosure,membership-inference,uniqueness"
OPTIONS = ("--keys", "age,income", "--confidential", "job", "--attacks", ATTACKS, "--losses", "il1")


@pytest.fixture
def files(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    people = mv.Microdata.of(
        {
            "age": rng.integers(18, 90, 200),
            "income": np.round(np.exp(rng.normal(7, 1, 200)), 2),
            "job": rng.choice(["cook", "judge", "nurse", "clerk"], 200),
        }
    )
    mv.write(people.take(np.arange(120)), tmp_path / "people.csv")
    mv.write(people.take(np.arange(120)), tmp_path / "safe.csv")
    mv.write(people.take(np.arange(120, 200)), tmp_path / "control.csv")
    mv.write(people.take(np.arange(100, 140)), tmp_path / "overlapping.csv")
    mv.write(people.take(np.arange(120, 130)), tmp_path / "few.csv")
    mv.write(people.select(["age", "job"]).take(np.arange(120, 200)), tmp_path / "other.csv")


@pytest.mark.usefixtures("files")
def test_the_table_and_the_json_have_the_leaks(run: Callable[..., Any]) -> None:
    told = run("assess", "people.csv", "safe.csv", "--control", "control.csv", *OPTIONS)
    assert told.status == 0
    assert "beside the control group, in per cent" in told.stdout
    assert "what the release discloses" in told.stdout
    found = json.loads(run("assess", "people.csv", "safe.csv", "--control", "control.csv", *OPTIONS, "--json").stdout)
    leak = found["risks"]["attribute-disclosure"]["leak"]
    assert (leak["original"], leak["attacked"], leak["controls"]) == (100.0, 120, 80)
    assert leak["value"] == pytest.approx(100 * (leak["original"] - leak["control"]) / (100 - leak["control"]))
    assert leak["control"] < 60
    assert "leak" not in found["risks"]["uniqueness"]
    explained = run("assess", "people.csv", "safe.csv", "--control", "control.csv", *OPTIONS, "--explain").stdout
    assert "on persons of the control group; the leak is" in explained.replace("\n", " ")


@pytest.mark.usefixtures("files")
def test_bad_control_groups_are_refused_or_warned_of(run: Callable[..., Any]) -> None:
    cases = {
        "few.csv": "the control group has 10 records, and at least 30 are needed",
        "other.csv": "the control group has no column 'income'",
        "nowhere.csv": "nowhere.csv",
    }
    for file, words in cases.items():
        told = run("assess", "people.csv", "safe.csv", "--control", file, *OPTIONS)
        assert told.status == 1
        assert words in told.stderr
    told = run("assess", "people.csv", "safe.csv", "--control", "overlapping.csv", *OPTIONS)
    assert told.status == 0
    assert "20 of the 40 records of the control group equal an original record" in told.stderr
    missing = run("assess", "people.csv", "safe.csv", "--attacks", "membership-inference", "--keys", "age,income")
    assert missing.status == 1
    assert "it needs a control group" in missing.stderr


@pytest.mark.usefixtures("files")
def test_the_internal_report_has_a_picture_and_the_public_one_says_nothing(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    told = run("report", "people.csv", "safe.csv", "--control", "control.csv", *OPTIONS[:4], "--out", "internal.html")
    assert told.status == 0
    page = (tmp_path / "internal.html").read_text(encoding="utf-8")
    assert "Beside the control group" in page
    assert "80 records of the same population" in page
    assert "There is a leak beyond chance by distance-linkage" in page
    assert "Success on the original beside success on the control group" in page
    assert page.count("<svg") == page.count("</svg>")
    run(
        "report", "people.csv", "safe.csv", "--control", "control.csv", *OPTIONS[:4], "--public", "--out", "public.html"
    )
    assert "control group" not in (tmp_path / "public.html").read_text(encoding="utf-8")
    run("report", "people.csv", "safe.csv", *OPTIONS[:4], "--out", "without.html")
    assert "Beside the control group" not in (tmp_path / "without.html").read_text(encoding="utf-8")
