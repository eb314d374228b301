"""How likely a move of some length is."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.perturbing.rank_shift import bucket_shares, shift_weights


@pytest.mark.spec("04:RS-PD")
def test_normal_moves_have_the_probabilities_computed_independently() -> None:
    """Mean and deviation p/2: below 0 with 0.1587, up to p with 0.6827; moves are whole, so p is large here."""
    p = 100_000
    weights = shift_weights("normal", p, 4 * p)
    assert weights.sum() == pytest.approx(1 - 0.1587, abs=1e-4)
    assert weights[: p + 1].sum() == pytest.approx(0.6827, abs=1e-4)
    # the parts above 0 of the containments 0.4772, 0.8400 and 0.9986; those below are 0.1359, 0.1573 and 0.1587
    assert weights[: p // 2 + 1].sum() == pytest.approx(0.4772 - 0.1359, abs=1e-4)
    assert weights[: p + 1].sum() == pytest.approx(0.8400 - 0.1573, abs=1e-4)
    assert weights[: 2 * p + 1].sum() == pytest.approx(0.9986 - 0.1587, abs=2e-4)


@pytest.mark.spec("04:RS-PX")
@pytest.mark.parametrize("shape", ["exponential", "geometric"])
def test_the_mean_move_is_half_the_reach(shape: str) -> None:
    weights = shift_weights(shape, 1000, 50_000)  # type: ignore[arg-type]
    assert (weights * np.arange(50_000)).sum() / weights.sum() == pytest.approx(500, rel=2e-3)
    assert (np.diff(weights[1:]) <= 0).all()


@pytest.mark.spec("04:RS-PX")
def test_uniform_moves_end_at_the_reach_and_lists_are_stretched_to_it() -> None:
    assert shift_weights("uniform", 3.7, 6).tolist() == [0, 1, 1, 1, 0, 0]
    assert shift_weights((5.0, 1.0, 0.0, 2.0), 4, 7).tolist() == [0, 5, 1, 0, 2, 0, 0]
    assert shift_weights((5.0, 1.0), 8, 10).tolist() == [0, 5, 5, 5, 5, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("shape", ["normal", "uniform", "exponential", "geometric"])
def test_even_the_smallest_reach_allows_a_move(shape: str) -> None:
    weights = shift_weights(shape, 1.0, 3)  # type: ignore[arg-type]
    assert weights[0] == 0
    assert weights[1] > 0


@pytest.mark.spec("04:RS-PB")
def test_bucket_shares_halve_and_lack_what_lies_beyond() -> None:
    assert bucket_shares("geometric", 4).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16]


@pytest.mark.spec("04:RS-PX")
def test_other_bucket_shares() -> None:
    assert bucket_shares("uniform", 4).tolist() == [0.25] * 4
    assert bucket_shares("exponential", 3)[1:] / bucket_shares("exponential", 3)[:-1] == pytest.approx(np.exp(-1))
    assert bucket_shares("normal", 3) / bucket_shares("normal", 3)[0] == pytest.approx(np.exp([0, -0.5, -2]))
    assert bucket_shares((3.0, 1.0), 4).tolist() == [0.75, 0.25, 0, 0]
    assert bucket_shares((2.0, 1.0, 1.0), 2).tolist() == [0.5, 0.25]
