"""Losses of two attributes at a time: their joint counts, and their association by chi-square."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError
from microveil.losses.base import Loss, LossMeasure, Scope
from microveil.losses.categorical.coding import MISSING, coded
from microveil.microdata.facts import OverRecords
from microveil.microdata.schema import CATEGORICAL
from microveil.microdata.tables import Several, Tables
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress

if TYPE_CHECKING:
    from microveil.numerics.counting.contingency import Cells

_UNSUITED = ("identifier", "household", "node")  # almost every record has a category of its own


@parameterised
class _PairwiseLoss(LossMeasure):
    family: ClassVar[str] = "categorical"
    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = MISSING
    scope: ClassVar[Scope] = "specific"
    over_records: ClassVar[OverRecords] = "per combination"

    crossed_with: tuple[str, ...] | None = parameter(
        default=None,
        help="cross each compared attribute with each of these, such as attributes that were not masked; unset: the "
        "compared ones with each other, and one alone with all other categorical ones",
        min_length=1,
    )

    def _pairs(self, pair: Pair, attributes: tuple[str, ...]) -> list[tuple[str, str]]:
        """The attributes that are crossed; one alone, in a table without any other, is crossed with itself."""
        for name in self.crossed_with or ():
            if not pair.original[name].is_categorical:
                raise DataError(f"attribute '{name}' is numeric, but {self.name} works on categorical attributes only")
            if name not in pair.masked.names:
                raise ParameterError(f"{self.name}: crossed_with names '{name}', which was not released")
        if self.crossed_with is None and len(attributes) > 1:
            return list(combinations(attributes, 2))
        others = self.crossed_with or [
            name
            for name in pair.masked.names
            if pair.original[name].is_categorical and not set(pair.original[name].roles) & set(_UNSUITED)
        ]
        crossed = [(name, other) for name in attributes for other in others if other != name]
        return crossed or [(name, name) for name in attributes]

    def adds_up(self, pair: Pair) -> bool:
        """Only where the attributes that are compared are crossed with each other: no others are read in parts."""
        return super().adds_up(pair) and self.crossed_with is None and len(pair.of_kinds(self.kinds)) > 1

    def _tables(self, pair: Pair, crossed: list[tuple[str, str]], progress: Progress) -> Sequence[Cells]:
        """The two-way tables of both files."""
        found: Several = pair.summed(partial(_crossed, crossed), progress, f"{self.name}: tables")
        return found.found

    def _mean(
        self,
        crossed: list[tuple[str, str]],
        changes: list[float],
        attributes: tuple[str, ...],
        details: dict[str, float],
    ) -> Loss:
        per_attribute = mean_by_attribute(crossed, [100 * change for change in changes], attributes)
        return Loss.of(self.name, sum(changes) / len(changes), attributes, per_attribute=per_attribute, details=details)


@parameterised
class BivariateCounts(_PairwiseLoss):
    """The total-variation distance of the joint distribution of two attributes: the absolute differences of their joint
    counts over twice the records; the mean over all pairs of attributes.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": list("ffmm"), "ill": list("ynyn")})
    >>> BivariateCounts().measure(people, Microdata.of({"sex": list("ffmf"), "ill": list("ynyn")})).value
    25.0
    """

    name: ClassVar[str] = "bivariate-counts"
    summary: ClassVar[str] = "differences between the joint counts of two attributes"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = "share of the records that are in another cell of a two-way table; lower is better"
    source: ClassVar[str] = "Marés (2013), section 4.1.3, Eq. 4.5"

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        crossed = self._pairs(pair, attributes)
        shares = []
        for table in self._tables(pair, crossed, progress):
            before, after = table.counts
            shares.append(float(abs(before - after).sum()) / (2 * len(pair)))
        return self._mean(crossed, shares, attributes, {"pairs": float(len(crossed))})


@parameterised
class ChiSquare(_PairwiseLoss):
    """The change of the association of two attributes: |chi-square' - chi-square| / chi-square, Pearson's, without
    empty rows and columns; the mean over all pairs of attributes. `raw` may go beyond 100.

    Masking weakens associations, or makes new ones. Where the original has none at all there is nothing to compare
    with: such pairs are left out and counted in `undefined`, unless the release has none either.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": list("ffmm"), "ill": list("yynn")})
    >>> ChiSquare().measure(people, Microdata.of({"sex": list("ffmf"), "ill": list("yynn")})).value.__round__(3)
    66.667
    """

    name: ClassVar[str] = "chi-square"
    summary: ClassVar[str] = "relative change of the chi-square statistic of two attributes"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = "relative change of the associations of two attributes; lower is better"
    source: ClassVar[str] = "Marés (2013), section 4.1.5, Eq. 4.8"

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        crossed = self._pairs(pair, attributes)
        changes: list[float] = []
        defined: list[tuple[str, str]] = []
        for both, table in zip(crossed, self._tables(pair, crossed, progress), strict=True):
            before, after = table.chi_squares
            if before > 0 or after == 0:
                defined.append(both)
                changes.append(abs(after - before) / before if before > 0 else 0.0)
        if not defined:
            raise DataError(
                f"{' and '.join(crossed[0])} are not associated in the original, so {self.name} has nothing to compare "
                "their association with"
            )
        details = {"pairs": float(len(crossed)), "undefined": float(len(crossed) - len(defined))}
        return self._mean(defined, changes, attributes, details)


def _crossed(crossed: Sequence[tuple[str, str]], pair: Tables) -> Several:
    """The tables of both files over some pairs of attributes."""
    from microveil.numerics.counting.contingency import Cells

    columns = {name: coded(pair, name) for name in dict.fromkeys(name for both in crossed for name in both)}
    found = []
    for names in crossed:
        both = [columns[name] for name in names]
        files = [[one.before for one in both], [one.after for one in both]]
        found.append(Cells.of(files, [one.size for one in both]))
    return Several(tuple(found))


def mean_by_attribute(
    crossed: list[tuple[str, str]], values: list[float], attributes: tuple[str, ...]
) -> dict[str, float]:
    """For each attribute the mean over the pairs that it is in."""
    found = {name: [v for both, v in zip(crossed, values, strict=True) if name in both] for name in attributes}
    return {name: sum(several) / len(several) for name, several in found.items() if several}
