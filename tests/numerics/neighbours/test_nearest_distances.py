"""The two nearest records, against looking at all of them."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.neighbours.mixed_distance import CATEGORY, SQUARED, Table, Terms
from microveil.numerics.neighbours.nearest_distances import two_nearest


@pytest.mark.parametrize("others", [False, True])
def test_distances_are_those_of_the_two_nearest(others: bool) -> None:
    rng = np.random.default_rng(3)
    cells = np.stack([rng.standard_normal(1300), rng.integers(0, 4, 1300).astype(float)])
    states = (rng.random((2, 1300)) < 0.1).astype(np.uint8)
    cells[states > 0] = 0.0
    table = Table(cells, states)
    never = np.zeros(2, dtype=np.bool_)
    terms = Terms(np.array([SQUARED, CATEGORY]), np.array([0, 0.25]), np.array([0, 0.25]), never, np.array([2.0, 1.0]))
    chosen = np.array([0, 511, 512, 1299, 7])
    found = two_nearest(table, table, terms, chosen, others=others)
    for row, record in zip(found, chosen, strict=True):
        steps = np.abs(cells[1] - cells[1, record])
        term = [(cells[0] - cells[0, record]) ** 2, np.where(steps > 0, 0.25 + 0.25 * steps, 0.0)]
        for j, penalty in enumerate((2.0, 1.0)):
            absent = (states[j] > 0) | (states[j, record] > 0)
            term[j] = np.where(absent, np.where(states[j] == states[j, record], 0.0, penalty), term[j])
        distances = np.sum(term, axis=0)
        if others:
            distances[record] = np.inf
        assert row == pytest.approx(np.sort(distances)[:2])


def test_a_record_alone_has_no_neighbour() -> None:
    table = Table(np.array([[1.0]]), np.zeros((1, 1), dtype=np.uint8))
    one = np.zeros(1)
    terms = Terms(np.array([SQUARED]), one, one, np.array([False]), np.array([2.0]))
    assert two_nearest(table, table, terms, np.array([0]), others=True).tolist() == [[np.inf, np.inf]]
    assert two_nearest(table, table, terms, np.array([0])).tolist() == [[0.0, np.inf]]
