"""What would lower the risk of a file most: the number promised is that of the release that the change makes."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.errors import Cancelled, ParameterError
from microveil.masking.plan import Plan
from microveil.scoring.risk_advice.changes import changes_of
from microveil.scoring.risk_advice.trying import lost_by

KEYS = ["region", "sex", "work", "school"]
EIGHT = {
    "region": [1, 1, 1, 3, 4, 4, 6, 1],
    "sex": [2, 2, 2, 3, 3, 3, 2, 2],
    "work": [5, 1, 1, 1, 1, 1, 1, 5],
    "school": [1, 1, 1, 5, 4, 1, 5, 1],
    "weight": [18, 45.5, 39, 17, 541, 8, 5, 92],
}
HOUSING = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")


def eight(**changes: Any) -> mv.Microdata:
    return mv.Microdata.of({**EIGHT, **changes}, nominal=KEYS, keys=KEYS, weight="weight")


def check_promises(data: mv.Microdata, advice: mv.RiskAdvice, **options: Any) -> None:
    """Every proposal is carried out, and the risk of what it makes is what was promised, to the last digit."""
    for proposal in (*advice.proposals, *advice.sequence):
        release = proposal.mask(data, seed=7)
        found = mv.risk_of_file(release, proposal.keys, **options)
        assert found.summary.to_plain() == proposal.after.to_plain(), proposal.words
        assert set(proposal.left_out).isdisjoint(release.data.names)
        if proposal.households is not None:
            assert found.household_risk is not None
            assert float(found.household_risk.sum()) == proposal.households[1]


# --- exact numbers -------------------------------------------------------------------------------------------------


def test_the_eight_records_get_the_advice_that_can_be_computed_by_hand() -> None:
    advice = mv.advise_risk(eight(), fraction=0.01)
    found = {proposal.words: proposal for proposal in advice.proposals}
    without_school = found["leave school out of the release"]
    # records 5 and 6 become equal, with 541 + 8 persons behind them
    assert (without_school.before.uniques, without_school.after.uniques) == (4, 2)
    assert round(without_school.before.expected, 3) == 0.967
    p = 2 / 549
    two = p / (1 - p) * (1 - p / (1 - p) * math.log(1 / p))
    alone = [q / (1 - q) * math.log(1 / q) for q in (1 / 17, 1 / 5)]
    assert without_school.after.expected == pytest.approx(
        2 * 0.01714426 + 2 * 0.02204233 + 2 * two + sum(alone), abs=1e-7
    )
    assert without_school.lost.entropy == 25.0
    assert without_school.sentence == "leave school out of the release: expected re-identifications 0.9665 -> 0.665"
    check_promises(eight(), advice)


def test_a_key_adds_what_goes_without_it() -> None:
    found = mv.risk_of_file(eight())
    for name, left in found.without_each_key.items():
        others = [key for key in KEYS if key != name]
        assert left == pytest.approx(mv.risk_of_file(eight(), others).summary.expected, rel=1e-12)
    assert mv.risk_of_file(eight(), ["sex"]).without_each_key == {}


def test_a_survey_of_households_reaches_its_target(reference: Callable[..., mv.Microdata]) -> None:
    table = reference("testdata")
    cells = {name: table.arrow(name) for name in (*HOUSING, "age", "sampling_weight", "ori_hid")}
    data = mv.Microdata.of(cells, keys=(*HOUSING, "age"), weight="sampling_weight", household="ori_hid")
    before = mv.risk_of_file(data).summary.expected
    advice = mv.advise_risk(data, target=before / 4)
    assert advice.met
    assert advice.sequence[-1].after.expected <= before / 4
    assert advice.outcome.startswith(f"with {len(advice.sequence[-1].changes)} change")
    best = next(one for one in advice.proposals if one.words == "recode age to intervals of 5")
    release = best.mask(data, seed=1)
    assert mv.risk_of_file(release).summary == best.after
    last = advice.sequence[-1]
    assert mv.risk_of_file(last.mask(data, seed=1), last.keys).summary == last.after


@pytest.mark.parametrize(
    ("after", "entropy", "values", "cells"),
    [
        ([0, 0, 1, 1], 50.0, 50.0, 100.0),
        ([0, 0, 0, 0], 100.0, 75.0, 100.0),
        ([3, 2, 1, 0], 0.0, 0.0, 0.0),
        ([-1, 1, 2, 3], 0.0, 0.0, 25.0),  # which value the one empty cell had can be told: the one that is gone
        ([-1, -1, 2, 3], 25.0, 25.0, 50.0),
    ],
)
def test_what_is_lost_is_what_cannot_be_told_any_more(
    after: list[int], entropy: float, values: float, cells: float
) -> None:
    lost = lost_by(np.array([0, 1, 2, 3]), np.array(after))
    assert (lost.entropy, lost.values, lost.cells) == (entropy, values, cells)


# --- every promise is kept -----------------------------------------------------------------------------------------


@st.composite
def files(draw: st.DrawFn) -> tuple[mv.Microdata, dict[str, Any]]:
    n = draw(st.integers(1, 40))
    cell: Callable[[Any], Any] = lambda values: st.lists(  # noqa: E731
        st.one_of(st.none(), values) if draw(st.booleans()) else values, min_size=n, max_size=n
    )
    age = draw(cell(st.integers(0, 99)))
    job = draw(cell(st.sampled_from(["cook", "judge", "nurse", "smith", "tailor", "clerk"])))
    size = draw(cell(st.sampled_from(["s", "m", "l", "xl"])))
    income = draw(cell(st.integers(0, 90_000)))
    columns: dict[str, Any] = {"age": age, "job": job, "size": size, "income": income}
    roles: dict[str, Any] = {
        "ordinal": {"size": ["s", "m", "l", "xl"]},
        "numeric": ["age", "income"],
        "nominal": ["job"],
    }
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        columns["w"] = draw(st.lists(st.floats(0, 500), min_size=n, max_size=n))
        roles["weight"] = "w"
    elif draw(st.booleans()):
        options["fraction"] = draw(st.floats(0.01, 1.0))
    if draw(st.booleans()):
        columns["home"] = draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
        roles["household"] = "home"
    data = mv.Microdata.of(columns, keys=["age", "job", "size", "income"], **roles)
    policy = draw(st.sampled_from(["wildcard", "own category"]))
    keys = data.schema.keys
    return data.with_schema(data.schema.replacing(*(data[name].changed(missing=policy) for name in keys))), options


@given(files(), st.sampled_from([None, 1.0, 5.0]))
@settings(max_examples=25, deadline=None)
def test_the_promised_number_is_that_of_the_release(file: tuple[mv.Microdata, dict[str, Any]], target: Any) -> None:
    data, options = file
    advice = mv.advise_risk(data, target=target, **options)
    check_promises(data, advice, **options)


def test_a_sampling_fraction_without_weights_keeps_its_promises() -> None:
    data = mv.Microdata.of({"age": [*range(20, 30)] * 2, "sex": ["f", "m", "m", "f"] * 5}, keys=["age", "sex"])
    advice = mv.advise_risk(data, fraction=0.1)
    assert advice.proposals
    check_promises(data, advice, fraction=0.1)


def test_the_printed_python_and_command_make_the_promised_release(
    tmp_path: Any, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import shlex

    monkeypatch.chdir(tmp_path)
    data = mv.datasets.survey(120, seed=3)
    data = data.with_schema(data.schema.with_roles(key=["age", "sex", "region"]))
    data.schema.write("people.toml")
    mv.write(data, "people.csv")
    read = mv.read("people.csv", schema="people.toml")
    advice = mv.advise_risk(read)
    made = 0
    for number, proposal in enumerate(advice.best, start=1):
        release = eval(proposal.python, {"mv": mv, "data": read})
        assert mv.risk_of_file(release, proposal.keys).summary == proposal.after
        command = proposal.command(("people.csv", "--schema", "people.toml"), out=f"safe{number}.csv")
        words = shlex.split(command)
        assert words[:2] == ["microveil", "protect"]
        if "--plan" in words:
            (tmp_path / "plan.toml").write_text(proposal.plan.to_toml(), encoding="utf-8")
        assert run(*words[1:]).status == 0, command
        released = mv.read_release(f"safe{number}.csv", read)
        assert mv.risk_of_file(released, proposal.keys).summary == proposal.after
        made += 1
    assert made > 3


# --- what is proposed ----------------------------------------------------------------------------------------------


def test_numbers_get_round_widths_and_open_ends_that_hold_enough_records() -> None:
    data = mv.Microdata.of({"age": [*range(18, 85)] * 3 + [90, 95, 99], "x": [1] * 204}, keys=["age"])
    words = [change.words for change in changes_of(data, "age")]
    widths = [word for word in words if word.startswith("recode age to intervals of") and "open" not in word]
    assert widths == [f"recode age to intervals of {width}" for width in (2, 5, 10, 20)]
    assert "recode age to intervals of 5, open below 20 and from 80" in words
    assert any(word.startswith("code the highest values of age as one, those of at least 11 records") for word in words)


def test_rare_categories_are_merged_and_levels_of_a_hierarchy_climbed() -> None:
    towns = ["8010"] * 50 + ["8020"] * 30 + ["8022"] * 3 + ["4020"] * 2 + ["4030"] * 15
    data = mv.Microdata.of({"zip": towns, "x": [0] * 100}, nominal=["zip"], keys=["zip"])
    words = [change.words for change in changes_of(data, "zip")]
    assert "merge the 2 rarest of the 5 categories of zip" in words
    assert "recode zip to level 2 of the hierarchy that its values suggest, 2 values in place of 5" in words
    tree = mv.Hierarchy.of([(t, t[:2], "*") for t in sorted(set(towns))])
    declared = data.with_schema(data.schema.replacing(data["zip"].changed(hierarchy=tree)))
    assert changes_of(declared, "zip")[0].words == "recode zip to level 1 of its hierarchy"


def test_a_wide_number_is_rounded_and_a_few_rare_records_are_suppressed() -> None:
    rng = np.random.default_rng(1)
    people = {"income": rng.integers(0, 9000, 300).tolist(), "sex": ["f", "m"] * 150}
    advice = mv.advise_risk(mv.Microdata.of(people, keys=["income", "sex"]))
    assert any(one.words.startswith("round income to multiples of") for one in advice.proposals)
    few = mv.Microdata.of({"a": ["x"] * 500 + ["y"] * 500 + ["z"], "b": ["p", "q"] * 500 + ["p"]}, keys=["a", "b"])
    advice = mv.advise_risk(few, threshold=0.4)
    assert any(one.words.startswith("suppress single cells until at least 3") for one in advice.proposals)
    check_promises(few, advice, threshold=0.4)


def test_a_sequence_goes_on_until_the_target_and_each_step_lowers_the_risk() -> None:
    data = mv.datasets.survey(400, seed=5)
    data = data.with_schema(data.schema.with_roles(key=["age", "sex", "education", "region"]))
    start = mv.risk_of_file(data).summary.expected
    advice = mv.advise_risk(data, target=start / 20)
    expected = [start, *(one.after.expected for one in advice.sequence)]
    assert all(a > b for a, b in pairwise(expected))
    assert advice.met == (expected[-1] <= start / 20)
    assert len(mv.advise_risk(data, target=start / 20, steps=1).sequence) == 1
    assert mv.advise_risk(data, steps=0).sequence == ()
    again = mv.advise_risk(data, target=start / 20)
    assert again.to_plain() == advice.to_plain()


# --- edges ---------------------------------------------------------------------------------------------------------


def test_one_key_is_not_left_out_and_constant_keys_have_no_advice() -> None:
    one = mv.advise_risk(mv.Microdata.of({"age": list(range(40)), "x": [1] * 40}, keys=["age"]))
    assert one.proposals
    assert not any(proposal.left_out for proposal in one.proposals)
    constant = mv.advise_risk(mv.Microdata.of({"a": ["x"] * 40, "b": ["y"] * 40}, keys=["a", "b"]))
    assert constant.proposals == ()
    assert constant.met
    assert constant.outcome == "as the file is, no record is above the threshold"


def test_without_declared_keys_all_attributes_are_taken() -> None:
    advice = mv.advise_risk({"age": list(range(40)), "sex": ["f", "m"] * 20})
    assert advice.found.source == "all"
    assert advice.proposals


def test_thirty_keys_are_tried() -> None:
    rng = np.random.default_rng(4)
    data = mv.Microdata.of({f"k{i}": rng.integers(0, 4, 60).astype(str).tolist() for i in range(30)})
    advice = mv.advise_risk(data, [f"k{i}" for i in range(30)], steps=1)
    assert advice.tried >= 60
    assert advice.found.summary.uniques == 60


def test_a_table_without_records_has_no_advice() -> None:
    empty = mv.Microdata.of({"age": [1, 2], "sex": ["f", "m"]}, keys=["age", "sex"]).take(np.array([], dtype=np.int64))
    assert mv.advise_risk(empty).proposals == ()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"target": 0}, "target = 0"),
        ({"target": "few"}, "target = 'few'"),
        ({"steps": -1}, "steps = -1"),
        ({"steps": 2.5}, "steps = 2.5"),
        ({"seconds": 0}, "seconds = 0"),
        ({"threshold": 2}, "threshold"),
        ({"fraction": 3}, "fraction = 3"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        mv.advise_risk(eight(), **wrong)


def test_a_short_time_ends_the_search_and_says_so() -> None:
    advice = mv.advise_risk(eight(), seconds=1e-9)
    assert not advice.complete
    assert "the time was up" in advice.heading


def test_progress_rises_to_one_and_can_be_cancelled() -> None:
    told: list[float] = []
    mv.advise_risk(eight(), progress=lambda fraction, label: told.append(fraction))
    assert told == sorted(told)
    assert told[-1] == 1.0

    def stop(fraction: float, label: str, /) -> None:
        if fraction > 0.3:
            raise Cancelled

    with pytest.raises(Cancelled):
        mv.advise_risk(eight(), progress=stop)


def test_the_advice_is_plain_and_readable() -> None:
    advice = mv.advise_risk(eight(), target=0.5)
    plain = json.loads(json.dumps(advice.to_plain()))
    assert plain["met"] is True
    assert plain["sequence"][-1]["after"]["expected"] <= 0.5
    assert "one after the other" in str(advice)
    assert "<table>" in advice._repr_html_()
    plan = Plan.from_plain(tomllib.loads(advice.sequence[-1].plan.to_toml()))
    assert mv.risk_of_file(mv.protect(eight(), plan), advice.sequence[-1].keys).summary.expected == (
        advice.sequence[-1].after.expected
    )
