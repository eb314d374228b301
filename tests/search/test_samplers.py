from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from microveil.errors import ParameterError, UnknownNameError
from microveil.masking import Step
from microveil.microdata import Microdata
from microveil.search.samplers import (
    Nsga2Sampler,
    Point,
    Sampler,
    SmsEmoaSampler,
    front_of,
    greatest_area,
    hypervolume_of,
    mean_of,
    sampler_of,
    worth_measuring,
)
from microveil.search.space import Pipeline, Space, key_of

TABLE = Microdata.of({"age": list(range(1000)), "town": ["a", "b"] * 500})
SPACE = Space.of(TABLE, TABLE.names, only=["mdav", "noise", "pram"])


def made_up(pipeline: Pipeline) -> Point:
    """A trade-off that is known: groups on the number lose little, noise more, and PRAM adds to both."""
    loss, risk = 0.0, 100.0
    for step in pipeline:
        if step.method == "mdav":
            k = step.parameters.get("k", 3)
            loss, risk = loss + 4 * np.log(k), risk / k
        elif step.method == "noise":
            alpha = step.parameters.get("alpha", 0.1)
            loss, risk = loss + 30 * np.sqrt(alpha), risk / (1 + 10 * alpha)
        else:
            p = step.parameters.get("p", 0.8)
            loss, risk = loss + 40 * (1 - p), risk * p
    return Point(pipeline, min(loss, 100.0), risk, 0.0)


def searched(name: str, evaluations: int, seed: int) -> list[Point]:
    sampler = sampler_of(name, SPACE, np.random.default_rng(seed), None)
    sampler.doubts = False  # there is no luck in what is made up
    points: list[Point] = []
    while len(points) < evaluations:
        asked = sampler.ask(16)
        told = [made_up(pipeline) for pipeline in asked]
        sampler.tell(told)
        points += told
    return points


def test_evolution_finds_a_better_front_than_chance_on_average() -> None:
    evolved = [hypervolume_of(searched("sms-emoa", 160, seed)) for seed in range(10)]
    drawn = [hypervolume_of(searched("random", 160, seed)) for seed in range(10)]
    assert np.mean(evolved) > np.mean(drawn) + 2 * np.std(drawn) / np.sqrt(10)


@pytest.mark.parametrize("name", ["sms-emoa", "nsga2", "random"])
def test_no_pipeline_is_asked_for_twice_and_the_seed_decides(name: str) -> None:
    first, again, other = (searched(name, 64, seed) for seed in (1, 1, 2))
    keys = [key_of(point.pipeline) for point in first]
    assert len(set(keys)) == len(keys) == 64
    assert [key_of(point.pipeline) for point in again] == keys
    assert [key_of(point.pipeline) for point in other] != keys


def test_a_space_that_is_used_up_gives_fewer() -> None:
    space = Space.of(Microdata.of({"age": [1, 2, 3, 4]}), ["age"], only=["mdav"])
    sampler: Sampler = sampler_of("nsga2", space, np.random.default_rng(1), None)
    assert [step.parameters for pipeline in sampler.ask(16) for step in pipeline] == [{"k": 2}]
    assert sampler.ask(16) == []


def test_the_front_has_complete_and_feasible_points_alone() -> None:
    steps: Pipeline = (Step("mdav"),)
    better = [Point(steps, 1.0, 1.0, 0.5), Point(steps, 1.0, 1.0, 0.0, complete=False), Point(steps)]
    kept = [Point(steps, 10.0, 3.0, 0.0), Point(steps, 5.0, 9.0, 0.0)]
    assert front_of([*better, Point(steps, 10.0, 4.0, 0.0), *reversed(kept)]) == kept
    assert front_of(better) == []
    assert hypervolume_of(better) == 0.0


def test_what_falls_short_survives_only_where_room_is_left() -> None:
    sampler = Nsga2Sampler(SPACE, np.random.default_rng(1))
    pipelines = sampler.ask(70)
    good = [Point(p, 50.0 - i, 50.0 + i, 0.0) for i, p in enumerate(pipelines[:10])]
    short = [Point(p, 1.0, 1.0, 1.0 + i) for i, p in enumerate(pipelines[10:60])]
    sampler.tell([*short, Point(pipelines[60]), *good])
    assert len(sampler.population) == sampler.size == 16
    assert set(map(id, good)) <= set(map(id, sampler.population))
    assert [p.violation for p in sampler.population if not p.is_feasible] == [1.0 + i for i in range(6)]


def test_what_dominates_nothing_by_itself_is_the_first_to_go() -> None:
    """Where every record is linked nothing is gained, however small the loss."""
    sampler = SmsEmoaSampler(SPACE, np.random.default_rng(1))
    pipelines = sampler.ask(20)
    useless = [Point(p, 3.0 - i, 100.0, 0.0) for i, p in enumerate(pipelines[:3])]
    good = [Point(p, 60.0 - 3 * i, 10.0 + 3 * i, 0.0) for i, p in enumerate(pipelines[3:19])]
    sampler.tell([*useless, *good])
    assert set(map(id, sampler.population)) == set(map(id, good))


def test_every_method_is_tried_first_and_the_whole_grid_in_the_end() -> None:
    sampler = sampler_of("sms-emoa", SPACE, np.random.default_rng(2), None)
    sampler.doubts = False
    starts = {key_of(start) for start in SPACE.starts()}
    points: list[Point] = []
    while len(points) < 100:
        told = [made_up(pipeline) for pipeline in sampler.ask(1)]
        sampler.tell(told)
        points += told
    assert {point.pipeline[0].method for point in points[:3]} == {"mdav", "noise", "pram"}
    assert starts | {key_of(end) for end in SPACE.ends()} <= {key_of(point.pipeline) for point in points}
    drawn = [point for point in points if key_of(point.pipeline) not in starts]
    assert len(drawn) == 100 - len(starts)


