from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import microveil as mv
from microveil.attacks import Attack
from microveil.errors import Cancelled, DataError, MicroveilError
from microveil.masking import Step
from microveil.masking.ranges import Whole, ranges
from microveil.microdata import Microdata
from microveil.search.found import Found
from microveil.search.measuring import Trial, measure_trial
from microveil.search.searching import _Run, search
from microveil.search.space import Space
from microveil.study.cells import Cell, Measures, Named, cells_of
from microveil.study.measuring import Outcome

QUICK = ("rank-swapping", "noise", "pram")


def front(found: Found) -> list[tuple[float, float, str]]:
    return [(result.loss, result.risk, result.candidate.label) for result in found.front]


def same_steps(one: Sequence[Step], other: Sequence[Step]) -> bool:
    return [step.to_plain() for step in one] == [step.to_plain() for step in other]


@pytest.fixture(scope="module")
def here(people: Microdata) -> Found:
    return search(people, risk_below=40, only=QUICK, evaluations=18, seed=11, workers=0)


def test_the_number_of_workers_changes_nothing(people: Microdata, here: Found) -> None:
    found = search(people, risk_below=40, only=QUICK, evaluations=18, seed=11, workers=2)
    assert front(found) == front(here)
    assert found.trajectory == here.trajectory


def test_the_best_loses_least_within_the_bound_and_is_measured_again(here: Found) -> None:
    assert here.best.risk < 40
    assert here.best.loss == min(r.loss for r in here.study.results if r.highest_risk < 40)
    assert here.best.again is not None
    assert here.best.again.risk < 40
    assert here.study.plan().seed == here.best.again.seed


@pytest.mark.parametrize("evaluations", [12, 18])
def test_where_only_the_lucky_keep_to_the_bound_stronger_plans_are_tried(people: Microdata, evaluations: int) -> None:
    found = search(people, risk_below=40, only=QUICK, evaluations=evaluations, seed=11, workers=0)
    assert len(found.trajectory) == evaluations
    assert len(found.explored) > evaluations  # without them nothing keeps to the bound with fresh seeds
    assert found.best.risk < 40


def test_no_member_of_the_front_is_beaten_by_another(here: Found) -> None:
    points = front(here)
    assert len(points) > 2
    assert [risk for _, risk, _ in points] == sorted(risk for _, risk, _ in points)
    assert [loss for loss, _, _ in points] == sorted((loss for loss, _, _ in points), reverse=True)
    assert 0 < here.hypervolume <= 100


def test_what_is_measured_again_has_another_seed_and_counts_as_a_try(people: Microdata) -> None:
    found = search(people, only=QUICK, evaluations=24, seed=11, attacks=["distance-linkage"], workers=0)
    runs = [one.trial for one in found.explored]
    assert len(found.trajectory) == len(runs) == len({trial.seed for trial in runs}) == 24
    again = [trial for trial in runs if trial.repeat > 1]
    assert again
    assert found.tried == 24 - len(again)
    assert all(trial.candidate.is_random and trial.front == () for trial in again)


def test_the_front_is_measured_with_seeds_that_the_search_did_not_use(here: Found) -> None:
    used = {one.trial.seed for one in here.explored}
    fresh = {run.seed for result in here.study.results if result.candidate.is_random for run in result.runs}
    assert fresh
    assert not used & fresh
    assert all(len(r.runs) == (3 if r.candidate.is_random else 1) for r in here.study.results)


