"""SUDA and the risk of households as attacks on releases."""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.attacks.population.household_risk import HouseholdRisk
from microveil.attacks.population.suda import Suda
from microveil.attacks.uniqueness import Uniqueness
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError
from microveil.numerics.counting.suda import dis_suda, match_probability

TOWN = {"sex": ["f", "f", "m", "m", "m", "f"], "job": ["cook", "cook", "cook", "cook", "judge", "nurse"]}
KEYS = ["Key1", "Key2", "Key3", "Key4"]
FRANCDAT = {
    "Key1": [1, 1, 1, 3, 4, 4, 6, 1],
    "Key2": [2, 2, 2, 3, 3, 3, 2, 2],
    "Key3": [5, 1, 1, 1, 1, 1, 1, 5],
    "Key4": [1, 1, 1, 5, 4, 1, 5, 1],
}


def francdat(**changes: Any) -> mv.Microdata:
    return mv.Microdata.of({**FRANCDAT, **changes}, nominal=KEYS, keys=KEYS)


def test_the_risk_of_a_record_is_its_dis_suda() -> None:
    risk = Suda(fraction=0.01).assess(francdat(), francdat())
    assert risk.per_record == pytest.approx([0, 0, 0, 0.01421349, 0.01010602, 0.00623684, 0.01421349, 0], abs=1e-8)
    assert risk.value == pytest.approx(100 * np.mean(risk.per_record))
    assert (risk.counters["special"], risk.counters["found"]) == (50, 50)


def test_contributions_can_be_added_up_by_hand() -> None:
    """Record 4: Key1 alone (6) and Key2, Key4 (2); 5: Key4 alone (6); 6: Key1, Key4 and Key2, Key4 (2 each); 7: Key1
    alone (6) and Key2, Key4 (2). In all 26."""
    risk = Suda().assess(francdat(), francdat())
    expected = {"Key1": (6 + 2 + 6) / 26, "Key2": (2 + 2 + 2) / 26, "Key3": 0, "Key4": (2 + 6 + 4 + 2) / 26}
    assert risk.per_attribute == pytest.approx({name: 100 * share for name, share in expected.items()})
    assert [risk.counters[f"size {k}"] for k in (1, 2, 3, 4)] == pytest.approx([100 * 18 / 26, 100 * 8 / 26, 0, 0])


def test_smaller_sets_alone_are_tried_on_request() -> None:
    risk = Suda(size=1, fraction=0.5).assess(francdat(), francdat())
    assert (risk.per_record > 0).tolist() == [False, False, False, True, True, False, True, False]
    assert risk.counters["size 1"] == 100
    assert "size 2" not in risk.counters


def test_a_whole_population_betrays_everybody_unique() -> None:
    data = mv.Microdata.of(TOWN)
    assert Suda().assess(data, data, ["sex", "job"]).per_record.tolist() == [0, 0, 0, 0, 1, 1]


def test_a_changed_value_takes_away_the_sets_that_hold_it() -> None:
    changed = [3, 2, 2, 3, 3, 3, 2, 2]  # Key2 of the first record
    release = francdat(Key4=[1, 1, 1, 5, 5, 1, 5, 1])  # the fifth is no longer what makes it unique
    risk = Suda(fraction=0.5).assess(francdat(), release)
    assert risk.per_record[4] == 0
    assert risk.per_record[6] > 0  # by Key1 as before
    hidden = Suda(fraction=0.5).assess(francdat(), francdat(Key2=changed))
    assert hidden.per_record[0] == 0  # it became unique by a value that is not the person's
    assert hidden.counters["special"] > hidden.counters["found"]


def test_a_key_left_alone_finds_people_whatever_was_done_to_the_others() -> None:
    rng = np.random.default_rng(1)
    data = mv.Microdata.of({"town": [f"t{i}" for i in range(40)], "job": rng.choice(list("abc"), 40).tolist()})
    shuffled = mv.Microdata.of({"town": [f"t{i}" for i in range(40)], "job": rng.choice(list("abc"), 40).tolist()})
    assert Suda().assess(data, shuffled, ["town", "job"]).value == 100
    assert Suda().assess(data, shuffled, ["town", "job"]).per_attribute["town"] == 100


def test_records_in_another_order_are_found_like_their_originals() -> None:
    people = mv.datasets.survey(120, seed=3)
    order = np.random.default_rng(4).permutation(len(people))
    straight = Suda().assess(people, people)
    moved = Suda().assess(people.take(order), people.take(order))
    assert moved.per_record.tolist() == straight.per_record[order].tolist()
    assert moved.to_plain() == straight.to_plain()


