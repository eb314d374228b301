"""What is learnt from a method that masks no more than it must."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.attacks.assignments import Assignments
from microveil.attacks.composition import Composition
from microveil.attacks.definetti import DeFinetti
from microveil.attacks.found_classes import classes_of
from microveil.attacks.minimality import Minimality, few_distinct
from microveil.battery import run_battery
from microveil.comparison.pairs import Pair
from microveil.masking.coarsening.generalise import Generalise
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.coarsening.recode import Recode
from microveil.masking.coarsening.suppress import Suppress
from microveil.microdata import Hierarchy, Microdata
from microveil.progress import silent
from microveil.registry import method

TOWNS = Hierarchy.of(
    [("Graz", "Styria", "*"), ("Leoben", "Styria", "*"), ("Linz", "Upper", "*"), ("Wels", "Upper", "*")]
)


def people(towns: list[str], ill: list[Any], **more: list[Any]) -> Microdata:
    data = Microdata.of({"town": towns, **more, "ill": ill}, keys=["town", *more], confidential=["ill"])
    return data.with_schema(data.schema.replacing(data["town"].changed(hierarchy=TOWNS)))


def posterior_by_brute_force(data: Microdata, made: Generalise, keys: list[str]) -> list[dict[Any, float]]:
    """Every assignment of the released values within the released classes, masked anew and compared."""
    release = made.mask(data, keys)
    rows = [tuple(row) for row in zip(*(release.data.arrow(k).to_pylist() for k in keys), strict=True)]
    ill = data.arrow("ill").to_pylist()
    places = {row: [i for i, other in enumerate(rows) if other == row] for row in rows}
    kept: list[list[Any]] = []
    partial: list[dict[int, Any]] = [{}]
    for members in places.values():
        ways = set(permutations(ill[i] for i in members))
        partial = [{**one, **dict(zip(members, way, strict=True))} for one in partial for way in ways]
    for one in partial:
        other = [one[i] for i in range(len(data))]
        again = made.mask(data.with_columns({"ill": _column(other)}), keys)
        if [tuple(row) for row in zip(*(again.data.arrow(k).to_pylist() for k in keys), strict=True)] == rows:
            kept.append(other)
    assert kept
    shares = []
    for i in range(len(data)):
        held = [one[i] for one in kept]
        shares.append({value: held.count(value) / len(held) for value in set(held)})
    return shares


def _column(values: list[Any]) -> Any:
    import pyarrow as pa

    return pa.array(values)


def expected(data: Microdata, shares: list[dict[Any, float]]) -> tuple[list[float], float, float]:
    """The chance that the most probable value is right, the mean chance of the true value, and the greatest chance."""
    right = []
    ill = data.arrow("ill").to_pylist()
    for value, share in zip(ill, shares, strict=True):
        best = [v for v, p in share.items() if p > max(share.values()) - 1e-9]
        right.append((value in best) / len(best))
    chance = float(np.mean([share.get(value, 0.0) for value, share in zip(ill, shares, strict=True)]))
    return right, 100 * chance, 100 * max(max(share.values()) for share in shares)


def test_a_class_was_merged_because_one_half_had_a_single_value() -> None:
    # two in Graz with HIV, of HHHFFG in all: Graz has HH with 4!/2! = 12 assignments of the rest, or FF with 4
    data = people(["Graz"] * 2 + ["Leoben"] * 4, ["HIV", "HIV", "HIV", "flu", "flu", "gout"])
    release = Generalise(k=2, l=2).mask(data, ["town"])
    assert set(release.frame["town"].to_pylist()) == {"Styria"}
    risk = Minimality().assess(data, release)
    shares = posterior_by_brute_force(data, Generalise(k=2, l=2), ["town"])
    assert shares[0] == {"HIV": 0.75, "flu": 0.25}
    right, chance, highest = expected(data, shares)
    assert risk.per_record.tolist() == pytest.approx(right)
    assert (risk.counters["chance"], risk.counters["highest"]) == pytest.approx((chance, highest))
    assert highest == 75.0
    assert risk.counters["chance before"] == pytest.approx(100 * (9 + 4 + 1) / 36)
    assert risk.counters["ruled out"] == pytest.approx(100 * (1 - 16 / 60))
    assert not len(risk.certain)


def test_a_value_can_become_certain_that_had_one_chance_in_three() -> None:
    data = people(["Graz"] * 2 + ["Leoben"] * 4, ["HIV", "HIV", "flu", "gout", "cold", "asthma"])
    risk = Minimality().assess(data, Generalise(k=2, l=2).mask(data, ["town"]))
    assert risk.certain.tolist() == [0, 1]
    assert "another release" in risk.proof
    assert risk.per_record[:2].tolist() == [1.0, 1.0]
    assert risk.counters["baseline"] == pytest.approx(100 / 3)
    assert risk.counters["highest"] == 100.0


@pytest.mark.parametrize("seed", range(5))
def test_enumeration_agrees_with_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    towns = np.array(["Graz", "Leoben", "Linz", "Wels"])[np.sort(rng.integers(0, 4, 7))].tolist()
    sex = rng.choice(["f", "m"], 7).tolist()
    ill = rng.choice(["flu", "gout", "cold"], 7, p=[0.5, 0.3, 0.2]).tolist()
    ill[:2] = ["flu", "gout"]
    data = people(towns, ill, sex=sex)
    made = Generalise(k=2, l=2, suppression=0.3 if seed % 2 else 0.0)
    right, chance, highest = expected(data, posterior_by_brute_force(data, made, ["town", "sex"]))
    risk = Minimality(assignments=10_000).assess(data, made.mask(data, ["town", "sex"]))
    assert "were tried" in risk.scenario
    assert risk.per_record.tolist() == pytest.approx(right)
    assert (risk.counters["chance"], risk.counters["highest"]) == pytest.approx((chance, highest))


def test_drawn_assignments_come_near_the_exact_chances() -> None:
    data = people(["Graz"] * 2 + ["Leoben"] * 4, ["HIV", "HIV", "HIV", "flu", "flu", "gout"])
    release = Generalise(k=2, l=2).mask(data, ["town"])
    exact, drawn = Minimality().assess(data, release), Minimality(assignments=0, samples=150).assess(data, release)
    assert "drawn at random" in drawn.scenario
    # about 40 of 150 are accepted, and the mean over six persons is more certain than a single chance
    assert drawn.counters["chance"] == pytest.approx(exact.counters["chance"], abs=20)
    assert drawn.counters["ruled out"] == pytest.approx(exact.counters["ruled out"], abs=18)
    assert drawn.counters["highest"] == pytest.approx(75, abs=30)
    few = Minimality(assignments=0, samples=5).assess(data, release)
    assert "too few" in few.scenario
    assert few.counters["gain"] == 0.0


def pooled(seed: int = 1, size: int = 40) -> tuple[Microdata, list[str]]:
    """Many towns of six to nine persons with all values, and some in which all have the same."""
    rng = np.random.default_rng(seed)
    towns, ill = [], []
    for town in range(size):
        members = int(rng.integers(6, 10))
        towns += [f"t{town}"] * members
        same = town % 8 == 0
        ill += ["HIV"] * members if same and town else ["flu"] * members if same else ["HIV", "flu", "cold", "gout"] * 2
        ill = ill[: len(towns)] + ["flu"] * (len(towns) - len(ill))
    tree = Hierarchy.of([(f"t{town}", "*") for town in range(size)])
    data = Microdata.of({"town": towns, "ill": ill}, keys=["town"], confidential=["ill"])
    return data.with_schema(data.schema.replacing(data["town"].changed(hierarchy=tree))), ["town"]


def test_suppressed_classes_that_were_large_enough_lacked_diversity() -> None:
    data, keys = pooled()
    release = Generalise(k=5, l=2).mask(data, keys)
    empty = np.array([town is None for town in release.frame["town"].to_pylist()])
    assert 20 < empty.sum() < 60
    risk = Minimality(assignments=0).assess(data, release)
    assert "lacked the diversity" in risk.scenario
    # whoever is suppressed was most probably in a town with HIV alone
    assert risk.counters["chance"] > risk.counters["chance before"]
    assert risk.counters["highest"] > 90
    assert 0 < risk.counters["concerned"] <= 100 * empty.mean()


def test_the_order_of_the_records_plays_no_part() -> None:
    data, keys = pooled()
    order = np.random.default_rng(4).permutation(len(data))
    for made in (Generalise(k=5, l=2), Generalise(k=5, l=2, diversity="entropy"), Generalise(k=5, t=0.5)):
        one = Minimality(assignments=0).assess(data, made.mask(data, keys))
        other = Minimality(assignments=0).assess(data.take(order), made.mask(data.take(order), keys))
        assert other.counters == pytest.approx(one.counters)
        assert other.per_record == pytest.approx(one.per_record[order])


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8), st.data())
def test_chances_in_a_class_with_few_values_agree_with_counting(values: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(values)))
    most = data.draw(st.integers(1, 3))
    sets = [s for s in combinations(range(len(values)), size) if len({values[i] for i in s}) <= most]
    found = few_distinct(np.array(values), size, most)
    if not sets:
        assert found == pytest.approx(np.full(len(values), 1 / len(values)))
        return
    held = np.bincount([i for s in sets for i in s], minlength=len(values)) / len(sets) / size
    by_value = [sum(held[i] for i in range(len(values)) if values[i] == v) for v in values]
    assert [found[i] * values.count(values[i]) for i in range(len(values))] == pytest.approx(by_value)


@pytest.mark.parametrize("made", [Generalise(k=2), Recode(k=2, publish="label"), Mondrian(k=2), Suppress(k=2)])
def test_a_method_that_looks_at_keys_alone_rules_nothing_out(made: Any) -> None:
    data = people(["Graz"] * 3 + ["Leoben"] * 3 + ["Wels"], ["flu", "flu", "gout", "flu", "cold", "cold", "HIV"])
    release = made.mask(data, ["town"])
    risk = Minimality().assess(data, release)
    assert risk.counters["gain"] == risk.counters["concerned"] == 0.0
    assert "Nothing is ruled out" in risk.scenario
    assert Minimality.suited(Minimality.facing(Pair.of(data, release))) == ()
    assert "does not look at" in Minimality.why_not(Minimality.facing(Pair.of(data, release)))


def test_a_suppressed_confidential_cell_was_rare() -> None:
    data = Microdata.of(
        {"sex": ["f"] * 4 + ["m"] * 4, "ill": ["flu", "flu", "flu", "gout", "gout", "gout", "flu", "flu"]},
        keys=["sex"], confidential=["ill"],
    )  # fmt: skip
    release = Suppress(k=2, importance=(10.0, 1.0), suppressed="wildcard").mask(data, ["sex", "ill"])
    assert release.frame["ill"].to_pylist()[3] is None
    risk = Minimality().assess(data, release, ["sex"])
    # with flu she would have been one of four: nothing would have been emptied. One of the four women has gout
    assert risk.counters["chance"] == pytest.approx(100 * (3 * 0.75 + 0.25 + 4 * 0.5) / 8)
    assert risk.counters["chance before"] == pytest.approx(100 * (3 * 0.75 + 0.0 + 4 * 0.5) / 8)
    assert risk.counters["ruled out"] == pytest.approx(100 * 5 / 7)  # of seven values shown five are flu


def test_without_provenance_nothing_is_known_of_the_method() -> None:
    data = people(["Graz"] * 2 + ["Leoben"] * 4, ["HIV", "HIV", "flu", "gout", "cold", "asthma"])
    release = Generalise(k=2, l=2).mask(data, ["town"])
    risk = Minimality().assess(data, release.data)
    assert "how the release was made is not known" in risk.scenario
    assert risk.counters["gain"] == 0.0
    assert Minimality.suited(Minimality.facing(Pair.of(data, release.data))) == ()


def test_a_battery_runs_it_where_values_decided_how_far_was_generalised() -> None:
    data = people(["Graz"] * 2 + ["Leoben"] * 4, ["HIV", "HIV", "flu", "gout", "cold", "asthma"])
    found = run_battery(data, Generalise(k=2, l=2).mask(data, ["town"]))
    assert found.risks["minimality"].certain.tolist() == [0, 1]
    assert {"definetti", "composition"} <= set(found.risks)
    plain = run_battery(data, Generalise(k=2).mask(data, ["town"]))
    assert "minimality" not in plain.risks
    assert "does not look at" in plain.passed_over["minimality"]


def test_crest_is_carried_out_again() -> None:
    rng = np.random.default_rng(2)
    data = Microdata.of(
        {"age": rng.integers(20, 70, 8), "ill": ["flu", "gout"] * 4}, keys=["age"], confidential=["ill"]
    )
    release = method("crest", k=4).mask(data, ["age"])
    risk = Minimality().assess(data, release)
    assert "were tried" in risk.scenario
    assert 0 <= risk.counters["ruled out"] < 100


def test_every_assignment_is_counted_once() -> None:
    data = people(["Graz"] * 2 + ["Leoben"] * 2, ["flu", "flu", "gout", "cold"])
    release = Generalise(k=4).mask(data, ["town"])
    pair = Pair.of(data, release).about(("town",)).reading_labels()
    classes = classes_of(pair, ("town",), silent, "")
    found = list(Assignments.of(pair, ("town",), classes, ("ill",), ()).every())
    assert sum(one.weight for one in found) == 12  # 4! / 2!
    assert len({tuple(sorted(one.record.tolist())) for one in found}) == 1


def test_a_known_key_that_was_left_alone_tells_records_apart() -> None:
    towns, ill = ["Graz"] * 4 + ["Linz"] * 4, ["flu", "gout", "flu", "gout", "flu", "gout", "gout", "flu"]
    data = people(towns, ill, sex=["f", "m"] * 3 + ["m", "f"])
    release = Generalise(k=4, l=2).mask(data, ["town"])
    for attack in (Minimality(), DeFinetti(), Composition()):
        risk = attack.assess(data, release)
        assert risk.value == 100.0, attack.name  # women have the flu and men the gout
        assert attack.assess(data, release, ["town"]).value < 100.0


def test_classes_that_lacked_diversity_are_found_though_other_keys_were_left_alone() -> None:
    data, keys = pooled()
    sex = np.where(np.arange(len(data)) % 2, "f", "m")
    cells = {"town": data.arrow("town").to_pylist(), "sex": sex, "ill": data.arrow("ill").to_pylist()}
    more = Microdata.of(cells, keys=["town", "sex"], confidential=["ill"])
    more = more.with_schema(more.schema.replacing(data["town"]))
    risk = Minimality(assignments=0, samples=0).assess(more, Generalise(k=5, l=2).mask(more, keys))
    assert "lacked the diversity" in risk.scenario
    assert risk.counters["chance"] > risk.counters["chance before"]
