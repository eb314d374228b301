"""Every attack succeeds against a server without controls, in a number of questions that stands here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from microveil.microdata import Microdata
from microveil.queries import QueryServer
from microveil.queries.red_team import ATTACKS, attacks_of
from microveil.queries.red_team.campaign import Battlefield, attack_queries
from microveil.queries.red_team.scoring import Outcome

People = Callable[..., Microdata]
TARGETS = 8
# questions for eight people of whom each attack learns the income, exactly
EUSILC = {
    "singleton": 8,
    "individual-tracker": 15,
    "general-tracker": 20,
    "double-tracker": 30,
    "overlapping-sets": 26,
    "mean-difference": 32,
    "range-creep": 16,
    "averaging": 8,
    "split-averaging": 47,
    "first-derivative-difference": 580,
    "full-samples": 30,
    "linear-reconstruction": 45,
    "stated-precision": 580,
    "error-channel": 290,
    "automatic-search": 9,
}
ADULT = {
    "singleton": 8,
    "individual-tracker": 15,
    "general-tracker": 20,
    "double-tracker": 30,
    "overlapping-sets": 26,
    "mean-difference": 32,
    "range-creep": 16,
    "averaging": 8,
    "split-averaging": 47,
    "first-derivative-difference": 600,
    "full-samples": 30,
    "linear-reconstruction": 45,
    "stated-precision": 600,
    "error-channel": 300,
    "automatic-search": 8,
}


class WorkClock:
    """A clock that runs by the records that the engine hands over: a server whose time depends on what it finds."""

    def __init__(self, server: QueryServer) -> None:
        self.now, engine = 0.0, server.database.engine
        counted = engine.counted

        def watched(*asked: object) -> object:
            found = counted(*asked)  # type: ignore[arg-type]
            self.now += 1.0 + found.records
            return found

        engine.counted = watched  # type: ignore[method-assign, assignment]

    def __call__(self) -> float:
        return self.now


def outcome_of(attack: str, data: Microdata, **options: object) -> Outcome:
    return attack_queries(data, [], targets=TARGETS, attacks=[attack], **options)[attack]  # type: ignore[arg-type]


@pytest.mark.parametrize("attack", [name for name in ATTACKS if name not in ("null-channel", "timing-channel")])
@pytest.mark.parametrize(("name", "value", "questions"), [("eusilc", "eqIncome", EUSILC), ("adult", "fnlwgt", ADULT)])
def test_every_attack_learns_all_numbers(
    people: People, attack: str, name: str, value: str, questions: dict[str, int]
) -> None:
    found = outcome_of(attack, people(name, value))
    assert (found.success, found.exact, found.wrong) == ("exact", TARGETS, 0)
    assert found.questions == questions[attack]


CATEGORY = {
    "singleton": 8,
    "individual-tracker": 15,
    "general-tracker": 20,
    "double-tracker": 30,
    "overlapping-sets": 26,
    "range-creep": 16,
    "averaging": 8,
    "split-averaging": 47,
    "first-derivative-difference": 33,
    "linear-reconstruction": 45,
    "stated-precision": 33,
    "error-channel": 17,
    "automatic-search": 8,
}


@pytest.mark.parametrize("attack", [a for a in ATTACKS if a not in (
    "null-channel", "timing-channel", "mean-difference", "full-samples")])  # fmt: skip
def test_every_attack_learns_a_category(people: People, attack: str) -> None:
    found = outcome_of(attack, people("adult", "income"))
    assert (found.success, found.exact, found.wrong) == ("exact", TARGETS, 0)
    assert found.questions == CATEGORY[attack]


def test_the_null_channel_learns_whose_income_is_missing(people: People) -> None:
    found = outcome_of("null-channel", people("eusilc", "py010n"))
    assert (found.success, found.exact, found.wrong, found.questions) == ("exact", TARGETS, 0, TARGETS)


def test_the_timing_channel_learns_from_a_clock_that_runs_by_the_work(people: People) -> None:
    data = people("adult", "income")
    battlefield = Battlefield.of(data, None, None, None, "register", TARGETS, seed=0)
    (attack,) = attacks_of(["timing-channel"])
    with QueryServer(data, [], engine="arrays") as server:
        found = battlefield.outcome(attack, server, 1000, 0, WorkClock(server))
    assert (found.success, found.exact, found.questions) == ("exact", TARGETS, 5 * 7 * TARGETS)


def test_the_timing_channel_claims_nothing_where_time_tells_nothing(people: People) -> None:
    data = people("adult", "income")
    battlefield = Battlefield.of(data, None, None, None, "register", TARGETS, seed=0)
    (attack,) = attacks_of(["timing-channel"])
    with QueryServer(data, [], engine="arrays") as server:
        found = battlefield.outcome(attack, server, 1000, 0, iter(range(10**6)).__next__)
    assert (found.success, found.claims) == ("none", 0)


@pytest.mark.parametrize("attack", ["singleton", "individual-tracker", "general-tracker", "double-tracker"])
def test_who_knows_the_target_alone_counts_first(people: People, attack: str) -> None:
    found = outcome_of(attack, people("eusilc", "eqIncome"), scope="target")
    assert (found.success, found.wrong) == ("exact", 0)
    assert found.exact >= TARGETS - 1


def test_an_attack_that_needs_a_register_says_so(people: People) -> None:
    found = outcome_of("overlapping-sets", people("eusilc", "eqIncome"), scope="target")
    assert found.why_not == "the intruder knows nobody but the target"
    assert (found.success, found.questions) == ("none", 0)