def test_a_search_that_was_cancelled_keeps_its_best_and_goes_on_to_the_same_front(
    people: Microdata, here: Found, tmp_path: Path
) -> None:
    def stop(fraction: float, label: str, /) -> None:
        if label.startswith("16 pipelines"):
            raise Cancelled

    asked: dict[str, Any] = {"risk_below": 40, "only": QUICK, "evaluations": 18, "seed": 11, "workers": 0}
    stopped = search(people, **asked, out=tmp_path / "out", progress=stop)
    assert not stopped.fresh
    assert "cancelled" in stopped.explanation[-1]
    assert len(stopped.explored) == 16
    assert (tmp_path / "out" / "front.csv").exists()
    again = search(people, **asked, out=tmp_path / "out")
    assert front(again) == front(here)
    assert again.fresh


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process as on Linux")
def test_a_search_that_was_killed_goes_on_to_the_same_front(people: Microdata, tmp_path: Path) -> None:
    table, out = tmp_path / "people.csv", tmp_path / "out"
    mv.write(people, table)
    described: dict[str, Any] = {"keys": ["age", "income", "town", "size"], "ordinal": {"size": ["s", "m", "l"]}}
    asked: dict[str, Any] = {"risk_below": 40, "only": QUICK, "evaluations": 18, "seed": 11, "workers": 0}
    script = "import microveil as mv, sys; table, described, asked, out = eval(sys.argv[1]); "
    script += "mv.search(mv.read(table, **described), **asked, out=out)"
    process = subprocess.Popen([sys.executable, "-c", script, repr((str(table), described, asked, str(out)))])
    store, until = out / "study.sqlite", time.monotonic() + 120
    while not (store.exists() and store.stat().st_size > 16_000) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "front.csv").exists(), "it was killed too late to be a test"
    people = mv.read(table, **described)
    assert front(search(people, **asked, out=out)) == front(search(people, **asked))


def test_a_search_without_time_still_finds_something(people: Microdata) -> None:
    found = search(people, budget="0.01s", only=QUICK, workers=2)
    assert len(found.front) >= 1
    assert found.best.loss > 0
    bounded = search(people, budget="0.01s", risk_below=30, only=QUICK, workers=2)
    assert bounded.best.risk < 30


def test_a_search_keeps_to_its_time(people: Microdata) -> None:
    began = time.monotonic()
    found = search(people, budget="6s", only=QUICK, workers=0)
    assert time.monotonic() - began < 60  # no assertion on speed: a search that ignored its time would not end
    assert found.explored


