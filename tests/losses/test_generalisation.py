"""What labels leave open."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.losses.coarsening.generalisation import Generalisation
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.scoring import assess

PEOPLE = {"age": [20, 30, 40, 60, None], "job": ["cook", "nurse", "clerk", "cook", "smith"]}


def test_intervals_sets_and_gaps_by_hand() -> None:
    released = {
        "age": ["[20, 30]", "30", None, "*", "[20, 60]"],
        "job": ["{cook, nurse}", "nurse", "*", None, "{clerk, cook, smith}"],
    }
    loss = Generalisation().measure(PEOPLE, released, ["age", "job"])
    assert loss.per_attribute["age"] == pytest.approx(100 * (10 / 40 + 0 + 1 + 1) / 4)  # the missing age is left out
    assert loss.per_attribute["job"] == pytest.approx(100 * (1 / 3 + 0 + 1 + 1 + 2 / 3) / 5)
    assert loss.value == pytest.approx(100 * (2.25 + 3) / 9)


def test_an_attribute_without_any_value_leaves_nothing_open() -> None:
    people = Microdata.of({"age": [20, 30, 40], "pay": np.full(3, np.nan)})
    released = Microdata.of({"age": ["[20, 30]", "[20, 30]", "40"], "pay": np.full(3, np.nan)})
    loss = Generalisation().measure(people, released, ["age", "pay"])
    assert loss.per_attribute["pay"] == 0
    assert loss.value == loss.per_attribute["age"] == pytest.approx(100 / 3)
    assert Generalisation().measure(people, released, ["pay"]).value == 0


def test_ends_beyond_the_range_leave_no_more_open_than_everything() -> None:
    ages = {"age": [20.0, 30.0, 40.0]}
    loss = Generalisation().measure(ages, {"age": ["(-inf, 30]", ">= 30", "[0, 100]"]})
    assert loss.value == pytest.approx(100 * (0.5 + 0.5 + 1) / 3)
    assert Generalisation().measure({"age": [4.0, 4.0]}, {"age": ["[0, 9]", "[0, 9]"]}).value == 0


@given(st.lists(st.integers(0, 99), min_size=4, max_size=30), st.integers(1, 20))
def test_wider_intervals_leave_more_open(ages: list[int], width: int) -> None:
    def released(step: int) -> dict[str, list[str]]:
        return {"age": [f"[{age // step * step}, {age // step * step + step - 1}]" for age in ages]}

    narrow, wide = (Generalisation().measure({"age": ages}, released(step)).value for step in (width, 3 * width))
    assert narrow <= wide + 1e-9


def test_an_assessment_of_labels_has_a_score() -> None:
    people = survey(200, seed=3)
    keys = ["age", "income", "education"]
    weak, strong = (assess(people, Mondrian(k=k, publish="interval").mask(people, keys), known=keys) for k in (3, 40))
    assert weak.losses["generalisation"].value < strong.losses["generalisation"].value
    assert weak.score.loss < strong.score.loss
    assert weak.risks["distance-linkage"].value > strong.risks["distance-linkage"].value
    assert "generalisation" not in assess(people, people, keys).losses


def test_labels_and_values_count_by_their_numbers() -> None:
    people = Microdata.of({"age": [20, 30, 40, 60], "pay": [1.0, 2.0, 3.0, 4.0]})
    released = Microdata.of({"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"], "pay": [1.0, 2.0, 3.0, 4.0]})
    found = assess(people, released, ["age", "pay"])
    assert found.losses["il"].value == 0
    assert found.score.loss == pytest.approx((0 + 37.5) / 2)
