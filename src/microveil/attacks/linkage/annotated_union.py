"""Annotated-union linkage: candidates are the records in most rank windows, as one window may miss the right one."""

from __future__ import annotations

from math import ceil
from typing import ClassVar

from microveil.attacks.base import Risk
from microveil.attacks.linkage.candidates import METRIC, RECORDS, attacked, risk_of, steps_of
from microveil.attacks.linkage.windows import WindowLinkage, reach_text, reaches, window
from microveil.comparison.columns import Columns, Metric
from microveil.comparison.pairs import Pair
from microveil.masking.swapping.ranks import UNIT, Unit
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress


@parameterised
class AnnotatedUnionLinkage(WindowLinkage):
    """Each released record is annotated with the number of known attributes in whose window it lies; of the records
    with the highest number the nearest is linked.

    So a value that moved farther than the window costs the right record one note and does not lose it, which suits
    rank-swapping-distribution and rank-swapping-buckets, and any p that is uncertain. The window reaches `share` times
    p up and down, with p as in rank-swapping-linkage. One half is what a normal move of mean p/2 suggests, but such a
    window holds a third of the values only, and that of the whole p three quarters (Nin (2008) says 68 and 96 per
    cent).

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 31, 45, 62, 70, 81], "income": [3, 6, 1, 4, 2, 5]})
    >>> swapped = Microdata.of({"age": [62, 20, 31, 45, 81, 70], "income": [4, 5, 2, 3, 1, 6]})
    >>> round(AnnotatedUnionLinkage(p=1, unit="positions").assess(people, swapped).value, 1)
    66.7
    """

    name: ClassVar[str] = "annotated-union-linkage"
    summary: ClassVar[str] = "links the nearest of the released records that lie in the largest number of rank windows"
    meaning: ClassVar[str] = "records linked to the right person by the largest number of rank windows; lower is safer"
    assumes: ClassVar[str] = (
        "the true values of some attributes of everyone in the file, and about how far values moved"
    )
    formula: ClassVar[str] = "link = nearest l with most attributes j such that x'_lj is within h ranks of x_ij"
    source: ClassVar[str] = "Nin (2008), section 4.1.4"

    p: float | None = parameter(
        default=None,
        help="half-width of the windows for a share of 1, in ranks, in the unit given; unset: from the provenance",
        ge=0,
        le=MOST_RECORDS,
    )
    unit: Unit = parameter(default="percent", help=UNIT)
    share: float = parameter(default=1.0, help="half-width of the windows, as a multiple of p", gt=0, le=1_000)
    metric: Metric = parameter(default="euclidean", help=METRIC)
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(default=0, help="seed for drawing the records to attack", ge=0, le=LARGEST_SEED)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        from microveil.numerics.neighbours.range_search import Boxes, Order, link_inside

        columns = Columns.of(pair, attributes)
        steps = steps_of([1.0] * len(attributes), len(pair), every=False)
        own = attacked(pair, attributes, self.records, steps, self.seed, self.name)
        orders, ranges = [], []
        for reach, before, after in zip(
            reaches(pair, attributes, self.p, self.unit, self.name), columns.before, columns.after, strict=True
        ):
            width = None if reach.ranks is None else ceil(self.share * reach.ranks - 1e-9)
            orders.append(Order.of(after))
            ranges.append(window(orders[-1], before[own], width))
        label = f"{self.name}: linking records"
        inside = link_inside(
            Boxes.of(orders, ranges), columns.cells(self.metric, "separate", own), own, False, progress, label
        )
        scenario = (
            f"An intruder {reach_text(pair, self.p, self.unit)}, knows the true values of {', '.join(attributes)} for "
            "a person in the file, and takes the nearest of the released records that are within that reach in most "
            "attributes."
        )
        return risk_of(self.name, pair, attributes, own, inside, scenario)
