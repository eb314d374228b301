"""How few cells any local suppression must empty: lower bounds on its cost.

Where a suppressed cell is a category of its own, and where records are counted in the original, every record has to
lose cells until enough others agree with what it still shows; what that costs each of them at least adds up.

Where a suppressed cell agrees with every value a record can also be saved by cells that others lose. A record that
loses none needs as many others as it lacks that lose all cells in which they differ from it. Fractions of such
suppressions that cost least are a linear programme (a covering problem); any weights of the records in need under
which no suppression is worth more than it costs add up to a bound (duality). The weights of the programme over some
suppressions are lowered until all are satisfied.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from microveil.numerics.counting.equivalence_classes import agreeing_sums
from microveil.numerics.counting.nested_local_suppression import Keys
from microveil.typing import BoolArray, FloatArray, IntArray

_MOST_COLUMNS = 10  # every set of columns is looked at
_MOST_PAIRS = 100_000  # of rows in need and all rows
_MOST_AGREEMENTS = 50_000  # rows times sets of columns, for which agreement is counted
_ROUNDS = 8
_ROUNDING = 1e-9
_NEVER = -1  # in place of the columns in which two rows differ: suppression does not make them agree


def least_cost(keys: Keys, k: float) -> float | None:
    """What suppression costs at least so that k records agree with every one; none where that would take too long.

    Each record must count one, or as many as it stands for.
    """
    single = slice(None) if keys.several is None else ~keys.several
    if (keys.masses[single, 0] != 1.0).any() or len(keys.own) > _MOST_COLUMNS:
        return None
    everywhere = np.ones(len(keys.own), dtype=np.bool_)
    if keys.alone or keys.own.all():
        return _each_by_itself(keys, everywhere, k)
    bounds = [_covering(keys, k), _each_by_itself(keys, keys.own, k) if keys.own.any() else None]
    return max((bound for bound in bounds if bound is not None), default=None)


def _masks(columns: int) -> BoolArray:
    """Every set of columns, as a row; that of number m has the columns of the bits of m."""
    return np.asarray((np.arange(1 << columns)[:, None] >> np.arange(columns)) & 1, dtype=np.bool_)


def _each_by_itself(keys: Keys, counted: BoolArray, k: float) -> float | None:
    """The least that each record loses so that enough others have what it still shows, in the columns that count."""
    codes, costs = keys.codes[:, counted], keys.costs[counted]
    if len(codes) << codes.shape[1] > _MOST_AGREEMENTS:
        return None
    free = (codes == keys.empty[counted]) & keys.own[counted] | (codes < 0)
    sizes = keys.sizes
    least = np.full(len(codes), np.inf)
    for emptied in _masks(codes.shape[1]):
        shown = np.where(emptied | free, -1, codes)
        price = (~free & emptied) @ costs
        for row in np.flatnonzero(price < least):
            kept = shown[row] >= 0
            alike = ((codes[:, kept] == shown[row, kept]) | (codes[:, kept] < 0)).all(axis=1)
            if sizes[alike].sum() >= k * (1.0 - _ROUNDING):
                least[row] = price[row]
    return float((least * sizes).sum())


def _covering(keys: Keys, k: float) -> float | None:
    codes, sizes = keys.codes, keys.sizes
    if len(codes) << codes.shape[1] > _MOST_PAIRS:
        return None
    lacks = k - agreeing_sums(codes, sizes[:, None])[:, 0]
    needy = np.flatnonzero(lacks > _ROUNDING * k)
    if len(needy) == 0:
        return 0.0
    if len(needy) * len(codes) > _MOST_PAIRS:
        return None
    programme = _Programme(codes, sizes, keys.costs, keys.own, needy, lacks[needy])
    weights = programme.weights()
    return float((weights * lacks[needy]).sum()) * (1.0 - _ROUNDING)


class _Programme:
    """Suppressions of one record of each row, and what they are worth to the rows in need.

    One that loses cells serves its own row in need by what the row lacks over its records, so that all of them have
    been served when each has lost a cell, and by one every other row in need that it then agrees with. Where an empty
    cell is a category of its own, none comes to agree with a row that keeps its cells.
    """

    def __init__(
        self, codes: IntArray, sizes: FloatArray, costs: FloatArray, own: BoolArray, needy: IntArray, lacks: FloatArray
    ) -> None:
        self.rows, self.columns, self.needy, self.lacks = len(codes), codes.shape[1], needy, lacks
        self.masks = _masks(self.columns)
        self.price = self.masks @ costs
        self.own = lacks / sizes[needy]
        bits = 1 << np.arange(self.columns)
        self.differences = np.empty((len(needy), self.rows), dtype=np.int64)
        for position, row in enumerate(needy):
            differ = (codes != codes[row]) & (codes >= 0) & (codes[row] >= 0)
            self.differences[position] = np.where((differ & own).any(axis=1), _NEVER, differ @ bits)
        self.position = np.full(self.rows, -1, dtype=np.int64)
        self.position[needy] = np.arange(len(needy))

    def weights(self) -> FloatArray:
        """Weights of the rows in need under which no suppression is worth more than it costs."""
        found = np.zeros(len(self.needy))
        best = found
        tried = {(row, 1 << column) for row in self.needy.tolist() for column in range(self.columns)}
        for _ in range(_ROUNDS):
            found = self._dual(sorted(tried))
            worth, mask = self._dearest(found)
            excess = float(worth.max())
            lowered = found / max(1.0, excess)
            best = max((best, lowered), key=lambda made: float((made * self.lacks).sum()))
            if excess <= 1.0 + _ROUNDING:
                break
            tried |= {(int(row), int(mask[row])) for row in np.flatnonzero(worth > 1.0 + _ROUNDING)}
        return best

    def _dual(self, tried: list[tuple[int, int]]) -> FloatArray:
        """The weights that are worth most, each suppression that is tried costing what it is worth or more."""
        entries: list[tuple[int, int, float]] = []
        for number, (row, mask) in enumerate(tried):
            served = np.flatnonzero((self.differences[:, row] & ~mask) == 0)
            entries += [(number, int(at), 1.0) for at in served if self.needy[at] != row and self._is_new(int(at), row)]
            if self.position[row] >= 0:
                entries.append((number, int(self.position[row]), float(self.own[self.position[row]])))
        lines, places, worth = zip(*entries, strict=True)
        matrix = csr_array((worth, (lines, places)), shape=(len(tried), len(self.needy)))
        prices = self.price[[mask for _, mask in tried]]
        found = linprog(-self.lacks, A_ub=matrix, b_ub=prices, bounds=(0, None), method="highs")
        return np.maximum(found.x, 0.0) if found.x is not None else np.zeros(len(self.needy))

    def _is_new(self, at: int, row: int) -> bool:
        """Whether a row in need does not agree with another as they are."""
        return bool(self.differences[at, row] != 0)

    def _dearest(self, weights: FloatArray) -> tuple[FloatArray, IntArray]:
        """For each row the suppression that is worth most for its cost, and how many times its cost that is."""
        worth = np.zeros((self.rows, len(self.masks)))
        for position in range(len(self.needy)):
            able = np.flatnonzero(self.differences[position] != _NEVER)
            worth[able, self.differences[position, able]] += weights[position]
        worth[:, 0] = 0.0  # who agrees already is no help
        for column in range(self.columns):
            has = self.masks[:, column]
            worth[:, has] += worth[:, np.flatnonzero(has) ^ (1 << column)]
        worth[self.needy] += (self.own * weights)[:, None]
        ratio = worth[:, 1:] / self.price[1:]
        mask = np.argmax(ratio, axis=1)
        return ratio[np.arange(self.rows), mask], mask + 1
