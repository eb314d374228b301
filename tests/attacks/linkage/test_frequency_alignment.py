"""Renamed categories are found again by their frequencies, alone and together with other attributes."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.frequency_alignment import FrequencyAlignmentLinkage
from microveil.battery import run_battery
from microveil.comparison.pairs import Pair
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata
from microveil.numerics.linkage.category_alignment import CodedAttribute, agreement, align_categories

KNOWN = ["region", "job", "sex", "age"]


@pytest.fixture(scope="module")
def people() -> Microdata:
    rng = np.random.default_rng(4)
    return Microdata.of(
        {
            "region": rng.choice(["north", "south", "east", "west"], 400, p=[0.4, 0.3, 0.2, 0.1]),
            "job": rng.choice(["cook", "judge", "nurse", "clerk", "smith"], 400, p=[0.35, 0.25, 0.2, 0.12, 0.08]),
            "sex": rng.choice(["f", "m"], 400, p=[0.55, 0.45]),
            "age": rng.integers(18, 80, 400),
        }
    )


def renamed(data: Microdata, names: list[str]) -> Microdata:
    """Every category under the name of the next one: the names stay the same, and what they mean does not."""
    columns = {}
    for name in data.names:
        cells = data.arrow(name).to_pylist()
        if name in names:
            found = sorted(set(cells))
            cells = [found[(found.index(cell) + 1) % len(found)] for cell in cells]
        columns[name] = cells
    return Microdata.of(columns)


def test_a_renamed_release_is_linked_like_the_original_itself(people: Microdata) -> None:
    release = renamed(people, ["region", "job", "sex"])
    itself = DistanceLinkage().assess(people, people, KNOWN)
    found = FrequencyAlignmentLinkage().assess(people, release, KNOWN)
    assert found.per_record == pytest.approx(itself.per_record)
    assert found.value == pytest.approx(itself.value)
    assert "Categories were found again by their frequencies in region, job, sex." in found.scenario
    assert DistanceLinkage().assess(people, release, KNOWN).value < itself.value / 4


def test_the_scenario_says_what_is_taken_for_the_same_category(people: Microdata) -> None:
    found = FrequencyAlignmentLinkage().assess(people, people, KNOWN)
    assert found.scenario.startswith(
        f"An intruder knows the true values of {', '.join(KNOWN)} of everyone in the file, takes for the same category "
        "what is as frequent in both files, and takes for a person the released record that agrees best."
    )


def test_a_release_renamed_and_transformed_throughout_is_linked_too(people: Microdata) -> None:
    release = renamed(people, ["region", "job", "sex"])
    columns = {name: release.arrow(name).to_pylist() for name in release.names}
    hidden = Microdata.of({**columns, "age": 1e9 - people.numbers("age").values})
    itself = DistanceLinkage().assess(people, people, KNOWN)
    found = run_battery(people, hidden, KNOWN, contributions=False)
    assert found.worst_linkage == "frequency-alignment-linkage"
    assert found.value == pytest.approx(itself.value)


def test_frequencies_beside_other_attributes_tell_categories_apart_that_are_as_frequent() -> None:
    """Both jobs are held by three persons; only the regions that go with them, renamed too, tell which is which."""
    job = ["cook"] * 3 + ["judge"] * 3
    region = ["north", "north", "south", "south", "south", "south"]
    people = Microdata.of({"job": job, "region": region})
    release = Microdata.of({"job": ["b"] * 3 + ["a"] * 3, "region": ["x", "x", "y", "y", "y", "y"]})
    risk = FrequencyAlignmentLinkage().assess(people, release, ["job", "region"])
    assert risk.per_record == pytest.approx([1 / 2, 1 / 2, 1, 1 / 3, 1 / 3, 1 / 3])


def test_categories_that_no_frequency_tells_apart_count_as_one() -> None:
    people = Microdata.of({"job": ["cook", "judge", "nurse", "nurse"]})
    release = Microdata.of({"job": ["judge", "nurse", "cook", "cook"]})
    risk = FrequencyAlignmentLinkage().assess(people, release, ["job"])
    assert risk.per_record.tolist() == [0.5, 0.5, 0.5, 0.5]


def test_what_was_not_renamed_is_compared_by_its_name(people: Microdata) -> None:
    kept = PRAM(p=0.9).mask(people, ["region", "job"], seed=2).data
    risk = FrequencyAlignmentLinkage().assess(people, kept, ["region", "job"])
    assert "found again" not in risk.scenario
    assert risk.value == pytest.approx(DistanceLinkage().assess(people, kept, ["region", "job"]).value)


def test_only_renaming_is_noticed(people: Microdata) -> None:
    def noticed(release: Microdata) -> bool:
        return FrequencyAlignmentLinkage.noticed(Pair.of(people, release, KNOWN))

    assert not noticed(people)
    assert not noticed(PRAM(p=0.7).mask(people, ["region", "job", "sex"], seed=1).data)
    assert noticed(renamed(people, ["job"]))


@pytest.mark.parametrize(("moved", "noticed"), [(6, False), (5, True)])
def test_an_agreement_of_a_tenth_is_not_yet_clear(moved: int, noticed: bool) -> None:
    """By frequency 14 of 32 records agree, and 12 would by chance: kappa is (14 - 12) / (32 - 12); or 16 agree."""
    names = np.repeat(list("abcde"), [17, 9, 3, 2, 1])  # squares that sum to 12 x 32
    people, release = Microdata.of({"job": names}), Microdata.of({"job": np.char.add("#", np.roll(names, moved))})
    assert (names == np.roll(names, moved)).sum() == (16 if noticed else 14)
    pair = Pair.of(people, release, ["job"]).reading_labels()
    assert FrequencyAlignmentLinkage.noticed(pair) == noticed


def test_names_outside_a_declared_domain_are_found_again(people: Microdata) -> None:
    described = people["job"].changed(domain=("clerk", "cook", "judge", "nurse", "smith"))
    declared = people.with_schema(people.schema.replacing(described))
    cells = {name: people.arrow(name).to_pylist() for name in people.names}
    hashed = Microdata.of({**cells, "job": [f"#{job[::-1]}" for job in cells["job"]]})
    itself = DistanceLinkage().assess(people, people, KNOWN)
    assert FrequencyAlignmentLinkage().assess(declared, hashed, KNOWN).value == pytest.approx(itself.value)


def test_a_file_of_numbers_with_many_values_has_no_categories() -> None:
    people = Microdata.of({"income": np.arange(300.0) ** 1.5})
    found = run_battery(people, people, ["income"], contributions=False)
    assert found.passed_over["frequency-alignment-linkage"] == "no attribute with categories"
    rounded = Microdata.of({"income": np.repeat(np.arange(60.0), 5)})  # few numbers of many are no codes either
    assert FrequencyAlignmentLinkage.suited(Pair.of(people, rounded, ["income"])) == ()
    assert FrequencyAlignmentLinkage.suited(Pair.of(rounded, people, ["income"])) == ()
    assert FrequencyAlignmentLinkage.suited(Pair.of(rounded, rounded, ["income"])) == (FrequencyAlignmentLinkage(),)


def test_numbers_that_are_codes_can_be_renamed_too() -> None:
    code = np.repeat([1, 2, 3, 4, 5], [60, 50, 40, 30, 20])
    people = Microdata.of({"code": code, "income": np.arange(200.0)})
    release = Microdata.of({"code": np.array([0, 3, 5, 1, 4, 2])[code], "income": np.arange(200.0)})
    risk = FrequencyAlignmentLinkage().assess(people, release, ["code"])
    assert risk.value == pytest.approx(2.5)  # five codes, 200 persons
    assert "in code." in risk.scenario


def test_thousands_of_categories_are_paired_in_the_order_of_their_counts() -> None:
    """Too many to compare all with all: a town, of which each occurs 1, 2 or 3 times, beside an attribute that is not
    renamed."""
    rng = np.random.default_rng(6)
    town = np.repeat(np.arange(2500), rng.integers(1, 4, 2500))
    beside = rng.integers(0, 500, len(town))
    shuffled = rng.permutation(2500)[town]
    found = align_categories(
        [CodedAttribute(town, shuffled, comparable=False), CodedAttribute(beside, beside, comparable=True)]
    )[0]
    assert np.array_equal(found.before, found.after)
    told_apart = {tuple(sorted(beside[town == number])) for number in range(2500)}
    assert len(np.unique(found.before)) == len(told_apart)


def test_agreement_beyond_chance() -> None:
    sex = np.array([0, 0, 1, 1])
    assert agreement(sex, sex) == 1.0
    assert agreement(sex, 1 - sex) == -1.0
    assert agreement(sex, np.array([0, 1, 0, 1])) == 0.0
    assert agreement(np.zeros(4, np.int64), np.zeros(4, np.int64)) == 0.0
    assert agreement(np.array([-1, 0, 1]), np.array([0, 0, 1])) == 1.0
