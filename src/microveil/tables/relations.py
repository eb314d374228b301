"""Exact relations among suppressed cells: what is determined, and which two cells determine each other.

Random solutions of the equations among the suppressed cells tell it: a cell that is zero in all of them is determined,
and of two cells whose values in all of them have the same ratio, one determines the other. All is modulo a prime, so
ratios are compared exactly; that cells agree by accident has a chance below one in 2^60.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from microveil.randomness import PublicStreams
from microveil.tables.problem import Problem
from microveil.typing import BoolArray, IntArray

_VECTORS, _MOST_VECTORS = 4, 64  # one more than what a contributor has of its own, at least
_LARGEST_FACTOR = 12  # of relations in words; larger ones are told without a factor


@dataclass(frozen=True)
class Relation:
    """`factor` times the deviation of `one` is `other_factor` times the deviation of `other`, always."""

    one: int
    other: int
    factor: int
    other_factor: int


@dataclass(frozen=True)
class Solutions:
    """Random solutions: a row for each suppressed column, a column for each solution."""

    columns: IntArray
    values: IntArray

    @classmethod
    def of(cls, problem: Problem, suppressed: BoolArray) -> Solutions:
        from microveil.numerics.linear.modular_elimination import PRIME, eliminated, kernel_vectors

        columns = np.flatnonzero(suppressed).astype(np.int64)
        own = problem.insider[columns]
        vectors = min(_VECTORS + int(np.bincount(own[own >= 0]).max(initial=0)), _MOST_VECTORS)
        randoms = PublicStreams(0).generator("relations").integers(1, PRIME, size=(len(columns), vectors))
        among = sp.csr_array(problem.by_column[:, columns])
        among = sp.csr_array(among[np.flatnonzero(np.diff(among.indptr) > 0)])
        among.sort_indices()
        nobody = np.zeros(len(columns), dtype=bool)
        _, pivot, starts, where, values = eliminated(
            among.indptr.astype(np.int64), among.indices.astype(np.int64), among.data.astype(np.int64),
            len(columns), nobody, nobody,
        )  # fmt: skip
        return cls(columns, kernel_vectors(pivot, starts, where, values, randoms))

    @property
    def determined(self) -> IntArray:
        """The columns that the published cells determine."""
        return np.asarray(self.columns[~self.values.any(axis=1)])

    def classes(self) -> list[IntArray]:
        """Columns that determine each other, as classes of at least two; positions in `columns`."""
        from microveil.numerics.linear.modular_elimination import PRIME

        moving = np.flatnonzero(self.values[:, 0])
        leading = np.array([pow(int(v), -1, PRIME) for v in self.values[moving, 0]], dtype=np.int64)
        ratios = self.values[moving] * leading[:, None] % PRIME
        _, label = np.unique(ratios, axis=0, return_inverse=True)
        order = np.argsort(label.ravel(), kind="stable")
        groups = np.split(moving[order], np.flatnonzero(np.diff(label.ravel()[order])) + 1)
        return [group for group in groups if len(group) > 1]

    def found_out(self, problem: Problem) -> Iterator[tuple[int, int]]:
        """A contributor (by its number) and a primary column of somebody else that its own value gives away."""
        from microveil.numerics.linear.modular_elimination import without_known

        insider = problem.insider[self.columns]
        own: dict[int, list[int]] = {}
        for cell in np.flatnonzero((insider >= 0) & self.values.any(axis=1)).tolist():
            own.setdefault(int(insider[cell]), []).append(cell)
        alone = {who: places[0] for who, places in own.items() if _is_one(self.values[places])}
        by_class = {place: group for group in self.classes() for place in group.tolist()}
        for who, place in alone.items():
            for other in by_class.get(place, np.zeros(0, dtype=np.int64)).tolist():
                if problem.primary[self.columns[other]] and insider[other] != who:
                    yield who, int(self.columns[other])
        for who in sorted(own.keys() - alone.keys()):
            rest = without_known(self.values, np.array(own[who], dtype=np.int64))
            given_away = ~rest.any(axis=1) & self.values.any(axis=1) & (insider != who)
            for column in self.columns[given_away & problem.primary[self.columns]].tolist():
                yield who, column

    def relations(self, among: BoolArray, most: int = 1000) -> list[Relation]:
        """Pairs of these columns of which one determines the other."""
        found: list[Relation] = []
        for group in self.classes():
            named = [int(place) for place in group if among[self.columns[place]]]
            for i, one in enumerate(named):
                for other in named[i + 1 :]:
                    if len(found) == most:
                        return found
                    found.append(self._relation(one, other))
        return found

    def _relation(self, one: int, other: int) -> Relation:
        from microveil.numerics.linear.modular_elimination import PRIME

        first, second = int(self.values[one, 0]), int(self.values[other, 0])
        columns = int(self.columns[one]), int(self.columns[other])
        for factor in range(1, _LARGEST_FACTOR + 1):
            for other_factor in range(-_LARGEST_FACTOR, _LARGEST_FACTOR + 1):
                if other_factor and (factor * first - other_factor * second) % PRIME == 0:
                    return Relation(*columns, factor, other_factor)
        return Relation(*columns, 0, 0)


def _is_one(values: IntArray) -> bool:
    """Whether each of these columns determines all others of them, or nothing moves at all."""
    from microveil.numerics.linear.modular_elimination import without_known

    moving = np.flatnonzero(values.any(axis=1))[:1].astype(np.int64)
    return not without_known(values, moving).any()
