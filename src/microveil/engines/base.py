"""What an engine does: it works on the parts of a table, side by side, and counts combinations where it can do so fast.

Everything else, what is done to a part and how results are put together, is the same for all engines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from microveil.microdata.tables import Sum
from microveil.progress import Part, Progress

if TYPE_CHECKING:
    from microveil.engines.stored import StoredTable

Result = TypeVar("Result")

COUNT = "records of this combination"  # the column of a table of combinations that says how many there are


class Engine(ABC):
    """Who does the work. One that was opened is closed when it is no longer needed."""

    name: str
    waiting: int = 64  # parts whose results wait to be added up

    @abstractmethod
    def map(self, work: Callable[[int], Result], parts: int, progress: Progress, label: str) -> list[Result]:
        """Do a piece of work for each part of a table; results come in the order of the parts.

        A piece may be done again, after a failure or by a second worker, and must then give the same.
        """

    def each(self, work: Callable[[int], Result], pieces: int, progress: Progress, label: str) -> list[Result]:
        """The same for pieces of work that need much memory, such as a whole column each."""
        return self.map(work, pieces, progress, label)

    def added(self, work: Callable[[int], Sum], parts: int, progress: Progress, label: str) -> Sum:
        """What is found of all parts, added up; so many at a time that what waits to be added does not fill memory."""
        total: Sum | None = None
        for first in range(0, parts, self.waiting):
            some = min(self.waiting, parts - first)
            stretch = Part(progress, first / parts, (first + some) / parts)
            found = reduce(add, self.map(partial(_later, work, first), some, stretch, label))
            total = found if total is None else total + found
        assert total is not None  # a table has a part
        return total

    def counted(self, table: StoredTable, names: Sequence[str]) -> pa.Table | None:
        """The combinations that occur in a file as it is, with the column `COUNT`, if the engine can count them."""
        return None

    def refuse_copies(self, path: Path) -> None:
        """Refuse a file that is copied to the temporary folder of this machine, where that is not the workers'."""
        return

    def close(self) -> None:
        """Give back what it holds."""
        return

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _later(work: Callable[[int], Result], first: int, part: int) -> Result:
    return work(first + part)
