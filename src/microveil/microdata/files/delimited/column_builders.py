"""Columns that grow while a file is read and are never held twice in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_LONGEST_COLUMN = 2**31 - 1


class NumberColumnBuilder:
    """A numeric column, its room taken at once because the number of records is known."""

    def __init__(self, kind: pa.DataType, count: int) -> None:
        self.kind = kind
        self._values = np.empty(count, dtype=kind.to_pandas_dtype())
        self._present = np.ones(count, dtype=np.bool_)
        self._filled = 0

    def add(self, numbers: pa.Array) -> None:
        chunk = slice(self._filled, self._filled + len(numbers))
        self._filled = chunk.stop
        if numbers.null_count:
            self._present[chunk] = numbers.is_valid().to_numpy(zero_copy_only=False)
            numbers = numbers.fill_null(0)
        self._values[chunk] = numbers.to_numpy(zero_copy_only=False)

    def whole(self) -> pa.ChunkedArray:
        present = None
        if not self._present.all():
            present = pa.py_buffer(np.packbits(self._present, bitorder="little"))
        column = pa.Array.from_buffers(self.kind, self._filled, [present, pa.py_buffer(self._values)])
        return pa.chunked_array([column], type=self.kind)


class TextColumnBuilder:
    """A column of text in chunks, joined in the end; left in chunks if it is too long for one Arrow array."""

    def __init__(self) -> None:
        self._chunks: list[pa.Array] = []

    def add(self, cells: pa.Array) -> None:
        self._chunks.append(cells)

    def whole(self) -> pa.ChunkedArray:
        chunks, self._chunks = self._chunks, []
        if chunks and sum(chunk.nbytes for chunk in chunks) <= _LONGEST_COLUMN:
            chunks = [pa.concat_arrays(chunks)]
        return pa.chunked_array(chunks, type=pa.string())
