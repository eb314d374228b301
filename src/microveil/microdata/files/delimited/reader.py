"""Reading delimited text: one pass sees what every column is and keeps its cells, plain numbers as numbers.

A column that begins with numbers and is text in the end is read again. Only the table itself and one chunk of the file
are ever in memory.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import FileError
from microveil.microdata.files.columns import FORMULA
from microveil.microdata.files.delimited.column_builders import ColumnBuilder
from microveil.microdata.files.delimited.dialect import (
    DECIMALS,
    Header,
    check_decimal,
    check_delimiter,
    find_header,
)
from microveil.microdata.files.delimited.records import records
from microveil.microdata.files.delimited.source import UndecodableError, Utf8Source, candidate_encodings
from microveil.microdata.files.delimited.type_inference import ColumnSurvey, Declared, choose_mark
from microveil.microdata.files.origin import Origin
from microveil.progress import Part, Progress

# Arrow reads up to 32 chunks ahead, so small chunks keep the memory small; a longer record needs larger ones
CHUNK, LARGE_CHUNK = 1 << 20, 256 << 20
_FIRST_PASS = 0.8  # of the progress; there is a second only where a column of numbers turns out to be text

Result = TypeVar("Result")


@dataclass(frozen=True)
class Wishes:
    """What the caller says about a file; None where it is to be detected. `declared` says what columns must become."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    declared: Mapping[str, Declared] | None = None
    neutralised: bool = False


def read_delimited(path: Path, format_name: str, wishes: Wishes, progress: Progress) -> tuple[pa.Table, Origin]:
    """Read the file in the first encoding that suits all of it."""
    return in_suitable_encoding(path, format_name, wishes, lambda file: file.read(progress))


def in_suitable_encoding(
    path: Path, format_name: str, wishes: Wishes, work: Callable[[DelimitedFile], Result]
) -> Result:
    """Work that goes through the whole file, in the first encoding that suits all of it."""
    if wishes.delimiter is not None:
        check_delimiter(path, wishes.delimiter)
    line = 0
    encodings = candidate_encodings(path, wishes.encoding)
    for encoding in encodings:
        try:
            return work(DelimitedFile(path, format_name, encoding, wishes))
        except UndecodableError as problem:
            line = problem.line
    raise FileError(path, f"holds bytes that are not valid {encodings[-1]}; give its true encoding", line=line)


class _LongRecordError(Exception):
    """A record does not fit into a chunk."""


@dataclass(frozen=True)
class Look:
    """What one look at all cells of a file says of it, while none of them is kept."""

    header: Header
    columns: Mapping[str, ColumnSurvey]
    records: int
    beyond_ascii: bool


