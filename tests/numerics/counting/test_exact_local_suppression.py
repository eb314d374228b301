"""Which rows are frequent enough once only some columns are shown."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.counting.exact_local_suppression import _Partition
from microveil.numerics.counting.local_suppression import Rows


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 5))
def test_rows_join_those_alike_that_wait_and_those_that_show_nothing_else(seed: int, size: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, 3, size=(size, width)), axis=0)
    of_record = np.concatenate([np.arange(len(codes)), rng.integers(0, len(codes), size=size)])
    rows = Rows(codes, of_record, rng.integers(1, 4, size=(len(of_record), 2)).astype(float), np.ones(width))
    emptied, targets = np.zeros(width, dtype=np.int64), rng.integers(1, 12, size=2).astype(float)
    kept, waiting = rng.random(width) < 0.5, rng.random(len(codes)) < 0.7
    frequent = ~waiting & (rng.random(len(codes)) < 0.8)
    joined = _Partition(rows, emptied, targets)._joined(kept, rows.totals, waiting, frequent)
    for row in range(len(codes)):
        alike = [
            other
            for other in range(len(codes))
            if (codes[other] == codes[row])[kept].all()
            and (waiting[other] or (frequent[other] and (codes[other] == emptied)[~kept].all()))
        ]
        assert joined[row] == (waiting[row] and bool((rows.totals[alike].sum(axis=0) >= targets).all()))
