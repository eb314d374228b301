"""What is known of all records of a stored table, found in passes over its parts, each asked once.

What was found can be sent to workers. They ask what the first part was asked, so that it is all they need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from microveil.engines.base import COUNT, Engine
from microveil.engines.stored import StoredTable, combinations_of_part, combined
from microveil.errors import DataError
from microveil.microdata import Microdata, Schema
from microveil.microdata.facts import Counted, Facts, Found, Part, next_beyond
from microveil.microdata.frames import open_frame
from microveil.microdata.microdata import as_categories
from microveil.microdata.schema import Category
from microveil.microdata.tables import Sum
from microveil.numerics.statistics.moment_sums import MomentSums
from microveil.progress import silent
from microveil.typing import FloatArray, IntArray

_CELLS = 2**16  # of the histogram that narrows down where a value of some rank lies
_AT_HAND = 5_000_000  # distinct values that are put in order at a time


@dataclass(frozen=True)
class _Combinations:
    """How many records of some parts have each combination."""

    table: pa.Table
    names: tuple[str, ...]

    def __add__(self, other: _Combinations) -> _Combinations:
        return _Combinations(combined([self.table, other.table], self.names), self.names)


class KnownFacts(Facts):
    """Facts that were asked before; another question is an error of the program."""

    def __init__(self, records: int, schema: Schema, found: dict[tuple[Any, ...], Any]) -> None:
        self.records, self._schema, self._found = records, schema, found

    def occurring(self, name: str) -> Sequence[Category]:
        found: Sequence[Category] = self._ask("occurring", name)
        return found

    def has_empty(self, name: str) -> bool:
        return bool(self._ask("has_empty", name))

    def counted(self, names: Sequence[str]) -> Counted:
        table: pa.Table = self._ask("counted", tuple(names))
        counts = table[COUNT].to_numpy().astype(np.int64)
        part = Part(range(0), self, counts)
        return Counted(Microdata(open_frame(table.select(list(names))), self._schema.select(names), part=part), counts)

    def moments(self, names: Sequence[str]) -> MomentSums:
        found: MomentSums = self._ask("moments", tuple(names))
        return found

    def order_statistics(self, name: str, ranks: Sequence[int]) -> FloatArray:
        found: FloatArray = self._ask("order_statistics", name, tuple(ranks))
        return found

    def next_value(self, name: str, value: float, *, up: bool) -> float | None:
        found: float | None = self._ask("next_value", name, value, up)
        return found

    def once(self, what: str, find: Callable[[], Any]) -> Any:
        return self._ask("once", what)

    def gathered(
        self,
        what: str,
        names: Sequence[str],
        find: Callable[[Microdata], Found],
        together: Callable[[Sequence[Found]], Any],
    ) -> Any:
        return self._ask("gathered", what)

    def _ask(self, *question: Any) -> Any:
        return self._found[question]


class StoredFacts(KnownFacts):
    """Facts that are found when they are first asked."""

    def __init__(self, table: StoredTable, schema: Schema, engine: Engine) -> None:
        super().__init__(len(table), schema, {})
        self._table, self._engine = table, engine

    @property
    def known(self) -> KnownFacts:
        """What was found so far."""
        return KnownFacts(self.records, self._schema, dict(self._found))

    def read_by(self, schema: Schema) -> StoredFacts:
        """Those of the same table by another schema; what was counted need not be counted again."""
        facts = StoredFacts(self._table, schema, self._engine)
        facts._found |= {question: found for question, found in self._found.items() if question[0] == "counted"}
        return facts

    def once(self, what: str, find: Callable[[], Any]) -> Any:
        return self._first_time(("once", what), find)

    def gathered(
        self,
        what: str,
        names: Sequence[str],
        find: Callable[[Microdata], Found],
        together: Callable[[Sequence[Found]], Any],
    ) -> Any:
        return self._first_time(("gathered", what), lambda: together(self._over_parts(names, find, what)))

    def _ask(self, *question: Any) -> Any:
        kind, *about = question
        return self._first_time(question, lambda: getattr(self, f"_find_{kind}")(*about))

    def _first_time(self, question: tuple[Any, ...], find: Callable[[], Any]) -> Any:
        if question not in self._found:
            self._found[question] = find()
        return self._found[question]

    def _over_parts(self, names: Sequence[str], work: Callable[[Microdata], Any], label: str) -> list[Any]:
        return self._engine.map(self._of_part(names, work), len(self._table.pieces), silent, label)

    def _added(self, names: Sequence[str], work: Callable[[Microdata], Sum], label: str) -> Sum:
        found: Sum = self._engine.added(self._of_part(names, work), len(self._table.pieces), silent, label)
        return found

    def _of_part(self, names: Sequence[str], work: Callable[[Microdata], Any]) -> Callable[[int], Any]:
        table, schema, facts = self._table, self._schema.select(names), self.known

        def of_part(part: int) -> Any:
            return work(table.part(part, schema, facts))

        return of_part

    def _find_counted(self, names: Sequence[str]) -> pa.Table:
        refuse_what_is_no_category(self._table, names)
        found = self._engine.counted(self._table, names)
        if found is None:
            table = self._table

            def of_part(part: int) -> _Combinations:
                return _Combinations(combinations_of_part(table.read(part, names), names), tuple(names))

            found = self._engine.added(of_part, len(table.pieces), silent, "counting combinations").table
        return found.sort_by([(name, "ascending") for name in names])

    def _find_occurring(self, name: str) -> list[Category]:
        return self.counted([name]).data.occurring(name)

    def _find_has_empty(self, name: str) -> bool:
        return self.counted([name]).data.has_empty(name)

    def _find_moments(self, names: Sequence[str]) -> MomentSums:
        def of_part(part: Microdata) -> MomentSums:
            return MomentSums.of(part.matrix(names))

        return self._added(names, of_part, "moments")

    def _find_next_value(self, name: str, value: float, up: bool) -> float | None:
        def of_part(part: Microdata) -> float | None:
            return next_beyond(part.numbers(name).values, value, up=up)

        found = [one for one in self._over_parts([name], of_part, "next value") if one is not None]
        return next_beyond(np.array(found), value, up=up)

    def _find_order_statistics(self, name: str, ranks: Sequence[int]) -> FloatArray:
        moments = self.moments([name])
        low, high = float(moments.low[0]), float(moments.high[0])
        return np.array([self._of_rank(name, rank, low, high) for rank in ranks])

    def _of_rank(self, name: str, rank: int, low: float, high: float) -> float:
        """The value of a rank, by a narrowing span of values in which it lies."""
        below = 0
        while True:
            edges = np.unique(np.linspace(low, high, _CELLS + 1))
            counts = self._histogram(name, edges)
            # cells begin with their lower edge; before the first lies what an earlier span was narrowed to pass over
            upto = np.cumsum(counts)
            cell = int(np.searchsorted(upto, rank - below, side="right"))
            below += int(upto[cell - 1]) if cell else 0
            low, high = float(edges[cell]), float(edges[min(cell + 1, len(edges) - 1)])
            if counts[cell] <= _AT_HAND or high <= np.nextafter(low, np.inf):
                return self._within(name, low, high, rank - below, last=cell + 1 >= len(edges) - 1)
            high = float(np.nextafter(high, -np.inf)) if cell + 1 < len(edges) - 1 else high

    def _histogram(self, name: str, edges: FloatArray) -> IntArray:
        def of_part(part: Microdata) -> IntArray:
            values = part.numbers(name).values
            values = values[(values >= edges[0]) & (values <= edges[-1])]
            cells = np.minimum(np.searchsorted(edges, values, side="right") - 1, max(0, len(edges) - 2))
            return np.bincount(cells, minlength=max(1, len(edges) - 1)).astype(np.int64)

        return self._added([name], of_part, "histogram")

    def _within(self, name: str, low: float, high: float, rank: int, *, last: bool) -> float:
        def of_part(part: Microdata) -> tuple[FloatArray, IntArray]:
            values = part.numbers(name).values
            inside = values[(values >= low) & ((values <= high) if last else (values < high))]
            return np.unique(inside, return_counts=True)

        found = self._over_parts([name], of_part, "values in order")
        values = np.concatenate([one for one, _ in found])
        counts = np.concatenate([one for _, one in found])
        order = np.argsort(values, kind="stable")
        return float(values[order][np.searchsorted(np.cumsum(counts[order]), rank, side="right")])


def refuse_what_is_no_category(table: StoredTable, names: Sequence[str]) -> None:
    """Refuse columns of lists and the like, whose combinations cannot be counted."""
    for name in names:
        as_categories(pa.array([], table.types[name]))


def refuse_what_differs_by_part(table: StoredTable, schema: Schema, attributes: Sequence[str]) -> None:
    """Refuse columns whose cells can be read only with a look at all of them."""
    for name in attributes:
        kind = table.types[name]
        if schema[name].kind == "numeric" and not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise DataError(
                f"attribute '{name}' is not stored as whole or floating-point numbers, and dates, times and decimals "
                "are masked in memory only; store it as numbers, or protect it without an engine"
            )
