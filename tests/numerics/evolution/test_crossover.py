from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.evolution.crossover import PointCrossover, UniformCrossover, cross_at, cross_by_mask

A, B = np.array([1, 2, 3, 4, 5, 6]), np.array([11, 12, 13, 14, 15, 16])


@pytest.mark.spec("05:EA-08")
def test_the_examples_of_one_and_two_cuts() -> None:
    """Marés (2013), section 2.1.2: a cut behind the third gene; cuts behind the second and fourth, or mask 110011."""
    one, other = cross_at(A, B, [3])
    assert one.tolist() == [1, 2, 3, 14, 15, 16]
    assert other.tolist() == [11, 12, 13, 4, 5, 6]
    one, other = cross_at(A, B, [4, 2])
    assert one.tolist() == [1, 2, 13, 14, 5, 6]
    assert other.tolist() == [11, 12, 3, 4, 15, 16]
    masked = cross_by_mask(A, B, np.array([True, True, False, False, True, True]))
    assert [child.tolist() for child in masked] == [one.tolist(), other.tolist()]


@pytest.mark.spec("05:EA-08")
@given(st.integers(1, 8), st.integers(1, 12), st.integers(0, 2**32))
def test_m_different_cuts_exchange_the_parents_m_times(points: int, length: int, seed: int) -> None:
    one, other = PointCrossover(points)(np.zeros(length, int), np.ones(length, int), np.random.default_rng(seed))
    assert (one + other == 1).all()
    assert one[0] == 0
    assert np.count_nonzero(np.diff(one)) == min(points, length - 1)


@pytest.mark.spec("05:EA-08")
def test_every_cut_is_as_likely() -> None:
    rng = np.random.default_rng(1)
    cuts = Counter(int(PointCrossover(1)(A, B, rng)[0].searchsorted(10)) for _ in range(5000))
    assert set(cuts) == {1, 2, 3, 4, 5}
    assert min(cuts.values()) > 850


@pytest.mark.spec("05:EA-08")
def test_a_uniform_crossover_keeps_each_gene_with_its_probability() -> None:
    zeros, ones = np.zeros(20_000, int), np.ones(20_000, int)
    one, other = UniformCrossover(0.8)(zeros, ones, np.random.default_rng(1))
    assert (one + other == 1).all()
    assert one.mean() == pytest.approx(0.2, abs=0.015)
    assert UniformCrossover(1.0)(A, B, np.random.default_rng(1))[0].tolist() == A.tolist()


def test_impossible_crossovers_are_refused() -> None:
    with pytest.raises(ParameterError, match="points = 0"):
        PointCrossover(0)
    with pytest.raises(ParameterError, match=r"p = 1\.5"):
        UniformCrossover(1.5)
