"""The report on one release, in both variants, from data of every kind to the page."""

from __future__ import annotations

import datetime
import json
import os
import re
import stat
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.attacks import Risk
from microveil.battery import vulnerability_of
from microveil.cli.app import app
from microveil.errors import Cancelled, DataError, OutputExistsError, ParameterError
from microveil.losses import LossMeasure
from microveil.losses.numeric.moments import IL2, IL5
from microveil.masking import Plan, Release, Step
from microveil.masking.taxonomy import NATURES
from microveil.microdata import Attribute, Microdata, Schema, files
from microveil.microdata.datasets.sample_survey import survey
from microveil.protection import protect
from microveil.registry import find
from microveil.reporting.report import findings_of, report
from microveil.reporting.report_findings import listed
from microveil.reporting.report_internal import internal_page
from microveil.reporting.report_pictures import _correlations, _edges, released_distribution
from microveil.reporting.report_public import FEWEST, bounded, classed, public_page

SEED = 987_654_321
P = 13.37
LOW, HIGH = -777_123.25, 999_321.75  # extremes of the original, one person each
OF_SPREAD = ("il3", "il4", "abisd", "pil", "matrix-discrepancy", "quantiles", "bias", "validity")


class Outline(HTMLParser):
    """What a page has: headings in order, resources, ids and links, tables and open elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.headings: list[int] = []
        self.resources: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag in ("script", "link", "img", "iframe", "object", "embed") or "src" in given:
            self.resources.append(tag)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag == "a":
            self.links.append(str(given.get("href")))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("image", "use"):
            self.resources.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass


def assert_sound(page: str) -> None:
    """Self-contained, with headings in order, links that lead somewhere and pictures that can be read."""
    outline = Outline(page)
    assert outline.resources == []
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "url(" not in page
    assert outline.open == []
    assert outline.headings[0] == 1
    assert outline.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False))
    assert len(set(outline.ids)) == len(outline.ids)
    assert all(link.removeprefix("#") in outline.ids for link in outline.links)
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert pictures
    for svg in pictures:
        ElementTree.fromstring(svg)
    assert "nan" not in re.sub(r"<[^>]*>", " ", page).lower().split()


def people(records: int = 400, seed: int = 3) -> Microdata:
    """Numbers, categories, missing values, a text that must be escaped, an identifier, and one person at each end."""
    rng = np.random.default_rng(seed)
    income = rng.normal(30_000.0, 8_000.0, records).round(2)
    income[0], income[1] = LOW, HIGH
    wealth = (income * 3 + rng.normal(0, 20_000.0, records)).round(2)
    age = rng.integers(18, 90, records).astype(float)
    age[5:15] = np.nan
    job = rng.choice(["cook", "nurse", "<b>clerk</b>", "Köchin"], records).astype(object)
    job[7] = None
    job[9] = "astronaut"
    return Microdata.of(
        {
            "person": [f"person {i}" for i in range(records)],
            "income": income.tolist(),
            "wealth": wealth.tolist(),
            "age": [None if np.isnan(a) else int(a) for a in age],
            "job": job.tolist(),
            "sex": rng.choice(["f", "m"], records).tolist(),
            "illness": rng.choice(["flu", "gout", "none"], records).tolist(),
        },
        identifiers=["person"],
        keys=["income", "wealth", "age", "job", "sex"],
        confidential=["illness"],
    )


def turned(table: Microdata) -> Any:
    """A bare table of the same values in which records have those of others."""
    return table.take(np.arange(len(table))[::-1]).native


@pytest.fixture(scope="module")
def original() -> Microdata:
    return people()


@pytest.fixture(scope="module")
def release(original: Microdata) -> Release:
    steps = (
        Step("rank-swapping", {"p": P}, ("income", "wealth")),
        Step("mdav", {"k": 7}, ("age",)),
        Step("pram", {"p": 0.8642}, ("job", "sex")),
    )
    return protect(original, Plan(steps, SEED))


@pytest.fixture(scope="module")
def internal(original: Microdata, release: Release) -> str:
    return report(original, release, again="microveil protect secret/people.csv")


@pytest.fixture(scope="module")
def public(original: Microdata, release: Release) -> str:
    return report(original, release, public=True, again="microveil protect secret/people.csv")


# --- internal -----------------------------------------------------------------------------------------------------


def test_the_internal_page_is_sound_and_says_to_keep_it(internal: str) -> None:
    assert_sound(internal)
    assert "Internal: keep it confidential" in internal


def test_the_internal_page_tells_what_was_done(internal: str, release: Release) -> None:
    assert str(SEED) not in internal
    assert "secret; it is stored in the manifest" in internal
    assert "p = 13.37" in internal
    assert release.provenance.input_digest in internal
    assert release.data.digest() in internal
    assert "numpy" in internal
    assert "Left out (identifiers): person" in internal
    assert "microveil protect secret/people.csv" in internal
    for step in release.provenance.steps:
        assert f"method = &#34;{step.method}&#34;" in internal


def test_the_internal_page_has_every_risk_and_loss_with_its_meaning(
    internal: str, original: Microdata, release: Release
) -> None:
    from microveil.scoring import assess

    assessment = assess(original, release)
    assert assessment.risks
    assert assessment.losses
    for name, risk in assessment.risks.items():
        assert find("attack", name).meaning in internal
        assert f"{risk.low:.2f} to {risk.high:.2f}" in internal
    for name, loss in assessment.losses.items():
        assert f'<th scope="row">{name}</th><td class="n">{loss.value:.2f}</td>' in internal


def test_the_internal_page_shows_every_masked_attribute_before_and_after(internal: str) -> None:
    for name in ("income", "wealth", "age", "job", "sex"):
        assert f"<title>{name}, before and after masking</title>" in internal
    for words in ("Correlation", "Association (Cramér&#39;s V)"):
        for part in ("original", "released", "difference"):
            assert f"<title>{words}, {part}</title>" in internal


def test_text_of_the_data_is_escaped(internal: str) -> None:
    assert "&lt;b&gt;clerk" in internal
    assert "<b>" not in internal


def test_all_attacks_give_the_worst_linkage_and_what_gives_records_away(original: Microdata) -> None:
    few = original.take(np.arange(60)).select(["income", "wealth"])
    made = protect(few, Plan((Step("mdav", {"k": 20}, ("income", "wealth")),), 1))
    found = findings_of(few, made, attacks="all")
    page = internal_page(found)
    assert_sound(page)
    assert "The worst linkage is" in page
    assert "What gives records away" in page
    assert "Attacks that were not run" in page
    bounded_page = public_page(found)
    assert "records linked by the strongest attack known to us" in bounded_page
    for name in ("rank-swapping-linkage", "projected-linkage", "alignment-linkage"):
        assert find("attack", name).meaning not in bounded_page


# --- public -------------------------------------------------------------------------------------------------------


def test_the_public_page_is_sound(public: str) -> None:
    assert_sound(public)
    assert "How this table was protected" in public


def test_the_public_page_has_nothing_that_undoes_the_masking(public: str, release: Release) -> None:
    forbidden = [
        str(SEED),
        release.provenance.input_digest,
        release.data.digest(),
        "13.37",
        "0.8642",
        "rank-swapping",
        "mdav",
        "pram",
        "secret",
        "people.csv",
        "numpy",
        "person 1",
    ]
    for text in forbidden:
        assert text not in public, text


def test_the_public_page_has_no_extreme_value_of_the_original(public: str, original: Microdata) -> None:
    digits = public.replace(",", "")
    for name in ("income", "wealth"):
        values = original.numbers(name).values
        for extreme in (np.nanmin(values), np.nanmax(values)):
            for text in (f"{extreme:.2f}", f"{extreme:.0f}", f"{extreme:.4g}", f"{extreme:.6g}", repr(float(extreme))):
                assert text not in digits, (name, text)


def test_the_public_axes_end_where_most_values_end(public: str) -> None:
    svg = next(s for s in re.findall(r"<svg.*?</svg>", public, re.DOTALL) if "<title>income, as released</title>" in s)
    edges = [float(edge.replace(",", "")) for edge in re.findall(r"<title>(\S+) to \S+: released", svg)]
    assert LOW / 2 < edges[0] < edges[-1] < HIGH / 2


def test_the_public_page_says_what_kind_of_methods_and_what_is_guaranteed(public: str) -> None:
    assert (
        "swapping (perturbative): values were exchanged between records that are alike. Attributes: income, wealth."
        in public
    )
    assert "microaggregation (perturbative)" in public
    assert "Direct identifiers were removed" in public


def test_public_numbers_are_round(public: str, original: Microdata, release: Release) -> None:
    from microveil.scoring import assess

    section = public[public.index('id="losses"') : public.index('id="distributions"')]
    assert re.findall(r"\d+\.\d", section) == []
    for loss in assess(original, release).losses.values():
        if find("loss", loss.name).route == "statistic" and loss.name not in OF_SPREAD:
            assert f"<td>{find('loss', loss.name).meaning}</td><td>{classed(loss.value)}</td>" in section
        else:
            assert find("loss", loss.name).meaning not in public


def test_risks_are_bounded_from_above_and_high_ones_are_not_stated() -> None:
    for risk in np.linspace(0, 100, 301):
        words = bounded(float(risk))
        if risk > 20:
            assert words == "not stated"
        else:
            found = re.fullmatch(r"at most (\d+) %", words)
            assert found is not None
            assert float(found[1]) >= risk
    assert [classed(loss) for loss in (0.0, 9.99, 10.0, 50.0, 50.1, 100.0)] == [
        *["below 10 %"] * 2,
        *["10 to 50 %"] * 2,
        *["above 50 %"] * 2,
    ]


def test_nothing_public_rests_on_fewer_than_ten_records() -> None:
    rare = ["common"] * 60 + ["rare"] * (FEWEST - 1) + ["enough"] * FEWEST
    table = Microdata.of({"job": rare, "age": [30.25] * 60 + [71.5] * 9 + [44.75] * 10}, keys=["job", "age"])
    other = {"job": rare[::-1], "age": np.roll(table.numbers("age").values, 30)}  # not only in another order
    page = report(table, other, ["job", "age"], public=True)
    assert "common" in page
    assert "enough" in page
    assert "rare" not in page
    hints = re.findall(r"<title>(\S+) to (\S+): released (\S+)</title>", page)
    shares = {(float(low), float(high)): float(share) for low, high, share in hints}
    assert sorted(share for share in shares.values() if share) == [13.0, 76.0]
    for (low, high), share in shares.items():
        if low <= 71.5 < high:
            assert share == 0


def losses_told(page: str) -> str:
    return page[page.index('id="losses"') : page.index('id="distributions"')]


def test_the_public_losses_do_not_tell_the_strength_of_noise() -> None:
    table = survey(600, seed=5).select(["age", "income", "wealth"])
    told = set()
    for alpha in (0.18, 0.22, 0.26, 0.30):
        made = protect(table, Plan((Step("noise", {"alpha": alpha}),), 1))
        told.add(losses_told(report(table, made, public=True, losses=[*OF_SPREAD, "il2", "il5", "distribution"])))
    (section,) = told
    assert find("loss", "il5").meaning in section
    for name in OF_SPREAD:
        assert find("loss", name).meaning not in section


def test_a_loss_is_told_only_if_its_own_class_says_that_it_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    table = survey(100, seed=5).select(["age", "income"])
    made = protect(table, Plan((Step("noise", {"alpha": 0.2}),), 1))
    told = partial(report, table, made, public=True, losses=["il2", "il5"])
    assert IL2.meaning in losses_told(told())
    monkeypatch.delattr(IL2, "public")
    assert IL2.meaning not in losses_told(told())
    monkeypatch.setattr(LossMeasure, "public", True)  # what it inherits does not count
    section = losses_told(told())
    assert IL2.meaning not in section
    assert IL5.meaning in section


def test_the_public_page_says_what_the_intruder_was_assumed_to_know(original: Microdata) -> None:
    drawn = protect(original, Plan((Step("synthetic"),), 1))
    everything = report(original, drawn, public=True)
    assert "an intruder assumed to know income, wealth, age, job, sex and" in everything
    assert "more than anyone is likely to know" in everything
    little = report(original, drawn, public=True, known=["age"])
    assert "an intruder assumed to know age and" in little
    assert "more than anyone is likely to know" not in little
    assert "Who knows more may gain more" in little


def test_risks_of_which_nothing_is_stated_have_no_section(original: Microdata, release: Release) -> None:
    page = report(original, release, public=True)
    assert 'id="risks"' not in page
    assert "not stated" not in page.lower()


def test_a_report_begins_with_a_verdict_and_says_who_made_it_and_when(original: Microdata) -> None:
    keys = ("income", "wealth")
    few = original.select(keys)
    strong = protect(few, Plan((Step("mdav", {"k": 20}, keys),), 1, require={"k": 20, "risk": 0.06}))
    page = report(few, strong, organisation="Office & Co", author="A. Uthor", date="2026-11-16")
    assert "Office &amp; Co · A. Uthor · 2026-11-16" in page
    top = page[: page.index('id="done"')]
    assert '<section class="verdict passed"' in top
    assert "No record has a risk of re-identification above 0.09." in top
    assert "Required: k at least 20: <strong>met</strong>" in top
    assert "Required: largest risk of a record at most 0.06: <strong>met</strong>" in top
    assert "<dt>k-anonymity over income, wealth</dt><dd>20</dd>" in top
    weak = protect(few, Plan((Step("mdav", {"k": 2}, keys),), 1))
    failed = report(few, weak)
    assert '<section class="verdict failed"' in failed
    assert "have a risk of re-identification above 0.09; the largest is 0.5." in failed
    assert datetime.date.today().isoformat() in failed
    assert "verdict" not in report(few, weak, public=True).split("</style>")[1]
    assert "No record has a risk" in report(few, strong, public=True)


def test_only_parameters_that_differ_from_their_defaults_stand_among_the_steps(internal: str) -> None:
    steps = internal[internal.index('id="done"') : internal.index('id="data"')]
    appendix = internal[internal.index('id="parameters"') :]
    assert "leftover" not in steps
    assert '<th scope="row">leftover</th>' in appendix


def test_skewed_numbers_are_shown_over_the_middle_of_their_range() -> None:
    values = np.concatenate([np.linspace(0.0, 1.0, 995), np.full(5, 1e6)])
    edges = _edges(values)
    assert edges[0] >= 0
    assert edges[-1] < 1.1
    even = _edges(np.linspace(0.0, 1.0, 500))
    assert even[0] <= 0
    assert even[-1] >= 1


def test_a_category_of_few_released_records_is_not_shown_to_the_public() -> None:
    jobs = ["cook"] * 30 + ["astronaut"] * (FEWEST - 1) + ["baker"] * FEWEST
    picture = released_distribution(Microdata.of({"job": jobs}), "job", FEWEST)
    assert picture is not None
    assert "astronaut" not in picture.svg
    assert "baker" in picture.svg


def test_ordered_categories_of_the_public_page_stand_in_their_order() -> None:
    sizes = ["S"] * 20 + ["M"] * 60 + ["L"] * 30
    data = Microdata.of({"size": sizes}, Schema([Attribute(name="size", kind="ordinal", domain=("S", "M", "L"))]))
    picture = released_distribution(data, "size", 10)
    assert picture is not None
    assert re.findall(r">([SML])</text>", picture.svg) == ["S", "M", "L"]


def test_no_public_picture_of_what_was_released_unchanged(original: Microdata) -> None:
    others = original.take(np.arange(len(original))[::-1]).frame["sex"]
    masked = original.frame.with_columns(others.alias("sex")).to_native()
    page = report(original, masked, ["income", "wealth", "sex"], public=True)
    assert re.findall(r"<title>(\w+), as released</title>", page) == ["sex"]
    assert "Correlation" not in page
    assert "by which methods is not recorded. Attributes that were changed: sex." in page
    untouched = report(original, original.native, ["income", "wealth"], public=True)
    assert "<svg" not in untouched
    assert "table was masked" not in untouched
    assert "No values were masked: income, wealth were released unchanged." in untouched


def test_public_correlations_of_too_few_common_records_are_left_open() -> None:
    rng = np.random.default_rng(8)
    a, b, c = rng.normal(size=(3, 120)).tolist()
    with_gaps = {
        "a": a,
        "b": [x + y for x, y in zip(a, b, strict=True)],
        "c": [None] * 71 + [x + y for x, y in zip(a, c, strict=True)][71:],
    }
    table = Microdata.of(with_gaps, keys=["a", "b", "c"])
    moved = {name: [None if x is None else x + 1e-6 for x in column] for name, column in with_gaps.items()}
    told = correlations_told(report(table, Microdata.of(moved), public=True), "Correlation, released")
    assert told["a and c"] == told["b and c"] == "none"  # 49 records have both
    assert float(told["a and b"]) == pytest.approx(np.corrcoef(with_gaps["a"], with_gaps["b"])[0, 1], abs=0.005)
    assert all(text == "none" or text.endswith("0") for text in told.values())  # two digits and no more


def test_every_family_of_methods_has_words_for_the_public() -> None:
    from microveil.reporting.report_public import _WHAT_IS_DONE

    assert set(_WHAT_IS_DONE) == set(NATURES)


# --- correlations and missing values --------------------------------------------------------------------------------


def correlations_told(page: str, title: str) -> dict[str, str]:
    svg = next(s for s in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if f"<title>{title}</title>" in s)
    return dict(re.findall(r"<title>(\w+ and \w+): (\S+)</title>", svg))


@given(st.integers(0, 10_000), st.integers(3, 40), st.floats(0.0, 0.7))
def test_correlations_are_those_of_the_records_that_have_both_values(seed: int, records: int, gaps: float) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(records, 3)) @ rng.normal(size=(3, 3)) + rng.normal(scale=100.0, size=3)
    columns[rng.random((records, 3)) < gaps] = np.nan
    table = Microdata.of({name: columns[:, i] for i, name in enumerate("abc")}, numeric=["a", "b", "c"])
    found = _correlations(table, ["a", "b", "c"])
    for i in range(3):
        for j in range(3):
            both = ~np.isnan(columns[:, i]) & ~np.isnan(columns[:, j])
            if both.sum() < 2:
                assert np.isnan(found[i, j])
            else:
                assert found[i, j] == pytest.approx(np.corrcoef(columns[both, i], columns[both, j])[0, 1], abs=1e-9)


def test_missing_values_that_depend_on_others_do_not_bend_a_correlation() -> None:
    a = np.arange(40.0)
    b = np.where(a < 30, np.nan, 100.0 - a)  # only the last ten have both, and there b falls as a rises
    b[0] = np.nan
    table = Microdata.of({"a": a, "b": b, "c": np.where(np.isnan(b), a, 5.0)}, keys=["a", "b", "c"])
    told = correlations_told(report(table, table.native), "Correlation, original")
    assert told["a and b"] == "-1.000"
    assert told["b and c"] == "none"  # constant where b is present


# --- data of every kind -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", [False, True])
def test_numeric_only(public: bool) -> None:
    table = survey(120, seed=2).select(["age", "income", "wealth"])
    assert_sound(report(table, protect(table, Plan((Step("noise", {"alpha": 0.1}),), 1)), public=public))


@pytest.mark.parametrize("public", [False, True])
def test_categorical_only(public: bool) -> None:
    table = survey(120, seed=2)
    made = protect(table, Plan((Step("pram", {}, ("region", "education", "occupation")),), 1))
    assert_sound(report(table, made, public=public))


@pytest.mark.parametrize("public", [False, True])
def test_a_sampled_release_is_compared_with_its_own_records(public: bool) -> None:
    table = people()
    steps = (Step("mdav", {"k": 5}, ("income", "wealth")), Step("sampling", {"share": 0.5}, ("income",)))
    made = protect(table, Plan(steps, 4))
    assert made.rows is not None
    page = report(table, made, public=public)
    assert_sound(page)
    assert f"{len(made):,} records" in page
    assert ("Records of the original: 400" in page) is not public
    assert "what leaving out the other records costs" in page.replace("What", "what")
    if public:  # the share that was drawn would follow from it
        assert "400" not in re.sub(r"<[^>]*>", " ", page).split()
        assert "coarse" not in page
        assert "only some of the records were released" in page
        assert "statistics of the released records" in page
    else:
        assert "<title>income, before and after masking, of the released records</title>" in page
        assert "<title>Correlation, original, of the released records</title>" in page
        assert "<td>original, of the released records</td>" in page
        assert "<td>original</td>" not in page


def test_attributes_are_counted_in_the_whole_original_of_a_sample() -> None:
    table = Microdata.of({"code": list(range(40)), "age": [float(i % 7) for i in range(40)]}, keys=["code", "age"])
    steps = (Step("mdav", {"k": 5}, ("age",)), Step("sampling", {"share": 0.25}, ("code",)))
    page = report(table, protect(table, Plan(steps, 4)))
    told = re.search(
        r'<th scope="row">code</th><td>numeric</td><td>key</td><td>(.*?)</td><td class="n">(\d+)</td>', page
    )
    assert told is not None
    assert told.groups() == ("as it was", "40")


@pytest.mark.parametrize("public", [False, True])
def test_recoded_attributes_are_shown_as_they_became(public: bool) -> None:
    table = people()
    made = protect(table, Plan((Step("mondrian", {"k": 20}, ("age", "income")),), 4))
    page = report(table, made, public=public)
    assert_sound(page)
    assert "k-anonymity: " in page


@pytest.mark.parametrize("public", [False, True])
def test_a_table_without_provenance_gives_measures_only(original: Microdata, release: Release, public: bool) -> None:
    page = report(original, release.frame, public=public)
    assert_sound(page)
    words = "by which methods is not recorded" if public else "came without its manifest"
    assert words in page
    assert str(SEED) not in page


def test_roles_come_from_the_original_where_the_release_has_none(original: Microdata, release: Release) -> None:
    page = report(original, release.frame, public=True)
    assert "equivalence classes of income, wealth, age, job, sex" in page


def test_codes_are_categories_and_confidential_values_are_counted_in_a_bare_table_too() -> None:
    table = Microdata.of(
        {"sex": [1, 2] * 40, "illness": (["flu"] * 20 + ["gout"] * 20) * 2},
        nominal=["sex"],
        keys=["sex"],
        confidential=["illness"],
    )
    page = report(table, turned(table), public=True)
    assert "k-anonymity: 40 (every one of the 2 equivalence classes of sex has at least 40 records)." in page
    assert (
        "l-diversity of illness: 2 (every one of the 2 equivalence classes has at least 2 distinct values of illness)."
        in page
    )
    assert "in each category of sex" in page


def test_the_k_of_a_box_stands_beside_what_it_is_without_wildcards() -> None:
    table = Microdata.of({"age": [30.0, 40.0, 50.0, 60.0]}, keys=["age"])
    emptied = Microdata.of({"age": [30.0, None, None, None]})
    for public in (False, True):
        found = findings_of(table, emptied, threshold=0.9)
        page = public_page(found) if public else internal_page(found)
        assert "<dt>k-anonymity over age</dt><dd>4 (1 without wildcards)</dd>" in page


def test_a_box_says_who_finds_no_record_where_another_intruder_finds_some() -> None:
    """Everyone is unique in the file and stands for 50 of the population."""
    columns = {"age": [20.0 + i for i in range(40)], "w": [50.0] * 40}
    found = findings_of(Microdata.of(columns, keys=["age"], weight="w"), Microdata.of(columns), attacks="all")
    box = found.assessment.headline
    assert box.after.largest < 0.09
    page = " ".join(re.sub(r"<[^>]*>", "", internal_page(found)).split())
    assert (
        "No record has a risk of re-identification above 0.09 for an intruder who does not know who is in the file. "
        "For an intruder who does, 40 records have one; the largest is 1." in page
    )
    assert "Links that the intruder can prove to be right, by some attack: 0 records" in page
    assert "links to the right person, proved or not, for an intruder who knows that the person is in the file" in page
    assert "40 records have one" not in public_page(found)


def test_only_attacks_that_identify_make_a_record_vulnerable() -> None:
    linked = Risk.of("distance-linkage", np.array([0.25, np.nan, 0.5]), ["age"], "")
    other = Risk.of("probabilistic-linkage", np.array([0.5, np.nan, 0.0]), ["age"], "")
    disclosed = Risk.of("interval-disclosure", np.array([1.0, 1.0, 1.0]), ["age"], "")
    isolated = Risk.of("singling-out", np.array([1.0, 1.0, 1.0]), ["age"], "")  # some person, not the own record
    found = vulnerability_of([linked, other, disclosed, isolated], 3)
    np.testing.assert_array_equal(found, [0.5, np.nan, 0.5])


def test_association_is_0_for_independent_and_1_for_equal_columns() -> None:
    table = Microdata.of(
        {"a": ["x", "y"] * 20, "b": ["x", "y"] * 20, "c": ["u", "u", "v", "v"] * 10, "d": ["one"] * 40}
    )
    page = report(table, table.native, ["a", "b", "c", "d"])
    told = dict(re.findall(r"<title>([a-d] and [a-d]): (\S+)</title>", page))
    assert (told["a and b"], told["a and c"], told["a and d"]) == (
        "0.000",
        "0.000",
        "none",
    )  # the last is the difference
    first = page[page.index("(Cramér") :]
    assert re.search(r"<title>a and b: 1\.000</title>", first)


@pytest.mark.parametrize("records", [1, 2, 12])
@pytest.mark.parametrize("public", [False, True])
def test_very_short_tables(records: int, public: bool) -> None:
    sexes = ["f"] * (records - 1) + ["m"]
    table = Microdata.of({"age": [30.5 + i % 2 for i in range(records)], "sex": sexes}, keys=["age", "sex"])
    page = report(table, turned(table), public=public)
    assert re.search(r"\b1 records", page) is None
    if public and records < FEWEST:
        assert "<svg" not in page
    else:
        assert_sound(page)


def test_a_column_without_any_value_is_drawn_empty() -> None:
    table = Microdata.of({"age": [20.0, 30.0, 40.0] * 10, "pay": [None] * 30}, keys=["age", "pay"], numeric=["pay"])
    assert_sound(report(table, table.native))


def test_tables_of_different_length_are_refused_in_one_sentence(original: Microdata) -> None:
    with pytest.raises(DataError, match="must describe the same records"):
        report(original, original.take(np.arange(10)).native)


def test_long_lists_of_names_are_counted_at_their_end() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(i) for i in range(14)]).endswith("10, 11 and 2 more")


def test_a_report_tells_how_far_it_is_and_can_be_cancelled(original: Microdata, release: Release) -> None:
    seen: list[float] = []
    report(original, release, progress=lambda fraction, _: seen.append(fraction))
    assert seen[-1] == 1.0
    assert seen == sorted(seen)

    def stop(fraction: float, _: str) -> None:
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        report(original, release, progress=stop)


def test_the_same_release_gives_the_same_page(original: Microdata, release: Release, internal: str) -> None:
    assert report(original, release, again="microveil protect secret/people.csv") == internal


# --- the command --------------------------------------------------------------------------------------------------


def microveil(*arguments: object) -> None:
    """The command in this process; what goes wrong comes out as the exception that the program makes a sentence of."""
    app([str(argument) for argument in arguments], standalone_mode=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, original: Microdata, release: Release) -> Path:
    place = tmp_path_factory.mktemp("files")
    files.write(original, place / "people.csv")
    release.save(place / "safe.csv")
    return place


def test_the_command_writes_both_variants(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = (folder / "people.csv", folder / "safe.csv")
    microveil("report", *tables, "--out", tmp_path / "in.html")
    assert "keep it confidential" in capsys.readouterr().out
    page = (tmp_path / "in.html").read_text(encoding="utf-8")
    assert_sound(page)
    assert str(SEED) not in page
    assert f"microveil protect {tables[0]}" in page

    microveil("report", *tables, "--public", "--json", "--out", tmp_path / "out.html")
    assert json.loads(capsys.readouterr().out)["variant"] == "public"
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert_sound(page)
    for text in (str(SEED), "13.37", "people.csv", "safe.csv", str(folder), "rank-swapping"):
        assert text not in page, text


def test_the_command_reports_on_a_sample_by_making_it_again(folder: Path, original: Microdata, tmp_path: Path) -> None:
    plan = Plan((Step("sampling", {"share": 0.5}, ("income",)),), 4)
    made = protect(original, plan)
    made.save(tmp_path / "sample.csv")
    microveil("report", folder / "people.csv", tmp_path / "sample.csv", "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert f"{len(made):,} records; the intruder" in page
    assert "compared on income" in page


def test_the_command_reports_on_a_file_without_a_manifest(folder: Path, release: Release, tmp_path: Path) -> None:
    files.write(release.data, tmp_path / "bare.csv")
    options = ("--keys", "income,wealth,age", "--losses", "sse", "--out", tmp_path / "r.html")
    microveil("report", folder / "people.csv", tmp_path / "bare.csv", *options)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert_sound(page)
    assert "came without its manifest" in page
    assert "compared on income, wealth, age" in page


def test_the_command_overwrites_nothing_unasked(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "there.html"
    out.write_text("mine")
    tables = (folder / "people.csv", folder / "safe.csv")
    with pytest.raises(OutputExistsError, match="exists already"):
        microveil("report", *tables, "--out", out)
    assert out.read_text() == "mine"
    with pytest.raises(ParameterError, match="would overwrite the input"):
        microveil("report", *tables, "--out", tables[0], "--force")
    manifest = folder / "safe.csv.manifest.json"
    with pytest.raises(ParameterError, match="would overwrite the input"):
        microveil("report", *tables, "--out", manifest, "--force")
    assert json.loads(manifest.read_text())
    unwritten = folder / "people.csv.manifest.json"
    with pytest.raises(ParameterError, match="would overwrite the input"):
        microveil("report", tables[0], tables[0], "--out", unwritten)


@pytest.mark.skipif(os.name == "nt", reason="files have no such modes there")
def test_only_their_owner_reads_internal_pages(folder: Path, tmp_path: Path) -> None:
    tables = (folder / "people.csv", folder / "safe.csv")
    out = tmp_path / "page.html"
    before = os.umask(0o022)
    try:
        microveil("report", *tables, "--public", "--out", out)
        assert stat.S_IMODE(out.stat().st_mode) == 0o644
        microveil("report", *tables, "--out", out, "--force")  # in the place of one that all may read
        assert stat.S_IMODE(out.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_the_page_says_what_groups_publish_where_it_is_not_the_usual() -> None:
    people = survey(60, seed=3)
    parameters = {"k": 3, "publishing": "span", "publish": "interval"}
    release = protect(people, Plan((Step("mdav", parameters, ("age",)),), seed=2**100))
    page = report(people, release, ["age"])
    assert "k similar records publish their mean; here a group publishes its median" in page
    assert "publishing = span, publish = interval<" in page
