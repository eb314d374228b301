"""The risk of records and households as histograms, before and after masking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microveil as mv
from microveil.attacks.correspondence import corresponding
from microveil.comparison.pairs import Pair
from microveil.scoring.assessing import assess_pair
from microveil.scoring.risk_profile import RiskHistogram, profile_of, profile_of_release, rows_of


def released(data: mv.Microdata, release: mv.Release, threshold: float = 0.09):  # type: ignore[no-untyped-def]
    matched = corresponding(data, release, None)
    pair = Pair.of(matched.original, matched.release)
    assessment = assess_pair(pair, matched, attacks=["uniqueness", "distance-linkage"], threshold=threshold)
    return assessment, profile_of_release(assessment, pair, matched.whole)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_every_risk_is_in_the_step_that_holds_it(risks: list[float]) -> None:
    found = RiskHistogram.of({"file": np.array(risks)})
    assert sum(found.counts["file"]) == len(risks)
    edges = found.edges
    for step, number in enumerate(found.counts["file"]):
        low, high = edges[step], edges[step + 1]
        inside = [r for r in risks if (r > low * (1 + 1e-9) or step == 0) and r <= high * (1 + 1e-9)]
        assert len(inside) == number


def test_the_steps_of_a_whole_population_hold_one_over_f() -> None:
    data = mv.Microdata.of({"job": ["cook"] * 10 + ["judge"] * 2 + ["nurse"]}, keys=["job"])
    profile = profile_of(mv.risk_of_file(data))
    assert profile.of_records.rows() == [("up to 0.1", 10), ("0.1 to 0.2", 0), ("0.2 to 0.5", 2), ("0.5 to 1", 1)]
    assert [row[-1] for row in rows_of(profile.of_records)] == ["#" * 24, "", "#" * 11, "#" * 7]
    assert profile.of_households is None
    assert profile.without_each_key == {}


def test_records_that_were_not_attacked_are_in_no_step() -> None:
    assert sum(RiskHistogram.of({"after": np.array([0.5, np.nan])}).counts["after"]) == 1
    assert RiskHistogram.of({"after": np.array([np.nan])}).counts == {"after": (0,)}


def test_before_and_after_masking_are_those_of_the_headline() -> None:
    data = mv.datasets.survey(150, seed=2)
    data = data.with_schema(data.schema.with_roles(key=["age", "sex", "region"]))
    release = mv.Recode(by="width", width=20, publish="label").mask(data, ["age"], seed=1)
    assessment, profile = released(data, release)
    before, after = profile.records["before"], profile.records["after"]
    assert float(before.sum()) == assessment.headline.before.expected
    assert int((after > 0.09 + 1e-9).sum()) == assessment.headline.after.above
    assert float(after.max()) == pytest.approx(assessment.headline.after.largest)
    histogram = profile.of_records
    assert set(histogram.counts) == {"before", "after"}
    plain = profile.to_plain()
    assert sum(plain["records"]["after"]) == 150
    assert set(plain["expected_without_key"]) == {"age", "sex", "region"}


def test_households_have_one_risk_each_before_and_after() -> None:
    homes = [1, 1, 2, 2, 3, 3, 4, 4]
    people = {"job": list("aabbccde"), "home": homes}
    data = mv.Microdata.of(people, keys=["job"], household="home")
    release = mv.Recode(by="map", map={"all": list("abcde")}, publish="label").mask(data, ["job"], seed=1)
    _, profile = released(data, release)
    assert profile.households["before"].tolist() == pytest.approx([0.75, 0.75, 0.75, 1.0])
    assert profile.households["after"].tolist() == pytest.approx([1 - (7 / 8) ** 2] * 4)
    assert sum(profile.of_households.counts["after"]) == 4


def test_a_release_that_changes_nothing_keeps_its_histogram_and_a_shuffled_one_says_so() -> None:
    data = mv.Microdata.of({"age": list(range(30)), "sex": ["f", "m"] * 15}, keys=["age", "sex"])
    same = mv.Suppress(k=1).mask(data, ["age", "sex"], seed=1)
    _, profile = released(data, same)
    assert profile.of_records.counts["before"] == profile.of_records.counts["after"]
    _, mixed = released(data, same.shuffled())
    assert mixed.of_records.counts["after"] == profile.of_records.counts["after"]
