"""Long files in chunks: whatever groups the records, no group reaches over the border of a chunk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from microveil.errors import ParameterError
from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.crest import Crest
from microveil.masking.microaggregation.md import MD
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.microaggregation.v_mdav import VMDAV
from microveil.microdata import Microdata
from microveil.numerics.grouping.chunks import similar_chunks
from microveil.numerics.statistics.scaling import standardise


@pytest.mark.spec("01:MA-18")
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("method", [MDAV, MD, VMDAV])
def test_groups_stay_within_their_box(method: type[MDAV | MD | VMDAV], axes: int) -> None:
    points = np.random.default_rng(axes).normal(size=(400, 3))
    data = Microdata.of({f"x{j}": points[:, j] for j in range(3)})
    partition = method(k=4, chunk=60, chunk_axes=axes).mask(data).partition
    assert partition is not None
    assert partition.smallest >= 4
    box = np.empty(400, dtype=np.int64)
    boxes = similar_chunks(standardise(points), 60, 4, axes)
    assert len(boxes) >= 7
    for number, rows in enumerate(boxes):
        box[rows] = number
    assert all(len(set(box[rows])) == 1 for rows in partition.groups)


@pytest.mark.spec("01:MA-18")
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_larger_chunks_lose_less(reference: Callable[..., Microdata], axes: int) -> None:
    data = reference("census")
    losses = [
        SSE().measure(data, MDAV(k=3, chunk=size, chunk_axes=axes).mask(data)).value for size in (50, 150, 600, 2000)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(5.6922, abs=5.1e-5)  # the loss of the file as a whole


def test_a_file_no_longer_than_a_chunk_is_not_divided() -> None:
    data = Microdata.of({"a": np.random.default_rng(1).normal(size=50), "b": np.arange(50.0)})
    assert MDAV(k=3, chunk=50, chunk_axes=2).mask(data).partition == MDAV(k=3).mask(data).partition


def test_classes_of_the_file_hold_in_every_box() -> None:
    rng = np.random.default_rng(4)
    data = Microdata.of(
        {"x": rng.random(120), "y": rng.random(120), "c": rng.choice(["a", "b"], 120)},
        keys=["x", "y"],
        confidential=["c"],
    )
    partition = Crest(k=3, chunk=40, chunk_axes=2).mask(data).partition
    assert partition is not None
    assert partition.smallest >= 3


@pytest.mark.parametrize("axes", [0, 9, 1.5])
def test_the_number_of_axes_has_bounds(axes: object) -> None:
    with pytest.raises(ParameterError, match="mdav: chunk_axes = "):
        MDAV(chunk_axes=axes)  # type: ignore[arg-type]
