"""Rank swapping linkage: the intruder intersects the windows within which swapping can have moved the known values."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from microveil.attacks.base import Risk, Variant
from microveil.attacks.linkage.candidates import METRIC, RECORDS, attacked, risk_of, steps_of
from microveil.attacks.linkage.windows import WindowLinkage, reach_text, reaches, shares_of, window
from microveil.comparison.columns import Columns, Metric
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.masking.swapping.ranks import UNIT, Reach, Unit
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.neighbours.range_search import Boxes, Inside, Order, PositionArray

_MOST_PAIRS = 60_000_000  # candidates in all, when they must be listed
_QUICKLY_PROPAGATED = 20_000  # records whose links are followed up in seconds


@parameterised
class RankSwappingLinkage(WindowLinkage):
    """Rank swapping moves no value by more than p ranks, so only the released records within p ranks of the known value
    can be the person's; of those within reach in every known attribute the nearest is linked.

    Where only one record is within reach, the link is certain. The reach comes from the provenance: p for plain rank
    swapping, p as well for rank-swapping-distribution (a window of 2p), two buckets for rank-swapping-buckets; the last
    two can move a value farther, so their windows may lose the right record and prove nothing. A p that is given is
    taken instead: an upper bound is safe, but leaves more candidates. Of a table without provenance nothing is known,
    and 20 per cent of the records are assumed.

    An intruder who is sure that no value stayed in its place can also leave out the record that has it still
    (`exclude_self`), and one who knows everyone in the file can leave out candidates with which the rest of the records
    could not be given out without contradiction (`propagate`).

    The counters, in per cent of the records: `alone`, whose only candidate is the right one, `misled`, a wrong one;
    `lost`, without the right one among their candidates; `candidates` is the share of the file that is left.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 31, 45, 62, 70, 81], "income": [3, 6, 1, 4, 2, 5]})
    >>> swapped = Microdata.of({"age": [31, 20, 62, 45, 81, 70], "income": [4, 5, 2, 3, 1, 6]})
    >>> risk = RankSwappingLinkage(p=1, unit="positions").assess(people, swapped)
    >>> round(risk.value, 1), risk.certain.tolist()
    (83.3, [0, 1, 2, 3, 5])
    >>> RankSwappingLinkage(p=1, unit="positions", propagate=True).assess(people, swapped).value
    100.0
    """

    name: ClassVar[str] = "rank-swapping-linkage"
    summary: ClassVar[str] = "intersects the windows within which rank swapping can have moved the known values"
    meaning: ClassVar[str] = "records linked to the right person by the windows of rank swapping; lower is safer"
    assumes: ClassVar[str] = (
        "the true values of some attributes of everyone in the file, and how far values were swapped"
    )
    formula: ClassVar[str] = "B_i = ∩_j { l : x'_lj within p ranks of x_ij }; link = nearest record of B_i"
    source: ClassVar[str] = "Nin, Herranz and Torra (2008c); Nin (2008), sections 4.1.1 and 4.1.3"

    p: float | None = parameter(
        default=None,
        help="largest difference in rank between swapped values, or an upper bound of it, in the unit given; unset: "
        "from the provenance",
        ge=0,
        le=MOST_RECORDS,
    )
    unit: Unit = parameter(default="percent", help=UNIT)
    exclude_self: bool = parameter(
        default=False,
        help="assume that every value was swapped: leave out the record that has the known value, where no other has "
        "it",
    )
    propagate: bool = parameter(
        default=False, help="leave out candidates that fit into no assignment of all released records to all persons"
    )
    metric: Metric = parameter(default="euclidean", help=METRIC)
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(default=0, help="seed for drawing the records to attack", ge=0, le=LARGEST_SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.propagate and self.records is not None:
            raise ParameterError(
                f"{self.name}: records = {self.records} is not allowed with propagate, which needs all"
            )

    variants: ClassVar[tuple[Variant, ...]] = (Variant({"propagate": True}, most_records=_QUICKLY_PROPAGATED),)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        from microveil.numerics.neighbours.range_search import Boxes, Order, link_inside

        reach = reaches(pair, attributes, self.p, self.unit, self.name)
        columns = Columns.of(pair, attributes)
        orders = [Order.of(column) for column in columns.after]
        ranges = [window(order, x, r.ranks) for order, x, r in zip(orders, columns.before, reach, strict=True)]
        steps = 0.0 if self.propagate else steps_of(shares_of(ranges, len(pair)), len(pair), True)
        own = attacked(pair, attributes, self.records, steps, self.seed, self.name)
        left_out = [_own_rank(order, x[own]) for order, x in zip(orders, columns.before, strict=True)]
        boxes = Boxes.of(
            orders, [(low[own], high[own]) for low, high in ranges], left_out if self.exclude_self else None
        )
        cells = columns.cells(self.metric, "separate", own)
        label = f"{self.name}: linking records"
        inside = link_inside(boxes, cells, own, True, Part(progress, 0.0, 0.5 if self.propagate else 1.0), label)
        if self.propagate and inside.own.all():
            narrowed = self._assignable(boxes, inside, Part(progress, 0.5, 0.7))
            inside = link_inside(narrowed, cells, own, True, Part(progress, 0.7, 1.0), label)
        return risk_of(
            self.name,
            pair,
            attributes,
            own,
            inside,
            self._scenario(pair, attributes),
            **self._proved(reach, own, inside),
        )

    def _assignable(self, boxes: Boxes, inside: Inside, progress: Progress) -> Boxes:
        """Only candidates with which the other records can still be given out, one to each person.

        The true assignment is one that fits. A candidate is in another one if and only if person and candidate are
        on a cycle of candidates, each person's own record standing for the person.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        from microveil.numerics.neighbours.range_search import list_inside

        pairs = int(inside.candidates.sum())
        if pairs > _MOST_PAIRS:
            raise ParameterError(
                f"{self.name}: propagate = True is not allowed here; {pairs:,} candidates are left in all, and at most "
                f"{_MOST_PAIRS:,} are listed"
            )
        begins, targets = list_inside(boxes, inside.candidates, progress, f"{self.name}: listing candidates")
        n = len(inside.candidates)
        graph = csr_array((np.ones(len(targets), dtype=np.int8), targets, begins), shape=(n, n))
        _, cycle = connected_components(graph, directed=True, connection="strong")
        return boxes.also(cycle.astype(np.int64), np.arange(n))

    def _proved(self, reach: list[Reach], own: IntArray, inside: Inside) -> dict[str, object]:
        if not all(r.bound or r.ranks is None for r in reach) or not inside.own.all():
            return {}
        certain = own[inside.candidates == 1]
        widest = max(r.ranks or 0 for r in reach)
        proof = f"No value has moved by more than {widest} ranks, and no other released record is within that reach."
        return {"certain": certain, "proof": proof if len(certain) else ""}

    def _scenario(self, pair: Pair, attributes: tuple[str, ...]) -> str:
        return (
            f"An intruder {reach_text(pair, self.p, self.unit)}, knows the true values of {', '.join(attributes)} for "
            "a person in the file, and takes the nearest of the released records within that reach."
        )


def _own_rank(order: Order, column: FloatArray) -> PositionArray:
    """For each value the one released record that has it; -1 where none or several have it."""
    first, behind = order.between(column, column)
    at = np.full(len(order.values) + 1, -1, dtype=np.int32)
    present = np.flatnonzero(order.positions >= 0)
    at[order.positions[present]] = present
    return np.where(behind - first == 1, at[first], -1).astype(np.int32)
