"""Polishing never loses more than it was given and keeps every group in [k, 2k-1]."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import Cancelled
from microveil.numerics.grouping.centroid_groups import split_large
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.numerics.grouping.simulated_annealing import (
    chunks_of_groups,
    descend,
    dissolved,
    loss_within,
    nearest_neighbours,
    polish_groups,
)
from microveil.numerics.statistics.scaling import standardise
from microveil.progress import silent


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 60),
    d=st.integers(1, 70),
    k=st.integers(2, 7),
    values=st.sampled_from([2, 5, 1000]),
    seed=st.integers(0, 999),
    effort=st.sampled_from([0, 2000]),
)
def test_sizes_stay_and_the_loss_does_not_grow(n: int, d: int, k: int, values: int, seed: int, effort: int) -> None:
    columns = np.random.default_rng(seed).integers(0, values, size=(max(n, k), d)).astype(float)
    start = mdav_groups(columns, k)
    made = polish_groups(columns, start, k, effort, rng(), silent)
    sizes = np.bincount(made)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert loss_within(columns, made) <= loss_within(columns, start) + 1e-9 * (columns**2).sum()


def least_loss(columns: np.ndarray, k: int) -> float:
    """Over all partitions of a few records into groups of at least k."""
    n = len(columns)
    best = {0: 0.0}

    def spread(rows: tuple[int, ...]) -> float:
        block = columns[list(rows)]
        return float(((block - block.mean(axis=0)) ** 2).sum())

    def solve(left: frozenset[int]) -> float:
        key = hash(left)
        if not left:
            return 0.0
        if len(left) < k:
            return np.inf
        if key in best:
            return best[key]
        first, rest = min(left), sorted(left)[1:]
        found = np.inf
        for size in range(k - 1, min(2 * k - 1, len(left))):
            for mates in combinations(rest, size):
                group = (first, *mates)
                found = min(found, spread(group) + solve(left - frozenset(group)))
        best[key] = found
        return found

    return solve(frozenset(range(n)))


@pytest.mark.parametrize("seed", range(8))
def test_small_tables_reach_the_least_loss_there_is(seed: int) -> None:
    columns = np.random.default_rng(seed).normal(size=(10, 2))
    made = polish_groups(columns, mdav_groups(columns, 3), 3, 40_000, rng(), silent)
    assert loss_within(columns, made) == pytest.approx(least_loss(columns, 3))


def test_after_a_descent_no_single_step_lowers_the_loss() -> None:
    columns = np.random.default_rng(3).normal(size=(40, 3))
    neighbours = nearest_neighbours(columns, 39)
    made = descend(columns, mdav_groups(columns, 3), 3, neighbours)
    loss = loss_within(columns, made)
    for i, j in combinations(range(40), 2):
        swapped = made.copy()
        swapped[[i, j]] = swapped[[j, i]]
        assert loss_within(columns, swapped) >= loss - 1e-9


def test_the_result_depends_on_the_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.random.default_rng(3).normal(size=(120, 4))
    start = mdav_groups(columns, 4)
    results = []
    for number in ("1", "3"):
        monkeypatch.setenv("MICROVEIL_THREADS", number)
        results.append(polish_groups(columns, start, 4, 60_000, rng(), silent))
    assert (results[0] == results[1]).all()


def test_large_groups_are_divided_first() -> None:
    columns = np.random.default_rng(3).normal(size=(50, 2))
    sizes = np.bincount(split_large(columns, np.zeros(50, dtype=np.int64), 4))
    assert sizes.min() >= 4
    assert sizes.max() <= 7


def test_giving_up_groups_leaves_the_others_within_bounds() -> None:
    columns = np.random.default_rng(3).normal(size=(300, 2))
    made = dissolved(columns, mdav_groups(columns, 3), 3, 0.1)
    sizes = np.bincount(made)
    assert len(sizes) == 90
    assert sizes.min() >= 3
    assert sizes.max() <= 5


def test_neighbours_leave_out_the_record_itself_also_among_equals() -> None:
    columns = np.zeros((9, 2))
    neighbours = nearest_neighbours(columns, 4)
    assert neighbours.shape == (9, 4)
    assert not (neighbours == np.arange(9)[:, None]).any()


def test_polishing_can_be_cancelled() -> None:
    def stop(fraction: float, label: str) -> None:
        raise Cancelled("enough")

    columns = np.random.default_rng(3).normal(size=(60, 2))
    with pytest.raises(Cancelled):
        polish_groups(columns, mdav_groups(columns, 3), 3, 10_000, rng(), stop)


@pytest.mark.parametrize(("table", "k", "below"), [("tarragona", 3, 14.75), ("census", 3, 4.95), ("census", 5, 7.6)])
def test_a_short_polish_beats_every_other_method_on_the_reference_tables(reference, table, k, below) -> None:  # type: ignore[no-untyped-def]
    """A twentieth of the effort that `best` spends by default."""
    data = reference(table)
    columns = standardise(np.column_stack([data.numbers(name).values for name in data.names]))
    made = polish_groups(columns, mdav_groups(columns, k), k, 7000 * len(columns), rng(), silent)
    assert 100 * loss_within(columns, made) / (columns**2).sum() < below


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(30, 120),
    d=st.integers(1, 4),
    k=st.integers(2, 6),
    values=st.sampled_from([1, 3, 1000]),
    largest=st.integers(5, 40),
    steps=st.sampled_from([0, 1, 60]),
    seed=st.integers(0, 999),
)
def test_blocks_lose_no_more_either(n: int, d: int, k: int, values: int, largest: int, steps: int, seed: int) -> None:
    columns = np.random.default_rng(seed).integers(0, values, size=(n, d)).astype(float)
    start = mdav_groups(columns, k)
    made = polish_groups(columns, start, k, steps * n, rng(), silent, largest_chunk=largest)
    assert np.bincount(made).min() >= k
    assert np.bincount(made).max() <= 2 * k - 1
    assert loss_within(columns, made) <= loss_within(columns, start)


def test_blocks_hold_whole_groups_and_every_record_once() -> None:
    columns = np.random.default_rng(3).normal(size=(500, 3))
    labels = mdav_groups(columns, 3)
    blocks = chunks_of_groups(columns, labels, 60, 1 / 3)
    assert np.array_equal(np.sort(np.concatenate(blocks)), np.arange(500))
    assert max(map(len, blocks)) <= 60
    assert sum(len(np.unique(labels[rows])) for rows in blocks) == labels.max() + 1


def test_the_rounds_cut_elsewhere() -> None:
    """Two groups that a border keeps apart meet in the next round."""
    columns = np.random.default_rng(3).normal(size=(600, 2))
    labels = mdav_groups(columns, 3)
    first, second = (chunks_of_groups(columns, labels, 200, cut) for cut in (1 / 2, 1 / 3))
    within = [{int(label): number for number, rows in enumerate(blocks) for label in labels[rows]}
              for blocks in (first, second)]  # fmt: skip
    near = nearest_neighbours(columns, 5)
    parted = {
        (labels[i], labels[j]) for i in range(600) for j in near[i] if within[0][labels[i]] != within[0][labels[j]]
    }
    assert len(parted) > 20
    meet = sum(within[1][one] == within[1][other] for one, other in parted)
    assert meet > 0.7 * len(parted)


def test_blocks_give_the_same_result_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.random.default_rng(3).normal(size=(400, 3))
    start = mdav_groups(columns, 3)
    results = []
    for number in ("1", "3"):
        monkeypatch.setenv("MICROVEIL_THREADS", number)
        results.append(polish_groups(columns, start, 3, 40_000, rng(), silent, largest_chunk=90))
    assert (results[0] == results[1]).all()
