"""Minimal sample uniques, their scores and the probability of a correct match, against all subsets of attributes."""

from __future__ import annotations

from itertools import combinations
from math import factorial, inf

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from microveil.errors import Cancelled
from microveil.numerics.counting.minimal_sample_uniques import minimal_sample_uniques, usual_size
from microveil.numerics.counting.suda import dis_suda, match_probability, score_exponent, score_of_size, sizes_of
from microveil.typing import BoolArray, IntArray

Found = set[tuple[int, tuple[int, ...]]]


def agree(one: IntArray, other: IntArray, attributes: tuple[int, ...]) -> bool:
    return all(one[a] == other[a] or one[a] < 0 or other[a] < 0 for a in attributes)


def alone(codes: IntArray, row: int, attributes: tuple[int, ...]) -> bool:
    return not any(agree(codes[row], codes[other], attributes) for other in range(len(codes)) if other != row)


def by_all_subsets(codes: IntArray, size: int) -> Found:
    found: Found = set()
    for row in range(len(codes)):
        unique = [
            set(chosen)
            for k in range(1, codes.shape[1] + 1)
            for chosen in combinations(range(codes.shape[1]), k)
            if alone(codes, row, chosen)
        ]
        minimal = (each for each in unique if not any(other < each for other in unique))
        found |= {(row, tuple(sorted(each))) for each in minimal if len(each) <= size}
    return found


def wanted(codes: IntArray) -> BoolArray:
    return np.array([alone(codes, row, tuple(range(codes.shape[1]))) for row in range(len(codes))])


def found_by_kernel(codes: IntArray, size: int) -> Found:
    rows, sets = minimal_sample_uniques(codes, wanted(codes), size)
    named = [tuple(a for a in range(codes.shape[1]) if chosen >> a & 1) for chosen in sets.tolist()]
    assert len(set(zip(rows.tolist(), named, strict=True))) == len(rows)  # each of them once
    return set(zip(rows.tolist(), named, strict=True))


@st.composite
def tables(draw: st.DrawFn, lowest: int) -> IntArray:
    attributes = draw(st.integers(1, 6))
    sizes = [draw(st.integers(1, 4)) for _ in range(attributes)]
    row = st.tuples(*(st.integers(lowest, size) for size in sizes))
    return np.array(draw(st.lists(row, min_size=2, max_size=14)), dtype=np.int64)


@given(tables(0), st.integers(1, 6))
def test_minimal_sample_uniques_are_those_of_all_subsets(codes: IntArray, size: int) -> None:
    assert found_by_kernel(codes, size) == by_all_subsets(codes, size)


@given(tables(-1), st.integers(1, 6))
@example(np.array([[0, 0, 0], [1, -1, 1], [1, 1, -1]], dtype=np.int64), 3)
def test_a_wildcard_agrees_with_every_value(codes: IntArray, size: int) -> None:
    assert found_by_kernel(codes, size) == by_all_subsets(codes, size)


def test_rows_that_lower_attributes_never_tell_apart_still_keep_others_from_being_unique() -> None:
    rng = np.random.default_rng(3)
    codes = np.column_stack([rng.integers(0, size, 160) for size in (2, 2, 3, 3, 9, 30)])
    codes = np.unique(codes, axis=0)
    assert found_by_kernel(codes, 6) == by_all_subsets(codes, 6)


def test_nothing_is_found_where_nothing_is_wanted() -> None:
    codes = np.array([[0, 1], [1, 0]], dtype=np.int64)
    rows, sets = minimal_sample_uniques(codes, np.zeros(2, dtype=bool), 2)
    assert (len(rows), len(sets)) == (0, 0)


def test_the_search_reports_its_progress_and_can_be_cancelled() -> None:
    codes = np.arange(12, dtype=np.int64).reshape(4, 3)
    told: list[float] = []
    minimal_sample_uniques(codes, np.ones(4, dtype=bool), 3, lambda fraction, label: told.append(fraction))
    assert told == [0.25, 0.5, 1.0]

    def stop(fraction: float, label: str) -> None:
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        minimal_sample_uniques(codes, np.ones(4, dtype=bool), 3, stop)


@pytest.mark.parametrize(("attributes", "size"), [(1, 1), (8, 8), (13, 13), (14, 7), (62, 2), (20_000, 1)])
def test_as_many_sizes_are_tried_as_there_is_time_for(attributes: int, size: int) -> None:
    assert usual_size(attributes) == size


def test_a_minimal_sample_unique_of_all_sizes_weighs_a_factorial() -> None:
    assert score_of_size(7, 7).tolist() == [factorial(7 - k) for k in range(7)] + [1]
    assert score_of_size(7, 6).tolist() == [factorial(7 - k) for k in range(7)]
    assert score_of_size(5, 2).tolist() == [5 * 4 * 3, 4 * 3, 3]
    assert score_of_size(1, 1).tolist() == [1, 1]


def test_sizes_are_numbers_of_attributes() -> None:
    assert sizes_of(np.array([0, 1, 5, 2**61 + 1], dtype=np.int64)).tolist() == [0, 1, 2, 2]


def test_a_unique_match_is_correct_as_often_as_simulated_intrusion_says() -> None:
    assert match_probability(10, 30, 0.1) == pytest.approx(1 / (1 + 27))
    assert match_probability(10, 30, 1.0) == 1.0
    assert match_probability(10, 0, 0.1) == 1.0  # no pair hints that a unique record may have a double
    assert match_probability(0, 4, 0.1) == match_probability(0, 0, 0.1) == 1.0  # nobody is matched


@given(st.lists(st.integers(1, 720), min_size=1, max_size=30), st.integers(1, 40), st.floats(1e-4, 1.0))
def test_the_mean_number_who_match_is_what_the_file_says(scores: list[int], attributes: int, match: float) -> None:
    given_scores = np.array(scores, dtype=np.float64)
    chances = dis_suda(given_scores, attributes, match, given_scores)
    assert np.mean(1 / chances) == pytest.approx(1 / match, rel=1e-9)
    order = np.argsort(given_scores, kind="stable")
    assert (np.diff(chances[order]) >= -1e-15).all()  # a higher score is never safer


def test_scores_without_end_stay_probabilities() -> None:
    scores = np.array([0.0, 1.0, float(factorial(61))])
    chances = dis_suda(scores, 62, 0.01, scores)
    assert chances[0] == 0
    assert ((chances[1:] > 0) & (chances[1:] <= 1)).all()
    assert dis_suda(np.zeros(2), 3, 0.5, np.zeros(2)).tolist() == [0.0, 0.0]
    assert 0 < score_exponent(1000) < score_exponent(1) < inf
