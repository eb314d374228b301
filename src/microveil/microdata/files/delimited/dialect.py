"""How a delimited file is written: delimiter, decimal mark and header; detected by counting, or as the caller says."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from microveil.errors import FileError
from microveil.microdata.files.delimited.records import QUOTE, Record, records
from microveil.microdata.files.delimited.source import Utf8Source

DELIMITERS = (",", ";", "\t", "|")
DECIMALS = (".", ",")
_FIRST_LOOK = 1 << 18
_LONGEST_HEADER = 1 << 24
_RECORDS_COMPARED = 200


@dataclass(frozen=True)
class Header:
    """The column names, how a record is divided, and how many bytes and lines the header takes."""

    names: list[str]
    delimiter: str
    size: int


def check_delimiter(path: Path, delimiter: str) -> str:
    if len(delimiter) != 1 or delimiter in f"{QUOTE}\r\n" or not delimiter.isascii():
        raise FileError(path, "the delimiter must be one character such as , ; | or a tab, not a quote or line end")
    return delimiter


def check_decimal(path: Path, decimal: str, delimiter: str) -> str:
    if decimal not in DECIMALS:
        raise FileError(path, "the decimal mark must be . or ,")
    if decimal == delimiter:
        raise FileError(path, "the comma cannot be both delimiter and decimal mark; choose another delimiter")
    return decimal


def find_header(source: Utf8Source, delimiter: str | None) -> Header:
    """Detect from the start of the file how its fields are divided and what its columns are called."""
    head, complete = _head(source, _FIRST_LOOK)
    if not head.strip("\ufeff \t\r\n"):
        raise FileError(source.path, "the file is empty")
    if delimiter is None:
        delimiter = detect_delimiter(head, complete=complete)
    first = _first_record(head, delimiter)
    if not first.closed and not complete:
        head, complete = _head(source, _LONGEST_HEADER)
        first = _first_record(head, delimiter)
    if not first.closed:
        raise FileError(source.path, "a quote is opened here and never closed", line=1)
    text = head[: first.length]
    names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    _check_names(source.path, names)
    return Header(names, delimiter, len(text.encode("utf-8", "surrogatepass")))


def _head(source: Utf8Source, size: int) -> tuple[str, bool]:
    start = source.peek(size)
    return start.decode("utf-8", "ignore"), len(start) < size


def _first_record(head: str, delimiter: str) -> Record:
    return next(records(io.StringIO(head, newline=""), delimiter))


def detect_delimiter(head: str, *, complete: bool) -> str:
    """The delimiter that divides the most records into as many fields as the header has; a comma if there is none.

    >>> detect_delimiter("name;income\\nA, B;1,5\\n", complete=True)
    ';'
    """
    best, best_share, best_fields = ",", 0.0, 1
    for delimiter in DELIMITERS:
        found = [r for r in islice(records(io.StringIO(head, newline=""), delimiter), _RECORDS_COMPARED) if not r.blank]
        if not complete and len(found) > 1:
            found.pop()  # it may be cut off
        fields = found[0].fields if found else 1
        share = sum(r.fields == fields for r in found) / max(len(found), 1)
        if fields > 1 and (share, fields) > (best_share, best_fields):
            best, best_share, best_fields = delimiter, share, fields
    return best


def _check_names(path: Path, names: list[str]) -> None:
    seen: dict[str, int] = {}
    for position, name in enumerate(names or [""], start=1):
        if not name.strip():
            raise FileError(path, f"column {position} has no name; the first line must name every column", line=1)
        if name in seen:
            raise FileError(
                path, f"columns {seen[name]} and {position} have the same name; rename one", line=1, column=name
            )
        seen[name] = position
