"""The private file beside a release: what the masking used, for attacks by an intruder who knows the method.

It holds the groups by block of attributes, the matrices, which record of the original each released record is, and in
which records all members of a household agreed. No value of the original is in it but, where a release has new
identifiers, the old ones beside them (the key tables); with it much of the masking can be undone, so only its owner may
read it.

It is a JSON text with the version of its format, the digest of the released table, and a list of arrays, each with its
kind, attributes, shape and type, its values compressed by zlib and in base64. No library that a damaged file could
crash takes part in reading it, and no array is unpacked beyond the size it should have. The manifest has the SHA-256 of
the whole file, so what was damaged or put in its place is refused before it is read.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from microveil.errors import FileError, MicroveilError, parsed
from microveil.masking.new_ids import KeyTable
from microveil.masking.partition import Partition
from microveil.microdata.files.inputs import check_regular, read_text
from microveil.typing import BoolArray, FloatArray, IntArray

PRIVATE_ENDING = ".private.json"
_VERSION = 1
_KEPT_PRIVATE = "keep this file private: with it much of the masking can be undone"
_INTEGERS = ("<u1", "<u2", "<u4", "<u8")
_NUMBERS = "<f8"
_MOST_BYTES = 2 << 30  # of the file
_MOST_CELLS = 1 << 27  # of a matrix: one gigabyte
_DAMAGED = "this private file is damaged, so the release cannot be read with it; put back the one written with it"
# what a description of another shape leads to
_REFUSED = (ValueError, TypeError, LookupError, AttributeError, zlib.error, MicroveilError)


@dataclass(frozen=True)
class PrivateContent:
    """What the masking of a release used, as `Release` has it."""

    partitions: Mapping[tuple[str, ...], Partition] = field(default_factory=dict)
    matrices: Mapping[tuple[str, ...], FloatArray] = field(default_factory=dict)
    rows: IntArray | None = None
    agreed: Mapping[str, BoolArray] = field(default_factory=dict)
    key_tables: Mapping[str, KeyTable] = field(default_factory=dict)

    @property
    def is_needed(self) -> bool:
        """Whether an attack, or the owner, could use it."""
        return bool(self.partitions or self.matrices or self.rows is not None or self.key_tables)

    def to_text(self, digest: str) -> str:
        """As the file beside the table with this digest; the same content gives the same text."""
        arrays = [
            *(_packed("partition", block, partition.labels) for block, partition in self.partitions.items()),
            *(_packed("matrix", names, matrix) for names, matrix in self.matrices.items()),
            *([] if self.rows is None else [_packed("rows", (), self.rows)]),
            *(_packed("agreed", (name,), records) for name, records in self.agreed.items()),
        ]
        content = {"format": _VERSION, "private": _KEPT_PRIVATE, "digest": digest, "arrays": arrays}
        if self.key_tables:
            content["key_tables"] = {name: table.to_plain() for name, table in self.key_tables.items()}
        return json.dumps(content, indent=1) + "\n"


def private_path(path: str | Path) -> Path:
    """Where the private file of a release lies: `safe.csv` has `safe.csv.private.json`."""
    path = Path(path)
    return path.parent / (path.name + PRIVATE_ENDING)


def read_private_file(path: Path, *, digest: str | None, records: int, input_records: int) -> PrivateContent:
    """The content of the private file of a table with this digest and so many records, made from so many."""
    check_regular(path)
    size = path.stat().st_size
    if size > _MOST_BYTES:
        raise FileError(path, f"is larger than {_MOST_BYTES >> 20:,} MB, so it is not what it should be")
    try:
        content = parsed(json.loads, read_text(path, size))
        if type(content["format"]) is int and content["format"] > _VERSION:
            raise FileError(path, "was written by a newer version of Microveil; install that one to read it")
        if content["digest"] != digest:
            raise FileError(path, "is the private file of another table, so the release cannot be read with it")
        found = _content_of(_unpacked(content["arrays"], max(records, input_records)), records, input_records)
        keys = {str(name): KeyTable.from_plain(plain) for name, plain in content.get("key_tables", {}).items()}
        return replace(found, key_tables=keys)
    except FileError:
        raise
    except MemoryError:
        raise FileError(path, "there is not enough memory for this file") from None
    except _REFUSED:
        raise FileError(path, _DAMAGED) from None


def _packed(kind: str, attributes: Sequence[str], values: IntArray | FloatArray | BoolArray) -> dict[str, Any]:
    stored = _NUMBERS if kind == "matrix" else _narrowest(int(values.max(initial=0)))
    content = zlib.compress(np.ascontiguousarray(values, dtype=stored).tobytes())
    shape, text = list(values.shape), base64.b64encode(content).decode("ascii")
    return {"kind": kind, "attributes": list(attributes), "shape": shape, "type": stored, "values": text}


def _narrowest(largest: int) -> str:
    return next(name for name in _INTEGERS if largest <= np.iinfo(name).max)


def _unpacked(arrays: Any, most: int) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Kind, attributes and values of each array; other than matrices they have at most so many values."""
    if not isinstance(arrays, list):
        raise TypeError
    for array in arrays:
        kind, names, shape, stored = (array[part] for part in ("kind", "attributes", "shape", "type"))
        matrix = kind == "matrix"
        if len(shape) != 1 + matrix or not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError
        if stored not in ((_NUMBERS,) if matrix else _INTEGERS) or prod(shape) > (_MOST_CELLS if matrix else most):
            raise ValueError
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TypeError
        expected = prod(shape) * np.dtype(stored).itemsize
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(base64.b64decode(array["values"], validate=True), expected + 1)
        if len(content) != expected or not unpacking.eof or unpacking.unused_data:
            raise ValueError
        yield kind, tuple(names), np.frombuffer(content, stored).reshape(shape)


def _content_of(arrays: Iterable[tuple[str, tuple[str, ...], Any]], records: int, input_records: int) -> PrivateContent:
    partitions: dict[tuple[str, ...], Partition] = {}
    matrices: dict[tuple[str, ...], FloatArray] = {}
    agreed: dict[str, BoolArray] = {}
    rows: IntArray | None = None
    for kind, names, values in arrays:
        if kind == "partition":
            partitions[names] = Partition.of(values)
        elif kind == "matrix" and names and np.isfinite(values).all():
            matrices[names] = values.astype(np.float64)
        elif kind == "agreed" and len(values) == records:
            agreed[names[0]] = values.astype(np.bool_)
        elif kind == "rows" and rows is None and len(values) == records and values.max(initial=0) < input_records:
            rows = values.astype(np.int64)
        else:
            raise ValueError
    return PrivateContent(partitions, matrices, rows, agreed)
