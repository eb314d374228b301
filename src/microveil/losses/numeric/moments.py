"""The IL1 to IL5 family: changes of values, means, covariances, variances and correlations, and their mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, Literal

import numpy as np

from microveil.comparison.drawing import in_drawn_order
from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure, Route
from microveil.microdata.facts import OverRecords
from microveil.microdata.tables import Several, Tables
from microveil.numerics.core.compiled import threads
from microveil.numerics.statistics.moment_sums import ColumnSums, MomentSums
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray

Zero = Literal["ignore", "skip", "scale", "released"]
_ZERO = (
    "relative change of an original value of 0: counts as no change (ignore), is left out (skip), or is divided by the "
    "standard deviation (scale) or by the released value (released)"
)
_ROUNDING = 1e-12  # of what a moment is made of: a smaller one is rounding, and counts as 0


class TableMoments(ABC):
    """First and second moments of a table over the cells, or pairs of cells, that are present.

    What is 0 but for rounding is exactly 0, so that neither the order of records nor a cell that is missing elsewhere
    decides: a mean against the greatest value, a covariance against the standard deviations, the variance of a
    constant.
    """

    @abstractmethod
    def _means(self) -> tuple[FloatArray, FloatArray]:
        """The means as they are calculated, and the greatest absolute values."""

    @abstractmethod
    def _covariances(self) -> FloatArray:
        """The covariances as they are calculated, over the records that have both."""

    @cached_property
    def means(self) -> FloatArray:
        means, greatest = self._means()
        return np.where(np.abs(means) < _ROUNDING * greatest, 0.0, means)

    @cached_property
    def covariances(self) -> FloatArray:
        """Over the records that have both; one formula, whether cells are missing or not."""
        covariances = self._covariances()
        deviations = np.sqrt(np.maximum(np.diag(covariances), 0.0))
        return np.where(np.abs(covariances) < _ROUNDING * np.outer(deviations, deviations), 0.0, covariances)

    @property
    def variances(self) -> FloatArray:
        return np.maximum(np.diag(self.covariances), 0.0)

    @cached_property
    def correlations(self) -> FloatArray:
        """A constant attribute has correlation 0 with every other."""
        deviations = np.sqrt(self.variances)
        scale = np.outer(deviations, deviations)
        found = np.where(scale > 0, self.covariances / np.where(scale > 0, scale, 1.0), 0.0)
        return np.where(np.abs(np.abs(found) - 1.0) < _ROUNDING, np.sign(found), found)


@dataclass(frozen=True)
class Moments(TableMoments):
    """Those of cells that are at hand."""

    cells: FloatArray

    @cached_property
    def _scaling(self) -> Scaling:
        return Scaling.of(self.cells)

    def _means(self) -> tuple[FloatArray, FloatArray]:
        greatest = np.max(np.abs(self.cells), axis=0, where=~np.isnan(self.cells), initial=0.0)
        return self._scaling.mean, greatest

    def _covariances(self) -> FloatArray:
        present = ~np.isnan(self.cells)
        centred = np.where(present & (self._scaling.deviation > 0), self.cells - self._scaling.mean, 0.0)
        held = present.astype(np.float64)
        both, sums = held.T @ held, centred.T @ held  # sums[i, j]: of column i where column j is present too
        products = centred.T @ centred - sums * sums.T / np.maximum(both, 1.0)
        return np.where(both > 1, products / np.maximum(both - 1.0, 1.0), 0.0)


@dataclass(frozen=True)
class SummedMoments(TableMoments):
    """Those of a table longer than memory."""

    sums: MomentSums

    def _means(self) -> tuple[FloatArray, FloatArray]:
        greatest = np.where(self.sums.records > 0, np.maximum(np.abs(self.sums.low), np.abs(self.sums.high)), 0.0)
        return self.sums.mean, greatest

    def _covariances(self) -> FloatArray:
        return self.sums.sample_covariance


def relative_change(before: FloatArray, after: FloatArray, scale: FloatArray, zero: Zero) -> FloatArray:
    """|before - after| / |before|, cell by cell; 0/0 is 0. A zero before a change is ignored, skipped (NaN), or
    replaced by a scale or by the value after it."""
    change, base = np.abs(before - after), np.abs(before)
    if zero == "released":
        base = np.where(base > 0, base, np.abs(after))
    if zero == "scale":
        base = np.where(base > 0, base, np.broadcast_to(scale, base.shape))
    relative = np.divide(change, base, out=np.zeros_like(change), where=base > 0)
    if zero == "skip":
        relative = np.where((base == 0) & (change > 0), np.nan, relative)
    return relative


def _mean(values: FloatArray) -> float:
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if kept.size else 0.0


def value_changes(before: FloatArray, after: FloatArray, scale: FloatArray, zero: Zero) -> FloatArray:
    """Relative change of each value; a suppressed cell is lost whole, and one that was missing stays missing."""
    relative = relative_change(before, after, scale, zero)
    relative = np.where(np.isnan(after) & ~np.isnan(before), 1.0, relative)
    return np.where(np.isnan(before), np.nan, relative)


@dataclass(frozen=True)
class Compared:
    """The moments of both tables over some attributes, and the tables themselves, whose values are compared."""

    before: TableMoments
    after: TableMoments
    pair: Pair
    attributes: tuple[str, ...]

    @classmethod
    def of(cls, pair: Pair, attributes: tuple[str, ...]) -> Compared:
        if not pair.in_parts:
            return cls(*moments_of(pair, attributes), pair, attributes)
        sums = pair.workings.once(
            ("moment sums", attributes), lambda: pair.summed(partial(_moment_sums, attributes)).found
        )
        before, after = map(SummedMoments, sums)
        return cls(before, after, pair, attributes)


def _moment_sums(attributes: tuple[str, ...], tables: Tables) -> Several:
    return Several(tuple(MomentSums.of(moments.cells) for moments in moments_of(tables, attributes)))


def _changes(attributes: tuple[str, ...], scale: FloatArray, zero: Zero, tables: Tables) -> ColumnSums:
    before, after = moments_of(tables, attributes)
    return ColumnSums.of(value_changes(before.cells, after.cells, scale, zero))


def il1(compared: Compared, zero: Zero) -> FloatArray:
    """Mean relative change of the values, by attribute."""
    pair, attributes = compared.pair, compared.attributes
    find = partial(_changes, attributes, np.sqrt(compared.before.variances), zero)
    return pair.workings.once(("changes of values", attributes, zero), lambda: pair.summed(find)).means


def il2(compared: Compared, zero: Zero) -> FloatArray:
    """Relative change of each attribute's mean."""
    before, after = compared.before, compared.after
    return relative_change(before.means, after.means, np.sqrt(before.variances), zero)


