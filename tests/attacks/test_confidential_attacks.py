"""Attacks on confidential attributes: candidates, homogeneous groups, and models learnt from the release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from microveil.attacks.attribute_disclosure import AttributeDisclosure
from microveil.attacks.class_disclosure import ClassDisclosure, ClassRisk
from microveil.attacks.confidential import ConfidentialAttack
from microveil.attacks.inference import Inference
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError, UnknownNameError
from microveil.masking.microaggregation.crest import Crest
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.microdata import Microdata
from microveil.registry import make

NINE = Microdata.of(
    {
        "age": [55, 64, 59, 56, 59, 48, 56, 55, 58],
        "weight": [75, 84, 70, 54, 58, 60, 92, 90, 100],
        "class": ["circle"] * 3 + ["square"] * 6,
    },
    keys=["age", "weight"],
    confidential=["class"],
)
ATTACKS = ("attribute-disclosure", "class-disclosure", "inference")


def patients(records: int = 300, seed: int = 5) -> Microdata:
    rng = np.random.default_rng(seed)
    age, dose = rng.integers(20, 80, records).astype(float), rng.normal(size=records)
    ill = np.where(age + 5 * rng.normal(size=records) > 55, "yes", "no")
    return Microdata.of(
        {"age": age, "dose": dose, "sex": rng.choice(["f", "m"], records), "ill": ill, "cost": 3 * age + 2 * dose},
        keys=["age", "dose", "sex"],
        confidential=["ill", "cost"],
    )


# --- candidates ----------------------------------------------------------------------------------------------------


def test_the_risk_is_the_share_of_candidates_with_the_true_value() -> None:
    people = Microdata.of({"age": [20, 21, 60, 61, 62], "ill": list("aabbc")}, keys=["age"], confidential=["ill"])
    release = Microdata.of({"age": [20.5, 20.5, 61.0, 61.0, 61.0], "ill": list("aabbc")})
    risk = AttributeDisclosure().assess(people, release)
    assert risk.per_record == pytest.approx([1, 1, 2 / 3, 2 / 3, 1 / 3])
    assert risk.counters == pytest.approx({"unanimous": 40, "baseline": 36, "candidates": 100 * (2 * 2 + 3 * 3) / 25})


def test_numbers_are_disclosed_within_a_width_of_the_deviation() -> None:
    people = Microdata.of({"age": [1, 1, 2, 2], "cost": [0.0, 9.0, 100.0, 200.0]}, keys=["age"], confidential=["cost"])
    deviation = float(np.std([0, 9, 100, 200]))
    assert AttributeDisclosure(width=0.0).assess(people, people).value == 50.0
    wide = AttributeDisclosure(width=100 * 9.5 / deviation).assess(people, people)
    assert wide.per_record.tolist() == [1.0, 1.0, 0.5, 0.5]


def test_equally_near_records_are_all_candidates() -> None:
    people = Microdata.of({"x": [5.0, 0.0, 10.0], "ill": list("abc")}, keys=["x"], confidential=["ill"])
    release = Microdata.of({"x": [4.0, 6.0, 20.0], "ill": list("abc")})
    # 5 is as near to 4 as to 6; 0 is nearest to 4 and 10 to 6
    assert AttributeDisclosure().assess(people, release).per_record.tolist() == [0.5, 0.0, 0.0]


def test_a_released_value_that_was_masked_counts_as_it_is() -> None:
    people = Microdata.of({"x": [1.0, 2.0], "ill": ["a", "b"]}, keys=["x"], confidential=["ill"])
    release = Microdata.of({"x": [1.0, 2.0], "ill": ["b", "b"]})
    assert AttributeDisclosure().assess(people, release).per_record.tolist() == [0.0, 1.0]


def test_missing_true_values_are_not_attacked_and_missing_released_ones_disclose_nothing() -> None:
    people = Microdata.of({"x": [1.0, 2.0, 3.0], "cost": [1.0, None, 3.0]}, keys=["x"], confidential=["cost"])
    release = Microdata.of({"x": [1.0, 2.0, 3.0], "cost": [None, 2.0, 3.0]})
    for name in ATTACKS:
        risk = make("attack", name).assess(people, release)
        assert np.isnan(risk.per_record).tolist() == [False, True, False], name
    assert AttributeDisclosure().assess(people, release).per_record[[0, 2]].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("name", ["class-disclosure", "inference"])
def test_an_attribute_without_a_true_value_has_no_share_that_is_disclosed(name: str) -> None:
    people = Microdata.of(
        {"x": [1.0, 2.0, 3.0], "cost": [None, None, None], "ill": ["a", "a", "a"]},
        numeric=["x", "cost"],
        keys=["x"],
        confidential=["cost", "ill"],
    )
    risk = make("attack", name).assess(people, people)
    assert risk.per_attribute == {"cost": 0.0, "ill": 100.0}
    assert risk.value == 100.0


# --- homogeneous groups --------------------------------------------------------------------------------------------


@pytest.mark.spec("07:CR-01", "07:CR-04", "07:CR-05", "07:CR-22")
def test_the_nine_records_in_homogeneous_and_in_mixed_groups() -> None:
    """The longest edges give three groups of one class, CREST three mixed ones."""
    longest = Crest(k=3, alpha=1.0, cut="longest").mask(NINE)
    risk = ClassDisclosure().assess(NINE, longest)
    assert isinstance(risk, ClassRisk)
    assert risk.value == 100.0
    assert risk.spread["class"] == pytest.approx(3.0)
    assert risk.counters["divergence"] == pytest.approx(28.0299, abs=5e-5)
    assert risk.counters["closeness"] == pytest.approx(200 / 3)
    mixed = ClassDisclosure().assess(NINE, Crest(k=3).mask(NINE))
    assert isinstance(mixed, ClassRisk)
    assert (mixed.value, mixed.counters["single"]) == (0.0, 100.0)
    assert mixed.spread["class"] == pytest.approx(0.0)


@pytest.mark.spec("07:CR-01")
def test_groups_are_found_by_equal_values_where_the_release_does_not_tell_them() -> None:
    release = Crest(k=3, alpha=1.0, cut="longest").mask(NINE)
    known = ClassDisclosure(groups="values").assess(NINE, release)
    bare = ClassDisclosure().assess(NINE, release.frame)
    assert known.counters == bare.counters
    assert known.counters["homogeneous"] == 100.0
    assert known.per_record.tolist() == bare.per_record.tolist()


def test_numeric_classes_are_parts_of_the_released_values() -> None:
    people = Microdata.of({"x": [1, 1, 2, 2], "cost": [1.0, 2.0, 50.0, 90.0]}, keys=["x"], confidential=["cost"])
    assert ClassDisclosure(parts=2).assess(people, people).value == 100.0
    assert ClassDisclosure(parts=4).assess(people, people).value == 0.0
    assert ClassDisclosure(parts=1).assess(people, people).value == 100.0


def test_several_blocks_give_the_records_that_share_all_their_groups() -> None:
    data = patients(60)
    blocks = MDAV(k=5, block=1).mask(data, ["age", "dose"])
    risk = ClassDisclosure(confidential=("ill",)).assess(data, blocks)
    labels = [partition.labels for partition in blocks.partitions.values()]
    ill = data.categories("ill").codes
    together = [(labels[0] == labels[0][i]) & (labels[1] == labels[1][i]) for i in range(60)]
    assert risk.per_record.tolist() == [float((ill[members] == ill[i]).all()) for i, members in enumerate(together)]


def test_groups_that_are_not_known_cannot_be_asked_for() -> None:
    with pytest.raises(ParameterError, match="does not say how it was grouped"):
        ClassDisclosure(groups="partition").assess(NINE, NINE)


# --- models --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("01:AP-5")
@pytest.mark.parametrize("learner", ["tree", "ridge"])
def test_a_model_of_the_release_predicts_what_depends_on_the_keys(learner: str) -> None:
    data = patients()
    risk = Inference(learner=learner, width=50.0).assess(data, data)  # type: ignore[arg-type]
    assert risk.per_attribute["ill"] > 85
    assert risk.counters["explained"] > (99.9 if learner == "ridge" else 90)
    assert risk.counters["gain"] > 60
    shuffled = Noise(alpha=50.0).mask(data, ["age", "dose"], seed=1)
    weak = Inference(learner=learner, width=50.0).assess(data, shuffled)  # type: ignore[arg-type]
    assert weak.value < risk.value - 20
    assert weak.counters["baseline"] == risk.counters["baseline"]


def test_the_baseline_names_the_commonest_class_and_the_mean() -> None:
    people = Microdata.of(
        {"x": [1, 1, 1, 1], "ill": list("aaab"), "cost": [4.0, 5.0, 6.0, 5.0]}, keys=["x"], confidential=["ill", "cost"]
    )
    risk = Inference(width=10.0).assess(people, people)
    assert risk.per_record.tolist() == [0.5, 1.0, 0.5, 0.5]
    assert risk.counters == {"baseline": 62.5, "gain": 0.0, "explained": 0.0}


def test_equally_likely_classes_share_the_chance() -> None:
    people = Microdata.of({"x": [1, 1, 1, 1], "ill": list("aabb")}, keys=["x"], confidential=["ill"])
    assert Inference().assess(people, people).per_record.tolist() == [0.5] * 4


def test_a_class_that_the_release_lacks_is_never_right() -> None:
    people = Microdata.of({"x": [1, 2, 3], "ill": list("abc")}, keys=["x"], confidential=["ill"])
    release = Microdata.of({"x": [1, 2, 3], "ill": list("aaa")})
    assert Inference(leaf=1).assess(people, release).per_record.tolist() == [1.0, 0.0, 0.0]


def test_where_no_confidential_number_is_released_nothing_is_explained() -> None:
    people = Microdata.of({"x": [1, 2, 3], "cost": [4.0, 5.0, 9.0]}, keys=["x"], confidential=["cost"])
    release = Microdata.of({"x": [1, 2, 3], "cost": [None, None, None]}, people.schema)
    risk = Inference(leaf=1).assess(people, release)
    assert risk.per_record.tolist() == [0.0, 0.0, 0.0]
    assert risk.counters == {"baseline": 0.0, "gain": 0.0, "explained": 0.0}


# --- what they share -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ATTACKS)
def test_the_order_of_the_records_plays_no_part(name: str) -> None:
    data = patients(120)
    release = Noise(alpha=0.3).mask(data, ["age", "dose"], seed=1).data
    order = np.random.default_rng(2).permutation(120)
    one = make("attack", name).assess(data, release)
    other = make("attack", name).assess(data.take(order), release.take(order))
    assert other.per_record.tolist() == one.per_record[order].tolist()
    assert other.counters == pytest.approx(one.counters)


@pytest.mark.parametrize("name", ATTACKS)
def test_without_a_confidential_attribute_each_is_attacked_in_turn(name: str) -> None:
    bare = Microdata.of({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 2.0, 3.0, 4.0]})
    risk = make("attack", name).assess(bare, bare)
    assert set(risk.per_attribute) == {"a", "b"}
    alone = make("attack", name).assess(bare, bare, ["a"])
    assert set(alone.per_attribute) == {"a"}


@pytest.mark.parametrize("name", ATTACKS)
def test_the_confidential_attribute_can_be_named_and_is_not_known(name: str) -> None:
    data = patients(80)
    risk = make("attack", name, {"confidential": ("dose",)}).assess(data, data)
    assert set(risk.per_attribute) == {"dose"}
    with pytest.raises(UnknownNameError, match="'bill'"):
        make("attack", name, {"confidential": ("bill",)}).assess(data, data)
    identified = Microdata.of({"id": [1, 2], "x": [1.0, 2.0]}, identifiers=["id"], keys=["x"])
    with pytest.raises(ParameterError, match="'id', which was not released"):
        make("attack", name, {"confidential": ("id",)}).assess(identified, identified)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_list_of_confidential_attributes_has_at_least_one(name: str) -> None:
    with pytest.raises(ParameterError, match=r"confidential = \(\) is not allowed"):
        make("attack", name, {"confidential": ()})


@pytest.mark.parametrize("name", ATTACKS)
def test_they_suit_releases_with_a_confidential_attribute(name: str) -> None:
    attack: type[ConfidentialAttack] = type(make("attack", name))
    data = patients(40)
    assert len(attack.suited(Pair.of(data, MDAV(k=3).mask(data, ["age", "dose"])))) == 1
    bare = Microdata.of({"a": [1.0, 2.0]})
    assert attack.suited(Pair.of(bare, bare)) == ()
    without = MDAV(k=3).mask(data.without(["ill", "cost"]), ["age", "dose"])
    assert attack.suited(Pair.of(data, without)) == ()


def test_the_plain_form_of_class_disclosure_has_the_figures_of_the_groups_and_nothing_of_their_records() -> None:
    people = Microdata.of(
        {"age": [20, 21, 60, 61], "ill": ["flu", "flu", "flu", "gout"], "sex": list("ffmm")},
        keys=["age"],
        confidential=["ill", "sex"],
    )
    release = people.with_columns({"age": pa.array([20.5, 20.5, 60.5, 60.5])})
    risk = ClassDisclosure().assess(people, release)
    # groups of two: of illnesses (1, 0) and (1/2, 1/2) beside (3/4, 1/4), of sexes (1, 0) and (0, 1) beside (1/2, 1/2)
    assert risk.counters["closeness"] == pytest.approx(50.0)
    plain = risk.to_plain()
    assert (plain["value"], plain["per_attribute"]) == (75.0, {"ill": 50.0, "sex": 100.0})
    # by group, chi-square from the classes of the file: (1/2)^2 / (3/2) + (1/2)^2 / (1/2) and 1 + 1
    assert plain["spread"] == pytest.approx({"ill": 2 / 3, "sex": 2.0})
    assert "reports" not in repr(risk)
