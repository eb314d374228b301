"""Top and bottom coding: what lies at one end of an ordered attribute becomes one value."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method, OverRecords
from microveil.masking.coarsening.coarse import Coarse, Publish, centred, merged, published, valid_categories, whole_of
from microveil.masking.notes import VALUES_CODED, VALUES_CODED_AS_THRESHOLD, Note
from microveil.masking.ranges import Interval, Ranges, Whole, ranges
from microveil.microdata import Attribute, Microdata
from microveil.microdata.facts import Facts
from microveil.microdata.microdata import count
from microveil.microdata.schema import KINDS
from microveil.parameters import LARGEST_NUMBER, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, reported
from microveil.randomness import Streams

_FEW = 3  # the mean or median of fewer values would tell one of them


@parameterised
class TopBottomCoding(Method):
    """What top and bottom coding have in common."""

    family: ClassVar[str] = "coarsening"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = "missing cells and missing codes stay as they are and are not counted"
    source: ClassVar[str] = "Willenborg and de Waal (2001); Fayyoumi (2008), section 2.5.2; Marés (2013), section 2.3.5"
    searched: ClassVar[Ranges] = ranges(percent=Interval(0.5, 20.0, logarithmic=True), p=Whole(1, 5))
    random: ClassVar[bool] = False
    needs_order: ClassVar[bool] = True
    over_records: ClassVar[OverRecords] = "per record"
    top: ClassVar[bool]

    by: Literal["percent", "value", "count"] = parameter(
        default="percent",
        help="numbers: where the threshold comes from: a quantile, a value given, or a number of records",
    )
    percent: float = parameter(
        default=2.5, help="numbers: the percentage of the values that lie beyond the threshold", gt=0, lt=100
    )
    threshold: float | None = parameter(
        default=None, help="numbers, by value: values beyond this are coded", ge=-LARGEST_NUMBER, le=LARGEST_NUMBER
    )
    k: int = parameter(
        default=5,
        help="numbers, by count: fewest records that are coded; equal values may add more",
        ge=1,
        le=MOST_RECORDS,
    )
    code: Literal["threshold", "mean", "median"] = parameter(
        default="threshold",
        help="numbers: published value of the coded records: the threshold, or their mean or median, which is not "
        "released for fewer than 3 records",
    )
    p: int = parameter(
        default=2, help="categories: number of categories at this end that are merged into one", ge=0, le=1_000_000
    )
    publish: Publish = parameter(
        default="representative",
        help="categories: one of the merged categories stands for all, or a label that names them",
    )
    naming: Literal["common", "source"] = parameter(
        default="common",
        help="common: top is the high end; source: the first categories are the top, as in Marés (2013)",
    )

    def __post_init__(self) -> None:
        if self.by == "value" and self.threshold is None:
            raise ParameterError(f"{self.name}: threshold must be given where by = 'value'")

    @property
    def works_over(self) -> OverRecords:
        return "per record" if self.code == "threshold" else "whole table"

    @property
    def high(self) -> bool:
        """Whether the high end is coded."""
        return self.top == (self.naming == "common")

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        columns: dict[str, pa.Array] = {}
        changed: list[Attribute] = []
        notes: list[Note] = []
        for name in reported(attributes, progress, self.name):
            if data[name].kind == "numeric":
                columns[name], note = self._coded_numbers(data, name)
                notes.append(note)
            else:
                columns[name], attribute = self._coded_categories(data, name)
                changed += [] if attribute is None else [attribute]
        return Masked(columns, attributes=tuple(changed), notes=tuple(notes))

    def _coded_numbers(self, data: Microdata, name: str) -> tuple[pa.Array, Note]:
        values = data.numbers(name).values
        sign = 1.0 if self.high else -1.0  # the low end of the values is the high end of their negatives
        threshold = self._threshold(data.facts, name)
        beyond = np.nan_to_num(sign * values, nan=-np.inf) > sign * threshold
        coded = int(beyond.sum())
        note = VALUES_CODED(method=self.name, values=coded, attribute=name)
        if self.code == "threshold" or coded < _FEW:
            if self.code != "threshold" and coded:
                note = VALUES_CODED_AS_THRESHOLD(method=self.name, values=coded, attribute=name, code=self.code)
            return data.number_column(name, np.where(beyond, threshold, values)), note
        coarse = Coarse(np.where(beyond, 0, -1), ("",))
        return data.number_column(name, centred(data, name, coarse, self.code)), note

    def _threshold(self, facts: Facts, name: str) -> float:
        """Where the end to be coded begins."""
        if self.by == "value" and self.threshold is not None:
            return self.threshold
        present = int(facts.moments([name]).records[0])
        if not present:
            return np.inf if self.high else -np.inf
        if self.by == "percent":
            share = self.percent / 100.0
            return facts.quantile(name, 1.0 - share if self.high else share)
        if present < self.k:
            raise DataError(
                f"attribute '{name}' has {count(present, 'value')}, but {self.name} is to code at least {self.k}"
            )
        (last,) = facts.order_statistics(name, [present - self.k if self.high else self.k - 1])
        inner = facts.next_value(name, float(last), up=not self.high)
        if inner is None:
            raise DataError(
                f"attribute '{name}' has no value below those {self.name} would code to reach {self.k} records; lower k"
            )
        return inner

    def _coded_categories(self, data: Microdata, name: str) -> tuple[pa.Array, Attribute | None]:
        attribute = data[name]
        if not attribute.has_order:
            raise DataError(
                f"attribute '{name}' is {attribute.kind} and its categories have no declared order, so {self.name} "
                "cannot tell their ends; declare its domain in the schema"
            )
        coarse_of = partial(self._merged, name=name)
        whole = whole_of(data, name, coarse_of) if self.publish != "label" else None
        return published(data, name, coarse_of(data), self.publish, whole=whole)

    def _merged(self, data: Microdata, name: str) -> Coarse:
        column = valid_categories(data, name)
        groups = np.arange(len(column.domain))
        if self.p > 1:
            end = groups[-self.p :] if self.high else groups[: self.p]
            groups[end] = end[0] if len(end) else 0
        return merged(column, groups, ordered=True)


@parameterised
class TopCode(TopBottomCoding):
    """All values above a threshold are published as one: the threshold, or the mean or median of what lies above it.

    Of categories the last p become one. Rare large values, such as the highest incomes, are what gives persons away.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"income": [10, 20, 30, 40, 900]})
    >>> TopCode(by="value", threshold=40).mask(people).frame["income"].to_pylist()
    [10.0, 20.0, 30.0, 40.0, 40.0]
    """

    name: ClassVar[str] = "top-code"
    summary: ClassVar[str] = (
        "top coding: values above a threshold, or the last categories, are replaced by a single value"
    )
    top: ClassVar[bool] = True


@parameterised
class BottomCode(TopBottomCoding):
    """All values below a threshold are published as one: the threshold, or the mean or median of what lies below it.

    Of categories the first p become one.

    >>> from microveil.microdata import Microdata
    >>> order = ["none", "basic", "high"]
    >>> people = Microdata.of({"school": ["none", "basic", "high", "basic"]}, ordinal={"school": order})
    >>> BottomCode(p=2).mask(people).frame["school"].to_pylist()
    ['basic', 'basic', 'high', 'basic']
    """

    name: ClassVar[str] = "bottom-code"
    summary: ClassVar[str] = (
        "bottom coding: values below a threshold, or the first categories, are replaced by a single value"
    )
    top: ClassVar[bool] = False