def il3(compared: Compared, zero: Zero) -> FloatArray:
    """Relative change of the covariances, the diagonal included, each pair once."""
    before, after = compared.before, compared.after
    upper = np.triu_indices(len(before.means))
    scale = np.sqrt(np.outer(before.variances, before.variances))[upper]
    return relative_change(before.covariances[upper], after.covariances[upper], scale, zero)


def il4(compared: Compared, zero: Zero) -> FloatArray:
    """Relative change of each attribute's variance."""
    before, after = compared.before, compared.after
    return relative_change(before.variances, after.variances, before.variances, zero)


def il5(compared: Compared, zero: Zero) -> FloatArray:
    """Change of the correlations, each pair once; none with a single attribute."""
    before, after = compared.before, compared.after
    upper = np.triu_indices(len(before.means), 1)
    return np.abs(before.correlations[upper] - after.correlations[upper])


Change = Callable[[Compared, Zero], FloatArray]
# of these, G_IL numbers the variances before the covariances
_SOURCE_ORDER = ("il1", "il2", "il4", "il3", "il5")
PARTS: dict[str, Change] = {"il1": il1, "il2": il2, "il3": il3, "il4": il4, "il5": il5}


def moments_of(pair: Tables, attributes: tuple[str, ...]) -> tuple[Moments, Moments]:
    """The moments of both tables; a cell that was missing in the original is missing in both."""
    columns = [pair.numbers(name) for name in attributes]
    before = np.column_stack([one.values for one, _ in columns])
    after = np.column_stack([other.values for _, other in columns])
    return Moments(before), Moments(np.where(np.isnan(before), np.nan, after))


