"""What a person may say about one attribute: its kind and role, what is missing, its values, and its hierarchy.

Everything comes as texts of a form, and goes back into one as texts.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import microveil as mv
from microveil.applications import ParameterError, brief

MISSING = ("own category", "wildcard", "not applicable", "refuse")
LEVELS = ("record", "household")
_LONGEST = 20_000  # lines of a list of categories, or of a hierarchy
_TO = " to "


def form_of(attribute: mv.Attribute) -> dict[str, str]:
    """An attribute as the texts of a form."""
    low, high = ("", "") if attribute.range is None else (_number(value) for value in attribute.range)
    return {
        "kind": attribute.kind, "roles": "+".join(attribute.roles), "level": attribute.level,
        "label": attribute.label or "", "missing": attribute.missing,
        "codes": "\n".join(map(_text, attribute.missing_codes)),
        "ranges": "\n".join(f"{_number(a)}{_TO}{_number(b)}" for a, b in attribute.missing_ranges),
        "low": low, "high": high, "domain": "\n".join(map(_text, attribute.domain or ())),
        "labels": "\n".join(f"{_text(code)} = {text}" for code, text in attribute.value_labels.items()),
        "hierarchy": _hierarchy_text(attribute.hierarchy),
    }  # fmt: skip


def described(attribute: mv.Attribute, form: Mapping[str, str], *, texts: bool) -> mv.Attribute:
    """The attribute as a form describes it; what the form does not have stays. Where the column holds `texts`, a code
    -9 is the text -9 and not the number."""

    def read(line: str) -> Any:
        return line if texts else _as_number(line)

    before = form_of(attribute)
    form = {name: text for name, text in form.items() if _lines(text) != _lines(before.get(name, ""))}
    changes: dict[str, Any] = {}
    for name in ("kind", "level", "label", "missing"):
        if name in form:
            changes[name] = form[name].strip()
    if "roles" in form:
        changes["roles"] = tuple(role for role in form["roles"].split("+") if role)
    if "codes" in form:
        changes["missing_codes"] = tuple(read(line) for line in _lines(form["codes"]))
    if "ranges" in form:
        changes["missing_ranges"] = tuple(_range(line) for line in _lines(form["ranges"]))
    kind = changes.get("kind", attribute.kind)
    if kind == "numeric":
        if "low" in form or "high" in form:
            low, high = (form.get(name, before[name]).strip() for name in ("low", "high"))
            changes["range"] = _limits(low, high)
        changes["domain"] = None
    else:
        changes["range"] = None
        if "domain" in form:
            changes["domain"] = tuple(read(line) for line in _lines(form["domain"])) or None
    if "labels" in form:
        changes["value_labels"] = dict(_labelled(line, read) for line in _lines(form["labels"]))
    if "hierarchy" in form:
        changes["hierarchy"] = hierarchy_of(form["hierarchy"], numeric=kind == "numeric")
    return attribute.changed(**changes)


def hierarchy_of(text: str, *, numeric: bool) -> mv.Hierarchy | mv.Intervals | None:
    """A hierarchy as a text: for each category its groups, from the narrowest to the widest, with commas; for numbers
    the cuts of each level, or the same as for categories.

    >>> hierarchy_of("cook,service,all\\nwaiter,service,all", numeric=False).generalise("cook", 1)
    'service'
    >>> hierarchy_of("10, 20, 30\\n20", numeric=True).generalise(12, 1)
    '[10, 20)'
    """
    lines = _lines(text)
    if not lines:
        return None
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO("\n".join(lines)))]
    if numeric:
        try:
            cuts = [[float(cell) for cell in row if cell] for row in rows]
        except ValueError:
            return mv.Hierarchy.of(rows)
        return mv.Intervals.of(cuts)
    return mv.Hierarchy.of(rows)


def _hierarchy_text(hierarchy: mv.Hierarchy | mv.Intervals | None) -> str:
    if hierarchy is None:
        return ""
    if isinstance(hierarchy, mv.Intervals):
        return "\n".join(", ".join(_number(cut) for cut in level) for level in hierarchy.cuts)
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(hierarchy.paths)
    return written.getvalue().rstrip("\n")


def _lines(text: str) -> list[str]:
    found = [line.strip() for line in text.replace("\r", "").split("\n")]
    found = [line for line in found if line]
    if len(found) > _LONGEST:
        raise ParameterError(f"this list has more than {_LONGEST:,} lines; write it into a schema file instead")
    return found


def _as_number(line: str) -> float | int | str:
    try:
        found = float(line)
    except ValueError:
        return line
    return int(found) if found.is_integer() and "." not in line and "e" not in line.lower() else found


def _range(line: str) -> tuple[float, float]:
    first, _, last = line.partition(_TO)
    try:
        return float(first), float(last)
    except ValueError:
        raise ParameterError(f"{brief(line)} is no range of missing codes; write it as -9 to -1") from None


def _limits(low: str, high: str) -> tuple[float, float] | None:
    if not low and not high:
        return None
    try:
        limits = float(low), float(high)
    except ValueError:
        limits = math.nan, math.nan
    if not all(map(math.isfinite, limits)):
        raise ParameterError("give both the lowest and the highest value that are possible, or neither")
    return limits


def _labelled(line: str, read: Any) -> tuple[Any, str]:
    code, equals, text = line.partition("=")
    if not equals or not code.strip():
        raise ParameterError(f"{brief(line)} is no label of a value; write it as 1 = married")
    return read(code.strip()), text.strip()


def _number(value: float) -> str:
    return f"{value:.15g}"


def _text(value: object) -> str:
    return _number(value) if isinstance(value, float) else str(value)


def series_words(form: str, unit: str, moment: str, values: Sequence[str]) -> str:
    """Which columns are series, as the command line says it: of a long table the columns of ids, times and values, of a
    wide one a name for the values, or names with patterns of their columns.

    >>> series_words("long", "meter", "time", ["load"]), series_words("wide", "", "", ["load=h*"])
    ('id=meter,time=time,value=load', 'wide,load=h*')
    """
    if form == "long":
        if not (unit and moment and values):
            raise ParameterError("name the column of the series' ids, that of the times, and at least one of values")
        return ",".join([f"id={unit}", f"time={moment}", *(f"value={value}" for value in values)])
    if form != "wide":
        raise ParameterError(f"{brief(form)} is no form of a table of series; there are long and wide")
    named = [part.strip() for value in values for part in value.split(",") if part.strip()]
    return ",".join(
        ["wide", *([f"id={unit}"] if unit else []), *(part if "=" in part else f"value={part}" for part in named)]
    )
