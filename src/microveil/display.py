"""How numbers and tables look wherever a person reads them: on a terminal, in a notebook and on a page."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

SCREEN = 80  # characters in a line
_NARROWEST = 30  # characters of a column that is wrapped
_RIGHT = " style='text-align:right'"
_NOTHING = 1e-12  # what is smaller is left by rounding


def number(value: float | None) -> str:
    """A number as a table shows it: thousands separated, four significant digits, none that say nothing.

    >>> [number(value) for value in (None, 14827, 0.123456, 1234.56, 50447600.0, 2.5e12, 1e-9, 2.95e-14)]
    ['', '14,827', '0.1235', '1,235', '50,450,000', '2.5e+12', '1e-09', '0']
    """
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return str(value)
    if abs(value) < _NOTHING:
        return "0"
    if 1e4 <= abs(value) < 1e12:
        return f"{float(f'{value:.4g}'):,.0f}"
    return f"{value:,.4g}"


def paragraph(text: str) -> list[str]:
    """The lines of a text as wide as a terminal."""
    return wrap(text, SCREEN, break_long_words=False, break_on_hyphens=False)


def text_table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """The lines of a table without a frame: columns two spaces apart, those of numbers (`right`) set to the right, and
    the last one wrapped where it would run over the edge of a terminal.

    >>> text_table([("k", "3"), ("population", "1,200")], right={1})
    ['k               3', 'population  1,200']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    indent = sum(width + 2 for width in widths[:-1])
    lines = []
    for row in rows:
        cells = [cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(row)]
        if len(widths) - 1 in right:
            lines.append("  ".join(cells).rstrip())
            continue
        first, *rest = wrap(row[-1], max(_NARROWEST, SCREEN - indent)) or [""]
        lines.append("  ".join([*cells[:-1], first]).rstrip())
        lines += [" " * indent + line for line in rest]
    return lines


def html_table(
    rows: Sequence[Sequence[str]], head: Sequence[str] = (), right: Collection[int] = (), caption: str = ""
) -> str:
    """The same for a notebook; every text is escaped."""
    shown = "".join(
        "<tr>"
        + "".join(f"<td{_RIGHT if i in right else ''}>{escape(cell)}</td>" for i, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    above = f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr>" if head else ""
    return f"<table>{f'<caption>{escape(caption)}</caption>' if caption else ''}{above}{shown}</table>"


def frame_of(columns: Mapping[str, type[str] | type[float]], rows: Sequence[Sequence[Any]]) -> Any:
    """Rows as a table: a pandas DataFrame if pandas is installed, else a pyarrow Table."""
    import pyarrow as pa

    types = [pa.string() if kind is str else pa.float64() for kind in columns.values()]
    cells = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(types)]
    table = pa.table(cells, names=list(columns))
    try:
        return table.to_pandas()
    except ImportError:
        return table
