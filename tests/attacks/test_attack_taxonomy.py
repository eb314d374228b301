"""Every attack has its place among the kinds of disclosure."""

from __future__ import annotations

from typing import ClassVar

import pytest

from microveil.attacks.intervals import IntervalDisclosure
from microveil.attacks.taxonomy import Disclosure, disclosure_of
from microveil.errors import UnknownNameError
from microveil.registry import find, names


@pytest.mark.spec("01:DR-1")
@pytest.mark.parametrize("name", names("attack"))
def test_every_attack_looks_for_some_kind_of_disclosure(name: str) -> None:
    found = disclosure_of(find("attack", name))
    assert (found.view == "identity") == (found.way in ("uniqueness", "re-identification"))
    assert found.certainty in ("deterministic", "probabilistic")


@pytest.mark.spec("01:DR-1")
def test_the_two_views_and_the_two_ways_to_an_identity() -> None:
    linkage, unique, intervals, classes = (
        disclosure_of(find("attack", name))
        for name in ("distance-linkage", "uniqueness", "interval-disclosure", "class-disclosure")
    )
    assert (linkage.view, linkage.way) == ("identity", "re-identification")
    assert (unique.view, unique.way) == ("identity", "uniqueness")
    assert (intervals.certainty, intervals.precision, intervals.truth) == ("deterministic", "approximate", "apparent")
    assert (classes.certainty, classes.precision, classes.truth) == ("deterministic", "exact", "true")


def test_a_family_without_a_place_is_refused() -> None:
    class Odd(IntervalDisclosure):
        family: ClassVar[str] = "interval"

    with pytest.raises(UnknownNameError, match="unknown family of attacks 'interval'; did you mean 'intervals'"):
        disclosure_of(Odd)


def test_an_attack_may_say_itself_what_it_looks_for() -> None:
    class Other(IntervalDisclosure):
        family: ClassVar[str] = "of another package"
        disclosure: ClassVar[Disclosure] = Disclosure("identity", "uniqueness", "deterministic", "exact")

    assert disclosure_of(Other) is Other.disclosure
    assert disclosure_of(IntervalDisclosure).view == "attribute"


def test_the_general_attacks_are_those_that_need_no_knowledge_of_the_method() -> None:
    assert {name for name in names("attack") if find("attack", name).general} == {
        "distance-linkage",
        "rank-alignment-linkage",
        "frequency-alignment-linkage",
        "interval-disclosure",
        "uniqueness",
        # of tables of series alone
        "series-linkage",
        "series-intervals",
        "fragment-linkage",
        "extremes-linkage",
        "period-linkage",
        # of graphs alone
        "neighbourhood-matching",
        "degree-linkage",
    }
