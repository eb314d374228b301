"""CTBIL: contingency-table-based information loss."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from math import prod
from typing import ClassVar, Literal

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure
from microveil.losses.categorical.coding import ADD_MISSING, coded, domain_size
from microveil.microdata.facts import OverRecords
from microveil.microdata.schema import CATEGORICAL
from microveil.microdata.tables import Several, Tables
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress


@parameterised
class CTBIL(LossMeasure):
    """Differences between the counts of all contingency tables of up to `dimension` attributes.

    `value` is the sum of the absolute differences over its greatest possible size (twice the records, for each table),
    or with `mode="cells"` the share of the cells whose count differs. The details give the sum itself (`ctbil`), its
    mean per cell of the tables (`actbil`), which has no upper bound, and how many cells differ (`differing`).

    >>> from microveil.microdata import Microdata
    >>> one, other = ({"job": list(text)} for text in ("cook", "cock"))
    >>> CTBIL().measure(Microdata.of(one), Microdata.of(other)).value
    25.0
    """

    name: ClassVar[str] = "ctbil"
    family: ClassVar[str] = "categorical"
    usual: ClassVar[bool] = True
    summary: ClassVar[str] = "differences between the contingency tables of the original and of the release"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = "differences between the counts of contingency tables; lower is better"
    over_records: ClassVar[OverRecords] = "per combination"
    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = "missing cells are counted in a cell of their own"
    source: ClassVar[str] = (
        "Domingo-Ferrer and Torra (2001a); Marés (2013), section 2.4.1, Eq. 2.10 and 2.11; Fayyoumi (2008), section "
        "2.4.2"
    )

    dimension: int = parameter(default=2, help="largest number of attributes crossed in a table", ge=1, le=10)
    mode: Literal["counts", "cells"] = parameter(
        default="counts", help="what is summed: the differences between the counts, or the number of cells that differ"
    )
    add_missing_category: bool = parameter(default=False, help=ADD_MISSING)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        subsets = [s for size in range(1, self.dimension + 1) for s in combinations(attributes, size)]
        label = f"{self.name}: tables"
        tables = dict(zip(subsets, pair.summed(partial(_tables, subsets), progress, label).found, strict=True))
        sizes: dict[str, int] = {}
        for name in attributes:
            declared = domain_size(pair, name, add_missing_category=self.add_missing_category)
            sizes[name] = max(declared, int(tables[name,].codes.max()) + 1)  # missing cells come after all categories
        moved, differing, cells = 0, 0, 0
        alone: dict[str, float] = {}
        for subset, table in tables.items():
            before, after = table.counts
            difference, changed = int(abs(before - after).sum()), int((before != after).sum())
            moved, differing, cells = moved + difference, differing + changed, cells + prod(sizes[n] for n in subset)
            if len(subset) == 1:
                share = difference / (2 * len(pair)) if self.mode == "counts" else changed / sizes[subset[0]]
                alone[subset[0]] = 100 * share
        share = moved / (2 * len(pair) * len(subsets)) if self.mode == "counts" else differing / cells
        details = {
            "ctbil": float(moved),
            "actbil": moved / cells,
            "differing": float(differing),
            "tables": float(len(subsets)),
        }
        return Loss.of(self.name, share, attributes, per_attribute=alone, details=details)


def _tables(subsets: Sequence[tuple[str, ...]], pair: Tables) -> Several:
    """The contingency tables of both files over some subsets of the attributes."""
    from microveil.numerics.counting.contingency import Cells

    columns = {name: coded(pair, name) for (name, *more) in subsets if not more}
    return Several(
        tuple(
            Cells.of([[columns[n].before for n in s], [columns[n].after for n in s]], [columns[n].size for n in s])
            for s in subsets
        )
    )
