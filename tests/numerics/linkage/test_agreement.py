"""How often pairs of records agree in which way, against every pair looked at by itself."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from microveil.numerics.linkage import agreement
from microveil.numerics.linkage.agreement import Scheme, count_patterns
from microveil.numerics.neighbours.mixed_distance import Table
from microveil.progress import silent

LIMITS = ((0.2, 0.6), (0.0,), (1.0,))


def tables(rng: np.random.Generator) -> tuple[Table, Table]:
    """Records with an attribute of numbers, one of categories and one that is sometimes missing."""
    made = []
    for size in (700, 90):
        cells = np.array([rng.normal(size=size), rng.integers(0, 3, size), rng.normal(size=size)])
        states = np.zeros(cells.shape, dtype=np.uint8)
        states[2] = rng.integers(0, 3, size)
        made.append(Table(np.where(states > 0, 0.0, cells), states))
    return made[0], made[1]


def level(scheme: Scheme, j: int, one: tuple[float, int], other: tuple[float, int]) -> int:
    """The level of two cells with their states in an attribute."""
    if one[1] == other[1] == 0:
        return sum(abs(one[0] - other[0]) > limit for limit in scheme.limits[j])
    if scheme.wildcard[j]:
        return len(scheme.limits[j]) + 1
    return 0 if one[1] == other[1] else len(scheme.limits[j])


@pytest.mark.parametrize("room", [2**22, 4])
@pytest.mark.parametrize(("wildcard", "blocking"), [(False, False), (True, False), (False, True)])
def test_patterns_are_counted_as_by_looking_at_every_pair(
    wildcard: bool, blocking: bool, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreement, "LAID_OUT", room)
    rng = np.random.default_rng(4)
    sources, targets = tables(rng)
    weights = rng.integers(1, 4, 700), rng.integers(1, 4, 90)
    scheme = Scheme(LIMITS, np.array([False, False, wildcard]), np.array([False, blocking, False]))
    expected: Counter[tuple[int, ...]] = Counter()
    for s in range(700):
        for t in range(90):
            cells = [((x.cells[j, s], x.states[j, s]), (y.cells[j, t], y.states[j, t])) for j in range(3)
                     for x, y in [(sources, targets)]]  # fmt: skip
            levels = tuple(level(scheme, j, *pair) for j, pair in enumerate(cells))
            if not blocking or levels[1] == 0:
                expected[levels] += int(weights[0][s] * weights[1][t])
    found = count_patterns(scheme, sources, weights[0], targets, weights[1], rng, silent, "")
    assert {tuple(row): count for row, count in zip(found.levels.tolist(), found.counts, strict=True)} == expected
    assert (np.diff(found.numbers) > 0).all()


@pytest.mark.parametrize("room", [2**22, 4])
def test_where_no_pair_is_compared_there_is_no_pattern(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "LAID_OUT", room)
    one, other = (Table(np.array([[value, value]]), np.zeros((1, 2), dtype=np.uint8)) for value in (1.0, 2.0))
    scheme = Scheme(((0.0, 0.5, 0.7, 0.8),), np.array([False]), np.array([True]))
    once = np.ones(2, dtype=np.int64)
    found = count_patterns(scheme, one, once, other, once, np.random.default_rng(1), silent, "")
    assert len(found.numbers) == len(found.counts) == 0
