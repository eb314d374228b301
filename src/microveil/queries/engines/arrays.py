"""The plain engine: arrays in this process. It is the reference for others, and needs no further package."""

from __future__ import annotations

import math

import numpy as np

from microveil.queries.conditions import Formula
from microveil.queries.engines import ColumnArrays, Counted
from microveil.typing import IntArray


class ArrayEngine:
    """Numbers with NaN where they are missing, and places of categories with -1 there."""

    def __init__(self, columns: ColumnArrays, records: int) -> None:
        self.columns, self.records = dict(columns), records

    def counted(self, where: Formula, value: str | None) -> Counted:
        members = self.members(where, value)
        if value is None or self.columns[value].dtype.kind != "f":
            return Counted(len(members), 0.0)
        return Counted(len(members), math.fsum(self.columns[value][members]))

    def members(self, where: Formula, value: str | None) -> IntArray:
        held = where.holds(self.columns.__getitem__, self.records)
        if value is not None:
            column = self.columns[value]
            held = held & (~np.isnan(column) if column.dtype.kind == "f" else column >= 0)
        return np.flatnonzero(held)

    def close(self) -> None:
        self.columns = {}
