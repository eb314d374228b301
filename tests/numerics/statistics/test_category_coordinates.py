"""Categories as coordinates, and what groups of categories have in common."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.statistics.category_coordinates import (
    indicators,
    median_by_group,
    plurality_by_group,
    positions,
)


@settings(max_examples=60, deadline=None)
@given(codes=st.lists(st.integers(0, 4), min_size=2, max_size=12))
def test_squares_around_the_mean_count_the_pairs_that_differ(codes: list[int]) -> None:
    columns = indicators(np.array(codes))
    pairs = sum(a != b for i, a in enumerate(codes) for b in codes[:i])
    assert np.isclose(((columns - columns.mean(axis=0)) ** 2).sum(), pairs / len(codes))
    assert columns.shape == (len(codes), len(set(codes)))


def test_distances_of_categories() -> None:
    nominal = indicators(np.array([7, 2, 7]))
    assert np.isclose(((nominal[0] - nominal[1]) ** 2).sum(), 1.0)
    assert (nominal[0] == nominal[2]).all()
    assert positions(np.array([0, 3]), 4)[:, 0].tolist() == [0.0, 1.0]
    assert positions(np.array([0, 0]), 1)[:, 0].tolist() == [0.0, 0.0]
    assert np.isnan(indicators(np.array([-1, -1]))).all()


@settings(max_examples=80, deadline=None)
@given(
    records=st.lists(
        st.tuples(st.integers(0, 3), st.integers(-1, 5), st.sampled_from([0.5, 1.0, 2.0])), min_size=1, max_size=25
    ),
    weighted=st.booleans(),
)
def test_what_a_group_has_in_common(records: list[tuple[int, int, float]], weighted: bool) -> None:
    labels, codes, weights = (np.array(column) for column in zip(*records, strict=True))
    given_weights = weights if weighted else None
    plurality, median = (f(codes, labels, given_weights) for f in (plurality_by_group, median_by_group))
    for group in set(labels.tolist()):
        held: Counter[int] = Counter()
        for g, code, weight in records:
            if g == group and code >= 0:
                held[code] += weight if weighted else 1.0
        (common,), (middle,) = set(plurality[labels == group].tolist()), set(median[labels == group].tolist())
        if not held:
            assert (common, middle) == (-1, -1)
            continue
        assert common == min(code for code in held if held[code] == max(held.values()))
        total = sum(held.values())
        assert sum(w for code, w in held.items() if code <= middle) >= total / 2
        assert sum(w for code, w in held.items() if code < middle) < total / 2
