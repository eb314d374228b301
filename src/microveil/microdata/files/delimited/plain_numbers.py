"""Numbers in their plain forms, recognised a chunk of a column at a time.

Arrow reads numbers quickly, but takes more for a number than is one here: leading zeros, hexadecimal digits, NaN.
So the bytes of the whole chunk are checked, too, without a look at each cell; what is not plain is left to patterns.
Missing cells are to have no bytes, as those of Arrow's reader and of `tidy_cells`; with any, a chunk is not plain.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

ByteArray = npt.NDArray[np.uint8]
IndexArray = npt.NDArray[np.int32 | np.int64]

_ZERO, _NINE, _MINUS, _PLUS = b"09-+"
_DIGITS = b"0123456789"
_EXPONENTS = b"eE"
# whole numbers of so many characters, hence beyond so much, may not fit a double
_LONG, _LARGE = 16, 1e14


def plain_whole_numbers(cells: pa.Array) -> pa.Array | None:
    """Cells that are whole numbers, each written as Arrow writes it; None where one is not.

    Every other way to write a whole number in digits is longer, so the length of all cells together tells.
    """
    written, offsets = text_bytes(cells)
    if not _consists_of(written, bytes([_MINUS])):
        return None
    try:
        values = cells.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    present = values.drop_null().to_numpy(zero_copy_only=False)
    return values if _length_in_digits(present) == offsets[-1] else None


def plain_decimals(cells: pa.Array, mark: str) -> pa.Array | None:
    """Cells that are numbers with this decimal mark, without leading zeros or plus, and not all whole; None where one
    is not, where one is infinite and where a whole number may be too long for a double.
    """
    written, offsets = text_bytes(cells)
    marks = mark.encode() + _EXPONENTS
    if not any((written == sign).any() for sign in marks) or not _consists_of(written, marks + bytes([_MINUS, _PLUS])):
        return None
    if mark != ".":
        cells = pc.replace_substring(cells, mark, ".")  # as long as before
    try:
        values = cells.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    odd = _has_leading_plus(written) or _has_leading_zeros(written, offsets) or _has_long_numbers(values, offsets)
    return None if odd else values


def text_bytes(cells: pa.Array) -> tuple[ByteArray, IndexArray]:
    """The bytes of all cells one after the other, and where each begins; the last one's end comes last."""
    _, places, content = cells.buffers()
    width: type[np.int32 | np.int64] = np.int64 if pa.types.is_large_string(cells.type) else np.int32
    if not len(cells) or content is None:
        return np.empty(0, dtype=np.uint8), np.zeros(len(cells) + 1, dtype=width)
    offsets = np.frombuffer(places, dtype=width)[cells.offset : cells.offset + len(cells) + 1]
    return np.frombuffer(content, dtype=np.uint8)[offsets[0] : offsets[-1]], offsets - offsets[0]


def _consists_of(written: ByteArray, signs: bytes) -> bool:
    """Whether there is nothing but digits and these. Looked at first, because casts that fail take long."""
    if not written.size:
        return True
    allowed = _DIGITS + signs
    low, high = int(written.min()), int(written.max())
    if high > _NINE:  # the letters of exponents; without any, there is little between the lowest sign and the nine
        return not written.tobytes().translate(None, allowed)
    return not any((written == sign).any() for sign in range(low, high) if sign not in allowed)


def _length_in_digits(values: npt.NDArray[np.int64]) -> int:
    """How many characters whole numbers take without leading zeros."""
    if not len(values):
        return 0
    sizes = np.abs(values).view(np.uint64)  # of the smallest number, too
    length = len(values) + int(np.count_nonzero(values < 0))
    largest, power = int(sizes.max()), 10
    while power <= largest:
        length += int(np.count_nonzero(sizes >= np.uint64(power)))
        power *= 10
    return length


def _has_leading_plus(written: ByteArray) -> bool:
    """Whether there is a plus elsewhere than after the letter of an exponent, which is never the end of a number."""
    places = np.flatnonzero(written == _PLUS)
    before = written.take(places - 1, mode="wrap")
    return bool(len(places)) and not bool(np.isin(before, list(_EXPONENTS)).all())


def _has_leading_zeros(written: ByteArray, offsets: IndexArray) -> bool:
    """Whether the digits of some cell begin with a zero and another digit."""
    if not written.size:
        return False
    first = offsets[:-1]
    first = first + (written.take(first, mode="clip") == _MINUS)
    zeros = np.flatnonzero((written.take(first, mode="clip") == _ZERO) & (first + 1 < offsets[1:]))
    second = written[first[zeros] + 1]
    return bool(((second >= _ZERO) & (second <= _NINE)).any())


def _has_long_numbers(values: pa.Array, offsets: IndexArray) -> bool:
    """Whether some cell is so long and so large that it may be a whole number with more digits than a double has."""
    large = np.flatnonzero(np.abs(values.to_numpy(zero_copy_only=False)) >= _LARGE)
    return bool((offsets[large + 1] - offsets[large] >= _LONG).any())
