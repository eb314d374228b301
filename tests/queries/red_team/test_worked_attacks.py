"""The attacks of the worked examples, carried out by the red team, to every digit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from microveil.microdata import Microdata
from microveil.queries import QueryServer, Question
from microveil.queries.conditions import Formula, all_of
from microveil.queries.red_team import double_tracker, general_tracker
from microveil.queries.red_team.addressing import identifying
from microveil.queries.red_team.double_tracker import DoubleTracker
from microveil.queries.red_team.general_tracker import GeneralTracker
from microveil.queries.red_team.individual_tracker import IndividualTracker
from microveil.queries.red_team.intruder import Intruder, complement
from microveil.queries.red_team.linear_systems import weights_for
from microveil.queries.red_team.mean_difference import MeanDifference
from microveil.queries.red_team.overlapping_sets import OverlappingSets
from microveil.queries.red_team.singleton import Singleton
from microveil.queries.sql import formula_of

Serve = Callable[..., QueryServer]
IntruderAt = Callable[..., Intruder]


def formula(server: QueryServer, text: str) -> Formula:
    return formula_of(text, server.database.fields)


def answers(intruder: Intruder) -> list[float | None]:
    """What was answered, in order."""
    return [answer.value for answer in intruder.known.values()]


@pytest.mark.spec("01:SDB-1")
def test_a_singleton_is_asked_about_in_one_question(serve: Serve, intruder_at: IntruderAt) -> None:
    intruder = intruder_at(serve(), 8)
    (claim,) = Singleton().attempt(intruder)
    assert (claim.record, claim.value, claim.is_certain, intruder.asked) == (7, 64, True, 1)


@pytest.mark.spec("01:SDB-1", "01:SDB-6")
def test_size_control_refuses_the_singleton_and_its_complement(serve: Serve, intruder_at: IntruderAt) -> None:
    intruder = intruder_at(serve("set-size k=3"), 8)
    assert Singleton().attempt(intruder) == []
    assert intruder.asked == intruder.refused == 3


@pytest.mark.spec("01:SDB-2")
@pytest.mark.parametrize("k", [3, 4])
def test_the_individual_tracker_takes_204_from_268(serve: Serve, intruder_at: IntruderAt, k: int) -> None:
    intruder = intruder_at(serve(f"set-size k={k}"), 8)
    (claim,) = IndividualTracker().attempt(intruder)
    assert claim.value == 64
    assert answers(intruder) == [268, 204]


@pytest.mark.spec("01:SDB-2")
def test_without_a_register_the_tracker_counts_first(serve: Serve, intruder_at: IntruderAt) -> None:
    intruder = intruder_at(serve("set-size k=3"), 8, scope="target")
    (claim,) = IndividualTracker().attempt(intruder)
    assert claim.value == 64
    counts = [answer.value for question, answer in intruder.known.items() if question.statistic == "count"]
    assert intruder.asked == 4
    assert counts[0] - counts[1] == 1  # type: ignore[operator]


@pytest.mark.spec("01:SDB-3")
def test_the_general_tracker_finds_the_salary_and_the_sum_over_all_others(
    serve: Serve, intruder_at: IntruderAt
) -> None:
    server = serve("set-size k=3")
    intruder = intruder_at(server, 8, known=("sex", "dept", "age"))
    (claim,) = GeneralTracker().attempt(intruder)
    assert claim.value == 64
    assert answers(intruder) == [193, 337, 257, 337]
    wanted, young = all_of(identifying(intruder, 7) or []), formula(server, "age = 'Y'")
    large = general_tracker.GeneralTracker.of_large_set(intruder, complement(wanted), young)
    assert large is not None
    assert large.value == 466


@pytest.mark.spec("01:SDB-3")
def test_the_double_tracker_works_where_the_general_one_does_not(serve: Serve, intruder_at: IntruderAt) -> None:
    server = serve("set-size k=4")
    assert GeneralTracker().attempt(intruder_at(server, 8, known=("sex", "dept"))) == []
    intruder = intruder_at(server, 8, known=("dept", "sex"))
    (claim,) = DoubleTracker().attempt(intruder)
    assert claim.value == 64
    assert answers(intruder) == [348, 190, 190, 284]
    wanted = complement(all_of(identifying(intruder, 7) or []))
    inner, outer = formula(server, "dept = 'B'"), formula(server, "dept IN ('A', 'B')")
    large = double_tracker.DoubleTracker.of_large_set(intruder, wanted, inner, outer)
    assert large is not None
    assert large.value == 466


@pytest.mark.spec("01:SDB-4")
def test_five_overlapping_sets_determine_one_salary(
    serve: Serve, intruder_at: IntruderAt, listed_employees: Microdata
) -> None:
    server = serve("set-size k=3", "overlap limit=1", data=listed_employees)
    intruder = intruder_at(server, 8, known=("id",))
    (claim,) = OverlappingSets().attempt(intruder)
    assert claim.value == pytest.approx(64, abs=1e-9)
    assert answers(intruder) == [123, 163, 157, 113, 138]
    assert intruder.asked == 5


@pytest.mark.spec("01:SDB-4")
def test_only_what_lies_in_the_row_space_is_reported() -> None:
    members = [(8, 1, 2), (8, 3, 4), (8, 5, 6), (1, 3, 5), (2, 4, 6)]
    sets = np.array([[record in chosen for record in range(13)] for chosen in members])
    assert [record for record in range(sets.shape[1]) if weights_for(sets, record) is not None] == [8]
    assert weights_for(sets[:4], 8) is None  # five are minimal
    assert np.linalg.matrix_rank(sets.astype(float)) == 5


@pytest.mark.spec("01:SDB-4", "01:SDB-6")
def test_the_audit_refuses_the_fifth_set(serve: Serve, intruder_at: IntruderAt, listed_employees: Microdata) -> None:
    intruder = intruder_at(serve("audit", data=listed_employees), 8, known=("id",))
    assert OverlappingSets().attempt(intruder) == []
    assert [value is None for value in answers(intruder)][:5] == [False] * 4 + [True]


@pytest.mark.spec("01:SDB-5")
def test_the_difference_of_two_means(serve: Serve, intruder_at: IntruderAt) -> None:
    intruder = intruder_at(serve("set-size k=3"), 8)
    (claim,) = MeanDifference().attempt(intruder)
    assert claim.value == 64
    means = [answer.value for question, answer in intruder.known.items() if question.statistic == "mean"]
    assert means == [47.5, 42]


@pytest.mark.spec("01:SDB-2", "01:SDB-7")
@pytest.mark.parametrize(
    ("controls", "found"),
    [
        (("set-size k=3", "random-sample share=0.75 keyed_by=set"), 96),
        (("set-size k=3", "output-noise c=0.25 keyed_by=set"), 62.4444),
        (("set-size k=3", "rounding base=10"), 70),
        (("set-size k=3", "proxy"), 61),
    ],
)
def test_perturbation_misleads_the_tracker(
    serve: Serve, intruder_at: IntruderAt, controls: tuple[str, ...], found: float
) -> None:
    server = serve(*controls)
    whole, rest = (
        server.ask(Question("sum", "salary", formula(server, text))).value
        for text in ("sex = 'F'", "sex = 'F' AND NOT dept = 'B'")
    )
    assert whole is not None
    assert rest is not None
    assert round(whole - rest, 4) == found
    (claim,) = IndividualTracker().attempt(intruder_at(server, 8))
    assert not claim.is_certain
    assert claim.value != 64


@pytest.mark.spec("01:DAT-2")
def test_the_difference_of_interval_answers_is_wider_than_a_group(serve: Serve, intruder_at: IntruderAt) -> None:
    server = serve("intervals k=3 base=5")
    intruder = intruder_at(server, 8)
    whole, rest = (intruder.total(formula(server, text)) for text in ("sex = 'F'", "sex = 'F' AND NOT dept = 'B'"))
    assert whole is not None
    assert rest is not None
    assert ((whole - rest).low, (whole - rest).high) == (5, 115)
