"""The risk of records under a sampling design: the figures of two published files, households, and what causes it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microveil as mv
from microveil.errors import ParameterError
from microveil.numerics.counting.individual_risk import (
    approximate_inverse,
    at_least_one,
    expected_inverse,
    individual_risk,
    threshold_for,
)

KEYS = ["Key1", "Key2", "Key3", "Key4"]
FRANCDAT = {
    "Key1": [1, 1, 1, 3, 4, 4, 6, 1],
    "Key2": [2, 2, 2, 3, 3, 3, 2, 2],
    "Key3": [5, 1, 1, 1, 1, 1, 1, 5],
    "Key4": [1, 1, 1, 5, 4, 1, 5, 1],
    "w": [18, 45.5, 39, 17, 541, 8, 5, 92],
}
HOUSING = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")
LAST_DIGIT = 1e-8  # of the figures printed with eight decimals


def francdat(**changes: Any) -> mv.Microdata:
    return mv.Microdata.of({**FRANCDAT, **changes}, nominal=KEYS, keys=KEYS, weight="w")


def test_the_eight_records_are_those_of_the_reference_data(reference: Callable[..., mv.Microdata]) -> None:
    table = reference("francdat")
    assert {name: table.arrow(name).to_pylist() for name in FRANCDAT} == FRANCDAT


def test_the_eight_records_have_the_published_frequencies_risks_and_scores() -> None:
    found = mv.risk_of_file(francdat(), fraction=0.01)
    table = found.to_records()
    cells = {name: table.arrow(name).to_pylist() for name in table.names}
    assert cells["fk"] == [2, 2, 2, 1, 1, 1, 1, 2]
    assert cells["Fk"] == [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    expected = [0.01714426, 0.02204233, 0.02204233, 0.17707583, 0.01165448, 0.29706308, 0.40235948, 0.01714426]
    assert cells["risk"] == pytest.approx(expected, abs=LAST_DIGIT)
    assert cells["suda"] == [0, 0, 0, 8, 6, 4, 8, 0]
    dis = [0, 0, 0, 0.01421349, 0.01010602, 0.00623684, 0.01421349, 0]
    assert cells["dis"] == pytest.approx(dis, abs=LAST_DIGIT)


def test_missing_keys_that_are_wildcards_agree_with_every_value() -> None:
    data = francdat(Key1=[None, 1, 1, 3, 4, 4, 6, 1], Key3=[5, 1, 1, 1, 1, 1, 1, None])
    wild = data.schema.replacing(*(data[name].changed(missing="wildcard") for name in KEYS))
    found = mv.risk_of_file(data.with_schema(wild))
    assert found.frequencies.tolist() == [2, 3, 3, 1, 1, 1, 1, 4]
    assert found.population is not None
    assert found.population.tolist() == [110, 176.5, 176.5, 17, 541, 8, 5, 194.5]
    assert found.special_uniques is not None
    assert (found.special_uniques.scores > 0).tolist() == [False] * 3 + [True] * 4 + [False]


def test_a_survey_of_households_has_the_published_risks_and_scores(reference: Callable[..., mv.Microdata]) -> None:
    cells = {name: reference("testdata").arrow(name) for name in (*HOUSING, "sampling_weight", "ori_hid")}
    data = mv.Microdata.of(cells, keys=HOUSING, weight="sampling_weight", household="ori_hid")
    found = mv.risk_of_file(data, estimate="approximation")
    assert (found.summary.uniques, found.below(3), found.below(5)) == (157, 281, 458)
    assert found.summary.expected == pytest.approx(10.778299, abs=1e-6)
    assert found.summary.largest == pytest.approx(0.046517, abs=1e-6)
    assert mv.risk_of_file(data).summary.expected == pytest.approx(10.775525, abs=1e-6)  # exact
    assert found.fraction == pytest.approx(0.01)
    plain = found.to_plain()
    assert (plain["suda"]["records"], plain["suda"]["score"], plain["suda"]["largest"]) == (157, 4890, 720)
    assert plain["suda"]["dis"] == pytest.approx(9.83109, abs=1e-5)
    assert plain["households"]["count"] == 1000
    assert plain["households"]["expected"] < found.summary.expected < plain["households"]["expected_persons"]


# --- how the risk is estimated -------------------------------------------------------------------------------------


@given(st.integers(1, 60), st.floats(0.001, 1.0))
def test_the_approximation_is_exact_up_to_two_and_near_above(sampled: int, rate: float) -> None:
    exact, near = float(expected_inverse(sampled, rate)), float(approximate_inverse(sampled, rate))
    if sampled <= 2:
        assert near == exact
    else:
        assert near == pytest.approx(rate / (sampled - 1 + rate))
        assert exact - 1e-12 <= near <= 1.25 * exact


def test_without_weights_the_fraction_or_the_size_of_the_population_does() -> None:
    job = {"job": ["cook", "cook", "judge", "nurse"]}
    one = mv.risk_of_file(job, ["job"], fraction=0.1)
    other = mv.risk_of_file(job, ["job"], population=40)
    for found in (one, other):
        assert found.population is not None
        assert found.population.tolist() == pytest.approx([20, 20, 10, 10])
        assert found.per_record[2] == pytest.approx(0.1 / 0.9 * math.log(10))
    assert one.to_records().names == ("record", "fk", "Fk", "risk", "suda", "dis", "household_risk", "combination")
    whole = mv.risk_of_file(job, ["job"])
    assert whole.to_records().arrow("Fk").to_pylist() == [2, 2, 1, 1]
    assert mv.risk_of_file(job, ["job"], fraction=0.1, estimate="ratio").per_record[0] == pytest.approx(1 / 20)


def test_weights_go_before_a_fraction_for_everything_but_dis() -> None:
    found, by_weights = mv.risk_of_file(francdat(), fraction=0.5), mv.risk_of_file(francdat())
    assert found.per_record.tolist() == by_weights.per_record.tolist()
    assert by_weights.fraction == pytest.approx(8 / 765.5)
    assert found.special_uniques is not None
    assert found.special_uniques.match == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"fraction": 0}, "fraction = 0"),
        ({"fraction": 1.5}, "fraction = 1.5"),
        ({"fraction": True}, "fraction = True"),
        ({"fraction": math.nan}, "fraction = nan"),
        ({"population": 7}, "population = 7"),
        ({"population": 99.5}, "population = 99.5"),
        ({"fraction": 0.1, "population": 100}, "not both"),
        ({"estimate": "guess"}, "estimate = 'guess'"),
    ],
)
def test_what_makes_no_sense_of_a_sample_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        mv.risk_of_file(francdat(), **wrong)


def test_weights_of_a_sample_smaller_than_itself_do_not_raise_the_risk_above_one_in_f() -> None:
    assert individual_risk(np.array([2]), np.array([0.5]), "ratio").tolist() == [0.5]


# --- households ----------------------------------------------------------------------------------------------------


def test_every_member_has_the_risk_that_somebody_of_the_household_is_found() -> None:
    data = mv.Microdata.of(
        {**FRANCDAT, "home": [1, 1, 2, 2, None, None, 3, 3]}, nominal=KEYS, keys=KEYS, household="home"
    )
    found = mv.risk_of_file(data)
    assert found.household_risk is not None
    assert found.household_risk.tolist() == pytest.approx([0.75, 0.75, 1, 1, 1, 1, 1, 1])
    assert found.to_records().names[-2:] == ("household_risk", "combination")
    households = found.to_plain()["households"]
    assert (households["count"], households["expected"], households["expected_persons"]) == (5, 4.75, 7.5)
    assert ("expected re-identifications through households", "7.5 (93.8 %)") in found.rows()


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=20))
def test_one_of_a_group_is_found_unless_all_are_missed(members: list[tuple[float, int]]) -> None:
    chances, groups = (np.array(column) for column in zip(*members, strict=True))
    expected = [1 - math.prod(1 - c for c, g in members if g == group) for _, group in members]
    found = at_least_one(chances, groups)
    assert found == pytest.approx(np.array(expected), abs=1e-12)
    assert (found >= chances - 1e-12).all()


# --- a target, and what causes the risk ----------------------------------------------------------------------------


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=30), st.floats(0.01, 20))
def test_lowering_every_risk_to_the_threshold_meets_the_target(chances: list[float], target: float) -> None:
    risks = np.array(chances)
    threshold = threshold_for(risks, target)
    left = float(np.minimum(risks, threshold).sum())
    assert left <= target + 1e-9
    if risks.sum() > target:
        assert left == pytest.approx(target)  # a higher threshold would miss it
    else:
        assert threshold == risks.max()


def test_the_threshold_of_a_target_counts_who_must_be_treated() -> None:
    found = mv.risk_of_file(francdat()).with_target(0.5)
    assert np.minimum(found.per_record, found.threshold).sum() == pytest.approx(0.5)
    assert found.summary.above == 3
    assert mv.risk_of_file(francdat()).with_target(100).summary.above == 0


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf, True, "5"])
def test_a_target_is_a_number_above_0(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="number of re-identifications above 0"):
        mv.risk_of_file(francdat()).threshold_for(wrong)


def test_combinations_are_ordered_by_what_they_contribute() -> None:
    found = mv.risk_of_file(francdat())
    combinations = found.combinations
    assert combinations.of_record.tolist() == [5, 4, 4, 3, 6, 2, 1, 5]
    assert combinations.records.tolist() == [1, 1, 1, 2, 2, 1]
    assert combinations.expected.sum() == pytest.approx(found.summary.expected)
    assert (np.diff(combinations.expected) <= 0).all()
    assert (combinations.carrying(0.4), combinations.carrying(0.5), combinations.carrying(1.0)) == (1, 2, 6)


def test_no_value_of_a_record_is_in_the_plain_form() -> None:
    data = mv.Microdata.of({"job": ["xyzzy", "cook", "cook"], "town": ["plugh", "b", "b"]}, keys=["job", "town"])
    told = json.dumps(mv.risk_of_file(data).to_plain())
    assert "xyzzy" not in told
    assert "plugh" not in told


def test_more_keys_than_suda_takes_leave_its_columns_out() -> None:
    rng = np.random.default_rng(1)
    found = mv.risk_of_file({f"x{j}": rng.integers(0, 3, 10) for j in range(70)})
    assert found.to_plain()["suda"] is None
    assert found.to_records().names == ("record", "fk", "Fk", "risk", "household_risk", "combination")


# --- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    rows = zip(*FRANCDAT.values(), (1, 1, 2, 2, 3, 3, 4, 4), strict=True)
    path.write_text("\n".join([",".join([*FRANCDAT, "home"]), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def test_the_command_writes_all_figures_of_the_records(file: Path, run: Callable[..., Any], tmp_path: Path) -> None:
    command = ["risk", file, "--keys", ",".join(KEYS), "--weight", "w", "--household", "home", "--fraction", "0.01"]
    done = run(*command, "--records", tmp_path / "risks.csv")
    assert done.status == 0, done.stderr
    table = pyarrow.csv.read_csv(tmp_path / "risks.csv")
    assert table.column_names == ["record", "fk", "Fk", "risk", "suda", "dis", "household_risk", "combination"]
    assert table["suda"].to_pylist() == [0, 0, 0, 8, 6, 4, 8, 0]
    assert "what makes records unique" in done.stdout
    assert "Key1" in done.stdout
    plain = json.loads(run(*command, "--target", "0.5", "--estimate", "approximation", "--json").stdout)
    assert plain["above"] == 3
    assert plain["suda"]["by_size"] == {
        "1": pytest.approx(100 * 18 / 26),
        "2": pytest.approx(100 * 8 / 26),
        "3": 0,
        "4": 0,
    }


@pytest.mark.parametrize("wrong", [["--fraction", "2"], ["--population", "3"], ["--target", "0"], ["--estimate", "x"]])
def test_the_command_refuses_what_makes_no_sense(file: Path, run: Callable[..., Any], wrong: list[str]) -> None:
    done = run("risk", file, "--keys", "Key1", *wrong)
    assert done.status == 2
    assert done.stderr
