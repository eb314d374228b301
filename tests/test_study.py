"""Candidates side by side, and the page about them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from microveil.masking import Step
from microveil.microdata.sample import survey
from microveil.reporting.risk_utility import risk_utility_map
from microveil.reporting.study_page import study_page
from microveil.study import Candidate, Study, compare


@pytest.fixture(scope="module")
def study() -> Study:
    ways = [Candidate(f"noise <{a}>", (Step("noise", {"alpha": a}, ("age", "wealth")),)) for a in (0.01, 0.1, 1.0)]
    ways.append(Candidate("mdav", (Step("mdav", {"k": 5}, ("age", "wealth")),)))
    return compare(survey(150, seed=2), ways, seed=1)


def test_the_best_score_comes_first(study: Study) -> None:
    means = [r.assessment.score.mean for r in study.results]
    assert means == sorted(means)
    assert study.best is study.results[0]


def test_nothing_on_the_front_is_beaten(study: Study) -> None:
    for kept in study.front:
        assert not any(r.loss <= kept.loss and r.risk < kept.risk for r in study.results)
    left_out = [r for r in study.results if r not in study.front]
    for result in left_out:
        assert any(kept.loss <= result.loss and kept.risk <= result.risk for kept in study.front)


def test_all_candidates_are_measured_over_the_same_attributes(study: Study) -> None:
    assert {r.assessment.attributes for r in study.results} == {("age", "wealth")}


@pytest.mark.spec("03:ME-8")
def test_the_map_is_sound_svg_with_a_mark_for_every_candidate(study: Study) -> None:
    root = ElementTree.fromstring(risk_utility_map(study))
    space = "{http://www.w3.org/2000/svg}"
    hints = [title.text for title in root.iter(f"{space}title")][1:]
    assert len(hints) == len(study.results)
    assert all(re.search(r"risk [\d.]+, loss [\d.]+, score [\d.]+", hint or "") for hint in hints)


def test_labels_are_escaped_on_the_page(study: Study) -> None:
    page = study_page(study, title="a <b>", lead="x & y", again="run")
    assert "noise &lt;0.1&gt;" in page
    assert "<b>" not in page
    assert "x &amp; y" in page
