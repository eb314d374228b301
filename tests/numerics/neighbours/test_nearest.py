"""The nearest records with all ties, against a plain search over all pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.neighbours import nearest
from microveil.numerics.neighbours.blocks import Blocks
from microveil.numerics.neighbours.mixed_distance import ABSOLUTE, CATEGORY, SQUARED, STEP, Table, Terms
from microveil.numerics.neighbours.nearest import distances, link
from microveil.progress import silent


def plain_links(sources: Table, targets: Table, terms: Terms) -> tuple[list[int], list[int], list[bool]]:
    n, d = sources.cells.shape[1], sources.cells.shape[0]
    ties, first, own = [], [], []
    for a in range(n):
        distances = []
        for b in range(targets.cells.shape[1]):
            total, shared = 0.0, d
            for j in range(d):
                s, t = sources.states[j, a], targets.states[j, b]
                if s or t:
                    if terms.wildcard[j]:
                        shared -= 1
                    elif s != t:
                        total += terms.penalty[j]
                    continue
                gap = abs(sources.cells[j, a] - targets.cells[j, b])
                if terms.form[j] == SQUARED:
                    total += gap * gap
                elif terms.form[j] == ABSOLUTE:
                    total += gap
                elif gap:
                    total += terms.start[j] + terms.slope[j] * gap
            distances.append(total * d / shared if shared else np.inf)
        best = min(distances)
        nearest = [b for b, x in enumerate(distances) if np.isfinite(x) and x <= best + 1e-9]
        ties.append(len(nearest))
        first.append(nearest[0] if nearest else -1)
        own.append(a in nearest)
    return ties, first, own


@settings(max_examples=120, deadline=None)
@given(n=st.integers(1, 12), d=st.integers(1, 4), seed=st.integers(0, 100_000), missing=st.booleans())
def test_links_are_those_of_a_search_over_all_pairs(n: int, d: int, seed: int, missing: bool) -> None:
    rng = np.random.default_rng(seed)

    def table() -> Table:
        states = (rng.random((d, n)) < 0.3 * missing).astype(np.uint8) * rng.integers(1, 3, (d, n)).astype(np.uint8)
        return Table(np.where(states > 0, 0.0, rng.integers(0, 4, (d, n)).astype(float)), states)

    form = rng.choice([SQUARED, ABSOLUTE, CATEGORY], size=d)
    terms = Terms(
        form, rng.choice([0.25, 1.0], d), rng.choice([0.0, 0.25], d), rng.random(d) < 0.5, rng.choice([1.0, 2.0], d)
    )
    sources, targets = table(), table()
    links = link(sources, targets, terms, np.arange(n), silent, "")
    ties, first, own = plain_links(sources, targets, terms)
    assert links.ties.tolist() == ties
    assert links.first.tolist() == first
    assert links.own.tolist() == own


def test_a_record_with_nothing_in_common_is_never_linked() -> None:
    missing = Table(np.zeros((1, 2)), np.ones((1, 2), dtype=np.uint8))
    terms = Terms(np.array([SQUARED]), np.zeros(1), np.zeros(1), np.array([True]), np.zeros(1))
    links = link(missing, missing, terms, np.arange(2), silent, "")
    assert not links.own.any()
    assert links.ties.tolist() == [0, 0]


def test_only_the_named_records_are_linked() -> None:
    cells = np.array([[0.0, 5.0, 9.0]])
    table = Table(cells, np.zeros((1, 3), dtype=np.uint8))
    terms = Terms(np.array([SQUARED]), np.zeros(1), np.zeros(1), np.array([True]), np.zeros(1))
    assert link(table, table, terms, np.array([2]), silent, "").first.tolist() == [2]


@pytest.mark.parametrize("gap", [1e-15, 1e-14])
def test_distances_that_differ_by_rounding_tie(gap: float) -> None:
    states = np.zeros((1, 2), dtype=np.uint8)
    terms = Terms(np.array([ABSOLUTE]), np.zeros(1), np.zeros(1), np.array([True]), np.zeros(1))
    sources, targets = Table(np.array([[0.0, 3.0]]), states), Table(np.array([[1.0, -1.0 - gap]]), states)
    assert link(sources, targets, terms, np.array([0]), silent, "").ties.tolist() == [2]


def complete(cells: np.ndarray) -> Table:
    return Table(np.ascontiguousarray(cells.T), np.zeros(cells.T.shape, dtype=np.uint8))


def any_terms(d: int, rng: np.random.Generator, wildcards: bool) -> Terms:
    """Of all forms, some of them for blocking."""
    form, odds = rng.choice([SQUARED, ABSOLUTE, CATEGORY, STEP], size=d), [0.5, 0.4, 0.1]
    start = np.where(form == STEP, rng.choice([0.0, 0.5, 2.0], d), rng.choice([0.25, 1.0, np.inf], d, p=odds))
    slope = np.where(form == STEP, rng.choice([1.0, 0.3, np.inf], d, p=odds), rng.choice([0.0, 0.25], d))
    wildcard = (rng.random(d) < 0.5) & wildcards
    return Terms(form, start, slope, wildcard, rng.choice([0.0, 0.7, 2.0], d), rng.choice([1.0, 2.0], d))


@settings(max_examples=60, deadline=None)
@given(
    d=st.integers(1, 5), size=st.integers(1, 400), seed=st.integers(0, 100_000), grid=st.booleans(),
    missing=st.booleans(), wildcards=st.booleans(),
)  # fmt: skip
def test_blocks_find_what_passing_over_all_targets_finds(
    d: int, size: int, seed: int, grid: bool, missing: bool, wildcards: bool
) -> None:
    """On a grid of whole numbers nearly every record has several nearest ones."""
    rng = np.random.default_rng(seed)
    terms, tables = any_terms(d, rng, wildcards), []
    for n in (60, size):
        cells = rng.integers(0, 7, size=(d, n)).astype(float) if grid else rng.normal(size=(d, n)).round(2)
        states = (rng.random((d, n)) < 0.2 * missing).astype(np.uint8) * rng.integers(1, 3, (d, n)).astype(np.uint8)
        tables.append(nearest.distinct(Table(np.where(states > 0, 0.0, cells), states))[0])
    sources, targets = tables
    size = targets.cells.shape[1]
    count, lowest = rng.integers(1, 4, size), rng.permutation(size)
    blocks = Blocks.of(targets, terms)
    assert sorted(blocks.order.tolist()) == list(range(size))
    found, compared = nearest._by_blocks(sources, blocks, terms, count, lowest, silent, "")
    plain = nearest._by_chunks(sources, targets, terms, count, lowest, silent, "")
    for one, other in zip(found, plain, strict=True):
        assert one.tolist() == other.tolist()
    assert (compared <= size).all()


def scattered(d: int, n: int = 2500) -> tuple[Table, Table, Terms]:
    """Records and the same moved by little, in so many independent numbers."""
    rng = np.random.default_rng(3)
    cells = rng.normal(size=(n, d)).round(1)
    terms = Terms(np.full(d, SQUARED), np.zeros(d), np.zeros(d), np.zeros(d, dtype=bool), np.zeros(d))
    return complete(cells), complete(cells + rng.integers(-1, 2, cells.shape) / 10), terms


def tried(sources: Table, targets: Table, terms: Terms) -> Blocks | None:
    once = np.ones(targets.cells.shape[1], dtype=np.int64)
    return nearest._worthwhile_blocks(sources, targets, terms, once, np.arange(len(once)))


def test_a_long_file_is_searched_in_blocks_with_the_same_links(monkeypatch: pytest.MonkeyPatch) -> None:
    sources, targets, terms = scattered(3)
    assert tried(nearest.distinct(sources)[0], nearest.distinct(targets)[0], terms) is not None
    fast = link(sources, targets, terms, np.arange(2500), silent, "")
    monkeypatch.setattr(nearest, "_worthwhile_blocks", lambda *_: None)
    plain = link(sources, targets, terms, np.arange(2500), silent, "")
    assert fast.ties.max() > 1
    for name in ("ties", "first", "own", "nearest"):
        assert (getattr(fast, name) == getattr(plain, name)).all()


def test_few_blocks_are_looked_into_where_records_lie_near_to_their_own() -> None:
    sources, targets, terms = scattered(3)
    once = np.ones(2500, dtype=np.int64)
    blocks = Blocks.of(targets, terms)
    assert (np.diff(blocks.edges) <= 64).all()
    _, compared = nearest._by_blocks(sources, blocks, terms, once, np.arange(2500), silent, "")
    assert compared.mean() < 0.1 * 2500


def test_what_a_few_sources_show_decides_whether_blocks_are_worthwhile() -> None:
    near, far = scattered(3), scattered(40)
    assert tried(*near) is not None
    assert tried(far[0], complete(np.random.default_rng(9).normal(size=(2500, 40))), far[2]) is None
    assert tried(near[0], near[1].at(np.arange(900)), near[2]) is None
    looked_up = replace(near[2], table=np.arange(5.0))
    assert tried(near[0], near[1], looked_up) is None
    assert tried(near[0], near[1], replace(near[2], penalty=np.array([0.0, -1.0, 0.0]))) is None


def test_a_step_adds_once_the_difference_exceeds_its_limit_and_sums_can_be_looked_up() -> None:
    sources, targets = complete(np.array([[0.0, 0.0]])), complete(np.array([[0.5, 0.0], [0.6, 3.0], [0.0, 3.0]]))
    settings = np.full(2, STEP), np.array([0.5, 1.0]), np.array([1.0, 2.0]), np.zeros(2, dtype=bool), np.zeros(2)
    assert distances(sources, targets, Terms(*settings), silent, "").tolist() == [[0.0, 3.0, 2.0]]
    looked_up = Terms(*settings, table=np.array([9.0, 8.0, 7.0, 6.0]))
    assert distances(sources, targets, looked_up, silent, "").tolist() == [[9.0, 6.0, 7.0]]


def test_a_wildcard_in_a_step_costs_its_penalty_on_either_side() -> None:
    hole, cell = Table(np.zeros((1, 1)), np.ones((1, 1), dtype=np.uint8)), complete(np.array([[4.0]]))
    terms = Terms(np.array([STEP]), np.zeros(1), np.array([5.0]), np.array([True]), np.array([2.0]))
    for one, other in ((hole, cell), (cell, hole), (hole, hole)):
        assert distances(one, other, terms, silent, "").tolist() == [[2.0]]


def test_the_weight_of_a_wildcard_is_left_out() -> None:
    sources = complete(np.array([[0.0, 0.0]]))
    targets = Table(np.array([[0.0], [1.0]]), np.array([[1], [0]], dtype=np.uint8))
    for weight, expected in (((1.0, 1.0), 2.0), ((3.0, 1.0), 4.0), ((0.0, 1.0), 1.0)):
        terms = Terms(
            np.full(2, ABSOLUTE), np.zeros(2), np.zeros(2), np.array([True, True]), np.zeros(2), np.array(weight)
        )
        assert distances(sources, targets, terms, silent, "")[0, 0] == pytest.approx(expected)
