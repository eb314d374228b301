"""The tree by which records of a long table find blocks of similar ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.numerics.grouping.median_tree import MedianTree


def test_no_leaf_has_more_than_the_largest_number_of_records_and_none_has_much_fewer() -> None:
    sample = np.random.default_rng(1).standard_normal((1000, 3))
    sizes = np.bincount(MedianTree.of(sample, 150).leaf_of(sample))
    assert sizes.sum() == 1000
    assert len(sizes) == 7
    assert 140 <= sizes.min() <= sizes.max() <= 150


def test_cuts_are_in_the_column_in_which_records_differ_most() -> None:
    sample = np.random.default_rng(1).standard_normal((200, 2)) * [1.0, 10.0]
    tree = MedianTree.of(sample, 100)
    assert tree.column[0] == 1
    assert np.array_equal(tree.leaf_of(sample) == 0, sample[:, 1] <= np.sort(sample[:, 1])[99])


def test_equal_values_go_to_one_leaf() -> None:
    sample = np.array([[0.0]] * 60 + [[1.0]] * 40)
    assert np.bincount(MedianTree.of(sample, 50).leaf_of(sample)).tolist() == [60, 40]


def test_only_records_alike_in_all_usual_columns_are_cut_in_others() -> None:
    rng = np.random.default_rng(1)
    sample = np.column_stack([np.repeat([0.0, 1.0], [80, 20]), 100 * rng.random(100)])
    tree = MedianTree.of(sample, 25, usual=1)
    assert tree.column[0] == 0
    assert sorted(np.bincount(tree.leaf_of(sample)).tolist()) == [20] * 5


def test_the_first_cut_can_be_given() -> None:
    sample = np.random.default_rng(1).standard_normal((100, 2))
    tree = MedianTree.of(sample, 50, first=(1, 1.0))
    assert (tree.column[0], tree.cut[0]) == (1, 1.0)
    far_out = tree.leaf_of(sample) == tree.leaves - 1
    assert np.array_equal(far_out, sample[:, 1] > 1.0)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=16), st.integers(1, 8))
def test_blocks_have_every_leaf_once_and_at_least_so_many_records(sizes: list[int], least: int) -> None:
    tree = MedianTree.of(np.arange(float(len(sizes)))[:, None], 1)
    blocks = tree.joined(np.array(sizes), least)
    assert sorted(leaf for block in blocks for leaf in block) == list(range(len(sizes)))
    smallest = min(sum(sizes[leaf] for leaf in block) for block in blocks)
    assert smallest >= min(least, sum(sizes))


@pytest.mark.parametrize("sizes", [[9, 9, 9, 9], [2, 2, 2, 2]])
def test_leaves_that_are_large_enough_stay_by_themselves(sizes: list[int]) -> None:
    tree = MedianTree.of(np.arange(4.0)[:, None], 1)
    assert tree.joined(np.array(sizes), 2) == [(0,), (1,), (2,), (3,)]
