"""Mondrian: the records are divided by cuts along one attribute at a time, and every region publishes one value."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.base import Masked, Method
from microveil.masking.coarsening.axes import Axis, axis_of
from microveil.masking.partition import Partition
from microveil.masking.preparation.missing_patterns import rows_by_pattern
from microveil.masking.publishing.publishing import Publishing
from microveil.masking.publishing.span import Span
from microveil.masking.ranges import GROUP_SIZES, Ranges, ranges
from microveil.microdata import Microdata
from microveil.microdata.microdata import check_records
from microveil.microdata.schema import KINDS
from microveil.numerics.grouping.groups import joined_labels
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.randomness import Streams
from microveil.typing import FloatArray


@parameterised
class Mondrian(Method):
    """The file is cut in two along its widest attribute, each half again, as long as both sides keep k records; every
    region then publishes one value, or its interval, for each attribute.

    Width is relative to the whole: the domain of categories, the range of numbers. A cut is made at the median, or at
    the value nearest to it that leaves k records on both sides; the narrower attributes are tried where the widest has
    no such cut. Nominal categories with a hierarchy are cut into the children of the node that holds the region, each
    with no record or at least k; without one they are cut in the order of their domain.

    Every combination of published values has at least k records. Intervals and sets tell what they hide, but an
    attribute published so is a list of texts, which only distance- and probabilistic-linkage compare with the original;
    medians, means, middles and modes stay values of the attribute.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43], "sex": ["f", "m", "f", "f"]}, keys=["age", "sex"])
    >>> Mondrian(k=2).mask(people).frame.to_pydict()
    {'age': [21.0, 21.0, 42.0, 42.0], 'sex': ['f', 'f', 'f', 'f']}
    >>> Mondrian(k=2, publish="interval").mask(people).frame.to_pydict()
    {'age': ['[20, 22]', '[20, 22]', '[41, 43]', '[41, 43]'], 'sex': ['{f, m}', '{f, m}', '{f}', '{f}']}
    """

    name: ClassVar[str] = "mondrian"
    family: ClassVar[str] = "coarsening"
    suppresses: ClassVar[bool] = True
    summary: ClassVar[str] = "median cuts into regions of at least k records, which publish one value or an interval"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    random: ClassVar[bool] = False
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; records with the same pattern of missing cells are "
        "divided by themselves, rare patterns are pooled, and a value is suppressed where fewer than k records "
        "of its region have one. Where missing is not a wildcard, an attribute that is missing for some records "
        "of a pooled region only is suppressed for all of them, missing codes included"
    )
    weights: ClassVar[str] = "sampling weights are not used: k counts records; they are released as they are"
    source: ClassVar[str] = "LeFevre, DeWitt and Ramakrishnan (2006); Marés (2013), section 2.3.3"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES)

    k: int = parameter(default=3, help="fewest records in a region", ge=2, le=MOST_RECORDS)
    cut: Literal["strict", "relaxed"] = parameter(
        default="strict", help="whether equal values stay in one region, or may be divided so that the halves are equal"
    )
    publishing: Publishing = parameter(default=Span(), help="what a region publishes")

    @property
    def draws(self) -> bool:
        return self.publishing.draws

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        check_records(data, self.k, f"{self.name} with k = {self.k}")
        self.publishing.check_table(data, attributes, self.name)
        axes = [axis_of(data, name) for name in attributes]
        partition = self._regions(data, axes, Part(progress, 0.0, 0.7))
        published = self.publishing.of_groups(data, attributes, partition, self.k, streams, self.name)
        progress(1.0, f"{self.name}: publishing")
        notes = (*published.emptied.notes, *published.notes)
        return Masked(published.columns, {attributes: partition}, notes=notes, attributes=published.attributes)

    def _regions(self, data: Microdata, axes: list[Axis], progress: Progress) -> Partition:
        from microveil.numerics.grouping.mondrian import mondrian_regions

        matrix = np.column_stack([_filled(axis) for axis in axes])
        span = np.array([axis.span for axis in axes])
        states = np.column_stack([data.missing_states(axis.attribute.name) for axis in axes])
        apart = np.array([axis.attribute.missing != "wildcard" for axis in axes])
        patterns = rows_by_pattern(states, self.k, apart)
        heights = [axis.heights for axis in axes]
        label, strict = f"{self.name}: cutting", self.cut == "strict"
        made = (
            mondrian_regions(matrix[rows], span, heights, self.k, part, label, strict=strict)
            for rows, part in zip(patterns, parts(progress, len(patterns)), strict=True)
        )
        return Partition.of(joined_labels(patterns, made))


def _filled(axis: Axis) -> FloatArray:
    """Missing cells, which only pooled patterns have, as the median."""
    present = np.sort(axis.values[~np.isnan(axis.values)])
    median = present[(len(present) - 1) // 2] if len(present) else 0.0
    return np.where(np.isnan(axis.values), median, axis.values)
