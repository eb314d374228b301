"""Partitioning: questions are about unions of atomic populations of at least k records."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Literal

import numpy as np

from microveil.errors import TooFewRecordsError
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.queries.conditions import CategorySet, Condition, Formula, all_of, any_of
from microveil.queries.controls.base import Asked, Change, Control, Guard
from microveil.queries.database import Database
from microveil.queries.questions import Question
from microveil.typing import BoolArray, IntArray


class _PartitionGuard(Guard):
    control: Partitioned

    def __init__(self, control: Partitioned, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        self.by = database.categories_of(control.by, "partition")
        codes = [np.asarray(database.values(name), dtype=np.int64) + 1 for name in self.by]
        cells, first = number_rows(codes, [len(database.fields[name].domain) + 1 for name in self.by])
        self.joined = _joined(np.bincount(cells, minlength=len(first)), control.k)  # the atom of every cell
        self.atoms: IntArray = self.joined[cells]
        self.sizes = np.bincount(self.atoms)
        self.formulas = [
            any_of(self._cell(int(first[cell])) for cell in np.flatnonzero(self.joined == atom))
            for atom in range(len(self.sizes))
        ]

    def _cell(self, record: int) -> Formula:
        """The conditions that the records of the cell of a record meet."""
        conditions = []
        for name in self.by:
            field, place = self.database.fields[name], int(self.database.values(name)[record])
            chosen = CategorySet(frozenset() if place < 0 else frozenset([place]), len(field.domain))
            conditions.append(Condition(name, chosen, or_missing=place < 0))
        return all_of(conditions)

    def _touched(self, public: Formula) -> tuple[BoolArray, bool]:
        """The atoms that have records in a set, and whether they lie in it as a whole."""
        inside = np.bincount(self.atoms[self.database.members(public, None)], minlength=len(self.sizes))
        touched = inside > 0
        return touched, bool((inside[touched] == self.sizes[touched]).all())

    def replaced(self, question: Question) -> Question:
        if self.control.snap == "refuse":
            return question
        public, secret = self.database.public_part(question)
        touched, whole = self._touched(public)
        if whole:
            return question
        outer = any_of(self.formulas[atom] for atom in np.flatnonzero(touched))
        return Question(question.statistic, question.value, all_of([outer, secret]))

    def objection(self, asked: Asked) -> str | None:
        if self._touched(asked.public)[1]:
            known = np.bincount(self.atoms[asked.query_set], minlength=len(self.sizes))
            if not ((known > 0) & (known < self.control.k)).any():
                return None
        populations = f"whole populations of {', '.join(self.by)}"
        return f"only {populations} with at least {self.control.k} records are answered"

    def change_objection(self, change: Change) -> str | None:
        row_before = {name: row for row, name in enumerate(change.before.ids)}
        row_after = {name: row for row, name in enumerate(change.after.ids)}
        touched: Counter[tuple[str, ...]] = Counter()
        for name in change.touched:
            places = {
                tuple(str(table.cells(by)[rows[name]]) for by in self.by)
                for table, rows in ((change.before, row_before), (change.after, row_after))
                if name in rows
            }
            touched.update(places)
        if any(count == 1 for count in touched.values()):
            return "a change must touch at least two records of each population that it touches"
        return None


def _joined(sizes: IntArray, k: int) -> IntArray:
    """The atom of every cell: cells of fewer than k records are joined with those after them, the last with those
    before."""
    atoms = np.zeros(len(sizes), dtype=np.int64)
    atom, held = 0, 0
    for cell, size in enumerate(sizes):
        if held >= k:
            atom, held = atom + 1, 0
        atoms[cell] = atom
        held += size
    if held < k and atom:
        atoms[atoms == atom] = atom - 1
    return atoms


@parameterised
class Partitioned(Control):
    """Answers only about unions of the combinations of `by`, each of at least k records.

    Combinations of fewer records are joined with the next ones in order. A question that cuts through a population is
    refused or, with `snap` = outer, answered about all populations that it touches. Nobody can be told apart from the
    others in his population, whatever is asked; a change of the data must touch at least two records of a population.
    """

    name: ClassVar[str] = "partition"
    family: ClassVar[str] = "restriction"
    summary: ClassVar[str] = "answers only about unions of populations of at least k records"
    source: ClassVar[str] = "Chin and Özsoyoğlu (1981); Schlörer (1983)"
    assumes: ClassVar[str] = "nobody knows the values of the others in a population, and changes come in batches"
    answers_order_statistics: ClassVar[bool] = True

    by: tuple[str, ...] = parameter(
        default=(), help="attributes whose combinations are the populations; default: all public categories"
    )
    k: int = parameter(default=3, ge=1, le=MOST_RECORDS, help="fewest records of a population")
    snap: Literal["refuse", "outer"] = parameter(
        default="refuse", help="what happens to a question that cuts through populations"
    )

    def guard(self, database: Database, key: str) -> Guard:
        if database.records < self.k:
            raise TooFewRecordsError(database.records, self.k, "partition")
        return _PartitionGuard(self, database, key)
