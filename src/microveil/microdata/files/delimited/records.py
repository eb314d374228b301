"""Where records begin and end in a delimited text, counted in physical lines: for the header, for finding the dialect
and for telling the line of an error. The table itself is parsed by Arrow, which is faster but cannot tell lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

QUOTE = '"'


class Record(NamedTuple):
    """A record's first physical line, its number of fields, its length, and whether its last quote is closed."""

    line: int
    fields: int
    length: int
    blank: bool
    closed: bool


def records(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    """Divide physical lines into records; a quoted field may run over several lines."""
    first, fields, length, quoted = 1, 1, 0, False
    number = 0
    for number, line in enumerate(lines, start=1):
        ends, quoted = _field_ends(line, delimiter, quoted)
        fields += ends
        length += len(line)
        if not quoted:
            yield Record(first, fields, length, blank=line in ("\n", "\r\n", "\r") and first == number, closed=True)
            first, fields, length = number + 1, 1, 0
    if quoted:
        yield Record(first, fields, length, blank=False, closed=False)


def _field_ends(line: str, delimiter: str, quoted: bool) -> tuple[int, bool]:
    """How many delimiters outside quotes a line has, and whether a quote is open at its end."""
    if not quoted and QUOTE not in line:
        return line.count(delimiter), False
    ends, position = 0, 0
    while True:
        if quoted:
            position = _after_closing_quote(line, position)
            if position < 0:
                return ends, True
            quoted = False
        elif line.startswith(QUOTE, position) and (position == 0 or line[position - 1] == delimiter):
            # a quote opens a field only at its very beginning
            quoted, position = True, position + 1
            continue
        end = line.find(delimiter, position)
        if end < 0:
            return ends, False
        ends, position = ends + 1, end + 1


def _after_closing_quote(line: str, position: int) -> int:
    while True:
        position = line.find(QUOTE, position)
        if position < 0:
            return -1
        if not line.startswith(QUOTE, position + 1):
            return position + 1
        position += 2
