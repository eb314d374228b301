"""Query-set overlap control: a question may share only so many records with each that was answered before."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.queries.answers import Answer
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.controls.memory import ALONE_OR_TOGETHER, Memory, RememberingGuard
from microveil.queries.database import Database


class _OverlapGuard(RememberingGuard):
    control: Overlap

    def __init__(self, control: Overlap, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        self.before: dict[str, list[tuple[npt.NDArray[np.uint8], int]]] = {}

    def objection(self, asked: Asked) -> str | None:
        own, records = self._packed(asked), len(asked.query_set)
        for packed, size in self.before.get(self.whose(asked), ()):
            shared = int(np.bitwise_count(packed & own).sum())
            if shared == size == records:
                continue  # the same question once more tells nothing new
            limit = self.control.limit
            if limit < 1:
                limit = limit * min(size, records)
            if shared > limit:
                return "the query set has too many records in common with one that was answered before"
        return None

    def noted(self, asked: Asked, answer: Answer) -> None:
        self.before.setdefault(self.whose(asked), []).append((self._packed(asked), len(asked.query_set)))

    def _packed(self, asked: Asked) -> npt.NDArray[np.uint8]:
        """The query set, a bit for each record."""
        inside = np.zeros(self.database.records, dtype=bool)
        inside[asked.query_set] = True
        return np.packbits(inside)


@parameterised
class Overlap(Control):
    """Answers only if the query set shares at most `limit` records with every query set that was answered before.

    The same query set again is answered again. It stops trackers whose questions overlap much, and the difference of
    two means; with sets of s records and overlaps of r, (s + r - 1) / r questions still find a value.
    """

    name: ClassVar[str] = "overlap"
    family: ClassVar[str] = "restriction"
    summary: ClassVar[str] = "answers only where few records are shared with each former question"
    source: ClassVar[str] = "Dobkin, Jones and Lipton (1979)"
    assumes: ClassVar[str] = "nobody combines many sets that share few records, and all who collude are known"
    has_memory: ClassVar[bool] = True

    limit: float = parameter(
        default=1.0, ge=0, le=MOST_RECORDS, help="most records in common; below 1, the share of the smaller query set"
    )
    analysts: Memory = parameter(default="all", help=ALONE_OR_TOGETHER)

    def guard(self, database: Database, key: str) -> Guard:
        return _OverlapGuard(self, database, key)