def test_a_wildcard_makes_nobody_unique_and_hides_others() -> None:
    before = mv.Microdata.of({"job": ["cook", "judge", "baker"]}, keys=["job"])
    after = mv.Microdata.of({"job": ["cook", None, "baker"]}, keys=["job"])
    wild = [d.with_schema(d.schema.replacing(d["job"].changed(missing="wildcard"))) for d in (before, after)]
    assert Suda().assess(*wild).per_record.tolist() == [0, 0, 0]
    own = [d.with_schema(d.schema.replacing(d["job"].changed(missing="own category"))) for d in (before, after)]
    assert Suda().assess(*own).per_record.tolist() == [1, 0, 1]


@settings(max_examples=40)
@given(st.lists(st.tuples(*(st.integers(0, 2) for _ in range(8))), min_size=2, max_size=9))
def test_scores_are_those_of_all_sets_in_which_a_person_still_agrees(rows: list[tuple[int, ...]]) -> None:
    before, after = np.array(rows)[:, :4], np.array(rows)[:, 4:]
    names = list("abcd")
    schema = mv.Schema([mv.Attribute(name=name, kind="nominal", domain=(0, 1, 2)) for name in names])
    tables = [mv.Microdata.of(dict(zip(names, x.T.tolist(), strict=True)), schema) for x in (before, after)]
    pair = Pair.of(*tables, known=names)
    risk = Suda(fraction=0.3).assess_pair(Suda.facing(pair))
    n, full, agreed = len(rows), np.zeros(len(rows)), np.zeros(len(rows))
    for i in range(n):
        unique = [
            set(s)
            for k in range(1, 5)
            for s in combinations(range(4), k)
            if not any((after[i, list(s)] == after[j, list(s)]).all() for j in range(n) if j != i)
        ]
        minimal = [s for s in unique if not any(t < s for t in unique)]
        full[i] = sum(factorial(4 - len(s)) for s in minimal)
        agreed[i] = sum(factorial(4 - len(s)) for s in minimal if all(before[i, a] == after[i, a] for a in s))
    frequencies = np.array([(after == row).all(axis=1).sum() for row in after])
    match = match_probability(int((frequencies == 1).sum()), int((frequencies == 2).sum()), 0.3)
    assert risk.per_record == pytest.approx(dis_suda(agreed, 4, match, full))


@pytest.mark.parametrize("wrong", [{"size": 0}, {"fraction": 0}, {"fraction": 1.1}, {"classes": 0}, {"size": 2.5}])
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="suda"):
        Suda(**wrong)


def test_more_attributes_than_fit_are_refused_in_a_sentence() -> None:
    data = mv.Microdata.of({f"x{j}": [j, j + 1, j] for j in range(63)})
    with pytest.raises(DataError, match="up to 62 attributes"):
        Suda().assess(data, data, list(data.names))
    pair = Pair.of(data, data, known=list(data.names))
    assert Suda.suited(Suda.facing(pair)) == ()
    assert "62 attributes" in Suda.why_not(Suda.facing(pair))


# --- households ----------------------------------------------------------------------------------------------------


def home(**changes: Any) -> mv.Microdata:
    return mv.Microdata.of({**TOWN, "home": [1, 1, 2, 2, 2, 3], **changes}, keys=["sex", "job"], household="home")


def test_one_member_that_is_found_gives_away_the_household() -> None:
    risk = HouseholdRisk().assess(home(), home())
    assert risk.per_record.tolist() == [0.75, 0.75, 1, 1, 1, 1]
    assert risk.counters == pytest.approx({"persons": 100 * 4 / 6, "households": 100 * (0.75 + 1 + 1) / 3})


def test_members_are_found_only_by_values_that_are_still_their_own() -> None:
    moved = home(job=["cook", "cook", "judge", "cook", "cook", "nurse"], sex=["f", "f", "m", "m", "f", "m"])
    risk = HouseholdRisk().assess(home(), moved)
    # of the second household one of the two cooks is still a man and a cook, as is nobody else
    assert Uniqueness().assess(home(), moved).per_record.tolist() == [1 / 3, 1 / 3, 0, 1, 0, 0]
    assert risk.per_record == pytest.approx([5 / 9, 5 / 9, 1, 1, 1, 0])


def test_new_household_numbers_hide_nothing() -> None:
    release = home(home=[30, 30, 10, 10, 10, 20])
    assert HouseholdRisk().assess(home(), release).value == HouseholdRisk().assess(home(), home()).value


def test_without_households_everybody_lives_alone_and_a_battery_leaves_it_out() -> None:
    data = mv.Microdata.of(TOWN, keys=["sex", "job"])
    assert HouseholdRisk().assess(data, data).per_record.tolist() == Uniqueness().assess(data, data).per_record.tolist()
    pair = HouseholdRisk.facing(Pair.of(data, data))
    assert HouseholdRisk.suited(pair) == ()
    assert HouseholdRisk.why_not(pair) == "no household is declared"