@parameterised
class _MomentLoss(LossMeasure):
    family: ClassVar[str] = "numeric"
    over_records: ClassVar[OverRecords] = "per record"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = (
        "moments are taken over the cells present in each file; a suppressed cell counts as a loss of 100 %"
    )
    source: ClassVar[str] = "Domingo-Ferrer and Torra (2001b); Nin (2008), section 2.5.1"

    zero: Zero = parameter(default="ignore", help=_ZERO)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        return self._loss(Compared.of(pair, attributes))

    def _loss(self, compared: Compared) -> Loss:
        """The loss from what is known of both tables: the part of this name."""
        return self._part(self.name, compared)

    def _part(self, name: str, compared: Compared) -> Loss:
        """One of the five, as a loss."""
        return self._of_changes(name, PARTS[name](compared, self.zero), compared.attributes)

    def _of_changes(self, name: str, changes: FloatArray, attributes: tuple[str, ...]) -> Loss:
        by_attribute = len(changes) == len(attributes) and name in ("il1", "il2", "il4")
        per_attribute = (
            {a: 100 * float(np.nan_to_num(c)) for a, c in zip(attributes, changes, strict=True)} if by_attribute else {}
        )
        return Loss.of(self.name, _mean(changes), attributes, per_attribute=per_attribute)


@parameterised
class _ValueLoss(_MomentLoss):
    """A loss in which values are compared, and so a measure that must know which records belong together."""

    correspondence: Literal["row", "nearest"] = parameter(
        default="row",
        help="values are compared with those of the same record, or of the nearest released record (z-scores of the "
        "original, missing cells as the mean)",
    )
    sample: int | None = parameter(
        default=5000,
        help="with nearest: number of original records that are compared, drawn at random; unset: all",
        ge=2,
        le=MOST_RECORDS,
    )
    seed: int = parameter(default=0, help="seed of the sample", ge=0, le=LARGEST_SEED)

    @property
    def works_over(self) -> OverRecords:
        return self.over_records if self.correspondence == "row" else "whole table"

    def _part(self, name: str, compared: Compared) -> Loss:
        if name != "il1" or self.correspondence == "row":
            return super()._part(name, compared)
        before, after = (moments.cells for moments in moments_of(compared.pair, compared.attributes))
        records = len(before)
        rows = np.sort(in_drawn_order(np.hstack([before, after]).T, self.seed, self.name)[: self.sample])
        asked = before[rows]
        scale = np.sqrt(Moments(asked).variances)
        changes = value_changes(asked, _nearest(before, after, rows), scale, self.zero)
        loss = self._of_changes(name, ColumnSums.of(changes).means, compared.attributes)
        if len(rows) == records:
            return loss
        cells = max(1, int((~np.isnan(changes)).sum())) / len(rows)
        error = 100 * float((np.nansum(changes, axis=1) / cells).std()) * (1 / len(rows) - 1 / records) ** 0.5
        return replace(loss, details={"standard_error": error, "sampled": float(len(rows))})


def _nearest(before: FloatArray, after: FloatArray, rows: IntArray) -> FloatArray:
    """For these rows of one table the nearest row of the other."""
    from scipy.spatial import cKDTree

    scaling = Scaling.of(before)
    one, other = (np.nan_to_num(scaling.apply(cells)) for cells in (before[rows], after))
    return np.asarray(after[cKDTree(other).query(one, workers=threads())[1]])


@parameterised
class IL1(_ValueLoss):
    """Mean relative change of the values."""

    name: ClassVar[str] = "il1"
    summary: ClassVar[str] = "mean relative change of the values"
    meaning: ClassVar[str] = "mean relative change of the values, at most 100 %; lower is better"
    usual: ClassVar[bool] = True
    route: ClassVar[Route] = "data"


