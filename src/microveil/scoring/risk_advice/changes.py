"""The changes of keys that an office makes before it releases a file, as steps of a plan.

They are those of every handbook: numbers become intervals of a round width or are rounded, the ends of an ordered
attribute are coded as one value, rare categories are merged, a hierarchy is climbed by a level, an attribute is left
out, and a few cells are suppressed (Willenborg and de Waal (2001)).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microveil.errors import MicroveilError
from microveil.masking.coarsening.coarse import valid_categories
from microveil.masking.plan import Step
from microveil.microdata.hierarchy import Hierarchy, node_text
from microveil.microdata.microdata import Microdata, count
from microveil.microdata.proposals import propose_hierarchy
from microveil.parameters import MOST_RECORDS
from microveil.typing import FloatArray

FEWEST = 5  # records that a value coded as one, or an open interval, has at least
_ENDS = (0.005, 0.02, 0.05)  # of the records that top and bottom coding is to code
_RARE = (0.005, 0.02, 0.05)  # of the records that a category has which is merged with others
_MOST_WIDTHS, _MOST_INTERVALS, _MOST_LEVELS = 5, 60, 4
_WIDE = 500.0  # a range from which on numbers are rounded rather than put in intervals


@dataclass(frozen=True)
class Change:
    """One change of one key, or of all that are left where `attribute` is empty; without a step the key is left out.

    >>> Change("age", "recode age to intervals of 5", Step("recode", {"by": "width", "width": 5}, ("age",))).drops
    False
    """

    attribute: str
    words: str
    step: Step | None

    @property
    def drops(self) -> bool:
        """Whether the attribute is left out of the release."""
        return self.step is None

    def to_plain(self) -> dict[str, Any]:
        step = None if self.step is None else self.step.to_plain()
        return {"attribute": self.attribute or None, "change": self.words, "step": step}


def changes_of(data: Microdata, name: str) -> list[Change]:
    """What may be done to one key, the finest change of each sort first."""
    if data.schema.panel is not None and name in data.schema.panel.all_columns:
        return []  # a series is masked as a whole
    sorts = (_intervals, _ends) if data[name].kind == "numeric" else (_rare, _end_categories)
    return [change for sort in (_levels, *sorts) for change in sort(data, name)]


def dropped(name: str) -> Change:
    """The attribute is not released."""
    return Change(name, f"leave {name} out of the release", None)


def suppression(keys: Sequence[str], k: int) -> Change:
    """Cells of all these keys are emptied."""
    words = f"suppress single cells until at least {k} records share every combination of the keys"
    return Change("", words, Step("suppress", {"k": k}, tuple(keys)))


def as_it_is(name: str) -> Step:
    """A step that changes nothing, for a plan that only leaves something out."""
    return Step("suppress", {"k": 1, "most_values": MOST_RECORDS}, (name,))


# --- numbers ------------------------------------------------------------------------------------------------------


def _intervals(data: Microdata, name: str) -> Iterator[Change]:
    values = data.numbers(name).values
    present = values[~np.isnan(values)]
    distinct = np.unique(present)
    if len(distinct) < 3:
        return
    low, high = float(distinct[0]), float(distinct[-1])
    for width in _widths(distinct):
        told = f"{width:.10g}"
        wide = {"by": "width", "width": width, "publish": "label"}
        yield _recode(name, f"recode {name} to intervals of {told}", wide)
        cuts = _open_ended(present, width)
        if cuts:
            ends = f"below {node_text(cuts[0])} and from {node_text(cuts[-1])}"
            yield _recode(
                name,
                f"recode {name} to intervals of {told}, open {ends}",
                {"by": "cuts", "cuts": cuts, "publish": "label"},
            )
        if high - low >= _WIDE:
            yield Change(name, f"round {name} to multiples of {told}", Step("rounding", {"base": width}, (name,)))


def _widths(distinct: FloatArray) -> list[float]:
    """Round widths, 1, 2 or 5 times a power of ten, that bring some values together and leave several intervals."""
    span = float(distinct[-1] - distinct[0])
    least = max(float(np.diff(distinct).min()), span / _MOST_INTERVALS)
    if not (math.isfinite(span) and least > 0):
        return []
    power = math.floor(math.log10(least))
    rounds = [step * 10.0**exponent for exponent in range(power, power + 4) for step in (1.0, 2.0, 5.0)]
    return [float(f"{width:.3g}") for width in rounds if least * (1 + 1e-9) < width <= span / 2][:_MOST_WIDTHS]


def _open_ended(present: FloatArray, width: float) -> list[float]:
    """Where intervals of a width begin, such that the first and the last, which are open, have enough records."""
    enough = max(FEWEST, math.ceil(_ENDS[0] * len(present)))
    if len(present) < 2 * enough:
        return []
    ordered = np.sort(present)
    first = (math.floor(ordered[enough - 1] / width) + 1) * width
    last = math.floor(ordered[-enough] / width) * width
    if last <= first or (math.floor(ordered[0] / width) * width + width >= first and ordered[-1] < last + width):
        return []  # nothing is left between the ends, or they are as narrow as all others
    return [float(f"{first + i * width:.12g}") for i in range(round((last - first) / width) + 1)]


def _ends(data: Microdata, name: str) -> Iterator[Change]:
    values = data.numbers(name).values
    records = int((~np.isnan(values)).sum())
    for k in dict.fromkeys(max(FEWEST, math.ceil(share * records)) for share in _ENDS):
        for method, end in (("top-code", "highest"), ("bottom-code", "lowest")):
            words = f"code the {end} values of {name} as one, those of at least {count(k, 'record')}"
            yield Change(name, words, Step(method, {"by": "count", "k": k}, (name,)))


# --- categories ---------------------------------------------------------------------------------------------------


def _levels(data: Microdata, name: str) -> Iterator[Change]:
    """A level of the declared hierarchy, or of one that the values suggest, which is then written out as a map."""
    attribute = data[name]
    if attribute.hierarchy is not None:
        last = attribute.hierarchy.levels - 1
        for level in range(1, min(last, _MOST_LEVELS + 1)):
            words = f"recode {name} to level {level} of its hierarchy"
            yield _recode(name, words, {"by": "hierarchy", "level": level, "publish": "label"})
        return
    if attribute.kind == "numeric":
        return  # intervals of round widths are tried anyway
    try:
        proposed = propose_hierarchy(data, name)
    except MicroveilError:
        return
    if isinstance(proposed, Hierarchy):
        domain = [category for category in valid_categories(data, name).domain if category is not None]
        for level in range(1, min(proposed.levels - 1, _MOST_LEVELS + 1)):
            places = proposed.positions(domain, level)
            if len(domain) and (places >= 0).all():
                labels = proposed.categories(level)
                members: dict[str, list[Any]] = {}
                for category, place in zip(domain, places, strict=True):
                    members.setdefault(labels[place], []).append(category)
                several = {label: joined for label, joined in members.items() if len(joined) > 1}
                if several:
                    words = f"recode {name} to level {level} of the hierarchy that its values suggest"
                    yield _recode(
                        name,
                        f"{words}, {count(len(members), 'value')} in place of {len(domain)}",
                        {"by": "map", "map": several, "publish": "label"},
                    )


def _rare(data: Microdata, name: str) -> Iterator[Change]:
    if data[name].kind == "ordinal":
        return  # what is next to each other is merged instead
    frequencies = valid_categories(data, name).frequencies
    several = len(frequencies)
    rare = (int((frequencies < max(FEWEST, share * frequencies.sum())).sum()) for share in _RARE)
    for p in dict.fromkeys(max(2, number) for number in rare):
        if p < several:
            words = f"merge the {p} rarest of the {several} categories of {name}"
            yield _recode(name, words, {"by": "rare", "p": p, "publish": "label"})


def _end_categories(data: Microdata, name: str) -> Iterator[Change]:
    if data[name].kind != "ordinal":
        return
    frequencies = valid_categories(data, name).frequencies
    for method, end, counts in (("top-code", "last", frequencies[::-1]), ("bottom-code", "first", frequencies)):
        summed = np.cumsum(counts)
        enough = (max(FEWEST, share * int(frequencies.sum())) for share in _ENDS)
        for p in dict.fromkeys(max(2, int(np.searchsorted(summed, each)) + 1) for each in enough):
            if p < len(frequencies):
                words = f"merge the {end} {p} of the {len(frequencies)} categories of {name}"
                yield Change(name, words, Step(method, {"p": p, "publish": "label"}, (name,)))


def _recode(name: str, words: str, parameters: dict[str, Any]) -> Change:
    return Change(name, words, Step("recode", parameters, (name,)))
