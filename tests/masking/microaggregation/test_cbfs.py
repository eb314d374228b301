"""Centroid-based groups: worked examples, the order of groups and recomputed losses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.cbfs import CBFS
from microveil.masking.microaggregation.iamat import IAMAT
from microveil.masking.partition import Partition
from microveil.microdata import Microdata
from microveil.numerics.grouping import centroid_groups as kernels
from microveil.numerics.grouping.centroid_groups import centroid_groups
from microveil.numerics.statistics.scaling import standardise

Load = Callable[..., Microdata]
TV1 = np.array(
    [(0, 0), (1, 0), (0.6, 1), (1.3, 0), (5.6, 0), (6, 0.2), (6.1, -0.3), (5.8, 0.5), (5.9, -0.4)], dtype=np.float64
)
REFERENCE = {  # recomputed independently: cbfs recomputed, cbfs fixed, IAMAT fixed, IAMAT recomputed
    "tarragona": {
        2: (9.274991, 9.286718, 9.286718, 9.274991),
        3: (16.966068, 16.950719, 15.607260, 15.616858),
        4: (19.730259, 19.769522, 19.267712, 19.229719),
        5: (22.818612, 22.886748, 22.621436, 22.609637),
        6: (26.404705, 26.413140, 26.885214, 26.878109),
    },
    "census": {
        3: (5.653559, 5.661948, 5.373649, 5.347616),
        4: (7.441419, 7.514015, 7.246655, 7.173476),
        5: (8.884026, 9.006982, 8.932227, 8.685198),
        6: (10.194098, 10.365446, 10.104015, 10.168366),
    },
}


def columns_of(data: Microdata) -> np.ndarray:
    return standardise(np.column_stack([data.numbers(name).values for name in data.names]))


def loss(columns: np.ndarray, labels: np.ndarray) -> float:
    within = sum(((columns[labels == g] - columns[labels == g].mean(axis=0)) ** 2).sum() for g in np.unique(labels))
    return float(100 * within / ((columns - columns.mean(axis=0)) ** 2).sum())


def plain_cbfs(columns: np.ndarray, k: int, recomputed: bool, interaction: bool) -> list[int]:
    """The pseudo-code word by word; the records in order of entry."""
    left, entry = list(range(len(columns))), []
    centre = columns.mean(axis=0)
    while len(left) >= k:
        if recomputed:
            centre = columns[left].mean(axis=0)
        seed = max(left, key=lambda i: (((columns[i] - centre) ** 2).sum(), -i))
        entry.append(seed)
        left.remove(seed)
        summed = ((columns - columns[seed]) ** 2).sum(axis=1)
        for _ in range(k - 1):
            chosen = min(left, key=lambda i: (summed[i], i))
            entry.append(chosen)
            left.remove(chosen)
            if interaction:
                summed = summed + ((columns - columns[chosen]) ** 2).sum(axis=1)
    return entry + left


@pytest.mark.parametrize(
    ("recomputed", "interaction", "groups", "printed"),
    [
        (True, False, [[0, 1, 2], [3, 4, 7], [5, 6, 8]], 23.536629),
        (False, False, [[0, 1, 2], [6, 8, 5], [3, 4, 7]], 23.536629),
        (False, True, [[0, 1, 3], [2, 4, 7], [6, 8, 5]], 30.876940),
        (True, True, [[0, 1, 3], [2, 4, 7], [5, 6, 8]], 30.876940),
    ],
)
def test_seed_and_interaction_growth_part_ways_in_the_worked_example(
    recomputed: bool, interaction: bool, groups: list[list[int]], printed: float
) -> None:
    labels, entry = centroid_groups(TV1, 3, recomputed=recomputed, interaction=interaction)
    assert entry.reshape(3, 3).tolist() == groups
    assert labels[entry].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert round(loss(TV1, labels), 6) == printed


def iamat_by_products(columns: np.ndarray, k: int, alpha: float) -> list[int]:
    """IAMAT as published: associations exp(-d²/alpha), and the record with the largest product of them is added."""
    association = np.exp(-((columns[:, None] - columns[None]) ** 2).sum(axis=2) / alpha)
    with_centre = np.exp(-((columns - columns.mean(axis=0)) ** 2).sum(axis=1) / alpha)
    left, entry = list(range(len(columns))), []
    while len(left) >= k:
        group = [min(left, key=lambda i: (with_centre[i], i))]
        left.remove(group[0])
        while len(group) < k:
            interaction = association[group].prod(axis=0)
            group.append(max(left, key=lambda i: (interaction[i], -i)))
            left.remove(group[-1])
        entry += group
    return entry + left


@pytest.mark.spec("02:LM28", "02:LM29")
@pytest.mark.parametrize("alpha", [0.438470, 3.0, 50.0])
def test_products_of_associations_give_the_same_groups_whatever_alpha(alpha: float) -> None:
    spread = np.random.default_rng(7).normal(size=(50, 3))
    for columns in (TV1, spread):
        _, entry = centroid_groups(columns, 3, recomputed=False, interaction=True)
        assert entry.tolist() == iamat_by_products(columns, 3, alpha)


ORDER = [
    ("tarragona", True, False, [833, 831, 832, 829, 821, 824, 717, 822, 792], [95, 103, 119]),
    ("tarragona", False, True, [833, 831, 832, 829, 821, 717, 810, 822, 792], [461, 394, 527]),
    ("census", True, False, [492, 83, 1068, 624, 627, 681, 858, 98, 206], [398, 188, 102]),
    ("census", False, True, [492, 83, 1036, 624, 1068, 627, 858, 98, 206], [190, 975, 668]),
]


@pytest.mark.parametrize(("table", "recomputed", "interaction", "first", "last"), ORDER)
def test_the_groups_come_in_the_known_order(
    reference: Load, table: str, recomputed: bool, interaction: bool, first: list[int], last: list[int]
) -> None:
    _, entry = centroid_groups(columns_of(reference(table)), 3, recomputed=recomputed, interaction=interaction)
    assert entry[:9].tolist() == first
    assert entry[-3:].tolist() == last


@pytest.mark.spec("02:LM31")
@pytest.mark.parametrize(
    ("k", "last"), [(4, [159, 92, 625, 0, 664, 698]), (5, [318, 482, 317, 527, 0, 447, 552, 646, 699])]
)
def test_leftover_records_join_the_last_group(reference: Load, k: int, last: list[int]) -> None:
    labels, entry = centroid_groups(columns_of(reference("tarragona")), k, recomputed=False, interaction=True)
    assert entry[-len(last) :].tolist() == last
    assert (labels[last] == labels.max()).all()


@pytest.mark.spec("02:LM01", "02:LM03", "02:LM04", "02:LM30")
@pytest.mark.parametrize("table", REFERENCE)
def test_the_reference_losses_of_all_variants_come_out(reference: Load, table: str) -> None:
    data = reference(table)
    for k, printed in REFERENCE[table].items():
        methods = (CBFS(k=k), CBFS(k=k, centroid="fixed"), IAMAT(k=k), IAMAT(k=k, centroid="recomputed"))
        measured = [round(SSE().measure(data, method.mask(data)).value, 6) for method in methods]
        assert tuple(measured) == printed


def test_iamat_is_cbfs_with_a_fixed_centre_and_interaction(reference: Load) -> None:
    data = reference("census")
    for centroid in ("fixed", "recomputed"):
        one = IAMAT(k=4, centroid=centroid).mask(data)  # type: ignore[arg-type]
        other = CBFS(k=4, centroid=centroid, growth="interaction").mask(data)  # type: ignore[arg-type]
        assert one.partition == other.partition


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 60),
    k=st.integers(2, 6),
    d=st.integers(1, 5),
    values=st.sampled_from([2, 4, 1000]),
    recomputed=st.booleans(),
    interaction=st.booleans(),
    seed=st.integers(0, 999),
)
def test_the_kernel_does_what_the_pseudo_code_says(
    n: int, k: int, d: int, values: int, recomputed: bool, interaction: bool, seed: int
) -> None:
    columns = np.random.default_rng(seed).integers(0, values, size=(max(n, k), d)) * 1.0
    labels, entry = centroid_groups(columns, k, recomputed=recomputed, interaction=interaction)
    sizes = np.bincount(labels)
    assert (sizes[:-1] == k).all()
    assert k <= sizes[-1] < 2 * k
    if not recomputed:
        assert entry.tolist() == plain_cbfs(columns, k, recomputed, interaction)


def test_the_recomputed_centre_agrees_with_the_pseudo_code_over_hundreds_of_groups() -> None:
    columns = np.random.default_rng(4).normal(size=(900, 4))
    for interaction in (False, True):
        _, entry = centroid_groups(columns, 3, recomputed=True, interaction=interaction)
        assert entry.tolist() == plain_cbfs(columns, 3, True, interaction)


def in_leaves(columns: np.ndarray, k: int, recomputed: bool, interaction: bool) -> tuple[np.ndarray, np.ndarray]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "MANY_RECORDS", 0)
        return centroid_groups(columns, k, recomputed=recomputed, interaction=interaction)


@settings(max_examples=100, deadline=None)
@given(
    n=st.integers(2, 600),
    k=st.integers(2, 9),
    d=st.integers(1, 5),
    values=st.sampled_from([2, 4, 50, 10**6]),
    standardised=st.booleans(),
    recomputed=st.booleans(),
    interaction=st.booleans(),
    seed=st.integers(0, 999),
)
def test_leaves_give_the_same_groups(
    n: int, k: int, d: int, values: int, standardised: bool, recomputed: bool, interaction: bool, seed: int
) -> None:
    columns = np.random.default_rng(seed).integers(0, values, size=(max(n, k), d)) * 1.0
    if standardised:
        columns = standardise(columns)
    labels, entry = centroid_groups(columns, k, recomputed=recomputed, interaction=interaction)
    by_leaves, by_leaves_entry = in_leaves(columns, k, recomputed, interaction)
    assert by_leaves_entry.tolist() == entry.tolist()
    assert by_leaves.tolist() == labels.tolist()


@pytest.mark.parametrize("far", [1.0, 1e9])
@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("recomputed", [False, True])
def test_leaves_do_what_the_pseudo_code_says(recomputed: bool, k: int, far: float) -> None:
    columns = np.random.default_rng(k).normal(size=(400, 4))
    columns[:3] *= far
    for interaction in (False, True):
        _, entry = in_leaves(columns, k, recomputed, interaction)
        assert entry.tolist() == plain_cbfs(columns, k, recomputed, interaction)


def test_fewer_than_2k_records_make_one_group() -> None:
    data = Microdata.of({"a": [1.0, 2.0, 3.0, 6.0, 8.0]})
    for method in (CBFS(k=3), IAMAT(k=3)):
        assert method.mask(data).partition == Partition.of([0] * 5)
