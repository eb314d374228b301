"""What regressions on the release find, beside what they found in the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.losses.base import Loss, LossMeasure, Scope
from microveil.microdata.schema import KINDS
from microveil.numerics.counting.distinct_rows import number_values
from microveil.numerics.statistics.interval_overlap import confidence_overlap, normal_reach
from microveil.numerics.statistics.regression import CrossProducts, Fit, grouped
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.typing import BoolArray, FloatArray, IntArray

_CHUNK = 100_000
_MOST_DUMMIES = 50


@parameterised
class Regression(LossMeasure):
    """How much the confidence intervals of regression coefficients overlap before and after, in a linear regression of
    one attribute on others, or of each numeric attribute in turn on all others.

    The value is the mean share of the intervals that is lost: 0 where they are the same, 100 where they are apart;
    `raw` goes on beyond, the farther apart they are. Numbers are standardised by the original; a categorical predictor
    has an indicator for each category but the most frequent. A coefficient that the release leaves open, because its
    records are too few or a predictor does not vary any more, is lost whole. Attributes that do not vary in the
    original are left out.

    `details`: the mean difference of a coefficient in standard errors (`standardised_difference`), the share of
    significant coefficients whose sign changed (`sign_changes`), the mean relative change of the residual variance
    (`residual_variance`), and how many attributes were left out (`left_out`).

    With `grouped`, the analyst treats the release as the means of groups, each with the weight of its size, and divides
    the weighted squared residuals by the number of groups less that of coefficients. Groups are those of the release's
    partition, or else records with the same released values.

    >>> from microveil.microdata import Microdata
    >>> people = {"age": [20, 30, 40, 50, 60], "pay": [10, 21, 29, 41, 49]}
    >>> masked = {"age": [25, 25, 40, 55, 55], "pay": [15, 15, 29, 45, 45]}
    >>> measure = Regression(response="pay", predictors=("age",))
    >>> measure.measure(Microdata.of(people), Microdata.of(masked)).value.__round__(1)
    25.2
    """

    name: ClassVar[str] = "regression"
    family: ClassVar[str] = "analytical"
    summary: ClassVar[str] = "lost overlap of the confidence intervals of regression coefficients before and after"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = (
        "share of the confidence intervals of regression coefficients that is lost; lower is better"
    )
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "in the original the records are analysed that have every attribute of all regressions, in the release those "
        "of them that are still complete"
    )
    source: ClassVar[str] = (
        "Karr et al. (2006); Feige and Watts (1970) and Fayyoumi (2008), section 2.6.5, on grouped data"
    )
    scope: ClassVar[Scope] = "specific"

    response: str | None = parameter(default=None, help="the numeric response; unset: each numeric attribute in turn")
    predictors: tuple[str, ...] | None = parameter(
        default=None, help="the predictors of the response; unset: all others that are compared"
    )
    level: float = parameter(default=0.95, help="confidence level of the intervals", gt=0, lt=1)
    grouped: bool = parameter(
        default=False, help="analyse the release by weighted least squares on the means of its groups"
    )

    @classmethod
    def suited(cls, pair: Pair) -> bool:
        return bool(pair.of_kinds(("numeric",)))

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        responses = self._responses(pair, attributes)
        lost, beyond, differences, turned, residuals = {}, [], [], [], []
        reading, fitting = parts(progress, 2)
        predictors = self.predictors or attributes
        table = _Terms.of(pair, tuple(dict.fromkeys((*predictors, *responses))))
        original = table.complete(table.before)
        constant = table.constant(original)
        if self.response in constant:
            raise DataError(
                f"attribute '{self.response}' does not vary in the original, so there is nothing to explain"
            )
        before = table.products(table.before, original)
        labels = self._groups(pair, table) if self.grouped else None
        after = table.products(table.after, original & table.complete(table.after), labels)
        reading(1.0, f"{self.name}: products")
        responses = tuple(name for name in responses if name not in constant)
        for response, part in zip(responses, parts(fitting, max(1, len(responses))), strict=False):
            chosen = table.columns_of([name for name in predictors if name != response and name not in constant])
            one, other = (_fitted(side, int(table.columns_of([response])[0]), chosen) for side in (before, after))
            overlap = confidence_overlap(one.coefficients, one.errors, other.coefficients, other.errors, self.level)
            nothing_left = before.observations > 0 == after.observations
            overlap = np.where((one.found & ~other.found) | nothing_left, 0.0, overlap)
            lost[response] = 100 * (1 - float(np.clip(overlap, 0.0, 1.0).mean()))
            beyond.append(1 - float(overlap.mean()))
            differences.append(_standardised(one, other))
            turned.append(_turned(one, other, self.level))
            if one.residual_variance > 0:
                residuals.append(abs(other.residual_variance / one.residual_variance - 1))
            part(1.0, f"{self.name}: {response}")
        details = {
            "standardised_difference": _mean(differences),
            "sign_changes": 100 * _mean(turned),
            "residual_variance": 100 * _mean(residuals),
            "left_out": float(len(constant)),
        }
        value = _mean(list(lost.values()))
        raw = max(value, 100 * _mean(beyond))
        return Loss(self.name, value, raw, attributes, per_attribute=lost, details=details)

    def _responses(self, pair: Pair, attributes: tuple[str, ...]) -> tuple[str, ...]:
        for name in (*(self.predictors or ()), *((self.response,) if self.response else ())):
            pair.original.schema[name]
            if name not in pair.masked.names:
                raise DataError(f"the masked table has no column '{name}' for the regression")
        if self.response is not None:
            if pair.original[self.response].kind != "numeric":
                raise DataError(f"attribute '{self.response}' is not numeric, so it cannot be the response")
            return (self.response,)
        numeric = tuple(name for name in attributes if pair.original[name].kind == "numeric")
        if not numeric:
            raise DataError("there is no numeric attribute that a regression could explain")
        return numeric

    def _groups(self, pair: Pair, table: _Terms) -> IntArray:
        partition = None if pair.release is None else pair.release.partition
        if partition is not None and len(partition.labels) == len(pair):
            return np.asarray(partition.labels)
        return number_values(table.after)[0]


@dataclass(frozen=True)
class _Terms:
    """The attributes of a regression: numbers standardised by the original, or codes; NaN is missing. `categories` are
    the codes that have an indicator, None for a number."""

    names: tuple[str, ...]
    before: list[FloatArray]
    after: list[FloatArray]
    categories: list[FloatArray | None]

    @classmethod
    def of(cls, pair: Pair, names: Sequence[str]) -> _Terms:
        terms = cls(tuple(names), [], [], [])
        for name in names:
            if pair.original[name].kind == "numeric":
                one, other = (column.values for column in pair.numbers(name))
                scaling = Scaling.of(one[:, None])
                sides = [scaling.apply(column[:, None])[:, 0] for column in (one, other)]
                terms.categories.append(None)
            else:
                codes = [column.codes for column in pair.categories(name)]
                sides = [np.where(side < 0, np.nan, side) for side in codes]
                found, counts = np.unique(codes[0][codes[0] >= 0], return_counts=True)
                common_first = found[np.argsort(-counts, kind="stable")]
                terms.categories.append(common_first[1 : _MOST_DUMMIES + 1].astype(np.float64))
            terms.before.append(sides[0])
            terms.after.append(sides[1])
        return terms

    def columns_of(self, names: Sequence[str]) -> IntArray:
        """The columns of the design that belong to these attributes."""
        widths = [1 if found is None else len(found) for found in self.categories]
        starts = dict(zip(self.names, np.cumsum([0, *widths[:-1]]), strict=True))
        sizes = dict(zip(self.names, widths, strict=True))
        found = [np.arange(starts[name], starts[name] + sizes[name]) for name in names]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def complete(self, side: list[FloatArray]) -> BoolArray:
        return np.asarray(~np.logical_or.reduce([np.isnan(column) for column in side]))

    def constant(self, rows: BoolArray) -> frozenset[str]:
        """The attributes that do not vary in these rows of the original; none where there are no rows."""
        columns = ((name, column[rows]) for name, column in zip(self.names, self.before, strict=True))
        return frozenset(name for name, column in columns if len(column) and np.ptp(column) == 0)

    def products(self, side: list[FloatArray], rows: BoolArray, labels: IntArray | None = None) -> CrossProducts:
        """The cross products over some rows, or over the means of their groups; long tables chunk by chunk."""
        chosen = np.flatnonzero(rows)
        if labels is not None and len(chosen):
            return CrossProducts.of(*grouped(self._design(side, chosen), labels[chosen]))
        total = CrossProducts.of(self._design(side, chosen[:_CHUNK]))
        for start in range(_CHUNK, len(chosen), _CHUNK):
            total = total + CrossProducts.of(self._design(side, chosen[start : start + _CHUNK]))
        return total

    def _design(self, side: list[FloatArray], rows: IntArray) -> FloatArray:
        columns = [
            column[rows, None] if found is None else (column[rows, None] == found).astype(np.float64)
            for column, found in zip(side, self.categories, strict=True)
        ]
        return np.hstack(columns)


def _fitted(products: CrossProducts, response: int, predictors: IntArray) -> Fit:
    """The slopes, or, without predictors, the mean."""
    fit = products.fit(response, predictors)
    slopes = slice(1, None) if len(predictors) else slice(None)
    return replace(fit, coefficients=fit.coefficients[slopes], errors=fit.errors[slopes], found=fit.found[slopes])


def _mean(values: Sequence[float] | FloatArray) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _standardised(one: Fit, other: Fit) -> float:
    """The mean difference of a coefficient over its standard error in the original, where it has one."""
    usable = one.errors > 0
    return _mean(np.abs(other.coefficients - one.coefficients)[usable] / one.errors[usable])


def _turned(one: Fit, other: Fit, level: float) -> float:
    """The share of the coefficients significant in the original that have another sign in the release."""
    clear = np.abs(one.coefficients) > normal_reach(level) * one.errors
    turned = one.coefficients * other.coefficients < 0
    return float(turned[clear].mean()) if clear.any() else 0.0
