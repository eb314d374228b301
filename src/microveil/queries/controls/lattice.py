"""The lattice model: tables by sets of attributes are released as a whole or not at all."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.numerics.counting.distinct_rows import number_rows
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.queries.conditions import EVERYBODY, attributes_of
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.database import Database
from microveil.typing import IntArray


class LatticeGuard(Guard):
    """Knows the smallest cell of every table that was asked about."""

    control: Lattice

    def __init__(self, control: Lattice, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        self.smallest: dict[tuple[frozenset[str], str | None], int] = {}

    def smallest_cell(self, attributes: frozenset[str], value: str | None = None) -> int:
        """The records of the smallest cell of a table by some attributes that is not empty; of those in which the
        attribute that is measured is there."""
        if (attributes, value) not in self.smallest:
            members = self.database.members(EVERYBODY, value)
            if attributes and len(members):
                cells, first = number_rows([self._codes(name)[members] for name in sorted(attributes)])
                found = int(np.bincount(cells, minlength=len(first)).min())
            else:
                found = len(members)
            self.smallest[attributes, value] = found
        return self.smallest[attributes, value]

    def _codes(self, name: str) -> IntArray:
        column = self.database.values(name)
        if column.dtype.kind == "f":
            return np.unique(column, return_inverse=True)[1].astype(np.int64)
        return np.asarray(column, dtype=np.int64) + 1

    def objection(self, asked: Asked) -> str | None:
        attributes = attributes_of(asked.public)
        if self.smallest_cell(attributes, asked.question.value) >= self.control.k:
            return None
        return f"the table by {', '.join(sorted(attributes))} has a cell of fewer than {self.control.k} records"


@parameterised
class Lattice(Control):
    """Answers questions with conditions on a set of attributes only if every cell of the table by them that is not
    empty has at least k records.

    A table that is finer than an unsafe one is unsafe. Sums over cells of several released tables can still be
    subtracted from each other; `audit` beside it looks at all of them jointly.
    """

    name: ClassVar[str] = "lattice"
    family: ClassVar[str] = "conceptual"
    summary: ClassVar[str] = "answers by sets of attributes whose table has no small cell"
    source: ClassVar[str] = "Denning and Schlörer (1983)"
    assumes: ClassVar[str] = "released tables are not subtracted from each other"

    k: int = parameter(default=3, ge=1, le=MOST_RECORDS, help="fewest records of a cell")

    def guard(self, database: Database, key: str) -> Guard:
        return LatticeGuard(self, database, key)
