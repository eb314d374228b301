"""What a model of the records sees of them, and what it draws: columns of numbers, and whose cell each record takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from microveil.errors import DataError, SchemaError
from microveil.microdata import Microdata
from microveil.typing import BoolArray, FloatArray, IntArray

UNSET_GIVEN = "unset: all that are not masked, save identifiers and households"
_MOST_DECIMALS = 6


@dataclass(frozen=True)
class Column:
    """An attribute of the original: `values` are numbers or positions in the domain, NaN where `states` says missing.

    Where `missing_stays`, a missing cell belongs to its record and is not drawn anew.
    """

    name: str
    kind: str
    values: FloatArray
    states: npt.NDArray[np.uint8]
    missing_stays: bool

    @classmethod
    def of(cls, data: Microdata, name: str) -> Column:
        attribute = data[name]
        states = data.missing_states(name)
        if attribute.kind == "numeric":
            values = data.numbers(name).values
        else:
            values = np.where(states > 0, np.nan, data.categories(name).codes)
        return cls(name, attribute.kind, values, states, attribute.missing == "not applicable")

    @property
    def ordered(self) -> bool:
        return self.kind in ("numeric", "ordinal")

    @property
    def present(self) -> BoolArray:
        return np.asarray(self.states == 0)

    @property
    def codes(self) -> IntArray:
        """Positions in the domain, and a negative number for each way of being missing."""
        return np.where(self.present, np.nan_to_num(self.values), -self.states.astype(np.int64)).astype(np.int64)


def columns_given(data: Microdata, attributes: Sequence[str], given: Sequence[str] | None, method: str) -> list[Column]:
    """The columns that stay with their records while these attributes are drawn given them: those named, or all."""
    if given is None:
        numbers = (name for role in ("identifier", "household", "node") for name in data.schema.having(role))
        left_out = {*attributes, *numbers}
        return [Column.of(data, name) for name in data.names if name not in left_out]
    for name in given:
        if name in attributes:
            raise DataError(f"{method}: given names '{name}', which is to be masked itself")
        if "identifier" in data[name].roles:
            raise SchemaError(f"{method}: given names '{name}', which is an identifier and not released")
    return [Column.of(data, name) for name in dict.fromkeys(given)]


@dataclass(frozen=True)
class Drawn:
    """A synthetic column: the record whose cell each one takes, and for numbers drawn anew their values."""

    donors: IntArray
    values: FloatArray | None = None

    def numbers(self, column: Column) -> FloatArray:
        """The synthetic numbers or positions, NaN where missing."""
        missing = column.states[self.donors] > 0
        return np.where(missing, np.nan, column.values[self.donors] if self.values is None else self.values)

    def published(self, data: Microdata, name: str) -> pa.Array:
        """The synthetic column as it is released; whole numbers stay whole."""
        cells = data.reordered_column(name, self.donors)
        if self.values is None:
            return cells
        released = data.with_columns({name: cells}).number_column(name, self.values)
        whole = pa.types.is_integer(cells.type) and (np.rint(self.values) == self.values)[~np.isnan(self.values)].all()
        return released.cast(cells.type) if whole else released


class Smoothing:
    """Moves values that are drawn at random within half the gap to their neighbours in the group they come from.

    A value that `common` records have or more is kept: it tells nothing of any one of them, and amounts that heap, say
    at 0, still do. Values keep the number of decimals and stay in the span of the column.
    """

    def __init__(self, column: Column, common: int) -> None:
        _, position, counts = np.unique(column.values, return_inverse=True, return_counts=True)
        self.values = column.values
        self.kept = counts[position.reshape(-1)] >= common
        present = column.values[column.present]
        self.low, self.high = float(present.min(initial=np.inf)), float(present.max(initial=-np.inf))
        self.decimals = _decimals(present)

    def __call__(
        self, rows: IntArray, positions: IntArray, start: IntArray, end: IntArray, rng: np.random.Generator
    ) -> FloatArray:
        """New values for `rows[positions]`, where rows[start:end] are the group of each in ascending order."""
        drawn = self.values[rows[positions]]
        below = drawn - self.values[rows[np.maximum(positions - 1, start)]]
        above = self.values[rows[np.minimum(positions + 1, end - 1)]] - drawn
        # the first and last of a group have a neighbour on one side, and go as far to the other
        below, above = np.where(positions == start, above, below), np.where(positions == end - 1, below, above)
        shift = rng.uniform(-0.5, 0.5, len(positions))
        moved = drawn + shift * np.where(shift < 0, below, above)
        moved = np.where(moved > self.high, 2 * self.high - moved, moved)
        moved = np.clip(np.where(moved < self.low, 2 * self.low - moved, moved), self.low, self.high)
        if self.decimals is not None:
            moved = np.round(moved, self.decimals)
        return np.where(self.kept[rows[positions]], drawn, moved)


def _decimals(values: FloatArray) -> int | None:
    """How many decimals the values have; None where they have many."""
    return next((d for d in range(_MOST_DECIMALS + 1) if (np.round(values, d) == values).all()), None)
