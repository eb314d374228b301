"""The order of categories whose names show it: numbers, ranges, numbered names and the usual scales."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from microveil.microdata.schema import Category

_NUMBER = r"[-+]?\d{1,3}(?:[ ,']\d{3})+(?:\.\d+)?|[-+]?\d+(?:\.\d+)?"
_UNIT = r"(?P<unit>[^\d\W]+\.?|%)?"
_BELOW = r"<=?|≤|under|below|less than|up to|at most"
_ABOVE = r">=?|≥|over|above|more than|from|at least"
_AND_MORE = r"\+|and over|and more|or more|or over|and above|and older|or older|plus"
_AND_LESS = r"or less|or under|and under|and below|or younger|and younger"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?P<low>{_NUMBER})\s*{_UNIT}",
        rf"(?P<low>{_NUMBER})\s*(?:-|–|—|\.\.+|to|until|bis|a)\s*(?P<high>{_NUMBER})\s*{_UNIT}",
        rf"(?P<opens>[\[(\]])\s*(?P<low>{_NUMBER}|-?inf)\s*[,;]\s*(?P<high>{_NUMBER}|\+?inf)\s*(?P<closes>[\])\[])",
        rf"(?P<below>{_BELOW})\s*(?P<high>{_NUMBER})\s*{_UNIT}",
        rf"(?P<above>{_ABOVE})\s*(?P<low>{_NUMBER})\s*{_UNIT}",
        rf"(?P<low>{_NUMBER})\s*{_UNIT}\s*(?P<more>{_AND_MORE})",
        rf"(?P<low>{_NUMBER})\s*(?P<more>{_AND_MORE})\s*{_UNIT}",
        rf"(?P<high>{_NUMBER})\s*{_UNIT}\s*(?P<less>{_AND_LESS})",
    )
)
_NAMED = re.compile(r"(?P<name>[^\d<>≤≥+\[(-][^\d<>≤≥\[(-]*?)[ _-]*(?P<rest>[\d<>≤≥\[(].*)")
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2}([ T]\d{2}:\d{2}.*)?)?")
_CURRENCY = re.compile(r"[€$£]")
_COUNTED = re.compile(r"(?P<number>\d{1,4})(?P<mark>\s*[.):=_-]\s*|\s)[^\d\s].*")
_STRICTLY_BELOW = ("<", "under", "below", "less than")
_STRICTLY_ABOVE = (">", "over", "above", "more than")
# each from the least to the most; words between bars mean the same
_SCALES = tuple(
    tuple(tuple(step.split("|")) for step in scale.split(", "))
    for scale in (
        "none|no, very low, low, medium|middle|moderate|mid|intermediate, high, very high",
        "none, mild|slight, moderate, severe, very severe|critical",
        "xxs, xs, s, m, l, xl, xxl|2xl, xxxl|3xl",
        "tiny, very small, small, medium|middle, large|big, very large, huge",
        "never, rarely|seldom, sometimes|occasionally, often|frequently, very often, always",
        "strongly disagree, disagree, neutral|neither agree nor disagree|undecided, agree, strongly agree",
        "very dissatisfied, dissatisfied, neutral|neither satisfied nor dissatisfied, satisfied, very satisfied",
        "very unlikely, unlikely, neutral, likely, very likely",
        "very bad|very poor, bad|poor, fair|average|medium, good, very good, excellent",
        "poor, fair, good, very good, excellent",
        "unimportant|not important, slightly important, moderately important|important, very important",
        "no education|none, primary|basic, lower secondary, secondary|upper secondary, tertiary|higher",
        "young, middle-aged, old|elderly",
        "first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth",
        "january, february, march, april, may, june, july, august, september, october, november, december",
        "jan, feb, mar, apr, may, jun, jul, aug, sep|sept, oct, nov, dec",
        "i, ii, iii, iv, v, vi, vii, viii, ix, x, xi, xii",
    )
)
Span = tuple[float, int, float, int]  # low end, whether it is left out; high end, whether it is within


def in_order(categories: Sequence[Category]) -> tuple[Category, ...] | None:
    """The categories from the least to the most, where they say which that is; else nothing.

    >>> in_order(["50-249", "250+", "<10", "10-49"])
    ('<10', '10-49', '50-249', '250+')
    >>> in_order(["E1000", "E200"]), in_order(["high", "low"]), in_order(["red", "green"])
    (('E200', 'E1000'), ('low', 'high'), None)
    """
    if len(categories) < 2:
        return tuple(categories)
    if all(isinstance(category, bool) for category in categories):
        return tuple(sorted(categories))
    if all(isinstance(category, int | float) and not isinstance(category, bool) for category in categories):
        return tuple(sorted(categories, key=float))
    if not all(isinstance(category, str) for category in categories):
        return None
    texts = [" ".join(_CURRENCY.sub("", str(category)).split()) for category in categories]
    if all(map(_DATE.fullmatch, texts)):
        return tuple(sorted(categories, key=str))
    positions = _spans(texts) or _spans(_without_common_name(texts)) or _numbered(texts) or _on_a_scale(texts)
    if positions is None or len(set(positions)) < len(positions):
        return None
    return tuple(category for _, category in sorted(zip(positions, categories, strict=True), key=lambda pair: pair[0]))


def _spans(texts: Sequence[str]) -> list[Span] | None:
    """What part of the numbers each text covers; nothing if one cannot be read or they are in different units."""
    matches = [next((m for form in _FORMS if (m := form.fullmatch(text))), None) for text in texts]
    if not texts or any(match is None for match in matches):
        return None
    found = [match.groupdict() for match in matches if match is not None]
    units = {_unit(unit) for groups in found if (unit := groups.get("unit"))}
    spans = [_span(groups) for groups in found]
    if len(units) > 1 or any(low > high for low, _, high, _ in spans):
        return None
    return spans


def _unit(text: str) -> str:
    """The unit without its plural; 1st, 2nd and 3rd are counted alike."""
    word = text.lower().rstrip(".")
    return "th" if word in ("st", "nd", "rd") else word.removesuffix("s")


def _span(groups: dict[str, str | None]) -> Span:
    low, high = _number(groups.get("low")), _number(groups.get("high"))
    outside = (groups.get("above") or "").lower() in _STRICTLY_ABOVE or groups.get("opens") in ("(", "]")
    inside = (groups.get("below") or "").lower() not in _STRICTLY_BELOW and groups.get("closes") not in (")", "[")
    if low is None:
        return (-math.inf, 0, high if high is not None else math.inf, int(inside))
    open_ended = groups.get("above") or groups.get("more")
    return (low, int(outside), math.inf if open_ended else low if high is None else high, int(inside))


def _number(text: str | None) -> float | None:
    return None if text is None else float(re.sub(r"(?<=\d)[ ,'](?=\d)", "", text))


def _without_common_name(texts: Sequence[str]) -> list[str]:
    """What follows the name that all texts begin with, such as E in E1000; nothing if they do not share one."""
    matches = [_NAMED.fullmatch(text) for text in texts]
    names = {match["name"].strip().lower() for match in matches if match is not None}
    if any(match is None for match in matches) or len(names) != 1:
        return []
    return [match["rest"] for match in matches if match is not None]


def _numbered(texts: Sequence[str]) -> list[Span] | None:
    """The numbers in front of the texts, as in `1 low` or `2. middle`; after a blank alone they must count up from 0 or
    1, because a number before a word may be an amount in some unit.
    """
    matches = [_COUNTED.fullmatch(text) for text in texts]
    if any(match is None for match in matches):
        return None
    found = [match.groupdict() for match in matches if match is not None]
    numbers = sorted(int(groups["number"]) for groups in found)
    counted = numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    if not counted and any(groups["mark"].isspace() for groups in found):
        return None
    return [(float(groups["number"]), 0, float(groups["number"]), 0) for groups in found]


def _on_a_scale(texts: Sequence[str]) -> list[Span] | None:
    """Positions on a usual scale, if every scale that has all the texts puts them in the same order."""
    words = [text.lower() for text in texts]
    orders = []
    for scale in _SCALES:
        position_of = {word: position for position, step in enumerate(scale) for word in step}
        if all(word in position_of for word in words):
            orders.append([position_of[word] for word in words])
    if not orders or len({tuple(sorted(range(len(words)), key=order.__getitem__)) for order in orders}) > 1:
        return None
    return [(float(position), 0, float(position), 0) for position in orders[0]]
