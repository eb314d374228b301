"""Columns that grow while a file is read and are never held twice in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from microveil.microdata.files.delimited.type_inference import to_numbers

_LONGEST_COLUMN = 2**31 - 1


class ColumnBuilder:
    """A column in chunks, each of them the cells as text or already as numbers, joined in the end."""

    def __init__(self) -> None:
        self._chunks: list[pa.Array] = []
        self.has_numbers = False

    def add(self, cells: pa.Array) -> None:
        self._chunks.append(cells)
        self.has_numbers |= not pa.types.is_string(cells.type)

    def forget(self) -> None:
        """Drop what is held, for the column has to be read again."""
        self._chunks = []

    def texts(self) -> pa.ChunkedArray:
        """The column as text; left in chunks if it is too long for one Arrow array."""
        chunks, self._chunks = self._chunks, []
        if chunks and sum(chunk.nbytes for chunk in chunks) <= _LONGEST_COLUMN:
            chunks = [pa.concat_arrays(chunks)]
        return pa.chunked_array(chunks, type=pa.string())

    def numbers(self, kind: pa.DataType, mark: str) -> pa.ChunkedArray:
        """The column as numbers of this type."""
        values = np.empty(sum(map(len, self._chunks)), dtype=kind.to_pandas_dtype())
        present = np.ones(len(values), dtype=np.bool_)
        filled = len(values)
        while self._chunks:
            numbers = self._chunks.pop()
            if pa.types.is_string(numbers.type):
                numbers = to_numbers(numbers, kind, mark)
            chunk = slice(filled - len(numbers), filled)
            filled = chunk.start
            if numbers.null_count:
                present[chunk] = numbers.is_valid().to_numpy(zero_copy_only=False)
                numbers = numbers.fill_null(0)
            values[chunk] = numbers.to_numpy(zero_copy_only=False)
        bits = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
        column = pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(values)])
        return pa.chunked_array([column], type=kind)