def test_what_is_required_holds_in_every_member_of_the_front(people: Microdata) -> None:
    found = search(people, require={"k": 3}, only=["mdav-generic", "noise"], evaluations=16, seed=2, workers=0)
    assert {result.candidate.family for result in found.front} <= {"mdav-generic", "noise + mdav-generic"}
    for result in found.front:
        release = mv.protect(people, mv.Plan(result.candidate.steps, result.runs[0].seed))
        assert release.guarantees.k >= 3
    bounded = search(people, at_most={"il": 15}, only=["mdav", "noise"], evaluations=16, seed=2, workers=0)
    assert all((result.value("il") or 0) <= 15 for result in bounded.front)


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({"require": {"k": 61}}, "k at least 61 is not possible, because the table has 60 records"),
        ({"require": {"k": 3}, "only": ["noise"]}, "none of 2 pipelines keeps to k at least 3; the nearest is 'noise"),
        (
            {"risk_below": "0.5%", "only": ["rank-swapping"]},
            "keeps to a risk below 0.5 %; the nearest is 'rank-swapping",
        ),
        ({"budget": "1m"}, "not both"),
        ({"at_most": {"singling-out": 5}}, "singling-out is bounded but not measured; name it among the attacks"),
        ({"at_most": {"propensity": 5}}, "propensity is bounded but not measured; name it among the losses"),
        ({"attributes": ["height"]}, "height"),
        ({"only": ["pram"], "attributes": ["age"]}, "no method left that can mask age"),
        ({"evaluations": 0}, "evaluations = 0 is not allowed"),
        ({"sampler": "best"}, "unknown sampler 'best'"),
        ({"workers": -1}, "workers = -1 is not allowed"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(people: Microdata, wish: dict[str, Any], told: str) -> None:
    with pytest.raises(MicroveilError, match=told) as refused:
        search(people, **{"evaluations": 2, "seed": 1, "workers": 0, **wish})
    assert "\n" not in str(refused.value)


def test_a_bound_that_nothing_keeps_is_found_out_long_before_the_end(people: Microdata) -> None:
    with pytest.raises(DataError, match="none of 64 pipelines keeps to k at least 3") as refused:
        search(people, require={"k": 3}, only=["noise"], attributes=["age"], evaluations=5000, seed=1, workers=0)
    assert "the nearest is 'noise" in str(refused.value)


def test_a_method_that_fails_costs_its_candidate_alone(people: Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mv.MDAV, "searched", ranges(k=Whole(2, 5000)))  # groups larger than the table
    found = search(people, attributes=["age", "income"], only=["mdav"], evaluations=16, seed=1, workers=0)
    failed = [one for one in found.explored if one.outcome.measured is None]
    assert 2 < len(failed) < 16
    assert all("has 60 records" in one.outcome.reason for one in failed)
    assert found.front


def trial_of(people: Microdata, *, attacks: Any = "all", front: tuple[tuple[float, float], ...] = ()) -> Trial:
    space = Space.of(people, people.names, only=["mdav", "pram"])
    candidate = space.candidate(space.starts()[0])
    measures = Measures(people.names, None, attacks, None, Named("worst"))
    (cell,) = cells_of(people, [(candidate, 1)], [5], measures)
    return Trial(candidate, 1, 5, measures, cell.digest, ("k", "risk"), front)


def test_a_trial_finds_what_an_assessment_with_all_attacks_finds(people: Microdata) -> None:
    trial = trial_of(people)
    measured = measure_trial(people, trial, lambda fraction, label: None).measured
    assert measured is not None
    release = mv.protect(people, mv.Plan(trial.candidate.steps, trial.seed))
    whole = mv.assess(people, release, people.names, attacks="all", score="worst")
    assert (measured.loss, measured.risk) == (whole.score.loss, whole.score.risk)
    assert {v.label: v.value for v in measured.values if v.kind == "risk"} == {
        label: risk.value for label, risk in whole.risks.items()
    }
    assert measured.guarantees == {"k": release.guarantees.k, "risk": whole.headline.after.largest}
    assert measured.complete


def test_expensive_attacks_are_left_out_where_the_cheap_ones_say_enough(people: Microdata) -> None:
    whole = measure_trial(people, trial_of(people), lambda fraction, label: None).measured
    assert whole is not None
    below = ((whole.loss, 0.0),)  # as good in loss, and no risk
    short = measure_trial(people, trial_of(people, front=below), lambda fraction, label: None).measured
    assert short is not None
    assert not short.complete
    assert short.loss == whole.loss
    assert short.risk <= whole.risk
    assert len(short.values) < len(whole.values)
    beside = ((whole.loss + 1.0, 0.0), (0.0, whole.risk + 1.0))
    kept = measure_trial(people, trial_of(people, front=beside), lambda fraction, label: None).measured
    assert kept == whole


def test_what_is_measured_in_brief_has_the_same_loss_and_risk(people: Microdata) -> None:
    whole = replace(trial_of(people), required=())
    brief = replace(whole, brief=True, bounded=("interval-disclosure", "il1"))
    found, short = (measure_trial(people, trial, lambda fraction, label: None).measured for trial in (whole, brief))
    assert found is not None
    assert short is not None
    assert (short.loss, short.risk, short.complete) == (found.loss, found.risk, True)
    measured = {value.measure for value in short.values}
    assert {"interval-disclosure", "il1", "likelihood-linkage"} <= measured
    assert "uniqueness" not in measured
    assert "sse" not in measured


def test_where_every_record_is_linked_no_further_attack_is_run(people: Microdata) -> None:
    candidate = mv.Candidate("hardly anything", (Step("rank-swapping", {"p": 0.5}, ("age",)),))
    trial = replace(trial_of(people), candidate=candidate, required=(), brief=True)
    measured = measure_trial(people, trial, lambda fraction, label: None).measured
    assert measured is not None
    assert measured.complete
    assert measured.risk == 100
    assert [value.measure for value in measured.values if value.kind == "risk"] == ["distance-linkage"]


def test_no_attack_is_run_twice(people: Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[Attack] = []
    carried_out = Attack.assess_pair

    def noted(self: Attack, *args: Any, **options: Any) -> Any:
        run.append(self)
        return carried_out(self, *args, **options)

    monkeypatch.setattr(Attack, "assess_pair", noted)
    for brief in (False, True):
        run.clear()
        trial = replace(trial_of(people), required=(), brief=brief)
        assert measure_trial(people, trial, lambda fraction, label: None).measured is not None
        assert len(run) > 4
        assert [attack for attack in run if run.count(attack) > 1] == []


def test_a_search_that_came_to_its_end_is_not_continued(people: Microdata, tmp_path: Path) -> None:
    wish: dict[str, Any] = {"only": ["noise", "mdav"], "attributes": ["age"], "seed": 4, "workers": 0, "out": tmp_path}
    first = search(people, budget="4s", **wish)
    began = time.monotonic()
    again = search(people, budget="4s", **wish)
    assert time.monotonic() - began < 3
    assert [one.trial.digest for one in again.explored] == [one.trial.digest for one in first.explored]
    assert front(again) == front(first)
    longer = search(people, budget="8s", **wish)
    assert longer.tried > first.tried


def test_a_search_that_is_refused_leaves_no_plan_of_an_earlier_one(people: Microdata, tmp_path: Path) -> None:
    wish: dict[str, Any] = {"only": ["noise"], "attributes": ["age"], "seed": 4, "workers": 0, "out": tmp_path}
    first = search(people, evaluations=3, **wish)
    kept = {path.name for path in tmp_path.iterdir()}
    assert {"plan-best.toml", "front.csv", "study.sqlite"} <= kept
    with pytest.raises(DataError, match="none of 3 pipelines keeps to"):
        search(people, evaluations=3, risk_below="0.01%", **wish)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["study.sqlite"]
    assert front(search(people, evaluations=3, **wish)) == front(first)


def test_long_tables_are_raced_on_a_sample_and_the_front_is_measured_on_all_records(
    monkeypatch: pytest.MonkeyPatch, people: Microdata
) -> None:
    monkeypatch.setattr("microveil.search.searching._LONG", 50)
    monkeypatch.setattr("microveil.search.searching._SAMPLE", 30)
    found = search(people, only=["rank-swapping", "pram"], evaluations=20, seed=3, workers=0)
    sampled = [one for one in found.explored if one.trial.sample == 30]
    whole = [one for one in found.explored if one.trial.sample is None]
    assert len(whole) < len(sampled)
    assert all(one.outcome.measured.records == 30 for one in sampled if one.outcome.measured)
    assert all(run.measured.records == 60 for result in found.study.results for run in result.runs)
    assert {one.trial.attacked for one in found.explored} == {2_000}
    assert found.tried == 20
    aside = search(people, only=["rank-swapping", "pram"], evaluations=20, seed=3, workers=2)
    assert [one.trial.digest for one in aside.explored] == [one.trial.digest for one in found.explored]
    assert front(aside) == front(found)


def test_of_long_tables_drawn_records_are_attacked(people: Microdata) -> None:
    whole = replace(trial_of(people), required=())
    for brief in (False, True):
        found = [
            measure_trial(people, replace(whole, brief=brief, attacked=attacked), lambda fraction, label: None).measured
            for attacked in (None, 20)
        ]
        widths = [
            {v.label: v.high - v.low for v in one.values if v.low is not None and v.high is not None}
            for one in found
            if one is not None
        ]
        assert len(widths) == 2
        for label in ("distance-linkage", "likelihood-linkage"):
            assert widths[1][label] > widths[0][label] > 0


def test_what_is_found_is_told_and_saved(here: Found, tmp_path: Path) -> None:
    assert here.explanation[0].startswith(f"'{here.best.candidate.label}' is chosen: it loses")
    assert "a risk below 40 %" in here.explanation[1]
    assert str(here).startswith("Search: ")
    paths = here.save(tmp_path / "found")
    lines = (tmp_path / "found" / "front.csv").read_text().splitlines()
    assert lines[0].split(",")[:3] == ["loss", "risk", "candidate"]
    assert len(lines) == 1 + len(here.front)
    plan, _ = mv.read_plan(tmp_path / "found" / "plan-best.toml")
    assert same_steps(plan.steps, here.best.candidate.steps)
    for number, result in enumerate(here.front, start=1):
        path = tmp_path / "found" / "plans" / f"plan-{number:02}.toml"
        assert same_steps(mv.read_plan(path)[0].steps, result.candidate.steps)
        assert path.stat().st_mode & 0o077 == 0
    page = (tmp_path / "found" / "study.html").read_text()
    assert "is chosen: it loses" in page
    assert page.count('r="2.5"') == sum(one.outcome.measured is not None for one in here.explored)
    assert "The faint points are the pipelines that were tried" in page
    assert "search(data, out=" in page
    tried = (tmp_path / "found" / "explored.csv").read_text().splitlines()
    assert len(tried) == 1 + len(here.explored)
    assert paths["front.csv"].exists()
    plain = here.to_plain()
    assert plain["best"] == here.best.candidate.label
    assert [line["candidate"] for line in plain["front"]] == [label for _, _, label in front(here)]


def test_the_module_can_be_called(people: Microdata) -> None:
    found = mv.search(people, only=["noise"], attributes=["age"], evaluations=2, seed=1, workers=0)
    assert isinstance(found, mv.Found)


def test_neither_the_table_nor_other_files_are_overwritten(people: Microdata, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"only": ["noise"], "attributes": ["age"], "evaluations": 2, "seed": 1, "workers": 0}
    for name in ("front.csv", "plans"):
        folder = tmp_path / name
        folder.mkdir()
        table = folder / name if name == "front.csv" else folder / "people.csv"
        mv.write(people, table)
        (folder / "plans").mkdir()
        (folder / "plans" / "plan-mine.toml").write_text("mine")
        before = table.read_bytes()
        with pytest.raises(MicroveilError, match="exists already"):
            search(mv.read(table), **asked, out=folder)
        assert table.read_bytes() == before
        assert [path.name for path in (folder / "plans").iterdir()] == ["plan-mine.toml"]
    out = tmp_path / "found"
    search(people, **asked, out=out)
    mv.write(people, out / "explored.csv", force=True)
    with pytest.raises(MicroveilError, match="would overwrite the input"):
        search(mv.read(out / "explored.csv"), **asked, out=out)


@pytest.mark.parametrize("wish", [{"require": {"k": 3}}, {"risk_below": 35}])
def test_a_search_without_time_keeps_to_what_is_asked_for(people: Microdata, wish: dict[str, Any]) -> None:
    only = ["data-swapping", "mdav-generic"]  # of which one alone promises k
    found = search(people, budget="0.01s", only=only, workers=0, **wish)
    assert found.best.candidate.family == "mdav-generic"


def test_time_is_not_added_for_ever(people: Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microveil.search.searching._PATIENCE", 0.0)
    with pytest.raises(DataError, match="none of 1 pipelines keeps to k at least 3; the nearest is 'noise"):
        search(people, require={"k": 3}, budget="0.01s", only=["noise"], workers=0)


def test_the_release_of_the_plan_keeps_to_what_is_asked_for(people: Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome_of = _Run._planned_outcome
    refused: list[str] = []
    unlucky = 2

    def planned(run: _Run, cell: Cell) -> Outcome:
        """The first plans make releases that lose too much."""
        outcome = outcome_of(run, cell)
        assert outcome.measured is not None
        if len(refused) == unlucky:
            return outcome
        refused.append(cell.candidate.label)
        lossy = tuple(replace(v, value=99.0) if v.measure == "il" else v for v in outcome.measured.values)
        return replace(outcome, measured=replace(outcome.measured, values=lossy))

    asked: dict[str, Any] = {"at_most": {"il": 90}, "only": ["noise"], "attributes": ["age", "income"]}
    asked |= {"evaluations": 5, "attacks": ["distance-linkage"], "seed": 2, "workers": 0}
    monkeypatch.setattr(_Run, "_planned_outcome", planned)
    found = search(people, **asked)
    assert len(set(refused)) == unlucky
    assert not {result.candidate.label for result in found.study.results} & set(refused)
    assert found.best.again is not None
    assert "among those that keep to il at most 90 %" in found.explanation[1]
    unlucky = 1000
    with pytest.raises(DataError, match="kept to il at most 90 % in the search does not with fresh seeds"):
        search(people, **asked)


def test_a_search_that_is_cancelled_while_its_front_is_measured_keeps_its_best(people: Microdata) -> None:
    def stop(fraction: float, label: str, /) -> None:
        if label.startswith("8 pipelines"):  # all that there are: the front is being measured
            raise Cancelled

    asked: dict[str, Any] = {"only": QUICK, "attacks": ["distance-linkage"], "seed": 1, "workers": 0}
    found = search(people, **asked, evaluations=8, progress=stop)
    assert not found.fresh
    assert found.front
    assert "cancelled" in found.explanation[-1]
