"""What evaluates questions: arrays in this process, or DuckDB in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

from microveil.queries.conditions import Formula
from microveil.typing import FloatArray, IntArray

ColumnArrays: TypeAlias = Mapping[str, FloatArray | IntArray]


class Counted(NamedTuple):
    """The records that meet a formula and in which the attribute that is summed is present, and their sum."""

    records: int
    total: float


class Engine(Protocol):
    """Where the data lie. It gets formulas in canonical form, never a text that somebody typed."""

    def counted(self, where: Formula, value: str | None) -> Counted:
        """How many records meet the formula, and the sum of the attribute over them."""

    def members(self, where: Formula, value: str | None) -> IntArray:
        """The numbers of these records from 0, ascending."""

    def close(self) -> None:
        """Forget the data."""
