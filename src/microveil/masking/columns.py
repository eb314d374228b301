"""Numeric attributes side by side as one matrix, and back to columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from microveil.errors import DataError
from microveil.masking.notes import COVARIANCES_IN_PART, RANGES_KEPT, Note
from microveil.microdata import Microdata
from microveil.microdata.microdata import count
from microveil.numerics.statistics.moments import complete_rows, with_moments_of
from microveil.typing import FloatArray


def columns_of(data: Microdata, attributes: Sequence[str], values: FloatArray) -> dict[str, pa.Array]:
    """Masked values as columns of the table."""
    return {name: data.number_column(name, column) for name, column in zip(attributes, values.T, strict=True)}


def restored_moments(
    data: Microdata, attributes: Sequence[str], original: FloatArray, masked: FloatArray, asker: str
) -> tuple[FloatArray, tuple[Note, ...]]:
    """Masked values with the means and covariances of the original, and what keeps these from being exact."""
    complete = int(complete_rows(original, masked).sum())
    # with fewer the original would come back, turned at most
    if complete < len(attributes) + 2:
        raise DataError(
            f"{count(complete, 'record')} without missing cells are too few for {asker} to restore the covariances "
            f"of {count(len(attributes), 'attribute')}; it needs at least {len(attributes) + 2}"
        )
    restored, reached = with_moments_of(original, masked)
    notes = []
    if not reached:
        notes.append(COVARIANCES_IN_PART(method=asker))
    outside = _outside_range(data, attributes, restored)
    if outside:
        notes.append(RANGES_KEPT(method=asker, values=outside))
    return restored, tuple(notes)


def _outside_range(data: Microdata, attributes: Sequence[str], values: FloatArray) -> int:
    limits = [data[name].range or (-np.inf, np.inf) for name in attributes]
    low, high = np.array(limits).T
    return int(((values < low) | (values > high)).sum())
