"""What a form says about one attribute, and back: codes, ranges, categories, labels and hierarchies as texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import microveil as mv
from microveil.workbench.describing import described, form_of, hierarchy_of, series_words

SEX = mv.Attribute(name="sex", kind="nominal", roles=("key",))
AGE = mv.Attribute(name="age", kind="numeric")


@pytest.mark.parametrize("data", [mv.datasets.survey(50), mv.datasets.metering(5), mv.datasets.social_network(20)])
def test_a_form_that_nobody_has_touched_changes_nothing(data: mv.Microdata) -> None:
    for attribute in data.schema:
        texts = str(data.arrow(attribute.name).type) == "string"
        assert described(attribute, form_of(attribute), texts=texts) == attribute


def test_codes_are_read_as_the_column_holds_them() -> None:
    said = {"codes": "-9\n REF \n\n-8.5"}
    assert described(SEX, said, texts=True).missing_codes == ("-9", "REF", "-8.5")
    assert described(SEX, said, texts=False).missing_codes == (-9, "REF", -8.5)
    assert described(AGE, {"codes": "-9\n-8"}, texts=False).missing_codes == (-9, -8)
    assert described(AGE, {"ranges": "-9 to -1"}, texts=False).missing_ranges == ((-9.0, -1.0),)


def test_another_kind_takes_away_what_does_not_go_with_it() -> None:
    age = AGE.changed(range=(0.0, 120.0))
    assert described(age, {"kind": "nominal", "domain": "1\n2"}, texts=False).domain == (1, 2)
    sex = SEX.changed(domain=("f", "m"))
    assert described(sex, {"kind": "numeric", "low": "0", "high": "1"}, texts=False).range == (0.0, 1.0)


def test_labels_and_hierarchies_are_lines() -> None:
    said = {
        "labels": "1 = married\n2 = single = alone",
        "hierarchy": 'cook,"services, all",all\nwaiter,"services, all",all',
    }
    found = described(mv.Attribute(name="job", kind="nominal"), said, texts=False)
    assert found.value_labels == {1: "married", 2: "single = alone"}
    assert isinstance(found.hierarchy, mv.Hierarchy)
    assert found.hierarchy.generalise("waiter", 1) == "services, all"
    assert form_of(found)["hierarchy"] == said["hierarchy"]
    cuts = described(AGE, {"hierarchy": "10, 20, 30\n20"}, texts=False).hierarchy
    assert isinstance(cuts, mv.Intervals)
    assert cuts.generalise(12, 2) == "(-inf, 20)" or cuts.levels >= 2
    assert described(found, {"hierarchy": " \n"}, texts=False).hierarchy is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"ranges": "1 2"}, "no range of missing codes"),
        ({"low": "1", "high": ""}, "both the lowest and the highest"),
        ({"low": "x", "high": "2"}, "both the lowest and the highest"),
        ({"low": "5", "high": "2"}, "range is empty"),
        ({"labels": "married"}, "no label of a value"),
        ({"kind": "colour"}, "kind"),
        ({"missing": "never"}, "missing"),
        ({"roles": "king"}, "roles"),
        ({"hierarchy": "a,b\nc"}, "hierarch"),
        ({"codes": "\n".join(map(str, range(20_001)))}, "more than 20,000 lines"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(said: dict[str, str], told: str) -> None:
    with pytest.raises(mv.MicroveilError, match=told):
        described(AGE, said, texts=False)


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8),
        min_size=1,
        unique=True,
    )
)
def test_any_categories_come_back_from_their_text(names: list[str]) -> None:
    attribute = SEX.changed(domain=tuple(names), hierarchy=mv.Hierarchy.of([(name, "all") for name in names]))
    assert described(attribute, form_of(attribute), texts=True) == attribute


def test_series_are_told_as_on_the_command_line() -> None:
    assert series_words("long", "meter", "time", ["load", "heat"]) == "id=meter,time=time,value=load,value=heat"
    assert series_words("wide", "meter", "", ["load"]) == "wide,id=meter,value=load"
    assert series_words("wide", "", "", [""]) == "wide"
    with pytest.raises(mv.MicroveilError, match="name the column"):
        series_words("long", "meter", "", ["load"])
    with pytest.raises(mv.MicroveilError, match="no form"):
        series_words("round", "", "", [])


def test_an_empty_text_is_no_hierarchy() -> None:
    assert hierarchy_of("", numeric=True) is None
