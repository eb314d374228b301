"""Writing SPSS and Stata files with labels, missing codes and measurement levels."""

from __future__ import annotations

import importlib
import mmap
import re
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import FileError
from microveil.microdata.files.columns import doubles_of, is_numeric, text_of
from microveil.microdata.files.formats import ending_of
from microveil.microdata.files.labelled.extended_missing import LETTERS, letter_of, number_of
from microveil.microdata.files.optional import need
from microveil.microdata.microdata import Microdata
from microveil.microdata.schema import Attribute, Category

_SPSS_NAME = re.compile(r"[^\W\d][\w.@#$]*")
_STATA_NAME = re.compile(r"[^\W\d]\w{0,31}")
_SPSS_LONGEST_NAME = 64
_SPSS_LONGEST_TEXT = 32767
_SPSS_MOST_CODES = 3
_SPSS_LONGEST_CODE = 8
_SPSS_DATE = (92, b"01 Jan 70" + b"00:00:00")
_SPSS_SIZES = struct.Struct("=68xi8xi")  # the cells of eight bytes in a record, and the records
_SPSS_END_OF_DICTIONARY = struct.pack("=ii", 999, 0)
_ZSAV_OFFSETS = struct.Struct("=QQQ")  # of these numbers themselves and of the trailer, and the trailer's length
_STATA_OFFSETS = struct.Struct("=104xQ")  # the last of the map's offsets is the end of the file
_STATA_DATE = b"01 Jan 1960 00:00"
_STATA_LARGEST = number_of("a")
_DISK_FULL = "cannot be written (the disk may be full)"
_MEASURES = {"numeric": "scale", "ordinal": "ordinal", "nominal": "nominal", "location": "nominal"}


def write_labelled(data: Microdata, target: Path, staged: Path) -> None:
    """Write the table to `staged` as SPSS or Stata file, whichever `target` is."""
    pyreadstat = need("pyreadstat", target, "writing this format")
    columns = {name: _storable(data.arrow(name), name, target) for name in data.names}
    try:
        if ending_of(target) == ".dta":
            _write_stata(pyreadstat, data, columns, target, staged)
        else:
            _write_spss(pyreadstat, data, columns, target, staged)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as problem:
        if "Unable to write" in str(problem):
            raise FileError(target, _DISK_FULL) from None
        raise FileError(target, f"the table does not fit this format ({problem})") from None


def _storable(column: pa.Array, name: str, target: Path) -> pa.Array:
    """Doubles or text; a missing text is an empty one, because these formats know no other."""
    if is_numeric(column):
        return doubles_of(column, name, target)
    return text_of(column, name, target).fill_null("")


# --- SPSS ------------------------------------------------------------------------------------------------------------


def _write_spss(pyreadstat: Any, data: Microdata, columns: dict[str, pa.Array], target: Path, staged: Path) -> None:
    _check_spss_names(data.names, target)
    for name, column in columns.items():
        _check_spss_text(column, name, target)
    numeric = {name: pa.types.is_floating(column.type) for name, column in columns.items()}
    pyreadstat.write_sav(
        _frame({name: column.to_pylist() for name, column in columns.items()}, target),
        str(staged),
        compress=ending_of(target) == ".zsav",
        column_labels=[attribute.label or None for attribute in data.schema],
        variable_value_labels=_labels_by_name(data, numeric),
        missing_ranges={a.name: _spss_missing(a, target, numeric=numeric[a.name]) for a in data.schema},
        variable_measure={a.name: _spss_measure(a, numeric=numeric[a.name]) for a in data.schema},
        variable_format={a.name: "F8.0" for a in data.schema if _is_whole(columns[a.name])},
    )
    _check_whole(staged, target, _is_whole_zsav if ending_of(target) == ".zsav" else _is_whole_sav)
    _overwrite(staged, *_SPSS_DATE)


def _check_spss_names(names: tuple[str, ...], target: Path) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if not _SPSS_NAME.fullmatch(name) or len(name.encode()) > _SPSS_LONGEST_NAME or name.endswith("."):
            problem = "SPSS names begin with a letter, hold letters, digits, _ . @ # $ and at most 64 bytes; rename it"
            raise FileError(target, problem, column=name)
        if name.lower() in seen:
            raise FileError(
                target, f"SPSS does not distinguish it from '{seen[name.lower()]}'; rename one", column=name
            )
        seen[name.lower()] = name


