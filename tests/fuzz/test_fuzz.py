"""A short run of the fuzzers, and proof that they notice what they look for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from attempt import Finding, check_folder  # noqa: E402
from children import Child  # noqa: E402
from run import KINDS, search, trials  # noqa: E402


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_refusals_in_one_sentence(kind: str) -> None:
    found = search([kind], cases=40, seed=1, seconds=60, until=8.0)
    assert sum(found["ended"].values()) > 0
    assert [(finding["case"], finding["what"], finding["told"]) for finding in found["findings"]] == []


def test_the_same_seed_tries_the_same_cases() -> None:
    assert list(trials(("a", "b"), 5, 3)) == [
        ("a", 3000000),
        ("b", 3000000),
        ("a", 3000001),
        ("b", 3000001),
        ("a", 3000002),
    ]
    with Child(60) as child:
        assert child.attempt("schemas", 5)["told"] == child.attempt("schemas", 5)["told"]


@pytest.mark.parametrize(
    ("number", "what"),
    [
        (0, "KeyError at outside"),
        (1, "the process ended with status -11"),
        (2, "no answer after 3 s of work"),
        (3, "left.txt was left behind"),
        (4, "the original people.csv was changed"),
    ],
)
def test_what_must_not_happen_is_found(number: int, what: str) -> None:
    with Child(3) as child:
        assert child.attempt("broken", number) | {"told": "", "trace": ""} == {
            "ended": "finding", "what": what, "told": "", "trace": "",
        }  # fmt: skip


def test_a_child_that_was_lost_is_replaced() -> None:
    with Child(60) as child:
        child.attempt("broken", 1)
        assert child.attempt("schemas", 5)["ended"] in ("done", "refused")


def test_what_was_refused_has_written_nothing() -> None:
    before, after = {"a.csv": "1"}, {"a.csv": "2"}
    check_folder(before, after, ("a.csv",), refused=False)
    with pytest.raises(Finding, match=r"the original a\.csv was changed"):
        check_folder(before, after, ("a.csv",), refused=True)


def test_the_script_reports_and_fails_where_something_was_found() -> None:
    script = [sys.executable, str(HERE / "run.py"), "--kinds", "broken", "--cases", "1", "--seed", "0"]
    ended = subprocess.run(script, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 1
    assert "KeyError at outside" in ended.stdout
    assert "1 cases, 1 findings" in ended.stdout
