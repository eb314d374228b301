"""Alignment linkage: the sorted values of each attribute are aligned with its sorted released means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from microveil.attacks.base import Risk
from microveil.attacks.linkage.candidates import METRIC, MISSING, RECORDS, SCALE, attacked, risk_of, steps_of
from microveil.attacks.linkage.windows import shares_of
from microveil.attacks.ordered_groups import OrderedGroupsAttack, masked_in_order
from microveil.comparison.columns import Columns, Metric, ScaledBy
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.neighbours.range_search import Order

Range = tuple[IntArray, IntArray]
_MOST_STEPS = 400_000_000  # cells of the table of runs


@parameterised
class AlignmentLinkage(OrderedGroupsAttack):
    """Where every attribute was microaggregated by itself, its groups are neighbours in order; so the released means in
    order, beside the original values in order, show which originals each mean stands for. The originals that fit a
    released record in all known attributes are few; the nearest of them is linked.

    With `positions` both columns are sorted and paired position by position: a mean stands for as many values as it is
    released times. With `warping` only the least size k of the groups is used: of all runs of k to 2k-1 values the
    ones nearest to the means (time warping with bounded steps). With `neighbours` an original takes the released
    records with the next means below and above it, as a published attack on any method with groups in order does; with
    more than k equal values that can miss, so by default means are taken as far away as the farther of the two.

    Where nothing fits in all attributes, as can happen after other masking, what fits in most of them is taken. Where
    one candidate is left, the link is certain, if the release was made of groups in order. A table without provenance
    is taken to be made so, but nothing is proved.

    >>> from microveil.microdata import Microdata
    >>> table = Microdata.of({"a1": [1, 2, 3, 6, 7, 8, 9], "a2": [4, 15, 5, 17, 6, 18, 16]})
    >>> from microveil.masking.microaggregation.optimal_univariate import OptimalUnivariate
    >>> risk = AlignmentLinkage().assess(table, OptimalUnivariate(k=2).mask(table))
    >>> round(7 * risk.value / 100), risk.certain.tolist()
    (6, [1, 3, 4, 5, 6])
    """

    name: ClassVar[str] = "alignment-linkage"
    family: ClassVar[str] = "linkage"
    summary: ClassVar[str] = "aligns values in order with released means in order, attribute by attribute"
    meaning: ClassVar[str] = "records linked to the right person by aligning values and means; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of everyone in the file, masked one at a time"
    formula: ClassVar[str] = "B_i = ∩_j { l : x_lj in the run of values that x'_ij stands for }; link = nearest of B_i"
    kinds: ClassVar[tuple[str, ...]] = ("numeric", "ordinal")
    missing: ClassVar[str] = (
        f"{MISSING}; an attribute with suppressed cells cannot be aligned by positions, so it only adds to the distance"
    )
    source: ClassVar[str] = "Nin (2008), section 4.2.1"

    align: Literal["positions", "warping", "neighbours"] = parameter(
        default="positions",
        help="how values and means are aligned: both sorted and paired by position (positions), the nearest runs of k "
        "to 2k-1 values (warping), or the next means below and above (neighbours)",
    )
    k: int | None = parameter(
        default=None, help="with warping: smallest size of a group; unset: from the provenance", ge=1, le=MOST_RECORDS
    )
    ties: Literal["farther", "strict", "plain"] = parameter(
        default="farther",
        help="with neighbours: means as far as the farther of the next ones, only the next ones that differ from the "
        "value and those equal to it, or only the next ones at or beside the value",
    )
    metric: Metric = parameter(default="euclidean", help=METRIC)
    standardisation: ScaledBy = parameter(default="joint", help=SCALE)
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(default=0, help="seed for drawing the records to attack", ge=0, le=LARGEST_SEED)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        from microveil.numerics.neighbours.range_search import Boxes, Order, link_inside

        columns = Columns.of(pair, attributes)
        backwards = self.align != "neighbours"  # from the released record to the originals
        sources, targets = (columns.after, columns.before) if backwards else (columns.before, columns.after)
        orders = [Order.of(column) for column in targets]
        usable = [pair.release is None or masked_in_order(pair, name) for name in attributes]
        if not any(usable):
            usable = [True] * len(attributes)  # an intruder can try, with little success
        k = self._least_size(pair) if self.align == "warping" else 0
        ranges = [
            self._range(order, column, k) if use else _everything(order, column)
            for order, column, use in zip(orders, sources, usable, strict=True)
        ]
        steps = steps_of(shares_of(ranges, len(pair)), len(pair), every=True)
        own = attacked(pair, attributes, self.records, steps, self.seed, self.name)
        cells = columns.cells(self.metric, self.standardisation, own, "masked" if backwards else "original")
        boxes = Boxes.of(orders, [(low[own], high[own]) for low, high in ranges])
        label = f"{self.name}: linking records"
        inside = link_inside(boxes, cells, own, True, Part(progress, 0.0, 0.9), label)
        proved: dict[str, Any] = {}
        if inside.own.all() and any(masked_in_order(pair, name) for name in attributes):
            certain = own[inside.candidates == 1]
            proof = "Every group is a run of neighbouring values, and only one person's values lie in the runs of all."
            proved = {"certain": certain, "proof": proof if len(certain) else ""}
        unfit = np.flatnonzero(inside.candidates == 0)
        if len(unfit):
            others = link_inside(boxes.at(unfit), cells.at(unfit), own[unfit], False, Part(progress, 0.9, 1.0), label)
            inside = inside.replaced(unfit, others)
        return risk_of(self.name, pair, attributes, own, inside, self._scenario(attributes), **proved)

    def _scenario(self, attributes: tuple[str, ...]) -> str:
        known = f"An intruder knows the true values of {', '.join(attributes)} of everyone in the file, "
        if self.align == "neighbours":
            return known + "and takes for a person the nearest of the released records with the next means."
        return (
            known + "puts values and released means in order, and takes the nearest of the persons that fit a record."
        )

    def _least_size(self, pair: Pair) -> int:
        steps = () if pair.release is None else pair.release.provenance.steps
        sizes = [step.parameters["k"] for step in steps if "k" in step.parameters]
        if self.k is None and not sizes:
            raise ParameterError(f"{self.name}: k must be given for align = 'warping', for no provenance has it")
        return min(sizes) if self.k is None else self.k

    def _range(self, order: Order, column: FloatArray, k: int) -> Range:
        """For each value of a source the range of targets that can belong to it."""
        if len(order.values) == 0 or np.isnan(column).all():
            return _everything(order, column)
        if self.align == "neighbours":
            low, high = self._next_means(order.values, column)
        else:
            runs = self._runs(order.values, column, k)
            if runs is None:
                return _everything(order, column)
            low, high = runs
        first, behind = order.between(low, high)
        unknown = np.isnan(column)
        return np.where(unknown, 0, first), np.where(unknown, len(order.values), behind)

    def _runs(self, ordered: FloatArray, released: FloatArray, k: int) -> tuple[FloatArray, FloatArray] | None:
        """For each released value the least and the greatest of the originals that it stands for."""
        from microveil.numerics.linkage.alignment import aligned_runs

        means, which, sizes = np.unique(released[~np.isnan(released)], return_inverse=True, return_counts=True)
        if self.align == "warping":
            if len(means) * len(ordered) > _MOST_STEPS:
                raise ParameterError(
                    f"{self.name}: align = 'warping' is not allowed with {len(means):,} released values of "
                    f"{len(ordered):,}; use positions, which gives the same"
                )
            found = aligned_runs(ordered, means, k, np.maximum(2 * k - 1, sizes))
            if found is None:
                raise ParameterError(
                    f"{self.name}: k = {k} is not allowed; no runs of k to 2k-1 values fit the release"
                )
            starts = found
        elif sizes.sum() != len(ordered):
            return None  # some cells were suppressed, so positions do not match
        else:
            starts = np.concatenate([[0], np.cumsum(sizes)])
        low, high = np.full(len(released), np.nan), np.full(len(released), np.nan)
        present = ~np.isnan(released)
        low[present], high[present] = ordered[starts[:-1]][which], ordered[starts[1:] - 1][which]
        return low, high

    def _next_means(self, ordered: FloatArray, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest released value that can stand for each original."""
        n = len(ordered)
        if self.ties == "plain":
            below, above = np.searchsorted(ordered, column, "right") - 1, np.searchsorted(ordered, column, "left")
            low, high = ordered[np.maximum(below, 0)], ordered[np.minimum(above, n - 1)]
            return np.minimum(low, high), np.maximum(low, high)
        below, above = np.searchsorted(ordered, column, "left") - 1, np.searchsorted(ordered, column, "right")
        low = np.where(below >= 0, ordered[np.maximum(below, 0)], column)
        high = np.where(above < n, ordered[np.minimum(above, n - 1)], column)
        if self.ties == "strict":
            return low, high
        farther = np.maximum(column - low, high - column)
        # the next mean itself, not what rounding makes of it
        return np.minimum(low, column - farther), np.maximum(high, column + farther)


def _everything(order: Order, column: FloatArray) -> Range:
    return np.zeros(len(column), dtype=np.int64), np.full(len(column), len(order.values))
