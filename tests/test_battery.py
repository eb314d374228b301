"""All attacks together: what is run, the worst, the vulnerable records, what gives them away, and explanations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from microveil.attacks.base import Risk
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.singling_out import SinglingOut
from microveil.battery import explain_risk, run_battery
from microveil.errors import Cancelled, DataError, MicroveilError
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.microdata import Microdata
from microveil.registry import names
from microveil.scoring import assess


@pytest.fixture(scope="module")
def people() -> Microdata:
    rng = np.random.default_rng(4)
    a = rng.normal(size=120)
    return Microdata.of({"a": a, "b": rng.normal(size=120), "flat": np.ones(120)})


def test_the_battery_runs_the_general_attacks_and_finds_the_worst(people: Microdata) -> None:
    release = Noise(alpha=0.05).mask(people, seed=1)
    found = run_battery(people, release)
    assert {"distance-linkage", "interval-disclosure"} <= set(found.risks)
    linked = [risk.value for label, risk in found.risks.items() if found.attacks[label].family == "linkage"]
    assert len(linked) > 1
    assert found.value == max(linked)
    assert found.worst_linkage is not None
    assert found.attacks[found.worst_linkage].family == "linkage"
    assert set(found.risks).isdisjoint(found.passed_over)


def test_vulnerability_is_the_highest_chance_of_any_linkage(people: Microdata) -> None:
    found = run_battery(people, Noise(alpha=0.05).mask(people, seed=1))
    linked = [
        r.per_record
        for label, r in found.risks.items()
        if found.attacks[label].family == "linkage" or r.name == "uniqueness"
    ]
    assert np.allclose(found.vulnerability, np.nanmax(linked, axis=0), equal_nan=True)


def test_the_result_does_not_depend_on_the_number_of_workers(people: Microdata) -> None:
    release = RankSwapping(p=10).mask(people, seed=1)
    one, two = (run_battery(people, release, workers=workers) for workers in (1, 2))
    assert one.to_plain() == two.to_plain()


def test_an_attribute_that_tells_nothing_contributes_nothing(people: Microdata) -> None:
    found = run_battery(people, Noise(alpha=0.05).mask(people, seed=1), attacks=["distance-linkage"])
    assert found.contributions["flat"] == 0.0
    assert found.contributions["a"] > 10
    assert list(found.contributions.values()) == sorted(found.contributions.values(), reverse=True)


def test_a_risk_explains_itself_with_a_record_of_the_table(people: Microdata) -> None:
    release = MDAV(k=3).mask(people)
    text = run_battery(people, release).explain("distance-linkage", people, release)
    for word in ("Scenario:", "assumed to know", "95 % interval", "Example: record", "released as"):
        assert word in text


def test_nothing_of_single_records_is_in_the_plain_form(people: Microdata) -> None:
    plain = run_battery(people, MDAV(k=3).mask(people)).to_plain()
    assert not any("per_record" in risk for risk in plain["risks"].values())


def test_all_attacks_in_an_assessment(people: Microdata) -> None:
    release = MDAV(k=3).mask(people)
    assessment = assess(people, release, attacks="all")
    assert assessment.battery is not None
    assert set(assessment.risks) == set(assessment.battery.risks)
    assert "battery" in assessment.to_plain()


def test_it_can_be_cancelled(people: Microdata) -> None:
    def stop(fraction: float, label: str) -> None:
        raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        run_battery(people, MDAV(k=3).mask(people), progress=stop)


def test_tables_that_do_not_fit_are_refused(people: Microdata) -> None:
    with pytest.raises(DataError):
        run_battery(people, people.take(np.arange(3)))


def test_stronger_variants_are_tried_and_named_by_what_sets_them_apart(people: Microdata) -> None:
    found = run_battery(people, RankSwapping(p=10).mask(people, seed=1), contributions=False)
    assert "distance-linkage (one_to_one=True)" in found.risks
    assert "rank-swapping-linkage (propagate=True)" in found.risks
    assert len(found.risks["rank-swapping-linkage (propagate=True)"].certain) >= len(
        found.risks["rank-swapping-linkage"].certain
    )


def test_what_is_not_run_says_why(people: Microdata) -> None:
    found = run_battery(people, MDAV(k=3).mask(people), contributions=False)
    assert found.passed_over["inference"] == "no attribute is declared confidential"
    assert "not applicable" in found.passed_over["rank-swapping-linkage"]


@pytest.mark.parametrize(
    ("options", "problem"), [({"workers": 0}, "workers = 0"), ({"attacks": []}, "no attack to run")]
)
def test_wrong_wishes_are_refused_in_a_sentence(people: Microdata, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(MicroveilError, match=problem):
        run_battery(people, people, **options)


def broken(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("record 17 has income 123456")


def test_an_attack_that_breaks_off_is_named_and_the_others_go_on(
    people: Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = Noise(alpha=0.05).mask(people, seed=1)
    whole = run_battery(people, release)
    monkeypatch.setattr(SinglingOut, "_assess", broken)
    found = run_battery(people, release)
    assert isinstance(found.failed["singling-out"], ZeroDivisionError)
    assert set(found.risks) == set(whole.risks) - {"singling-out"}
    assert found.value == whole.value
    assert found.to_plain()["failed"] == {"singling-out": "ZeroDivisionError"}
    assert "123456" not in f"{found!r} {found.to_plain()}"
    assert not whole.failed


def test_an_attack_that_breaks_off_before_it_starts_is_named_too(
    people: Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SinglingOut, "suited", broken)
    found = run_battery(people, MDAV(k=3).mask(people), contributions=False)
    assert list(found.failed) == ["singling-out"]
    assert "distance-linkage" in found.risks


def test_contributions_that_break_off_leave_the_risks(people: Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microveil.battery._contributions", broken)
    found = run_battery(people, MDAV(k=3).mask(people), attacks=["distance-linkage"])
    assert found.failed.keys() == {f"contributions to {found.worst_linkage}"}
    assert not found.contributions
    assert found.value > 0


def test_no_risk_at_all_is_not_taken_for_no_danger(people: Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SinglingOut, "_assess", broken)
    with pytest.raises(DataError, match=r"no attack could be run to its end \(singling-out: ZeroDivisionError\)$"):
        run_battery(people, MDAV(k=3).mask(people), attacks=["singling-out"])


def test_an_error_of_the_caller_is_not_taken_for_one_of_an_attack(people: Microdata) -> None:
    def clumsy(fraction: float, label: str) -> None:
        raise KeyError("the caller's own")

    with pytest.raises(KeyError):
        run_battery(people, MDAV(k=3).mask(people), progress=clumsy)


@pytest.fixture(scope="module")
def mixed() -> Microdata:
    rng = np.random.default_rng(7)
    a = rng.normal(size=150)
    columns = {"a": a, "b": a + rng.normal(scale=0.1, size=150), "job": rng.choice(list("xyz"), 150)}
    return Microdata.of(columns)


@pytest.mark.parametrize(
    ("known", "variants"),
    [
        (["a"], {"one_to_one=True", "standardisation=joint"}),
        (["a", "b"], {"one_to_one=True", "standardisation=joint", "metric=mahalanobis"}),
        (["a", "job"], {"one_to_one=True", "standardisation=joint", "metric=gower"}),
        (["job"], {"one_to_one=True"}),
    ],
)
def test_variants_of_distances_are_tried_where_they_fit(mixed: Microdata, known: list[str], variants: set[str]) -> None:
    found = run_battery(mixed, mixed, known, attacks=["distance-linkage"], contributions=False)
    assert set(found.risks) == {"distance-linkage", *(f"distance-linkage ({variant})" for variant in variants)}


def test_numbers_that_vary_together_are_linked_best_by_mahalanobis(mixed: Microdata) -> None:
    values = []
    for seed in range(5):
        release = Noise(form="correlated", alpha=0.1).mask(mixed, ["a", "b"], seed=seed)
        found = run_battery(mixed, release, attacks=["distance-linkage"], contributions=False)
        values.append([found.risks[f"distance-linkage{apart}"].value for apart in ("", " (metric=mahalanobis)")])
    usual, mahalanobis = np.mean(values, axis=0)
    assert mahalanobis > 1.5 * usual


def test_variants_that_take_too_long_say_for_how_many_records_they_are(mixed: Microdata) -> None:
    longer = mixed.take(np.arange(2_100) % 150)
    found = run_battery(longer, longer, ["a", "b"], attacks=["distance-linkage"], contributions=False)
    assert found.passed_over == {"distance-linkage (one_to_one=True)": "tried on files of up to 2,000 records"}
    assert "distance-linkage (metric=mahalanobis)" in found.risks


def test_contributions_of_a_long_file_are_those_of_a_draw(people: Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    kept: list[Risk] = []
    assess_pair = DistanceLinkage.assess_pair

    def watched(self: DistanceLinkage, *arguments: Any, **options: Any) -> Any:
        risk = assess_pair(self, *arguments, **options)
        seen.append(risk.attacked)
        kept.append(risk)
        return risk

    release = Noise(alpha=0.05).mask(people, seed=1)
    exact = run_battery(people, release, attacks=["distance-linkage"])
    monkeypatch.setattr("microveil.battery._DRAWN", 60)
    monkeypatch.setattr(DistanceLinkage, "variants", ())
    monkeypatch.setattr(DistanceLinkage, "assess_pair", watched)
    found = run_battery(people, release, attacks=["distance-linkage"])
    assert seen == [120, 60, 60, 60]  # the attack itself, then without each of three attributes on a few
    assert found.contributions["flat"] == 0.0  # the records with and without it are the same
    whole, without_a = exact.risks["distance-linkage"].per_record, kept[1]
    drawn = ~np.isnan(without_a.per_record)
    expected = 100 * whole[drawn].mean() - 100 * without_a.per_record[drawn].mean()
    assert without_a.known == ("b", "flat")
    assert found.contributions["a"] == pytest.approx(expected)


def test_attacks_that_cannot_read_labels_are_named_and_the_labels_too(mixed: Microdata) -> None:
    release = Mondrian(k=3, publish="interval").mask(mixed, ["a", "job"])
    found = run_battery(mixed, release, attacks=["distance-linkage", "singling-out"], contributions=False)
    assert found.labelled == ("a", "job")
    assert found.passed_over == {"singling-out": "no attribute of its kind that is not released as labels"}
    assert found.to_plain()["labelled"] == ["a", "job"]
    whole = run_battery(mixed, release, contributions=False)
    assert set(whole.passed_over) <= set(names("attack"))


def test_any_risk_can_be_explained(people: Microdata) -> None:
    release = MDAV(k=3).mask(people)
    risk = DistanceLinkage(metric="manhattan").assess(people, release)
    text = explain_risk("distance-linkage", risk, people, release)
    assert "Example: record" in text
    assert "Formula:" in text


def test_variants_of_a_linkage_know_which_numbers_are_labels() -> None:
    generator = np.random.default_rng(1)
    ages, hours = generator.integers(0, 50, (2, 2100))

    def labels(values: npt.NDArray[np.int64]) -> list[str]:
        return [f"[{value // 5 * 5}, {value // 5 * 5 + 4}]" for value in values]

    original = Microdata.of({"age": ages, "hours": hours})
    masked = Microdata.of({"age": labels(ages), "hours": labels(hours)})
    found = run_battery(original, masked, ["age", "hours"], attacks=["distance-linkage"], contributions=False)
    assert found.passed_over == {"distance-linkage (one_to_one=True)": "tried on files of up to 2,000 records"}
    assert "distance-linkage (metric=mahalanobis)" not in found.risks


def test_a_battery_is_shown_as_a_table_that_says_what_the_intruder_knows(people: Microdata) -> None:
    found = run_battery(people, Noise(alpha=0.05).mask(people, seed=1), attacks=["distance-linkage", "uniqueness"])
    told = str(found)
    assert repr(found) == told
    assert "because no keys are declared" in " ".join(told.split())
    assert f"{found.risks['distance-linkage'].value:.2f} %" in told
    assert max(map(len, told.splitlines())) <= 80
    assert "because no keys are declared" in found._repr_html_()
    assert list(found.to_frame()["percent"]) == pytest.approx([risk.value for risk in found.risks.values()])
