"""The score of a random method over several releases."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.errors import ParameterError
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.scoring import score
from microveil.scoring.repeated import REPEATS, RepeatedScore, repeat_seeds, repeated_score
from microveil.scoring.scores import Score


@pytest.fixture(scope="module")
def people() -> Microdata:
    return survey(120, seed=5)


@pytest.mark.spec("05:SC-03")
def test_the_final_score_is_the_mean_over_five_perturbations(people: Microdata) -> None:
    found = repeated_score(PRAM(p=0.6), people, ["sex", "education"], score="categorical", seed=7)
    assert len(found.scores) == REPEATS == 5
    assert found.value == pytest.approx(np.mean([one.mean for one in found.scores]))
    assert (found.loss + found.risk) / 2 == pytest.approx(found.value)
    assert found.deviation == pytest.approx(np.std([one.value for one in found.scores], ddof=1))
    assert len({one.value for one in found.scores}) == 5
    by_hand = [
        score("categorical").assess(people, PRAM(p=0.6).mask(people, ["sex", "education"], seed=s)).score
        for s in repeat_seeds(7, 5)
    ]
    assert found.scores == tuple(by_hand)


@pytest.mark.spec("05:SC-03")
def test_the_mean_of_maxima_is_not_the_maximum_of_means() -> None:
    found = RepeatedScore((Score(10, 30, by="max"), Score(30, 10, by="max")))
    assert found.value == 30
    assert max(found.loss, found.risk) == 20


@pytest.mark.spec("05:SC-03")
def test_the_same_seed_gives_the_same_scores_and_more_repeats_keep_the_first(people: Microdata) -> None:
    one, same, more = (
        repeated_score(Noise(alpha=0.2), people, ["age", "wealth"], repeats=r, seed=3) for r in (2, 2, 3)
    )
    assert one == same
    assert more.scores[:2] == one.scores
    assert repeated_score(Noise(alpha=0.2), people, ["age", "wealth"], repeats=2, seed=4) != one
    drawn = repeated_score(Noise(alpha=0.2), people, ["age", "wealth"], repeats=1)
    assert drawn == repeated_score(Noise(alpha=0.2), people, ["age", "wealth"], repeats=1, seed=drawn.seed)
    assert drawn.deviation == 0


def test_progress_is_told_and_nothing_to_repeat_is_refused(people: Microdata) -> None:
    fractions: list[float] = []
    repeated_score(
        Noise(alpha=0.2),
        people,
        ["age"],
        repeats=2,
        seed=3,
        progress=lambda fraction, label: fractions.append(fraction),
    )
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    with pytest.raises(ParameterError, match="repeats = 0 is not allowed"):
        repeated_score(Noise(alpha=0.2), people, repeats=0)