@parameterised
class IL2(_MomentLoss):
    """Mean relative change of the attributes' means."""

    name: ClassVar[str] = "il2"
    summary: ClassVar[str] = "mean relative change of the means"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = "mean relative change of the means, at most 100 %; lower is better"
    usual: ClassVar[bool] = True


@parameterised
class IL3(_MomentLoss):
    """Mean relative change of the covariances, variances included."""

    name: ClassVar[str] = "il3"
    summary: ClassVar[str] = "mean relative change of the covariances"
    meaning: ClassVar[str] = "mean relative change of the covariances, at most 100 %; lower is better"
    usual: ClassVar[bool] = True


@parameterised
class IL4(_MomentLoss):
    """Mean relative change of the variances."""

    name: ClassVar[str] = "il4"
    summary: ClassVar[str] = "mean relative change of the variances"
    meaning: ClassVar[str] = "mean relative change of the variances, at most 100 %; lower is better"
    usual: ClassVar[bool] = True


@parameterised
class IL5(_MomentLoss):
    """Mean change of the correlations; a difference, so that zeros need no rule."""

    name: ClassVar[str] = "il5"
    summary: ClassVar[str] = "mean change of the correlations"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = "mean change of the correlations; lower is better"
    usual: ClassVar[bool] = True


@parameterised
class IL(_ValueLoss):
    """The mean of IL1 to IL5. For `value` each part is bounded by 100 first; `raw` is the plain mean.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [1.0, 2.0, 3.0, 6.0]})
    >>> IL().measure(people, people).value
    0.0
    """

    name: ClassVar[str] = "il"
    summary: ClassVar[str] = "mean of IL1 to IL5: changes of values, means, covariances, variances and correlations"
    meaning: ClassVar[str] = "changes of values, means, covariances, variances and correlations; lower is better"
    usual: ClassVar[bool] = True
    route: ClassVar[Route] = "data"

    def _loss(self, compared: Compared) -> Loss:
        parts = {name: self._part(name, compared) for name in PARTS}
        value = sum(part.value for part in parts.values()) / len(parts)
        raw = sum(part.raw for part in parts.values()) / len(parts)
        details = {name: part.raw for name, part in parts.items()}
        sampling = dict(parts["il1"].details)
        if "standard_error" in sampling:
            sampling["standard_error"] /= len(parts)
        return Loss(self.name, value, raw, compared.attributes, details={**details, **sampling})


@parameterised
class GIL(_MomentLoss):
    """G_IL: the plain mean of the same five changes, where a change of an original 0 is divided by the released value.

    `details` has the five as their source numbers them: `m1` values, `m2` means, `m3` variances, `m4` covariances
    (variances included) and `m5` correlations. Small original values make the first by far the largest; `raw` may go
    beyond 100.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [0.0, 2.0, 3.0, 6.0]})
    >>> GIL().measure(people, Microdata.of({"age": [1.0, 1.0, 4.5, 4.5]})).details["m1"].__round__(3)
    56.25
    """

    name: ClassVar[str] = "g-il"
    summary: ClassVar[str] = "plain mean of the changes of values, means, variances, covariances and correlations"
    meaning: ClassVar[str] = "changes of values and moments, dominated by small values; lower is better"
    route: ClassVar[Route] = "data"
    source: ClassVar[str] = "Fayyoumi (2008), section 4.4, Table 4.1, there called G_IL"

    zero: Zero = parameter(default="released", help=_ZERO)
    decimals: int | None = parameter(
        default=None,
        help="first round each of the five fractions to this number of decimals, as in the tables of Fayyoumi (2008)",
        ge=0,
        le=15,
    )

    def _loss(self, compared: Compared) -> Loss:
        changes = {f"m{m}": _mean(PARTS[name](compared, self.zero)) for m, name in enumerate(_SOURCE_ORDER, 1)}
        if self.decimals is not None:
            changes = {name: round(change, self.decimals) for name, change in changes.items()}
        details = {name: 100 * change for name, change in changes.items()}
        return Loss.of(self.name, sum(changes.values()) / len(changes), compared.attributes, details=details)
