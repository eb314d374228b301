"""The page of a study, which needs no network."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from microveil.masking import Step
from microveil.microdata import Microdata
from microveil.study import Candidate, Study, compare, run_study
from microveil.study.cells import Named
from microveil.study.page import risk_utility_map, score_of_the_best, study_page

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def study(people: Microdata) -> Study:
    plain = {
        "title": "a <b>",
        "repeats": 2,
        "method": [
            {"name": "noise", "grid": {"alpha": [0.1, 0.5]}, "attributes": ["age", "wealth"], "label": "noise <x>"},
            {"name": "mdav", "grid": {"k": [3, 5, 10]}, "attributes": ["age", "wealth"]},
            {"name": "pram", "grid": {"p": [0.7]}, "attributes": ["sex"]},
            {"name": "mdav", "set": {"k": 500}, "attributes": ["age"]},
        ],
    }
    return run_study(plain, people, workers=0)


@pytest.fixture(scope="module")
def page(study: Study) -> str:
    return study_page(study, again="microveil study x & y")


@pytest.mark.spec("03:ME-8", "05:SC-04", "01:TR-1")
def test_the_map_is_sound_svg_with_a_mark_for_every_candidate(study: Study) -> None:
    root = ElementTree.fromstring(risk_utility_map(study))
    hints = [title.text or "" for title in root.iter(f"{SVG}title")][1:]
    told = [hint for hint in hints if re.search(r"risk [\d.]+, loss [\d.]+, score [\d.]+", hint)]
    assert len(told) == len(study.results)


@pytest.mark.spec("01:TR-1")
def test_the_map_shows_the_admissible_region(study: Study) -> None:
    assert "admissible" in risk_utility_map(replace(study, risk_bound=90.0))
    assert "admissible" not in risk_utility_map(study)


@pytest.mark.parametrize("rule", [{"name": "mean", "set": {"share": 0.9}}, {"name": "max"}])
def test_the_map_tells_the_scores_of_the_study_itself(rule: dict[str, Any], people: Microdata) -> None:
    method = {"name": "mdav", "grid": {"k": [3, 5]}, "attributes": ["age", "wealth"]}
    study = run_study({"method": [method], "score": rule, "losses": ["il"]}, people, workers=0)
    assert study.best.score != pytest.approx((study.best.loss + study.best.risk) / 2, abs=0.1)
    assert f"score {study.best.score:.1f}" in risk_utility_map(study)
    line = score_of_the_best(study)
    assert line is not None
    assert line.value == pytest.approx(study.best.score)
    assert "the dotted line is where others would have its score" in study_page(study, again="")


def test_the_larger_of_loss_and_risk_has_no_line_of_equal_score_over_repeats(study: Study) -> None:
    assert any(len(result.runs) > 1 for result in study.results)
    assert score_of_the_best(study) is not None
    worse = replace(study, score=Named("max"))
    assert score_of_the_best(worse) is None
    assert "dotted" not in study_page(worse, again="")


def test_a_front_without_a_knee_has_no_box(people: Microdata) -> None:
    ways = [Candidate(f"mdav {k}", (Step("mdav", {"k": k}, ("age",)),)) for k in (3, 20)]
    page = study_page(compare(people, ways, seed=1), again="")
    assert "knee" not in page


def test_one_record_is_one_record(study: Study) -> None:
    small = replace(study, records=1, results=study.results[:1], failures=())
    assert "1 record; 1 candidate in" in study_page(small, again="")
    assert "1 candidate, 1 record<" in small._repr_html_()
    assert "1 candidate, 1 record\n" in str(small)


def test_texts_are_escaped(page: str) -> None:
    assert "a &lt;b&gt;" in page
    assert "noise &lt;x&gt; alpha=0.1" in page
    assert "<b>" not in page
    assert "x &amp; y" in page


def test_the_page_loads_nothing(page: str) -> None:
    outside = page.replace("http://www.w3.org/2000/svg", "")
    assert "http" not in outside
    assert "src=" not in outside
    assert "<script" not in outside
    assert "@import" not in outside


def test_every_chart_is_sound(page: str) -> None:
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    # the map, two curves (three values of k, two of alpha), losses by attribute, risk of single records
    assert len(charts) >= 5
    for chart in charts:
        ElementTree.fromstring(chart)


def test_there_is_a_curve_for_every_method_with_one_numeric_parameter(page: str) -> None:
    assert "mdav: loss and risk against k" in page
    assert "noise &lt;x&gt;: loss and risk against alpha" in page
    assert "pram: loss and risk" not in page  # one value makes no curve


def test_failed_cells_stand_on_the_page(page: str) -> None:
    assert "Failed cells" in page
    assert "mdav k=500" in page


def test_a_bound_that_nothing_meets_is_told(study: Study) -> None:
    bounded = study_page(replace(study, risk_bound=0.01), again="")
    assert "No candidate has a risk below 0.01" in bounded


def test_a_study_of_few_candidates_or_none_has_a_page_too(people: Microdata) -> None:
    one = compare(people, [Candidate("mdav", (Step("mdav", {"k": 5}, ("age",)),))], seed=1)
    assert "Best: mdav" in study_page(one, again="")
    none = compare(people, [Candidate("mdav", (Step("mdav", {"k": 500}, ("age",)),))], seed=1)
    assert "No candidate could be measured" in study_page(none, again="")


def test_a_notebook_shows_the_map_and_the_ranking(study: Study) -> None:
    shown = study._repr_html_()
    assert shown.count("<svg") == 1
    assert shown.count("<tr>") == 1 + len(study.results)


def test_the_page_says_who_made_it_and_when_and_begins_with_the_best(people: Microdata) -> None:
    design = {"method": [{"name": "mdav", "attributes": ["age", "wealth"]}]}
    signed = {"organisation": "Office <of> Statistics", "author": "A. Author", **design}
    page = study_page(run_study(signed, people, workers=0), again="")
    today = datetime.date.today().isoformat()
    assert f"Office &lt;of&gt; Statistics · A. Author · {today}" in page
    assert page.index('class="verdict"') < page.index("<svg")
    assert f'<p class="small">{today}</p>' in study_page(run_study(design, people, workers=0), again="")
