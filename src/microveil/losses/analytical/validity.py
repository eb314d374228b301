"""Analytical validity: whether an analyst would come to the same conclusions, by a list of checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.losses.analytical.subdomains import Rows, by_category, categorical, everyone
from microveil.losses.base import Loss, LossMeasure
from microveil.losses.numeric.moments import Moments, Zero, moments_of, relative_change
from microveil.losses.numeric.probabilistic import PERCENTS
from microveil.microdata.schema import KINDS
from microveil.numerics.statistics.distribution_distances import step_distances
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray

_INTERESTING = 6  # attributes that can be analysed validly


@dataclass(frozen=True)
class Check:
    """One thing that should stay the same, for which attributes."""

    kind: Literal["moments", "tabulation", "distribution"]
    attributes: tuple[str, ...]
    passed: bool


@parameterised
class Validity(LossMeasure):
    """The share of checks that fail: in every sub-domain each mean and each covariance stays within the tolerance, the
    marginals of the tabulations have a total variation within it, and each numeric attribute keeps its distribution
    (the gap between the distribution functions, or the change of all quantiles, is within it).

    A release is analytically valid (`details["valid"]` is 1) if no moment and no marginal fails and at least one
    attribute keeps its distribution, and interesting (`details["interesting"]`) if at least six attributes pass all
    their checks (`details["attributes"]` says how many do).

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [1.0, 2.0, 3.0, 6.0], "pay": [5.0, 7.0, 1.0, 2.0]})
    >>> Validity().measure(people, people).details["valid"]
    1.0
    """

    name: ClassVar[str] = "validity"
    family: ClassVar[str] = "analytical"
    summary: ClassVar[str] = "share of failed checks of moments in sub-domains, of marginals and of distributions"
    meaning: ClassVar[str] = "share of the checks of analytical validity that fail; lower is better"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "moments and distributions are those of the cells present in each file; a missing category counts as one more"
    )
    source: ClassVar[str] = "Winkler (1998); Fayyoumi (2008), section 2.4.2"

    subdomains: tuple[str, ...] | None = parameter(
        default=None,
        help="categorical attributes whose categories are sub-domains; unset: the strata; the whole always counts",
    )
    tabulations: tuple[str, ...] | None = parameter(
        default=None, help="categorical attributes whose marginals are checked; unset: all that are compared"
    )
    tolerance: float = parameter(default=10.0, help="largest change that passes a check, in per cent", gt=0, le=1e6)
    relative_to: Literal["value", "scale"] = parameter(
        default="value", help="a moment's change is divided by the moment itself or by the standard deviations"
    )
    fewest: int = parameter(
        default=30, help="sub-domains with fewer original records are not checked", ge=2, le=MOST_RECORDS
    )

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        numeric = tuple(name for name in attributes if pair.original[name].kind == "numeric")
        checks = [self._tabulation(pair, name) for name in self._tabulations(pair, attributes)]
        if numeric:
            before, after = moments_of(pair, numeric)
            for one, other in self._subdomains(pair):
                checks += self._moments(Moments(before.cells[one]), Moments(after.cells[other]), numeric)
            progress(0.5, f"{self.name}: moments")
            checks += [
                self._kept(name, *cells) for name, *cells in zip(numeric, before.cells.T, after.cells.T, strict=True)
            ]
        failed = [check for check in checks if not check.passed]
        touched = tuple(dict.fromkeys(name for check in checks for name in check.attributes))
        shares = {name: _share_failed([check for check in checks if name in check.attributes]) for name in touched}
        sound = all(check.passed for check in checks if check.kind != "distribution")
        distributions = [check.passed for check in checks if check.kind == "distribution"]
        passing = sum(share == 0 for share in shares.values())
        details = {
            "valid": float(sound and (any(distributions) or not distributions)),
            "interesting": float(passing >= _INTERESTING),
            "attributes": float(passing),
            "checks": float(len(checks)),
            "failed": float(len(failed)),
        }
        per_attribute = {name: 100 * share for name, share in shares.items()}
        return Loss.of(self.name, _share_failed(checks), attributes, per_attribute=per_attribute, details=details)

    def _tabulations(self, pair: Pair, attributes: tuple[str, ...]) -> tuple[str, ...]:
        if self.tabulations is None:
            return tuple(name for name in attributes if pair.original[name].is_categorical)
        return tuple(categorical(pair, name) for name in self.tabulations)

    def _subdomains(self, pair: Pair) -> list[Rows]:
        """The records of each sub-domain, before and after; first all."""
        if self.subdomains is not None:
            names = tuple(categorical(pair, name) for name in self.subdomains)
        else:
            strata = pair.original.schema.having("stratum")
            names = tuple(n for n in strata if pair.original[n].is_categorical and n in pair.masked.names)
        return [everyone(pair), *(rows for name in names for rows in by_category(pair, name, fewest=self.fewest))]

    def _moments(self, before: Moments, after: Moments, names: tuple[str, ...]) -> list[Check]:
        """Each mean and each covariance; where the release has no record of a sub-domain, all fail."""
        if not len(after.cells):
            return [Check("moments", (name,), False) for name in names]
        deviations = np.sqrt(before.variances)
        upper = np.triu_indices(len(names))
        scales = np.outer(deviations, deviations)[upper]
        one, other = before.covariances[upper], after.covariances[upper]
        means = self._within(before.means, after.means, deviations)
        covariances = self._within(one, other, scales)
        pairs = [(names[i],) if i == j else (names[i], names[j]) for i, j in zip(*upper, strict=True)]
        return [
            *(Check("moments", (name,), bool(good)) for name, good in zip(names, means, strict=True)),
            *(Check("moments", pair, bool(good)) for pair, good in zip(pairs, covariances, strict=True)),
        ]

    def _within(self, before: FloatArray, after: FloatArray, scale: FloatArray) -> BoolArray:
        zero: Zero = "scale"
        if self.relative_to == "scale":
            before, after, zero = scale, scale + np.abs(after - before), "released"
        return np.asarray(relative_change(before, after, scale, zero) <= self.tolerance / 100 + 1e-12)

    def _tabulation(self, pair: Pair, name: str) -> Check:
        one, other = pair.categories(name)
        size = len(one.domain) + 1  # the last position is that of missing cells
        counts = [np.bincount(column.codes % size, minlength=size) for column in (one, other)]
        variation = float(np.abs(counts[0] - counts[1]).sum()) / (2 * len(pair))
        return Check("tabulation", (name,), variation <= self.tolerance / 100)

    def _kept(self, name: str, before: FloatArray, after: FloatArray) -> Check:
        """Whether a distribution is kept in one of the two ways."""
        one, other = (np.sort(column[~np.isnan(column)]) for column in (before, after))
        if not len(one) or not len(other):
            return Check("distribution", (name,), len(one) == len(other))
        shares = np.array(PERCENTS) / 100
        quantiles = np.quantile(one, shares), np.quantile(other, shares)
        near = step_distances(one, other).kolmogorov <= self.tolerance / 100
        return Check(
            "distribution", (name,), bool(near or self._within(*quantiles, np.full(len(shares), one.std())).all())
        )


def _share_failed(checks: list[Check]) -> float:
    return sum(not check.passed for check in checks) / len(checks) if checks else 0.0
