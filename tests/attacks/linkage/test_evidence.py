"""How an intruder weighs what the plan of a release tells: small examples that can be followed by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from microveil.attacks.linkage import evidence
from microveil.comparison.common_codes import common_codes
from microveil.numerics.linkage.likelihood import BonusTerm

NAN = np.nan


def equal_codes(expected: pa.Array, released: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Cells numbered as the attack does it: numbers are equal that rounding alone tells apart."""
    return common_codes(expected, released, evidence._ROUNDING)


def test_equal_numbers_are_numbered_alike_whatever_rounding_does_to_them() -> None:
    expected, released = pa.array([1.0, 3.0, None, 2.0]), pa.array([3.0 + 1e-10, 2.0, 1.0, 2.5])
    known, seen = equal_codes(expected, released)
    assert known.tolist() == [0, 3, -1, 1]
    assert seen.tolist() == [3, 1, 0, 2]
    known, seen = equal_codes(pa.array([None, None], pa.float64()), pa.array([NAN, None], pa.float64()))
    assert known.tolist() == seen.tolist() == [-1, -1]


def test_numbers_a_billionth_of_the_largest_apart_are_different() -> None:
    known, seen = equal_codes(pa.array([0.0, 100.0]), pa.array([1e-6, 100.0 - 1e-6]))
    assert [*known, *seen] == [0, 3, 1, 2]
    known, seen = equal_codes(pa.array([1e9, 1e9]), pa.array([1e9 + 0.5, 1e9]))  # rounding, at that height
    assert [*known, *seen] == [0, 0, 0, 0]


def test_texts_are_numbered_by_what_they_say() -> None:
    known, seen = equal_codes(pa.array(["b", None, "a"]), pa.array(["a", "b", "c"]))
    assert known[0] == seen[1]
    assert known[2] == seen[0]
    assert known[1] == -1
    assert len({*known.tolist(), *seen.tolist()}) == 4


def test_a_kept_code_speaks_the_louder_the_rarer_it_is() -> None:
    released = np.array([0, 0, 0, 1, -1])
    term = evidence._bonus((np.array([0, 1, 1, -1, 0]), released), 0.8)
    assert isinstance(term, BonusTerm)
    frequency = np.array([0.6, 0.6, 0.6, 0.2, 1.0])
    assert_allclose(term.bonus, np.log1p(0.8 / (0.2 * frequency)))
    assert term.released is released
    assert term.known.tolist() == [0, 1, 1, -1, 0]
    certain = evidence._bonus((released, released), 1.0)
    assert_allclose(certain.bonus, np.log1p(1.0 / 1e-12), rtol=1e-12)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("column", "values", "low", "high"),
    [
        ([30.0, 10.0, 20.0], 3, [2, 0, 1], [3, 1, 2]),
        ([10.0, 10.0, 20.0, NAN], 3, [0, 0, 2, 0], [2, 2, 3, 0]),
        ([5.0, 7.0], 4, [0, 2], [2, 4]),  # each of two values stands for two ranks of four
        ([5.0, 6.0, 7.0, 8.0], 2, [0, 0, 1, 1], [1, 1, 2, 2]),
        ([NAN, NAN], 2, [0, 0], [0, 0]),
    ],
)
def test_ranks_are_stretched_to_the_number_of_known_values(
    column: list[float], values: int, low: list[int], high: list[int]
) -> None:
    ranks = evidence._ranks(np.array(column), values)
    assert [side.tolist() for side in ranks] == [low, high]


@pytest.mark.parametrize(
    ("known", "drawn", "kept"),
    [
        ([1.0, 2.0, 3.0], [4.0, 4.0, 5.0], True),
        ([1.0, 2.0, 3.0], [4.0, 3.0, 5.0], False),
        ([1.0, 1.0, 2.0], [9.0, 4.0, 9.0], True),
        ([1.0, 1.0, 2.0], [9.0, 4.0, 8.0], False),
        ([1.0, NAN], [2.0, NAN], True),
        ([1.0, NAN], [2.0, 2.0], False),  # a cell that was missing is there
        ([NAN], [NAN], False),
        ([1.0, 2.0, 3.0], [0.0, 1.0, 1.0 - 1e-12], True),  # rounding
        ([1.0, 2.0, 3.0], [0.0, 1.0, 1.0 - 1e-6], False),
    ],
)
def test_order_is_kept_where_no_greater_value_becomes_a_smaller_one(
    known: list[float], drawn: list[float], kept: bool
) -> None:
    assert evidence._in_order(np.array(known), np.array(drawn)) is kept


