"""Whoever passes a path, a dict or a frame for something else is told what to call; notebooks show tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import microveil as mv
from microveil.errors import MicroveilError

FRAME = pd.DataFrame({"age": [20, 22, 41, 43, 61, 65], "ill": list("abcabc")})


def release() -> Any:
    return mv.MDAV(k=3).mask(mv.Microdata.of(FRAME, keys=["age"], confidential=["ill"]), seed=2**90)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: mv.assess("people.csv", release()), r"not str; read\(path\) reads a file"),
        (lambda: mv.MDAV().mask(Path("people.csv")), r"read\(path\) reads a file"),
        (lambda: mv.report("a.csv", "b.csv"), r"read\(path\) reads a file"),
        (lambda: mv.risk_of_file("a.csv"), r"read\(path\) reads a file"),
        (lambda: mv.read(FRAME), r"read takes the path of a file, not DataFrame; Microdata.of\(frame\)"),
        (lambda: mv.read({"a": [1]}), r"not dict; Microdata.of\(frame\)"),
        (lambda: mv.write(FRAME, 5), "write takes the path of a file, not int"),
        (lambda: release().save(5), "save takes the path of a file, not int"),
        (lambda: mv.protect(FRAME, {"steps": []}), r"protect takes a Plan, not dict; Plan.from_plain"),
        (lambda: mv.protect(FRAME, "plan.toml"), r"protect takes a Plan, not str; read_plan\(path\)\[0\]"),
        (lambda: mv.guarantees_of("people.csv"), r"not str; read\(path\) reads a file"),
        (lambda: mv.method(mv.MDAV), r"method takes a name in quotes, such as method\('best'\), not MDAV"),
        (lambda: mv.attack(None), "attack takes a name in quotes, .* not NoneType"),
        (lambda: mv.loss({"name": "sse"}), "loss takes a name in quotes, .* not dict"),
        (lambda: mv.score(mv.SSE()), "score takes a name in quotes, .* not SSE"),
        (lambda: mv.protect(FRAME, mv.Plan(({"method": "mdav"},))), "are Step objects, not dict"),
        (lambda: mv.Microdata.of(FRAME, "people.toml"), r"must be a Schema, not str; Schema.read\(path\)"),
        (lambda: mv.Microdata.of(FRAME, {"attributes": {}}), "must be a Schema, not dict; Schema.from_plain"),
        (lambda: mv.Microdata.of(FRAME["age"]), r"a series is one column, which its to_frame\(\) makes a table"),
        (lambda: mv.MDAV().mask(FRAME, 5), "attributes are a list of column names"),
        (lambda: mv.MDAV().mask(FRAME, [5]), "attributes are a list of column names"),
        (lambda: mv.compare(FRAME, [{"name": "mdav"}]), "compare takes Candidate objects, not dict"),
        (lambda: mv.run_study(FRAME), "run_study takes the path of a file, not DataFrame"),
    ],
)
def test_the_error_says_what_to_call(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(MicroveilError, match=says):
        call()


def test_one_attack_or_loss_may_be_named_without_a_list() -> None:
    found = mv.assess(FRAME, release(), attacks="distance-linkage", losses="sse")
    assert list(found.risks) == ["distance-linkage"]
    assert list(found.losses) == ["sse"]


def test_the_guarantees_of_a_frame_are_counted() -> None:
    assert mv.guarantees_of(FRAME, ["age"]).k == 1


def test_what_the_advice_names_is_there(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('[[steps]]\nmethod = "mdav"\n', encoding="utf-8")
    assert mv.read_plan(tmp_path / "plan.toml")[0].steps[0].method == "mdav"


def test_a_frame_can_be_written(tmp_path: Path) -> None:
    mv.write(FRAME, tmp_path / "a.csv")
    assert pd.read_csv(tmp_path / "a.csv").equals(FRAME)


def test_notebooks_show_tables() -> None:
    made = release()
    table = mv.Microdata.of(FRAME.rename(columns={"age": "<age>"}))._repr_html_()
    assert "&lt;age&gt;" in table
    assert "<caption>6 records</caption>" in table
    assert "43" not in table  # no value of a record
    assert "k-anonymity" in made._repr_html_()
    assert "mdav" in made._repr_html_()
    assert "k-anonymity" in str(made.guarantees)
    assert made.guarantees._repr_html_().startswith("<table>")
    assert "largest risk of a record" in mv.assess(FRAME, made)._repr_html_()
    assert "largest risk of a record" in mv.risk_of_file(FRAME)._repr_html_()
