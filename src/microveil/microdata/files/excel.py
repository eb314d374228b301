"""Excel workbooks and OpenDocument sheets: one sheet, its first row names the columns."""

from __future__ import annotations

import datetime
import io
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from microveil.errors import FileError, nearest_name
from microveil.microdata.files.columns import FORMULA_MARKS, doubles_of, is_numeric, text_of, whole_if_possible
from microveil.microdata.files.optional import need

if TYPE_CHECKING:
    from microveil.microdata.microdata import Microdata

MOST_RECORDS = 1_048_575
MOST_COLUMNS = 16_384
LONGEST_TEXT = 32_767
MOST_UNPACKED, MOST_EXPANSION = 256 << 20, 200
_FIXED_DATE = datetime.datetime(2000, 1, 1)


def read_excel(path: Path, sheet: str | None) -> pa.Table:
    """The first sheet, or the one named; columns that mix numbers and text become text.

    This runs in a process of its own (see `isolation`): a sheet whose cells lie far apart asks for immense memory.
    A formula that failed (#DIV/0!) reads as an empty cell: the package that opens workbooks gives no sign of it.
    """
    calamine = need("python_calamine", path, "reading a workbook")
    _check_unpacked_size(path)
    try:
        workbook = calamine.CalamineWorkbook.from_path(str(path))
        name = _sheet_name(path, workbook.sheet_names, sheet)
        rows = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
    except calamine.PasswordError:
        raise FileError(path, "the workbook is protected by a password; save it without one") from None
    except FileError:
        raise
    except (calamine.CalamineError, OSError, ValueError):
        raise FileError(path, "the workbook is damaged or cut off; save it again") from None
    names = _names(path, name, rows)
    body = _body(path, name, rows, len(names))
    columns = [_column([row[i] for row in body]) for i in range(len(names))]
    return pa.table(columns, names=names)


def _check_unpacked_size(path: Path) -> None:
    """Refuse an archive that says it becomes far larger than any table does when it is unpacked."""
    if not zipfile.is_zipfile(path):
        return  # old workbooks are not compressed
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
    if unpacked > MOST_UNPACKED and unpacked > MOST_EXPANSION * path.stat().st_size:
        raise FileError(
            path, f"would become {unpacked >> 20:,} MB when it is unpacked, so it is no table; save it again"
        )


def _sheet_name(path: Path, known: list[str], wanted: str | None) -> str:
    if not known:
        raise FileError(path, "the workbook has no sheets")
    if wanted is None:
        return known[0]
    if wanted not in known:
        raise FileError(path, f"has no sheet '{wanted}'{nearest_name(wanted, known)}")
    return wanted


def _names(path: Path, sheet: str, rows: list[list[Any]]) -> list[str]:
    """The column names; columns right of the last name must be empty."""
    header = list(rows[0]) if rows else []
    while header and header[-1] == "":
        header.pop()
    if not header:
        raise FileError(path, f"sheet '{sheet}', row 1: the first row must name the columns, but it is empty")
    names = [_text(cell) for cell in header]
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise FileError(path, f"sheet '{sheet}', row 1: column {position} has no name")
        if name in seen:
            problem = f"sheet '{sheet}', row 1: columns {seen[name]} and {position} have the same name; rename one"
            raise FileError(path, problem, column=name)
        seen[name] = position
    return names


def _body(path: Path, sheet: str, rows: list[list[Any]], width: int) -> list[list[Any]]:
    """The records; empty rows at the end are none."""
    body = rows[1:]
    while body and all(cell == "" for cell in body[-1]):
        body.pop()
    for number, row in enumerate(body, start=2):
        if any(cell != "" for cell in row[width:]):
            raise FileError(path, f"sheet '{sheet}', row {number}: has more cells than the first row has names")
    return body


def _column(cells: list[Any]) -> pa.Array:
    present = [cell for cell in cells if cell != ""]
    if all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in present):
        return whole_if_possible(pa.array([None if cell == "" else float(cell) for cell in cells], type=pa.float64()))
    return pa.array([None if cell == "" else _text(cell) for cell in cells], type=pa.string())


def _text(cell: Any) -> str:
    """A cell as text: 5 for 5.0, dates in ISO form."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)


def write_excel(data: Microdata, target: Path, staged: Path) -> None:
    """One sheet; row by row, so that the workbook is never whole in memory, but for its packed form.

    That goes to the disk here: where there is no room, the package that makes workbooks complains a second time when
    it is cleaned up, and nobody can catch that.
    """
    xlsxwriter = need("xlsxwriter", target, "writing a workbook")
    if len(data) > MOST_RECORDS:
        raise FileError(target, f"an Excel sheet holds at most {MOST_RECORDS:,} records; use .csv or .parquet")
    if len(data.names) > MOST_COLUMNS:
        raise FileError(target, f"an Excel sheet holds at most {MOST_COLUMNS:,} columns; use .csv or .parquet")
    columns = [_cells(data.arrow(name), name, target) for name in data.names]
    parts = staged.with_name(f"{staged.name}.parts")  # not in the folder for temporary files, which is everybody's
    parts.mkdir(mode=0o700)
    packed = io.BytesIO()
    try:
        with xlsxwriter.Workbook(packed, {"constant_memory": True, "tmpdir": str(parts)}) as workbook:
            workbook.set_properties({"created": _FIXED_DATE})
            _fill(workbook, data.names, columns)
    except xlsxwriter.exceptions.FileCreateError as problem:
        raise OSError(*getattr(problem.args[0], "args", problem.args)) from None
    finally:
        shutil.rmtree(parts, ignore_errors=True)
    staged.write_bytes(packed.getbuffer())


def _fill(workbook: Any, names: Sequence[str], columns: Sequence[list[Any]]) -> None:
    """Texts are written as texts: one that looks like a formula is never carried out, also not after it is edited."""
    sheet = workbook.add_worksheet("data")
    marked = workbook.add_format({"quote_prefix": True})

    def put_text(number: int, position: int, text: str) -> None:
        sheet.write_string(number, position, text, marked if text.startswith(FORMULA_MARKS) else None)

    for position, name in enumerate(names):
        put_text(0, position, name)
    for number, row in enumerate(zip(*columns, strict=True), start=1):
        for position, cell in enumerate(row):
            if isinstance(cell, str):
                put_text(number, position, cell)
            elif cell is not None:
                sheet.write_number(number, position, cell)


def _cells(column: pa.Array, name: str, target: Path) -> list[Any]:
    if not is_numeric(column) or pa.types.is_boolean(column.type):
        cells = text_of(column, name, target).to_pylist()
        if any(cell is not None and len(cell) > LONGEST_TEXT for cell in cells):
            raise FileError(target, f"an Excel cell holds at most {LONGEST_TEXT:,} characters", column=name)
        return cells  # type: ignore[no-any-return]
    cells = doubles_of(column, name, target).to_pylist()
    if any(cell is not None and abs(cell) == float("inf") for cell in cells):
        raise FileError(target, "Excel cannot hold infinite numbers", column=name)
    return cells  # type: ignore[no-any-return]
