"""Campaigns: targets, scores, the page and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from microveil.errors import ParameterError, UnknownNameError
from microveil.microdata import Microdata
from microveil.queries import Answer, Question
from microveil.queries.red_team import ATTACKS, attacks_of
from microveil.queries.red_team.campaign import Battlefield, attack_queries
from microveil.queries.red_team.linear_reconstruction import LinearReconstruction
from microveil.queries.red_team.readings import Claim, Reading, mean_of
from microveil.queries.red_team.scoring import Truth, success_of, tally
from microveil.queries.red_team.split_averaging import SplitAveraging

People = Callable[..., Microdata]


def test_an_attack_that_claims_wrong_values_has_not_succeeded() -> None:
    truth = Truth(np.linspace(0.0, 100.0, 1000), is_category=False)
    wrong = [Claim(record, 1e6, is_certain=True) for record in range(20)]
    assert success_of(tally(wrong, truth), truth.best_guesses(range(20))) == "none"


def test_guesses_near_the_commonest_values_are_no_success() -> None:
    values = np.concatenate([np.zeros(900), np.linspace(1.0, 100.0, 100)])
    truth = Truth(values, is_category=False)
    guesses = truth.best_guesses(range(20))
    assert guesses[0] == pytest.approx(0.9)
    counted = tally([Claim(record, 0.0) for record in range(20)], truth)
    assert counted.exact == 20
    assert success_of(counted, guesses) == "none"


def test_estimates_within_a_tenth_of_a_deviation_are_partial_successes() -> None:
    truth = Truth(np.linspace(0.0, 100.0, 1000), is_category=False)
    near = [Claim(record, float(truth.values[record]) + 0.05 * truth.deviation) for record in range(20)]
    counted = tally(near, truth)
    assert (counted.exact, counted.partial, counted.wrong) == (0, 20, 0)
    assert success_of(counted, truth.best_guesses(range(20))) == "partial"


def test_readings_carry_their_intervals_and_their_noise() -> None:
    wide, exact = Reading(5.0, 0.0, 10.0, 3.0), Reading(2.0, 2.0, 2.0, 4.0)
    assert wide - exact == Reading(3.0, -2.0, 8.0, 5.0)
    assert wide.times(-2.0) == Reading(-10.0, -20.0, 0.0, 6.0)
    assert mean_of([wide, Reading(7.0, 4.0, 12.0, 4.0)]) == Reading(6.0, 4.0, 10.0, 2.5)
    assert Reading.of(Answer("", reason="no")) is None
    assert Reading.of(Answer("", interval=(1.0, 3.0))) == Reading(2.0, 1.0, 3.0)


def test_targets_are_people_unlike_all_others_and_follow_the_seed(people: People) -> None:
    data = people("eusilc", "eqIncome")
    first, again, other = (
        Battlefield.of(data, None, None, None, "register", 10, seed).knowledge.targets for seed in (1, 1, 2)
    )
    assert first == again != other
    rows = list(
        zip(
            *(data.frame[name].to_list() for name in ("age", "rb090", "db040", "hsize", "pl030", "pb220a")), strict=True
        )
    )
    assert all(rows.count(rows[target]) == 1 for target in first if None not in rows[target])


def test_of_a_category_half_of_the_targets_have_it(people: People) -> None:
    battlefield = Battlefield.of(people("adult", "income"), None, ">50K", None, "register", 10, 0)
    assert battlefield.truth.values[list(battlefield.knowledge.targets)].sum() == 5


def test_a_campaign_is_the_same_again(people: People) -> None:
    attacks = [LinearReconstruction(records=10, oversampling=4.0), SplitAveraging(cuts=4)]
    data, options = people("eusilc", "eqIncome"), {"targets": 5, "attacks": attacks}
    made = [
        attack_queries(data, ["set-size k=5", "output-noise"], key="demo", **options).to_plain()["attacks"]  # type: ignore[arg-type]
        for _ in range(2)
    ]
    for outcome in (*made[0], *made[1]):
        del outcome["seconds"]
    assert made[0] == made[1]


def test_no_attack_asks_more_than_it_may(people: People) -> None:
    for outcome in attack_queries(people("eusilc", "eqIncome"), ["set-size k=5"], targets=20, questions=30).outcomes:
        assert outcome.questions <= 30


def test_attacks_on_one_server_meet_what_others_asked(people: People) -> None:
    data = people("eusilc", "eqIncome")
    options = {"targets": 3, "attacks": ["overlapping-sets", "individual-tracker"]}
    fresh, same = (
        attack_queries(data, ["overlap limit=3"], same_server=together, **options)  # type: ignore[arg-type]
        for together in (False, True)
    )
    assert fresh["individual-tracker"].refused <= same["individual-tracker"].refused


def test_what_is_not_declared_confidential_is_told(people: People) -> None:
    data = people("eusilc", "eqIncome")
    open_to_all = Microdata.of(data.frame.to_native(), nominal=["rb090", "db040", "pl030", "pb220a"])
    found = attack_queries(
        open_to_all, ["set-size k=5", "audit"], value="eqIncome", targets=4, attacks=["first-derivative-difference"]
    )
    assert found["first-derivative-difference"].success == "exact"  # counts by income are not audited then
    assert "does not declare eqIncome confidential" in found.findings[-1]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"attacks": ["singelton"]}, "singleton"),
        ({"value": "incme"}, "unknown attribute"),
        ({"category": "A"}, "has numbers"),
        ({"known": ["salary"]}, "cannot be known"),
    ],
)
def test_wrong_options_are_told_in_one_sentence(employees: Microdata, options: dict[str, object], problem: str) -> None:
    with pytest.raises((ParameterError, UnknownNameError), match=problem):
        attack_queries(employees, [], **options)  # type: ignore[arg-type]


def test_every_attack_describes_itself() -> None:
    for name, attack in zip(ATTACKS, attacks_of(), strict=True):
        assert attack.name == name
        assert attack.summary
        assert not attack.summary.endswith(".")
        assert attack.family in ("difference", "linear system", "averaging", "noise", "channel", "search")


def test_the_page_needs_no_network_and_shows_no_value(people: People) -> None:
    data = people("eusilc", "eqIncome")
    found = attack_queries(
        data,
        ["set-size k=5"],
        targets=4,
        attacks=["singleton", "individual-tracker"],
        quality=True,
        known=["age", "rb090", "db040"],
    )
    page = found.to_html("Red <team>")
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "Red &lt;team&gt;" in page
    assert "individual-tracker learns eqIncome of 4 of 4 people exactly" in page
    values = {f"{value:.2f}" for value in data.numbers("eqIncome").values}
    assert not any(value in page for value in values)


def test_the_command_says_what_was_learnt_in_how_many_questions(run: Callable[..., object], employees: Microdata,
                                                                tmp_path: Path) -> None:  # fmt: skip
    file = tmp_path / "staff.csv"
    employees.frame.write_csv(str(file))
    common = (file, "--identifiers", "id", "--confidential", "salary", "--control", "set-size k=3", "--targets", 4)
    told = run("attack-queries", *common, "--attacks", "singleton,individual-tracker", "--out", "page.html")
    assert told.status == 0  # type: ignore[attr-defined]
    assert "individual-tracker learns salary of 4 of 4 people exactly" in told.stdout  # type: ignore[attr-defined]
    assert "set-size: nobody asks about sets that differ by one record" in told.stdout  # type: ignore[attr-defined]
    assert (tmp_path / "page.html").stat().st_mode & 0o077 == 0
    assert "What the attacks learnt" in (tmp_path / "page.html").read_text()
    run("attack-queries", *common, "--attacks", "singleton", "--no-quality", "--out", "safe.html")
    assert "What the attacks learnt" not in (tmp_path / "safe.html").read_text()
    again = run("attack-queries", *common, "--attacks", "singleton", "--out", "page.html")
    assert again.status == 1  # type: ignore[attr-defined]
    plain = json.loads(run("attack-queries", *common, "--attacks", "singleton", "--no-quality", "--json").stdout)  # type: ignore[attr-defined]
    assert plain["attacks"][0]["success"] == "none"
    assert plain["findings"] == ["no attack has learnt salary of anybody"]
    wrong = run("attack-queries", *common, "--attacks", "nothing")
    assert wrong.status == 2  # type: ignore[attr-defined]


def test_without_controls_the_command_attacks_the_bare_server(
    run: Callable[..., object], employees: Microdata, tmp_path: Path
) -> None:
    file = tmp_path / "staff.csv"
    employees.frame.write_csv(str(file))
    told = run("attack-queries", file, "--identifiers", "id", "--confidential", "salary", "--control", "none",
               "--attacks", "singleton", "--json", "--no-quality")  # fmt: skip
    assert json.loads(told.stdout)["attacks"][0]["success"] == "exact"  # type: ignore[attr-defined]


def test_the_door_gives_what_an_analyst_gets(employees: Microdata) -> None:
    """An intruder holds no server, no database and no key."""
    from microveil.queries import QueryServer
    from microveil.queries.red_team.intruder import Intruder

    seen: list[Intruder] = []

    class Spy(type(attacks_of(["singleton"])[0])):  # type: ignore[misc]
        def attempt(self, intruder: Intruder) -> list[Claim]:
            seen.append(intruder)
            return []

    battlefield = Battlefield.of(employees, None, None, None, "register", 2, 0)
    with QueryServer(employees, ["audit"], engine="arrays") as server:
        battlefield.outcome(Spy(), server, 10, 0, lambda: 0.0)
        assert isinstance(seen[0].door(Question("count")), Answer)
    assert "salary" not in seen[0].knowledge.columns
