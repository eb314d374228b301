"""Transformed values are found again by their order, whatever the transformation was."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from microveil.attacks.linkage import rank_alignment
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.rank_alignment import RankAlignmentLinkage, correlation
from microveil.battery import run_battery
from microveil.comparison.pairs import Pair
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.microdata import Microdata
from microveil.numerics.statistics.scaling import relative_ranks

KNOWN = ["age", "income", "rent"]
TRANSFORMATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "in other units": lambda x: 0.001 * x + 32.0,
    "logarithm": lambda x: np.log(x + 1.0),
    "reversed": lambda x: 1e9 - x,
    "reversed and bent": lambda x: -np.cbrt(x),
}


@pytest.fixture(scope="module")
def people() -> Microdata:
    rng = np.random.default_rng(8)
    age = rng.integers(18, 90, 300)
    income = np.round(np.exp(rng.normal(7, 1, 300)) + 10 * age)
    return Microdata.of({"age": age, "income": income, "rent": np.round(0.2 * income + rng.normal(300, 90, 300))})


def transformed(data: Microdata, change: Callable[[np.ndarray], np.ndarray]) -> Microdata:
    return Microdata.of({name: change(data.numbers(name).values) for name in data.names})


@pytest.mark.parametrize("change", TRANSFORMATIONS.values(), ids=TRANSFORMATIONS)
def test_a_transformed_release_is_linked_like_the_original_itself(
    people: Microdata, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    itself = DistanceLinkage().assess(people, people, KNOWN)
    found = RankAlignmentLinkage().assess(people, transformed(people, change), KNOWN)
    assert found.per_record.tolist() == itself.per_record.tolist()
    assert found.value == itself.value > 98


def test_each_attribute_has_its_own_direction_and_the_scenario_names_the_reversed_ones(people: Microdata) -> None:
    release = Microdata.of(
        {
            "age": 1e9 - people.numbers("age").values,
            "income": np.sqrt(people.numbers("income").values),
            "rent": -people.numbers("rent").values,
        }
    )
    risk = RankAlignmentLinkage().assess(people, release, KNOWN)
    assert risk.value == DistanceLinkage().assess(people, people, KNOWN).value
    assert risk.scenario.endswith("Larger values were found to be released as smaller ones in age, rent.")
    alike = {
        d: RankAlignmentLinkage(direction=d).assess(people, release, KNOWN).value for d in ("increasing", "decreasing")
    }
    assert max(alike.values()) < 10


def test_equal_values_share_the_chance() -> None:
    people = Microdata.of({"age": [20, 20, 30, 40, 40, 40]})
    release = Microdata.of({"age": [-20, -20, -30, -40, -40, -40]})
    risk = RankAlignmentLinkage().assess(people, release)
    assert risk.per_record == pytest.approx([1 / 2, 1 / 2, 1, 1 / 3, 1 / 3, 1 / 3])


def test_groups_that_keep_the_order_are_linked_as_far_as_the_order_goes() -> None:
    """Values recoded to group numbers: each group's members share the chance."""
    people = Microdata.of({"age": [20, 25, 30, 61, 65, 70]})
    release = Microdata.of({"age": [2, 2, 2, 1, 1, 1]})
    assert RankAlignmentLinkage().assess(people, release).per_record == pytest.approx([1 / 3] * 6)


def test_categories_without_an_order_are_compared_as_they_are() -> None:
    people = Microdata.of({"age": [20, 30, 20, 30], "sex": ["f", "f", "m", "m"]})
    release = Microdata.of({"age": [-20, -30, -20, -30], "sex": ["f", "f", "m", "m"]})
    assert RankAlignmentLinkage().assess(people, release, ["age", "sex"]).value == 100.0


def test_ordered_categories_have_ranks_too() -> None:
    people = Microdata.of({"size": ["s", "m", "l"] * 2, "age": [1, 2, 3, 4, 5, 6]})
    described = people.schema.replacing(people["size"].changed(kind="ordinal", domain=("s", "m", "l")))
    people = people.with_schema(described)
    release = Microdata.of({"size": ["l", "m", "s"] * 2, "age": [1, 2, 3, 4, 5, 6]}, people.schema)
    risk = RankAlignmentLinkage().assess(people, release, ["size"])
    assert risk.value == 50.0
    assert risk.scenario.endswith("in size.")


