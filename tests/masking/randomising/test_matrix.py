"""Matrix masking V' = A V B + C, and other releases in this form."""

from __future__ import annotations

import tomllib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from microveil.comparison.matrix_mask import indicators, to_matrix_mask
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError
from microveil.masking import Plan, Release, Step
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.matrix import Matrix
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.microdata import Microdata
from microveil.progress import silent
from microveil.protection import protect
from microveil.randomness import Streams

FloatArray = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def numbers() -> Microdata:
    drawn = np.random.default_rng(1).normal(size=(30, 2)).round(2)
    return Microdata.of({"x": drawn[:, 0], "y": drawn[:, 1] * 100})


def check_numbers(data: Microdata, release: Release, name: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A V B + C is the release; A, B and C for what else is to be checked."""
    mask = to_matrix_mask(data, release)[name]
    np.testing.assert_allclose(
        mask.apply(data.numbers(name).values[:, None])[:, 0], release.data.numbers(name).values, rtol=1e-12
    )
    return mask.A.toarray(), mask.B, mask.C


@pytest.mark.spec("01:MK-0")
def test_noise_is_the_displacement(numbers: Microdata) -> None:
    release = Noise().mask(numbers, seed=1)
    for name in numbers.names:
        A, B, C = check_numbers(numbers, release, name)
        np.testing.assert_array_equal(A, np.eye(30))
        assert B.tolist() == [[1.0]]
        assert (C != 0).all()


@pytest.mark.spec("01:MK-0")
def test_microaggregation_averages_in_blocks(numbers: Microdata) -> None:
    release = MDAV(k=4).mask(numbers)
    for name in numbers.names:
        A, B, C = check_numbers(numbers, release, name)
        assert release.partition is not None
        labels, sizes = release.partition.labels, release.partition.sizes
        np.testing.assert_allclose(A, (labels[:, None] == labels) / sizes[labels][:, None])
        assert B.tolist() == [[1.0]]
        assert (C == 0).all()


@pytest.mark.spec("01:MK-0")
def test_what_is_published_beside_the_mean_is_the_displacement(numbers: Microdata) -> None:
    A, _, C = check_numbers(numbers, MDAV(k=5, publish="median").mask(numbers), "x")
    np.testing.assert_allclose(A.sum(axis=1), 1.0)
    assert (C != 0).any()


@pytest.mark.spec("01:MK-0")
def test_swapping_permutes_the_records_of_each_column(numbers: Microdata) -> None:
    release = RankSwapping(p=20).mask(numbers, seed=1)
    for name in numbers.names:
        A, B, C = check_numbers(numbers, release, name)
        assert set(np.unique(A)) == {0.0, 1.0}
        assert (A.sum(axis=0) == 1).all()
        assert (A.sum(axis=1) == 1).all()
        assert not np.array_equal(A, np.eye(30))
        assert B.tolist() == [[1.0]]
        assert (C == 0).all()


@pytest.mark.spec("01:MK-0")
def test_pram_is_its_matrix_on_indicators_and_a_displacement_of_expectation_zero() -> None:
    data = Microdata.of({"job": ["cook", "nurse", "smith", "cook"] * 2000})
    release = PRAM(p=0.7).mask(data, seed=1)
    mask = to_matrix_mask(data, release)["job"]
    before, after = indicators(Pair.of(data, release), "job")
    np.testing.assert_allclose(mask.apply(before), after, atol=1e-12)
    np.testing.assert_array_equal(mask.B, release.matrices[("job",)])
    for category in range(3):
        drawn = mask.C[before[:, category] == 1]
        assert (np.abs(drawn.mean(axis=0)) < 5 * 0.5 / np.sqrt(len(drawn))).all()  # five standard errors at most


def test_missing_cells_have_no_matrix_form() -> None:
    data = Microdata.of({"x": pa.array([1.0, None, 3.0])})
    with pytest.raises(DataError, match="'x' has missing cells"):
        to_matrix_mask(data, Noise().mask(data, seed=1))


# --- the method ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("01:MK-0")
def test_attributes_are_mixed_and_displaced(numbers: Microdata) -> None:
    B, shift = np.array([[0.5, 2.0], [0.25, -1.0]]), np.array([3.0, -7.0])
    release = Matrix(mixing=B, shift=shift, alpha=0.0).mask(numbers, seed=1)
    V = np.column_stack([numbers.numbers(name).values for name in numbers.names])
    masked = np.column_stack([release.data.numbers(name).values for name in numbers.names])
    np.testing.assert_allclose(masked, V @ B + shift)


@pytest.mark.spec("01:MK-0")
def test_the_noise_has_the_covariance_given() -> None:
    covariance = np.array([[4.0, 3.0], [3.0, 9.0]])
    data = Microdata.of({"x": np.zeros(40_000), "y": np.arange(40_000.0)})
    release = Matrix(covariance=covariance).mask(data, seed=1)
    noise = np.array([release.data.numbers(n).values - data.numbers(n).values for n in data.names])
    error = 5 * np.sqrt(2 / 40_000)
    assert (np.abs(np.cov(noise) - covariance) < error * np.sqrt(np.outer([4, 9], [4, 9]))).all()


def test_a_covariance_may_lack_a_direction_but_for_rounding() -> None:
    data = Microdata.of({name: [1.0, 2.0, 3.0] for name in "xyz"})
    nearly = [[1.0, 1.0 + 1e-12, 0.0], [1.0 + 1e-12, 1.0, 0.0], [0.0, 0.0, 1.0]]
    noise = np.column_stack([Matrix(covariance=nearly).mask(data, seed=1).frame[n].to_numpy() for n in "xyz"])
    assert noise[:, 0] == pytest.approx(noise[:, 1], abs=1e-5)


def test_without_mixing_it_is_independent_noise(numbers: Microdata) -> None:
    """With the same random numbers; in releases each has its own."""
    matrix, noise = (method._mask(numbers, numbers.names, Streams(1), silent) for method in (Matrix(), Noise()))
    assert matrix.columns == noise.columns


def test_a_plan_can_give_the_matrices(numbers: Microdata) -> None:
    parameters = {"mixing": [[1.0, 0.5], [0, 1]], "shift": [1, 2], "covariance": [[1.0, 0.0], [0.0, 1.0]]}
    release = protect(numbers, Plan((Step("matrix", parameters),), seed=3))
    again = protect(numbers, Plan.from_plain(tomllib.loads(release.plan.to_toml())))
    assert again.data.digest() == release.data.digest()
    assert release.data.digest() == Matrix(**parameters).mask(numbers, seed=3).data.digest()


def test_missing_cells_stay_and_are_mixed_in_with_their_mean() -> None:
    data = Microdata.of({"x": pa.array([1.0, None, 3.0]), "y": [10.0, 20.0, 30.0]})
    release = Matrix(mixing=[[1, 1], [0, 1]], alpha=0.0).mask(data, seed=1)
    assert release.frame["x"].to_pylist() == [1.0, None, 3.0]
    assert release.frame["y"].to_pylist() == [11.0, 22.0, 33.0]


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"mixing": [[1.0]]}, "mixing must have 2 rows of 2 numbers"),
        ({"mixing": [[1.0, 2.0], [3.0]]}, "mixing must have 2 rows of 2 numbers"),
        ({"shift": [1.0]}, "shift has 1 numbers, but 2 attributes are masked"),
        ({"covariance": [[1.0, 2.0], [2.0, 1.0]]}, "covariance is not allowed; it must be symmetric"),
        ({"covariance": [[1.0, 0.5], [0.0, 1.0]]}, "covariance is not allowed; it must be symmetric"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(numbers: Microdata, parameters: dict[str, object], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        Matrix(**parameters).mask(numbers, seed=1)