def test_unchanged_values_are_counted_where_both_are_there() -> None:
    known = np.array([1.0, 2.0, NAN, 4.0])
    assert evidence._share_unchanged(known, [np.array([1.0, 0.0, 3.0, NAN]), np.array([1.0, 2.0, 3.0, 4.0])]) == 0.8
    assert evidence._share_unchanged(known, [np.full(4, NAN)]) == 0.0
    assert evidence._share_unchanged(known, []) == 0.0


def test_the_overlap_counts_records_that_both_have() -> None:
    assert evidence._overlap(np.array([3, 3, 1]), np.array([3, 0, 2])) == pytest.approx(1 / 3)
    assert evidence._overlap(np.array([-1, 5]), np.array([5, -1])) == 1.0
    assert evidence._overlap(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)) == 0.0


def test_where_the_variance_has_shrunk_means_of_groups_are_released() -> None:
    known, released = np.array([0.0, 10.0, NAN]), np.array([5.0, 9.0, 7.0])
    centre, scale = evidence._by_moments(known, released, 25.0, 4.0)
    slope = 4.0 / 25.0
    assert_allclose(centre, [7.0 - 5.0 * slope, 7.0 + 5.0 * slope, NAN])
    assert_allclose(scale, (4.0 * (1.0 - slope)) ** 0.5)


def test_where_the_variance_has_grown_noise_is_added() -> None:
    known, released = np.array([0.0, 10.0]), np.array([-3.0, 15.0])
    centre, scale = evidence._by_moments(known, released, 25.0, 81.0)
    assert_allclose(centre, [1.0, 11.0])
    assert_allclose(scale, 56.0**0.5)


def test_numbers_are_taken_to_move_by_a_twentieth_of_their_deviation_at_least() -> None:
    known = np.array([0.0, 10.0])
    _, scale = evidence._by_moments(known, known, 25.0, 25.0)
    assert_allclose(scale, 0.25)


def test_constants_and_missing_columns_have_a_centre_and_a_scale() -> None:
    for known, released in (([4.0, 4.0], [4.0, 4.0]), ([0.0, 0.0], [0.0, 0.0])):
        centre, scale = evidence._by_moments(np.array(known), np.array(released), 0.0, 0.0)
        assert_allclose(centre, known)
        assert (scale > 0).all()
        assert (scale < 1e-8).all()
    centre, scale = evidence._by_moments(np.full(2, NAN), np.array([2.0, 4.0]), 0.0, 1.0)
    assert np.isnan(centre).all()
    assert scale.tolist() == [1.0, 1.0]


def test_released_values_of_a_given_correlation() -> None:
    known, released = np.array([1.0, 3.0, NAN]), np.array([10.0, 20.0, 30.0])
    centre, scale = evidence._loosely(known, released, 0.6)
    deviation = (200 / 3) ** 0.5
    assert_allclose(centre, [20 - 0.6 * deviation, 20 + 0.6 * deviation, NAN])
    assert_allclose(scale, deviation * 0.8)
    centre, scale = evidence._loosely(np.array([2.0, 2.0]), np.array([5.0, 5.0]), 0.6)  # constants
    assert centre.tolist() == [5.0, 5.0]
    assert_allclose(scale, 0.8)


def test_the_correlation_with_a_constant_is_perfect() -> None:
    rising, constant = np.array([1.0, 2.0, 3.0, NAN]), np.array([4.0, 4.0, 4.0, 4.0])
    assert evidence._correlated(rising, constant) == evidence._correlated(constant, rising) == 1.0
    assert evidence._correlated(rising, -rising) == pytest.approx(-1.0)
    assert evidence._correlated(rising, np.array([1.0, 3.0, 2.0, 9.0])) == pytest.approx(0.5)


def test_the_variance_of_a_column_leaves_missing_cells_out() -> None:
    assert evidence._variance(np.array([1.0, NAN, 3.0])) == 1.0
    assert evidence._variance(np.array([NAN])) == 0.0


