"""Candidates in boxes and aligned runs, against their definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from microveil.numerics.linkage.alignment import aligned_runs
from microveil.numerics.neighbours.mixed_distance import ABSOLUTE, CATEGORY, SQUARED
from microveil.numerics.neighbours.range_search import Boxes, Cells, Inside, Order, link_inside, list_inside
from microveil.progress import silent

FORM = np.array([SQUARED, SQUARED, CATEGORY])
START, SLOPE = np.array([0.0, 0.0, 0.25]), np.array([0.0, 0.0, 0.25])


def random_case(seed: int, n: int = 40, d: int = 3) -> tuple[np.ndarray, np.ndarray, Boxes]:
    """Small whole numbers with holes, and ranges of any width."""
    rng = np.random.default_rng(seed)
    sources, targets = (rng.integers(0, 7, size=(d, n)).astype(float) for _ in range(2))
    for side in (sources, targets):
        side[rng.random(side.shape) < 0.1] = np.nan
    if seed % 2:
        targets[0] = np.nan_to_num(targets[0])  # an attribute without holes can lead
    orders = [Order.of(column) for column in targets]
    ranges = []
    for order in orders:
        low = rng.integers(0, 4, n).astype(float)
        ranges.append(order.between(low, low + rng.integers(0, 5, n)))
    excluded = np.where(rng.random((d, n)) < 0.2, rng.integers(0, n, (d, n)), -1).astype(np.int32)
    return sources, targets, Boxes.of(orders, ranges, list(excluded))


def by_definition(sources: np.ndarray, targets: np.ndarray, boxes: Boxes, every: bool) -> Inside:
    d, n = targets.shape
    made: list[tuple[int, bool, int, int, bool]] = []
    for q in range(n):
        notes = np.zeros(n, dtype=int)
        for j in range(d):
            positions = boxes.positions[j]
            notes += (positions < 0) | ((positions >= boxes.low[j, q]) & (positions < boxes.high[j, q]))
        for j in range(d):
            if boxes.excluded[j, q] >= 0:
                notes[boxes.excluded[j, q]] -= 1
        members = np.flatnonzero(notes == (d if every else notes.max()))
        distances = np.array([distance(sources[:, q], targets[:, t]) for t in members])
        best = distances.min() if len(members) else np.inf
        nearest = members[np.isclose(distances, best, rtol=1e-11)] if np.isfinite(best) else members[:0]
        made.append((len(members), q in members, len(nearest), nearest[0] if len(nearest) else -1, q in nearest))
    return Inside(*(np.array(column) for column in zip(*made, strict=True)))


def distance(one: np.ndarray, other: np.ndarray) -> float:
    difference = np.abs(one - other)
    terms = np.where(FORM == CATEGORY, np.where(difference > 0, START + SLOPE * difference, 0.0), difference**2)
    shared = ~np.isnan(difference)
    return float(terms[shared].sum() * 3 / shared.sum()) if shared.any() else np.inf


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_candidates_and_the_nearest_of_them_are_those_of_the_definition(seed: int, every: bool) -> None:
    sources, targets, boxes = random_case(seed)
    found = link_inside(boxes, Cells(sources, targets, FORM, START, SLOPE), np.arange(40), every, silent, "")
    expected = by_definition(sources, targets, boxes, every)
    for name in ("candidates", "own", "ties", "first", "nearest"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name


def test_the_candidates_can_be_listed_and_narrowed_to_groups() -> None:
    sources, targets, boxes = random_case(1)
    cells = Cells(sources, targets, FORM, START, SLOPE)
    found = link_inside(boxes, cells, np.arange(40), True, silent, "")
    begins, listed = list_inside(boxes, found.candidates, silent, "")
    members = [set(listed[a:b].tolist()) for a, b in pairwise(begins)]
    assert [len(m) for m in members] == found.candidates.tolist()
    assert [q in m for q, m in enumerate(members)] == found.own.tolist()
    group = np.arange(40) % 3
    narrowed = link_inside(boxes.also(group, np.arange(40)), cells, np.arange(40), True, silent, "")
    assert narrowed.candidates.tolist() == [sum(t % 3 == q % 3 for t in m) for q, m in enumerate(members)]


def test_some_of_the_sources_can_be_asked_for_and_put_back() -> None:
    sources, targets, boxes = random_case(3)
    cells = Cells(sources, targets, FORM, START, SLOPE)
    whole = link_inside(boxes, cells, np.arange(40), True, silent, "")
    some = np.array([5, 17, 30])
    part = link_inside(boxes.at(some), cells.at(some), some, True, silent, "")
    assert part.candidates.tolist() == whole.candidates[some].tolist()
    assert whole.replaced(some, part).ties.tolist() == whole.ties.tolist()


def test_absolute_differences_and_a_box_that_is_empty() -> None:
    order = Order.of(np.array([1.0, 5.0, 9.0]))
    boxes = Boxes.of([order], [(np.array([0, 2]), np.array([3, 2]))])
    cells = Cells(np.array([[4.0, 4.0]]), np.array([[1.0, 5.0, 9.0]]), np.array([ABSOLUTE]), np.zeros(1), np.zeros(1))
    found = link_inside(boxes, cells, np.array([1, 1]), True, silent, "")
    assert (found.candidates.tolist(), found.first.tolist()) == ([3, 0], [1, -1])
    assert found.nearest.tolist() == [True, False]


def test_runs_are_the_cheapest_of_all_that_fit() -> None:
    """Against all ways of cutting nine values into three runs of two to five."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        values, centres = np.sort(rng.normal(size=9)), np.sort(rng.normal(size=3))
        ways = [(0, a, b, 9) for a in range(2, 6) for b in range(a + 2, min(a + 5, 7) + 1) if 9 - b <= 5]
        costs = [
            sum(((values[s:e] - c) ** 2).sum() for (s, e), c in zip(pairwise(way), centres, strict=True))
            for way in ways
        ]
        found = aligned_runs(values, centres, 2, np.array([5, 5, 5]))
        assert found is not None
        assert tuple(found) == ways[int(np.argmin(costs))]


def test_a_centre_may_stand_for_no_value_where_that_is_allowed() -> None:
    found = aligned_runs(np.array([1.0, 1.1, 9.0]), np.array([1.0, 5.0, 9.0]), 0, np.array([2, 2, 2]))
    assert found is not None
    assert found.tolist() == [0, 2, 2, 3]