def test_missing_cells_stay_missing_for_their_reason() -> None:
    people = Microdata.of({"income": [100.0, -8.0, -9.0, 300.0, 200.0]})
    described = people["income"].changed(missing="own category", missing_codes=(-8, -9))
    people = people.with_schema(people.schema.replacing(described))
    release = Microdata.of({"income": [-100.0, -8.0, -9.0, -300.0, -200.0]}, people.schema)
    assert RankAlignmentLinkage().assess(people, release).per_record.tolist() == [1.0] * 5


def test_relative_ranks_count_from_below_and_equal_values_share_the_middle() -> None:
    found = relative_ranks(np.array([5.0, np.nan, 1.0, 5.0, 9.0]))
    assert found == pytest.approx([0.5, np.nan, 0.125, 0.5, 0.875], nan_ok=True)


def test_only_a_transformation_is_noticed(people: Microdata) -> None:
    def noticed(release: Microdata) -> bool:
        return RankAlignmentLinkage.noticed(Pair.of(people, release, KNOWN))

    assert not noticed(people)
    assert not noticed(Noise(alpha=0.3).mask(people, KNOWN, seed=1).data)
    assert not noticed(MDAV(k=4).mask(people, KNOWN, seed=1).data)
    assert not noticed(transformed(people, TRANSFORMATIONS["in other units"]))  # standardising is enough
    assert noticed(transformed(people, TRANSFORMATIONS["logarithm"]))
    assert noticed(transformed(people, TRANSFORMATIONS["reversed"]))


def test_values_reversed_as_far_as_the_limit_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = np.array([1.0, 2.0, 3.0, 4.0]), np.array([4.0, 3.0, 1.0, 2.0])
    found = correlation(relative_ranks(before), relative_ranks(after))
    assert found == pytest.approx(-0.8)
    pair = Pair.of(Microdata.of({"age": before}), Microdata.of({"age": after}), ["age"])
    for limit, noticed in ((-found, True), (np.nextafter(-found, 1.0), False)):
        monkeypatch.setattr(rank_alignment, "_FOLLOWS", limit)
        assert RankAlignmentLinkage.noticed(pair) is noticed


def test_the_battery_finds_a_reversed_release_disclosed(people: Microdata) -> None:
    found = run_battery(people, transformed(people, TRANSFORMATIONS["reversed"]), KNOWN, contributions=False)
    assert found.risks["distance-linkage"].value < 2
    assert found.risks["rank-alignment-linkage"].value == found.value > 98


def test_a_file_of_unordered_categories_has_nothing_to_put_in_order() -> None:
    people = Microdata.of({"sex": ["f", "m"] * 5, "job": ["cook", "judge"] * 5})
    found = run_battery(people, people, ["sex", "job"], contributions=False)
    assert found.passed_over["rank-alignment-linkage"] == "no attribute with an order"


def test_the_order_of_names_says_nothing_of_categories_without_an_order() -> None:
    """Nobody is released as a: everyone is as far from there, although b is the next letter."""
    people, release = Microdata.of({"job": ["a", "b", "c"]}), Microdata.of({"job": ["b", "b", "c"]})
    assert RankAlignmentLinkage().assess(people, release, ["job"]).per_record == pytest.approx([1 / 3, 1 / 2, 1])


def test_a_column_that_does_not_vary_correlates_with_nothing() -> None:
    rising, flat, gap = np.array([1.0, 1.25, 2.0]), np.full(3, 7.0), np.nan
    assert (correlation(rising, flat), correlation(flat, rising)) == (0.0, 0.0)
    assert correlation(rising, rising) == pytest.approx(1.0)  # its range is 1
    assert correlation(rising, -rising) == pytest.approx(-1.0)
    assert correlation(np.array([1.0, gap, 2.0]), np.array([gap, 3.0, 4.0])) == 0.0
