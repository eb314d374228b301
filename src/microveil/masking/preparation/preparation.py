"""The settings of what happens before records are grouped; they go with any grouping."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import ClassVar, Literal

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.preparation.attribute_blocks import consecutive_blocks, correlated_blocks, spread_blocks
from microveil.masking.preparation.coordinates import coordinates
from microveil.masking.preparation.missing_patterns import rows_by_pattern
from microveil.masking.preparation.series_coordinates import Distance
from microveil.masking.preparation.strata import strata_of
from microveil.microdata import Microdata
from microveil.numerics.grouping.chunks import similar_chunks
from microveil.numerics.statistics.scaling import Scale
from microveil.parameters import LARGEST_NUMBER, MOST_ATTRIBUTES, MOST_RECORDS, Settings, parameter, parameterised
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_MOST_CHOICES = 50  # tied choices of attributes that are tried
_MOST_SUBSETS = 10_000  # all choices of attributes that are tried


@parameterised
class Preparation(Settings):
    """Which attributes are masked together, on what scale and on which of them distances are computed, and in which
    parts of the file records are grouped.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> MDAV(k=5, block=2, scale="none") == MDAV(k=5, preparation=Preparation(block=2, scale="none"))
    True
    """

    name: ClassVar[str] = "preparation"
    summary: ClassVar[str] = "which attributes are masked together, the scale of distances, and the parts of the file"

    scale: Scale = parameter(default="z", help="scale of the distances: z-scores, min-max, or raw values")
    distance: Distance | None = parameter(
        default=None,
        help="distance of two series: Euclidean, between their slopes (sts), or after dynamic time warping (dtw); "
        "numeric attributes are a series in their order unless the table is declared to have others; unset: Euclidean",
    )
    band: int | None = parameter(
        default=None,
        help="with distance=dtw: number of time points by which warping may shift a value; unset: any",
        ge=0,
        le=MOST_ATTRIBUTES,
    )
    block: int | None = parameter(
        default=None,
        help="number of attributes that are masked together (a block); unset: all at once",
        ge=1,
        le=MOST_ATTRIBUTES,
    )
    leftover: Literal["own", "merge"] = parameter(
        default="own", help="attributes left over after full blocks: a block of their own, or part of the last one"
    )
    arrange: Literal["given", "correlated", "spread", "series"] = parameter(
        default="given",
        help="which attributes share a block: consecutive ones (given), correlated ones, uncorrelated ones, one of "
        "each correlated group (spread), or those of one variable (series)",
    )
    select: Literal["all", "normal", "emim", "emim-corrected", "chi2", "exhaustive"] = parameter(
        default="all",
        help="attributes on which distances are computed: all, those on which the others depend most by the measure "
        "named, or the best of all subsets (exhaustive)",
    )
    selected: int = parameter(default=3, help="number of attributes that select takes", ge=1, le=MOST_ATTRIBUTES)
    width: float | None = parameter(
        default=None,
        help="width of the intervals that emim and chi2 divide numbers into, in the units of the attribute",
        gt=0,
        le=LARGEST_NUMBER,
    )
    strata: bool = parameter(default=False, help="group only records of the same stratum")
    chunk: int | None = parameter(
        default=None,
        help="first divide a longer file into parts of similar records, each with at most this number of records",
        ge=2,
        le=MOST_RECORDS,
    )
    chunk_axes: int = parameter(
        default=1,
        help="with chunk: number d of attributes at whose medians the file is divided at once, into 2^d parts",
        ge=1,
        le=8,
    )

    def check(self, label: str) -> None:
        if self.select in ("emim", "emim-corrected", "chi2") and self.width is None:
            raise ParameterError(f"{label}: select = '{self.select}' is not allowed without a width of intervals")
        if self.leftover == "merge" and self.arrange != "given":
            raise ParameterError(
                f"{label}: leftover = 'merge' is not allowed with arrange = '{self.arrange}', which fills blocks"
            )
        if self.block is not None and self.arrange == "series":
            raise ParameterError(
                f"{label}: block = {self.block} is not allowed with arrange = 'series'; a variable is a block"
            )
        if self.band is not None and self.distance != "dtw":
            raise ParameterError(f"{label}: band = {self.band} is not allowed without distance = 'dtw'")
        if self.select != "all" and self.compares_series:
            raise ParameterError(
                f"{label}: select = '{self.select}' is not allowed with distance = '{self.distance}', which takes "
                "whole series"
            )

    @property
    def compares_series(self) -> bool:
        """Whether distances are computed on whole series, not on each attribute."""
        return self.distance in ("sts", "dtw")

    @property
    def is_of_any_records(self) -> bool:
        """Whether attributes are chosen alike for some records and for all, and strata do not tell records apart."""
        return self.arrange == "given" and self.select == "all" and not self.compares_series and not self.strata

    def blocks(self, data: Microdata, attributes: tuple[str, ...], label: str) -> list[tuple[str, ...]]:
        """Which attributes are masked together."""
        if self.arrange == "series":
            return _blocks_of_variables(data, attributes)
        size = self.block or len(attributes)
        if self.arrange == "given" or size >= len(attributes):
            return consecutive_blocks(attributes, size, self.leftover)
        arranged = correlated_blocks if self.arrange == "correlated" else spread_blocks
        matrix = _complete_records(data, attributes, f"{label}: arrange = '{self.arrange}'")
        return list(arranged(matrix, attributes, size).blocks)

    def coordinates(
        self, data: Microdata, names: tuple[str, ...], progress: Progress = silent
    ) -> tuple[FloatArray, list[list[int]]]:
        """The matrix on which distances are computed, and which of its columns each attribute has."""
        return coordinates(data, names, self.scale, self.distance, self.band, progress)

    def choices(self, data: Microdata, attributes: tuple[str, ...], label: str) -> list[list[int]]:
        """Which of the attributes distances are computed on; several choices where they are tied."""
        if self.select == "all" or self.selected >= len(attributes):
            return [list(range(len(attributes)))]
        if self.select == "exhaustive":
            subsets = comb(len(attributes), self.selected)
            if subsets > _MOST_SUBSETS:
                raise ParameterError(
                    f"{label}: select = 'exhaustive' is not allowed with {subsets:,} choices of {self.selected} "
                    f"among {len(attributes)} attributes; at most {_MOST_SUBSETS:,} are tried"
                )
            return [list(subset) for subset in combinations(range(len(attributes)), self.selected)]
        from microveil.masking.preparation.dependence import chosen_attributes

        matrix = _complete_records(data, attributes, f"{label}: select = '{self.select}'")
        choices = chosen_attributes(matrix, attributes, self.selected, self.select, self.width)
        return [[attributes.index(name) for name in choice] for choice in choices[:_MOST_CHOICES]]

    def parts_of_the_file(self, data: Microdata, names: tuple[str, ...], columns: FloatArray, k: int) -> list[IntArray]:
        """The records that are grouped by themselves: strata, patterns of missing cells, chunks."""
        parts = [np.arange(len(data))]
        if self.strata:
            parts = strata_of(data, k)
        states = np.column_stack([data.missing_states(name) for name in names])
        apart = np.array([data[name].missing != "wildcard" for name in names])
        parts = [rows[pattern] for rows in parts for pattern in rows_by_pattern(states[rows], k, apart)]
        if self.chunk is not None:
            largest = max(self.chunk, 2 * k)
            parts = [
                rows[chunk] for rows in parts for chunk in similar_chunks(columns[rows], largest, k, self.chunk_axes)
            ]
        return parts


@parameterised
class OneAttributeAtATime(Preparation):
    """The preparation of methods that mask every attribute by itself."""

    block: Literal[1] = parameter(default=1, help="attributes are always masked one at a time")
    distance: Literal["euclidean"] | None = parameter(default=None, help="there are no series: a time is masked alone")


@parameterised
class MixedPreparation(Preparation):
    """The preparation of methods that add up the distances on attributes of any kind."""

    scale: Literal["z", "minmax"] = parameter(
        default="minmax",
        help="distance of two numbers: their difference divided by the standard deviation (z) or by the range "
        "(minmax) of the attribute",
    )
    distance: Literal["euclidean"] | None = parameter(
        default=None, help="distances are always the sum of those on each attribute"
    )
    select: Literal["all"] = parameter(default="all", help="distances are always computed on all attributes of a block")


def _blocks_of_variables(data: Microdata, attributes: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The attributes of each variable, and those of none, in the order of the attributes."""
    of = {name: series.name for series in data.series_among(attributes) for name in series.columns}
    blocks: dict[str | None, list[str]] = {}
    for name in attributes:
        blocks.setdefault(of.get(name), []).append(name)
    return [tuple(block) for block in blocks.values()]


def _complete_records(data: Microdata, attributes: tuple[str, ...], what_for: str) -> FloatArray:
    """The records that have all attributes, in the data's own units."""
    other = next((name for name in attributes if data[name].kind != "numeric"), None)
    if other is not None:
        raise ParameterError(
            f"{what_for} is not allowed with attribute '{other}', which is {data[other].kind}; it works on numeric "
            "attributes only"
        )
    matrix = data.matrix(attributes)
    matrix = matrix[~np.isnan(matrix).any(axis=1)]
    if len(matrix) < 2:
        raise DataError(f"{what_for} needs at least two records without missing cells")
    return matrix
