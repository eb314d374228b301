"""Projected microaggregation: records in the order of one number each, neighbours in groups."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.microaggregation.individual_ranking import own_values
from microveil.masking.ranges import GROUP_SIZES, Ranges, ranges
from microveil.numerics.choices import Remainder
from microveil.numerics.statistics.scaling import Scale
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray

Axis = Literal["component", "z-sum", "variable", "mean", "weighted-mean", "owa", "choquet", "sugeno", "twofold"]
Cut = Literal["optimal", "optimal-score", "fixed", "width", "k-ward", "kw", "kwd", "kwd-exact", "kwr", "kwdr"]


@parameterised
class Projection(Microaggregation):
    """Put the records in the order of one score, cut the order into groups, publish the means of all attributes.

    The score is the first principal component, the sum of z-scores, one attribute, or an aggregation function of the
    attributes, each brought to [0, 1]. The cuts are the best ones for all attributes in that order ("optimal"; on the
    `scale` chosen), the best ones for the score alone, groups of k, or k-Ward on the score. Good for attributes that go
    together; what the score does not see is lost.

    >>> from microveil.microdata import Microdata
    >>> table = Microdata.of({"a1": [1, 2, 3, 6, 7, 8, 9], "a2": [4, 15, 5, 17, 6, 18, 16]})
    >>> Projection(k=2, axis="z-sum").mask(table).frame["a2"].to_pylist()
    [4.5, 10.5, 4.5, 17.0, 10.5, 17.0, 17.0]
    """

    name: ClassVar[str] = "projection"
    summary: ClassVar[str] = "records are sorted by one score and divided into groups of at least k"
    source: ClassVar[str] = (
        "Mateo-Sanz and Domingo-Ferrer (1998); Nin and Torra (2008); Nin (2008), sections 2.4.2 and 3.2, Algorithms 2 "
        "and 4; Fayyoumi (2008), section 2.6.3.1"
    )
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES)

    axis: Axis = parameter(default="component", help="score by which the records are sorted")
    partition: Cut = parameter(
        default="optimal",
        help="how the sorted records are divided: with the least loss over all attributes (optimal), with the least "
        "loss over the score (optimal-score), or by another method",
    )
    variable: str | None = parameter(
        default=None, help="with axis=variable: the attribute by which the records are sorted; unset: the first"
    )
    component_scale: Scale = parameter(default="z", help="scale of the attributes for the first principal component")
    alpha: float = parameter(
        default=1.0,
        help="quantifier Q(x) = x^alpha of owa, choquet, sugeno and twofold without a measure",
        gt=0,
        le=1_000,
    )
    importance: tuple[float, ...] | None = parameter(
        default=None, help="weighted-mean: the weight of each attribute (none: equal)"
    )
    measure: tuple[float, ...] | None = parameter(
        default=None,
        help="fuzzy measure: a number for each size of a set (d + 1), or for each set by its bit mask (2^d)",
    )
    choquet_measure: tuple[float, ...] | None = parameter(
        default=None, help="twofold: the fuzzy measure of the Choquet part (none: as measure)"
    )
    remainder: Remainder = parameter(default="last", help="with fixed: which group takes the n mod k records left over")
    threshold: float | None = parameter(
        default=None,
        help="with kwr and kwdr: the threshold of the variation within halves; unset: dynamic",
        ge=0,
        le=1e6,
    )

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        if len(columns) < 2 * self.k:
            labels = np.zeros(len(columns), dtype=np.int64)
        else:
            labels = self._cut(self._score(columns, records), columns, progress)
        progress(1.0, f"{self.name}: grouping records")
        return labels

    def _cut(self, score: FloatArray, columns: FloatArray, progress: Progress) -> IntArray:
        from microveil.numerics.grouping import univariate, ward

        label = f"{self.name}: cutting the order"
        if self.partition == "optimal":
            return univariate.optimal_groups(score, self.k, columns, progress, label)
        if self.partition == "optimal-score":
            return univariate.optimal_groups(score, self.k, None, progress, label)
        if self.partition == "fixed":
            return univariate.fixed_groups(score, self.k, self.remainder)
        if self.partition == "width":
            return univariate.least_width_groups(score, self.k)
        if self.partition == "kwr":
            return ward.recursive_k_ward_groups(score, self.k, "contiguous", self.threshold)[0]
        if self.partition == "kwdr":
            return ward.recursive_k_ward_groups(score, self.k, "kwd", self.threshold)[0]
        return ward.k_ward_groups(score, self.k, "contiguous" if self.partition == "k-ward" else self.partition)

    def _score(self, columns: FloatArray, records: Records) -> FloatArray:
        from microveil.numerics.statistics import projections
        from microveil.numerics.statistics.scaling import min_max, standardise

        if columns.shape[1] == 1:
            return columns[:, 0]
        if self.axis == "variable":
            return own_values(records, self._position_of_variable(records))
        if self.axis == "z-sum":
            return projections.sum_of_z_scores(columns)
        if self.axis == "component" and self.component_scale == "z":
            return projections.first_component(standardise(columns)).scores
        # as they are in the file: the rounding of a scale would break ties between attributes
        whole = self.preparation.compares_series  # then columns are not attributes
        own = columns if whole else np.column_stack([own_values(records, j) for j in range(columns.shape[1])])
        if self.axis != "component":
            return self._aggregated(projections.to_unit_interval(own))
        ready = min_max(own) if self.component_scale == "minmax" else own
        return projections.first_component(ready - ready.mean(axis=0)).scores

    def _position_of_variable(self, records: Records) -> int:
        if self.variable is None:
            return 0
        if self.variable not in records.attributes:
            raise ParameterError(
                f"{self.name}: variable = {self.variable!r} is not allowed; it is not one of the attributes that are "
                f"masked together: {', '.join(records.attributes)}"
            )
        return records.attributes.index(self.variable)

    def _aggregated(self, unit: FloatArray) -> FloatArray:
        from microveil.numerics.statistics import aggregation_operators as aggregation

        d = unit.shape[1]
        quantifier = aggregation.power_quantifier(self.alpha)
        if self.axis == "mean":
            return aggregation.arithmetic_mean(unit)
        if self.axis == "weighted-mean":
            return aggregation.weighted_mean(unit, (1.0,) * d if self.importance is None else self.importance)
        if self.axis == "owa":
            return aggregation.owa(unit, quantifier)
        measure = (
            aggregation.FuzzyMeasure.symmetric(quantifier, d)
            if self.measure is None
            else aggregation.FuzzyMeasure.of(self.measure, d)
        )
        if self.axis == "choquet":
            return aggregation.choquet(unit, measure)
        if self.axis == "sugeno":
            return aggregation.sugeno(unit, measure)
        if self.choquet_measure is None:
            return aggregation.twofold(unit, measure, measure)
        return aggregation.twofold(unit, measure, aggregation.FuzzyMeasure.of(self.choquet_measure, d))
