"""The six matrices and three ways of averaging, against four records computed independently."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from microveil.errors import ParameterError
from microveil.losses.numeric.matrices import AVERAGES, MATRICES, MatrixDiscrepancy, _factors
from microveil.losses.numeric.moments import IL1, Moments
from microveil.microdata import Microdata

BEFORE = Microdata.of({"a": [1.0, 2.0, 3.0, 6.0], "b": [2.0, 1.0, 5.0, 4.0]})
AFTER = Microdata.of({"a": [1.5, 1.5, 4.5, 4.5], "b": [1.5, 1.5, 4.5, 4.5]})


@pytest.mark.spec("01:IL-1")
def test_the_toy_vector_comes_out() -> None:
    found = MatrixDiscrepancy(standardise=False, cells="all").measure(BEFORE, AFTER).details
    known = {
        "x": (0.75, 0.75, 0.309375),
        "v": (0.944444, 0.833333, 0.257143),
        "r": (0.083392, 0.204196, 0.345154),
    }
    for matrix, values in known.items():
        assert [found[f"{matrix}_{by}"] for by in ("mse", "mae", "mv")] == pytest.approx(values, abs=5e-7)
    assert found["c_mae"] == pytest.approx(0.204196, abs=5e-7)
    assert len(found) == len(MATRICES) * len(AVERAGES) == 18
    once = MatrixDiscrepancy(standardise=False).measure(BEFORE, AFTER).details
    assert once["r_mae"] == pytest.approx(0.408392, abs=5e-7)  # the single cell off the diagonal
    assert once["v_mae"] == pytest.approx((5 / 3 + 2 / 3 + 1 / 3) / 3)


@pytest.mark.spec("01:IL-1")
def test_the_factors_of_the_toy_vector() -> None:
    before, after = (_factors(np.array([[1.0, r], [r, 1.0]])) for r in (0.591608, 1.0))
    assert before["rf"] == pytest.approx(np.array([[0.892078, 0.451881], [0.892078, -0.451881]]), abs=5e-7)
    assert after["rf"] == pytest.approx(np.array([[1.0, 0.0], [1.0, 0.0]]), abs=1e-7)
    assert before["c"] == pytest.approx([0.795804, 0.795804], abs=5e-7)
    assert after["f"][:, 1] == pytest.approx([0, 0])  # a component without variance has no scores


@pytest.mark.spec("01:IL-1")
def test_the_largest_loading_of_every_component_is_positive_and_scores_are_standardised() -> None:
    rng = np.random.default_rng(4)
    cells = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 5))
    z = (cells - cells.mean(axis=0)) / cells.std(axis=0)
    factors = _factors(np.corrcoef(cells, rowvar=False))
    loadings = factors["rf"]
    assert (loadings[np.abs(loadings).argmax(axis=0), np.arange(5)] > 0).all()
    scores = z @ factors["f"]
    assert np.cov(scores, rowvar=False, ddof=0) == pytest.approx(np.eye(5), abs=1e-9)
    # RF are the correlations between the attributes and the components
    assert np.corrcoef(z, scores, rowvar=False)[:5, 5:] == pytest.approx(loadings, abs=1e-9)


def test_errors_of_values_and_covariances_do_not_depend_on_units() -> None:
    metres = MatrixDiscrepancy().measure(BEFORE, AFTER)
    scaled = [
        Microdata.of({n: 100 * data.numbers(n).values + shift for n, shift in (("a", 7), ("b", -3))})
        for data in (BEFORE, AFTER)
    ]
    for name in ("x_mse", "x_mae", "v_mse", "v_mae", "r_mae", "f_mse"):
        assert MatrixDiscrepancy().measure(*scaled).details[name] == pytest.approx(metres.details[name])


def test_the_mean_variation_of_the_values_is_il1_with_zeros_divided_by_the_released_value() -> None:
    before, after = Microdata.of({"x": [0.0, 0.0, 2.0]}), Microdata.of({"x": [5.0, 0.0, 3.0]})
    loss = MatrixDiscrepancy(matrix="x", by="mv").measure(before, after)
    assert loss.value == pytest.approx(50)
    assert loss.value == pytest.approx(IL1(zero="released").measure(before, after).value)


def test_the_value_is_the_matrix_chosen_or_the_mean_of_all() -> None:
    every = MatrixDiscrepancy().measure(BEFORE, AFTER)
    assert every.raw == pytest.approx(100 * np.mean([every.details[f"{m}_mae"] for m in MATRICES]))
    for matrix in MATRICES:
        chosen = MatrixDiscrepancy(matrix=matrix, by="mse").measure(BEFORE, AFTER)
        assert chosen.raw == pytest.approx(100 * every.details[f"{matrix}_mse"])


def test_a_suppressed_cell_counts_as_the_mean_and_a_missing_one_not_at_all() -> None:
    before = Microdata.of({"x": [1.0, 3.0, None, 5.0]})
    suppressed = Microdata.of({"x": [1.0, 3.0, 8.0, None]})
    found = MatrixDiscrepancy(standardise=False).measure(before, suppressed).details
    assert found["x_mae"] == pytest.approx(2 / 3)
    assert MatrixDiscrepancy().measure(before, Microdata.of({"x": [1.0, 3.0, 8.0, 5.0]})).value == 0


def test_an_unknown_matrix_is_refused() -> None:
    with pytest.raises(ParameterError, match="matrix-discrepancy: matrix = 'w'"):
        MatrixDiscrepancy(matrix="w")  # type: ignore[arg-type]


def _design(order: np.ndarray, noise: float) -> Microdata:
    """Three attributes without any correlation, but for rounding."""
    cells = np.array(list(product((-0.1, 0.1, 0.3), (-0.3, 0.7, 0.11), (1.1, 2.3, 0.7))))
    cells = cells + noise * np.random.default_rng(0).normal(size=cells.shape)
    return Microdata.of(dict(zip("abc", cells[order].T, strict=True)))


@pytest.mark.spec("01:IL-1")
def test_correlations_that_are_0_but_for_rounding_are_0_and_the_order_does_not_matter() -> None:
    orders = np.arange(27), np.random.default_rng(1).permutation(27)
    one, other = (MatrixDiscrepancy().measure(_design(order, 0.0), _design(order, 0.05)).details for order in orders)
    assert one["r_mv"] == 1  # each correlation is relative to what it became
    assert one["v_mv"] < 1
    assert other == pytest.approx(one)


@pytest.mark.spec("01:IL-1")
def test_components_of_equal_eigenvalues_lie_at_attributes() -> None:
    assert _factors(np.eye(3))["rf"] == pytest.approx(np.eye(3))
    # two pairs with the same correlation, but for rounding that would turn the components between them
    pairs = np.eye(4)
    for tilt in (1e-15, -1e-15):
        pairs[0, 1] = pairs[1, 0] = 0.5 + tilt
        pairs[2, 3] = pairs[3, 2] = 0.5
        found = _factors(pairs)
        half = np.sqrt(0.5)
        expected = np.array([[half, 0, half, 0], [half, 0, -half, 0], [0, half, 0, half], [0, half, 0, -half]])
        assert found["rf"] == pytest.approx(expected * np.sqrt([1.5, 1.5, 0.5, 0.5]), abs=1e-7)
        assert found["rf"] @ found["rf"].T == pytest.approx(pairs)


def test_attributes_with_at_most_one_common_record_have_no_covariance() -> None:
    gap = np.nan
    moments = Moments(np.array([[1.0, gap, 4.0], [gap, 2.0, 5.0], [3.0, gap, gap], [gap, 8.0, gap]]))
    assert moments.covariances.tolist() == [[2.0, 0.0, 0.0], [0.0, 18.0, 0.0], [0.0, 0.0, 0.5]]
    assert Moments(np.array([[1.0, 2.0]])).covariances.tolist() == [[0.0, 0.0], [0.0, 0.0]]
