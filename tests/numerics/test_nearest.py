"""The nearest records with all ties, against a plain search over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.nearest import ABSOLUTE, CATEGORY, SQUARED, Table, Terms, link
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
