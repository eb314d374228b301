"""Samples of records where measuring all takes too long: drawn by their content, whatever the order of the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.comparison.control_group import ControlGroup
from microveil.comparison.pairs import Pair
from microveil.microdata.ordered import is_ordered, numbers_in
from microveil.numerics.core.content_hash import content_uniforms
from microveil.randomness import PublicStreams
from microveil.typing import FloatArray, IntArray


def drawn(pair: Pair, attributes: Sequence[str], wanted: int, seed: int, name: str) -> IntArray:
    """The numbers of so many records, ascending; of all if no more are there."""
    if wanted >= len(pair):
        return np.arange(len(pair))
    return np.sort(in_drawn_order(content_of(pair, attributes), seed, name)[:wanted])


def drawn_beside(
    pair: Pair, control: ControlGroup, attributes: Sequence[str], wanted: int, seed: int, name: str
) -> tuple[IntArray, IntArray]:
    """So many persons of the original, and so many of a control group, by their numbers in the list of both."""
    content = np.stack([sortable_cells(control.data.arrow(attribute)) for attribute in attributes])
    others = np.sort(in_drawn_order(content, seed, name)[:wanted])
    return drawn(pair, attributes, wanted, seed, name), len(pair) + others


def in_drawn_order(content: FloatArray, seed: int, name: str) -> IntArray:
    """The numbers of all records in the order in which they are drawn; a record is a column of its contents.

    Each has a random number made of its content. Equal records are distinguished by counting them, so that any of them
    may be drawn without the others.
    """
    records = content.shape[1]
    start = int(PublicStreams(seed).generator(name).integers(2**62))
    alike = content_uniforms(content, start)
    order = np.argsort(alike, kind="stable")
    begins = np.flatnonzero(np.diff(alike[order], prepend=-1.0))
    number = np.empty(records)
    number[order] = np.arange(records) - np.repeat(begins, np.diff(begins, append=records))
    return np.argsort(content_uniforms(np.stack([alike, number]), start), kind="stable").astype(np.int64)


def content_of(pair: Pair, attributes: Sequence[str]) -> FloatArray:
    """The cells of both files in rows: numbers, and texts by their position in order."""
    tables = [(table, name) for name in attributes for table in (pair.original, pair.masked) if name in table.names]
    return np.stack([sortable_cells(table.arrow(name)) for table, name in tables])


def sortable_cells(column: pa.Array) -> FloatArray:
    """The cells of a column as numbers, texts by their position in order; NaN where empty."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if is_ordered(column.type):
        return cast(FloatArray, numbers_in(column))
    encoded = pc.dictionary_encode(column.cast(pa.large_string()))
    texts = encoded.dictionary.to_pylist()
    position = np.empty(len(texts) + 1)
    position[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    position[-1] = np.nan
    made: FloatArray = position[encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)]
    return made
