"""Transition matrices: the printed ones, what they keep, and drawing from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError
from microveil.numerics.perturbing.transition_matrices import (
    bayes_inverse,
    dominant,
    draw_categories,
    entropy_matrix,
    estimated_frequencies,
    frequency_matrix,
    invariant_matrix,
    invariant_within_range,
    lowered,
    proportional_matrix,
    raised,
    uniform_matrix,
    within_range,
)
from reproduction.pram import DEGREE
from reproduction.pram import TABLE_4_1 as PRINTED

SIX = DEGREE[:6]  # without the categories of missing answers


frequencies = st.lists(st.integers(0, 50), min_size=1, max_size=9).filter(any)


def stochastic(matrix: np.ndarray) -> bool:
    return bool((matrix >= -1e-15).all() and np.allclose(matrix.sum(axis=1), 1, atol=1e-12))


def any_matrix(size: int, seed: int) -> np.ndarray:
    """A random matrix with some cells of probability 0."""
    rng = np.random.default_rng(seed)
    cells = rng.random((size, size)) * (rng.random((size, size)) < 0.7) + np.eye(size) * 0.1
    return cells / cells.sum(axis=1, keepdims=True)


@pytest.mark.spec("05:PM-02")
def test_the_printed_matrix_comes_out_but_for_the_one_wrong_cell() -> None:
    """Table 4.1 from the frequencies of Table 4.2: cell (1, 5) is printed 0.067 and is 0.06763."""
    printed = np.array([[float(x) for x in row.split()] for row in PRINTED.strip().splitlines()])
    matrix = frequency_matrix(DEGREE, 0.5)
    differing = np.argwhere(matrix.round(3) != printed)
    assert differing.tolist() == [[0, 4]]
    assert matrix[0, 4] == pytest.approx(0.06763, abs=5e-6)


@pytest.mark.spec("05:PM-02")
def test_the_expected_frequencies_after_the_printed_matrix() -> None:
    expected = [115.08, 140.83, 169.39, 148.68, 139.77, 109.11, 93.82, 83.33]
    assert (DEGREE @ frequency_matrix(DEGREE, 0.5)).round(2).tolist() == expected


@settings(max_examples=100, deadline=None)
@given(t=frequencies, p=st.floats(0, 1))
def test_rows_are_probabilities_with_p_on_the_diagonal(t: list[int], p: float) -> None:
    for matrix in (frequency_matrix(t, p), proportional_matrix(t, p), entropy_matrix(len(t), p)):
        assert stochastic(matrix)
        assert len(t) == 1 or np.allclose(np.diag(matrix), p)


def test_two_categories_and_a_single_full_one_have_their_own_rule() -> None:
    assert frequency_matrix([3, 9], 0.8) == pytest.approx(np.array([[0.8, 0.2], [0.2, 0.8]]))
    assert frequency_matrix([5, 0, 0], 0.8)[0].tolist() == pytest.approx([0.8, 0.1, 0.1])


@pytest.mark.spec("05:PM-01")
def test_the_identity_matrix_changes_nothing() -> None:
    codes = np.random.default_rng(1).integers(0, 5, 200)
    assert (draw_categories(codes, np.eye(5), np.random.default_rng(2)) == codes).all()


@pytest.mark.spec("05:PM-01")
def test_a_category_without_probability_is_never_drawn() -> None:
    matrix = np.array([[0.5, 0.5, 0.0], [0.0, 0.3, 0.7], [1.0, 0.0, 0.0]])
    codes = np.repeat([0, 1, 2], 3000)
    drawn = draw_categories(codes, matrix, np.random.default_rng(2))
    table = np.zeros((3, 3))
    np.add.at(table, (codes, drawn), 1)
    assert (table[matrix == 0] == 0).all()
    # four standard errors of a share among 3000
    assert (np.abs(table / 3000 - matrix) <= 4 * np.sqrt(matrix * (1 - matrix) / 3000)).all()


# --- the other generators --------------------------------------------------------------------------------------------


@pytest.mark.spec("05:PM-03")
def test_the_uniform_matrix_of_the_printed_frequencies() -> None:
    """The rarest category has 33 records; the empty one stays."""
    matrix = uniform_matrix(DEGREE, 0.5)
    assert np.diag(matrix).round(4).tolist() == [0.8316, 0.9046, 0.9343, 0.9154, 0.9029, 0.7938, 0.5, 1.0]
    for k in range(7):
        assert np.delete(matrix[k], k) == pytest.approx((1 - matrix[k, k]) / 7)


@settings(max_examples=100, deadline=None)
@given(t=st.lists(st.integers(1, 50), min_size=1, max_size=9), theta=st.floats(0, 1))
@pytest.mark.spec("05:PM-03")
def test_the_uniform_matrix_keeps_frequencies_where_no_category_is_empty(t: list[int], theta: float) -> None:
    matrix = uniform_matrix(t, theta)
    assert stochastic(matrix)
    assert t @ matrix == pytest.approx(np.array(t, dtype=float))


@pytest.mark.spec("05:PM-03")
def test_the_ends_of_theta_and_what_an_empty_category_does() -> None:
    assert (uniform_matrix([5, 9, 7], 0.0) == np.eye(3)).all()
    assert uniform_matrix([5, 9, 7], 1.0)[0, 0] == 0
    assert ([5, 9, 0] @ uniform_matrix([5, 9, 0], 0.5))[2] > 0
    assert (uniform_matrix([0, 0], 0.5) == np.eye(2)).all()


@pytest.mark.spec("05:PM-04")
def test_the_entropy_matrix_has_its_diagonal_and_all_else_alike() -> None:
    assert entropy_matrix(6, 0.6) == pytest.approx(np.full((6, 6), 0.08) + 0.52 * np.eye(6))
    assert entropy_matrix(1, 0.6).tolist() == [[1.0]]


@pytest.mark.spec("01:MK-2")
def test_the_proportional_matrix_goes_where_the_others_are() -> None:
    assert proportional_matrix([10, 30, 60], 0.7)[0].tolist() == pytest.approx([0.7, 0.1, 0.2])
    assert proportional_matrix([5, 0, 0], 0.8)[0].tolist() == pytest.approx([0.8, 0.1, 0.1])


# --- invariance and diagonal -----------------------------------------------------------------------------------------

INVARIANT = """
0.2943 0.1418 0.1936 0.1568 0.1398 0.0737    0.6542 0.0695 0.0949 0.0768 0.0685 0.0361
0.0804 0.4084 0.1747 0.1421 0.1269 0.0676    0.0394 0.7101 0.0856 0.0696 0.0622 0.0331
0.0756 0.1204 0.4890 0.1326 0.1187 0.0638    0.0370 0.0590 0.7496 0.0650 0.0582 0.0312
0.0788 0.1260 0.1707 0.4339 0.1242 0.0664    0.0386 0.0618 0.0836 0.7226 0.0609 0.0325
0.0806 0.1292 0.1752 0.1425 0.4047 0.0678    0.0395 0.0633 0.0859 0.0698 0.7083 0.0332
0.0903 0.1463 0.2000 0.1618 0.1441 0.2576    0.0442 0.0717 0.0980 0.0793 0.0706 0.6362
"""


@pytest.mark.spec("05:PM-05", "05:PM-06")
def test_the_invariant_matrix_of_six_categories_and_its_diagonal_control() -> None:
    """Six categories, diagonal 0.6; the smallest factor on the grid with no diagonal above 0.75 is 0.49."""
    known = np.array([[float(x) for x in row.split()] for row in INVARIANT.strip().splitlines()])
    start = entropy_matrix(6, 0.6)
    invariant = invariant_matrix(start, SIX)
    assert np.abs(invariant - known[:, :6]).max() <= 5.1e-5
    controlled = invariant_within_range(start, SIX)
    assert controlled.alpha == 0.49
    assert controlled.in_range
    assert np.abs(controlled.matrix - known[:, 6:]).max() <= 5.1e-5
    assert SIX @ invariant == pytest.approx(SIX, abs=1e-9)
    assert SIX @ controlled.matrix == pytest.approx(SIX, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(t=frequencies, seed=st.integers(0, 9999))
@pytest.mark.spec("05:PM-05", "01:MK-2")
def test_the_two_stages_keep_the_frequencies_whatever_the_matrix(t: list[int], seed: int) -> None:
    matrix = any_matrix(len(t), seed)
    assert stochastic(bayes_inverse(matrix, t))
    for made in (invariant_matrix(matrix, t), invariant_within_range(matrix, t).matrix):
        assert stochastic(made)
        assert t @ made == pytest.approx(np.array(t, dtype=float), abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(t=frequencies, seed=st.integers(0, 9999))
@pytest.mark.spec("05:PM-06")
def test_a_diagonal_is_in_range_or_said_not_to_be(t: list[int], seed: int) -> None:
    matrix, alpha, in_range, is_invariant = invariant_within_range(any_matrix(len(t), seed), t, 0.55, 0.75)
    assert is_invariant
    assert stochastic(matrix)
    diagonal = np.diag(matrix)[np.array(t) > 0]
    if len(t) > 1:
        assert in_range == (diagonal.min() >= 0.55 - 1e-9 and diagonal.max() <= 0.75 + 1e-9)
        assert diagonal.min() >= 0.55 - 1e-9
        assert round(100 * alpha) == pytest.approx(100 * alpha)


@pytest.mark.spec("05:PM-06")
def test_both_ends_of_a_range_cannot_always_be_kept() -> None:
    rare = invariant_within_range(entropy_matrix(3, 0.6), [1, 1, 998], 0.55, 0.75)
    assert not rare.in_range
    assert np.diag(rare.matrix).min() == pytest.approx(0.55, abs=0.01)
    # nothing leaves a category, so no factor can make it
    stays = invariant_within_range(np.eye(2), [50, 50], 0.55, 0.75)
    assert (stays.in_range, stays.alpha, stays.matrix.tolist()) == (False, 1.0, [[1, 0], [0, 1]])
    assert invariant_within_range(np.eye(2), [50, 50], 0.55, 1.0).in_range


@pytest.mark.spec("05:PM-06", "05:PE-06")
def test_a_factor_above_1_lowers_a_diagonal_that_is_too_high_and_keeps_the_frequencies() -> None:
    """Six categories, diagonal 0.85: alpha is 1.14."""
    controlled = invariant_within_range(entropy_matrix(6, 0.85), SIX)
    assert (controlled.alpha, controlled.in_range, controlled.is_invariant) == (1.14, True, True)
    assert [np.diag(controlled.matrix).min(), np.diag(controlled.matrix).max()] == pytest.approx(
        [0.559, 0.750], abs=5e-4
    )
    assert stochastic(controlled.matrix)
    assert SIX @ controlled.matrix == pytest.approx(SIX, abs=1e-9)


@pytest.mark.parametrize(
    ("frequencies_of", "least", "greatest", "alpha"),
    [([603, 103, 63, 48, 183], 0.852, 0.529, 0.52), ([274, 269, 63, 394], 0.548, 0.530, 0.53)],
)
@pytest.mark.spec("05:PM-06", "05:PE-06")
def test_savings_and_existing_account_cannot_have_both(
    frequencies_of: list[int], least: float, greatest: float, alpha: float
) -> None:
    """German credit, diagonal 0.6: the factor that the upper end needs is above the one that the lower end allows."""
    start = entropy_matrix(len(frequencies_of), 0.6)
    diagonal = np.diag(invariant_matrix(start, frequencies_of))
    assert [0.25 / (1 - diagonal.max()), 0.45 / (1 - diagonal.min())] == pytest.approx([least, greatest], abs=5e-4)
    controlled = invariant_within_range(start, frequencies_of)
    assert (controlled.alpha, controlled.in_range) == (alpha, False)
    assert np.diag(controlled.matrix).min() >= 0.55
    assert np.diag(controlled.matrix).max() > 0.75
    if len(frequencies_of) == 5:  # a frequent category can rise in the invariant matrix
        assert diagonal[0] == pytest.approx(0.706, abs=5e-4)


@pytest.mark.spec("05:PM-06", "05:PE-06")
def test_any_range_has_its_own_factors() -> None:
    """The least factor is (1 - high) / (1 - greatest diagonal), the greatest (1 - low) / (1 - least diagonal)."""
    diagonal = np.diag(invariant_matrix(entropy_matrix(6, 0.6), SIX))
    wide = invariant_within_range(entropy_matrix(6, 0.6), SIX, 0.3, 0.9)
    assert wide.alpha == np.ceil(100 * 0.1 / (1 - diagonal.max())) / 100
    narrow = invariant_within_range(entropy_matrix(6, 0.6), SIX, 0.7, 0.71)
    assert narrow.alpha == np.floor(100 * 0.3 / (1 - diagonal.min())) / 100
    assert not narrow.in_range
    half = invariant_within_range(entropy_matrix(2, 0.8), [5, 5], 0.0, 0.5)
    assert half.matrix == pytest.approx(np.full((2, 2), 0.5), abs=0.005)


@pytest.mark.spec("05:PM-06", "05:PE-06")
def test_eq_4_7_lowers_an_invariant_matrix_and_says_that_it_is_none_any_more() -> None:
    for start, t in ((entropy_matrix(6, 0.85), SIX), (entropy_matrix(5, 0.6), np.array([603, 103, 63, 48, 183]))):
        for scope in ("row", "matrix"):
            found = invariant_within_range(start, t, lowering="eq-4.7", scope=scope)
            assert stochastic(found.matrix)
            assert not found.is_invariant
            assert not np.allclose(t @ found.matrix, t, atol=1e-6)
            assert np.diag(found.matrix).max() == pytest.approx(0.75)
            assert found.alpha <= 1
        rows = invariant_within_range(start, t, lowering="eq-4.7")
        assert rows.in_range
        assert np.diag(rows.matrix).min() >= 0.55
    unneeded = invariant_within_range(entropy_matrix(6, 0.6), SIX, lowering="eq-4.7")
    assert unneeded.is_invariant
    assert unneeded.alpha == 0.49


@settings(max_examples=100, deadline=None)
@given(t=frequencies, seed=st.integers(0, 9999), lowest=st.floats(0, 1), width=st.floats(0, 1))
@pytest.mark.spec("05:PM-06")
def test_no_range_makes_a_negative_probability(t: list[int], seed: int, lowest: float, width: float) -> None:
    highest = lowest + width * (1 - lowest)
    for lowering in ("corrected", "eq-4.7", "printed"):
        found = invariant_within_range(any_matrix(len(t), seed), t, lowest, highest, lowering=lowering)
        assert (found.matrix >= 0).all()
        assert found.matrix.sum(axis=1) == pytest.approx(1, abs=1e-9)
        if found.is_invariant:
            assert t @ found.matrix == pytest.approx(np.array(t, dtype=float), abs=1e-6)


@pytest.mark.spec("05:PM-05")
def test_a_matrix_is_raised_only_until_its_diagonal_dominates() -> None:
    known = np.array([[0.7, 0.3], [0.4, 0.6]])
    assert dominant(known) is known
    for smallest in (0.0, 0.2, 0.25, 0.5):
        made = dominant(np.array([[smallest, 1 - smallest], [0.3, 0.7]]))
        # another hundredth would be too much
        assert 0.5 < made[0, 0] <= 0.5 + 0.0101 * (1 - smallest)


@pytest.mark.spec("05:PM-06")
def test_a_diagonal_is_raised_towards_the_identity() -> None:
    assert raised(np.array([[0.2, 0.8], [0.6, 0.4]]), 0.5).tolist() == [[0.6, 0.4], [0.3, 0.7]]


@pytest.mark.spec("05:PM-06")
def test_a_diagonal_is_lowered_row_by_row_or_as_printed() -> None:
    matrix = np.array([[0.9, 0.06, 0.04], [0.1, 0.6, 0.3], [0.02, 0.0, 0.98]])
    made = lowered(matrix, 0.75)
    beta = 0.75 / 0.9
    assert made[0].tolist() == pytest.approx([0.75, beta * 0.06 + (1 - beta) / 2, beta * 0.04 + (1 - beta) / 2])
    assert made[1].tolist() == matrix[1].tolist()
    assert np.diag(made)[[0, 2]] == pytest.approx(0.75)
    printed = lowered(matrix, 0.75, printed=True)
    beta = 0.75 / 0.98
    short = 1 - (1 - beta) / 3  # what rows sum to before they are divided by it
    assert printed[1].tolist() == pytest.approx(
        np.array([beta * 0.1 + (1 - beta) / 3, beta * 0.6, beta * 0.3 + (1 - beta) / 3]) / short
    )
    assert stochastic(made)
    assert stochastic(printed)


@pytest.mark.spec("05:PM-06", "05:PE-06")
def test_one_factor_serves_all_rows_where_the_scope_is_the_matrix() -> None:
    matrix = np.array([[0.4, 0.6], [0.1, 0.9]])
    rows = within_range(matrix, 0.55, 0.75)
    assert rows == pytest.approx(np.array([[0.55, 0.45], [0.25, 0.75]]))
    # raised by alpha = 0.45 / 0.6 to 0.55 and 0.925, then lowered by beta = 0.75 / 0.925
    whole = within_range(matrix, 0.55, 0.75, scope="matrix")
    beta = 0.75 / 0.925
    assert whole[0].tolist() == pytest.approx([0.55 * beta, 0.45 * beta + 1 - beta])
    assert whole[1].tolist() == pytest.approx([0.25, 0.75])


@settings(max_examples=100, deadline=None)
@given(size=st.integers(2, 8), seed=st.integers(0, 9999))
@pytest.mark.spec("05:PM-06")
def test_every_row_comes_into_the_range(size: int, seed: int) -> None:
    made = within_range(any_matrix(size, seed), 0.55, 0.75)
    assert stochastic(made)
    assert (np.diag(made) >= 0.55 - 1e-9).all()
    assert (np.diag(made) <= 0.75 + 1e-9).all()


# --- frequencies before the drawing ----------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(t=frequencies, p=st.floats(0.55, 1))
@pytest.mark.spec("01:MK-2")
def test_the_estimate_from_expected_frequencies_is_exact(t: list[int], p: float) -> None:
    matrix = frequency_matrix(t, p)
    assert estimated_frequencies(t @ matrix, matrix) == pytest.approx(np.array(t, float), abs=1e-6)


@pytest.mark.spec("01:MK-2")
def test_the_estimate_has_no_bias() -> None:
    matrix, rng = proportional_matrix(SIX, 0.6), np.random.default_rng(5)
    codes = np.repeat(np.arange(6), SIX)
    runs = np.array(
        [
            estimated_frequencies(np.bincount(draw_categories(codes, matrix, rng), minlength=6), matrix)
            for _ in range(400)
        ]
    )
    assert (np.abs(runs.mean(axis=0) - SIX) <= 4 * runs.std(axis=0) / np.sqrt(400)).all()
    assert np.abs(SIX @ matrix - SIX).max() > 10


def test_a_matrix_without_inverse_gives_no_estimate() -> None:
    with pytest.raises(DataError, match="cannot be inverted"):
        estimated_frequencies([5, 5], np.full((2, 2), 0.5))
