"""Accuracy, completeness and consistency of released cells."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.losses.analytical.quality import Quality
from microveil.microdata import Microdata


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
    before = Microdata.of({"job": ["cook", "smith", "cook", "nurse"]})
    after = Microdata.of({"job": ["cook", "cook", None, "health"]})
    found = Quality().measure(before, after, ["job"]).details
    assert found == pytest.approx({"accuracy": 200 / 3, "completeness": 25, "consistency": 100 / 3})


def test_fractions_are_consistent_where_the_original_has_them() -> None:
    before, after = Microdata.of({"x": [1.5, 2.0, 3.0]}), Microdata.of({"x": [1.5, 2.25, 2.75]})
    assert Quality().measure(before, after).details["consistency"] == 0
