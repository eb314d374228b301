"""The success of attacks on persons in a release beside that on persons who are not in it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microveil as mv
from microveil.attacks.attribute_disclosure import AttributeDisclosure
from microveil.attacks.base import Attack
from microveil.attacks.inference import Inference
from microveil.attacks.leak import leak_of
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.probabilistic import ProbabilisticLinkage
from microveil.attacks.membership import MembershipInference
from microveil.attacks.singling_out import SinglingOut
from microveil.attacks.uniqueness import Uniqueness
from microveil.battery import run_battery
from microveil.comparison.columns import label_codes
from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.microdata import Microdata

NUMBERS = ["age", "income", "wealth", "expenditure"]
# a tree of leaves with one record learns a file by heart, and a predicate of all attributes fits nobody else
ATTACKS: tuple[Attack, ...] = (
    DistanceLinkage(),
    ProbabilisticLinkage(),
    Inference(leaf=1, evidence=0),
    AttributeDisclosure(),
    SinglingOut(size=5, width=1.0),
    MembershipInference(),
)


@cache
def complete() -> Microdata:
    """Persons of the survey without missing answers."""
    people = mv.datasets.survey(4000, seed=5)
    answered = np.logical_and.reduce([people.missing_states(name) == 0 for name in people.names])
    named = ["region", "sex", "education", *NUMBERS, "health", "diagnosis", "benefit"]
    return people.take(np.flatnonzero(answered)).select(named)


@cache
def groups(seed: int = 1, members: int = 450, control: int = 400) -> tuple[Microdata, Microdata, Microdata]:
    """Members, as many others, and a control group, all of one population."""
    order = np.random.default_rng(seed).permutation(len(complete()))
    parts = np.split(order, [members, 2 * members, 2 * members + control])
    return complete().take(parts[0]), complete().take(parts[1]), complete().take(parts[2])


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_release_of_other_records_leaks_nothing(attack: Attack) -> None:
    """A 95 % interval may miss 0 now and then; of eight splits of the population no more than two do."""
    leaks = []
    for seed in range(8):
        members, others, control = groups(seed, 250, 250)
        pair = Pair.of(members, others, control=control)  # as they are: there is no order to find
        leaks.append(attack.assess_pair(attack.facing(pair)).leak)
    found = [leak for leak in leaks if leak is not None]
    assert len(found) == 8
    assert sum(leak.low <= 0 <= leak.high for leak in found) >= 6
    assert abs(np.mean([leak.value for leak in found])) < 8


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_undisguised_release_leaks_nearly_everything(attack: Attack) -> None:
    members, _, control = groups()
    leak = attack.assess(members, members, control=control).leak
    assert leak is not None
    assert leak.value > 95
    assert leak.is_seen
    assert leak.control < 75  # something is true of everybody, and not everything
    assert (leak.attacked, leak.controls) == ((400, 400) if attack.name == "singling-out" else (450, 400))


@pytest.mark.parametrize("attack", [a for a in ATTACKS if a.name != "singling-out"], ids=lambda attack: attack.name)
def test_weak_noise_lies_in_between(attack: Attack) -> None:
    members, _, control = groups()
    release = mv.Noise(alpha=0.05).mask(members, NUMBERS, seed=3)
    leak = attack.assess(members, release, control=control).leak
    assert leak is not None
    undisguised = attack.assess(members, members, control=control).leak
    assert undisguised is not None
    assert leak.low > 0
    assert leak.high < undisguised.value


def test_predicates_as_wide_as_the_noise_single_out_some() -> None:
    members, _, control = groups()
    release = mv.Noise(alpha=0.01).mask(members, NUMBERS, seed=3)
    leak = SinglingOut(size=5, width=30.0).assess(members, release, control=control).leak
    assert leak is not None
    assert 10 < leak.value < 90
    assert leak.is_seen


@pytest.mark.parametrize("attack", ATTACKS[:4], ids=lambda attack: attack.name)
def test_a_shuffled_release_leaks_as_much(attack: Attack) -> None:
    """Who is linked to which record is not known to the intruder, so the order of the release plays no part."""
    members, _, control = groups()
    release = mv.Noise(alpha=0.05).mask(members, NUMBERS, seed=3).data
    shuffled = release.take(np.random.default_rng(2).permutation(len(release)))
    one, other = (attack.assess(members, made, control=control).leak for made in (release, shuffled))
    assert one is not None
    assert other is not None
    assert other.original == pytest.approx(one.original)
    assert other.control == pytest.approx(one.control)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_order_of_the_files_plays_no_part(attack: Attack) -> None:
    members, _, control = groups()
    release = mv.Noise(alpha=0.05).mask(members, NUMBERS, seed=3).data
    rng = np.random.default_rng(2)
    order, other = rng.permutation(len(members)), rng.permutation(len(control))
    before = attack.assess(members, release, control=control).leak
    after = attack.assess(members.take(order), release.take(order), control=control.take(other)).leak
    assert before is not None
    assert after is not None
    assert (after.value, after.low, after.high) == pytest.approx((before.value, before.low, before.high))


# --- by hand ------------------------------------------------------------------------------------------------------


def test_a_link_is_confirmed_by_the_other_attributes() -> None:
    """By age everybody has one nearest record; its job is right for all members and for every fourth of the control."""
    members = Microdata.of({"age": np.arange(40.0), "job": ["cook", "smith"] * 20}, keys=["age"], confidential=["job"])
    jobs = ["cook" if i % 4 == 0 else "smith" if i % 2 == 0 else "cook" for i in range(40)]
    control = Microdata.of({"age": np.arange(40) + 0.2, "job": jobs}, keys=["age"], confidential=["job"])
    for attack in (DistanceLinkage(), AttributeDisclosure(), Inference(leaf=1, evidence=0)):
        leak = attack.assess(members, members, control=control).leak
        assert leak is not None
        assert (leak.original, leak.control, leak.value) == (100.0, 25.0, 100.0), attack.name


def test_where_everything_is_known_every_second_attribute_confirms() -> None:
    members = Microdata.of({"a": np.arange(40.0), "b": np.arange(40.0)[::-1].copy()})
    control = Microdata.of({"a": np.arange(40.0), "b": np.arange(40.0)})  # the two parts name different records
    leak = DistanceLinkage().assess(members, members, ["a", "b"], control=control).leak
    assert leak is not None
    assert (leak.original, leak.control) == (100.0, 0.0)
    single = DistanceLinkage().assess(members.select(["a"]), members.select(["a"]), ["a"], control=control)
    assert single.leak is None  # nothing is left to confirm a link by


def test_tied_links_count_by_their_share() -> None:
    """Two members of each age: one of the two links is confirmed."""
    members = Microdata.of({"age": np.repeat(np.arange(20.0), 2), "pay": np.arange(40.0)}, keys=["age"])
    control = Microdata.of({"age": np.arange(40.0) % 20, "pay": np.full(40, 100.0)}, keys=["age"])
    leak = DistanceLinkage().assess(members, members, control=control).leak
    assert leak is not None
    assert leak.original == 50.0
    assert leak.control == pytest.approx(100 * 2 * 0.5 / 40)  # two of the control have the age of the highest pay


def test_predicates_are_tried_on_equally_many_of_both() -> None:
    members = Microdata.of({"a": np.arange(200.0)})
    control = Microdata.of({"a": np.arange(40.0) + 1000})
    leak = SinglingOut(width=0.0).assess(members, members, control=control).leak
    assert leak is not None
    assert (leak.original, leak.control, leak.value, leak.attacked) == (100.0, 0.0, 100.0, 40)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_the_leak_is_the_share_left_over_inside_its_interval(n: int, m: int, data: st.DataObject) -> None:
    hits, others = data.draw(st.integers(0, n)), data.draw(st.integers(0, m - 1))
    leak = leak_of(np.where(np.arange(n) < hits, 1.0, 0.0), np.where(np.arange(m) < others, 1.0, 0.0), "")
    assert leak is not None
    r, c = hits / n, others / m
    assert leak.value == pytest.approx(100 * (r - c) / (1 - c))
    assert leak.low <= leak.value <= leak.high <= 100 + 1e-9
    assert leak.low < leak.high


def test_where_everybody_is_found_out_nothing_can_be_said() -> None:
    leak = leak_of(np.ones(50), np.ones(40), "")
    assert leak is not None
    assert (leak.value, leak.low, leak.high) == (0.0, -100.0, 100.0)
    assert leak_of(np.full(3, np.nan), np.ones(40), "") is None


# --- labels -------------------------------------------------------------------------------------------------------


def test_persons_without_a_record_are_found_by_the_label_that_holds_their_value() -> None:
    members = Microdata.of({"age": [20, 25, 31, 38, 44, 59]}, keys=["age"])
    release = Microdata.of({"age": ["20-29", "20-29", "30-39", "30-39", "40-59", "40-59"]})
    control = Microdata.of({"age": [22, 39, 40, 99, None] * 6}, keys=["age"])
    pair = Pair.of(members, release, known=["age"], control=control)
    assert pair.control is not None
    codes = label_codes(pair.with_control(pair.control), "age")
    assert codes.released.tolist() == [0, 0, 1, 1, 2, 2]
    assert codes.known[:11].tolist() == [0, 0, 1, 1, 2, 2, 0, 1, 2, 2, 3]  # nobody has the code 3


@pytest.mark.parametrize("attack", [ATTACKS[0], ATTACKS[3], ATTACKS[5]], ids=lambda attack: attack.name)
def test_generalised_keys_are_read_for_both_groups(attack: Attack) -> None:
    members, others, control = groups()
    made = mv.method("mondrian", k=2, publish="interval")
    leak = attack.assess(members, made.mask(members, NUMBERS, seed=1), control=control).leak
    safe = attack.assess(members, made.mask(others, NUMBERS, seed=1).data, control=control).leak
    assert leak is not None
    assert safe is not None
    assert leak.is_seen
    assert safe.low < 0 < safe.high


# --- where it stands ----------------------------------------------------------------------------------------------


def test_an_assessment_with_a_control_group_runs_all_attacks_that_can_be_compared() -> None:
    members, _, control = groups()
    members, control = members.take(np.arange(120)), control.take(np.arange(60))
    release = mv.Noise(alpha=0.05).mask(members, NUMBERS, seed=3)
    found = mv.assess(members, release, control=control, losses=["il1"])
    assert set(found.leaks) == {attack.name for attack in ATTACKS}
    plain = found.to_plain()["risks"]
    assert plain["inference"]["leak"]["value"] == found.leaks["inference"].value
    assert "leak" not in plain["uniqueness"]
    assert "what the release discloses of its own records" in " ".join(str(found).split())
    assert "control group" in found._repr_html_()
    assert "leak" not in str(mv.assess(members, release, losses=["il1"]))
    without = mv.assess(members, release, losses=["il1"], attacks=["inference"])
    assert without.leaks == {}
    assert "leak" not in without.to_plain()["risks"]["inference"]


def test_a_battery_takes_a_control_group() -> None:
    members, _, control = groups()
    members, control = members.take(np.arange(60)), control.take(np.arange(60))
    names = ["distance-linkage", "membership-inference", "uniqueness"]
    found = run_battery(members, members, attacks=names, control=control)
    assert "distance-linkage" in found.leaks
    assert "distance-linkage (one_to_one=True)" not in found.leaks  # the link of one depends on those of others
    assert {"membership-inference", "membership-inference (scale=separate)"} <= set(found.leaks)
    assert "control group" in str(found)
    assert "persons of the control group" in found.explain("distance-linkage", members, members)
    passed = run_battery(members, members, attacks=names).passed_over
    assert "needs a control group" in passed["membership-inference"]


def test_an_attack_that_has_no_meaning_for_others_has_no_leak() -> None:
    members, _, control = groups()
    few = members.take(np.arange(50))
    assert Uniqueness().assess(few, few, control=control).leak is None
    for attack in (DistanceLinkage(neighbours=2), DistanceLinkage(one_to_one=True), DistanceLinkage(known_sizes=(2,))):
        assert attack.assess(few, few, NUMBERS, control=control).leak is None


# --- what is refused or warned of ---------------------------------------------------------------------------------


def test_a_control_group_of_another_kind_is_refused_in_one_sentence() -> None:
    members, _, control = groups()
    cases = [
        (control.without(["sex"]), r"has no column 'sex'; it needs the columns"),
        (control.select(["age"]), r"has no column 'region' \(9 columns are missing\)"),
        (control.take(np.arange(0)), "the control group has no records"),
        (control.take(np.arange(29)), "29 records, and at least 30"),
        ({"a": [1] * 40}, "has no column"),
    ]
    for given_control, words in cases:
        with pytest.raises(DataError, match=words):
            mv.assess(members, members, control=given_control)
    texts = Microdata.of({**{n: control.arrow(n) for n in control.names}, "age": ["old"] * len(control)})
    with pytest.raises(DataError, match="cannot be read like the original: attribute 'age' should be numeric"):
        mv.assess(members, members, control=texts)
    beyond = Microdata.of({**{n: control.arrow(n) for n in control.names}, "sex": ["other"] * len(control)})
    with pytest.raises(DataError, match="cannot be read like the original: attribute 'sex' has 400 values outside"):
        mv.assess(members, members, control=beyond)


def test_a_graph_has_no_control_group() -> None:
    from microveil.microdata.edges import Edges

    members, _, control = groups()
    linked = replace(members.take(np.arange(40)), edges=Edges.of(np.array([0]), np.array([1]), 40))
    with pytest.raises(DataError, match="not for graphs or series"):
        mv.assess(linked, linked, control=control)


def test_equal_records_and_shared_identifiers_are_counted_in_a_warning() -> None:
    ages = np.arange(40.0)
    members = Microdata.of({"id": np.arange(40), "age": ages, "pay": ages**2}, identifiers=["id"], keys=["age"])
    control = {"id": np.arange(35, 75), "age": np.where(ages < 7, ages, ages + 0.5), "pay": ages**2}
    release = members.without(["id"])
    warnings = mv.assess(members, release, control=control, attacks=["distance-linkage"]).warnings
    assert any("7 of the 40 records of the control group equal an original record" in told for told in warnings)
    assert any("5 records of the control group have a 'id' that the original has too" in told for told in warnings)
    assert "understated" in DistanceLinkage().assess(members, release, control=control).scenario
    apart = {"id": np.arange(100, 140), "age": ages + 0.5, "pay": ages**2}
    assert mv.assess(members, release, control=apart, attacks=["distance-linkage"]).warnings == ()


def test_members_in_the_control_group_hide_the_leak() -> None:
    """Which is why equal records are warned of."""
    members, _, _ = groups()
    leak = MembershipInference().assess(members, members, control=members).leak
    assert leak is not None
    assert leak.low < 5
