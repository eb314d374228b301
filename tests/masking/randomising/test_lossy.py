"""Lossy compression: the table as a grey image, compressed as JPEG does it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from microveil.errors import ParameterError
from microveil.losses.numeric.sse import SSE
from microveil.masking.randomising.lossy import Lossy
from microveil.microdata import Microdata
from microveil.numerics.perturbing.jpeg import coarseness, compressed

FloatArray = npt.NDArray[np.float64]


def compressed_by_definition(square: FloatArray, steps: FloatArray) -> FloatArray:
    """The cosine transform of one block of 8 x 8, its coarsening and its inverse, term by term."""
    place = np.arange(8)
    waves = np.cos((2 * place[:, None] + 1) * place[None, :] * np.pi / 16) * 0.5
    waves[:, 0] /= np.sqrt(2)
    frequencies = waves.T @ (square - 128) @ waves
    coarse = np.round(np.round(frequencies / steps, 9)) * steps
    return np.clip(np.round(np.round(waves @ coarse @ waves.T + 128, 9)), 0, 255)


@pytest.mark.spec("01:MK-6")
@pytest.mark.parametrize("quality", [1, 20, 50, 75, 100])
def test_blocks_are_transformed_as_the_definition_says(quality: int) -> None:
    grey = np.random.default_rng(quality).integers(0, 256, (24, 16)).astype(float)
    seen = compressed(grey, quality)
    for i in range(0, 24, 8):
        for j in range(0, 16, 8):
            expected = compressed_by_definition(grey[i : i + 8, j : j + 8], coarseness(quality))
            np.testing.assert_array_equal(seen[i : i + 8, j : j + 8], expected)


@pytest.mark.spec("01:MK-6")
def test_the_table_of_the_standard_is_scaled_by_quality() -> None:
    assert coarseness(50)[0].tolist() == [16, 11, 10, 16, 24, 40, 51, 61]
    assert coarseness(25)[0].tolist() == [32, 22, 20, 32, 48, 80, 102, 122]  # 5000/25 = 200 percent
    assert coarseness(90)[0].tolist() == [3, 2, 2, 3, 5, 8, 10, 12]  # 200 - 2*90 = 20 percent
    assert coarseness(100).max() == 1
    assert coarseness(1).min() == 255


@pytest.mark.spec("01:MK-6")
def test_edges_are_repeated_to_fill_the_blocks() -> None:
    grey = np.random.default_rng(1).integers(0, 256, (11, 3)).astype(float)
    filled = np.pad(grey, ((0, 5), (0, 5)), mode="edge")
    np.testing.assert_array_equal(compressed(grey, 60), compressed(filled, 60)[:11, :3])


@pytest.mark.spec("01:MK-6")
def test_better_quality_loses_less(reference: Callable[..., Microdata]) -> None:
    census = reference("census")
    lost = [SSE().measure(census, Lossy(quality=q).mask(census)).value for q in (5, 25, 60, 100)]
    assert lost[0] > lost[1] > lost[2] > lost[3]
    assert lost[3] < 1.0


@pytest.mark.spec("01:MK-6")
def test_the_best_quality_is_right_to_a_few_of_the_256_steps() -> None:
    values = np.random.default_rng(1).normal(size=(100, 5))
    data = Microdata.of({f"v{j}": values[:, j] for j in range(5)})
    release = Lossy(quality=100).mask(data).data
    for j in range(5):
        moved = np.abs(release.numbers(f"v{j}").values - values[:, j])
        assert moved.max() < 3 * np.ptp(values[:, j]) / 255


@pytest.mark.spec("01:MK-6")
def test_constants_stay_and_change_nothing_for_the_others() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 40))
    alone = Lossy(quality=20).mask(Microdata.of({"x": x, "y": y}))
    beside = Lossy(quality=20).mask(Microdata.of({"x": x, "c": [0.1] * 40, "y": y}))
    assert beside.frame["c"].to_pylist() == [0.1] * 40
    assert beside.frame["y"].to_pylist() == alone.frame["y"].to_pylist()


def test_records_are_blurred_in_blocks_of_eight() -> None:
    """The order of the records matters: another record touches only those of its block."""
    x = np.random.default_rng(1).normal(size=64)
    other = x.copy()
    assert x[20] not in (x.min(), x.max())
    other[20] = x[30]
    before, after = (Lossy(quality=30).mask(Microdata.of({"x": v})).data.numbers("x").values for v in (x, other))
    touched = np.flatnonzero(before != after)
    assert touched.size
    assert set(touched) <= set(range(16, 24))


def test_correlated_attributes_can_stand_side_by_side() -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=(300, 2))
    columns = {f"v{j:02}": base[:, j % 2] + 0.05 * rng.normal(size=300) for j in range(16)}
    data = Microdata.of(columns)
    lost = {
        order: SSE().measure(data, Lossy(quality=30, order=order).mask(data)).value for order in ("given", "correlated")
    }
    assert lost["correlated"] < 0.8 * lost["given"]


def test_missing_cells_stay_and_values_stay_between_the_extremes() -> None:
    values = np.random.default_rng(1).normal(size=50)
    gaps = np.arange(50) % 7 == 0
    data = Microdata.of({"x": pa.array(values, mask=gaps), "y": np.arange(50.0)})
    after = Lossy(quality=5).mask(data).data.numbers("x").values
    assert (np.isnan(after) == gaps).all()
    assert np.nanmin(after) >= values[~gaps].min()
    assert np.nanmax(after) <= values[~gaps].max()


@pytest.mark.parametrize("quality", [0, 101])
def test_quality_is_a_percentage(quality: int) -> None:
    with pytest.raises(ParameterError, match=f"quality = {quality} is not allowed"):
        Lossy(quality=quality)
