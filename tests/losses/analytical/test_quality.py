"""Accuracy, completeness and consistency of released cells."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.losses.analytical.quality import Quality
from microveil.microdata import Attribute, Microdata, Schema


@pytest.mark.spec("03:ME-9")
def test_numbers_by_hand() -> None:
    before = Microdata.of({"age": [10, 20, 30, 40, None]})
    after = Microdata.of({"age": [10.0, 20.5, None, 90.0, 7.0]})
    found = Quality().measure(before, after)
    deviation = np.std([10, 20, 30, 40])
    assert found.details["accuracy"] == pytest.approx(100 * (0 + 0.5 / deviation + 1) / 3)
    assert found.details["completeness"] == 25
    assert found.details["consistency"] == pytest.approx(100 * 2 / 3)  # a fraction, and beyond the greatest
    assert found.value == pytest.approx(sum(found.details.values()) / 3)


@pytest.mark.spec("03:ME-9")
def test_categories_by_hand() -> None:
    jobs = Schema([Attribute(name="job", kind="nominal", domain=("cook", "smith", "nurse", "health"))])
    before = Microdata.of({"job": ["cook", "smith", "cook", "nurse"]}, jobs)
    after = Microdata.of({"job": ["cook", "cook", None, "health"]})
    found = Quality().measure(before, after, ["job"]).details
    assert found == pytest.approx({"accuracy": 200 / 3, "completeness": 25, "consistency": 100 / 3})


def test_fractions_are_consistent_where_the_original_has_them() -> None:
    before, after = Microdata.of({"x": [1.5, 2.0, 3.0]}), Microdata.of({"x": [1.5, 2.25, 2.75]})
    assert Quality().measure(before, after).details["consistency"] == 0


def test_the_least_and_the_greatest_value_are_consistent_and_what_lies_beyond_is_not() -> None:
    before = Microdata.of({"age": [10, 20, 30, 40]})
    kept, below, above = (
        Quality().measure(before, Microdata.of({"age": cells})).details["consistency"]
        for cells in ([40, 10, 10, 40], [9, 20, 30, 40], [10, 20, 30, 41])
    )
    assert (kept, below, above) == (0, 25, 25)


def test_a_constant_moves_wholly_or_not_at_all() -> None:
    before, after = Microdata.of({"x": [5.0, 5.0, 5.0, 5.0]}), Microdata.of({"x": [5.0, 5.01, 9.0, 4.0]})
    assert Quality().measure(before, after).details["accuracy"] == 75


def test_an_attribute_without_any_original_value_loses_nothing() -> None:
    before = Microdata.of({"x": np.array([np.nan, np.nan]), "y": [1.0, 3.0]})
    found = Quality().measure(before, Microdata.of({"x": [1.0, 2.0], "y": [1.0, 3.0]}))
    assert found.details == {"accuracy": 0, "completeness": 0, "consistency": 0}


def test_the_only_value_of_an_attribute_can_be_lost() -> None:
    found = Quality().measure(Microdata.of({"x": [4.0, None]}), Microdata.of({"x": np.array([np.nan, np.nan])}))
    assert found.details == {"accuracy": 0, "completeness": 100, "consistency": 0}


def test_several_attributes_are_averaged_share_by_share() -> None:
    before = Microdata.of({"x": [1.0, 2.0], "job": ["cook", "smith"]})
    after = Microdata.of({"x": [1.0, None], "job": ["cook", "cook"]})
    found = Quality().measure(before, after, ["x", "job"])
    assert found.details == {"accuracy": 25, "completeness": 25, "consistency": 0}
    assert found.per_attribute == pytest.approx({"x": 50 / 3, "job": 50 / 3})
    assert found.value == pytest.approx(50 / 3)
