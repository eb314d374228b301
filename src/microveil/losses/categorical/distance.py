"""DBIL: distance-based information loss for categories."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure, Route
from microveil.losses.categorical.coding import ADD_MISSING, domain_size
from microveil.microdata.distances import ORDINAL_DISTANCES, OrdinalDistance, category_distance
from microveil.microdata.facts import OverRecords
from microveil.microdata.schema import CATEGORICAL
from microveil.microdata.tables import Tables
from microveil.numerics.statistics.moment_sums import ColumnSums
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress


@parameterised
class DBIL(LossMeasure):
    """The mean distance between original and released category, cell by cell.

    Different nominal categories are at distance 1, ordered ones by their positions in a domain of L: `inclusive` counts
    the categories from one to the other, both included, over L; `half-open` the steps between them over L; `unit` the
    steps over L - 1; `nominal` ignores the order.

    >>> from microveil.microdata import Microdata
    >>> one, other = ({"job": list(text)} for text in ("cook", "cock"))
    >>> DBIL().measure(Microdata.of(one), Microdata.of(other)).value
    25.0
    """

    name: ClassVar[str] = "dbil"
    family: ClassVar[str] = "categorical"
    usual: ClassVar[bool] = True
    summary: ClassVar[str] = "mean distance between original and released categories"
    meaning: ClassVar[str] = (
        "mean distance between original and released categories, in per cent of the largest; lower is better"
    )
    route: ClassVar[Route] = "data"
    over_records: ClassVar[OverRecords] = "per record"
    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = (
        "a missing cell that is a category is at distance 1 from all others; other cells missing in the original are "
        "left out, and a suppressed cell counts as 1"
    )
    source: ClassVar[str] = (
        "Domingo-Ferrer and Torra (2001a); Marés (2013), section 2.4.1, Eq. 2.8 and 2.9; Fayyoumi (2008), section 2.4.2"
    )

    ordinal_distance: OrdinalDistance = parameter(default="inclusive", help=ORDINAL_DISTANCES)
    add_missing_category: bool = parameter(default=False, help=ADD_MISSING)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        found = pair.summed(partial(self._distances, attributes), progress, self.name)
        per_attribute = {name: 100 * float(mean) for name, mean in zip(attributes, found.means, strict=True)}
        total, cells = float(found.totals.sum()), int(found.counts.sum())
        details = {"distance": total}
        return Loss.of(self.name, total / max(1, cells), attributes, per_attribute=per_attribute, details=details)

    def _distances(self, attributes: tuple[str, ...], pair: Tables) -> ColumnSums:
        """The distances of the cells of each attribute; those that do not count are NaN."""
        columns = []
        for name in attributes:
            one, other = pair.categories(name)
            size = domain_size(pair, name, add_missing_category=self.add_missing_category)
            moved = category_distance(pair.original[name].kind, size, self.ordinal_distance)(one.codes, other.codes)
            # a missing cell has no position in the order of the categories
            missing = (pair.original.missing_states(name) > 0) | (pair.masked.missing_states(name) > 0)
            moved = np.where(missing, one.codes != other.codes, moved)
            columns.append(np.where(one.codes >= 0, moved, np.nan))
        return ColumnSums.of(np.column_stack(columns))
