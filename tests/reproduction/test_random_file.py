"""The real anonymity of a file whose groups are random."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.random_file import expected_distinct, random_file_anonymity, random_file_bounds


@pytest.mark.spec("03:ME-3")
def test_the_anonymity_of_a_random_file() -> None:
    assert expected_distinct(380, 256) == pytest.approx(198.1476, abs=5e-5)
    assert random_file_anonymity(380, 25, 2) == pytest.approx(1.91776, abs=5e-6)
    assert random_file_bounds(380, 25, 2) == pytest.approx((1.9158, 1.9176), abs=5e-5)
    assert random_file_anonymity(20, 20, 3) == 20.0  # one group, so all are alike
    assert random_file_anonymity(10**6, 2, 9) == pytest.approx(1.0)
    rng = np.random.default_rng(1)
    drawn = [len(np.unique(rng.integers(0, 256, 380))) for _ in range(2000)]
    assert np.mean(drawn) == pytest.approx(198.1476, abs=5 * np.std(drawn) / np.sqrt(2000))
