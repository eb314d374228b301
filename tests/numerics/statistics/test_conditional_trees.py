"""Trees whose leaves are large enough and whose cuts are the best there are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.statistics.conditional_trees import BINS, Cuts, grow, leaves_of, nominal_bins

TABLES = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 120), st.integers(0, 4), st.integers(1, 12))


def random_table(seed: int, n: int, columns: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, rng.integers(1, 9, (columns, 1)) + 1, (columns, n)).astype(np.uint8)
    return rng, bins, rng.random(columns) < 0.5


@settings(max_examples=150, deadline=None)
@given(table=TABLES, classes=st.booleans())
def test_leaves_divide_the_rows_and_none_is_below_the_minimum(table: tuple[int, ...], classes: bool) -> None:
    seed, n, columns, leaf = table
    rng, bins, nominal = random_table(seed, n, columns)
    target = rng.integers(0, 4, n) if classes else rng.standard_normal(n).round(1)
    rows = np.flatnonzero(rng.random(n) < 0.9)
    tree = grow(bins, nominal, target, rows, leaf=leaf)
    ends = tree.column < 0
    assert sorted(tree.rows) == sorted(rows)
    assert tree.leaf_sizes.sum() == len(rows)
    assert tree.leaf_sizes.min() >= min(leaf, len(rows))
    leaves = leaves_of(tree, bins)
    for start, end, leaf_number in zip(tree.start[ends], tree.end[ends], np.flatnonzero(ends), strict=True):
        here = tree.rows[start:end]
        assert (leaves[here] == leaf_number).all()
        assert classes or (np.diff(target[here]) >= 0).all()


def impurity(target: np.ndarray, classes: bool) -> float:
    """Gini impurity or variance, times the number of records."""
    if classes:
        return float(len(target) - (np.bincount(target) ** 2).sum() / len(target))
    return float(((target - target.mean()) ** 2).sum())


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), leaf=st.integers(1, 6), classes=st.booleans(), nominal=st.booleans())
def test_the_first_cut_is_the_best_of_all(seed: int, leaf: int, classes: bool, nominal: bool) -> None:
    """Every cut of an ordered column is tried, or every set of categories of a nominal one, for numbers or two classes.

    Sets of categories may be as small as they are: only then is the best one a cut in the order of the means.
    """
    leaf = 1 if nominal else leaf
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 6, (2, 24)).astype(np.uint8)
    target = rng.integers(0, 2, 24) if classes else rng.standard_normal(24)
    tree = grow(bins, np.array([nominal, nominal]), target, np.arange(24), leaf=leaf)
    best = np.inf
    for column in bins:
        values = np.unique(column)
        sets = (
            [values[:i] for i in range(1, len(values))]
            if not nominal
            else [np.array(s) for r in range(1, len(values)) for s in combinations(values, r)]
        )
        lefts = [np.isin(column, s) for s in sets]
        allowed = [left for left in lefts if min(left.sum(), (~left).sum()) >= leaf]
        best = min([best, *(impurity(target[left], classes) + impurity(target[~left], classes) for left in allowed)])
    if tree.column[0] < 0:
        assert best >= impurity(target, classes) - 1e-9
    else:
        left = np.zeros(24, dtype=bool)
        left[tree.rows[tree.start[1] : tree.end[1]]] = True
        assert impurity(target[left], classes) + impurity(target[~left], classes) == pytest.approx(best, abs=1e-9)


def test_many_classes_and_a_nominal_column_are_told_apart() -> None:
    codes = np.arange(600) % 60
    tree = grow(nominal_bins(codes)[None, :], np.array([True]), codes, np.arange(600), leaf=5)
    leaves = leaves_of(tree, nominal_bins(codes)[None, :])
    assert len(set(zip(leaves.tolist(), codes.tolist(), strict=True))) == 60
    assert len(set(leaves.tolist())) == 60


def test_without_enough_evidence_chance_is_not_followed() -> None:
    rng = np.random.default_rng(3)
    x, noise = rng.standard_normal((2, 5000))
    bins = Cuts.of(x).bins(x)[None, :]
    rows, nominal = np.arange(5000), np.array([False])
    assert len(grow(bins, nominal, noise, rows, leaf=5).leaf_sizes) == BINS - 1  # as fine as the bins allow
    assert len(grow(bins, nominal, noise, rows, leaf=5, evidence=20.0).leaf_sizes) == 1
    assert len(grow(bins, nominal, np.sign(x) + noise, rows, leaf=5, evidence=20.0).leaf_sizes) > 1


@pytest.mark.parametrize("level", [5.0, -5.0])
def test_categories_that_do_not_occur_in_a_node_go_with_the_majority(level: float) -> None:
    column = np.repeat([1, 2], [30, 10]).astype(np.uint8)
    tree = grow(column[None, :], np.array([True]), np.where(column == 1, level, 0.0), np.arange(40), leaf=5)
    common, rare, unseen, missing = leaves_of(tree, np.array([[1, 2, 200, 0]], dtype=np.uint8))
    assert common != rare
    assert unseen == missing == common


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 3000), digits=st.integers(0, 6))
def test_bins_are_ordered_full_and_few(seed: int, n: int, digits: int) -> None:
    values = np.random.default_rng(seed).standard_normal(n).round(digits)
    bins = Cuts.of(values).bins(values)
    order = np.argsort(values)
    assert (np.diff(bins[order].astype(int)) >= 0).all()
    assert bins.min() >= 1
    distinct = len(np.unique(values))
    if distinct < BINS:
        assert len(np.unique(bins)) == distinct
    else:  # no bin holds much more than its share, unless one value does
        assert np.bincount(bins).max() <= 2 * n / (BINS - 1) + np.unique(values, return_counts=True)[1].max() + 1


def test_the_rarest_of_many_categories_share_a_bin() -> None:
    codes = np.concatenate([np.repeat(np.arange(254), 3), np.arange(254, 400), [-1]])
    bins = nominal_bins(codes)
    assert bins[-1] == 0
    assert len(np.unique(bins[: 254 * 3])) == 254
    assert (bins[254 * 3 : -1] == 255).all()
