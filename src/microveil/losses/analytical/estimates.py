"""Design-based estimates from the release beside those from the original: means, totals and proportions."""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from microveil.errors import DataError
from microveil.losses.base import Loss, LossMeasure
from microveil.microdata import Microdata
from microveil.microdata.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.numerics.interval_overlap import confidence_overlap
from microveil.numerics.survey_estimates import Design, Estimates
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@parameterised
class SurveyEstimates(LossMeasure):
    """How much the confidence intervals of the usual survey estimates overlap before and after: the mean and the total
    of a numeric attribute, the proportion of each category of the others; in all, or in every sub-domain of `by`.

    Estimates are weighted by the attribute with the role weight. Their standard errors are those of a stratified sample
    of households (or of records, without that role), drawn with replacement, with means and proportions linearised; the
    weights, strata and households of a release are its own, where it has them. The value is the mean share of the
    intervals that is lost: 0 where they are the same, 100 where they are apart; `raw` goes on beyond. `details` has the
    same for each sort of estimate, and the mean difference in standard errors (`standardised_difference`).

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 30, 40, 50], "w": [1, 1, 2, 2]}, keys=["age"], weight="w")
    >>> masked = Microdata.of({"age": [25, 25, 45, 45], "w": [1, 1, 2, 2]})
    >>> SurveyEstimates().measure(people, masked).details["means"].__round__(1)
    7.0
    """

    name: ClassVar[str] = "estimates"
    family: ClassVar[str] = "analytical"
    summary: ClassVar[str] = "weighted means, totals and proportions: overlap of their confidence intervals"
    meaning: ClassVar[str] = "share of the confidence intervals of survey estimates that is lost; lower is better"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "an estimate is that of the records that have the attribute; missing sub-domains are left out"
    )
    source: ClassVar[str] = "Karr et al. (2006); Särndal, Swensson and Wretman (1992), 5"
    usual: ClassVar[bool] = False

    by: str | None = parameter(None, help="a categorical attribute: estimates for each of its categories")
    level: float = parameter(0.95, help="confidence level of the intervals", gt=0, lt=1)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        sides = pair.original, pair.masked
        designs = tuple(_design(side, pair.original) for side in sides)
        domains = self._domains(pair)
        lost: dict[str, list[FloatArray]] = defaultdict(list)
        by_attribute: dict[str, float] = {}
        beyond, differences = [], []
        for name, part in zip(attributes, parts(progress, len(attributes)), strict=True):
            found: list[FloatArray] = []
            for sort, one, other in _estimates(pair, name, designs, domains):
                overlap = confidence_overlap(one.values, one.errors, other.values, other.errors, self.level)
                found.append(overlap)
                lost[sort].append(1 - np.clip(overlap, 0.0, 1.0))
                usable = one.errors > 0
                differences.append(np.abs(other.values - one.values)[usable] / one.errors[usable])
            overlaps = np.concatenate([np.empty(0), *found])
            by_attribute[name] = 100 * float((1 - np.clip(overlaps, 0.0, 1.0)).mean()) if len(overlaps) else 0.0
            beyond.append(float((1 - overlaps).mean()) if len(overlaps) else 0.0)
            part(1.0, f"{self.name}: {name}")
        details = {sort: 100 * float(np.concatenate(parts_of).mean()) for sort, parts_of in lost.items()}
        away = np.concatenate([np.empty(0), *differences])
        details["standardised_difference"] = float(away.mean()) if len(away) else 0.0
        value = float(np.mean(list(by_attribute.values())))
        raw = max(value, 100 * float(np.mean(beyond)))
        return Loss(self.name, value, raw, attributes, per_attribute=by_attribute, details=details)

    def _domains(self, pair: Pair) -> list[tuple[BoolArray, BoolArray]]:
        """For each sub-domain which records lie in it, before and after; without any, all do."""
        if self.by is None:
            everyone = np.ones(len(pair), dtype=np.bool_)
            return [(everyone, everyone)]
        if not pair.original[self.by].is_categorical:
            raise DataError(f"attribute '{self.by}' is numeric, so it cannot name sub-domains")
        if self.by not in pair.masked.names:
            raise DataError(f"the masked table has no column '{self.by}' to take sub-domains from")
        before, after = (column.codes for column in pair.categories(self.by))
        return [(before == code, after == code) for code in np.unique(before[before >= 0])]


def _estimates(
    pair: Pair, name: str, designs: tuple[Design, ...], domains: list[tuple[BoolArray, BoolArray]]
) -> list[tuple[str, Estimates, Estimates]]:
    """The estimates of one attribute before and after, with what sort they are."""
    found: list[tuple[str, Estimates, Estimates]] = []
    if pair.original[name].kind == "numeric":
        values = [column.values for column in pair.numbers(name)]
        for inside in domains:
            sides = [
                design.mean_and_total(column, within & ~np.isnan(column))
                for design, column, within in zip(designs, values, inside, strict=True)
            ]
            found += [("means", sides[0][0], sides[1][0]), ("totals", sides[0][1], sides[1][1])]
        return found
    one, other = pair.categories(name)
    size = len(one.domain)
    for inside in domains:
        sides_of = [
            design.proportions(column.codes, size, within & (column.codes >= 0))
            for design, column, within in zip(designs, (one, other), inside, strict=True)
        ]
        occurs = (sides_of[0].values > 0) | (sides_of[1].values > 0)
        before, after = (Estimates(side.values[occurs], side.errors[occurs]) for side in sides_of)
        found.append(("proportions", before, after))
    return found


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
