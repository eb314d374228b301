"""Barycentres cost no more than means at each time, and nothing but the members decides about them."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.series.barycentre import barycentre, barycentres_by_group
from microveil.numerics.series.dtw import dtw, warping_path


def test_members_at_different_times_keep_their_height() -> None:
    members = np.array([[0.0, 0, 9, 0, 0, 0, 0], [0.0, 0, 0, 8, 0, 0, 0], [0.0, 0, 0, 0, 7, 0, 0]])
    found = barycentre(members)
    assert found.curve.tolist() == [0, 0, 0, 8, 0, 0, 0]
    assert found.cost == 2.0
    assert found.cost_of_mean == sum(dtw(member, members.mean(axis=0)) for member in members)


@pytest.mark.parametrize("seed", range(6))
def test_the_cost_is_that_of_the_curve_and_never_above_that_of_the_mean(seed: int) -> None:
    members = np.random.default_rng(seed).normal(size=(5, 14)).cumsum(axis=1)
    found = barycentre(members)
    assert found.cost == pytest.approx(sum(dtw(member, found.curve) for member in members))
    assert found.cost < found.cost_of_mean
    assert barycentre(members, rounds=1).cost >= found.cost
    # another round changes nothing for the better: each point is the mean of what it is compared with, or nearly so
    sums, counts = np.zeros(14), np.zeros(14)
    for member in members:
        for i, j in warping_path(member, found.curve).points:
            sums[j] += member[i]
            counts[j] += 1
    assert sum(dtw(member, sums / counts) for member in members) >= found.cost * (1 - 1e-9)


def test_the_order_of_the_members_plays_no_part() -> None:
    rng = np.random.default_rng(3)
    members, labels = rng.normal(size=(40, 9)).cumsum(axis=1), rng.integers(0, 7, size=40)
    order = rng.permutation(40)
    found = barycentres_by_group(members, labels)
    assert np.array_equal(found[order], barycentres_by_group(members[order], labels[order]))
    for group in range(7):
        rows = labels == group
        assert np.array_equal(found[rows], np.tile(barycentre(members[rows]).curve, (rows.sum(), 1)))


def test_equal_members_and_one_member_are_their_barycentre() -> None:
    curve = np.array([0.1, 0.2, 0.7])
    assert barycentre(np.tile(curve, (3, 1))).curve.tolist() == curve.tolist()
    assert barycentre(curve[None]).cost == 0.0


def test_times_without_a_cell_stay_empty_and_members_may_be_shorter() -> None:
    members = np.array([[np.nan, 1.0, np.nan, 2.0], [np.nan, 1.0, np.nan, np.nan], [np.nan] * 4])
    found = barycentre(members).curve
    assert np.isnan(found[[0, 2]]).all()
    assert not np.isnan(found[[1, 3]]).any()
    assert np.isnan(barycentre(np.full((2, 3), np.nan)).curve).all()
