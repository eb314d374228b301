"""Loss and risk of a masked file of category codes, as searches evaluate them over and over.

The numbers are those of the measures CTBIL, DBIL and EBIL and of the attacks by intervals, by distance and by match
weight; what they need of the original is prepared once for all masked versions of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import log2
from typing import NamedTuple

import numpy as np

from microveil.numerics.choices import By
from microveil.numerics.counting.contingency import cell_counts, conditional_bits
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.linkage.agreement import Scheme, count_patterns
from microveil.numerics.linkage.fellegi_sunter import fit_independent, level_weights
from microveil.numerics.neighbours.assignment import even_assignment
from microveil.numerics.neighbours.category_distance import CategoryDistance, OrdinalDistance, category_distance
from microveil.numerics.neighbours.mixed_distance import CATEGORY, Table, Terms
from microveil.numerics.neighbours.nearest import distances, distinct, link
from microveil.progress import silent
from microveil.typing import BoolArray, FloatArray, IntArray

WIDTHS = tuple(float(width) for width in range(1, 11))
BY_EQUALITY = (0.0,)  # the width of intervals that hold a category alone


@dataclass(frozen=True)
class Conventions:
    """What the measures leave open: the largest number of attributes crossed in a table, the distance of ordered
    categories in DBIL, the widths of intervals in per cent of the records, and the distance of ordered categories by
    which records are linked."""

    dimension: int = 2
    ordinal_distance: OrdinalDistance = "inclusive"
    widths: tuple[float, ...] = WIDTHS
    link_distance: OrdinalDistance = "inclusive"


class Measures(NamedTuple):
    """The parts of loss and risk, each a percentage; `prl` is 0 where it was left out, so that `dbrl` counts alone."""

    ctbil: float
    dbil: float
    ebil: float
    interval: float
    dbrl: float
    prl: float

    @property
    def loss(self) -> float:
        return (self.ctbil + self.dbil + self.ebil) / 3

    @property
    def risk(self) -> float:
        return (self.interval + max(self.dbrl, self.prl)) / 2


def score_of(loss: float, risk: float, by: By = "mean", share: float = 0.5) -> float:
    """The mean of loss and risk, in which the loss has this share, or the greater of the two.

    >>> score_of(20, 30), score_of(5, 40), score_of(20, 30, "max"), score_of(5, 40, "max")
    (25.0, 22.5, 30, 40)
    """
    return max(loss, risk) if by == "max" else share * loss + (1 - share) * risk


@dataclass(frozen=True)
class CategoricalMeasures:
    """The original as codes, a row for each record: 0 <= code < size in each attribute, none missing.

    `extra` is how many empty categories a domain counts beyond its size in DBIL and EBIL.

    >>> original = np.array([[0, 0], [0, 1], [1, 1], [2, 1], [3, 2], [3, 2]])
    >>> masked = np.array([[0, 0], [1, 1], [1, 1], [2, 0], [3, 2], [2, 2]])
    >>> measures = CategoricalMeasures(original, np.array([4, 3]), np.array([True, False]))
    >>> found = measures.of(masked)
    >>> [round(value, 3) for value in (*found[:5], found.loss)]
    [33.333, 16.667, 27.182, 75.0, 50.0, 25.727]
    """

    original: IntArray
    sizes: IntArray
    ordinal: BoolArray
    conventions: Conventions = Conventions()
    extra: int | IntArray = 0

    def of(self, masked: IntArray, *, probabilistic: bool = True) -> Measures:
        """All measures of a masked file; linkage by match weight, which takes by far the most time, may be left out."""
        return Measures(
            self.ctbil(masked),
            self.dbil(masked),
            self.ebil(masked),
            self.interval(masked),
            self.dbrl(masked),
            self.prl(masked) if probabilistic else 0.0,
        )

    # --- loss ------------------------------------------------------------------------------------------------------

    def ctbil(self, masked: IntArray) -> float:
        """The absolute differences of the counts of all tables, over the largest possible."""
        moved = 0
        for subset in self.subsets:
            before, after = ([codes[:, j] for j in subset] for codes in (self.original, masked))
            one, other = cell_counts(before, after, self.sizes[list(subset)].tolist())
            moved += int(np.abs(one - other).sum())
        return 100 * moved / (2 * len(masked) * len(self.subsets))

    def dbil(self, masked: IntArray) -> float:
        """The mean distance of original and masked categories."""
        total = sum(
            float(distance(self.original[:, j], masked[:, j]).sum()) for j, distance in enumerate(self.loss_distances)
        )
        return 100 * total / masked.size

    def ebil(self, masked: IntArray) -> float:
        """The conditional entropy of original given masked categories, over its largest possible."""
        shares = [
            conditional_bits(self.original[:, j], masked[:, j]) / (len(masked) * log2(size)) if size > 1 else 0.0
            for j, size in enumerate(self.loss_sizes.tolist())
        ]
        return 100 * sum(shares) / len(shares)

    @cached_property
    def subsets(self) -> tuple[tuple[int, ...], ...]:
        """The attributes of each table."""
        d = len(self.sizes)
        return tuple(s for size in range(1, self.conventions.dimension + 1) for s in combinations(range(d), size))

    @cached_property
    def loss_sizes(self) -> IntArray:
        return np.asarray(self.sizes + self.extra)

    @cached_property
    def loss_distances(self) -> tuple[CategoryDistance, ...]:
        return self._distances(self.loss_sizes, self.conventions.ordinal_distance)

    def _distances(self, sizes: IntArray, form: OrdinalDistance) -> tuple[CategoryDistance, ...]:
        kinds = np.where(self.ordinal, "ordinal", "nominal").tolist()
        return tuple(category_distance(kind, size, form) for kind, size in zip(kinds, sizes.tolist(), strict=True))

    # --- risk ------------------------------------------------------------------------------------------------------

    def interval(self, masked: IntArray) -> float:
        """The share of original categories in an interval around the masked one: an ordered category by the middle
        ranks in the masked column, another only if it is unchanged."""
        n, d = masked.shape
        reaches = np.array([width * n / 100 for width in self.conventions.widths])
        found = 0
        for j in range(d):
            before, after = self.original[:, j], masked[:, j]
            if not self.ordinal[j]:
                found += len(reaches) * int((before == after).sum())
                continue
            counts = np.bincount(after, minlength=int(self.sizes[j]))
            middle = np.cumsum(counts) - counts + (counts + 1) / 2
            apart = np.abs(middle[before] - middle[after])
            found += sum(int(((before == after) | (apart <= reach)).sum()) for reach in reaches)
        return float(100 * found / (n * d * len(reaches)))

    def dbrl(self, masked: IntArray) -> float:
        """The share of masked records whose nearest original record is their own, by chance where several are."""
        columns = [*self.original.T, *masked.T]
        rows, first = number_rows(columns, [*self.sizes.tolist(), *self.sizes.tolist()])
        links = link(self.table_of(masked), self._table, self.link_terms, first, silent, "")
        right = np.where(links.own, 1.0 / np.maximum(links.ties, 1), 0.0)
        return 100 * float((np.bincount(rows) * right).sum()) / len(masked)

    def prl(self, masked: IntArray) -> float:
        """The share of records that are linked with their own when all are assigned to each other at once by the
        weights of their agreements."""
        d = masked.shape[1]
        scheme = Scheme(((0.0,),) * d, np.zeros(d, dtype=np.bool_), np.zeros(d, dtype=np.bool_))
        (known, known_of), (released, released_of) = self._distinct, distinct(self.table_of(masked))
        supply, demand = np.bincount(known_of), np.bincount(released_of)
        generator = np.random.default_rng(0)  # draws only where there are more pairs than can be assigned
        patterns = count_patterns(scheme, known, supply, released, demand, generator, silent, "")
        model = fit_independent(
            patterns, scheme.levels.tolist(), min(1.0 / len(masked), 0.5), "rest", estimate_prevalence=False
        )
        terms = scheme.terms([weights[0] - weights for weights in level_weights(scheme, model)])
        cost = distances(known, released, terms, silent, "")
        own = even_assignment(cost, supply, demand, silent, "").of_pairs(known_of, released_of)
        return 100 * float(own.mean())

    @cached_property
    def link_terms(self) -> Terms:
        """How records are compared in linkage by distance."""
        by_attribute = self._distances(self.sizes, self.conventions.link_distance)
        start, slope = (np.array([getattr(one, part) for one in by_attribute]) for part in ("start", "slope"))
        d = len(start)
        return Terms(np.full(d, CATEGORY), start, slope, np.zeros(d, dtype=np.bool_), np.ones(d))

    def table_of(self, codes: IntArray) -> Table:
        """Codes as records that are compared."""
        cells: FloatArray = np.ascontiguousarray(codes.T, dtype=np.float64)
        return Table(cells, np.zeros(cells.shape, dtype=np.uint8))

    @cached_property
    def _table(self) -> Table:
        return self.table_of(self.original)

    @cached_property
    def _distinct(self) -> tuple[Table, IntArray]:
        return distinct(self._table)
