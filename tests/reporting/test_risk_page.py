"""The page about the risk of a file, its part in the internal report, and the commands that show the same."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import microveil as mv
from microveil.reporting.charts import log_histogram

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> mv.Microdata:
    monkeypatch.chdir(tmp_path)
    for name in ("people.csv", "people.toml", "zip.csv"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    return mv.read("people.csv", schema="people.toml")


class _Sound(HTMLParser):
    """Every element that is opened is closed, in order."""

    void = ("meta", "link", "br", "line", "rect", "polygon", "circle", "path", "polyline", "img", "col")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.void:
            assert self.open.pop() == tag


def svgs(page: str) -> list[str]:
    return re.findall(r"<svg.*?</svg>", page, re.DOTALL)


def test_the_page_is_sound_loads_nothing_and_has_every_part(people: mv.Microdata) -> None:
    page = mv.risk_page(people, target=20, organisation="Office", date="2026-01-01")
    checked = _Sound()
    checked.feed(page)
    assert checked.open == []
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page)
    for svg in svgs(page):
        ElementTree.fromstring(svg)
    assert len(svgs(page)) == 4  # records, households, keys, SUDA
    for told in (
        "threshold",
        "keep it confidential",
        "Office",
        "recode age to intervals of",
        "microveil protect people.csv",
    ):
        assert told in page
    advice = mv.advise_risk(people, target=20)
    assert f"{advice.best[0].row()[1].replace('->', '→')}" in page
    assert "With 1 change at most 20 re-identifications are expected" in page


def test_every_text_of_a_file_is_escaped() -> None:
    table = {"<b>": ["<script>alert(1)</script>", "y", "z", "y"], "age": [1, 2, 3, 4]}
    page = mv.risk_page(mv.Microdata.of(table, keys=["<b>", "age"]))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    "table",
    [{"a": ["x"] * 5, "b": ["y"] * 5}, {"a": list(range(9))}, {"a": [None, 1.0, 2.0], "b": ["x", None, "y"]}],
    ids=["constant", "one key", "missing"],
)
def test_pages_of_odd_files_are_made(table: dict[str, Any]) -> None:
    assert "The risk of a file" in mv.risk_page(mv.Microdata.of(table, keys=list(table)))


def test_the_internal_report_has_both_histograms_and_the_public_one_nothing_of_it(people: mv.Microdata) -> None:
    release = mv.MDAVGeneric(k=5).mask(people, seed=1)
    internal, public = mv.report(people, release), mv.report(people, release, public=True)
    assert "Records by their risk, before and after masking" in internal
    assert "Households by their risk, before and after masking" in internal
    assert "What would have lowered it most" in internal
    assert "recode age to intervals of 10" in internal
    for private in ("by their risk", "lowered", "recode age", "SUDA", "contribute"):
        assert private not in public


def test_a_histogram_marks_the_threshold_and_shows_a_single_record() -> None:
    drawn = log_histogram(
        [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0], {"records": [5000, 0, 0, 0, 0, 0, 1]}, title="t", description="d",
        x_title="x", y_title="y", threshold=0.09, threshold_text="threshold 0.09",
    )  # fmt: skip
    root = ElementTree.fromstring(drawn)
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "threshold 0.09" in texts
    assert {"0.01", "0.1", "1", "10,000"} <= set(texts)
    (polygon,) = root.iter("{http://www.w3.org/2000/svg}polygon")
    heights = [float(point.split(",")[1]) for point in polygon.attrib["points"].split()]
    bottom = heights[0]
    assert heights[-2] < bottom - 5  # the one record is seen
    assert heights[1] < heights[-2]
    assert heights[3] == bottom
    hints = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "up to 0.01: records 5,000" in hints
    assert "0.5 to 1: records 1" in hints


# --- the command line ----------------------------------------------------------------------------------------------


def test_the_command_advises_and_writes_a_plan_and_a_page(people: mv.Microdata, run: Callable[..., Any]) -> None:
    described = ("people.csv", "--schema", "people.toml")
    done = run("risk", *described, "--advise", "--target", 20, "--plan-out", "a.toml", "--page", "risk.html")
    assert done.status == 0
    for told in ("records by their risk", "households by their risk", "where the risk comes from", "single changes"):
        assert told in done.stdout
    for file in ("a.toml", "risk.html"):
        assert stat.S_IMODE(Path(file).stat().st_mode) == 0o600
    assert run("protect", "people.csv", "--plan", "a.toml", "--out", "safe.csv").status == 0
    made = mv.read_release("safe.csv", people)
    advice = mv.advise_risk(people, target=20)
    assert mv.risk_of_file(made, advice.sequence[-1].keys).summary.expected == advice.sequence[-1].after.expected
    first = run("risk", *described, "--advise", "--plan-out", "b.toml", "--proposal", 1)
    assert first.status == 0
    assert run("protect", "people.csv", "--plan", "b.toml", "--out", "first.csv").status == 0
    best = mv.advise_risk(people).best[0]
    assert mv.risk_of_file(mv.read_release("first.csv", people), best.keys).summary == best.after


def test_json_carries_the_same(people: mv.Microdata, run: Callable[..., Any]) -> None:
    plain = json.loads(run("risk", "people.csv", "--schema", "people.toml", "--advise", "--json").stdout)
    assert sum(plain["profile"]["records"]["file"]) == plain["records"] == 400
    assert sum(plain["profile"]["households"]["file"]) == plain["households"]["count"]
    advice = mv.advise_risk(people)
    assert plain["advice"] == json.loads(json.dumps(advice.to_plain()))
    mv.MDAVGeneric(k=5).mask(people, seed=1).save("safe.csv")
    assessed = run("assess", "people.csv", "safe.csv", "--schema", "people.toml", "--json")
    profile = json.loads(assessed.stdout)["profile"]
    assert sum(profile["records"]["before"]) == sum(profile["records"]["after"]) == 400
    shown = run("assess", "people.csv", "safe.csv", "--schema", "people.toml").stdout
    assert "records by their risk" in shown
    assert "where the risk comes from, before masking" in shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--plan-out", "a.toml"), "needs --advise"),
        (("--advise", "--proposal", 1), "needs --plan-out"),
        (("--advise", "--proposal", 99, "--plan-out", "a.toml"), "not in the table"),
        (("--advise", "--target", 1000, "--plan-out", "a.toml"), "no sequence of changes"),
        (("--advise", "--target", -1), "target"),
        (("--page", "people.csv"), "people.csv"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    people: mv.Microdata, run: Callable[..., Any], options: tuple[Any, ...], words: str
) -> None:
    done = run("risk", "people.csv", "--schema", "people.toml", *options)
    assert done.status != 0
    assert words in done.stderr
