"""Several delimited files as one table, which never lies in memory as a whole.

All files are looked at first, and a column is what the cells of all of them make it, as if they stood in one file. Then
they are read again, chunk by chunk, with the types that were found. What is detected of each file must agree, for with
another decimal mark or delimiter the same cells are other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from microveil.errors import FileError
from microveil.microdata.files.delimited.reader import DelimitedFile, Look, Wishes, in_suitable_encoding
from microveil.microdata.files.delimited.type_inference import as_one, choose_mark, decided_mark, to_numbers
from microveil.microdata.files.formats import check_readable
from microveil.progress import silent

_SIGNS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", ".": "a point"}
_LIKE_ASCII = ("utf-8", "utf-8-sig", "cp1252", "latin-1")


@dataclass(frozen=True)
class _Seen:
    """A file, and what was seen in it."""

    file: DelimitedFile
    look: Look

    @property
    def name(self) -> str:
        return self.file.path.name

    @property
    def encoding(self) -> str | None:
        """The encoding that its letters need; None where it has only those that every encoding has."""
        encoding = self.file.encoding
        if encoding in _LIKE_ASCII and not self.look.beyond_ascii:
            return None
        return "utf-8" if encoding == "utf-8-sig" else encoding

    @property
    def mark(self) -> str | None:
        """The decimal mark that its numbers need; None where both suit them."""
        return decided_mark(list(self.look.columns.values()))


@dataclass(frozen=True)
class DelimitedFiles:
    """The files of one table, with the types that the columns have in all of them."""

    seen: tuple[_Seen, ...]
    types: Mapping[str, pa.DataType]
    mark: str

    @classmethod
    def of(cls, paths: Sequence[Path], wishes: Wishes) -> DelimitedFiles:
        """Look at all cells of all files; refuse files that are not written alike."""
        seen: list[_Seen] = []
        for path in paths:
            name = check_readable(path).name
            one = in_suitable_encoding(path, name, wishes, lambda file: _Seen(file, file.look(silent)))
            if seen:
                _check_columns(seen[0], one)
            seen.append(one)
            if wishes.encoding is None:
                _check_encodings(seen)
            if wishes.decimal is None:
                _check_marks(seen)
        names = seen[0].look.header.names
        whole = [as_one([one.look.columns[name] for one in seen]) for name in names]
        mark = wishes.decimal or choose_mark(whole)
        for one in seen:
            for column in whole:
                one.look.columns[column.name].dates = column.dates
            one.file.check_declared(one.look.columns.values(), mark, one.look.header)
        return cls(tuple(seen), {column.name: column.arrow_type(mark) for column in whole}, mark)

    def __len__(self) -> int:
        return len(self.seen)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(list(self.types.items()))

    def tables(self, number: int) -> Iterator[pa.Table]:
        """The records of one file, some thousand at a time."""
        one, schema = self.seen[number], self.schema
        if not one.look.records:
            return
        for batch in one.file.texts_of(schema.names, silent):
            try:
                columns = [
                    cells if pa.types.is_string(kind) else to_numbers(cells, kind, self.mark)
                    for cells, kind in zip(batch.columns, schema.types, strict=True)
                ]
            except pa.ArrowInvalid:
                raise FileError(one.file.path, "was changed while it was read") from None
            yield pa.table(columns, schema=schema)


def _check_columns(first: _Seen, one: _Seen) -> None:
    before, now = first.look.header, one.look.header
    if before.delimiter != now.delimiter and len(before.names) > 1 and len(now.names) > 1:
        raise FileError(
            one.file.path,
            f"is divided by {_sign(now.delimiter)}, but '{first.name}' by {_sign(before.delimiter)}; write all files "
            "alike, or say which is right with delimiter (--delimiter)",
        )
    if set(before.names) != set(now.names):
        raise FileError(one.file.path, f"has other columns than '{first.name}'")


def _check_encodings(seen: Sequence[_Seen]) -> None:
    one, other = seen[-1], _unlike_the_last(seen, lambda file: file.encoding)
    if other is not None:
        raise FileError(
            one.file.path,
            f"is written in {one.encoding}, but '{other.name}' in {other.encoding}; write all files alike, or say "
            "which is right with encoding (--encoding)",
        )


def _check_marks(seen: Sequence[_Seen]) -> None:
    one, other = seen[-1], _unlike_the_last(seen, lambda file: file.mark)
    if other is not None:
        raise FileError(
            one.file.path,
            f"has numbers with the decimal mark '{one.mark}', but '{other.name}' with '{other.mark}', so that the same "
            "cells would be other numbers; write all files alike, or say which is right with decimal (--decimal)",
        )


def _unlike_the_last(seen: Sequence[_Seen], convention: Callable[[_Seen], str | None]) -> _Seen | None:
    """The first file that decides a convention otherwise than the last one does, if both decide it."""
    needed = convention(seen[-1])
    return next((one for one in seen if needed and convention(one) not in (None, "", needed)), None)


def _sign(delimiter: str) -> str:
    return _SIGNS.get(delimiter, f"'{delimiter}'")
