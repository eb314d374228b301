"""What all microaggregation shares: the steps in front of a partitioner and behind it.

A method of this family says only how records are grouped (`_groups`). Which attributes are taken together, on what
scale and on which of them distances are taken, in which parts of the file, how missing cells are met, whether the
partition is polished and what a group publishes is the same for all of them, and lives here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method
from microveil.masking.microaggregation.aggregators import Publish, published_columns
from microveil.masking.microaggregation.coordinates import coordinates
from microveil.masking.microaggregation.incomplete import Emptied, blocks_by_pattern, cells_to_empty
from microveil.masking.notes import Note
from microveil.masking.partition import Partition
from microveil.microdata import Microdata
from microveil.microdata.microdata import check_records, count
from microveil.numerics.grouping.chunks import similar_blocks
from microveil.numerics.grouping.sums_of_squares import squares_lost
from microveil.numerics.statistics.scaling import Scale, Scaling
from microveil.parameters import LARGEST_NUMBER, MOST_ATTRIBUTES, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.randomness import Streams
from microveil.typing import BoolArray, FloatArray, IntArray

_MOST_CHOICES = 50  # tied choices of attributes that are tried
_MOST_SUBSETS = 10_000  # all choices of attributes that are tried
__all__ = ["Microaggregation", "Partitioner", "Records", "strata_of"]


@dataclass(frozen=True)
class Records:
    """What a partitioner may know besides the matrix: the table, the attributes, and which records the rows are."""

    data: Microdata
    attributes: tuple[str, ...]
    numbers: IntArray


@dataclass(frozen=True)
class _Published:
    """What a partition of some attributes publishes, which of their cells it may not, and what is to be said."""

    partition: Partition
    suppressed: Mapping[str, BoolArray]
    columns: dict[str, pa.Array]
    notes: tuple[Note, ...]

    def lost(self, data: Microdata) -> float:
        """The squared changes of the numbers in units of their standard deviations."""
        released = data.with_columns(self.columns)
        numeric = [name for name in self.columns if data[name].kind == "numeric"]
        before, after = (table.matrix(numeric) if numeric else np.empty((len(data), 0)) for table in (data, released))
        scaling = Scaling.of(before)
        return squares_lost(scaling.apply(before), scaling.apply(after))


Partitioner = Callable[[FloatArray, Records, np.random.Generator, Progress], IntArray]


@parameterised
class Microaggregation(Method):
    """Group the records on some attributes at once and publish one value for each group and attribute."""

    family: ClassVar[str] = "microaggregation"
    suppresses: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    random: ClassVar[bool] = False
    weights: ClassVar[str] = "not used for grouping; with weighted=true group means are weighted by them"
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; records with the same pattern of missing cells are "
        "grouped together, rare patterns are pooled, and a value is suppressed where fewer than k members of its "
        "group have one. Where missing is not a wildcard, an attribute that is missing for some members of a "
        "pooled group only is suppressed for all of them, missing codes included"
    )

    k: int = parameter(3, help="smallest size of a group", ge=2, le=MOST_RECORDS)
    scale: Scale = parameter("z", help="scale of the distances: z-scores, min-max, or raw values")
    publish: Publish = parameter(
        "mean",
        help="what a group publishes: its mean, median or mode, or records drawn around its mean, with the "
        "covariances of the file (perturb) or of the group (hybrid); categories publish their mode, ordered ones "
        "their median",
    )
    block: int | None = parameter(
        None,
        help="number of attributes that are masked together (a block); unset: all at once",
        ge=1,
        le=MOST_ATTRIBUTES,
    )
    leftover: Literal["own", "merge"] = parameter(
        "own", help="attributes left over after full blocks: a block of their own, or part of the last one"
    )
    arrange: Literal["given", "correlated", "spread"] = parameter(
        "given",
        help="which attributes share a block: consecutive ones (given), correlated ones, or uncorrelated ones, one of "
        "each correlated group (spread)",
    )
    select: Literal["all", "normal", "emim", "emim-corrected", "chi2", "exhaustive"] = parameter(
        "all",
        help="attributes on which distances are computed: all, those on which the others depend most by the measure "
        "named, or the best of all subsets (exhaustive)",
    )
    selected: int = parameter(3, help="number of attributes that select takes", ge=1, le=MOST_ATTRIBUTES)
    width: float | None = parameter(
        None,
        help="width of the intervals that emim and chi2 divide numbers into, in the units of the attribute",
        gt=0,
        le=LARGEST_NUMBER,
    )
    weighted: bool = parameter(False, help="weight the group means by the sampling weight")
    strata: bool = parameter(False, help="group only records of the same stratum")
    chunk: int | None = parameter(
        None,
        help="first divide a longer file into parts of similar records, each with at most this number of records",
        ge=2,
        le=MOST_RECORDS,
    )
    chunk_axes: int = parameter(
        1,
        help="with chunk: number d of attributes at whose medians the file is divided at once, into 2^d parts",
        ge=1,
        le=8,
    )
    polish: int | None = parameter(
        0,
        help="number of exchanges between groups that are tried for each record afterwards, to lower the loss; 0: no "
        "exchanges; set to none: as many as take about 20 seconds",
        ge=0,
        le=10_000_000,
    )

    @property
    def draws(self) -> bool:
        return self.random or self.publish in ("perturb", "hybrid")

    def __post_init__(self) -> None:
        if self.select in ("emim", "emim-corrected", "chi2") and self.width is None:
            raise ParameterError(f"{self.name}: select = '{self.select}' is not allowed without a width of intervals")
        if self.weighted and self.publish in ("median", "mode"):
            raise ParameterError(
                f"{self.name}: weighted = True is not allowed with {self.publish}s; only means have weights"
            )
        if self.weighted and self.publish in ("perturb", "hybrid"):
            raise ParameterError(
                f"{self.name}: weighted = True is not allowed with drawn values: the noise keeps unweighted moments"
            )
        if self.leftover == "merge" and self.arrange != "given":
            raise ParameterError(
                f"{self.name}: leftover = 'merge' is not allowed with arrange = '{self.arrange}', which fills blocks"
            )

    @abstractmethod
    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        """The partitioner: labels for the rows of a matrix without missing cells, in groups of at least k."""

    def _partitioner(self, data: Microdata) -> Partitioner:
        """The partitioner of one table; what it needs to know of all records is found here, once."""
        return self._groups

    def _fewest(self) -> int:
        """How many members of a group must have a value for it to be published."""
        return self.k

    def _blocks(self, data: Microdata, attributes: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Which attributes are masked together."""
        size = self.block or len(attributes)
        if self.arrange != "given" and size < len(attributes):
            from microveil.masking.microaggregation.attribute_blocks import correlated_blocks, spread_blocks

            arrange = correlated_blocks if self.arrange == "correlated" else spread_blocks
            return list(arrange(self._complete(data, attributes, "arrange"), attributes, size).blocks)
        from microveil.masking.microaggregation.segments import segments_of

        return segments_of(attributes, size, self.leftover)

    def _choices(self, data: Microdata, attributes: tuple[str, ...]) -> list[list[int]]:
        """The columns distances are taken on; several lists where the choice is tied."""
        if self.select == "all" or self.selected >= len(attributes):
            return [list(range(len(attributes)))]
        if self.select == "exhaustive":
            subsets = comb(len(attributes), self.selected)
            if subsets > _MOST_SUBSETS:
                raise ParameterError(
                    f"{self.name}: select = 'exhaustive' is not allowed with {subsets:,} choices of {self.selected} "
                    f"among {len(attributes)} attributes; at most {_MOST_SUBSETS:,} are tried"
                )
            return [list(subset) for subset in combinations(range(len(attributes)), self.selected)]
        from microveil.masking.microaggregation.dependence import chosen_attributes

        matrix = self._complete(data, attributes, "select")
        choices = chosen_attributes(matrix, attributes, self.selected, self.select, self.width)
        return [[attributes.index(name) for name in choice] for choice in choices[:_MOST_CHOICES]]

    def _complete(self, data: Microdata, attributes: tuple[str, ...], asking: str) -> FloatArray:
        """The records that have all attributes, in the data's own units."""
        other = next((name for name in attributes if data[name].kind != "numeric"), None)
        if other is not None:
            raise ParameterError(
                f"{self.name}: {asking} = '{getattr(self, asking)}' is not allowed with attribute '{other}', which is "
                f"{data[other].kind}; it works on numeric attributes only"
            )
        matrix = data.matrix(attributes)
        matrix = matrix[~np.isnan(matrix).any(axis=1)]
        if len(matrix) < 2:
            raise DataError(f"{self.name} with {asking} needs at least two records without missing cells")
        return matrix

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        check_records(data, self.k, f"{self.name} with k = {self.k}")
        weights = self._weights(data)
        columns: dict[str, pa.Array] = {}
        notes: list[Note] = []
        partitions, emptied = {}, Emptied()
        blocks = self._blocks(data, attributes)
        for block, part in zip(blocks, parts(progress, len(blocks)), strict=True):
            states = np.column_stack([data.missing_states(name) for name in block])
            rng = streams.generator("groups", *block)
            made = [
                self._published(data, states, block, partition, weights, streams)
                for partition in self._partitions(data, block, states, rng, part, runs=len(blocks))
            ]
            # what polishing lowers is not quite what is lost with medians, weights, missing cells or another scale
            best = min(made, key=lambda release: release.lost(data)) if len(made) > 1 else made[0]
            for name, state in zip(block, states.T, strict=True):
                emptied = emptied.and_of(best.suppressed[name], state)
            columns |= best.columns
            notes += best.notes
            partitions[block] = best.partition
        return Masked(columns, partitions=partitions, notes=(*emptied.notes, *notes))

    def _published(
        self,
        data: Microdata,
        states: npt.NDArray[np.uint8],
        block: tuple[str, ...],
        partition: Partition,
        weights: FloatArray | None,
        streams: Streams,
    ) -> _Published:
        suppressed = {}
        for name, state in zip(block, states.T, strict=True):
            matches = data[name].missing == "wildcard"
            suppressed[name] = cells_to_empty(state, partition, self._fewest(), missing_matches=matches)
        rng = streams.generator("published", *block)
        columns, notes = published_columns(data, partition, suppressed, self.publish, weights, rng)
        return _Published(partition, suppressed, columns, notes)

    def _weights(self, data: Microdata) -> FloatArray | None:
        if not self.weighted:
            return None
        if data.schema.weight is None:
            raise ParameterError(f"{self.name}: weighted = True is not allowed; no attribute has the role weight")
        weights = data.numbers(data.schema.weight).values
        if np.isnan(weights).any() or (weights <= 0).any():
            raise DataError(f"the weight '{data.schema.weight}' must be a positive number in every record")
        return weights

    def _partitions(
        self,
        data: Microdata,
        names: tuple[str, ...],
        states: npt.NDArray[np.uint8],
        rng: np.random.Generator,
        progress: Progress,
        *,
        runs: int,
    ) -> list[Partition]:
        """The partition on some attributes, and where it is polished the one before as well.

        `runs` is for how many blocks of attributes the work by default is meant to suffice.
        """
        columns, places = coordinates(data, names, self.scale)
        filled = np.where(np.isnan(columns), 0.0, columns)  # 0 is every attribute's mean here
        choices = self._choices(data, names)
        partitioner = self._partitioner(data)
        steps = self.polish
        if steps is None:
            from microveil.numerics.grouping.simulated_annealing import default_steps

            steps = default_steps(len(data), filled.shape[1], runs * len(choices))
        made: list[list[IntArray]] = []
        for choice, part in zip(choices, parts(progress, len(choices)), strict=True):
            chosen = tuple(names[j] for j in choice)
            taken = [column for j in choice for column in places[j]]
            group = partial(self._polished_groups, partitioner, data, chosen, filled, taken, rng, steps)
            made.append(self._labels(data, names, filled, states, group, part))
        return [
            Partition.of(min(found, key=lambda labels: _loss(filled, labels)) if len(found) > 1 else found[0])
            for found in zip(*made, strict=True)
        ]

    def _labels(
        self,
        data: Microdata,
        names: tuple[str, ...],
        columns: FloatArray,
        states: npt.NDArray[np.uint8],
        group: Callable[[IntArray, Progress], list[IntArray]],
        progress: Progress,
    ) -> list[IntArray]:
        """The groups of all records, part of the file by part; several where `group` makes several."""
        labels = [np.empty(len(data), dtype=np.int64) for _ in range(1 if self.polish == 0 else 2)]
        done, used = 0, [0] * len(labels)
        for rows in self._parts_of_the_file(data, names, columns, states):
            found = group(rows, Part(progress, done / len(data), (done + len(rows)) / len(data)))
            for place, made in enumerate(found):
                labels[place][rows] = used[place] + made
                used[place] += int(made.max()) + 1
            done += len(rows)
        return labels

    def _polished_groups(
        self,
        partitioner: Partitioner,
        data: Microdata,
        names: tuple[str, ...],
        filled: FloatArray,
        taken: list[int],
        rng: np.random.Generator,
        steps: int,
        rows: IntArray,
        progress: Progress,
    ) -> list[IntArray]:
        """Groups of some records made on some columns; where asked for, polished on all of them, and as they were."""
        columns, records = filled[rows], Records(data, names, rows)
        chosen = np.ascontiguousarray(columns[:, taken])
        if self.polish == 0:
            return [partitioner(chosen, records, rng, progress)]
        from microveil.numerics.grouping.simulated_annealing import polish_groups

        made = partitioner(chosen, records, rng, Part(progress, 0.0, 0.1))
        polished = polish_groups(columns, made, self.k, steps * len(columns), rng, Part(progress, 0.1, 1.0))
        return [polished, made]

    def _parts_of_the_file(
        self, data: Microdata, names: tuple[str, ...], columns: FloatArray, states: npt.NDArray[np.uint8]
    ) -> list[IntArray]:
        """The parts that are grouped by themselves: strata, patterns of missing cells, chunks."""
        parts_ = [np.arange(len(data))]
        if self.strata:
            parts_ = strata_of(data, self.k)
        apart = np.array([data[name].missing != "wildcard" for name in names])
        parts_ = [rows[block] for rows in parts_ for block in blocks_by_pattern(states[rows], self.k, apart)]
        if self.chunk is not None:
            largest = max(self.chunk, 2 * self.k)
            parts_ = [
                rows[piece]
                for rows in parts_
                for piece in similar_blocks(columns[rows], largest, self.k, self.chunk_axes)
            ]
        return parts_


def _loss(columns: FloatArray, labels: IntArray) -> float:
    from microveil.numerics.grouping.simulated_annealing import loss_within

    return loss_within(columns, labels)


def strata_of(data: Microdata, k: int) -> list[IntArray]:
    """The records of each stratum; a stratum with fewer than k records is refused."""
    names = data.schema.having("stratum")
    if not names:
        raise ParameterError("strata = True is not allowed; no attribute has the role stratum")
    codes = [_codes(data, name) for name in names]
    _, inverse = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
    strata = Partition.of(inverse.reshape(-1)).groups
    small = sum(len(rows) < k for rows in strata)
    if small:
        raise DataError(f"{count(small, 'stratum') if small == 1 else f'{small} strata'} have fewer than {k} records")
    return strata


def _codes(data: Microdata, name: str) -> FloatArray:
    if data[name].kind == "numeric":
        return np.nan_to_num(data.numbers(name).values, nan=np.inf)
    return data.categories(name).codes.astype(np.float64)
