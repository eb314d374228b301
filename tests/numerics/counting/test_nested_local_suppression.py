"""A smaller k never suppresses more than a larger one, though each search by itself may."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.counting.equivalence_classes import agreeing_sums
from microveil.numerics.counting.nested_local_suppression import Keys, levels, suppress_nested


def keys(codes: np.ndarray, own: bool | np.ndarray = False, **more: object) -> Keys:
    distinct, of_record = np.unique(codes, axis=0, return_inverse=True)
    width = codes.shape[1]
    counted = {"masses": np.ones((len(codes), 1)), "costs": np.ones(width), **more}
    return Keys(
        distinct, of_record.reshape(-1), own=np.full(width, own) if isinstance(own, bool) else own,
        empty=codes.max(axis=0) + 1, **counted,
    )  # type: ignore[arg-type]  # fmt: skip


def skewed(seed: int) -> np.ndarray:
    return np.minimum(np.random.default_rng(seed).geometric(0.3, size=(60, 4)), 9)


def asked(k: int) -> np.ndarray:
    return np.array([float(k)])


@pytest.mark.parametrize(
    ("seed", "own", "alone", "nested"),
    [
        (8, False, [30, 47, 51, 46, 51, 63, 63], [20, 32, 44, 46, 51, 61, 63]),
        (15, True, [105, 143, 153, 178, 183, 182, 196], [105, 143, 153, 178, 182, 182, 196]),
    ],
)
def test_what_serves_a_larger_k_serves_a_smaller_one(seed: int, own: bool, alone: list[int], nested: list[int]) -> None:
    """Searched for alone, some larger k suppresses fewer cells than a smaller one."""
    table = keys(skewed(seed), own)
    assert [int(table.searched(asked(k)).sum()) for k in range(2, 9)] == alone
    assert [int(suppress_nested(table, asked(k)).sum()) for k in range(2, 9)] == nested
    assert nested == sorted(nested)
    assert alone != sorted(alone)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(6, 30),
    width=st.integers(1, 4),
    own=st.lists(st.booleans(), min_size=4, max_size=4),
    alone=st.booleans(),
    pair=st.tuples(st.integers(1, 16), st.integers(1, 16)),
    dear=st.booleans(),
    persons=st.booleans(),
)
def test_suppression_never_costs_more_for_a_smaller_k(
    seed: int, n: int, width: int, own: list[bool], alone: bool, pair: tuple[int, int], dear: bool, persons: bool
) -> None:
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.geometric(0.4, size=(n, width)), 6)
    masses = np.column_stack([np.ones(n), rng.integers(1, 9, n)] if persons else [np.ones(n)])
    costs = rng.integers(1, 4, width).astype(float) if dear else np.ones(width)
    table = keys(codes, np.array(own[:width]), masses=masses, costs=costs, alone=alone)
    low, high = sorted(min(k, n) for k in pair)
    less, more = (suppress_nested(table, np.array([float(k), 12.0][: masses.shape[1]])) for k in (low, high))
    assert table.cost(less) <= table.cost(more)
    for k, suppressed in ((low, less), (high, more)):
        shown = table.after(suppressed)
        totals = np.column_stack([np.bincount(shown.of_record, weights=mass) for mass in masses.T])
        assert agreeing_sums(shown.codes, totals)[:, 0].min() >= k


def test_a_level_that_would_take_less_than_the_one_below_adds_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = skewed(8)
    table = keys(codes)
    ten = suppress_nested(table, asked(10))
    search = Keys.searched

    def lavish(self: Keys, targets: np.ndarray, *progress: object) -> np.ndarray:
        found = search(self, targets)
        return np.ones_like(found) if targets[0] == 10 else found

    monkeypatch.setattr(Keys, "searched", lavish)
    assert int(suppress_nested(table, asked(11)).sum()) == codes.size
    assert int(ten.sum()) < codes.size


def test_nothing_is_suppressed_where_k_holds_already() -> None:
    assert not suppress_nested(keys(np.repeat(skewed(1)[:12], 5, axis=0)), asked(5)).any()


def test_levels_are_whole_up_to_ten_and_reach_the_number_of_records() -> None:
    assert levels(7, short=False) == [1, 2, 3, 4, 5, 6, 7]
    assert levels(60, short=True) == [*range(1, 51), 60]
    assert levels(1300, short=False)[-5:] == [600, 800, 1000, 1200, 1300]
