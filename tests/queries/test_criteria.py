"""The quality criteria: bias, precision, consistency and cost of answers, and what the red team adds to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from microveil.microdata import Microdata
from microveil.queries import Answer, QueryServer, Question
from microveil.queries.conditions import EVERYBODY
from microveil.queries.criteria import accuracy, accuracy_of, consistency, usual_questions
from microveil.queries.red_team.campaign import attack_queries
from microveil.queries.sql import formula_of

Serve = Callable[..., QueryServer]
GROUPS = ("sex = 'F'", "sex = 'M'", "dept = 'A'", "dept = 'B'", "dept = 'C'", "age = 'Y'", "age = 'O'")


def questions(server: QueryServer, statistic: str, *groups: str) -> list[Question]:
    fields = server.database.fields
    value = None if statistic == "count" else "salary"
    return [Question(statistic, value, formula_of(text, fields) if text else EVERYBODY) for text in groups]  # type: ignore[arg-type]


def asked(server: QueryServer, several: list[Question]) -> list[tuple[Question, Answer]]:
    return [(question, server.ask(question)) for question in several]


@pytest.mark.spec("01:SDB-9")
def test_means_from_a_proxy_have_no_bias_and_a_variance_of_1_2919(serve: Serve) -> None:
    server = serve("proxy")
    measured = accuracy(server, questions(server, "mean", *GROUPS))
    assert (measured.answered, measured.refused, measured.coverage) == (7, 0, None)
    assert measured.bias == pytest.approx(0, abs=1e-12)
    assert round(measured.variance or 0, 4) == 1.2919


@pytest.mark.spec("01:SDB-9")
def test_noisy_sums_contradict_each_other_by_15_9821(serve: Serve) -> None:
    server = serve("output-noise c=0.25 keyed_by=set")
    found = consistency(server.database, asked(server, questions(server, "sum", "sex = 'F'", "sex = 'M'", "")))
    assert found.checked == 1
    assert [round(gap, 4) for gap in found.contradictions] == [-15.9821]
    assert found.to_plain()["contradictions"] == 1


@pytest.mark.spec("01:SDB-9")
@pytest.mark.parametrize("controls", [(), ("proxy",), ("intervals k=3 base=5",)])
def test_exact_answers_masked_data_and_intervals_do_not_contradict_each_other(
    serve: Serve, controls: tuple[str, ...]
) -> None:
    server = serve(*controls)
    found = consistency(server.database, asked(server, questions(server, "sum", *GROUPS, "")))
    assert found.checked == 2
    assert found.contradictions == found.paradoxes == ()


@pytest.mark.spec("01:SDB-9")
@pytest.mark.parametrize(
    ("statistic", "value", "paradox"),
    [
        ("count", -0.5, "negative count"),
        ("count", 13.0, "count above the number of records"),
        ("mean", 27.9, "mean outside what the values allow"),
        ("mean", 64.1, "mean outside what the values allow"),
        ("sum", 400.0, "sum outside what the values allow"),
    ],
)
def test_answers_that_a_statistic_cannot_have_are_paradoxes(
    serve: Serve, statistic: str, value: float, paradox: str
) -> None:
    server = serve()
    (question,) = questions(server, statistic, "sex = 'F'")
    assert consistency(server.database, [(question, Answer("", value))]).paradoxes == (paradox,)
    assert consistency(server.database, [(question, server.ask(question))]).paradoxes == ()


@pytest.mark.spec("01:SDB-9")
def test_the_stated_deviation_covers_the_truth_as_often_as_it_says(serve: Serve, employees: Microdata) -> None:
    measured = []
    for key in range(60):
        server = serve("output-noise c=1", key=str(key))
        measured.append(accuracy(server, questions(server, "sum", *GROUPS)).coverage)
    assert 0.93 < sum(filter(None, measured)) / len(measured) < 0.98  # of two standard deviations 0.954


def test_refusals_count_and_an_interval_covers_the_truth(serve: Serve) -> None:
    server = serve("set-size k=5", "intervals k=3 base=5")
    several = questions(server, "sum", "sex = 'F'", "dept = 'A'")
    measured = accuracy_of([server.ask(question) for question in several], [268.0, 158.0])
    assert (measured.answered, measured.refused, measured.coverage) == (1, 1, 1.0)


@pytest.mark.spec("01:SDB-9")
def test_every_criterion_is_in_the_report_of_a_campaign(employees: Microdata) -> None:
    found = attack_queries(
        employees,
        ["set-size k=3"],
        attacks=["individual-tracker"],
        targets=5,
        quality=True,
        known=["sex", "dept", "age"],
    )
    plain = found.to_plain()["quality"]
    assert set(plain) == {"security", "robustness", "bias_and_precision", "consistency", "cost"}
    assert plain["security"]["classic_attacks"] == pytest.approx(100 * 8 / 12)  # all who are unlike the others
    assert [known for known, _ in plain["robustness"]["compromised_percent_by_attributes_known"]] == [1, 2, 3]
    shares = [share for _, share in plain["robustness"]["compromised_percent_by_attributes_known"]]
    assert shares[0] == 0 < shares[2]
    assert plain["bias_and_precision"]["sum"]["bias"] == plain["bias_and_precision"]["mean"]["variance"] == 0
    assert plain["consistency"]["contradictions"] == 0
    assert plain["cost"]["refused_percent"] > 0
    assert {name for name, _ in found.quality.rows()} >= {"security", "robustness", "consistency", "cost"}  # type: ignore[union-attr]


def test_usual_questions_are_about_public_attributes(serve: Serve) -> None:
    several = usual_questions(serve().database, "salary")
    assert set(several) == {"count", "sum", "mean"}
    assert all("salary" not in str(question.where) for group in several.values() for question in group)