def test_random_members_of_the_front_are_measured_again_and_those_that_were_only_lucky_leave() -> None:
    sampler = SmsEmoaSampler(SPACE, np.random.default_rng(1))
    lucky, true, fixed = (Step("noise", {"alpha": 0.1}),), (Step("noise", {"alpha": 0.2}),), (Step("mdav", {"k": 9}),)
    first = Point(lucky, 5.0, 10.0, 0.0)
    sampler.tell([first, Point(true, 8.0, 11.0, 0.0), Point(fixed, 50.0, 5.0, 0.0)])
    assert sampler.population[0] is first
    asked = sampler.ask(20)
    assert sum(pipeline is lucky for pipeline in asked) == 1, "once, until it is told what became of it"
    assert not any(pipeline is fixed for pipeline in asked), "another seed would make the same"
    mean = mean_of([first, Point(lucky, 25.0, 12.0, 0.0)])
    assert (mean.loss, mean.risk, mean.runs) == (15.0, 11.0, 2)
    sampler.tell([mean])
    assert [point.pipeline for point in sampler.population] == [true, fixed, lucky]
    assert sum(pipeline is true for pipeline in sampler.ask(20)) == 1
    sampler.tell([replace(sampler.population[0], runs=3)])
    assert not any(pipeline is true for pipeline in sampler.ask(20)), "it is believed"


def test_where_a_run_fails_or_falls_short_so_does_the_pipeline() -> None:
    kept = Point((Step("noise"),), 5.0, 10.0, 0.0)
    assert not mean_of([kept, replace(kept, violation=0.2)]).is_feasible
    assert mean_of([kept, Point(kept.pipeline)]).violation == float("inf")


def test_those_measured_anew_are_the_ones_that_add_most() -> None:
    points = [Point((), loss, risk, 0.0) for loss, risk in ((10, 90), (12, 20), (14, 19), (60, 2))]
    assert greatest_area(points, [], 2) == [points[1], points[3]]
    assert greatest_area(points, [points[1]], 3) == [points[3], points[2], points[0]]


def test_the_bayesian_sampler_models_what_it_is_told() -> None:
    pytest.importorskip("optuna", reason="the extra bayes is not installed")
    first, again = (searched("bayes", 48, 1) for _ in range(2))
    keys = [key_of(point.pipeline) for point in first]
    assert len(set(keys)) == len(keys) == 48
    assert [key_of(point.pipeline) for point in again] == keys
    for start, point in zip(SPACE.starts()[:3], first, strict=False):
        assert [step.method for step in point.pipeline] == [step.method for step in start]
        assert start[0].parameters.items() <= point.pipeline[0].parameters.items()


def test_without_its_package_the_bayesian_sampler_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ParameterError, match=r"needs the package optuna.*microveil\[bayes\]"):
        sampler_of("bayes", SPACE, np.random.default_rng(1), None)


@pytest.mark.parametrize("name", ["sms-emoa", "nsga2"])
def test_with_a_bound_on_the_risk_the_search_looks_near_it(name: str) -> None:
    def share_near(bound: float | None, seed: int) -> float:
        sampler = sampler_of(name, SPACE, np.random.default_rng(seed), bound)
        points: list[Point] = []
        for _ in range(12):
            told = [made_up(pipeline) for pipeline in sampler.ask(16)]
            sampler.tell(told)
            points += told
        return float(np.mean([1.0 < point.risk < 6.0 for point in points[64:]]))

    bounded, free = (np.mean([share_near(bound, seed) for seed in range(4)]) for bound in (3.0, None))
    assert bounded > 1.1 * free


def test_a_sampler_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'nsga2'"):
        sampler_of("nsga3", SPACE, np.random.default_rng(1), None)


def test_a_race_is_not_won_by_those_that_fall_short_of_what_is_required() -> None:
    def point(loss: float, risk: float, violation: float, *, complete: bool = True) -> Point:
        return Point((), loss, risk, violation, complete)

    kept, short, shorter = point(20, 20, 0), point(10, 10, 0.3), point(11, 11, 0.6)
    same, dominated, partial = point(20, 20, 0), point(25, 20, 0), point(1, 1, 0, complete=False)
    assert worth_measuring([kept, short, shorter, same, dominated, partial, Point(())]) == [kept, short]
    free = [point(loss, risk, 0) for loss, risk in ((5, 9), (9, 5), (6, 9), (7, 7))]
    assert sorted(worth_measuring(free), key=lambda p: p.risk) == front_of(free)


def test_in_a_race_other_methods_beat_a_pipeline_only_by_far() -> None:
    """A sample of 2,000 of 6,000 records, as measured: on all records neither of these two beats the other."""
    groups: Pipeline = (Step("mdav", {"k": 10}),)
    noise: Pipeline = (Step("noise", {"alpha": 0.05}),)
    mdav, drawn = Point(groups, 5.07, 10.0, 0.0), Point(noise, 7.92, 14.45, 0.0)
    assert worth_measuring([mdav, drawn]) == [mdav, drawn]
    assert worth_measuring([mdav, Point(groups, 7.92, 14.45, 0.0)]) == [mdav]
    assert worth_measuring([mdav, Point(noise, 12.0, 50.0, 0.0)]) == [mdav]
