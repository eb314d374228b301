"""How labels for several numbers are written: intervals with brackets, ranges, numbers up to or from one on, lists.

[20, 30)  (20,30]  ]20; 30[  (-inf, 19]      brackets; a round one or one turned away leaves out its end
20-29  20 – 29  -5 to 0  -5--1               from the first to the last, both included
<20  <= 20  ≥ 65  30+                        up to a number, or from one on
{20, 25}  20, 25                             a list
25  *                                        a number, and any number
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan

Segments = tuple[tuple[float, float], ...]

ANY = "*"
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_END = rf"(?:{_NUMBER}|[+-]?(?:inf|infinity|∞))"
_FORMS = {
    "number": re.compile(_NUMBER, re.IGNORECASE),
    "brackets": re.compile(rf"([\[\](])\s*({_END})\s*[,;]\s*({_END})\s*([\[\])])", re.IGNORECASE),
    "range": re.compile(rf"({_NUMBER})\s*(?:-|to)\s*({_NUMBER})", re.IGNORECASE),
    "beyond": re.compile(rf"(<=|>=|<|>|≤|≥)\s*({_NUMBER})", re.IGNORECASE),
    "from": re.compile(rf"({_NUMBER})\s*\+", re.IGNORECASE),
}
_DASHES = str.maketrans("–—−", "---")


@dataclass(frozen=True)
class Region:
    """The part of a line that a label covers: segments from a low to a high end, and the low and the high end that are
    left out, NaN where the end belongs to it."""

    segments: Segments
    without: tuple[float, float] = (nan, nan)

    def __contains__(self, number: float) -> bool:
        return number not in self.without and any(low <= number <= high for low, high in self.segments)


EVERYTHING = Region(((-inf, inf),))


def number_of(text: str) -> float | None:
    """The number that is written; None where it is something else.

    >>> number_of("1e3"), number_of("−5"), number_of("1_0"), number_of("inf")
    (1000.0, -5.0, None, None)
    """
    text = text.strip().translate(_DASHES)
    return float(text) if _FORMS["number"].fullmatch(text) and abs(float(text)) < inf else None


def region_of(text: str) -> Region | None:
    """The numbers that a label stands for; None where it is written in no known way, or its ends are turned round.

    >>> region_of("[20, 30)")
    Region(segments=((20.0, 30.0),), without=(nan, 30.0))
    >>> region_of("-5-0").segments, region_of("30+").segments, region_of("young")
    (((-5.0, 0.0),), ((30.0, inf),), None)
    """
    number, written = number_of(text), text.strip().translate(_DASHES)
    if number is not None:
        return Region(((number, number),))
    if written == ANY:
        return EVERYTHING
    found = {form: pattern.fullmatch(written) for form, pattern in _FORMS.items()}
    if (match := found["brackets"]) is not None:
        return _between(_end(match[2]), _end(match[3]), above=match[1] != "[", below=match[4] != "]")
    if (match := found["range"]) is not None:
        return _between(float(match[1]), float(match[2]))
    if (match := found["from"]) is not None:
        return _between(float(match[1]), inf)
    if (match := found["beyond"]) is not None:
        end, sign = float(match[2]), match[1]
        return (
            _between(end, inf, above=sign == ">")
            if sign in (">", ">=", "≥")
            else _between(-inf, end, below=sign == "<")
        )
    return _listed(written)


def _between(low: float, high: float, above: bool = False, below: bool = False) -> Region | None:
    """From one end to the other, without the low end (`above`) or the high one (`below`)."""
    if low > high:
        return None
    return Region(((low, high),), (low if above else nan, high if below else nan))


def _listed(text: str) -> Region | None:
    inside = text.startswith("{") and text.endswith("}")
    return points_of([number_of(part) for part in (text[1:-1].split(",") if inside else text.split(", "))])


def points_of(numbers: Sequence[float | None]) -> Region | None:
    """These numbers and none between them; None where one could not be read."""
    told = sorted(number for number in numbers if number is not None)
    return Region(tuple((number, number) for number in told)) if len(told) == len(numbers) else None


def _end(text: str) -> float:
    return float(text.replace("∞", "inf"))
