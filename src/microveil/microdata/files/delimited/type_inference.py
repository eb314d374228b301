"""The type of a column, from all its cells: whole numbers, numbers or text.

A column is numeric only if every cell is a number, so that postcodes with leading zeros and numbers too long for the
computer stay the text they are. Words such as NA count as missing only among numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.microdata.files.delimited.plain_numbers import plain_decimals, plain_whole_numbers, text_bytes
from microveil.microdata.ordered import dates_in

Declared = Literal["numeric", "text"] | None
Finding = Literal["empty", "whole", "number", "text"]

MISSING_WORDS = ("", "NA", "NaN", "nan", "N/A", "null", "NULL", ".")
_ORDER: tuple[Finding, ...] = ("empty", "whole", "number", "text")
_INFINITE = r"-?(?i:inf|infinity)"
_EXACT_IN_DOUBLE = 2**53
_LONG = 16  # digits from which a whole number may not fit a double


def _number_pattern(mark: str, *, lenient: bool) -> str:
    whole = "[0-9]+" if lenient else "(?:0|[1-9][0-9]*)"
    mark = "\\" + mark if mark == "." else mark
    sign = "[-+]?" if lenient else "-?"
    return f"^(?:{sign}(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][-+]?[0-9]+)?|{_INFINITE})$"


def _whole_pattern(*, lenient: bool) -> str:
    return "^[-+]?[0-9]+$" if lenient else "^-?(?:0|[1-9][0-9]*)$"


@dataclass
class Reading:
    """A column read with one decimal mark: what it is so far, and the record of the first cell that is no number."""

    mark: str
    lenient: bool = False
    finding: Finding = "empty"
    rounds_whole_numbers: bool = False
    first_text: int | None = None

    def see(self, finding: Finding) -> None:
        self.finding = max(self.finding, finding, key=_ORDER.index)

    def see_cells(self, tidy: pa.Array, first_record: int) -> None:
        """Take in a chunk of the column, cell by cell."""
        if self.finding == "text":
            return
        number = pc.match_substring_regex(tidy, _number_pattern(self.mark, lenient=self.lenient))
        if not pc.all(number, skip_nulls=True, min_count=0).as_py():
            self._see_text(first_record + pc.index(number, pa.scalar(False)).as_py())
            return
        present = tidy.drop_null()
        if self.finding == "number":  # short whole numbers change nothing any more
            present = present.filter(pc.greater_equal(pc.binary_length(present), _LONG))
        whole = pc.match_substring_regex(present, _whole_pattern(lenient=self.lenient))
        if not pc.all(whole, min_count=0).as_py():
            self.see("number")
        if not self._see_whole_numbers(present.filter(whole)):
            self._see_text(first_record + _first_beyond_int64(tidy))

    def _see_whole_numbers(self, cells: pa.Array) -> bool:
        """Whether these whole numbers can be kept; a declared number may be rounded, others may not."""
        if not len(cells):
            return True
        try:
            values = without_plus(cells).cast(pa.int64())
        except pa.ArrowInvalid:
            if self.lenient:
                self.see("number")
            return self.lenient
        self.see("whole")
        self.see_values(values)
        return True

    def _see_text(self, record: int) -> None:
        self.see("text")
        self.first_text = record

    def see_values(self, values: pa.Array) -> None:
        extremes = pc.min_max(values).as_py()
        if max(-extremes["min"], extremes["max"]) > _EXACT_IN_DOUBLE:
            exact = np.asarray(values)
            rounded = exact.astype(np.float64)
            # 2^63 as a double does not fit back
            back = np.where(np.abs(rounded) < 2.0**63, rounded, 0.0).astype(np.int64)
            self.rounds_whole_numbers |= bool((back != exact).any())


def _first_beyond_int64(cells: pa.Array) -> int:
    return next(
        i
        for i, cell in enumerate(cells.to_pylist())
        # a decimal, because Python refuses to read whole numbers of thousands of digits
        if cell and cell.lstrip("+-").isdecimal() and not -(2**63) <= Decimal(cell) < 2**63
    )


@dataclass
class ColumnSurvey:
    """What has been seen of one column; `declared` is what the schema wants it to be."""

    name: str
    declared: Declared
    marks: tuple[str, ...]
    dates: bool = True  # so far; dates of a column that is declared numeric stay text here and count as numbers later
    quoted_empty: bool = False
    _untidy: bool = False
    readings: dict[str, Reading] = field(init=False)

    def __post_init__(self) -> None:
        self.readings = {mark: Reading(mark, lenient=self.declared == "numeric") for mark in self.marks}

    @property
    def is_text(self) -> bool:
        """Whether the column is text, whatever is still to come."""
        return self.declared == "text" or all(r.finding == "text" for r in self.readings.values())

    def see(self, column: pa.Array, first_record: int) -> pa.Array:
        """Take in the cells of one chunk; they come back as numbers where all are plain ones, else as they are."""
        if self.is_text or column.null_count == len(column):
            return column
        numbers = None if self._untidy else self._see_plain(column, first_record)
        if numbers is None:
            tidy = tidy_cells(column)
            numbers = self._see_plain(tidy, first_record)
            self._untidy = True
        if numbers is not None:
            self.dates = False
            return numbers
        cells = column.drop_null()
        self.dates &= self.declared == "numeric" and dates_in(cells)[0] is not None
        self.quoted_empty |= bool(pc.any(pc.equal(cells, "")).as_py())
        for reading in self.readings.values():
            reading.see_cells(tidy, first_record)
        return column

    def _see_plain(self, cells: pa.Array, first_record: int) -> pa.Array | None:
        """Take in a chunk in which all cells are plain numbers, and give them back; None where they are not."""
        if cells.null_count == len(cells):
            return None
        ways = (self._see_plain_whole_numbers, self._see_plain_decimals)
        likely = ways[::-1] if any(reading.finding == "number" for reading in self.readings.values()) else ways
        found = (way(cells, first_record) for way in likely)
        return next((numbers for numbers in found if numbers is not None), None)

    def _see_plain_whole_numbers(self, cells: pa.Array, _first_record: int) -> pa.Array | None:
        numbers = plain_whole_numbers(cells)
        if numbers is not None:
            for reading in self.readings.values():
                reading.see("whole")
                reading.see_values(numbers)
        return numbers

    def _see_plain_decimals(self, cells: pa.Array, first_record: int) -> pa.Array | None:
        """Where cells are numbers with one decimal mark, they are text with the other, or have none and no matter."""
        open_marks = [mark for mark, reading in self.readings.items() if reading.finding != "text"]
        read = {mark: plain_decimals(cells, mark) for mark in open_marks}
        found = next((numbers for numbers in read.values() if numbers is not None), None)
        if found is None:
            return None
        for mark, numbers in read.items():
            if numbers is not None:
                self.readings[mark].see("number")
            else:
                self.readings[mark].see_cells(tidy_cells(cells), first_record)
        return found

    def arrow_type(self, mark: str) -> pa.DataType:
        """The type the column gets."""
        reading = self.readings[mark]
        if self.declared == "text" or reading.finding == "text":
            return pa.string()
        if reading.finding == "empty":
            return pa.string() if self.quoted_empty and self.declared is None else pa.float64()
        if reading.finding == "whole":
            return pa.int64()
        exact = not reading.rounds_whole_numbers or self.declared == "numeric"
        return pa.float64() if exact else pa.string()


def as_one(parts: Sequence[ColumnSurvey]) -> ColumnSurvey:
    """What a column is of which several files have a part each."""
    whole = ColumnSurvey(parts[0].name, parts[0].declared, parts[0].marks)
    whole.dates = all(part.dates for part in parts)
    whole.quoted_empty = any(part.quoted_empty for part in parts)
    for mark, reading in whole.readings.items():
        for part in parts:
            reading.see(part.readings[mark].finding)
            reading.rounds_whole_numbers |= part.readings[mark].rounds_whole_numbers
    return whole


def choose_mark(columns: Sequence[ColumnSurvey]) -> str:
    """The decimal mark that makes the most columns numeric; the point in case of doubt."""
    marks = columns[0].marks
    return max(marks, key=lambda mark: (_numeric_with(mark, columns), mark == "."))


def decided_mark(columns: Sequence[ColumnSurvey]) -> str | None:
    """The decimal mark that makes more columns numeric than any other does; None where none does."""
    chosen = choose_mark(columns)
    others = [mark for mark in columns[0].marks if mark != chosen]
    best = _numeric_with(chosen, columns)
    return chosen if others and all(_numeric_with(mark, columns) < best for mark in others) else None


def _numeric_with(mark: str, columns: Sequence[ColumnSurvey]) -> int:
    return sum(column.readings[mark].finding != "text" for column in columns)


def tidy_cells(cells: pa.Array) -> pa.Array:
    """Number cells without blanks around them, missing words as nulls."""
    written, _ = text_bytes(cells)
    trimmed = pc.ascii_trim_whitespace(cells) if written.size and written.min() <= ord(" ") else cells
    words = pc.is_in(trimmed, value_set=pa.array(MISSING_WORDS))
    if not pc.any(words, min_count=0).as_py():
        return trimmed
    # emptied first, because a null would keep its bytes
    return pc.if_else(words, pa.scalar(None, pa.string()), pc.if_else(words, "", trimmed))


def without_plus(cells: pa.Array) -> pa.Array:
    return pc.ascii_ltrim(cells, characters="+")


def to_numbers(cells: pa.Array, kind: pa.DataType, mark: str) -> pa.Array:
    """Cells that the survey found to be numbers, as numbers."""
    cells = without_plus(tidy_cells(cells))
    return (pc.replace_substring(cells, mark, ".") if mark != "." else cells).cast(kind)