class DelimitedFile:
    def __init__(self, path: Path, format_name: str, encoding: str, wishes: Wishes) -> None:
        self.path, self.format_name, self.encoding, self.wishes = path, format_name, encoding, wishes
        self._chunk = CHUNK

    def read(self, progress: Progress) -> tuple[pa.Table, Origin]:
        """Read the file; again with larger chunks if it has a record longer than a chunk."""
        try:
            return self._read(progress)
        except _LongRecordError:
            self._chunk = LARGE_CHUNK
            return self._read(progress)

    def look(self, progress: Progress) -> Look:
        """See what every column is; again with larger chunks if there is a record longer than a chunk."""
        try:
            return self._look(progress)
        except _LongRecordError:
            self._chunk = LARGE_CHUNK
            return self._look(progress)

    def _look(self, progress: Progress) -> Look:
        with self._opened() as (source, header):
            columns, count = self._surveys(header), 0
            for cells in self._seen(source, header, columns, progress):
                count += len(cells[0])
            if source.quotes % 2:
                self._explain(header)
            return Look(header, {survey.name: survey for survey in columns}, count, source.beyond_ascii)

    def texts_of(self, names: list[str], progress: Progress) -> Iterator[pa.RecordBatch]:
        """The cells of some columns as they stand in the file, chunk by chunk, once it was looked at."""
        with self._opened() as (source, header):
            for batch in self._batches(source, header, names):
                yield batch
                progress(source.fraction, "reading the file")

    def _read(self, progress: Progress) -> tuple[pa.Table, Origin]:
        with self._opened() as (source, header):
            columns, held = self._survey(source, header, Part(progress, 0.0, _FIRST_PASS))
            if source.quotes % 2:
                self._explain(header)
        mark = self.wishes.decimal or choose_mark(columns)
        self.check_declared(columns, mark, header)
        kinds = {survey.name: survey.arrow_type(mark) for survey in columns}
        lost = [name for name, kind in kinds.items() if pa.types.is_string(kind) and held[name].has_numbers]
        if lost:
            held |= self._texts(lost, Part(progress, _FIRST_PASS, 1.0))
        whole = {name: self._whole(held.pop(name), kind, mark) for name, kind in kinds.items()}
        names = _as_before(pa.array(header.names)).to_pylist() if self.wishes.neutralised else header.names
        origin = Origin(str(self.path), self.format_name, header.delimiter, self.encoding, mark)
        return pa.table(list(whole.values()), names=names), origin

    @contextmanager
    def _opened(self) -> Iterator[tuple[Utf8Source, Header]]:
        """The file, at its first record."""
        with Utf8Source(self.path, self.encoding) as source:
            header = find_header(source, self.wishes.delimiter or ("\t" if self.format_name == "tsv" else None))
            source.skip(header.size)
            yield source, header

    def _survey(
        self, source: Utf8Source, header: Header, progress: Progress
    ) -> tuple[list[ColumnSurvey], dict[str, ColumnBuilder]]:
        """What every column is, and its cells, unless it was taken for numbers and is text in the end."""
        columns = self._surveys(header)
        held = {name: ColumnBuilder() for name in header.names}
        for seen in self._seen(source, header, columns, progress):
            for survey, column, cells in zip(columns, held.values(), seen, strict=True):
                column.add(cells)
                if survey.is_text and column.has_numbers:
                    column.forget()
        return columns, held

    def _surveys(self, header: Header) -> list[ColumnSurvey]:
        declared = self.wishes.declared or {}
        marks = self._possible_marks(header)
        return [ColumnSurvey(name, declared.get(name), marks) for name in header.names]

    def _seen(
        self, source: Utf8Source, header: Header, columns: list[ColumnSurvey], progress: Progress
    ) -> Iterator[list[pa.Array]]:
        """The cells chunk by chunk, as the surveys of their columns give them back when they have seen them."""
        first_record = 0
        for batch in self._batches(source, header, header.names):
            yield [survey.see(cells, first_record) for survey, cells in zip(columns, batch.columns, strict=True)]
            first_record += batch.num_rows
            progress(source.fraction, "reading the file")

    def _possible_marks(self, header: Header) -> tuple[str, ...]:
        if self.wishes.decimal is not None:
            return (check_decimal(self.path, self.wishes.decimal, header.delimiter),)
        return tuple(mark for mark in DECIMALS if mark != header.delimiter)

    def _texts(self, names: list[str], progress: Progress) -> dict[str, ColumnBuilder]:
        """The cells of some columns as they stand in the file."""
        held = {name: ColumnBuilder() for name in names}
        for batch in self.texts_of(names, progress):
            for column, cells in zip(held.values(), batch.columns, strict=True):
                column.add(cells)
        return held

    def _whole(self, column: ColumnBuilder, kind: pa.DataType, mark: str) -> pa.ChunkedArray:
        if not pa.types.is_string(kind):
            return column.numbers(kind, mark)
        return _as_before(column.texts()) if self.wishes.neutralised else column.texts()

    def _batches(self, source: Utf8Source, header: Header, names: list[str]) -> Iterator[pa.RecordBatch]:
        """The file's chunks, every cell of these columns as text."""
        if not source.peek(1):
            return
        try:
            yield from _open_arrow(source, header, names, self._chunk)
        except pa.ArrowInvalid:
            self._explain(header)
            if self._chunk == LARGE_CHUNK:
                raise FileError(self.path, "a record is too long to be read") from None
            raise _LongRecordError from None

    def _explain(self, header: Header) -> None:
        """Go through the file line by line to say where it is wrong."""
        with self._lines() as lines:
            for record in records(lines, header.delimiter):
                if not record.closed:
                    raise FileError(self.path, "a quote is opened in this record and never closed", line=record.line)
                if record.fields != len(header.names) and not record.blank:
                    raise FileError(
                        self.path,
                        f"this record has {record.fields} field{'' if record.fields == 1 else 's'}, "
                        f"but the header names {len(header.names)} columns",
                        line=record.line,
                    )

    def check_declared(self, columns: Iterable[ColumnSurvey], mark: str, header: Header) -> None:
        """Refuse a cell that is no number where the schema declares numbers."""
        for survey in columns:
            record = survey.readings[mark].first_text
            if survey.declared == "numeric" and record is not None and not survey.dates:
                raise FileError(
                    self.path,
                    "the schema says numeric, but this cell is not a number",
                    line=self._line_of(record, header),
                    column=survey.name,
                )

    def _line_of(self, position: int, header: Header) -> int | None:
        """The physical line on which the record at this position starts."""
        one_column = len(header.names) == 1
        with self._lines() as lines:
            found = (r for r in records(lines, header.delimiter) if one_column or not r.blank)
            return next((r.line for i, r in enumerate(found) if i == position + 1), None)

    @contextmanager
    def _lines(self) -> Iterator[io.TextIOWrapper]:
        with Utf8Source(self.path, self.encoding) as source:
            yield io.TextIOWrapper(io.BufferedReader(cast(Any, source)), encoding="utf-8", newline="")


def _as_before(cells: pa.Array) -> pa.Array:
    """Texts without the apostrophe that keeps spreadsheets from taking them for formulas."""
    marked = pc.match_substring_regex(cells, f"^'+{FORMULA}")
    return pc.if_else(marked, pc.utf8_slice_codeunits(cells, 1), cells)


def _open_arrow(source: Utf8Source, header: Header, names: list[str], chunk: int) -> Any:
    import pyarrow.csv as arrow_csv

    return arrow_csv.open_csv(
        pa.PythonFile(source, "r"),
        read_options=arrow_csv.ReadOptions(column_names=header.names, block_size=chunk),
        parse_options=arrow_csv.ParseOptions(
            delimiter=header.delimiter,
            newlines_in_values=True,
            # in a table of one column an empty line is a missing cell
            ignore_empty_lines=len(header.names) > 1,
        ),
        convert_options=arrow_csv.ConvertOptions(
            check_utf8=False,
            include_columns=names,
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
