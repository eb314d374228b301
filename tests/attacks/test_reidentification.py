"""The headline: the risk of re-identification of a file as it is, before and after masking, and requirements on it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.attacks.reidentification import THRESHOLD, RiskSummary, check_threshold
from microveil.errors import GuaranteeError, ParameterError

TOWN = {"sex": ["f", "f", "m", "m", "m", "m"], "job": ["cook", "cook", "cook", "judge", "cook", "cook"]}


def test_records_that_agree_on_the_keys_share_the_risk() -> None:
    found = mv.risk_of_file(TOWN, ["sex", "job"], threshold=0.4)
    assert found.frequencies.tolist() == [2, 2, 3, 1, 3, 3]
    assert found.per_record.tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 3, 1, 1 / 3, 1 / 3])
    assert found.summary == RiskSummary(6, pytest.approx(3.0), 1.0, 3, 1, 0.4, 6, 1, 1, 1)
    assert [found.below(k) for k in (2, 3, 4)] == [1, 3, 6]


def test_the_plain_form_of_the_risk_of_a_file_has_its_headline_and_the_small_frequencies() -> None:
    data = {"job": ["judge"] + ["cook"] * 2 + ["nurse"] * 4 + ["clerk"] * 9}
    assert mv.risk_of_file(data, ["job"], threshold=0.4).to_plain() == {
        "keys": ["job"],
        "declared": True,
        "records": 16,
        "expected": pytest.approx(4.0),
        "largest": 1.0,
        "above": 3,
        "uniques": 1,
        "threshold": 0.4,
        "uniques_without_wildcards": 1,
        "k": 1,
        "k_without_wildcards": 1,
        "expected_percent": pytest.approx(25.0),
        "below": {"2": 1, "3": 3, "5": 7, "10": 16},
        "below_without_wildcards": {"2": 1, "3": 3, "5": 7, "10": 16},
        "population": False,
        "combinations": {
            "count": 4,
            "carrying_half": 2,
            "largest": [
                {"records": n, "expected": pytest.approx(1.0), "percent": pytest.approx(25.0)} for n in (1, 2, 4, 9)
            ],
        },
        "suda": {
            "size": 1,
            "records": 1,
            "score": 1.0,
            "largest": 1.0,
            "fraction": 1.0,
            "dis": 1.0,
            "by_attribute": {"job": 100.0},
            "by_size": {"1": 100.0},
        },
        "households": None,
    }


def test_with_sampling_weights_the_risk_is_the_expected_one_over_the_population_frequency() -> None:
    data = mv.Microdata.of({**TOWN, "w": [2.0, 2.0, 1.0, 2.0, 1.0, 1.0]}, keys=["sex", "job"], weight="w")
    found = mv.risk_of_file(data)
    assert found.population is not None
    assert found.population.tolist() == [4.0, 4.0, 3.0, 2.0, 3.0, 3.0]
    # f = 1 of F = 2: p / (1 - p) log(1 / p) at p = 1/2; f = 2 of F = 4: by the series 2F1; f = F = 3: 1/3
    alone = math.log(2)
    two = sum(1 / F * (F - 1) * 0.5**F for F in range(2, 200))
    assert found.per_record.tolist() == pytest.approx([two, two, 1 / 3, alone, 1 / 3, 1 / 3])


def test_a_missing_key_that_is_a_wildcard_agrees_with_everyone() -> None:
    data = mv.Microdata.of({"age": [30.0, 40.0, None, 30.0]}, keys=["age"])
    assert mv.risk_of_file(data).frequencies.tolist() == [3, 2, 4, 3]


def test_uniques_that_wildcards_hide_stand_beside_those_that_are_left() -> None:
    """One empty age agrees with all three others, so nobody is unique; without it everyone is."""
    data = mv.Microdata.of({"age": [30.0, 40.0, 50.0, 60.0]}, keys=["age"])
    headline = mv.assess(data, mv.Microdata.of({"age": [30.0, 40.0, 50.0, None]}), losses=["il1"]).headline
    assert ("uniques on the keys", "4", "0 (4 without wildcards)") in headline.rows()
    after = headline.to_plain()["after"]
    assert (after["uniques"], after["uniques_without_wildcards"]) == (0, 4)
    assert (after["k"], after["k_without_wildcards"]) == (2, 1)
    found = mv.risk_of_file(mv.Microdata.of({"age": [30.0, 40.0, 50.0, None]}, keys=["age"]))
    assert "0 (4 without wildcards)" in str(found)
    assert found.to_plain()["below_without_wildcards"] == {"2": 4, "3": 4, "5": 4, "10": 4}


def test_a_file_released_as_it_is_has_the_same_risk_after_as_before() -> None:
    people = mv.datasets.survey(300)
    found = mv.assess(people, people.without(["person"])).headline
    assert found.after.expected == pytest.approx(found.before.expected)
    assert found.after == RiskSummary(**{**found.before.to_plain(), "expected": found.after.expected})


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(1, 50)), min_size=2, max_size=25))
def test_nothing_masked_is_nothing_gained_whatever_the_weights(rows: list[tuple[int, int, float]]) -> None:
    a, b, w = (list(column) for column in zip(*rows, strict=True))
    data = mv.Microdata.of({"a": a, "b": b, "w": w}, keys=["a", "b"], weight="w")
    found = mv.assess(data, mv.Microdata.of({"a": a, "b": b, "w": w})).headline
    assert found.after.expected == pytest.approx(found.before.expected)
    assert found.after.largest == pytest.approx(found.before.largest)
    assert (found.after.uniques, found.after.above) == (found.before.uniques, found.before.above)


@pytest.mark.parametrize("k", [3, 5, 10])
def test_no_record_of_a_k_anonymous_release_has_a_risk_above_one_in_k(k: int) -> None:
    rng = np.random.default_rng(k)
    data = mv.Microdata.of({name: rng.normal(size=120) for name in "ab"}, keys=["a", "b"])
    found = mv.assess(data, mv.MDAV(k=k).mask(data, seed=1), attacks="all").headline
    assert found.before.uniques == 120
    assert found.before.largest == 1.0
    assert found.after.uniques == 0
    assert found.after.largest <= 1 / k + 1e-12
    assert found.after.expected <= 120 / k + 1e-9


def test_a_key_left_alone_keeps_everyone_unique() -> None:
    data = mv.Microdata.of({"id": list(range(60)), "age": [20 + i % 5 for i in range(60)]}, keys=["id", "age"])
    after = mv.assess(data, mv.MDAV(k=10).mask(data, ["age"], seed=1)).headline.after
    assert (after.uniques, after.largest, after.above) == (60, 1.0, 60)
    assert after.expected == pytest.approx(60)


def test_a_sample_has_the_risk_of_who_may_be_in_it_and_a_linkage_that_of_who_is() -> None:
    """Everyone is unique in the file and stands for 20 of the population: the linkage finds all who are in it."""
    columns = {"age": [20.0 + i for i in range(50)], "w": [20.0] * 50}
    data = mv.Microdata.of(columns, keys=["age"], weight="w")
    found = mv.assess(data, mv.Microdata.of(columns))
    assert found.risks["distance-linkage"].value == 100
    p = 1 / 20
    assert found.headline.after.largest == pytest.approx(p / (1 - p) * math.log(1 / p))
    assert found.headline.in_file is not None
    assert (found.headline.in_file.largest, found.headline.in_file.above) == (1.0, 50)
    assert "for an intruder who does, 50 records have a risk above 0.09 by linkage" in found.headline.assumption


def test_the_headline_counts_the_records_that_every_attack_was_tried_on() -> None:
    data = mv.Microdata.of({"x": np.random.default_rng(1).normal(size=40)}, keys=["x"])
    found = mv.assess(data, mv.Noise().mask(data, seed=1), attacks=[mv.DistanceLinkage(records=10)])
    assert found.headline.after.attacked == 10


def test_a_printed_risk_says_what_the_intruder_knows_and_why_and_how_many_are_below_k() -> None:
    told = str(mv.risk_of_file(mv.Microdata.of({**TOWN, "w": [2.0] * 6}, keys=["sex", "job"], weight="w")))
    assert "the intruder is assumed to know sex, job (the declared keys)" in " ".join(told.split())
    assert "records in equivalence classes smaller than 3" in told
    assert "estimated by the sampling weights" in " ".join(told.split())
    assert max(map(len, told.splitlines())) <= 80
    assert "(as given)" in mv.risk_of_file(TOWN, ["sex"]).heading
    for shown in (str(mv.risk_of_file(TOWN)), mv.risk_of_file(TOWN)._repr_html_()):
        assert "(all attributes, because no keys are declared)" in " ".join(shown.split())


@pytest.mark.parametrize("wrong", [0, 1, 1.5, 9, float("nan"), True, "0.1", -0.1])
def test_a_threshold_is_a_probability(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="is a probability"):
        check_threshold(wrong)


def test_what_is_required_of_the_risk_is_checked_by_attacks() -> None:
    rng = np.random.default_rng(1)
    data = mv.Microdata.of({name: rng.normal(size=100) for name in "ab"}, keys=["a", "b"])
    steps = (mv.Step("mdav", {"k": 10}),)
    assert len(mv.protect(data, mv.Plan(steps, require={"risk": 0.1, "k": 10}))) == 100
    with pytest.raises(GuaranteeError, match=r"above 0\.05, but \d+ records have one of up to 0\.1,"):
        mv.protect(data, mv.Plan(steps, require={"risk": 0.05}))
    with pytest.raises(GuaranteeError, match="an intruder who knows a, b"):
        mv.protect(data, mv.Plan((mv.Step("mdav", {"k": 10}, ("a",)),), require={"risk": 0.5}))


# --- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = "\n".join(f"{20 + i % 4},{'fm'[i % 2]},{1000 + i},{3 + i % 2}" for i in range(40)) + "\n77,f,9,5\n"
    path = tmp_path / "people.csv"
    path.write_text("age,sex,income,w\n" + rows)
    return path


def test_the_command_gives_the_headline_of_a_file_that_is_not_masked(file: Path, run: Callable[..., Any]) -> None:
    done = run("risk", file, "--keys", "age,sex", "--json")
    plain = json.loads(done.stdout)
    assert (plain["records"], plain["uniques"], plain["largest"]) == (41, 1, 1.0)
    assert plain["expected"] == pytest.approx(5.0)
    assert plain["below"] == {"2": 1, "3": 1, "5": 1, "10": 1}
    assert plain["above"] == 41
    assert json.loads(run("risk", file, "--keys", "age,sex", "--threshold", "0.2", "--json").stdout)["above"] == 1
    told = run("risk", file, "--keys", "age,sex").stdout
    assert "the intruder is assumed to know age, sex" in told
    assert "expected re-identifications" in told


def test_the_command_reads_a_threshold_like_a_required_risk(file: Path, run: Callable[..., Any]) -> None:
    command = ["risk", file, "--keys", "age,sex", "--json", "--threshold"]
    plain = json.loads(run(*command, "20%").stdout)
    assert (plain["threshold"], plain["above"]) == (0.2, 1)
    assert plain["expected_percent"] == pytest.approx(100 * plain["expected"] / plain["records"])
    for unclear in ("1", "9"):
        done = run(*command, unclear)
        assert done.status == 2
        assert f"{unclear}% for {unclear} per cent" in done.stderr
    required = run("protect", file, "--method", "mdav", "--out", "x.csv", "--require", "risk=1")
    assert required.status == 2
    assert "write 0.01 or 1% for 1 per cent" in required.stderr


def test_with_weights_the_command_counts_the_population(file: Path, run: Callable[..., Any]) -> None:
    plain = json.loads(run("risk", file, "--keys", "age,sex", "--weight", "w", "--json").stdout)
    assert plain["population"] is True
    assert plain["largest"] == pytest.approx(0.2 / 0.8 * math.log(5))


def test_without_keys_all_attributes_are_known_and_it_says_so(file: Path, run: Callable[..., Any]) -> None:
    done = run("risk", file, "--weight", "w", "--json")
    assert "no keys are declared, so the intruder is assumed to know all 3 attributes" in done.stderr
    assert json.loads(done.stdout)["uniques"] == 41


def test_the_risks_of_records_are_written_privately(file: Path, run: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "risks.csv"
    assert run("risk", file, "--keys", "age,sex", "--weight", "w", "--records", out).status == 0
    table = pyarrow.csv.read_csv(out)
    assert table.column_names == ["record", "fk", "Fk", "risk", "suda", "dis", "household_risk", "combination"]
    assert table["fk"].to_pylist() == [10] * 40 + [1]
    assert table["Fk"].to_pylist()[-1] == 5
    assert table["combination"].to_pylist()[-1] == 1
    assert out.stat().st_mode & 0o777 == 0o600
    assert run("risk", file, "--keys", "age,sex", "--records", out).status == 1  # it exists already


def test_require_risk_refuses_before_anything_is_written(file: Path, run: Callable[..., Any], tmp_path: Path) -> None:
    command = ["protect", file, "--keys", "age,sex", "--method", "suppress", "--set", "k=5", "--out"]
    refused = run(*command, tmp_path / "a.csv", "--require", "risk=0.05")
    assert refused.status == 1
    assert "no record with a risk of re-identification above 0.05" in refused.stderr
    assert not (tmp_path / "a.csv").exists()
    kept = ["protect", file, "--keys", "age,sex", "--method", "mdav-generic", "--set", "k=5"]
    assert run(*kept, "--out", tmp_path / "b.csv", "--require", "risk=50%").status == 0
    unclear = run(*command, tmp_path / "c.csv", "--require", "risk=9")
    assert unclear.status == 2
    assert "write 9% for 9 per cent" in unclear.stderr


def test_the_threshold_of_the_headline_is_that_of_health_authorities() -> None:
    assert THRESHOLD == 0.09
