"""Linkage by likelihood: for each released record the person from whose values it has most probably been made.

Each term is about some attributes and adds log(p(y | x) / p(y)) to the sums of pairs, for a released y and a known x;
where either is missing nothing is added, for then nothing is learnt. What masking decides without drawing is no term:
persons are told apart by the `code` that they must be released with, and each record is compared only with those who
have its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.core.ordering import find_pairs, positions_in
from microveil.numerics.linkage.pair_sums import add_from_table
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

_AT_ONCE = 1 << 20  # sums in a chunk
_BEYOND = 1e-4  # the likelihood of what was never seen, where nothing is impossible
_NOTHING = 45.0  # a sum that is lower by so much adds nothing to a posterior
_ROUNDING = 1e-9  # sums that differ by less, relative to their size, are equal


class Term(Protocol):
    """What some attributes tell of a pair; records and persons are the distinct ones."""

    @property
    def effort(self) -> int:
        """How long a pair takes, in terms of a table."""

    def add(self, sums: FloatArray, records: IntArray, persons: IntArray) -> None:
        """Add its part to the sums of these records (rows) and persons (columns)."""


@dataclass(frozen=True)
class TableTerm:
    """What each released category tells of each known one; -1 is missing."""

    logs: FloatArray
    released: IntArray
    known: IntArray

    @classmethod
    def of(cls, matrix: FloatArray, frequencies: FloatArray, released: IntArray, known: IntArray) -> TableTerm:
        """From the probability of each released category (columns) given each known one (rows), whose frequencies these
        are.

        >>> term = TableTerm.of(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([1.0, 1.0]), np.arange(2), np.arange(2))
        >>> np.exp(term.logs[:2, :2]).round(3).tolist()
        [[1.286, 0.714], [0.333, 1.667]]
        """
        published = frequencies @ matrix / max(float(frequencies.sum()), 1e-300)
        logs = np.zeros((matrix.shape[1] + 1, matrix.shape[0] + 1))
        with np.errstate(divide="ignore"):
            logs[:-1, :-1] = np.log(matrix).T - np.log(np.maximum(published, 1e-300))[:, None]
        return cls(logs, released, known)

    def add(self, sums: FloatArray, records: IntArray, persons: IntArray) -> None:
        add_from_table(sums, self.logs, self.released[records], self.known[persons])

    @property
    def effort(self) -> int:
        return 1


@dataclass(frozen=True)
class BonusTerm:
    """A released code speaks for the persons who have it too, by so much for each record; -1 is missing."""

    bonus: FloatArray
    released: IntArray
    known: IntArray

    def add(self, sums: FloatArray, records: IntArray, persons: IntArray) -> None:
        _add_bonus(sums, self.bonus[records], self.released[records], self.known[persons])

    @property
    def effort(self) -> int:
        return 1


@kernel
def _add_bonus(sums: FloatArray, bonus: FloatArray, released: IntArray, known: IntArray) -> None:
    for row in range(sums.shape[0]):
        code = released[row]
        if code >= 0:
            for column in range(sums.shape[1]):
                if known[column] == code:
                    sums[row, column] += bonus[row]


@dataclass(frozen=True)
class ShiftTerm:
    """Values that moved in rank. Known and released values have the ranks from `low` to before `high`; none: missing.

    `logs` are what shifts from -w to w tell where no values are equal, and `beyond` what any farther one does; `twice`
    are the sums of the sums of their probabilities.
    """

    logs: FloatArray
    beyond: float
    twice: FloatArray
    values: int
    released: tuple[IntArray, IntArray]
    known: tuple[IntArray, IntArray]

    @classmethod
    def of(
        cls,
        probabilities: FloatArray,
        bounded: bool,
        values: int,
        released: tuple[IntArray, IntArray],
        known: tuple[IntArray, IntArray],
    ) -> ShiftTerm:
        least = 0.0 if bounded else _BEYOND
        with np.errstate(divide="ignore"):
            logs = np.log((1.0 - least) * probabilities * values + least)
        beyond = -np.inf if bounded else float(np.log(least))
        return cls(logs, beyond, np.cumsum(np.cumsum(probabilities)), values, released, known)

    @property
    def effort(self) -> int:
        return 2

    def add(self, sums: FloatArray, records: IntArray, persons: IntArray) -> None:
        released, known = (ranks[records] for ranks in self.released), (ranks[persons] for ranks in self.known)
        _add_shifts(sums, self.logs, self.beyond, self.twice, self.values, *released, *known)


@kernel
def _twice_up_to(twice: FloatArray, shift: int) -> float:
    """The sum over u <= shift of the probability of a shift of at most u."""
    size = len(twice)
    at = shift + size // 2
    if at < 0:
        return 0.0
    return float(twice[at]) if at < size else float(twice[size - 1]) + (at - size + 1)


@kernel
def _add_shifts(
    sums: FloatArray,
    logs: FloatArray,
    beyond: float,
    twice: FloatArray,
    values: int,
    released_low: IntArray,
    released_high: IntArray,
    known_low: IntArray,
    known_high: IntArray,
) -> None:
    """Over all ranks r of the known value and s of the released one, the mean of the sums of P(s - r)."""
    reach = len(twice) // 2
    least = np.exp(beyond)
    for row in range(sums.shape[0]):
        c, d = released_low[row], released_high[row]
        if d <= c:
            continue
        for column in range(sums.shape[1]):
            a, b = known_low[column], known_high[column]
            if b <= a:
                continue
            if c - (b - 1) > reach or a - (d - 1) > reach:
                sums[row, column] += beyond
            elif b - a == 1 and d - c == 1:
                sums[row, column] += logs[c - a + reach]
            else:
                upper = _twice_up_to(twice, d - 1 - a) - _twice_up_to(twice, d - 1 - b)
                lower = _twice_up_to(twice, c - 1 - a) - _twice_up_to(twice, c - 1 - b)
                found = max((upper - lower) / (b - a), 1e-12)
                sums[row, column] += np.log((1.0 - least) * found * values / (d - c) + least)


@dataclass(frozen=True)
class NormalTerm:
    """Numbers around the centre of each person, with a scale of each person's own and common correlations.

    `precision` is the inverse of the correlations. With `freedom` the tails are those of a t distribution; 0 stands for
    a normal one. `base` is log p(y) of every record and attribute, which is needed where centres are missing only.
    """

    released: FloatArray
    centre: FloatArray
    scale: FloatArray
    precision: FloatArray
    freedom: float
    base: FloatArray

    def add(self, sums: FloatArray, records: IntArray, persons: IntArray) -> None:
        rows = self.released[records], self.centre[persons], self.scale[persons]
        if np.isnan(self.released).any() or np.isnan(self.centre).any():
            _add_separate_normals(sums, *rows, self.freedom, self.base[records])
        elif (self.scale == self.scale[:1]).all():
            # one scale for all: the same distances as between points without correlations
            turned = np.linalg.cholesky(self.precision) / self.scale[0][:, None]
            middle = self.centre.mean(axis=0)
            _add_distances(sums, (rows[0] - middle) @ turned, (rows[1] - middle) @ turned, self.freedom)
        else:
            _add_normals(sums, *rows, self.precision, self.freedom)

    @property
    def effort(self) -> int:
        return int(self.released.shape[1])

    @classmethod
    def of(
        cls, released: FloatArray, centre: FloatArray, scale: FloatArray, correlation: FloatArray, freedom: float
    ) -> NormalTerm:
        base = np.zeros(released.shape)
        if np.isnan(centre).any():
            for j in range(released.shape[1]):
                told = np.flatnonzero(~np.isnan(centre[:, j]))
                base[:, j] = _mean_density(released[:, j], centre[told, j], scale[told, j], freedom)
        return cls(released, centre, scale, np.asarray(np.linalg.inv(correlation), dtype=np.float64), freedom, base)


@kernel
def _log_density(square: float, dimensions: int, freedom: float) -> float:
    if freedom > 0.0:
        return float(-0.5 * (freedom + dimensions) * np.log1p(square / freedom))
    return -0.5 * square


@kernel
def _add_normals(
    sums: FloatArray,
    released: FloatArray,
    centre: FloatArray,
    scale: FloatArray,
    precision: FloatArray,
    freedom: float,
) -> None:
    size = centre.shape[1]
    apart = np.empty(size)
    narrow, steep = -np.log(scale).sum(axis=1), 1.0 / scale
    for row in range(sums.shape[0]):
        for column in range(sums.shape[1]):
            square = 0.0
            for j in range(size):
                apart[j] = (released[row, j] - centre[column, j]) * steep[column, j]
                along = precision[j, j] * apart[j]
                for k in range(j):
                    along += 2.0 * precision[j, k] * apart[k]
                square += along * apart[j]
            sums[row, column] += narrow[column] + _log_density(max(square, 0.0), size, freedom)


@kernel
def _add_distances(sums: FloatArray, released: FloatArray, centre: FloatArray, freedom: float) -> None:
    size = centre.shape[1]
    for row in range(sums.shape[0]):
        for column in range(sums.shape[1]):
            square = 0.0
            for j in range(size):
                apart = released[row, j] - centre[column, j]
                square += apart * apart
            sums[row, column] += _log_density(square, size, freedom)


@kernel
def _add_separate_normals(
    sums: FloatArray,
    released: FloatArray,
    centre: FloatArray,
    scale: FloatArray,
    freedom: float,
    base: FloatArray,
) -> None:
    """Without correlations, so that a missing cell can be left out."""
    for row in range(sums.shape[0]):
        for j in range(centre.shape[1]):
            value = released[row, j]
            if np.isnan(value):
                continue
            for column in range(sums.shape[1]):
                if not np.isnan(centre[column, j]):
                    apart = (value - centre[column, j]) / scale[column, j]
                    sums[row, column] += (
                        _log_density(apart * apart, 1, freedom) - np.log(scale[column, j]) - base[row, j]
                    )


@kernel
def _mean_density(released: FloatArray, centre: FloatArray, scale: FloatArray, freedom: float) -> FloatArray:
    """For each released number the log of its mean density over all persons."""
    found = np.zeros(len(released))
    for row in range(len(released)):
        if np.isnan(released[row]) or len(centre) == 0:
            continue
        total = 0.0
        for column in range(len(centre)):
            apart = (released[row] - centre[column]) / scale[column]
            total += np.exp(_log_density(apart * apart, 1, freedom)) / scale[column]
        found[row] = np.log(max(total / len(centre), 1e-300))
    return found


@dataclass(frozen=True)
class Candidates:
    """Persons as they can have been released: `person` numbers of distinct ones, by the `code` that they then have.

    Sorted by code, then person. `log_share` is the log of the share of the persons alike who have that code.
    """

    code: IntArray
    person: IntArray
    log_share: FloatArray

    @classmethod
    def of(cls, code: IntArray, person: IntArray) -> Candidates:
        """From the code and the number of each person.

        >>> made = Candidates.of(np.array([0, 0, 1]), np.array([5, 3, 3]))
        >>> made.person.tolist(), np.exp(made.log_share).round(2).tolist()
        ([3, 5, 3], [0.5, 1.0, 0.5])
        """
        width = int(person.max(initial=0)) + 1
        keys, counts = np.unique(code * width + person, return_counts=True)
        alike = np.bincount(person, minlength=width)
        return cls(keys // width, keys % width, np.log(counts / alike[keys % width]))

    def index_of(self, code: IntArray, person: IntArray) -> IntArray:
        """Where persons stand who are released with these codes; -1 if they cannot be."""
        return find_pairs((self.code, self.person), (code, person))


@dataclass(frozen=True)
class Found:
    """For each record attacked: how many persons are likeliest, whether the own one is among them, the posterior of one
    of the likeliest, how many persons are possible at all, and whether the own one is."""

    ties: IntArray
    own: BoolArray
    posterior: FloatArray
    possible: IntArray
    own_possible: BoolArray


@dataclass(frozen=True)
class Scores:
    """The sums of all terms for distinct records and persons. `code` is that of each distinct record, and `persons` how
    many there are of each distinct one."""

    terms: Sequence[Term]
    candidates: Candidates
    code: IntArray
    persons: IntArray

    def likeliest(self, record: IntArray, own: IntArray, progress: Progress, label: str) -> Found:
        """For each record attacked, by the numbers of its distinct record and of its own distinct person."""
        order = np.lexsort((record, self.code[record]))
        bounds = self._chunks(self.code[record[order]])
        made = over_chunks(
            lambda start, _: self._likeliest(record[order[slice(*bounds[start])]], own[order[slice(*bounds[start])]]),
            len(bounds),
            1,
            progress,
            label,
        )
        parts = [np.concatenate(part) for part in zip(*made, strict=True)]
        positions = positions_in(order)
        return Found(*(part[positions] for part in parts))

    def _chunks(self, codes: IntArray) -> list[tuple[int, int]]:
        """Stretches of records in the order of their codes, so that few pairs are compared at once."""
        bounds, start = [], 0
        while start < len(codes):
            first, last = self._range(codes[start], codes[start])
            size = max(1, _AT_ONCE // max(1, last - first))
            end = min(len(codes), start + size)
            while end > start + 1:
                first, last = self._range(codes[start], codes[end - 1])
                if (end - start) * (last - first) <= 2 * _AT_ONCE:
                    break
                end = start + max(1, (end - start) // 2)
            bounds.append((start, end))
            start = end
        return bounds

    def _range(self, low: int, high: int) -> tuple[int, int]:
        at = self.candidates.code
        return int(np.searchsorted(at, low, "left")), int(np.searchsorted(at, high, "right"))

    def _likeliest(
        self, record: IntArray, own: IntArray
    ) -> tuple[IntArray, BoolArray, FloatArray, IntArray, BoolArray]:
        distinct, row_of = np.unique(record, return_inverse=True)
        first, last = self._range(self.code[distinct].min(), self.code[distinct].max())
        sums = self._sums(distinct, first, last)
        persons = self.candidates.person[first:last]
        ties, best, posterior, possible = _summary(sums, self.persons[persons], _ROUNDING)
        index = self.candidates.index_of(self.code[record], own)
        reached = np.full(len(record), -np.inf)
        inside = index >= 0
        reached[inside] = sums[row_of[inside], index[inside] - first]
        tied = np.isfinite(reached) & (reached >= best[row_of])
        return ties[row_of], tied, posterior[row_of], possible[row_of], np.isfinite(reached)

    def _sums(self, records: IntArray, first: int, last: int) -> FloatArray:
        """The sums of some distinct records and the candidates of this range; minus infinity if the codes differ."""
        sums = np.empty((len(records), last - first))
        _start(sums, self.code[records], self.candidates.code[first:last], self.candidates.log_share[first:last])
        for term in self.terms:
            term.add(sums, records, self.candidates.person[first:last])
        return sums

    def costs(self, progress: Progress, label: str) -> FloatArray:
        """For all distinct persons (rows) and records (columns) by how much another is likelier; infinite if they
        cannot belong together."""
        costs = np.full((len(self.persons), len(self.code)), np.inf)
        records = np.arange(len(self.code))

        def fill(start: int, end: int) -> None:
            first, last = self._range(self.code[start:end].min(), self.code[start:end].max())
            sums = self._sums(records[start:end], first, last)
            best = sums.max(axis=1, initial=-np.inf)
            sums = np.where(np.isfinite(best), best, 0.0)[:, None] - sums
            at = self.candidates.person[first:last]
            for row in range(end - start):
                np.minimum.at(costs[:, start + row], at, sums[row])

        over_chunks(fill, len(records), max(1, _AT_ONCE // max(1, len(self.candidates.code))), progress, label)
        return costs


@kernel
def _start(sums: FloatArray, code: IntArray, candidate_code: IntArray, log_share: FloatArray) -> None:
    for row in range(sums.shape[0]):
        for column in range(sums.shape[1]):
            sums[row, column] = log_share[column] if candidate_code[column] == code[row] else -np.inf


@kernel
def _summary(sums: FloatArray, persons: IntArray, rounding: float) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """For each row: how many persons have the greatest sum, from which sum on they count as having it, the posterior of
    one of them, and how many are possible."""
    rows = sums.shape[0]
    ties, possible = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    best, posterior = np.full(rows, np.inf), np.zeros(rows)
    for row in range(rows):
        greatest = -np.inf
        for column in range(sums.shape[1]):
            greatest = max(greatest, sums[row, column])
        if greatest == -np.inf:
            continue
        best[row] = greatest - rounding * max(1.0, abs(greatest))
        total = 0.0
        for column in range(sums.shape[1]):
            value = sums[row, column]
            if value > -np.inf:
                possible[row] += persons[column]
                if value > greatest - _NOTHING:
                    total += persons[column] * np.exp(value - greatest)
                if value >= best[row]:
                    ties[row] += persons[column]
        posterior[row] = 1.0 / total
    return ties, best, posterior, possible