def _check_spss_text(column: pa.Array, name: str, target: Path) -> None:
    if pa.types.is_string(column.type) and (pc.max(pc.binary_length(column)).as_py() or 0) > _SPSS_LONGEST_TEXT:
        raise FileError(target, f"SPSS holds texts of at most {_SPSS_LONGEST_TEXT:,} bytes; shorten them", column=name)


def _is_whole(column: pa.Array) -> bool:
    return pa.types.is_floating(column.type) and bool(pc.all(pc.equal(pc.floor(column), column)).as_py())


def _spss_measure(attribute: Attribute, *, numeric: bool) -> str:
    return _MEASURES[attribute.kind] if numeric or attribute.is_categorical else "nominal"


def _spss_missing(attribute: Attribute, target: Path, *, numeric: bool) -> list[Any]:
    """The missing codes and ranges in the form of SPSS, which has room for few."""
    codes = [_plain(code) for code in attribute.missing_codes if isinstance(code, str) is not numeric]
    ranges = [{"lo": float(low), "hi": float(high)} for low, high in attribute.missing_ranges] if numeric else []
    if len(ranges) > 1 or len(codes) > (1 if ranges else _SPSS_MOST_CODES):
        problem = "SPSS has room for three missing codes, or for one range and one code; declare fewer or use .csv"
        raise FileError(target, problem, column=attribute.name)
    if any(isinstance(code, str) and len(code.encode()) > _SPSS_LONGEST_CODE for code in codes):
        problem = f"SPSS allows missing codes of at most {_SPSS_LONGEST_CODE} bytes; shorten them"
        raise FileError(target, problem, column=attribute.name)
    return [*codes, *ranges]


def _plain(code: Category) -> str | float:
    return code if isinstance(code, str) else float(code)


def _labels_by_name(data: Microdata, numeric: dict[str, bool]) -> dict[str, dict[Any, str]]:
    """Value labels, of the codes that can stand in the column."""
    by_name = {}
    for attribute in data.schema:
        fitting = {c: t for c, t in attribute.value_labels.items() if isinstance(c, str) is not numeric[attribute.name]}
        if fitting:
            by_name[attribute.name] = {_plain(code): text for code, text in fitting.items()}
    return by_name


# --- Stata -----------------------------------------------------------------------------------------------------------


def _write_stata(pyreadstat: Any, data: Microdata, columns: dict[str, pa.Array], target: Path, staged: Path) -> None:
    """Stata's missing values are letters; missing codes and ranges of other kinds get the letters that are free.

    Stata labels whole numbers only; labels of text are left out.
    """
    cells: dict[str, list[Any]] = {}
    labels: dict[str, dict[Any, str]] = {}
    letters: dict[str, list[str]] = {}
    for attribute in data.schema:
        name, column = attribute.name, columns[attribute.name]
        if not _STATA_NAME.fullmatch(name):
            problem = "Stata names begin with a letter, hold letters, digits and _ and at most 32 of them; rename it"
            raise FileError(target, problem, column=name)
        if pa.types.is_string(column.type):
            cells[name] = column.to_pylist()
            continue
        variable = _StataVariable(attribute, target)
        cells[name] = variable.cells(column)
        labels[name] = variable.labels()
        letters[name] = variable.letters
    pyreadstat.write_dta(
        _frame(cells, target),
        str(staged),
        version=14,
        column_labels=[attribute.label or None for attribute in data.schema],
        variable_value_labels={name: found for name, found in labels.items() if found},
        missing_user_values={name: found for name, found in letters.items() if found},
    )
    _check_whole(staged, target, _is_whole_dta)
    _overwrite_stata_date(staged)


