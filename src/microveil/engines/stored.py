"""A table in files, in parts of so many records, of which some columns may have been replaced by later ones.

What was read is never changed: a step of masking writes the columns that it masks beside it, and a part is put together
from the newest columns when it is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microveil.engines.base import COUNT, Engine
from microveil.errors import DataError, FileError
from microveil.microdata import Microdata, Schema
from microveil.microdata.facts import Facts, Part
from microveil.microdata.frames import open_frame
from microveil.microdata.microdata import BLOCK
from microveil.microdata.record_ids import numbers_of_ids, refuse_repeated, repeated_among
from microveil.microdata.schema import Category
from microveil.numerics.core.splitmix import finished
from microveil.progress import Part as Stretch
from microveil.progress import Progress
from microveil.typing import Bits

_IDS_AT_HAND = 2**24


class Piece(NamedTuple):
    """Some records of a file, one after the other."""

    file: str
    first: int
    records: int


@dataclass(frozen=True)
class StoredTable:
    """Columns in Parquet files, and newer ones in folders with a file for each part.

    `types` are those of all columns as they are now, by name and in order. By the column `record_id`, if there is one,
    random numbers are drawn. Files that are not `alike` have columns in another order, or of types that became one.
    """

    pieces: tuple[tuple[Piece, ...], ...]
    types: Mapping[str, pa.DataType]
    newer: Mapping[str, str] = field(default_factory=dict)
    record_id: str | None = None
    alike: bool = True

    @classmethod
    def of_files(cls, files: Sequence[Path], records_of_part: int | None = None) -> StoredTable:
        """A table whose records are those of some Parquet files with the same columns, one after the other."""
        types: dict[str, pa.DataType] = {}
        sizes: list[int] = []
        alike = True
        for file in files:
            try:
                content = pq.ParquetFile(file)
            except (pa.ArrowInvalid, OSError):
                raise FileError(file, "is no Parquet file that can be read") from None
            check_names(file, content.schema_arrow.names)
            found = {one.name: _plain(one.type) for one in content.schema_arrow}
            alike &= not sizes or list(found.items()) == list(types.items())
            types = _common_types(types, found, files[0], file) if sizes else found
            sizes.append(content.metadata.num_rows)
        return cls(tuple(_parts(files, sizes, records_of_part or BLOCK)), types, alike=alike)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.types)

    @property
    def starts(self) -> tuple[int, ...]:
        """The place of the first record of each part, and the number of all."""
        return (0, *accumulate(sum(piece.records for piece in part) for part in self.pieces))

    def __len__(self) -> int:
        return self.starts[-1]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it is made of, in their order."""
        return tuple(dict.fromkeys(piece.file for part in self.pieces for piece in part))

    @property
    def is_of_whole_files(self) -> bool:
        """Whether it has all records of its files."""
        return bool(len(self) == sum(pq.ParquetFile(file).metadata.num_rows for file in self.files))

    def places(self, part: int) -> range:
        starts = self.starts
        return range(starts[part], starts[part + 1])

    def read(self, part: int, names: Sequence[str]) -> pa.Table:
        """Some columns of one part, as they are now."""
        old = [name for name in names if name not in self.newer]
        columns: dict[str, pa.ChunkedArray] = {}
        if old:
            read = pa.concat_tables([_read_piece(piece, old, self.types) for piece in self.pieces[part]])
            columns = {name: read[name] for name in old}
        for folder in dict.fromkeys(self.newer[name] for name in names if name in self.newer):
            found = read_part(Path(folder), part)
            columns |= {name: found[name] for name in names if self.newer.get(name) == folder}
        made = {name: columns[name].cast(self.types[name], safe=False).combine_chunks() for name in names}
        return pa.table(made)

    def part(self, part: int, schema: Schema, facts: Facts) -> Microdata:
        """One part with the columns that the schema lists."""
        cells = open_frame(self.read(part, schema.names))
        return Microdata(cells, schema, part=Part(self.places(part), facts), ids=self.ids(part))

    def ids(self, part: int) -> Bits | None:
        """The numbers of the ids of the records of a part, where ids are declared."""
        name = self.record_id
        return None if name is None else numbers_of_ids(self.read(part, [name])[name].combine_chunks(), name)

    def refuse_repeated_ids(self, engine: Engine, progress: Progress) -> None:
        """Refuse ids of which any comes twice; so many are compared at a time as fit into memory."""
        name, parts = self.record_id, range(len(self.pieces))
        if name is None:
            return
        shares, repeated = -(-len(self) // _IDS_AT_HAND), np.zeros(0, dtype=np.uint64)
        for share in range(shares):

            def of_part(part: int, share: int = share) -> Bits:
                numbers = self.ids(part)
                assert numbers is not None
                return np.asarray(numbers[finished(numbers) % np.uint64(shares) == share])

            stretch = Stretch(progress, share / shares, (share + 1) / shares)
            found = engine.map(of_part, len(parts), stretch, "comparing ids")
            repeated = np.concatenate([repeated, repeated_among(np.concatenate(found))])
        if len(repeated):  # different texts may have the same number
            refuse_repeated(pa.concat_arrays([self._with_ids_among(repeated, part) for part in parts]), name)

    def _with_ids_among(self, numbers: Bits, part: int) -> pa.Array:
        name, own = self.record_id, self.ids(part)
        assert name is not None
        assert own is not None
        return self.read(part, [name])[name].combine_chunks().filter(pa.array(np.isin(own, numbers)))

    def with_newer(self, folder: Path, types: Mapping[str, pa.DataType]) -> StoredTable:
        """The table in which these columns are replaced by those in a folder."""
        return replace(self, types={**self.types, **types}, newer={**self.newer, **dict.fromkeys(types, str(folder))})

    def column(self, name: str) -> pa.Array:
        """A whole column."""
        parts = [self.read(part, [name])[name] for part in range(len(self.pieces))]
        chunks = [chunk for part in parts for chunk in part.chunks]
        return pa.chunked_array(chunks, self.types[name]).combine_chunks()


def check_names(file: Path, names: Sequence[str]) -> None:
    """Refuse names of columns by which their cells could not be told apart."""
    repeated = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if repeated is not None:
        raise FileError(file, "several columns have this name; rename all but one", column=repeated)
    if COUNT in names:
        raise FileError(file, f"has a column named '{COUNT}', which is needed to count; give it another name")


def write_part(folder: Path, part: int, columns: pa.Table) -> None:
    """Write the newer columns of a part: beside their place, then moved, for another worker may write the same."""
    from microveil.engines.scratch import moved_into_place

    with moved_into_place(file_of(folder, part)) as unfinished:
        pq.write_table(columns, unfinished, compression="lz4", use_dictionary=False, write_statistics=False)


def read_part(folder: Path, part: int) -> pa.Table:
    return pq.read_table(file_of(folder, part))


def combined(tables: Sequence[pa.Table], names: Sequence[str]) -> pa.Table:
    """Tables of combinations and their counts as one, in which every combination comes once."""
    found = pa.concat_tables(tables).group_by(list(names), use_threads=False).aggregate([(COUNT, "sum")])
    return found.select([*names, f"{COUNT}_sum"]).rename_columns([*names, COUNT])


def combinations_of_part(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The combinations of some columns that occur in a part, with their counts."""
    plain = [str(number) for number in range(len(names))]  # Arrow gives the counts a name that a column may have
    keys = table.select(list(names)).rename_columns(plain)
    found = keys.group_by(plain, use_threads=False).aggregate([([], "count_all")])
    return found.select([*plain, "count_all"]).rename_columns([*names, COUNT])


def row_numbers(table: pa.Table, among: pa.Table, names: Sequence[str]) -> pa.Array:
    """Which row of a table of combinations each record has; null where it has none of them. Empty cells are alike, and
    so are 0 and -0."""
    key, keys = np.zeros(len(table), np.int64), np.zeros(len(among), np.int64)
    size = 1
    for name in names:
        cells, others = (pc.add(one[name], 0.0) if _is_floating(one, name) else one[name] for one in (table, among))
        values = pc.unique(others)
        codes = pc.index_in(cells, value_set=values, skip_nulls=False).fill_null(len(values))
        own = pc.index_in(others, value_set=values, skip_nulls=False)
        width = len(values) + 1
        if size > (2**62) // width:
            raise DataError("these attributes have too many combinations to tell them apart")
        key = key * width + codes.to_numpy().astype(np.int64)
        keys = keys * width + own.to_numpy().astype(np.int64)
        size *= width
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys[order], key), max(0, len(keys) - 1))
    found = order[at] if len(keys) else np.zeros(len(key), np.int64)
    known = keys[found] == key if len(keys) else np.zeros(len(key), bool)
    return pa.array(found, mask=~known)


def _is_floating(table: pa.Table, name: str) -> bool:
    return bool(pa.types.is_floating(table.schema.field(name).type))


def declared_orders(files: Sequence[str]) -> dict[str, tuple[Category, ...]]:
    """The categories of columns whose type in the files has them in order, those of all files one after the other."""
    found: dict[str, dict[Category, None]] = {}
    for file in files:
        content = pq.ParquetFile(file)
        ordered = [f.name for f in content.schema_arrow if pa.types.is_dictionary(f.type) and f.type.ordered]
        for group in range(content.num_row_groups if ordered else 0):
            cells = content.read_row_group(group, columns=ordered, use_threads=False)
            for name in ordered:
                held = (chunk.dictionary.to_pylist() for chunk in cells[name].chunks)
                found.setdefault(name, {}).update(dict.fromkeys(value for values in held for value in values))
    plain = {name: tuple(held) for name, held in found.items() if held}
    return {name: held for name, held in plain.items() if all(isinstance(one, str | int | float) for one in held)}


def file_of(folder: Path, part: int) -> Path:
    return folder / f"part-{part:06d}.parquet"


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values, where a file holds them by numbers in a dictionary, and of those that cannot be counted
    the next that can."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    wider = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary(), pa.float16(): pa.float32()}
    return wider.get(kind, kind)


def _common_types(
    types: Mapping[str, pa.DataType], found: Mapping[str, pa.DataType], first: Path, file: Path
) -> dict[str, pa.DataType]:
    """The types of the columns of some files and of one more, which has the same columns in any order."""
    if set(found) != set(types):
        raise FileError(file, f"has other columns than '{first.name}'")
    common = {name: _common_type(kind, found[name]) for name, kind in types.items()}
    for name, kind in common.items():
        if kind is None:
            raise FileError(
                file,
                f"has {found[name]} in this column, and the files before it, from '{first.name}' on, have "
                f"{types[name]}; write it with one type in all files",
                column=name,
            )
    return common


def _common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of both, if there is one; whether all of them fit is seen when they are read."""
    kinds = (one, other)
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if all(map(pa.types.is_integer, kinds)) and pa.uint64() in kinds and any(map(pa.types.is_signed_integer, kinds)):
        return pa.int64()
    if any(map(pa.types.is_floating, kinds)) and any(map(pa.types.is_integer, kinds)):
        return pa.float64()
    for is_alike in (pa.types.is_integer, pa.types.is_floating, _is_text, pa.types.is_timestamp):
        if all(map(is_alike, kinds)):
            try:
                fields = [pa.schema([("", kind)]) for kind in kinds]
                return pa.unify_schemas(fields, promote_options="permissive").field(0).type
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                return None
    return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _parts(files: Sequence[Path], sizes: Sequence[int], records_of_part: int) -> Iterator[tuple[Piece, ...]]:
    part: list[Piece] = []
    room = records_of_part
    for file, size in zip(files, sizes, strict=True):
        first = 0
        while first < size:
            taken = min(room, size - first)
            part.append(Piece(os.path.abspath(file), first, taken))  # a worker may be in another folder
            first, room = first + taken, room - taken
            if not room:
                yield tuple(part)
                part, room = [], records_of_part
    if part:
        yield tuple(part)


def _read_piece(piece: Piece, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
    content = pq.ParquetFile(piece.file)
    sizes = [content.metadata.row_group(group).num_rows for group in range(content.num_row_groups)]
    starts = (0, *accumulate(sizes))
    last = piece.first + piece.records
    wanted = [g for g, size in enumerate(sizes) if starts[g] < last and starts[g] + size > piece.first]
    try:
        read = content.read_row_groups(wanted, columns=list(names), use_threads=False)
    except (pa.ArrowInvalid, OSError):
        raise FileError(piece.file, "is damaged, and cannot be read") from None
    read = read.slice(piece.first - starts[wanted[0]], piece.records)
    return pa.table([_in_type(read[name], types[name], piece.file, name) for name in names], names=list(names))


def _in_type(cells: pa.ChunkedArray, kind: pa.DataType, file: str, name: str) -> pa.ChunkedArray:
    try:
        return cells.cast(_plain(cells.type)).cast(kind)
    except pa.ArrowInvalid:
        raise FileError(
            file,
            f"has values that would be changed in {kind}, the type that the files have together; write this column "
            "with one type in all files",
            column=name,
        ) from None
