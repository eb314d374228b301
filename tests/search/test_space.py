from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, MicroveilError, ParameterError
from microveil.masking import Step
from microveil.microdata import Microdata
from microveil.registry import find, make
from microveil.search.space import LONGEST, Pipeline, Space, key_of

TABLE = Microdata.of(
    {"age": list(range(40)), "income": list(range(40)), "town": ["a", "b"] * 20, "size": ["s", "m"] * 20},
    ordinal={"size": ["s", "m"]},
)
SPACE = Space.of(TABLE, TABLE.names)


def check(pipeline: Pipeline, space: Space = SPACE) -> None:
    """What holds of every pipeline."""
    assert 1 <= len(pipeline) <= LONGEST + len(space.insisted)
    for step in pipeline:
        assert step.attributes
        assert set(step.attributes) <= set(space.fitting[step.method])
        assert list(step.attributes) == [name for name in space.attributes if name in step.attributes]
        made = make("method", step.method, step.parameters).parameters()
        assert set(step.parameters) <= set(find("method", step.method).searched)
        assert all(made[name] == value for name, value in step.parameters.items())
    assert set(space.insisted) <= {step.method for step in pipeline}


@given(st.integers(0, 2**32))
@settings(max_examples=60)
def test_drawn_varied_and_crossed_pipelines_are_pipelines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = SPACE.drawn(rng), SPACE.drawn(rng)
    for pipeline in (one, other, SPACE.crossed(one, other, rng)):
        check(pipeline)
        for _ in range(5):
            pipeline = SPACE.varied(pipeline, rng)
            check(pipeline)


def test_what_was_varied_is_near_and_mostly_another() -> None:
    rng = np.random.default_rng(1)
    start = SPACE.drawn(rng)
    others = [SPACE.varied(start, rng) for _ in range(300)]
    changed = [other for other in others if key_of(other) != key_of(start)]
    assert len(changed) > 200
    shared = [len(set(map(key_of_step, start)) & set(map(key_of_step, other))) for other in changed]
    assert all(found >= len(start) - 1 for found in shared)


def test_numbers_of_one_pipeline_are_crossed_with_categories_of_another() -> None:
    rng = np.random.default_rng(4)
    everything, numbers = Step("synthetic", {}, TABLE.names), Step("mdav", {"k": 3}, ("age", "income"))
    crossed = {key_of(SPACE.crossed((everything,), (numbers,), rng)) for _ in range(40)}
    assert key_of((numbers, replace(everything, attributes=("town", "size")))) in crossed


def test_a_step_for_both_kinds_becomes_one_for_each() -> None:
    rng = np.random.default_rng(5)
    step = Step("synthetic", {}, TABLE.names)
    varied = [SPACE.varied((step,), rng) for _ in range(200)]
    kinds = [("age", "income"), ("town", "size")]
    split = [pair for pair in varied if len(pair) == 2 and pair[0] in [replace(step, attributes=k) for k in kinds]]
    assert len(split) > 10
    for kept, other in split:
        assert not set(kept.attributes or ()) & set(other.attributes or ())
        check((kept, other))


def key_of_step(step: Step) -> str:
    return key_of((step,))


def test_every_method_is_among_the_plans_to_start_from() -> None:
    starts = SPACE.starts()
    for pipeline in starts:
        check(pipeline)
    assert {step.method for pipeline in starts for step in pipeline} == set(SPACE.methods)
    assert len({key_of(pipeline) for pipeline in starts}) == len(starts)
    # categories that a method for numbers leaves are masked, too
    assert {step.method for step in next(p for p in starts if p[0].method == "mdav")} == {"mdav", "pram"}


def test_no_plan_to_start_from_leaves_it_to_a_method_how_long_it_takes() -> None:
    best = [step for pipeline in SPACE.starts() for step in pipeline if step.method == "best"]
    assert best
    assert all(step.parameters["polish"] == 100 for step in best)  # unset, it polishes for many seconds


def test_groups_are_no_larger_than_half_of_the_table() -> None:
    rng = np.random.default_rng(2)
    drawn = [step for _ in range(400) for step in SPACE.drawn(rng)]
    assert max(step.parameters["k"] for step in drawn if step.method == "mdav") <= 20


def test_methods_that_are_left_out_never_occur_and_those_insisted_on_always() -> None:
    space = Space.of(TABLE, TABLE.names, without=["noise", "mdav"], insist=["pram"])
    rng = np.random.default_rng(3)
    one = space.drawn(rng)
    for pipeline in (*space.starts(), *(space.drawn(rng) for _ in range(100))):
        check(pipeline, space)
        check(space.crossed(one, pipeline, rng), space)
        assert not {"noise", "mdav"} & {step.method for step in pipeline}
    only = Space.of(TABLE, TABLE.names, only=["mdav", "pram"])
    assert only.methods == ("mdav", "pram")


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({"only": ["mdaw"]}, "mdaw"),
        ({"without": ["pram"], "insist": ["pram"]}, "both to use pram and to do without it"),
        ({"insist": ["mdav"], "attributes": ["town"]}, "can mask none of town"),
        ({"only": ["mdav"], "attributes": ["town"]}, "no method left that can mask town"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(wish: dict[str, list[str]], told: str) -> None:
    attributes = wish.pop("attributes", list(TABLE.names))
    with pytest.raises(MicroveilError, match=told) as refused:
        Space.of(TABLE, attributes, **wish)
    assert isinstance(refused.value, ParameterError | DataError | MicroveilError)


def test_labels_say_which_attributes_a_step_masks() -> None:
    whole = Step("mdav", {"k": 3}, ("age", "income"))
    part = Step("mdav", {"k": 3}, ("age",))
    most = Step("mdav-generic", {"k": 3}, ("age", "town", "size"))
    labels = [SPACE.candidate((step,)).label for step in (whole, part, most)]
    assert labels == ["mdav k=3", "mdav k=3 (age)", "mdav-generic k=3 (all but income)"]
    candidate = SPACE.candidate((whole, Step("pram", {"p": 0.5}, ("town",))))
    assert candidate.label == "mdav k=3; pram p=0.5 (town)"
    assert candidate.steps[0].parameters == make("method", "mdav", {"k": 3}).parameters()


def test_other_choices_of_good_plans_differ_in_one_parameter_that_is_no_number() -> None:
    table = Microdata.of({"age": list(range(40)), "income": list(range(40))})
    space = Space.of(table, table.names, only=["data-swapping", "mdav", "individual-ranking"])
    usual = {start[0].method: start[0].parameters for start in space.starts()[:3]}
    assert [(step.method, step.parameters) for (step,) in space.choices()] == [
        ("data-swapping", {**usual["data-swapping"], "together": True}),
        ("individual-ranking", {**usual["individual-ranking"], "partition": "optimal"}),
    ]
