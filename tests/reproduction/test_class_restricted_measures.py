"""Biases of moments and ranks of linkage, by hand on nine records."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.grouping.groups import means_by_group
from reproduction.class_restricted_measures import linkage_ranks, moment_biases

NINE = np.array(
    [[55, 75], [64, 84], [59, 70], [56, 54], [59, 58], [48, 60], [56, 92], [55, 90], [58, 100]], dtype=float
)
MIXED = np.array([0, 2, 1, 1, 1, 0, 2, 0, 2])  # the groups of CREST
ALIKE = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])  # those of longest-edge cutting


@pytest.mark.spec("07:CR-21", "07:CR-23")
def test_mean_substitution_on_nine_records() -> None:
    mixed, alike = means_by_group(NINE, MIXED), means_by_group(NINE, ALIKE)
    biases = moment_biases(NINE, mixed)
    assert (biases.means, biases.deviations, biases.correlations) == pytest.approx((0, 23.4618, 13.2848), abs=5e-5)
    assert np.corrcoef(NINE, rowvar=False)[0, 1] == pytest.approx(0.2732, abs=5e-5)
    assert np.corrcoef(mixed, rowvar=False)[0, 1] == pytest.approx(0.2369, abs=5e-5)
    assert linkage_ranks(NINE, mixed).tolist() == [0, 3, 2, 1, 0, 4, 1, 1, 0]
    biases = moment_biases(NINE, alike)
    assert (biases.deviations, biases.correlations) == pytest.approx((26.7049, 52.4382), abs=5e-5)
    assert linkage_ranks(NINE, alike).tolist() == [1, 2, 0, 0, 1, 3, 0, 1, 2]


def test_terms_that_would_divide_by_zero_are_left_out_and_counted() -> None:
    values = np.array([[-1.0, 4.0], [1.0, 4.0], [0.0, 4.0]])
    assert moment_biases(values, values).left_out == 2
