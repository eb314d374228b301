"""The search that knows no attack."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from microveil.microdata import Microdata
from microveil.queries import QueryServer
from microveil.queries.red_team.automatic_search import AutomaticSearch
from microveil.queries.red_team.campaign import attack_queries
from microveil.queries.red_team.intruder import Intruder

People = Callable[..., Microdata]
NAME = "automatic-search"


@pytest.mark.parametrize(("name", "value"), [("eusilc", "eqIncome"), ("adult", "fnlwgt"), ("adult", "income")])
def test_it_finds_a_tracker_by_itself_against_size_control(people: People, name: str, value: str) -> None:
    found = attack_queries(people(name, value), ["set-size k=5"], targets=10, attacks=[NAME])[NAME]
    assert (found.success, found.exact, found.wrong) == ("exact", 10, 0)


@pytest.mark.parametrize(("name", "value"), [("eusilc", "eqIncome"), ("adult", "income")])
def test_it_gives_up_against_an_audit(people: People, name: str, value: str) -> None:
    attack = AutomaticSearch(patience=20)
    found = attack_queries(people(name, value), ["set-size k=5", "audit"], targets=3, attacks=[attack])[NAME]
    assert (found.success, found.claims) == ("none", 0)
    assert found.questions <= 3 * attack.patience


def test_what_it_finds_is_a_difference_of_answers(
    serve: Callable[..., QueryServer], intruder_at: Callable[..., Intruder]
) -> None:
    intruder = intruder_at(serve("set-size k=3"), 8)
    (claim,) = AutomaticSearch().attempt(intruder)
    assert (claim.value, claim.is_certain) == (64, True)
    assert intruder.refused < intruder.asked <= AutomaticSearch().patience


def test_two_answers_that_do_not_determine_a_value_lead_to_no_claim(
    serve: Callable[..., QueryServer], intruder_at: Callable[..., Intruder]
) -> None:
    intruder = intruder_at(serve("partition by=dept"), 8)
    assert AutomaticSearch().attempt(intruder) == []