class _StataVariable:
    """A numeric variable on its way to Stata: which code, or range of codes, becomes which letter."""

    def __init__(self, attribute: Attribute, target: Path) -> None:
        self.attribute, self.target = attribute, target
        codes = [float(c) for c in attribute.missing_codes if not isinstance(c, str)]
        labelled = [float(c) for c in attribute.value_labels if not isinstance(c, str) and float(c) not in codes]
        # a labelled code inside a range of missing codes keeps its own letter and label
        codes += [c for c in labelled if any(low <= c <= high for low, high in attribute.missing_ranges)]
        self.by_code = {code: letter_of(code) or "" for code in codes}
        taken = set(self.by_code.values())
        free = iter([letter for letter in LETTERS[:26] if letter not in taken])
        try:
            for code in codes:
                self.by_code[code] = self.by_code[code] or next(free)
            self.by_range = {limits: next(free) for limits in attribute.missing_ranges}
        except StopIteration:
            problem = "Stata has room for 26 missing codes; declare fewer"
            raise FileError(target, problem, column=attribute.name) from None

    @property
    def letters(self) -> list[str]:
        return sorted({*self.by_code.values(), *self.by_range.values()})

    def cells(self, column: pa.Array) -> list[Any]:
        values = np.array(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        cells: list[Any] = column.to_pylist()
        held = np.isnan(values)
        marks = [(values == code, letter) for code, letter in self.by_code.items()]
        marks += [((values >= low) & (values <= high), letter) for (low, high), letter in self.by_range.items()]
        for where, letter in marks:
            for record in np.flatnonzero(where & ~held):
                cells[record] = letter
            held |= where
        if (np.abs(values[~held]) >= _STATA_LARGEST).any():
            raise FileError(self.target, "has numbers too large for Stata", column=self.attribute.name)
        return cells

    def labels(self) -> dict[Any, str]:
        """Labels of whole numbers and of letters; a code that became a letter without a label is named by itself."""
        labels: dict[Any, str] = {}
        for code, text in self.attribute.value_labels.items():
            if isinstance(code, str):
                continue
            if float(code) in self.by_code:
                labels[self.by_code[float(code)]] = text
            elif float(code).is_integer():
                labels[int(code)] = text
        for code, letter in self.by_code.items():
            if letter not in labels and letter_of(code) is None:
                labels[letter] = f"{code:g}"
        for (low, high), letter in self.by_range.items():
            labels[letter] = f"{low:g} to {high:g}"
        return labels


# --- both ------------------------------------------------------------------------------------------------------------


def _frame(cells: dict[str, list[Any]], target: Path) -> Any:
    """The frame that pyreadstat takes: it knows pandas and polars only."""
    for package in ("pandas", "polars"):
        try:
            library = importlib.import_module(package)
        except ImportError:
            continue
        if package == "polars":
            return library.DataFrame([_polars_series(library, name, values) for name, values in cells.items()])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return library.DataFrame({n: library.Series(v, dtype=_pandas_type(v)) for n, v in cells.items()})
    raise FileError(target, 'writing this format needs pandas or polars; run: pip install "microveil[all]"')


def _pandas_type(values: list[Any]) -> str:
    return "float64" if not any(isinstance(value, str) for value in values) else "object"


def _polars_series(polars: Any, name: str, values: list[Any]) -> Any:
    kinds = {type(value) for value in values} - {type(None)}
    mixed = kinds == {float, str}
    return polars.Series(
        name, values, dtype=polars.Object if mixed else polars.String if kinds == {str} else polars.Float64
    )


def _check_whole(staged: Path, target: Path, is_whole: Callable[[mmap.mmap], bool]) -> None:
    """Refuse a file that is shorter than it says: pyreadstat takes a write that fails altogether for a success."""
    try:
        with staged.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            whole = is_whole(content)
    except (ValueError, struct.error):  # it is empty, or ends before it says how long it is
        whole = False
    if not whole:
        raise FileError(target, _DISK_FULL)


def _is_whole_sav(content: mmap.mmap) -> bool:
    """Whether as many records as there should be follow the end of the dictionary."""
    width, records = _SPSS_SIZES.unpack_from(content)
    end_of_dictionary = len(content) - 8 * int(width * records) - len(_SPSS_END_OF_DICTIONARY)
    return end_of_dictionary > 0 and content.find(_SPSS_END_OF_DICTIONARY, end_of_dictionary) == end_of_dictionary


def _is_whole_zsav(content: mmap.mmap) -> bool:
    """Whether the file ends with the trailer, whose offset is given after the end of the dictionary."""
    mark = content.find(_SPSS_END_OF_DICTIONARY)
    while mark >= 0:
        offset = mark + len(_SPSS_END_OF_DICTIONARY)
        own_offset, trailer, length = _ZSAV_OFFSETS.unpack_from(content, offset)
        if own_offset == offset:
            return bool(trailer + length == len(content))
        mark = content.find(_SPSS_END_OF_DICTIONARY, offset)  # the other was part of a label
    return False


def _is_whole_dta(content: mmap.mmap) -> bool:
    """Whether the file ends where its map says."""
    opening = b"<map>"
    offset = content.find(opening)
    return offset >= 0 and _STATA_OFFSETS.unpack_from(content, offset + len(opening)) == (len(content),)


def _overwrite(path: Path, offset: int, content: bytes) -> None:
    """Put fixed bytes where the time of writing stands: the same table must give the same file."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def _overwrite_stata_date(path: Path) -> None:
    opening = b"<timestamp>\x11"
    with path.open("rb") as file:
        offset = file.read(1024).index(opening) + len(opening)
    _overwrite(path, offset, _STATA_DATE)
