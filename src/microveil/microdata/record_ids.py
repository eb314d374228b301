"""Ids of records that are declared: random numbers then belong to them, not to where the records stand.

A whole number is its own place in a random stream, and a text has that of a digest of 64 bits. What the streams are
derived from is a digest of the records in any order, so that the same records in other files, or sorted in another way,
get the same numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError
from microveil.numerics.core.splitmix import INCREMENT, finished
from microveil.typing import Bits, BoolArray

_OTHER_HALF = np.uint64(0x6A09E667F3BCC909)  # so that the two halves of a digest have nothing in common


def numbers_of_ids(ids: pa.Array, name: str) -> Bits:
    """Where the random numbers of records are in a stream, by the ids of these records; every record needs one.

    >>> numbers_of_ids(pa.array([7, 0]), "person").tolist()
    [7, 0]
    """
    if ids.null_count:
        raise DataError(
            f"attribute '{name}' is the id of a record, but is missing in {ids.null_count:,} of {len(ids):,} records"
        )
    if pa.types.is_integer(ids.type):
        numbers = ids.to_numpy(zero_copy_only=False)
        return np.asarray(numbers.astype(np.int64 if numbers.dtype.kind == "i" else np.uint64)).view(np.uint64)
    if not (pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type)):
        raise DataError(f"attribute '{name}' is the id of a record, so it must hold whole numbers or texts")
    return _digests(ids.to_pylist())


def refuse_repeated(ids: pa.Array, name: str) -> None:
    """Refuse ids of which any comes twice, for its records would share their random numbers."""
    repeated = len(ids) - pc.count_distinct(ids).as_py()
    if repeated:
        raise DataError(
            f"attribute '{name}' is the id of a record, so no two may have the same; records whose id is that of an "
            f"earlier one: {repeated:,}"
        )


def repeated_among(numbers: Bits) -> Bits:
    """The numbers that come more than once."""
    found, counts = np.unique(numbers, return_counts=True)
    return np.asarray(found[counts > 1])


@dataclass(frozen=True)
class ContentSum:
    """The contents of some records, added up: the same for the same records in any order."""

    records: int
    halves: tuple[int, int]

    @classmethod
    def of(cls, numbers: Bits, columns: Sequence[pa.Array]) -> ContentSum:
        """Of records by the numbers of their ids and all of their cells."""
        halves = numbers.copy(), numbers ^ _OTHER_HALF
        with np.errstate(over="ignore"):
            for column in columns:
                cells = _bits_of(column)
                halves = finished((halves[0] ^ cells) + INCREMENT), finished((halves[1] ^ cells) + INCREMENT)
            first, second = (finished(half + INCREMENT).sum(dtype=np.uint64) for half in halves)
        return cls(len(numbers), (int(first), int(second)))

    def __add__(self, other: ContentSum) -> ContentSum:
        first, second = ((a + b) % 2**64 for a, b in zip(self.halves, other.halves, strict=True))
        return ContentSum(self.records + other.records, (first, second))

    def digest(self, names: Sequence[str]) -> str:
        """One of the contents and the names of the columns. It tells tables apart, and proves nothing."""
        told = [str(self.records), *map(str, self.halves), *(f"{len(name)}:{name}" for name in names)]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()


def _digests(texts: Sequence[str | None]) -> Bits:
    made = b"".join(
        hashlib.blake2b((text or "").encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts
    )
    return np.frombuffer(made, dtype="<u8").astype(np.uint64)


def _bits_of(column: pa.Array) -> Bits:
    """The content of each cell as 64 bits, whatever the type in which a frame or a file holds it."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        cells = np.ascontiguousarray(np.where(np.isnan(values), np.nan, values) + 0.0).view(np.uint64)
        return cells ^ _beyond_doubles(column, values) if pa.types.is_integer(kind) else cells
    if pa.types.is_duration(kind):
        return _bits_of(column.cast(pa.int64()))
    try:
        text = column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists, records and the like have no text form in Arrow
        text = pa.array([None if cell is None else repr(cell) for cell in column.to_pylist()], pa.large_string())
    found = text.dictionary_encode()
    empty = np.uint64(2**64 - 1)
    of_value = np.append(_digests(found.dictionary.to_pylist()), empty)
    return np.asarray(of_value[found.indices.fill_null(len(found.dictionary)).to_numpy(zero_copy_only=False)])


def _beyond_doubles(column: pa.Array, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Bits:
    """The digits of whole numbers that a double cannot tell apart; 0 for all others."""
    beyond: BoolArray = np.abs(values) >= 2.0**53
    found = np.zeros(len(values), dtype=np.uint64)
    if beyond.any():
        found[beyond] = _digests(column.filter(pa.array(beyond)).cast(pa.string()).to_pylist())
    return found
