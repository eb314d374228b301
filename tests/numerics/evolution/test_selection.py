from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.evolution.selection import (
    Roulette,
    Tournament,
    Weighting,
    roulette,
    score_weights,
    tournament,
)

SCORES = np.array([10.0, 20.0, 40.0])


def shares(drawn: np.ndarray, count: int = 3) -> np.ndarray:
    return np.bincount(drawn, minlength=count) / len(drawn)


@pytest.mark.spec("05:EA-05")
@pytest.mark.parametrize(
    ("weighting", "expected"),
    [
        ("inverse", [4 / 7, 2 / 7, 1 / 7]),
        ("range", [0.6, 0.4, 0.0]),
        ("rank", [3 / 6, 2 / 6, 1 / 6]),
        ("literal_eq_3_3", [1 / 7, 2 / 7, 4 / 7]),
    ],
)
def test_scores_become_weights(weighting: Weighting, expected: list[float]) -> None:
    assert score_weights(SCORES, weighting).tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.spec("05:EA-05")
@given(st.lists(st.floats(0, 100), min_size=1, max_size=8), st.sampled_from(["inverse", "range", "rank"]))
def test_the_better_never_has_the_smaller_weight(scores: list[float], weighting: Weighting) -> None:
    weights = score_weights(np.array(scores), weighting)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0).all()
    ordered = weights[np.argsort(scores, kind="stable")]
    assert (np.diff(ordered) <= 1e-12).all()


@pytest.mark.spec("05:EA-05")
@pytest.mark.parametrize("weighting", ["inverse", "range", "rank", "literal_eq_3_3"])
def test_an_infinite_score_has_no_chance_and_equal_ones_have_the_same(weighting: Weighting) -> None:
    assert score_weights(np.array([1.0, np.inf, 1.0]), weighting).tolist() == pytest.approx([0.5, 0.0, 0.5])
    assert score_weights(np.array([0.0, 0.0]), weighting).tolist() == pytest.approx([0.5, 0.5])
    assert score_weights(np.array([np.inf, np.inf]), weighting).tolist() == [0.5, 0.5]


@pytest.mark.spec("05:EA-05")
def test_a_roulette_selects_in_proportion_to_fitness() -> None:
    drawn = shares(roulette(np.array([1.0, 0.0, 3.0]), 20_000, np.random.default_rng(1)))
    assert drawn[1] == 0
    assert drawn[2] == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / 20_000))
    selected = shares(Roulette("rank")(SCORES, 20_000, np.random.default_rng(1)))
    assert selected == pytest.approx([3 / 6, 2 / 6, 1 / 6], abs=0.015)


@pytest.mark.spec("05:EA-06")
def test_a_tournament_is_won_by_the_best_of_those_drawn() -> None:
    """Of three, each pair is as likely: the best wins two of three tournaments, the worst none."""
    selected = shares(Tournament(2)(SCORES, 20_000, np.random.default_rng(1)))
    assert selected == pytest.approx([2 / 3, 1 / 3, 0], abs=0.015)
    assert set(tournament(SCORES, 50, np.random.default_rng(1), size=3)) == {0}
    assert shares(tournament(SCORES, 20_000, np.random.default_rng(1), size=1)) == pytest.approx([1 / 3] * 3, abs=0.015)


@pytest.mark.spec("05:EA-06")
def test_of_equals_the_first_wins_a_tournament() -> None:
    assert set(tournament(np.array([2.0, 1.0, 1.0]), 50, np.random.default_rng(1), size=3)) == {1}


def test_selection_needs_what_it_compares() -> None:
    rng = np.random.default_rng(1)
    for size in (0, 4):
        with pytest.raises(ParameterError, match=f"tournament of {size}"):
            tournament(SCORES, 1, rng, size=size)
    for fitness in ([-1.0, 2.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(ParameterError, match="roulette"):
            roulette(np.array(fitness), 1, rng)
    with pytest.raises(ParameterError, match="inverse weights needs scores that are not negative"):
        score_weights(np.array([-1.0, 2.0]))
