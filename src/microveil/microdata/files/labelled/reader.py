"""Reading SPSS, Stata and SAS files: the cells, and what the file says about its variables.

This runs in a process of its own (see `isolation`), so it imports little, and what it says of a variable is plain.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import FileError
from microveil.microdata.files.columns import EXACT_IN_DOUBLE, whole_if_possible
from microveil.microdata.files.labelled.extended_missing import letter_of, number_of
from microveil.microdata.files.optional import need

Code = str | int | float

_READERS = {
    "spss": "read_sav",
    "spss-portable": "read_por",
    "stata": "read_dta",
    "sas": "read_sas7bdat",
    "sas-transport": "read_xport",
}
_WITH_USER_MISSING = ("spss", "stata", "sas")
_KINDS = {"nominal": "nominal", "ordinal": "ordinal", "scale": "numeric"}


def read_labelled(path: Path, format_name: str, encoding: str | None) -> tuple[pa.Table, list[dict[str, Any]]]:
    """The table and the description of its variables. Dates become ISO text; an empty text is a missing one."""
    pyreadstat = need("pyreadstat", path, "reading this format")
    options: dict[str, Any] = {"output_format": "dict"}
    if format_name in _WITH_USER_MISSING:
        options["user_missing"] = True
    if format_name != "spss-portable":
        options["encoding"] = encoding
    try:
        cells, meta = getattr(pyreadstat, _READERS[format_name])(str(path), **options)
    except UnicodeDecodeError:
        raise FileError(path, "holds text that does not suit its encoding; give the true one") from None
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as problem:
        if "memory" in str(problem).lower():
            raise MemoryError from None
        raise FileError(path, "the file is damaged, cut off, protected or in an unknown encoding") from None
    kinds = {name: set(map(type, values)) for name, values in cells.items()}
    numeric = {name: _is_numeric(kinds[name], meta.readstat_variable_types[name]) for name in cells}
    description = [_described(name, meta, numeric=numeric[name]) for name in cells]
    # each list of cells goes as soon as its column is there
    columns = {name: _column(cells.pop(name), kinds[name], numeric=numeric[name]) for name in list(cells)}
    return pa.table(columns), description


def _column(values: list[Any], kinds: set[type], *, numeric: bool) -> pa.Array:
    """The cells of a variable: numbers, or text; extended missing values become their doubles."""
    if not numeric:
        if not kinds <= {str, type(None)}:
            values = [None if value is None else _iso(value) for value in values]
        text = pa.array(values, type=pa.string())
        return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    if str in kinds:
        values = [number_of(value) if isinstance(value, str) else value for value in values]
    return whole_if_possible(pa.array(values, type=pa.float64()))


def _iso(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _is_numeric(kinds: set[type], stored_as: str) -> bool:
    """Dates are stored as numbers but come as dates; they stay what they are, as text."""
    return not stored_as.startswith("string") and kinds <= {int, float, str, type(None)}


def _described(name: str, meta: Any, *, numeric: bool) -> dict[str, Any]:
    """What the file says of a variable; the labels as pairs, because plain keys are texts."""
    labels = {_code(code, numeric=numeric): text for code, text in meta.variable_value_labels.get(name, {}).items()}
    codes, ranges = _missing(name, labels, meta, numeric=numeric)
    kind = _kind(meta.variable_measure.get(name, "unknown"), labels, codes, ranges, numeric=numeric)
    return {
        "name": name,
        "kind": kind,
        "label": meta.column_names_to_labels.get(name) or "",
        "value_labels": list(labels.items()),
        "missing_codes": codes,
        "missing_ranges": ranges,
        "missing": "wildcard" if kind == "numeric" else "own category",
    }


def _code(code: Any, *, numeric: bool) -> Code:
    """A code as it stands in the column: whole numbers whole, extended missing values as their doubles."""
    if isinstance(code, str):
        return number_of(code) if numeric else code
    whole = float(code).is_integer() and abs(code) < EXACT_IN_DOUBLE
    return int(code) if whole else float(code)


def _missing(
    name: str, labels: dict[Code, str], meta: Any, *, numeric: bool
) -> tuple[tuple[Code, ...], tuple[tuple[float, float], ...]]:
    """The codes and ranges that mean missing: SPSS declares them, Stata and SAS use letters."""
    codes: list[Code] = []
    ranges: list[tuple[float, float]] = []
    for limits in meta.missing_ranges.get(name, []):
        low, high = limits["lo"], limits["hi"]
        if low == high:
            codes.append(_code(low, numeric=numeric))
        else:
            ranges.append((float(low), float(high)))
    letters = {number_of(letter) for letter in meta.missing_user_values.get(name, [])}
    letters |= {code for code in labels if isinstance(code, float) and letter_of(code)}
    return (*codes, *sorted(letters)), tuple(ranges)


def _kind(
    measure: str,
    labels: dict[Code, str],
    codes: tuple[Code, ...],
    ranges: tuple[tuple[float, float], ...],
    *,
    numeric: bool,
) -> str:
    """The measurement level; where the file has none, numbers with labels for valid codes are categories."""
    if not numeric:
        return "ordinal" if measure == "ordinal" else "nominal"
    if measure in _KINDS:
        return _KINDS[measure]
    missing = set(codes)
    valid = [c for c in labels if c not in missing and not any(low <= c <= high for low, high in ranges)]  # type: ignore[operator]
    return "nominal" if valid else "numeric"
