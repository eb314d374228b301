"""Mondrian: the records are divided by cuts along one attribute at a time, and every region publishes one value."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.masking.base import Masked, Method
from microveil.masking.coarsening.spans import Axis, Even, axis_of, label_column, middle_column, mode_column
from microveil.masking.microaggregation.aggregators import Publish, published_columns
from microveil.masking.microaggregation.incomplete import Emptied, blocks_by_pattern, cells_to_empty
from microveil.masking.partition import Partition
from microveil.microdata import Attribute, Microdata
from microveil.microdata.microdata import check_records
from microveil.microdata.schema import KINDS
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.randomness import Streams
from microveil.typing import BoolArray, FloatArray


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

    k: int = parameter(3, help="fewest records in a region", ge=2, le=MOST_RECORDS)
    publish: Literal["median", "mean", "middle", "mode", "interval", "set"] = parameter(
        "median",
        help="what a region publishes; numbers and ordered categories: the median, the mean (of ordered categories "
        "the median), the midpoint of their interval, the mode, the interval such as [20, 35], or the set of "
        "values; other categories: the mode, or with interval their node of the hierarchy or their set, or with "
        "set their set",
    )
    cut: Literal["strict", "relaxed"] = parameter(
        "strict", help="whether equal values stay in one region, or may be divided so that the halves are equal"
    )
    even: Even = parameter("lower", help="with middle: which of two middle categories is published")

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        check_records(data, self.k, f"{self.name} with k = {self.k}")
        axes = [axis_of(data, name) for name in attributes]
        partition = self._regions(data, axes, Part(progress, 0.0, 0.7))
        columns: dict[str, pa.Array] = {}
        changed: list[Attribute] = []
        emptied = Emptied()
        for axis, part in zip(axes, parts(Part(progress, 0.7, 1.0), len(axes)), strict=True):
            name = axis.attribute.name
            states = data.missing_states(name)
            matches = axis.attribute.missing == "wildcard"
            suppressed = cells_to_empty(states, partition, self.k, missing_matches=matches)
            emptied = emptied.and_of(suppressed, states)
            columns[name], described = self._published(data, axis, partition, suppressed, streams)
            changed += [described] if described is not None else []
            part(1.0, f"{self.name}: {name}")
        return Masked(columns, {attributes: partition}, notes=emptied.notes, attributes=tuple(changed))

    def _regions(self, data: Microdata, axes: list[Axis], progress: Progress) -> Partition:
        from microveil.numerics.grouping.mondrian import mondrian_regions

        matrix = np.column_stack([_filled(axis) for axis in axes])
        span = np.array([axis.span for axis in axes])
        states = np.column_stack([data.missing_states(axis.attribute.name) for axis in axes])
        apart = np.array([axis.attribute.missing != "wildcard" for axis in axes])
        blocks = blocks_by_pattern(states, self.k, apart)
        labels = np.empty(len(data), dtype=np.int64)
        used = 0
        for rows, part in zip(blocks, parts(progress, len(blocks)), strict=True):
            made = mondrian_regions(
                matrix[rows],
                span,
                [axis.heights for axis in axes],
                self.k,
                part,
                f"{self.name}: cutting",
                strict=self.cut == "strict",
            )
            labels[rows] = used + made
            used += int(made.max()) + 1
        return Partition.of(labels)

    def _published(
        self, data: Microdata, axis: Axis, partition: Partition, suppressed: BoolArray, streams: Streams
    ) -> tuple[pa.Array, Attribute | None]:
        name = axis.attribute.name
        if self.publish in ("interval", "set"):
            column, described = label_column(data, axis, partition, suppressed, as_set=self.publish == "set")
            if suppressed.any():
                column = pc.if_else(pa.array(suppressed), pa.scalar(None, column.type), column)
            return column, described
        if self.publish == "mode" or not axis.is_ordered:
            return mode_column(data, axis, partition, suppressed), None
        if self.publish == "middle":
            return middle_column(data, axis, partition, suppressed, self.even), None
        in_common: Publish = "mean" if self.publish == "mean" else "median"
        rng = streams.generator("published", name)
        return published_columns(data, partition, {name: suppressed}, in_common, None, rng)[0][name], None


def _filled(axis: Axis) -> FloatArray:
    """Missing cells, which only pooled patterns have, as the median."""
    present = np.sort(axis.values[~np.isnan(axis.values)])
    median = present[(len(present) - 1) // 2] if len(present) else 0.0
    return np.where(np.isnan(axis.values), median, axis.values)
