"""Plans carried out once more: every step of a release can be made again from what its provenance says."""

from __future__ import annotations

import numpy as np
import pytest

import microveil as mv
from microveil.errors import UnknownNameError
from microveil.masking import Step
from microveil.masking.base import Method
from microveil.masking.replaying import changes_values, class_of, method_of, released_again, replayed

KEYS = ("region", "sex", "education", "occupation")


def test_the_method_of_a_step_has_its_parameters_also_inside_another() -> None:
    made = method_of(Step("within", {"method": {"name": "mdav", "k": 7}, "clusters": 3}))
    assert made.parameters() == mv.method("within", method=mv.method("mdav", k=7), clusters=3).parameters()


def test_every_method_is_made_again_from_its_provenance() -> None:
    people = mv.datasets.survey(60, seed=3)
    for method in (mv.method("pram", p=0.4, invariant=True), mv.method("rank-swapping-distribution", shift=(3, 2, 1))):
        step = method.mask(people, ["sex"] if method.name == "pram" else ["age"], seed=1).provenance.steps[0]
        assert method_of(step) == method


def test_a_method_that_nobody_knows_is_named() -> None:
    with pytest.raises(UnknownNameError, match="mdaw"):
        method_of(Step("mdaw"))


def test_of_a_method_that_nobody_knows_no_change_is_ruled_out() -> None:
    assert class_of(Step("mdaw")) is None
    assert changes_values(Step("mdaw"))
    assert not changes_values(Step("sampling"))


def test_a_replay_does_what_the_plan_does_and_without_randomness_the_same() -> None:
    people = mv.Microdata.of({"a": np.arange(30.0) ** 2, "b": np.arange(30.0) % 7})
    steps = [(mv.method("mdav", k=3), ("a", "b")), (mv.method("rounding", base=10.0), ("a",))]
    release = mv.method("rounding", base=10.0).mask(mv.method("mdav", k=3).mask(people, seed=1), ["a"])
    again = replayed(people, steps, seed=99)
    assert again.arrow("a").equals(release.data.arrow("a"))
    assert again.arrow("b").equals(release.data.arrow("b"))
    assert replayed(people, [], seed=1) is people


@pytest.mark.parametrize(
    ("method", "attributes"),
    [(mv.method("best", k=3, polish=50), ("age", "income")), (mv.method("suppress", k=3), KEYS)],
)
def test_a_replay_makes_the_same_release_and_tells_no_bound_that_nobody_reads(
    method: Method, attributes: tuple[str, ...]
) -> None:
    people = mv.datasets.survey(200, seed=3)
    release = method.mask(people, attributes, seed=1)
    again = released_again(people, [(method, attributes)], seed=1)
    assert isinstance(again, mv.Release)
    assert again.data.digest() == release.data.digest()
    told, untold = ([str(note) for note in made.provenance.notes] for made in (release, again))
    assert any("could be" in note for note in told)
    assert not any("could be" in note for note in untold)
