"""All nearest targets with their ties, against trying all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.neighbours.mixed_distance import SQUARED, Table, Terms
from microveil.numerics.neighbours.nearest_sets import nearest_rows
from microveil.progress import silent


@settings(max_examples=80, deadline=None)
@given(data=st.data(), columns=st.integers(0, 3), records=st.integers(1, 9))
def test_candidates_are_all_records_at_the_least_distance(data: st.DataObject, columns: int, records: int) -> None:
    cell = st.one_of(st.integers(0, 3).map(float), st.just(np.nan))
    row = st.lists(cell, min_size=records, max_size=records)
    sides = [
        np.array(data.draw(st.lists(row, min_size=columns, max_size=columns))).reshape(columns, records)
        for _ in range(2)
    ]
    one, other = (Table(np.nan_to_num(side), np.isnan(side).astype(np.uint8)) for side in sides)
    zeros, every = np.zeros(columns), np.ones(columns, dtype=np.bool_)
    terms = Terms(np.full(columns, SQUARED), zeros, zeros, every, zeros)
    values = np.array(data.draw(st.lists(cell, min_size=records, max_size=records)))
    found = nearest_rows(one, other, terms, np.arange(records), silent, "")
    query, target = found.members()
    within = found.within(values, np.ones(records), 1.0)
    for q in range(records):
        difference = (sides[0][:, [q]] - sides[1]) ** 2
        shared = (~np.isnan(difference)).sum(axis=0)
        apart = np.full(records, np.inf if columns else 0.0)
        np.divide(np.nansum(difference, axis=0) * columns, shared, out=apart, where=shared > 0)
        nearest = np.flatnonzero(apart <= apart.min() + 1e-9)
        assert sorted(target[query == q].tolist()) == nearest.tolist()
        assert found.many[q] == len(nearest)
        assert within[q] == (np.abs(values[nearest] - 1.0) <= 1.0).sum()
