"""OMMA: the object migrating micro-aggregated automaton."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.microaggregation.classification import Traits
from microveil.masking.partition import Partition
from microveil.microdata.schema import KINDS
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.plugins import loaded
from microveil.progress import Part, Progress
from microveil.typing import FloatArray, IntArray

_ALL_PAIRS_UP_TO = 5_000
_NEIGHBOURS_BEYOND = 100


@parameterised
class OMMA(Microaggregation):
    """An automaton goes through pairs of similar records; records at the boundary of their group change places with
    others as long as that lowers the loss.

    It begins with the partition of another method, or a random one as its source does, and never makes it worse. The
    pairs are those within a share of the range of all distances, or, in files of more than 5,000 records, each
    record's nearest neighbours. Where the number of records is no multiple of k, the few records nearest to the
    centre are set aside and join the groups they suit best at the end. Every group has k to 2k-1 records.

    Categories take part too. Two different nominal categories are at distance 1, ordered ones as far apart as their
    positions; a group publishes the most frequent category or, of ordered ones, the median.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 43, 22, 41, 61, 65]})
    >>> OMMA(k=2, start="random").mask(people, seed=1).frame["age"].to_pylist()
    [21.0, 42.0, 21.0, 42.0, 63.0, 63.0]
    >>> jobs = Microdata.of({"job": ["cook", "nurse", "cook", "nurse", "nurse", "cook"]})
    >>> OMMA(k=3, start="random").mask(jobs, seed=1).frame["job"].to_pylist()
    ['cook', 'nurse', 'cook', 'nurse', 'nurse', 'cook']
    """

    name: ClassVar[str] = "omma"
    summary: ClassVar[str] = "a learning automaton exchanges records between groups until the loss falls no more"
    traits: ClassVar[Traits] = Traits("multivariate", "fixed", "heuristic")
    source: ClassVar[str] = "Fayyoumi and Oommen (2006a); Fayyoumi (2008), section 4.3, Algorithms 6 to 10"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    random: ClassVar[bool] = True

    start: Literal["mdav", "cbfs", "iamat", "md", "mst", "k-ward", "random"] = parameter(
        default="mdav", help="the partition to begin with: that of another method, or a random one"
    )
    threshold: float = parameter(
        default=0.5,
        help="pairs of records count as similar if their distance is at most this share of the range of all distances",
        gt=0,
        le=1,
    )
    neighbours: int | None = parameter(
        default=None,
        help="pair each record with this number of nearest records instead; unset: 100 in files of more than 5,000 "
        "records",
        ge=1,
        le=MOST_RECORDS,
    )
    order: Literal["shuffled", "rows", "columns", "nearest", "farthest"] = parameter(
        default="shuffled",
        help="order in which the pairs are visited: shuffled, by records (rows, columns), or by distance",
    )
    depth: int = parameter(
        default=5,
        help="number of states of the automaton for each group, from the boundary to the most certain",
        ge=1,
        le=10_000,
    )
    patience: int = parameter(
        default=1, help="stop after this number of cycles in a row without a change", ge=1, le=1_000_000
    )
    max_cycles: int = parameter(default=100, help="largest number of cycles", ge=1, le=1_000_000)

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.learning_automata import in_order, put_back, record_migration, set_aside

        n = len(columns)
        labels = np.zeros(n, dtype=np.int64)
        if n >= 2 * self.k:
            aside = set_aside(columns, n % self.k)
            kept = np.setdiff1d(np.arange(n), aside)
            matrix = np.ascontiguousarray(columns[kept])
            at_kept = replace(records, rows=records.rows[kept])
            start = self._starting_groups(matrix, at_kept, rng, Part(progress, 0.0, 0.2))
            migration = record_migration(
                matrix,
                Partition.of(start).labels,
                in_order(self._similar_pairs(matrix), matrix, self.order, rng),
                depth=self.depth,
                patience=self.patience,
                max_cycles=self.max_cycles,
                progress=Part(progress, 0.2, 1.0),
                label="omma: exchanging records",
            )
            labels[kept], labels[aside] = migration.labels, -1
            labels = put_back(columns, labels, aside, largest=2 * self.k - 1)
        progress(1.0, "omma: exchanging records")
        return labels

    def _starting_groups(
        self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress
    ) -> IntArray:
        if self.start == "random":
            return np.asarray(rng.permutation(np.arange(len(columns)) // self.k), dtype=np.int64)
        if self.start == "k-ward" and any(records.data[name].kind != "numeric" for name in records.attributes):
            raise ParameterError("omma: start = 'k-ward' is not allowed with categories, which it cannot put in order")
        method = loaded("method", self.start)(k=self.k)
        return np.asarray(method._groups(columns, records, rng, progress))

    def _similar_pairs(self, columns: FloatArray) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
        from microveil.numerics.grouping.learning_automata import neighbour_pairs, pairs_within

        if self.neighbours is None and len(columns) <= _ALL_PAIRS_UP_TO:
            return pairs_within(columns, self.threshold)
        return neighbour_pairs(columns, self.neighbours or _NEIGHBOURS_BEYOND)
