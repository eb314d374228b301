"""Columns divided and matched by their correlations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.statistics.correlation_structure import correlations, divide, match


def sets(columns: np.ndarray, least: float = 0.7) -> list[list[int]]:
    return [part.tolist() for part in divide(columns, least)]


def test_correlations_are_those_of_numpy_and_none_for_a_constant() -> None:
    columns = np.random.default_rng(2).normal(size=(40, 3))
    assert correlations(columns) == pytest.approx(np.corrcoef(columns, rowvar=False), abs=1e-8)
    constant = correlations(np.column_stack([columns[:, 0], np.full(40, 0.1)]))
    assert constant.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.spec("04:FZ-SPLIT")
def test_correlated_columns_are_parted_and_columns_without_a_partner_left_out() -> None:
    x, y, z, e = np.random.default_rng(3).normal(size=(4, 200))
    columns = np.column_stack([x, x + 0.1 * e, y, z, -y + 0.1 * e])
    first, second = sets(columns)
    assert sorted(first + second) == [0, 1, 2, 4]
    assert (0 in first) != (1 in first)
    assert (2 in first) != (4 in first)
    assert first[0] == 0


@pytest.mark.spec("04:FZ-SPLIT")
def test_where_nothing_is_correlated_so_much_nothing_is_left_out() -> None:
    columns = np.random.default_rng(4).normal(size=(100, 5))
    first, second = sets(columns)
    assert sorted(first + second) == list(range(5))
    assert first
    assert second


def test_constant_columns_are_divided_evenly() -> None:
    assert sets(np.ones((6, 4))) == [[0, 3], [1, 2]]


@pytest.mark.parametrize("pairs", [6, 15])
def test_many_pairs_of_alike_columns_are_all_parted(pairs: int) -> None:
    """With 30 columns not all divisions are tried."""
    base = np.random.default_rng(5).normal(size=(100, pairs))
    first, second = sets(np.column_stack([base, base]))
    assert sorted(j % pairs for j in first) == sorted(j % pairs for j in second) == list(range(pairs))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(2, 7))
def test_no_single_move_parts_more(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(30, 2)) @ rng.normal(size=(2, width))
    first, second = sets(columns, 0.3)
    strength = np.abs(correlations(columns))
    strength[strength < 0.3] = 0.0
    np.fill_diagonal(strength, 0.0)
    for own, other in ((first, second), (second, first)):
        for j in own:
            assert strength[j, own].sum() <= strength[j, other].sum() + 1e-6


@pytest.mark.spec("01:DR-7")
@pytest.mark.parametrize("width", [4, 6, 11])
def test_columns_in_another_order_are_found_again(width: int) -> None:
    """With 11 columns not all matchings are tried."""
    rng = np.random.default_rng(6)
    structure = correlations(rng.normal(size=(300, 4)) @ rng.normal(size=(4, width)) + rng.normal(size=(300, width)))
    order = rng.permutation(width)
    assert order[match(structure, structure[np.ix_(order, order)])].tolist() == list(range(width))


@pytest.mark.spec("01:DR-7")
def test_some_of_the_columns_are_found_among_all() -> None:
    rng = np.random.default_rng(6)
    structure = correlations(rng.normal(size=(300, 4)) @ rng.normal(size=(4, 6)) + rng.normal(size=(300, 6)))
    assert match(structure[np.ix_([4, 0, 5, 2], [4, 0, 5, 2])], structure).tolist() == [4, 0, 5, 2]


def test_a_disturbed_structure_of_many_columns_is_matched_no_worse_than_by_the_true_matching() -> None:
    rng = np.random.default_rng(7)
    structure = correlations(rng.normal(size=(300, 3)) @ rng.normal(size=(3, 10)) + 0.3 * rng.normal(size=(300, 10)))
    order = rng.permutation(10)
    disturbed = structure + 0.01 * rng.normal(size=(10, 10))
    disturbed = ((disturbed + disturbed.T) / 2)[np.ix_(order, order)]
    found, true = match(structure, disturbed), np.argsort(order)
    worse, best = (((disturbed[np.ix_(m, m)] - structure) ** 2).sum() for m in (found, true))
    assert worse <= best + 1e-9


def test_a_wider_first_table_is_refused() -> None:
    with pytest.raises(ValueError, match="narrower"):
        match(np.eye(3), np.eye(2))
