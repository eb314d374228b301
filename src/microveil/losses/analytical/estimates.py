"""Design-based estimates from the release beside those from the original: means, totals and proportions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow.compute as pc

from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.losses.analytical.subdomains import Rows, by_category, categorical, everyone
from microveil.losses.base import Loss, LossMeasure
from microveil.microdata import Microdata
from microveil.microdata.schema import KINDS
from microveil.numerics.statistics.interval_overlap import confidence_overlap
from microveil.numerics.statistics.survey_estimates import Design, Estimates
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, reported
from microveil.typing import BoolArray, FloatArray, IntArray


@parameterised
class SurveyEstimates(LossMeasure):
    """How much the confidence intervals of the usual survey estimates overlap before and after: the mean and the total
    of a numeric attribute, the proportion of each category of the others; in all, or in every sub-domain of `by`.

    Estimates are weighted by the attribute with the role weight. Their standard errors are those of a stratified sample
    of households (or of records, without that role), drawn with replacement, with means and proportions linearised; the
    weights, strata and households of a release are its own, where it has them. The value is the mean share of the
    intervals that is lost: 0 where they are the same, 100 where they are apart or the release has no record left to
    estimate from; `raw` goes on beyond. `details` has the same for each kind of estimate, and the mean difference in
    standard errors (`standardised_difference`).

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 30, 40, 50], "w": [1, 1, 2, 2]}, keys=["age"], weight="w")
    >>> masked = Microdata.of({"age": [25, 25, 45, 45], "w": [1, 1, 2, 2]})
    >>> SurveyEstimates().measure(people, masked).details["means"].__round__(1)
    7.0
    """

    name: ClassVar[str] = "estimates"
    family: ClassVar[str] = "analytical"
    summary: ClassVar[str] = "lost overlap of the confidence intervals of weighted means, totals and proportions"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = "share of the confidence intervals of survey estimates that is lost; lower is better"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "an estimate is that of the records that have the attribute; missing sub-domains are left out"
    )
    source: ClassVar[str] = "Karr et al. (2006); Särndal, Swensson and Wretman (1992), chapter 5"

    by: str | None = parameter(default=None, help="a categorical attribute: estimates for each of its categories")
    level: float = parameter(default=0.95, help="confidence level of the intervals", gt=0, lt=1)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        designs = tuple(_design(side, pair.original) for side in (pair.original, pair.masked))
        domains = [everyone(pair)] if self.by is None else by_category(pair, categorical(pair, self.by))
        lost: dict[str, list[FloatArray]] = defaultdict(list)
        by_attribute: dict[str, float] = {}
        beyond, differences = [], []
        for name in reported(attributes, progress, self.name):
            found: list[FloatArray] = [np.empty(0)]
            for kind, estimates in _estimates(pair, name, designs, domains).items():
                overlap = estimates.overlap(self.level)
                found.append(overlap)
                lost[kind].append(1 - np.clip(overlap, 0.0, 1.0))
                differences.append(estimates.differences())
            overlaps = np.concatenate(found)
            by_attribute[name] = 100 * _mean(1 - np.clip(overlaps, 0.0, 1.0))
            beyond.append(_mean(1 - overlaps))
        details = {kind: 100 * _mean(np.concatenate(shares)) for kind, shares in lost.items()}
        details["standardised_difference"] = _mean(np.concatenate([np.empty(0), *differences]))
        value = float(np.mean(list(by_attribute.values())))
        raw = max(value, 100 * float(np.mean(beyond)))
        return Loss(self.name, value, raw, attributes, per_attribute=by_attribute, details=details)


@dataclass(frozen=True)
class _Compared:
    """Estimates of one kind from the original and from the release, which may have nothing left to make one of
    (`gone`)."""

    before: Estimates
    after: Estimates
    gone: BoolArray

    @classmethod
    def of(cls, sides: list[tuple[Estimates, Estimates]]) -> _Compared:
        """Of all sub-domains in which the original has an estimate."""
        sides = [(one, other) for one, other in sides if one.held > 0]
        gone = [np.full(len(other.values), other.held <= 0) for _, other in sides]
        return cls(
            Estimates.joined([one for one, _ in sides]),
            Estimates.joined([other for _, other in sides]),
            np.concatenate([np.empty(0, dtype=np.bool_), *gone]),
        )

    def overlap(self, level: float) -> FloatArray:
        one, other = self.before, self.after
        return np.where(self.gone, 0.0, confidence_overlap(one.values, one.errors, other.values, other.errors, level))

    def differences(self) -> FloatArray:
        """In standard errors of the original, where there are any."""
        usable = (self.before.errors > 0) & ~self.gone
        return np.asarray(np.abs(self.after.values - self.before.values)[usable] / self.before.errors[usable])


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _estimates(pair: Pair, name: str, designs: tuple[Design, ...], domains: list[Rows]) -> dict[str, _Compared]:
    """The estimates of one attribute before and after, by their kind."""
    if pair.original[name].kind == "numeric":
        values = [column.values for column in pair.numbers(name)]
        present = [~np.isnan(column) for column in values]
        sides = []
        for domain in domains:
            rows = [inside[held[inside]] for inside, held in zip(domain, present, strict=True)]
            each = zip(designs, values, rows, strict=True)
            sides.append([design.within(inside).mean_and_total(column[inside]) for design, column, inside in each])
        means, totals = ([(one[which], other[which]) for one, other in sides] for which in (0, 1))
        return {"means": _Compared.of(means), "totals": _Compared.of(totals)}
    columns = pair.categories(name)
    size = len(columns[0].domain)
    shares = []
    for domain in domains:
        rows = [inside[column.codes[inside] >= 0] for inside, column in zip(domain, columns, strict=True)]
        of_sides = zip(designs, columns, rows, strict=True)
        one, other = (
            design.within(inside).proportions(column.codes[inside], size) for design, column, inside in of_sides
        )
        occurs = (one.values > 0) | (other.values > 0)
        shares.append((one.only(occurs), other.only(occurs)))
    return {"proportions": _Compared.of(shares)}


def _design(data: Microdata, original: Microdata) -> Design:
    """The sampling design of a table, which takes from the original what it does not hold."""
    schema = original.schema
    weights = np.ones(len(data))
    if schema.weight is not None:
        weights = _holder(data, original, schema.weight).numbers(schema.weight).values
        if np.isnan(weights).any() or (weights < 0).any() or not (weights > 0).any():
            raise DataError(
                f"the weight '{schema.weight}' must be a number of at least 0 in every record, and not all 0"
            )
    strata: IntArray | None = None
    for name in schema.having("stratum"):
        codes = _labels(_holder(data, original, name), name)
        strata = codes if strata is None else np.unique(strata * (codes.max() + 1) + codes, return_inverse=True)[1]
    household = next(iter(schema.having("household")), None)
    units = None if household is None else _labels(_holder(data, original, household), household)
    return Design.of(weights, strata, units)


def _holder(data: Microdata, original: Microdata, name: str) -> Microdata:
    return data if name in data.names else original


def _labels(data: Microdata, name: str) -> IntArray:
    """A number for each distinct cell, also an empty one."""
    encoded = pc.dictionary_encode(data.arrow(name), null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
