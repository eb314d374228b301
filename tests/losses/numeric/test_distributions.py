"""Quantiles, distances between distributions and the energy distance, against other ways of computing them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import spatial, stats

from microveil.losses.numeric.distribution import Distribution
from microveil.losses.numeric.energy import EnergyLoss
from microveil.losses.numeric.quantiles import Quantiles
from microveil.microdata import Microdata
from microveil.numerics.statistics.distribution_distances import quantile_shares, step_distances
from microveil.numerics.statistics.energy_distance import energy_distance


@settings(max_examples=60, deadline=None)
@given(
    one=st.lists(st.integers(-20, 20), min_size=1, max_size=30),
    other=st.lists(st.integers(-20, 20), min_size=1, max_size=30),
)
def test_gaps_and_areas_also_with_ties_and_unequal_lengths(one: list[int], other: list[int]) -> None:
    x, y = np.sort(np.array(one, dtype=float)), np.sort(np.array(other, dtype=float))
    found = step_distances(x, y)
    gaps = [abs(np.mean(x <= value) - np.mean(y <= value)) for value in (*one, *other)]
    assert found.kolmogorov == pytest.approx(max(gaps))
    assert found.wasserstein == pytest.approx(stats.wasserstein_distance(x, y))
    assert np.sqrt(2 * found.squared) == pytest.approx(stats.energy_distance(x, y), abs=1e-7)


def test_the_distances_of_a_release() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(10, 2, 500)
    y = x + rng.normal(0, 2, 500)
    found = Distribution().measure(Microdata.of({"x": x}), Microdata.of({"x": y}))
    assert found.value == found.details["kolmogorov"] == pytest.approx(100 * stats.ks_2samp(x, y).statistic)
    assert found.details["wasserstein"] == pytest.approx(100 * stats.wasserstein_distance(x, y) / x.std())
    edges = np.concatenate([[-np.inf], np.sort(x)[np.arange(1, 20) * 25], [np.inf]])
    one, other = (np.histogram(values, edges)[0] / 500 for values in (x, y))
    assert found.details["jensen-shannon"] == pytest.approx(100 * spatial.distance.jensenshannon(one, other, 2) ** 2)
    overlap = np.sqrt(one * other).sum()
    assert found.details["hellinger"] == pytest.approx(100 * np.sqrt(1 - overlap))
    chosen = Distribution(distance="hellinger").measure(Microdata.of({"x": x}), Microdata.of({"x": y}))
    assert chosen.value == found.details["hellinger"]


def test_intervals_are_cut_at_distinct_quantiles() -> None:
    values = np.array([1.0] * 90 + [2.0] * 10)
    one, other = quantile_shares(values, np.array([0.0, 1.0, 1.0, 5.0]), 20)
    assert one == pytest.approx([0, 0.9, 0.1])
    assert other == pytest.approx([0.25, 0.5, 0.25])


def test_a_shift_moves_every_quantile_alike() -> None:
    x = np.array([1.0, 2.0, 4.0, 9.0, 12.0])
    found = Quantiles().measure(Microdata.of({"x": x}), Microdata.of({"x": x + 0.5}))
    assert [found.value, found.details["largest"]] == pytest.approx([100 * 0.5 / x.std()] * 2)
    doubled = Quantiles(relative_to="value").measure(Microdata.of({"x": x}), Microdata.of({"x": 2 * x}))
    assert doubled.value == pytest.approx(100)


def test_a_change_of_order_alone_leaves_distributions_as_they_are() -> None:
    x = np.array([5.0, 1.0, 7.0, 3.0])
    before, after = Microdata.of({"x": x}), Microdata.of({"x": x[::-1]})
    for measure in (Quantiles(), Distribution(), EnergyLoss()):
        assert measure.measure(before, after).value == pytest.approx(0, abs=1e-9)


def test_a_column_suppressed_whole_is_lost_whole() -> None:
    before, after = Microdata.of({"x": [1.0, 2.0, None]}), Microdata.of({"x": [np.nan] * 3})
    assert Distribution().measure(before, after).value == 100
    assert Quantiles().measure(before, after).value == 100
    nothing = Microdata.of({"x": np.full(3, np.nan)})
    assert Distribution().measure(nothing, nothing).value == 0
    assert Quantiles().measure(nothing, nothing).value == 0


def test_a_constant_that_moved_is_lost_whole() -> None:
    before, after = Microdata.of({"x": [3.0, 3.0]}), Microdata.of({"x": [4.0, 4.0]})
    assert Distribution(distance="wasserstein").measure(before, after).value == 100
    assert Quantiles().measure(before, after).value == 100


def test_a_constant_that_is_not_exact_in_binary_has_no_deviation() -> None:
    before, after = Microdata.of({"x": [0.1] * 3}), Microdata.of({"x": [0.1, 0.1, 0.2]})
    assert np.std([0.1] * 3) > 0  # rounding, which must not be divided by
    assert Distribution(distance="wasserstein").measure(before, after).raw == 100


# --- energy -------------------------------------------------------------------------------------------------------


def test_the_energy_distance_is_that_of_all_pairs() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(150, 3)), rng.normal(0.3, 1.5, size=(150, 3))
    across, one, other = (spatial.distance.cdist(a, b).mean() for a, b in ((x, y), (x, x), (y, y)))
    assert energy_distance(x, y).share ** 2 == pytest.approx((2 * across - one - other) / (2 * across))


def test_energy_sees_a_relation_that_marginals_hide() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=800)
    before = Microdata.of({"a": x, "b": x})
    shuffled = Microdata.of({"a": x, "b": rng.permutation(x)})
    assert Distribution().measure(before, shuffled).value == pytest.approx(0, abs=1e-9)
    assert EnergyLoss().measure(before, shuffled).value > 10


def test_a_sample_says_its_size_and_its_error_and_the_error_is_about_right() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=4000)
    before, after = Microdata.of({"x": x}), Microdata.of({"x": x + rng.normal(size=4000)})
    whole = EnergyLoss(sample=None).measure(before, after)
    assert "standard_error" not in whole.details
    drawn = [EnergyLoss(sample=400, seed=seed).measure(before, after) for seed in range(40)]
    assert all(loss.details["sampled"] == 400 for loss in drawn)
    spread = np.std([loss.value for loss in drawn])
    said = np.mean([loss.details["standard_error"] for loss in drawn])
    assert 0.6 < said / spread < 1.6
    assert EnergyLoss(sample=400, seed=3).measure(before, after).value == drawn[3].value
