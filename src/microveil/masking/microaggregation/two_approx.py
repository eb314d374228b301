"""The 2-approximation for pairs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import OverRecords
from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.preparation import Preparation
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray

_MOST_RECORDS = 5000


@parameterised
class TwoApprox(Microaggregation):
    """Pairs and threes from the edges that cover all records at the least total squared length; for k = 2 only.

    The cover falls into stars; stars of four records or more are divided into pairs of their closest leaves, and the
    centre keeps the last one or two. The loss is at most twice the least possible where all edges worth choosing were
    looked at; with very many attributes only the best 24 of each record are. Meant for files without strong outliers
    and against intruders who are not in the file themselves: in a pair, each member can work out the other.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 21, 22, 61, 63]})
    >>> TwoApprox().mask(people).frame["age"].to_pylist()
    [21.0, 21.0, 21.0, 62.0, 62.0]
    """

    name: ClassVar[str] = "two-approx"
    summary: ClassVar[str] = "groups of two or three records from an edge cover of least cost, for k = 2"
    source: ClassVar[str] = "Domingo-Ferrer and Sebé (2006); Fayyoumi (2008), section 2.6.3.2"
    over_records: ClassVar[OverRecords] = "neighbours"

    k: int = parameter(
        default=2, help="smallest size of a group; this method is made for 2 only", ge=2, le=MOST_RECORDS
    )
    preparation: Preparation = parameter(
        default=Preparation(chunk=2000), help="what happens before records are grouped"
    )

    def __post_init__(self) -> None:
        if self.k != 2:
            raise ParameterError(f"{self.name}: k = {self.k} is not allowed; it makes pairs, so k must be 2")

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.edge_cover import cover_groups

        if len(columns) > _MOST_RECORDS:
            raise DataError(
                f"{self.name} takes at most {_MOST_RECORDS:,} records at once, and here are {len(columns):,}; "
                f"let chunk divide the file"
            )
        return cover_groups(columns, progress, "two-approx: finding pairs")
