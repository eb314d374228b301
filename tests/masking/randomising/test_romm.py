"""Random orthogonal matrix masking: moments stay exact, values do not, and the work grows with the records."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.errors import DataError, ParameterError
from microveil.masking.randomising.romm import ROMM
from microveil.microdata import Microdata
from microveil.numerics.perturbing.orthogonal import blocks_of, rotated


def firms(n: int, seed: int = 1) -> Microdata:
    rng = np.random.default_rng(seed)
    sales = np.exp(rng.normal(8, 1.5, n))
    return Microdata.of({"sales": sales, "staff": sales**0.5 + rng.normal(0, 20, n), "age": rng.uniform(0, 60, n)})


@pytest.mark.parametrize("n", [5, 99, 100, 101, 457])
@pytest.mark.parametrize("strength", [0.05, 0.3, 1e6])
def test_means_and_covariances_are_those_of_the_original(n: int, strength: float) -> None:
    data = firms(n)
    before, after = (t.matrix(data.names) for t in (data, ROMM(strength=strength).mask(data, seed=3).data))
    assert np.allclose(after.mean(axis=0), before.mean(axis=0), rtol=1e-9)
    assert np.allclose(np.cov(after.T), np.cov(before.T), rtol=1e-8)
    assert not np.isclose(after, before).any()


def test_a_stronger_matrix_moves_values_farther() -> None:
    data = firms(500)
    before = data.matrix(data.names)
    moved = [
        float(
            np.abs((ROMM(strength=s).mask(data, seed=2).data.matrix(data.names) - before) / before.std(axis=0)).mean()
        )
        for s in (0.01, 0.1, 1.0, 10.0)
    ]
    assert moved[:3] == sorted(moved[:3])
    # from 1 on the matrix is nearly uniform over all orthogonal ones, and values move no farther
    assert moved[3] == pytest.approx(moved[2], rel=0.05)
    assert moved[0] < 0.15
    assert np.corrcoef(ROMM(strength=1e6).mask(data, seed=2).data.matrix(["age"])[:, 0], before[:, 2])[0, 1] < 0.3


def test_every_block_keeps_its_own_moments_and_no_other() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(60, 2))
    blocks = blocks_of(60, 20, rng)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(60))
    found = rotated(values, blocks, 1.0, rng)
    for block in blocks:
        assert np.allclose(found[block].mean(axis=0), values[block].mean(axis=0))
        assert np.allclose(np.cov(found[block].T), np.cov(values[block].T))


def test_a_matrix_without_bound_is_drawn_from_all_alike() -> None:
    """Then an entry beside the diagonal has mean 1/n, from the vector of ones, and the variance of a uniform rotation
    of the other n - 1 dimensions."""
    size, draws = 6, 4_000
    corners = []
    rng = np.random.default_rng(8)
    for _ in range(draws):
        matrix = rotated(np.eye(size), [np.arange(size)], np.inf, rng)
        assert np.allclose(matrix @ matrix.T, np.eye(size))
        corners.append(matrix[0, 1])
    assert abs(np.mean(corners) - 1 / size) < 4 * np.sqrt(25 / 36 / 5 / draws)
    assert abs(np.var(corners) / (25 / 36 / 5) - 1) < 0.1


def test_missing_cells_stay_and_a_constant_stays_constant() -> None:
    table = {"a": [1.0, None, 3.0, 9.0, 4.0, 7.0], "b": [5.0] * 6}
    release = ROMM().mask(Microdata.of(table), seed=1)
    assert [value is None or value != value for value in release.frame["a"].to_pylist()] == [False, True] + [False] * 4
    assert np.allclose(release.data.matrix(["b"]), 5.0)


def test_too_few_records_and_wrong_parameters_are_refused() -> None:
    with pytest.raises(DataError, match="the table has 4 records, but romm needs at least 5"):
        ROMM().mask(firms(4), seed=1)
    with pytest.raises(ParameterError, match="strength = 0 is not allowed"):
        ROMM(strength=0)
    with pytest.raises(ParameterError, match="block = 2 is not allowed"):
        ROMM(block=2)
