"""The interval around a share: the Wilson score, against its equation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from microveil.attacks.base import Risk
from microveil.numerics.statistics.wilson import wilson_interval


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (3, 10), (0.5, 7), (10, 10), (37, 5000)])
def test_the_ends_are_the_shares_that_lie_a_quantile_away(successes: float, trials: int) -> None:
    """Where (s - p)^2 = z^2 p (1 - p) / n, the share s is z standard errors of p from p."""
    share, z = successes / trials, norm.ppf(0.975)
    low, high = wilson_interval(successes, trials)
    assert 0 <= low <= share <= high <= 1
    for end in (low, high):
        assert (share - end) ** 2 == pytest.approx(z**2 * end * (1 - end) / trials, abs=1e-12)
    assert (low == share) == (successes == 0)
    assert (high == share) == (successes == trials)


def test_without_trials_any_share_is_possible() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_rounding_pushes_no_end_beyond_0_or_1() -> None:
    for trials in range(1, 200):
        assert wilson_interval(0, trials)[0] == 0.0
        assert wilson_interval(trials, trials)[1] == 1.0


def test_a_risk_is_the_mean_over_the_records_attacked_with_its_interval_in_per_cent() -> None:
    risk = Risk.of("x", np.array([1.0, 0.5, np.nan, 0.0]), ("age",), "")
    assert (risk.value, risk.attacked) == (50.0, 3)
    assert (risk.low, risk.high) == pytest.approx(tuple(100 * end for end in wilson_interval(1.5, 3)))


def test_where_no_record_is_attacked_the_risk_is_0_and_its_interval_holds_any() -> None:
    risk = Risk.of("x", np.full(2, np.nan), ("age",), "")
    assert (risk.value, risk.low, risk.high, risk.attacked) == (0.0, 0.0, 100.0, 0)
