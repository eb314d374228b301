"""Class-restricted groups: divergences, the tree, the cuts, and the two methods on tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.masking.guarantees import guarantees_of
from microveil.masking.microaggregation.camp_crest import CampCrest
from microveil.masking.microaggregation.crest import Crest
from microveil.masking.partition import Partition
from microveil.masking.preparation.coordinates import coordinates
from microveil.microdata import Microdata
from microveil.numerics.counting.class_divergence import (
    ClassReport,
    attained_t,
    class_counts,
    class_spread,
    homogeneous,
    jensen_shannon,
    kullback_leibler,
    shares_of,
)
from microveil.numerics.grouping.class_cuts import Cuts, Removable, cut_removable_edges, regrow
from microveil.numerics.grouping.class_tree import (
    ROOT_OVER_NUMBER,
    SQUARE_OVER_NUMBER,
    Tree,
    _look_around,
    _plant,
    _tabulate_terms,
    euclidean_tree,
    grow_tree,
)
from microveil.numerics.statistics.scaling import min_max

# nine persons of age and weight: three circles, six squares
NINE = np.array(
    [[55, 75], [64, 84], [59, 70], [56, 54], [59, 58], [48, 60], [56, 92], [55, 90], [58, 100]], dtype=float
)
CLASSES = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1])
SHARES = np.array([1 / 3, 2 / 3])
THIRDS = (("circle",) * 3 + ("square",) * 6, {"age": NINE[:, 0], "weight": NINE[:, 1]})


def nine() -> Microdata:
    classes, columns = THIRDS
    return Microdata.of({**columns, "class": list(classes)}, keys=["age", "weight"], confidential=["class"])


def edges(tree: Tree) -> list[tuple[int, int]]:
    return [(int(tree.parent[v]) + 1, int(v) + 1) for v in tree.order[1:]]


def groups(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset((np.flatnonzero(labels == g) + 1).tolist()) for g in np.unique(labels)}


# --- divergences ---------------------------------------------------------------------------------------------


@pytest.mark.spec("07:CR-04")
def test_the_divergences_of_the_printed_figures() -> None:
    counts = np.array([[3, 0], [0, 3], [1, 2]])
    assert jensen_shannon(counts, SHARES) == pytest.approx([0.459148, 0.190875, 0.0], abs=5e-7)


@pytest.mark.spec("07:CR-03")
def test_the_kullback_leibler_divergences_of_the_printed_figures() -> None:
    middle = (np.array([1.0, 0.0]) + SHARES) / 2
    assert kullback_leibler(np.array([1.0, 0.0]), middle) == pytest.approx(0.584963, abs=5e-7)
    assert kullback_leibler(SHARES, middle) == pytest.approx(0.333333, abs=5e-7)
    report = ClassReport.of(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]))  # shares 3/4 and 1/4 in the file
    assert report.kullback_leibler == pytest.approx([np.log2(4 / 3), 0.5 * np.log2(2 / 3) + 0.5])


@pytest.mark.spec("07:CR-05")
def test_the_weighted_divergence_of_figure_1_is_the_corrected_one() -> None:
    # printed 0.323 takes the KLD 0.585 of the circles for their JSD 0.459
    alike, mixed = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), np.array([0, 1, 2, 0, 0, 1, 1, 2, 2])
    classes = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1])
    assert ClassReport.of(alike, classes).weighted_divergence == pytest.approx(0.280299, abs=5e-7)
    assert ClassReport.of(mixed, classes).weighted_divergence == pytest.approx(0.0, abs=1e-12)


@pytest.mark.spec("07:CR-05")
@settings(max_examples=300, deadline=None)
@given(data=st.data(), classes=st.integers(1, 6))
def test_splitting_a_group_never_lowers_the_weighted_divergence(data: st.DataObject, classes: int) -> None:
    row = st.lists(st.integers(0, 30), min_size=classes, max_size=classes)
    parts = np.array(data.draw(st.lists(row.filter(any), min_size=1, max_size=5)), dtype=np.int64)
    others = np.array(data.draw(row), dtype=np.int64) + 1
    reference = shares_of(parts.sum(axis=0) + others)
    whole = jensen_shannon(parts.sum(axis=0, keepdims=True), reference)[0]
    weighted = np.average(jensen_shannon(parts, reference), weights=parts.sum(axis=1))
    assert weighted >= whole - 1e-12
    assert 0.0 <= whole <= 1.0


@pytest.mark.spec("07:CR-22", "07:CR-01")
def test_class_spread_and_homogeneous_groups_by_hand() -> None:
    counts = class_counts(np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), CLASSES)
    assert class_spread(counts) == pytest.approx(3.0)  # (6 + 1.5 + 1.5) / 3
    assert homogeneous(counts).all()
    assert attained_t(counts, SHARES) == pytest.approx([2 / 3, 1 / 3, 1 / 3])


@pytest.mark.spec("07:CR-20")
def test_l_diversity_and_t_closeness_of_groups() -> None:
    counts = np.array([[2, 2, 2], [4, 0, 0], [3, 3, 0]])
    for row, effective in zip(counts, (3.0, 1.0, 2.0), strict=True):
        data = Microdata.of({"group": ["a"] * row.sum(), "class": np.repeat(list("xyz"), row)}, confidential=["class"])
        assert guarantees_of(data, ["group"]).diversity["class"].entropy == pytest.approx(effective)
    assert attained_t(counts, np.full(3, 1 / 3)) == pytest.approx([0.0, 2 / 3, 1 / 3])


# --- the tree ------------------------------------------------------------------------------------------------


@pytest.mark.spec("07:CR-07")
@pytest.mark.parametrize(("b", "around"), [(2, {2}), (3, {2, 3}), (4, {1, 2, 3}), (5, {1, 2, 3, 4})])
def test_the_nearest_neighbours_in_the_partial_tree(b: int, around: set[int]) -> None:
    points = np.array([[0, 0], [2, 0], [3, 0], [4.5, 0], [2, 1.2], [4, 1]])
    each_its_class = np.arange(6)
    tree = _plant(points, each_its_class, np.full(6, 1 / 6), b)
    for vertex, parent in ((0, -1), (1, 0), (2, 1), (3, 2)):
        tree.parent[vertex] = parent
        if parent >= 0:
            tree.first_child[parent] = vertex
    _tabulate_terms(tree, b)
    _look_around(tree, 1, b - 2)
    assert {int(c) + 1 for c in np.flatnonzero(tree.counts)} == around


@pytest.mark.spec("07:CR-08")
def test_the_tree_of_nine_records_grows_as_worked_by_hand() -> None:
    tree = grow_tree(min_max(NINE), CLASSES, SHARES, 3, 0.5, start=0)
    assert edges(tree) == [(1, 8), (8, 7), (1, 3), (3, 5), (5, 4), (7, 9), (9, 2), (1, 6)]
    expected_lengths = [0.2306, 0.0538, 0.1928, 0.1845, 0.1461, 0.1514, 0.3617, 0.3858]
    expected_composites = [0.1256, 0.0269, 0.1372, 0.1331, 0.0731, 0.1712, 0.1808, 0.2338]
    assert tree.length[tree.order[1:]] == pytest.approx(expected_lengths, abs=5.1e-5)
    assert tree.composite[tree.order[1:]] == pytest.approx(expected_composites, abs=5.1e-5)


def euclidean(start: int = 0) -> Tree:
    return grow_tree(min_max(NINE), CLASSES, SHARES, 3, 1.0, start=start)


@pytest.mark.spec("07:CR-17")
def test_the_euclidean_tree_and_its_longest_cuts() -> None:
    tree = euclidean()
    assert edges(tree) == [(1, 3), (3, 5), (5, 4), (1, 8), (8, 7), (7, 9), (3, 2), (4, 6)]
    cuts = cut_removable_edges(tree, CLASSES, SHARES, Removable(3), longest=True)
    assert (cuts.children + 1).tolist() == [8, 5]
    assert groups(cuts.labels) == {frozenset({1, 2, 3}), frozenset({4, 5, 6}), frozenset({7, 8, 9})}
    report = ClassReport.of(cuts.labels, CLASSES)
    assert report.spread == pytest.approx(3.0)
    assert report.weighted_divergence == pytest.approx(0.2803, abs=5e-5)
    assert report.homogeneous_share == 100.0


@pytest.mark.spec("07:CR-09")
def test_cutting_the_euclidean_tree_by_the_ratio() -> None:
    cuts = cut_removable_edges(euclidean(), CLASSES, SHARES, Removable(3))
    assert groups(cuts.labels) == {frozenset({1, 7, 8, 9}), frozenset({2, 3, 4, 5, 6})}
    assert cuts.ratios == pytest.approx([0.0240], abs=5e-5)
    assert ClassReport.of(cuts.labels, CLASSES).spread == pytest.approx(0.1125)


MIXED = {frozenset({1, 6, 8}), frozenset({3, 4, 5}), frozenset({2, 7, 9})}


@pytest.mark.spec("07:CR-09", "07:CR-10")
def test_every_start_gives_the_same_mixed_groups() -> None:
    for start in range(9):
        tree = grow_tree(min_max(NINE), CLASSES, SHARES, 3, 0.5, start=start)
        cuts = cut_removable_edges(tree, CLASSES, SHARES, Removable(3))
        assert groups(cuts.labels) == MIXED
        assert ClassReport.of(cuts.labels, CLASSES).spread == pytest.approx(0.0)
    first = cut_removable_edges(
        grow_tree(min_max(NINE), CLASSES, SHARES, 3, 0.5, start=0), CLASSES, SHARES, Removable(3)
    )
    assert (first.children + 1).tolist() == [3, 7]  # a tie at ratio 0: the longer edge (1,3), then (8,7)
    assert first.ratios.tolist() == [0.0, 0.0]


def test_frozen_keys_give_other_groups() -> None:
    tree = grow_tree(min_max(NINE), CLASSES, SHARES, 3, 0.5, start=0, frozen=True)
    labels = cut_removable_edges(tree, CLASSES, SHARES, Removable(3)).labels
    assert groups(labels) == {frozenset({3, 4, 5}), frozenset({1, 2, 6, 7, 8, 9})}


def grown_by_definition(
    columns: np.ndarray, classes: np.ndarray, shares: np.ndarray, b: int, alpha: float, start: int
) -> list[tuple[int, int]]:
    """Definition 3 word by word: every candidate edge is judged anew in every step."""
    n = len(columns)
    squares = sum(np.square(columns[:, None, j] - columns[None, :, j]) for j in range(columns.shape[1]))
    lengths = np.sqrt(squares / columns.shape[1])
    links: dict[int, list[int]] = {start: []}
    made = []
    while len(links) < n:
        best = None
        for u in links:
            met, level, seen = [], [u], {u}
            while level and len(met) < b - 2:
                level = sorted((w for x in level for w in links[x] if w not in seen), key=lambda w: (squares[u, w], w))
                seen.update(level)
                met += level
            around = [u, *met[: b - 2]]
            for v in set(range(n)) - set(links):
                counts = np.bincount(classes[[*around, v]], minlength=len(shares))
                composite = alpha * lengths[u, v] + (1 - alpha) * jensen_shannon(counts[None], shares)[0]
                key = (composite, lengths[u, v], u, v)
                best = key if best is None or key < best else best
        assert best is not None
        u, v = best[2:]
        links[u].append(v)
        links[v] = [u]
        made.append((u + 1, v + 1))
    return made


@pytest.mark.spec("07:CR-08")
@pytest.mark.parametrize("seed", range(24))
def test_the_fast_tree_is_the_tree_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, number, b = int(rng.integers(5, 32)), int(rng.integers(2, 4)), int(rng.integers(2, 8))
    columns = rng.random((n, 3)) if seed % 3 else rng.integers(0, 4, (n, 2)) / 3.0  # every third full of ties
    classes = np.concatenate([np.arange(number), rng.integers(0, number, n - number)])
    shares, alpha = shares_of(np.bincount(classes)), float(rng.choice([0.0, 0.3, 0.5, 0.8, 1.0]))
    fast = grow_tree(columns, classes, shares, b, alpha, start=0)
    assert edges(fast) == grown_by_definition(columns, classes, shares, b, alpha, 0)


# --- cutting -------------------------------------------------------------------------------------------------


def cut_by_definition(tree: Tree, classes: np.ndarray, shares: np.ndarray, k: int) -> set[frozenset[int]]:
    parent = tree.parent.copy()

    def component(v: int) -> frozenset[int]:
        def top(x: int) -> int:
            return x if parent[x] < 0 else top(parent[x])

        return frozenset(x for x in range(len(parent)) if top(x) == top(v))

    def divergence(members: frozenset[int]) -> float:
        counts = np.bincount(classes[sorted(members)], minlength=len(shares))
        return float(jensen_shannon(counts[None], shares)[0])

    while True:
        keys = []
        for v in np.flatnonzero(parent >= 0):
            u, whole = parent[v], component(v)
            parent[v] = -1
            below, rest = component(v), component(u)
            parent[v] = u
            if min(len(below), len(rest)) >= k:
                weighted = (len(below) * divergence(below) + len(rest) * divergence(rest)) / len(whole)
                rise = weighted - divergence(whole)
                ratio = np.inf if tree.length[v] == 0 else (0.0 if rise < 1e-12 else rise / tree.length[v])
                keys.append((ratio, -tree.length[v], min(u, v), max(u, v), v))
        if not keys:
            return {component(v) for v in range(len(parent))}
        parent[min(keys)[4]] = -1


@pytest.mark.spec("07:CR-09")
@pytest.mark.parametrize("seed", range(10))
def test_the_fast_cuts_are_the_cuts_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(8, 40)), int(rng.integers(1, 5))
    columns = rng.random((n, 3)) if seed % 3 else rng.integers(0, 3, (n, 2)) / 2.0
    classes = np.concatenate([np.arange(3), rng.integers(0, 3, n - 3)])
    shares = shares_of(np.bincount(classes))
    tree = grow_tree(columns, classes, shares, max(k, 2), 0.5)
    fast = cut_removable_edges(tree, classes, shares, Removable(k)).labels
    assert {frozenset(x - 1 for x in g) for g in groups(fast)} == cut_by_definition(tree, classes, shares, k)


def made_of(columns: np.ndarray, classes: np.ndarray, removable: Removable, *, longest: bool = False) -> Cuts:
    shares = shares_of(np.bincount(classes))
    return cut_removable_edges(
        grow_tree(columns, classes, shares, removable.k, 0.5), classes, shares, removable, longest=longest
    )


def test_equal_records_stay_together_as_long_as_they_can() -> None:
    points = np.repeat(np.random.default_rng(3).random((10, 2)), 6, axis=0)
    classes = np.tile([0, 1, 0, 1, 1, 0], 10)
    labels = cut_removable_edges(euclidean_tree(points), classes, np.array([0.5, 0.5]), Removable(4)).labels
    assert np.bincount(labels).tolist() == [6] * 10
    assert all(len(np.unique(labels[i : i + 6])) == 1 for i in range(0, 60, 6))


def test_with_one_class_the_longest_edges_are_cut() -> None:
    points, one = np.random.default_rng(4).random((80, 3)), np.zeros(80, dtype=np.int64)
    by_ratio = made_of(points, one, Removable(3))
    by_length = made_of(points, one, Removable(3), longest=True)
    assert by_ratio.children.tolist() == by_length.children.tolist()


@settings(max_examples=150, deadline=None)
@given(
    n=st.integers(1, 60),
    k=st.integers(1, 6),
    d=st.integers(1, 5),
    levels=st.sampled_from([1, 2, 5, 1000]),
    number=st.integers(1, 5),
    alpha=st.sampled_from([0.0, 0.5, 1.0]),
    frozen=st.booleans(),
    seed=st.integers(0, 999),
)
def test_groups_have_at_least_k_records_and_cannot_be_cut_further(
    n: int, k: int, d: int, levels: int, number: int, alpha: float, frozen: bool, seed: int
) -> None:
    if n < k:
        return
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, levels, (n, d)) / levels
    _, classes = np.unique(rng.integers(0, number, n), return_inverse=True)
    shares = shares_of(np.bincount(classes))
    tree = grow_tree(columns, classes, shares, max(2, k), alpha, frozen=frozen)
    assert sorted(tree.order.tolist()) == list(range(n))
    cuts = cut_removable_edges(tree, classes, shares, Removable(k))
    assert np.bincount(cuts.labels).min() >= k
    assert len(cuts.children) + 1 == cuts.labels.max() + 1
    if n < 2 * k:
        assert not cuts.labels.any()
    again = regrow(columns, cuts.labels, classes, shares, Removable(k))
    assert np.bincount(again).min() >= k
    assert all(len(np.unique(cuts.labels[again == g])) == 1 for g in range(again.max() + 1))


@pytest.mark.spec("07:CR-18")
@pytest.mark.parametrize("t", [0.1, 0.2, 0.4])
def test_the_t_closeness_benchmark_keeps_every_group_within_t(t: float) -> None:
    rng = np.random.default_rng(5)
    points, classes = rng.random((300, 3)), rng.integers(0, 3, 300)
    shares = shares_of(np.bincount(classes))
    tree = euclidean_tree(points)
    labels = cut_removable_edges(tree, classes, shares, Removable(5, most=t), longest=True).labels
    assert labels.max() + 1 > 1
    assert ClassReport.of(labels, classes).attained.max() <= t + 1e-9
    free = cut_removable_edges(tree, classes, shares, Removable(5), longest=True).labels
    assert labels.max() < free.max()
    by_divergence = cut_removable_edges(
        tree, classes, shares, Removable(5, most=t / 4, by_divergence=True), longest=True
    ).labels
    assert ClassReport.of(by_divergence, classes).divergence.max() <= t / 4 + 1e-9


@pytest.mark.spec("07:CR-28")
def test_cuts_can_be_kept_from_homogeneous_parts_and_single_records_of_a_class() -> None:
    rng = np.random.default_rng(6)
    points, classes = rng.random((300, 3)), np.minimum(rng.integers(0, 5, 300), 2)
    assert not ClassReport.of(made_of(points, classes, Removable(4, mixed=True)).labels, classes).homogeneous.any()
    report = ClassReport.of(made_of(points, classes, Removable(4, fewest=2)).labels, classes)
    assert not report.single.any()
    assert len(report.counts) > 1


def test_the_other_normalisations_of_a_distance() -> None:
    points, classes = min_max(NINE), CLASSES
    rms, root, square = (
        grow_tree(points, classes, SHARES, 3, 1.0, start=0, form=form)
        for form in (0, ROOT_OVER_NUMBER, SQUARE_OVER_NUMBER)
    )
    assert edges(rms) == edges(root) == edges(square)
    assert root.length * np.sqrt(2) == pytest.approx(rms.length)
    assert square.length == pytest.approx(rms.length**2)


# --- real files ----------------------------------------------------------------------------------------------

PIMA = {  # m: method: groups, largest, records in homogeneous groups, X², weighted JSD, SSE/SST (recomputed)
    3: {
        "b1": (202, 9, 353, 1.93, 0.1391, 0.107),
        "partial": (206, 8, 320, 1.77, 0.1285, 0.108),
        "crest": (154, 30, 50, 1.27, 0.0571, 0.184),
        "frozen": (144, 19, 102, 1.49, 0.0656, 0.170),
        "regrow": (206, 9, 177, 1.12, 0.0784, 0.140),
    },
    5: {
        "b1": (107, 15, 169, 2.65, 0.0908, 0.192),
        "partial": (113, 13, 168, 2.46, 0.0891, 0.191),
        "crest": (106, 17, 50, 1.27, 0.0398, 0.224),
        "frozen": (103, 19, 123, 2.07, 0.0681, 0.215),
        "regrow": (116, 11, 81, 1.29, 0.0466, 0.214),
    },
    10: {
        "b1": (55, 25, 51, 4.04, 0.0643, 0.280),
        "partial": (55, 26, 49, 3.68, 0.0580, 0.294),
        "crest": (47, 31, 12, 2.33, 0.0294, 0.354),
        "frozen": (54, 26, 63, 3.00, 0.0497, 0.321),
        "regrow": (54, 23, 24, 2.38, 0.0359, 0.336),
    },
}
SETTINGS = {
    "b1": {"alpha": 1.0, "cut": "longest"},
    "partial": {"alpha": 1.0},
    "crest": {},
    "frozen": {"growth": "frozen"},
    "regrow": {"regrow": True},
}


@pytest.mark.spec("07:CR-10", "07:CR-17", "07:CR-31", "07:CR-02")
@pytest.mark.parametrize("m", PIMA)
@pytest.mark.parametrize("variant", SETTINGS)
def test_the_groupings_of_the_diabetes_file(reference: Callable[..., Microdata], m: int, variant: str) -> None:
    data = reference("pima_diabetes")
    data = Microdata.of(data, keys=data.names[:8], confidential=["diabetes"])
    partition = Crest(k=m, **SETTINGS[variant]).mask(data).partition
    assert partition is not None
    report = ClassReport.of(partition.labels, data.categories("diabetes").codes)
    columns = min_max(np.column_stack([data.numbers(name).values for name in data.names[:8]]))
    means = np.array([columns[rows].mean(axis=0) for rows in partition.groups])[partition.labels]
    loss = np.square(columns - means).sum() / np.square(columns - columns.mean(axis=0)).sum()
    number, largest, alike, spread, divergence, sse = PIMA[m][variant]
    assert (len(partition), partition.sizes.max(), report.homogeneous_records) == (number, largest, alike)
    assert report.spread == pytest.approx(spread, abs=0.0051)
    assert report.weighted_divergence == pytest.approx(divergence, abs=5.1e-5)
    assert loss == pytest.approx(sse, abs=5.1e-4)


@pytest.mark.spec("07:CR-31")
def test_less_weight_on_the_distance_mixes_the_classes_better(reference: Callable[..., Microdata]) -> None:
    data = reference("pima_diabetes")
    data = Microdata.of(data, keys=data.names[:8], confidential=["diabetes"])
    alike = []
    for alpha in (0.0, 0.25, 0.5, 0.75, 0.9, 1.0):
        partition = Crest(k=5, alpha=alpha).mask(data).partition
        assert partition is not None
        alike.append(ClassReport.of(partition.labels, data.categories("diabetes").codes).homogeneous_records)
    assert alike == [7, 7, 50, 73, 130, 168]


# --- the methods on tables -----------------------------------------------------------------------------------


@pytest.mark.spec("07:CR-16")
def test_groups_with_mixed_classes_publish_their_means() -> None:
    release = Crest(k=3).mask(nine())
    assert release.partition == Partition.of([0, 1, 2, 2, 2, 0, 1, 0, 1])
    assert release.data.numbers("age").values == pytest.approx(
        [52 + 2 / 3, 59 + 1 / 3, 58, 58, 58, 52 + 2 / 3, 59 + 1 / 3, 52 + 2 / 3, 59 + 1 / 3]
    )
    assert release.provenance.notes == ("3 groups with a class that only one member has",)


@pytest.mark.spec("07:CR-01", "07:CR-28")
def test_homogeneous_groups_are_counted_in_the_notes() -> None:
    release = Crest(k=3, alpha=1.0, cut="longest").mask(nine())
    assert release.provenance.notes == ("9 records in 3 groups whose members all have the same class",)


def test_without_a_class_all_records_are_of_one() -> None:
    release = Crest(k=2).mask(Microdata.of({"a": [1.0, 2.0, 10.0, 11.0]}))
    assert release.partition == Partition.of([0, 0, 1, 1])
    assert "all records were treated as one class" in release.provenance.notes[0]


def test_a_numeric_class_must_be_named() -> None:
    columns = {"a": [1.0, 2.0, 10.0, 11.0], "debt": [0, 5, 0, 5]}
    data = Microdata.of(columns, keys=["a"], confidential=["debt"])
    with pytest.raises(DataError, match="'debt' is numeric, so it has no classes to mix"):
        Crest(k=2).mask(data)
    assert Crest(k=2, classes=("debt",)).mask(data).partition == Partition.of([0, 0, 1, 1])


def test_a_class_that_is_masked_itself_is_refused() -> None:
    with pytest.raises(ParameterError, match="'age', which is masked itself"):
        Crest(k=3, classes=("age",)).mask(nine())


def test_a_class_that_is_an_identifier_is_refused() -> None:
    data = Microdata.of({"age": [20, 21, 60, 61], "number": ["a", "b", "c", "d"]}, keys=["age"], identifiers=["number"])
    with pytest.raises(ParameterError, match="'number', which is an identifier"):
        Crest(k=2, classes=("number",)).mask(data)


@pytest.mark.spec("07:CR-26")
def test_several_classes_are_crossed_and_rare_combinations_merged() -> None:
    data = Microdata.of(
        {"x": range(10), "p": list("aaaaabbbbb"), "q": list("uuuuuuuuvw")}, keys=["x"], confidential=["p", "q"]
    )
    codes = Crest()._class_codes(data, ("x",))
    assert np.bincount(codes).tolist() == [5, 3, 1, 1]
    merged = Crest(min_share=0.2)._class_codes(data, ("x",))
    assert np.bincount(merged).tolist() == [5, 3, 2]
    assert merged[8] == merged[9]


def test_the_classes_of_the_whole_file_are_the_measure_in_every_part() -> None:
    rng = np.random.default_rng(8)
    data = Microdata.of(
        {"x": rng.random(200), "y": rng.random(200), "c": rng.choice(["a", "b"], 200)},
        keys=["x", "y"],
        confidential=["c"],
    )
    release = Crest(k=4, chunk=40).mask(data)
    assert release.partition is not None
    assert release.partition.smallest >= 4


@pytest.mark.parametrize("options", [{"block": 2}, {"select": "exhaustive", "selected": 1}])
def test_what_is_masked_is_no_class_of_another_block_or_of_attributes_not_selected(options: dict[str, object]) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.random((2, 60))
    columns = {"x": x, "y": y, "p": np.where(x < 0.5, "a", "b"), "q": rng.choice(["u", "v"], 60)}
    data = Microdata.of(columns, confidential=["p", "q"])
    masked = Crest(k=3, **options).mask(data, ["x", "y", "p"])  # type: ignore[arg-type]
    named = Crest(k=3, classes=("q",), **options).mask(data, ["x", "y", "p"])  # type: ignore[arg-type]
    assert masked.partitions == named.partitions
    assert masked.provenance.notes == named.provenance.notes


@pytest.mark.parametrize("asked", [{"t": 0.3}, {"mixed": True}, {"fewest": 2}])
@pytest.mark.parametrize("method", [Crest, CampCrest])
def test_polishing_would_undo_what_is_asked_of_the_classes(method: type[Crest], asked: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=f"{method.name}: polish = 5 is not allowed with {next(iter(asked))}"):
        method(k=3, polish=5, **asked)  # type: ignore[arg-type]
    assert method(k=3, polish=5).polish == 5


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"t": 0.1}, "t = 0.1 is not attained in 2 groups"),
        ({"t": 0.1, "closeness": "jsd"}, "t = 0.1 is not attained in 2 groups"),
        ({"mixed": True}, "mixed is not attained in 2 groups"),
        ({"fewest": 5}, "fewest = 5 is not attained in 2 groups"),
    ],
)
def test_what_the_classes_do_not_attain_is_counted_in_the_notes(options: dict[str, object], note: str) -> None:
    columns = {"x": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], "area": list("nnnsss"), "c": list("aaabbb")}
    data = Microdata.of(columns, keys=["x"], confidential=["c"], strata=["area"])
    assert note in Crest(k=3, strata=True, **options).mask(data).provenance.notes  # type: ignore[arg-type]
    assert not any("attained" in n for n in Crest(k=3, strata=True).mask(data).provenance.notes)
    assert not any("attained" in n for n in Crest(k=3, **{**options, "fewest": 2}).mask(data).provenance.notes)  # type: ignore[arg-type]


def test_what_is_attained_is_the_distance_that_was_chosen() -> None:
    columns = {"x": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], "area": list("nnnsss"), "c": list("aaabbb")}
    data = Microdata.of(columns, keys=["x"], confidential=["c"], strata=["area"])
    # one class of two: the earth mover's distance is 1/2, the divergence 0.31 bits
    note = "t = 0.4 is not attained in 2 groups"
    assert note in Crest(k=3, strata=True, t=0.4).mask(data).provenance.notes
    assert note not in Crest(k=3, strata=True, t=0.4, closeness="jsd").mask(data).provenance.notes


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(4, 50), k=st.integers(2, 4), d=st.integers(1, 4), share=st.floats(0, 0.6), seed=st.integers(0, 999)
)
@pytest.mark.parametrize("mode", ["centred", "iid", "exact", "hybrid", "paper"])
def test_whatever_is_missing_draws_stay_missing_or_are_suppressed_like_means(
    mode: str, n: int, k: int, d: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    cells = np.where(rng.random((n, d)) < share, np.nan, rng.integers(0, 5, size=(n, d)))
    columns = {f"x{j}": cells[:, j] for j in range(d)}
    data = Microdata.of({**columns, "c": rng.choice(["a", "b"], n)}, keys=list(columns), confidential=["c"])
    mean, drawn = Crest(k=k).mask(data), CampCrest(k=k, noise=mode).mask(data, seed=seed)
    assert mean.partition == drawn.partition
    for name in columns:
        before, after = mean.data.numbers(name).values, drawn.data.numbers(name).values
        assert (np.isnan(before) == np.isnan(after)).all()
        assert np.isfinite(after[~np.isnan(after)]).all()


@pytest.mark.spec("07:CR-14")
def test_camp_crest_draws_around_the_means_of_crest() -> None:
    release = CampCrest(k=3).mask(nine(), seed=4)
    assert release.partition == Crest(k=3).mask(nine()).partition
    for name in ("age", "weight"):
        drawn, means = release.data.numbers(name).values, Crest(k=3).mask(nine()).data.numbers(name).values
        assert not np.isclose(drawn, means).any()
        for rows in release.partition.groups:
            assert drawn[rows].mean() == pytest.approx(means[rows][0])


@pytest.mark.spec("07:CR-15")
def test_the_partial_method_cuts_the_euclidean_tree_by_the_ratio() -> None:
    release = CampCrest(k=3, partial=True).mask(nine(), seed=1)
    assert release.partition == Partition.of([0, 1, 1, 1, 1, 1, 0, 0, 0])


def test_declared_ranges_hold_for_drawn_values() -> None:
    data = nine()
    data = data.with_schema(data.schema.replacing(data["age"].changed(range=(48.0, 64.0))))
    for seed in range(5):
        drawn = CampCrest(k=3).mask(data, seed=seed).data.numbers("age").values
        assert 48.0 <= drawn.min() <= drawn.max() <= 64.0


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"weighted": True}, "weighted = True"),
        ({"noise": "hybrid", "shape": "bootstrap"}, "shape = 'bootstrap'"),
        ({"runs": True, "noise": "exact"}, "runs = True"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, object], what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        CampCrest(**options).mask(nine())  # type: ignore[arg-type]


# --- keys of several kinds -----------------------------------------------------------------------------------


def mixed_table(n: int = 60, seed: int = 3) -> Microdata:
    rng = np.random.default_rng(seed)
    return Microdata.of(
        {
            "age": rng.integers(18, 90, n),
            "job": rng.choice(list("abcdefghijkl"), n),
            "school": rng.choice(["1 low", "2 middle", "3 high"], n),
            "one": ["same"] * n,
            "ill": rng.choice(["no", "yes"], n),
        },
        keys=["age", "job", "school", "one"],
        confidential=["ill"],
        ordinal=["school"],
    )


@pytest.mark.spec("07:CR-06")
def test_lengths_are_normalised_over_attributes_of_every_kind() -> None:
    """Numbers by their range, nominal categories 0 or 1, ordered ones by position, a constant 0; then sqrt(sum / 4)."""
    data = mixed_table(40)
    age = min_max(data.numbers("age").values[:, None])[:, 0]
    job, school = data.categories("job").codes, data.categories("school").codes / 2
    squares = np.subtract.outer(age, age) ** 2 + np.not_equal.outer(job, job) + np.subtract.outer(school, school) ** 2
    lengths = np.sqrt(squares / 4)
    columns, places = coordinates(data, data.schema.keys, "minmax")
    classes, shares = np.zeros(40, dtype=np.int64), np.ones(1)
    tree = grow_tree(columns, classes, shares, 2, 1.0, attributes=len(places))
    found = tree.order[1:]
    assert tree.length[found] == pytest.approx(lengths[found, tree.parent[found]], abs=1e-12)
    assert 0.0 <= tree.length.max() <= 1.0
    # no spanning tree is shorter
    from scipy.sparse.csgraph import minimum_spanning_tree

    shortest = minimum_spanning_tree(lengths + 1e-6).sum() - 39e-6  # which takes zeros for missing edges
    assert tree.length.sum() == pytest.approx(shortest, abs=1e-9)


@pytest.mark.spec("07:CR-06")
@pytest.mark.parametrize("length", ["rms", "root", "square"])
def test_an_attribute_of_two_categories_is_the_same_as_one_of_0_and_1(
    reference: Callable[..., Microdata], length: str
) -> None:
    table = reference("nmes1988")
    names = ["visits", "income", "gender", "married"]
    kept = Microdata.of(table.select([*names, "health"]).frame.to_arrow().slice(0, 300), nominal=names[2:])
    as_categories = Microdata.of(kept, keys=names, confidential=["health"])
    numbers = {name: kept.categories(name).codes.astype(float) for name in names[2:]}
    columns = {name: kept.arrow(name) for name in (*names[:2], "health")} | numbers
    as_numbers = Microdata.of(columns, keys=names, confidential=["health"])
    one, other = (Crest(k=4, length=length).mask(data, names).partition for data in (as_categories, as_numbers))
    assert one is not None
    assert one == other


@pytest.mark.spec("07:CR-06")
def test_groups_publish_the_categories_they_have_most_of_or_deal_them_out_anew() -> None:
    data = mixed_table()
    means, drawn = Crest(k=4).mask(data), CampCrest(k=4).mask(data, seed=2)
    assert means.partition is not None
    assert means.partition == drawn.partition
    for rows in means.partition.groups:
        jobs = data.categories("job").codes[rows]
        assert len(set(means.data.categories("job", data.domain("job")).codes[rows])) == 1
        published = means.data.categories("job", data.domain("job")).codes[rows[0]]
        assert (jobs == published).sum() == np.bincount(jobs).max()
        school = np.sort(data.categories("school").codes[rows])
        middle = means.data.categories("school", data.domain("school")).codes[rows[0]]
        assert middle == school[(len(school) - 1) // 2]
        dealt = drawn.data.categories("job", data.domain("job")).codes[rows]
        assert sorted(dealt) == sorted(jobs)
    assert drawn.data.arrow("job").to_pylist() != data.arrow("job").to_pylist()
    assert drawn.data.arrow("ill").to_pylist() == data.arrow("ill").to_pylist()


def test_a_table_of_categories_alone_can_be_masked() -> None:
    data = mixed_table()
    for method in (Crest(k=4), CampCrest(k=4)):
        release = method.mask(data, ["job", "school"], seed=1)
        assert release.partition is not None
        assert release.partition.smallest >= 4


def test_averages_of_categories_are_refused() -> None:
    with pytest.raises(ParameterError, match="runs = True is not allowed with categories"):
        CampCrest(k=4, runs=True).mask(mixed_table())
