"""How many records agree with each row of codes, by whatever way is the shortest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.numerics.counting import equivalence_classes
from microveil.numerics.counting.equivalence_classes import agreeing_sums


@given(
    rows=st.sets(st.tuples(*(st.integers(-1, size) for size in (1, 3, 2, 4))), min_size=1, max_size=40),
    seed=st.integers(0, 99),
)
def test_the_tree_finds_all_rows_that_agree(rows: set[tuple[int, ...]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.array(sorted(rows), dtype=np.int64))
    masses = rng.integers(1, 9, (len(codes), 2)).astype(np.float64)
    agree = ((codes[:, None] == codes) | (codes[:, None] < 0) | (codes < 0)).all(axis=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equivalence_classes, "_FEW_ROWS", 0)
        patch.setattr(equivalence_classes, "_MANY_PATTERNS", 0)
        assert agreeing_sums(codes, masses).tolist() == (agree @ masses).tolist()
        patch.setattr(equivalence_classes, "_MANY_PATTERNS", 99)
        assert agreeing_sums(codes, masses).tolist() == (agree @ masses).tolist()
