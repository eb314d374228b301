"""The bound on the cost of local suppression never exceeds the least cost, found by trying every set of cells."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.counting.nested_local_suppression import Keys, suppress_nested
from microveil.numerics.counting.suppression_bound import least_cost
from microveil.typing import BoolArray, IntArray

OWN = 9  # the code of an empty cell that is a category of its own


def keys_of(cells: IntArray, costs: list[float], own: list[bool], *, alone: bool = False) -> Keys:
    codes, of_record = np.unique(cells, axis=0, return_inverse=True)
    empty = np.full(cells.shape[1], OWN)
    masses = np.ones((len(cells), 1))
    return Keys(codes, of_record.reshape(-1), masses, np.array(costs), np.array(own), empty, alone)


def is_enough(cells: IntArray, emptied: BoolArray, own: list[bool], k: int, *, alone: bool) -> bool:
    shown = np.where(emptied, np.where(own, OWN, -1), cells)
    others = cells if alone else shown
    for i in range(len(cells)):
        agree = (others == shown[i]) | (~np.array(own) & ((others == -1) | (shown[i] == -1)))
        if agree.all(axis=1).sum() < k:
            return False
    return True


def optimum(cells: IntArray, costs: list[float], own: list[bool], k: int, *, alone: bool = False) -> float:
    least = np.inf
    for chosen in product((False, True), repeat=cells.size):
        emptied = np.array(chosen).reshape(cells.shape)
        cost = float(((emptied & (cells >= 0)) * np.array(costs)).sum())
        if cost < least and is_enough(cells, emptied, own, k, alone=alone):
            least = cost
    return least


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 6),
    k=st.integers(2, 3),
    values=st.integers(2, 3),
    costs=st.sampled_from([[1.0, 1.0], [1.0, 3.0], [2.5, 0.5]]),
    meaning=st.sampled_from(["wildcard", "own", "mixed", "alone"]),
    missing=st.booleans(),
)
def test_the_bound_never_exceeds_the_least_cost(
    seed: int, n: int, k: int, values: int, costs: list[float], meaning: str, missing: bool
) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, values, size=(n, 2))
    own = {"own": [True, True], "mixed": [True, False]}.get(meaning, [False, False])
    if missing:
        cells[rng.random(cells.shape) < 0.2] = -1
        cells[:, own] = np.where(cells[:, own] < 0, 0, cells[:, own])
    alone = meaning == "alone"
    bound = least_cost(keys_of(cells, costs, own, alone=alone), k)
    least = optimum(cells, costs, own, k, alone=alone)
    assert bound is not None
    assert bound <= least + 1e-9
    if alone and not missing:
        assert bound == pytest.approx(least)


def test_three_columns_of_wildcards_against_every_set_of_cells() -> None:
    reached = []
    for seed in range(6):
        cells = np.random.default_rng(seed).integers(0, 2, size=(5, 3))
        bound = least_cost(keys_of(cells, [1.0, 1.0, 1.0], [False] * 3), 2)
        least = optimum(cells, [1.0, 1.0, 1.0], [False] * 3, 2)
        assert bound is not None
        assert bound <= least + 1e-9
        reached.append(np.ceil(bound - 1e-6) == least)
    assert sum(reached) >= 3


def test_records_far_from_all_others_must_each_lose_a_cell() -> None:
    cells = np.array([[0, 0, 0]] * 4 + [[1, 1, 1], [2, 2, 2], [3, 3, 3]])
    assert least_cost(keys_of(cells, [1.0, 1.0, 1.0], [False] * 3), 2) == pytest.approx(3.0)
    assert least_cost(keys_of(cells, [1.0, 1.0, 1.0], [True] * 3), 2) == pytest.approx(9.0)
    assert least_cost(keys_of(cells[:4], [1.0, 1.0, 1.0], [False] * 3), 2) == 0.0


def test_what_is_found_lies_above_the_bound_on_a_longer_table() -> None:
    cells = np.random.default_rng(5).integers(0, 4, size=(300, 4))
    for costs in ([1.0] * 4, [1.0, 2.0, 4.0, 0.5]):
        keys = keys_of(cells, costs, [False] * 4)
        for k in (2, 3, 5):
            bound = least_cost(keys, k)
            cost = keys.cost(suppress_nested(keys, np.array([float(k)])))
            assert bound is not None
            assert 0 < bound <= cost


def test_too_many_columns_and_records_that_count_for_several_have_no_bound() -> None:
    cells = np.zeros((4, 11), dtype=np.int64)
    assert least_cost(keys_of(cells, [1.0] * 11, [False] * 11), 2) is None
    keys = keys_of(cells[:, :2], [1.0, 1.0], [False, False])
    keys.masses[0] = 2.0
    assert least_cost(keys, 2) is None
