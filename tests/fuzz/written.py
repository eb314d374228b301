"""Plain values as TOML and JSON, also those that proper writers refuse."""

from __future__ import annotations

import json
import math
from typing import Any


def toml_text(plain: Any) -> str:
    """Tables on top, everything below inline; deep values without recursion limits of their own."""
    if not isinstance(plain, dict):
        return f"attributes = {_inline(plain)}\n"
    return "".join(f"{_key(key)} = {_inline(value)}\n" for key, value in plain.items())


def json_text(plain: Any) -> str:
    return _inline(plain, json_form=True)


def _key(key: Any) -> str:
    return json.dumps(str(key))


def _inline(value: Any, *, json_form: bool = False) -> str:
    """Iterative, so that nesting of any depth can be written."""
    pieces: list[str] = []
    rest: list[Any] = [value]
    mark = object()
    while rest:
        item = rest.pop()
        if isinstance(item, tuple) and item and item[0] is mark:
            pieces.append(item[1])
        elif isinstance(item, dict):
            parts: list[Any] = [(mark, "{")]
            for number, (key, inner) in enumerate(item.items()):
                parts += [(mark, (", " if number else "") + _key(key) + (": " if json_form else " = ")), inner]
            rest += reversed([*parts, (mark, "}")])
        elif isinstance(item, list | tuple):
            parts = [(mark, "[")]
            for number, inner in enumerate(item):
                parts += [(mark, ", " if number else ""), inner]
            rest += reversed([*parts, (mark, "]")])
        else:
            pieces.append(_scalar(item, json_form))
    return "".join(pieces)


def _scalar(value: Any, json_form: bool) -> str:
    if value is None:
        return "null" if json_form else '""'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) > 10**4000:
        return ("-" if value < 0 else "") + "9" * 5000
    if isinstance(value, float) and not math.isfinite(value):
        names = ("NaN", "Infinity", "-Infinity") if json_form else ("nan", "inf", "-inf")
        return names[0] if math.isnan(value) else names[1] if value > 0 else names[2]
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value))