def test_the_scatter_around_a_value_is_that_of_the_values_next_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two draws: with four residuals wanted, one value on each side of a value (and of those equal to it) counts."""
    monkeypatch.setattr(evidence, "_DRAWS", 4)
    known = np.array([30.0, 10.0, NAN, 20.0, 40.0])
    residuals = np.array([[1.0, 2.0, 5.0, NAN, 4.0], [3.0, -2.0, 5.0, 0.0, 4.0]])
    centre, scale = evidence._around(known, residuals, 0.5)
    near = {0: [1.0, 3.0, 0.0, 4.0, 4.0], 1: [2.0, -2.0, 0.0], 3: [0.0, 2.0, -2.0, 1.0, 3.0], 4: [4.0, 4.0, 1.0, 3.0]}
    for record, values in near.items():
        assert centre[record] == pytest.approx(known[record] + np.mean(values))
        assert scale[record] == pytest.approx(np.std(values))
    assert np.isnan(centre[2])
    assert scale[2] == 1.0


def test_the_scatter_has_a_least_scale_and_none_without_residuals() -> None:
    known = np.array([1.0, 2.0])
    centre, scale = evidence._around(known, np.array([[0.5, 0.5]]), 0.25)
    assert centre.tolist() == [1.5, 2.5]
    assert scale.tolist() == [0.25, 0.25]
    centre, scale = evidence._around(known, np.full((1, 2), NAN), 0.25)
    assert centre.tolist() == [1.0, 2.0]
    assert scale.tolist() == [0.25, 0.25]


def test_a_replay_of_another_spread_is_not_trusted() -> None:
    known = np.arange(20.0)
    honest, spread = known + np.tile([1.0, -1.0], 10), evidence._variance(known)
    by_moments = evidence._by_moments(known, honest, spread, evidence._variance(honest))
    for drawn in ([], [known * 0.8], [known * 1.2]):  # variances of 0.64 and 1.44 times that of the release
        found = evidence._scatter(known, honest, drawn, 0.0)
        assert_allclose(found, by_moments)
    trusted = evidence._scatter(known, honest, [honest], 0.0)
    assert_allclose(trusted, evidence._around(known, (honest - known)[None, :], 1e-3))
    assert not np.allclose(trusted[1], by_moments[1])


def test_where_a_replay_resembles_the_truth_less_than_it_must_the_least_correlation_is_taken() -> None:
    known = np.arange(20.0)
    turned = known[::-1].copy()
    assert_allclose(evidence._scatter(known, known, [turned], 0.5), evidence._loosely(known, known, 0.5))
    assert_allclose(evidence._scatter(known, known, [known + 0.0], 0.5)[0], known)


def test_unchanged_values_do_not_narrow_the_scatter_of_changed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """With enough changed values, those left alone are told apart from them; with fewer they are not."""
    known = np.arange(40.0)
    drawn = known + np.tile([2.0, 0.0, -2.0, 0.0], 10)
    monkeypatch.setattr(evidence, "_DRAWS", 20)
    apart = evidence._scatter(known, drawn, [drawn], 0.0)
    residuals = np.where(drawn != known, drawn - known, NAN)[None, :]
    assert_allclose(apart, evidence._around(known, residuals, 2e-3))
    monkeypatch.setattr(evidence, "_DRAWS", 21)
    together = evidence._scatter(known, drawn, [drawn], 0.0)
    assert_allclose(together, evidence._around(known, (drawn - known)[None, :], 1e-3 * 2**0.5))


def test_residuals_that_go_together_are_correlated() -> None:
    rng = np.random.default_rng(4)
    one = rng.normal(size=400)
    other = 0.6 * one + 0.8 * rng.normal(size=400)
    found = evidence._correlation([[one[:200], one[200:]], [other[:200], other[200:]]])
    assert_allclose(found, np.corrcoef(one, other), atol=1e-12)
    outlier = one.copy()
    outlier[0] = 1e6  # counts as five deviations
    clipped = np.clip(np.stack([outlier, other]), -5, 5)
    assert_allclose(evidence._correlation([[outlier], [other]]), np.corrcoef(clipped), atol=1e-12)


def test_too_few_residuals_tell_no_correlation() -> None:
    column = np.arange(19.0)
    identity = np.eye(2).tolist()
    assert evidence._correlation([[column], [column]]).tolist() == identity
    longer = np.arange(20.0)
    assert evidence._correlation([[longer], [longer]])[0, 1] == pytest.approx(1.0, abs=1e-5)
    assert evidence._correlation([[np.append(column, NAN)], [longer]]).tolist() == identity
    assert evidence._correlation([[], []]).tolist() == identity
    assert evidence._correlation([[longer]]).tolist() == [[1.0]]
    assert evidence._correlation([[np.zeros(20)], [longer]]).tolist() == identity  # a constant goes with nothing


def test_a_correlation_matrix_can_be_inverted() -> None:
    plain = np.array([[3.0, 0.5], [0.5, 3.0]])
    assert evidence._regular(plain).tolist() == [[1.0, 0.5], [0.5, 1.0]]
    assert plain[0, 0] == 3.0
    singular = evidence._regular(np.ones((2, 2)))
    assert np.linalg.eigvalsh(singular).min() == pytest.approx(1e-6, rel=0.01)
    impossible = evidence._regular(np.array([[1.0, 1.5], [1.5, 1.0]]))
    assert np.linalg.eigvalsh(impossible).min() == pytest.approx(1e-6, rel=0.01)
