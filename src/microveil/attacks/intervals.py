"""Interval disclosure: how often the original value lies close to the released one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from microveil.attacks.base import Attack, Risk, Subject
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError
from microveil.microdata.schema import KINDS
from microveil.numerics.statistics.scaling import average_ranks
from microveil.numerics.statistics.wilson import wilson_interval
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, reported
from microveil.typing import BoolArray, FloatArray, IntArray

_AS_THEY_WERE, _WITHOUT_ORDER = "released unchanged", "categories without an order"
_NOTHING_TO_MEASURE = "no attribute with an order was masked"
Window = Literal["rank", "rank-difference", "sd", "range", "value"]


@parameterised
class IntervalDisclosure(Attack):
    """The intruder takes an interval around the released value; the risk is how often the true value lies in it.

    The interval reaches p per cent of the records up and down in rank (or p per cent of the standard deviation, the
    range or the value), and the risk is the mean over all widths p. An ordered category is disclosed when its position
    in the released column is that close, a nominal one when it is unchanged.

    What is measured is what masking left of the values, so two kinds of attributes do not move the risk, though each
    has its share in `per_attribute`: those released as they were, which are disclosed by design, and categories without
    an order, around which there is no interval. Where no other attribute is left there is nothing to measure. With
    `counted = "all"` they do move it, as some published formulas have it. If nothing was masked at all, every value
    counts, and all are disclosed.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43]})
    >>> IntervalDisclosure().assess(people, people).value
    100.0
    """

    name: ClassVar[str] = "interval-disclosure"
    family: ClassVar[str] = "intervals"
    subject: ClassVar[Subject] = "masked"
    general: ClassVar[bool] = True
    summary: ClassVar[str] = "checks whether the original value lies in an interval around the released one"
    meaning: ClassVar[str] = "original values that lie close to their released values; lower is safer"
    assumes: ClassVar[str] = "which released record is a person's"
    formula: ClassVar[str] = (
        "share of cells with x_ij between the released values p % of the ranks below and above x'_ij"
    )
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = "cells missing in the original are left out; a suppressed cell discloses nothing"
    source: ClassVar[str] = (
        "Domingo-Ferrer and Torra (2001b); Fayyoumi (2008), sections 2.4.1 and 4.4; Nin (2008), section 2.5.2; Marés "
        "(2013), section 2.4.2"
    )

    widths: tuple[float, ...] = parameter(
        default=tuple(float(p) for p in range(1, 11)), help="half-widths of the interval in per cent", min_length=1
    )
    window: Window = parameter(
        default="rank",
        help="what a width is a percentage of: records in rank around the released value, difference of the two "
        "ranks, standard deviation, range, or the released value",
    )
    mode: Literal["cells", "records"] = parameter(
        default="cells", help="count values, or count records all of whose values are disclosed"
    )
    ties: Literal["average", "order"] = parameter(
        default="average",
        help="rank of equal released values: their mean rank, or by record as some published tables have it",
    )

    counted: Literal["masked", "all"] = parameter(
        default="masked", help="attributes that count in the risk: those that were masked and have an order, or all"
    )

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        seen = cls.seen(pair)
        names = seen.of_kinds(cls.kinds)
        moving = _moving(seen, names, _left_out(seen, names))
        return super().suited(pair) if any(_has_order(pair.original[name].kind) for name in moving) else ()

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        return _NOTHING_TO_MEASURE if cls.seen(pair).of_kinds(cls.kinds) else super().why_not(pair)

    def __post_init__(self) -> None:
        if not all(0 <= width <= 100 for width in self.widths):
            raise ParameterError(f"interval-disclosure: widths = {self.widths} is not allowed; each is from 0 to 100")

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        disclosed, known = [], []
        for name in reported(attributes, progress, self.name):
            cells, counted = self._attribute(pair, name)
            disclosed.append(cells & counted)
            known.append(np.broadcast_to(counted, cells.shape))
        hits, cases = np.stack(disclosed), np.stack(known)  # (attributes, widths, records)
        per_attribute = {name: 100 * float(hits[j].sum() / max(1, cases[j].sum())) for j, name in enumerate(attributes)}
        left_out = {} if self.counted == "all" else _left_out(pair, attributes)
        moving = _moving(pair, attributes, left_out)
        if not moving:
            raise DataError(
                f'{_NOTHING_TO_MEASURE}, so {self.name} has nothing to measure; with counted = "all" it counts '
                "unchanged values and categories without an order too"
            )
        rows = [attributes.index(name) for name in moving]
        hits, cases = hits[rows], cases[rows]
        if self.mode == "cells":
            counted = cases.sum(axis=(0, 1))
            per_record = np.where(counted > 0, hits.sum(axis=(0, 1)) / np.maximum(counted, 1), np.nan)
        else:
            per_record = np.where(cases.any(axis=(0, 1)), (hits | ~cases).all(axis=0).mean(axis=0), np.nan)
        scenario = (
            f"An intruder who has found a person's released record guesses that the true values of "
            f"{', '.join(moving)} lie in an interval around the released ones.{_left_out_text(left_out, moving)}"
        )
        risk = Risk.of(self.name, per_record, attributes, scenario, per_attribute=per_attribute)
        # records with missing cells weigh less in the share of values than in the mean over records
        if self.mode == "records":
            return risk
        share = float(hits.sum() / max(1, cases.sum()))
        # the cells of a record are not independent, so the interval is that of as many draws as there are records
        low, high = wilson_interval(share * risk.attacked, risk.attacked)
        return replace(risk, value=100 * share, low=100 * low, high=100 * high)

    def _attribute(self, pair: Pair, name: str) -> tuple[BoolArray, BoolArray]:
        """For each width and record whether the value is disclosed, and which records have a value to disclose."""
        original_state, masked_state = pair.original.missing_states(name), pair.masked.missing_states(name)
        has_value, released = original_state == 0, masked_state == 0
        both = has_value & released
        disclosed = np.zeros((len(self.widths), len(pair)), dtype=np.bool_)
        if pair.original[name].kind == "numeric":
            before, after = (column.values for column in pair.numbers(name))
            inside = self._inside(before, after, both, released)
            for i, width in enumerate(self.widths):
                disclosed[i, both] = inside(width)
        else:
            one, other = (column.codes for column in pair.categories(name))
            middle = _middle_ranks(other[released], len(pair.categories(name)[0].domain))
            for i, width in enumerate(self.widths):
                near = one[both] == other[both]
                if pair.original[name].kind == "ordinal":
                    reach = width * int(released.sum()) / 100
                    near |= np.abs(middle[one[both]] - middle[other[both]]) <= reach
                disclosed[i, both] = near
        return disclosed, has_value

    def _inside(
        self, before: FloatArray, after: FloatArray, both: BoolArray, released: BoolArray
    ) -> Callable[[float], BoolArray]:
        """For a width, which original values lie in the interval; ranks and spreads are taken once for all widths."""
        x, y = before[both], after[both]
        if self.window == "rank":
            ordered = np.sort(after[released])
            rank = (average_ranks if self.ties == "average" else _ranks_by_record)(after[released])[both[released]]
            # one search for all widths: the ends of an interval are compared with x by their places among the released
            first, beyond = (np.searchsorted(ordered, x, side=side) for side in ("left", "right"))
            return lambda width: _between_ranks(first, beyond, rank, int(width * len(ordered) / 100), len(ordered))
        if self.window == "rank-difference":
            apart = np.abs(average_ranks(x) - average_ranks(y))
            return lambda width: np.asarray(apart <= width * len(x) / 100)
        spread: FloatArray | float = np.abs(y)
        if self.window == "sd":
            spread = float(np.nanstd(before))
        elif self.window == "range":
            spread = float(np.nanmax(before) - np.nanmin(before))
        distance = np.abs(x - y)
        return lambda width: np.asarray(distance <= width / 100 * spread)


def _has_order(kind: str) -> bool:
    return kind in ("numeric", "ordinal")


def _left_out(pair: Pair, attributes: Sequence[str]) -> dict[str, str]:
    """The attributes that say nothing of how close masked values are, each with the reason."""
    reasons = {}
    for name in attributes:
        if _as_they_were(pair, name):
            reasons[name] = _AS_THEY_WERE
        elif not _has_order(pair.original[name].kind):
            reasons[name] = _WITHOUT_ORDER
    return reasons


def _as_they_were(pair: Pair, name: str) -> bool:
    missing, still = (table.missing_states(name) for table in (pair.original, pair.masked))
    if pair.original[name].kind == "numeric":
        before, after = (column.values for column in pair.numbers(name))
    else:
        before, after = (column.codes.astype(np.float64) for column in pair.categories(name))
    return np.array_equal(missing, still) and np.array_equal(before[missing == 0], after[missing == 0])


def _moving(pair: Pair, attributes: tuple[str, ...], left_out: Mapping[str, str]) -> tuple[str, ...]:
    """The attributes that move the risk: all, if nothing was masked. What is released as labels was masked."""
    if not pair.labelled and all(left_out.get(name) == _AS_THEY_WERE for name in attributes):
        return attributes
    return tuple(name for name in attributes if name not in left_out)


def _left_out_text(left_out: Mapping[str, str], moving: Sequence[str]) -> str:
    """A sentence on the attributes that are not counted, or on why they all are."""
    if set(left_out) & set(moving):
        return " Nothing was masked, so every value is disclosed as it is."
    reasons = {why: ", ".join(name for name in left_out if left_out[name] == why) for why in left_out.values()}
    told = "; ".join(f"{names} ({why})" for why, names in reasons.items())
    return f" Left out of the risk: {told}." if told else ""


def _ranks_by_record(values: FloatArray) -> FloatArray:
    """Ranks from 1; of equal values the earlier record has the lower rank."""
    ranks = np.empty(len(values))
    ranks[np.argsort(values, kind="stable")] = np.arange(1.0, len(values) + 1.0)
    return ranks


def _between_ranks(first: IntArray, beyond: IntArray, rank: FloatArray, reach: int, count: int) -> BoolArray:
    """Whether values lie between those of so many released values that are `reach` ranks below and above.

    `first` is how many released values are below a value, `beyond` how many are not above it.
    """
    low = np.clip(np.floor(rank - reach), 1, count)
    high = np.clip(np.ceil(rank + reach), 1, count)
    return np.asarray((low <= beyond) & (high > first))


def _middle_ranks(codes: IntArray, size: int) -> FloatArray:
    """The mean rank each category has, or would have, in a column."""
    counts = np.bincount(codes, minlength=size)
    below = np.cumsum(counts) - counts
    return below + (counts + 1) / 2
