"""Cell suppression: questions are about the cells of one protected table."""

from __future__ import annotations

from typing import ClassVar, Literal

from microveil.errors import ParameterError
from microveil.microdata.hierarchy import node_text
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.queries.conditions import EVERYBODY, CategorySet, Condition, Formula, conjuncts
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.database import Database
from microveil.tables.tabulating import table
from microveil.tables.tree import TOTAL

Cell = tuple[str, ...]


class _SuppressionGuard(Guard):
    control: CellSuppression

    def __init__(self, control: CellSuppression, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        self.by = database.categories_of(control.by, "cell-suppression")
        self.suppressed: dict[str | None, set[Cell]] = {}
        self._suppressed(None)

    def _suppressed(self, value: str | None) -> set[Cell]:
        """The cells that are suppressed in tables of an attribute. Counts of the records in which it is there decide,
        so that what is suppressed tells nothing about values."""
        if value not in self.suppressed:
            named = [name for name in self.database.data.names if name in self.by]
            data = self.database.data.select(named).take(self.database.members(EVERYBODY, value))
            flat = data.with_schema(data.schema.replacing(*(a.changed(hierarchy=None) for a in data.schema)))
            made = table(
                flat,
                [self.by],
                rules=[f"frequency {self.control.minimum}"],
                method=self.control.method,
                singletons=self.control.singletons,
            )
            if not made.passed:
                raise ParameterError("cell-suppression: the table cannot be protected; ask for fewer attributes")
            names = [made.name(cell) for cell in range(len(made.cells))]
            cells: list[Cell] = [tuple(name[by] for by in self.by) for name in names]
            self.suppressed[value] = {cell for cell, hidden in zip(cells, made.suppressed, strict=True) if hidden}
        return self.suppressed[value]

    def objection(self, asked: Asked) -> str | None:
        cell = self._cell(asked.public)
        if cell is None:
            return f"only cells of the table by {', '.join(self.by)} are answered, and its totals"
        return "this cell of the table is suppressed" if cell in self._suppressed(asked.question.value) else None

    def _cell(self, public: Formula) -> Cell | None:
        """The cell that a formula describes, if it describes one."""
        named = dict.fromkeys(self.by, TOTAL)
        for part in conjuncts(public):
            if not isinstance(part, Condition) or part.attribute not in named or part.or_missing:
                return None
            if not isinstance(part.values, CategorySet) or len(part.values.places) != 1:
                return None
            [place] = part.values.places
            named[part.attribute] = node_text(self.database.fields[part.attribute].domain[place])
        return tuple(named[name] for name in self.by)


@parameterised
class CellSuppression(Control):
    """Answers about the cells of one table and its totals, of which those with few records are suppressed, and further
    ones so that they cannot be computed from the others.

    What is suppressed is decided by counts, for all statistics alike, and proved by the audit of the table.
    """

    name: ClassVar[str] = "cell-suppression"
    family: ClassVar[str] = "restriction"
    summary: ClassVar[str] = "answers about the cells of a table that are not suppressed"
    source: ClassVar[str] = "Cox (1980)"
    assumes: ClassVar[str] = "nobody knows more of a cell than his own record"

    by: tuple[str, ...] = parameter(default=(), help="attributes of the table; default: all public categories")
    minimum: int = parameter(default=3, ge=1, le=MOST_RECORDS, help="fewest records of a cell")
    method: Literal["elimination", "optimal"] = parameter(default="elimination", help="how further cells are chosen")
    singletons: bool = parameter(
        default=True, help="whether somebody who is alone in a cell must not find out another cell"
    )

    def guard(self, database: Database, key: str) -> Guard:
        return _SuppressionGuard(self, database, key)
