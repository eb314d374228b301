from __future__ import annotations

import numpy as np
import pytest

from microveil.errors import UnknownNameError
from microveil.masking import Step
from microveil.microdata import Microdata
from microveil.search.samplers import (
    Nsga2Sampler,
    Point,
    Sampler,
    front_of,
    hypervolume_of,
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
    points: list[Point] = []
    while len(points) < evaluations:
        asked = sampler.ask(16)
        told = [made_up(pipeline) for pipeline in asked]
        sampler.tell(told)
        points += told
    return points


def test_evolution_finds_a_better_front_than_chance_on_average() -> None:
    evolved = [hypervolume_of(searched("nsga2", 160, seed)) for seed in range(10)]
    drawn = [hypervolume_of(searched("random", 160, seed)) for seed in range(10)]
    assert np.mean(evolved) > np.mean(drawn) + 2 * np.std(drawn) / np.sqrt(10)


@pytest.mark.parametrize("name", ["nsga2", "random"])
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
    assert len(sampler.population) == sampler.size
    assert set(map(id, good)) <= set(map(id, sampler.population))
    assert [p.violation for p in sampler.population if not p.is_feasible] == [1.0 + i for i in range(6)]


def test_with_a_bound_on_the_risk_the_search_looks_near_it() -> None:
    def share_near(bound: float | None) -> float:
        sampler = sampler_of("nsga2", SPACE, np.random.default_rng(4), bound)
        points: list[Point] = []
        for _ in range(12):
            told = [made_up(pipeline) for pipeline in sampler.ask(16)]
            sampler.tell(told)
            points += told
        return float(np.mean([1.0 < point.risk < 6.0 for point in points[64:]]))

    assert share_near(3.0) > 1.2 * share_near(None)


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
