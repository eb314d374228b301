"""Writing delimited text, some thousand records at a time; the same table always gives the same bytes."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import FileError
from microveil.microdata.files.columns import FORMULA, text_of
from microveil.microdata.files.delimited.dialect import check_decimal, check_delimiter
from microveil.microdata.files.delimited.plain_numbers import text_bytes
from microveil.microdata.files.delimited.records import QUOTE
from microveil.microdata.files.delimited.source import known_encoding
from microveil.microdata.files.formats import Format, is_compressed
from microveil.microdata.files.origin import Origin
from microveil.microdata.microdata import Microdata

RECORDS_AT_ONCE = 50_000
_FEW = 4  # times that a text occurs from which on distinct texts are looked at instead of all


@dataclass(frozen=True)
class Dialect:
    """How the text is written."""

    delimiter: str
    encoding: str
    decimal: str
    neutralise_formulas: bool = False


def dialect_for(
    path: Path,
    known: Format,
    origin: Origin | None,
    *,
    delimiter: str | None,
    encoding: str | None,
    decimal: str | None,
    neutralise_formulas: bool = False,
) -> Dialect:
    """What the caller says; else as the table's own file was written; else the common form."""
    likewise = origin if origin is not None and origin.format in ("csv", "tsv") else None
    if encoding is None:
        encoding = likewise.encoding if likewise else "utf-8"
    if decimal is None:
        decimal = likewise.decimal if likewise and delimiter != "," else "."
    if delimiter is None:
        usual = "\t" if known.name == "tsv" else ";" if decimal == "," else ","
        delimiter = likewise.delimiter if likewise and likewise.format == known.name else usual
        if delimiter == decimal:
            delimiter = usual
    check_delimiter(path, delimiter)
    check_decimal(path, decimal, delimiter)
    return Dialect(delimiter, known_encoding(path, encoding), decimal, neutralise_formulas)


def write_delimited(data: Microdata, target: Path, staged: Path, dialect: Dialect) -> None:
    """Write the table to `staged`; errors name `target`, the file the caller knows."""
    encoder = _encoder(dialect.encoding)
    columns = [data.arrow(name) for name in data.names]
    with _opened(staged, compressed=is_compressed(target)) as file:
        header = _quoted(pa.array(list(data.names)), dialect).to_pylist()
        file.write(_encoded(encoder, dialect.delimiter.join(header) + "\n", target))
        for start in range(0, len(data), RECORDS_AT_ONCE):
            chunks = [column.slice(start, RECORDS_AT_ONCE) for column in columns]
            cells = [_cells(chunk, name, dialect, target) for name, chunk in zip(data.names, chunks, strict=True)]
            text = _records(cells, dialect.delimiter)
            try:
                file.write(encoder.encode(text))
            except UnicodeEncodeError:
                raise _unencodable(target, data.names, cells, dialect.encoding) from None


@contextmanager
def _opened(staged: Path, *, compressed: bool) -> Iterator[IO[bytes]]:
    with staged.open("wb") as file:
        if compressed:
            # neither name nor time goes into the archive: they would differ from run to run
            with gzip.GzipFile(filename="", mode="wb", compresslevel=4, fileobj=file, mtime=0) as archive:
                yield cast(IO[bytes], archive)
        else:
            yield file


def _encoder(encoding: str) -> codecs.IncrementalEncoder:
    if encoding in ("utf-16", "utf-32"):
        return _MarkedEncoder(f"{encoding}-le")
    return codecs.getincrementalencoder(encoding)("strict")


class _MarkedEncoder(codecs.IncrementalEncoder):
    """Little-endian with a byte order mark, on every machine."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding, self._mark = encoding, "\ufeff"

    def encode(self, text: str, final: bool = False) -> bytes:
        marked, self._mark = self._mark + text, ""
        return marked.encode(self._encoding)


def _encoded(encoder: codecs.IncrementalEncoder, header: str, target: Path) -> bytes:
    try:
        return encoder.encode(header)
    except UnicodeEncodeError:
        raise FileError(target, "a column name has characters that the encoding lacks; use utf-8") from None


def _cells(chunk: pa.Array, name: str, dialect: Dialect, target: Path) -> pa.Array:
    """A column's cells as they stand in the file, missing ones as nothing."""
    text = text_of(chunk, name, target)
    if pa.types.is_floating(chunk.type) or pa.types.is_decimal(chunk.type):
        # `1` for 1.0, the shortest digits that give the number back otherwise
        cells = pc.replace_substring(text, ".", dialect.decimal) if dialect.decimal != "." else text
    elif pa.types.is_integer(chunk.type):
        cells = text
    else:
        cells = _quoted(text, dialect)
    return cells.fill_null("")


def _quoted(text: pa.Array, dialect: Dialect) -> pa.Array:
    """Quotes where they are needed, and around the empty text, which is not the same as nothing.

    With an apostrophe before it, a spreadsheet takes a text that looks like a formula for the text it is.
    """
    if dialect.neutralise_formulas:
        marked = pc.match_substring_regex(text, f"^'*{FORMULA}")  # also after apostrophes, to be read back exactly
        text = pc.if_else(marked, pc.binary_join_element_wise("'", text, ""), text)
    written = text_bytes(text)[0].tobytes()
    if any(sign.encode() in written for sign in (QUOTE, "\r", "\n", dialect.delimiter)):
        distinct = text.dictionary_encode()
        few = len(distinct.dictionary) <= len(text) // _FEW
        return _enclosed(distinct.dictionary, dialect).take(distinct.indices) if few else _enclosed(text, dialect)
    empty = pc.equal(pc.binary_length(text), 0)
    return pc.if_else(empty, QUOTE + QUOTE, text) if pc.any(empty, min_count=0).as_py() else text


def _enclosed(text: pa.Array, dialect: Dialect) -> pa.Array:
    """The same by a look at each text."""
    special = pc.match_substring_regex(text, f"^$|[{QUOTE}\r\n\\x{ord(dialect.delimiter):02x}]")
    doubled = pc.replace_substring(text, QUOTE, QUOTE + QUOTE)
    enclosed = pc.binary_join_element_wise(QUOTE, doubled, QUOTE, "")
    return pc.if_else(special, enclosed, text)


def _records(cells: list[pa.Array], delimiter: str) -> str:
    """The records one after the other, each with its line end."""
    *others, last = cells
    joined = pc.binary_join_element_wise(*others, pc.binary_join_element_wise(last, "\n", ""), delimiter)
    return text_bytes(joined)[0].tobytes().decode("utf-8")


def _unencodable(target: Path, names: tuple[str, ...], cells: list[pa.Array], encoding: str) -> FileError:
    for name, column in zip(names, cells, strict=True):
        try:
            "".join(column.to_pylist()).encode(encoding)
        except UnicodeEncodeError:
            return FileError(target, f"has characters that {encoding} cannot express; write it as utf-8", column=name)
    return FileError(target, f"has characters that {encoding} cannot express; write it as utf-8")
