"""What a group publishes for its members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.masking.notes import SHARED_NOISE, Note
from microveil.masking.partition import Partition
from microveil.microdata import Categories, Microdata
from microveil.numerics.grouping.groups import means_by_group, medians_by_group
from microveil.typing import BoolArray, FloatArray, IntArray

Publish = Literal["mean", "median", "mode", "perturb", "hybrid"]


def published_columns(
    data: Microdata,
    partition: Partition,
    suppressed: Mapping[str, BoolArray],
    publish: Publish,
    weights: FloatArray | None,
    rng: np.random.Generator,
) -> tuple[dict[str, pa.Array], tuple[Note, ...]]:
    """The released columns of some attributes, given which of their cells may not be published; with notes on them.

    Numbers are published as asked for; categories always as their group's plurality, ordered ones as its median.
    """
    numeric = [name for name in suppressed if data[name].kind == "numeric"]
    columns: dict[str, pa.Array] = {}
    notes: tuple[Note, ...] = ()
    if numeric:
        matrix = data.matrix(numeric)
        values, notes = published_values(matrix, partition, publish, weights, rng)
        for name, column in zip(numeric, values.T, strict=True):
            columns[name] = data.number_column(name, column, suppressed[name])
    released = {
        name: columns[name] if name in columns else _published_categories(data, name, partition, cells, weights)
        for name, cells in suppressed.items()
    }
    return released, notes


def _published_categories(
    data: Microdata, name: str, partition: Partition, suppressed: BoolArray, weights: FloatArray | None
) -> pa.Array:
    from microveil.numerics.statistics.category_coordinates import median_by_group, plurality_by_group

    column, missing = data.categories(name), data.missing_states(name) > 0
    in_common = median_by_group if data[name].kind == "ordinal" else plurality_by_group
    codes = in_common(np.where(missing, -1, column.codes), partition.labels, weights)
    released = data.category_column(Categories(name, np.where(missing, -1, codes), column.domain))
    return pc.if_else(pa.array(suppressed), pa.scalar(None, released.type), released) if suppressed.any() else released


def published_values(
    values: FloatArray,
    partition: Partition,
    publish: Publish,
    weights: FloatArray | None,
    rng: np.random.Generator,
) -> tuple[FloatArray, tuple[Note, ...]]:
    """What each record publishes, column by column, NaN where a group has no value; and what is to be said about it.

    `perturb` draws records around their group's mean so that means and covariances of the file are kept in expectation;
    `hybrid` so that those of every group are, where it is large enough.
    """
    labels = partition.labels
    if publish in ("perturb", "hybrid"):
        from microveil.numerics.perturbing.perturbation import hybrid, perturb

        if publish == "hybrid":
            drawn, fallen_back = hybrid(values, labels, rng)
            return drawn, shared_noise_notes(fallen_back)
        return perturb(values, labels, "centred", "normal", rng), ()
    if publish == "median":
        return np.column_stack([medians_by_group(column, labels) for column in values.T]), ()
    if publish == "mode":
        return np.column_stack([modes_by_group(column, labels) for column in values.T]), ()
    return means_by_group(values, labels, weights), ()


def shared_noise_notes(groups: int) -> tuple[Note, ...]:
    """What is to be said where so many groups could not have noise of their own."""
    return (SHARED_NOISE(groups=groups),) if groups else ()


def modes_by_group(values: FloatArray, labels: IntArray) -> FloatArray:
    """For each record the most frequent of the values its group has, of equally frequent ones the first in the file.

    Where all values of a group differ none is the most frequent, and the median speaks for it; NaN without any value.

    >>> modes_by_group(np.array([5.0, 1.0, 5.0, 2.0, 7.0]), np.array([0, 0, 0, 1, 1])).tolist()
    [5.0, 5.0, 5.0, 4.5, 4.5]
    """
    modes = medians_by_group(values, labels)
    present = np.flatnonzero(~np.isnan(values))
    order = present[np.lexsort((values[present], labels[present]))]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (np.diff(values[order]) != 0) | (np.diff(labels[order]) != 0)
    starts = np.flatnonzero(begins)
    frequent = np.diff(starts, append=len(order)) > 1
    first, lengths = order[starts[frequent]], np.diff(starts, append=len(order))[frequent]
    ranked = first[np.lexsort((first, -lengths, labels[first]))]
    groups, best = np.unique(labels[ranked], return_index=True)
    place = np.full(int(labels.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[groups] = ranked[best]
    chosen = place[labels]
    return np.where(chosen >= 0, values[chosen], modes)


def group_counts(present: BoolArray, partition: Partition) -> IntArray:
    """For each record how many members of its group have the cell."""
    return np.bincount(partition.labels, weights=present)[partition.labels].astype(np.int64)
