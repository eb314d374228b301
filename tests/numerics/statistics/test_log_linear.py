"""Log-linear models against tables that are laid out in full."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.statistics.log_linear import Fitting, LogLinear, connected, dispersion_shape, model_errors
from microveil.typing import FloatArray

SHAPE = (3, 4, 2, 3)


def sample(seed: int, wild: bool = False) -> tuple[Fitting, FloatArray]:
    """The combinations of a table of counts, and the table."""
    rng = np.random.default_rng(seed)
    table = rng.poisson(rng.gamma(0.7, 3.0, SHAPE)).astype(np.float64)
    table[tuple(np.array(SHAPE) - 1)] += 1  # so that every last category is there
    codes = np.argwhere(table > 0)
    mass = table[table > 0]
    if wild:
        codes, mass = np.vstack([codes, [[0, -1, 1, -1]]]), np.append(mass, 5.0)
    return Fitting(codes, mass), table


def full(model: LogLinear) -> FloatArray:
    """The shares of all cells."""
    return model.shares(np.argwhere(np.ones(SHAPE))).reshape(SHAPE)


def test_without_interactions_the_shares_are_products_of_the_margins() -> None:
    fitting, table = sample(1)
    shares = table / table.sum()
    margins = [shares.sum(axis=tuple(a for a in range(4) if a != axis)) for axis in range(4)]
    assert full(fitting.fit(())) == pytest.approx(np.einsum("i,j,k,l->ijkl", *margins))


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), chosen=st.sets(st.sampled_from(list(combinations(range(4), 2)))))
def test_the_fit_has_the_margins_of_every_interaction_and_no_other_relation(
    seed: int, chosen: set[tuple[int, int]]
) -> None:
    fitting, table = sample(seed)
    shares = full(fitting.fit(sorted(chosen)))
    assert shares.sum() == pytest.approx(1)
    for pair in chosen:
        others = tuple(axis for axis in range(4) if axis not in pair)
        assert shares.sum(axis=others) == pytest.approx(
            table.sum(axis=others) / table.sum(), abs=0.01 / len(fitting.codes)
        )
    if (shares > 0).all():  # a log-linear model without interactions of three: their second differences vanish
        logs = np.log(shares)
        thirds = np.diff(np.diff(np.diff(logs, axis=0), axis=1), axis=2)
        assert thirds == pytest.approx(np.zeros_like(thirds), abs=1e-8)


def test_beginning_with_a_smaller_model_gives_the_same_fit() -> None:
    fitting, _ = sample(5)
    smaller = fitting.fit([(0, 1), (1, 2)])
    wanted = [(0, 1), (1, 2), (0, 2)]
    assert full(fitting.fit(wanted, smaller)) == pytest.approx(full(fitting.fit(wanted)), abs=0.01 / len(fitting.codes))
    kept = fitting.fit([(0, 1), (2, 3)], fitting.fit([(0, 1)]))
    assert full(kept) == pytest.approx(full(fitting.fit([(0, 1), (2, 3)])))


def test_a_wildcard_has_the_sum_over_the_categories() -> None:
    fitting, _ = sample(2, wild=True)
    model = fitting.fit([(0, 1), (1, 2)])
    assert model.shares(np.array([[0, -1, 1, -1], [-1, -1, -1, -1]])) == pytest.approx(
        [full(model)[0, :, 1, :].sum(), 1.0]
    )


def test_every_pattern_of_wildcards_has_the_sum_over_its_cells() -> None:
    fitting, _ = sample(3)
    model = fitting.fit([(0, 1), (1, 2)])
    cells = full(model)
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(-1, size, 200) for size in cells.shape])
    wanted = [cells[tuple(slice(None) if code < 0 else int(code) for code in row)].sum() for row in codes]
    assert model.shares(codes) == pytest.approx(wanted)


def test_a_category_that_the_sample_lacks_has_no_share() -> None:
    model = sample(3)[0].fit([(0, 1)])
    assert model.shares(np.array([[3, 0, 0, 0]])).tolist() == [0.0]


def test_a_fit_that_does_not_meet_its_margins_says_so() -> None:
    """The margins of a part are taken from records that have all of it, so only a boundary can be slow; all is met."""
    assert sample(4)[0].fit(list(combinations(range(4), 2))).converged


def test_parts_are_connected_by_way_of_others() -> None:
    assert connected(5, [(3, 4), (0, 4)]) == [(0, 3, 4), (1,), (2,)]


@pytest.mark.parametrize("interactions", [[], [(0, 1)], [(0, 1), (2, 3)], list(combinations(range(4), 2))])
def test_the_grid_of_cells_gives_the_sums_over_the_full_cross(interactions: list[tuple[int, int]]) -> None:
    fitting, _ = sample(6)
    model = fitting.fit(interactions)
    lambdas = 500.0 * full(model).ravel()
    grid, number = model.cells(500.0)
    for power in (0.0, 1.0, 2.0):
        exact = (lambdas**power * np.exp(-lambdas))[lambdas > 1e-6].sum()
        assert number @ (grid**power * np.exp(-grid)) == pytest.approx(exact, rel=1e-4, abs=1e-3)


def plain_bias(f: FloatArray, rate: float, lambdas: FloatArray) -> tuple[list[float], list[float]]:
    """The criteria cell by cell, with derivatives by differences."""
    rest, step = 1 - rate, 1e-4
    risks = (lambda x: np.exp(-rest * x), lambda x: -np.expm1(-rest * x) / (rest * x))
    bias, standardised = [], []
    for h in risks:
        first = (h(lambdas + step) - h(lambdas - step)) / (2 * step)
        second = (h(lambdas + step) - 2 * h(lambdas) + h(lambdas - step)) / step**2
        mean = rate * lambdas
        weight = lambdas * np.exp(-mean)
        total = (weight * (-first * (f - mean) + second * ((f - mean) ** 2 - f) / (2 * rate))).sum()
        variance = (weight**2 * (first**2 * mean + 2 * (second / (2 * rate)) ** 2 * mean**2)).sum()
        bias.append(float(total))
        standardised.append(float(total / variance**0.5))
    return bias, standardised


@pytest.mark.parametrize("interactions", [[], [(0, 1), (1, 2)]])
def test_the_criteria_are_those_of_the_cells_one_by_one(interactions: list[tuple[int, int]]) -> None:
    fitting, table = sample(7)
    rate, model = 0.2, fitting.fit(interactions)
    total = table.sum() / rate
    bias, standardised = plain_bias(table.ravel(), rate, total * full(model).ravel())
    expected = total * model.shares(fitting.codes)
    found = model_errors(fitting.mass, np.full(len(expected), rate), expected, model.cells(total), rate)
    assert found.bias == pytest.approx(bias, rel=1e-3)
    assert found.standardised == pytest.approx(standardised, rel=1e-3)


def test_where_the_file_is_the_population_there_is_no_bias() -> None:
    fitting, table = sample(7)
    model = fitting.fit(())
    expected = table.sum() * model.shares(fitting.codes)
    found = model_errors(fitting.mass, np.ones(len(expected)), expected, model.cells(float(table.sum())), 1.0)
    assert (found.bias, found.standardised) == ((0.0, 0.0), (0.0, 0.0))


def test_the_criteria_are_standard_normal_where_the_model_is_right() -> None:
    """Independent attributes, known margins: 300 samples."""
    rng, rate = np.random.default_rng(1), 0.1
    lambdas = 3000.0 * np.einsum("i,j,k->ijk", *(rng.dirichlet(np.full(size, 2.0)) for size in (8, 9, 10))).ravel()
    found = []
    for _ in range(300):
        f = rng.poisson(rate * lambdas).astype(np.float64)
        cells = (lambdas, np.ones(len(lambdas)))
        seen = f > 0
        found.append(model_errors(f[seen], np.full(seen.sum(), rate), lambdas[seen], cells, rate).standardised)
    assert np.abs(np.mean(found, axis=0)).max() < 4 / 300**0.5
    assert np.std(found, axis=0) == pytest.approx([1.0, 1.0], abs=0.17)


@pytest.mark.parametrize("shape", [0.5, 3.0])
def test_the_shape_of_overdispersed_counts_is_found(shape: float) -> None:
    rng = np.random.default_rng(2)
    means = rng.gamma(0.5, 1.0, 40_000)
    counts = rng.poisson(means * rng.gamma(shape, 1 / shape, len(means))).astype(np.float64)
    seen = counts > 0
    found = dispersion_shape(counts[seen], means[seen], (means, np.ones(len(means))))
    assert found == pytest.approx(shape, rel=0.15)
    even = rng.poisson(means).astype(np.float64)
    assert dispersion_shape(even[even > 0], means[even > 0], (means, np.ones(len(means)))) > 50
