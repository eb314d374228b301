"""The least loss among maskings whose risk is below a bound."""

from __future__ import annotations

import pytest

from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.errors import ParameterError, UnknownNameError
from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.scoring.optimising import Optimum, grid, optimise

ATTRIBUTES = ("age", "wealth")


@pytest.fixture(scope="module")
def people() -> Microdata:
    return survey(200, seed=5)


@pytest.fixture(scope="module")
def optimum(people: Microdata) -> Optimum:
    methods = [*grid("mdav", k=[2, 3, 5, 8]), *grid("rank-swapping", p=[5, 15])]
    return optimise(methods, people, risk_below=20, il="sse", attributes=ATTRIBUTES, known=ATTRIBUTES, seed=1)


@pytest.mark.spec("01:SDC-1", "01:TR-1")
def test_the_best_masking_loses_least_of_those_that_are_safe_enough(optimum: Optimum) -> None:
    assert len(optimum.trials) == 6
    safe = [trial for trial in optimum.trials if trial.risk < 20]
    assert 0 < len(safe) < 6
    assert optimum.best == min(safe, key=lambda trial: trial.loss)
    assert optimum.best in optimum.front
    # all of them stay, for the map
    losses = [trial.loss for trial in optimum.trials[:4]]
    assert losses == sorted(losses)


@pytest.mark.spec("01:SDC-1")
def test_what_a_trial_says_is_what_the_measures_say(optimum: Optimum, people: Microdata) -> None:
    trial = optimum.trials[1]
    assert trial.method == MDAV(k=3)
    release = MDAV(k=3).mask(people, ATTRIBUTES, seed=optimum.seed)
    assert trial.loss == SSE().measure(people, release).value
    assert trial.risk == DistanceLinkage().assess(people, release, ATTRIBUTES).value
    assert "k=3" in trial.label


@pytest.mark.spec("01:SDC-1")
def test_a_bound_nobody_reaches_leaves_nothing(people: Microdata) -> None:
    found = optimise(grid("mdav", k=[2]), people, risk_below=0, il=SSE(), dr=DistanceLinkage(), attributes=ATTRIBUTES)
    assert found.best is None
    assert len(found.trials) == 1


def test_what_an_intruder_knows_may_be_less(people: Microdata) -> None:
    all_known, one_known = (
        optimise(grid("mdav", k=[2]), people, risk_below=50, attributes=ATTRIBUTES, known=known, seed=1).trials[0].risk
        for known in (None, ["age"])
    )
    assert one_known < all_known


def test_every_combination_of_parameters_is_made_and_wrong_ones_are_named() -> None:
    made = grid("mdav", k=[2, 3], scale=["z", "none"])
    assert len(set(made)) == 4
    assert grid("mdav") == [MDAV()]
    with pytest.raises(ParameterError, match="mdav has no parameter 'kk'"):
        grid("mdav", kk=[2])
    with pytest.raises(UnknownNameError, match="did you mean 'mdav'"):
        grid("mdva")
    with pytest.raises(ParameterError, match="no method to try"):
        optimise([], {"a": [1, 2]}, risk_below=10)
