"""The series of both files as linkage compares them: on a scale, by their values or their slopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from microveil.attacks.linkage.base import Hits, hits_of_links
from microveil.attacks.linkage.distance import mean_square
from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.microdata.microdata import Microdata
from microveil.numerics.series.comparing import CommonScale, in_order, on_common_scale, outside
from microveil.numerics.series.distances import slopes
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.attacks.linkage.comparison import Comparison

Distance = Literal["euclidean", "sts", "dtw", "quantiles"]
_LEAST_OF_ENDS = 1e-6  # of the mean cost of a missing cell: what a cell costs that only one of both files has
_EFFORT_OF_WARPING = 8.0  # a cell of a warping table takes so many times the time of a term of a distance
_USUAL_BAND = 10  # the length of a series over the width of its band
_NOT_THERE = 254  # the state of a cell before the first or after the last value of a series, in both files


@dataclass(frozen=True)
class PairedSeries:
    """The series of one variable: record i of `known` is the true version of record i of `released`.

    A row is a series, a column a time; cells are NaN where they are missing, with a state that says in which way. In
    some columns a missing cell is a `wildcard`.
    """

    name: str
    positions: FloatArray
    known: FloatArray
    released: FloatArray
    states: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]
    wildcard: BoolArray

    @property
    def length(self) -> int:
        return len(self.positions)

    @property
    def unmasked(self) -> PairedSeries:
        """As if the known series had been released."""
        return replace(self, released=self.known, states=(self.states[0], self.states[0]))

    def at(self, points: IntArray) -> PairedSeries:
        """At some of the times."""
        states = self.states[0][:, points], self.states[1][:, points]
        return replace(
            self,
            positions=self.positions[points],
            known=self.known[:, points],
            released=self.released[:, points],
            states=states,
            wildcard=self.wildcard[points],
        )

    def on_scale(self, how: CommonScale) -> PairedSeries:
        """On a common scale."""
        known, released = on_common_scale(self.known, self.released, how)
        return replace(self, known=known, released=released)

    @property
    def slopes(self) -> PairedSeries:
        """The slopes from each time to the next; missing where one of both values is."""
        known, released = (slopes(side, self.positions) for side in (self.known, self.released))
        states = [np.maximum(side[:, 1:], side[:, :-1]) for side in self.states]
        return replace(
            self,
            positions=self.positions[1:],
            known=known,
            released=released,
            states=(states[0], states[1]),
            wildcard=self.wildcard[1:] | self.wildcard[:-1],
        )

    @property
    def in_order(self) -> PairedSeries:
        """The values of each series in ascending order; their times are forgotten."""
        known, released = in_order(self.known), in_order(self.released)
        states = [np.isnan(side).astype(np.uint8) for side in (known, released)]
        wildcard = np.full(self.length, bool(self.wildcard.any()))
        return replace(self, known=known, released=released, states=(states[0], states[1]), wildcard=wildcard)


def paired_series(pair: Pair, attributes: Sequence[str]) -> tuple[PairedSeries, ...]:
    """The series among the attributes, a variable after the other."""
    made = []
    sides = pair.original.series_among(attributes), pair.masked.series_among(attributes)
    for known, released in zip(*sides, strict=True):
        states = [
            _states(table, side.values, known.columns)
            for table, side in ((pair.original, known), (pair.masked, released))
        ]
        wildcard = np.array([pair.masked[name].missing == "wildcard" for name in known.columns], dtype=np.bool_)
        made.append(
            PairedSeries(known.name, known.positions, known.values, released.values, (states[0], states[1]), wildcard)
        )
    if not made:
        raise DataError("there is no series among the attributes")
    return tuple(made)


def _states(table: Microdata, values: FloatArray, columns: Sequence[str]) -> npt.NDArray[np.uint8]:
    """The missing states of the cells of series: 0 where a value is there."""
    if not np.isnan(values).any():
        return np.zeros(values.shape, dtype=np.uint8)
    return np.column_stack([table.missing_states(name) for name in columns])


@dataclass(frozen=True)
class Metric:
    """How two series are compared. Warping keeps to a band of so many points; None: a tenth of the longest series."""

    distance: Distance
    band: int | None = None

    def width(self, series: Sequence[PairedSeries]) -> int:
        """The band for these series."""
        longest = max(one.length for one in series)
        return max(1, longest // _USUAL_BAND) if self.band is None else self.band

    def effort(self, series: Sequence[PairedSeries]) -> float:
        """How many terms of a distance a comparison of two records costs at most."""
        points = sum(one.length for one in series)
        if self.distance != "dtw":
            return float(points)
        longest = max(one.length for one in series)
        return _EFFORT_OF_WARPING * points * min(longest, 2.0 * self.width(series) + 1)


def link_series(
    series: Sequence[PairedSeries],
    metric: Metric,
    how: CommonScale,
    attacked: IntArray,
    progress: Progress,
    label: str,
) -> Hits:
    """For each series attacked, by every convention for ties, the chance that the nearest released one is its own.

    With several variables the squared distances are summed. A missing cell that could have any value adds the typical
    difference at its time. Before the first and after the last value there is no series: cells are equal where neither
    file has one. Warping leaves missing cells out. A record without any value is not linked.
    """
    scaled = [one.on_scale(how) for one in series]
    if metric.distance == "dtw":
        return _hits_of_warping(scaled, metric.width(series), attacked, progress, label)
    compared = scaled
    if metric.distance == "sts":
        compared = [one.slopes for one in scaled if one.length > 1]
    elif metric.distance == "quantiles":
        compared = [one.in_order for one in scaled]
    if not compared:  # no slopes: all series are alike
        return _hits_of_guessing(len(series[0].known), len(attacked))
    comparison = _comparison(compared)
    told = ~comparison.all_missing(attacked)
    charged = _with_ends(comparison.charging_for_wildcards(), comparison, compared)
    hits = hits_of_links(charged.link(attacked, progress, label), attacked)
    return {name: found * told for name, found in hits.items()}


def _hits_of_warping(
    series: Sequence[PairedSeries], band: int, attacked: IntArray, progress: Progress, label: str
) -> Hits:
    from microveil.numerics.series.curves import curves
    from microveil.numerics.series.dtw_search import dtw_links

    known, released = curves(*(one.known for one in series)), curves(*(one.released for one in series))
    return hits_of_links(dtw_links(known, released, attacked, band, progress, label), attacked)


def _hits_of_guessing(records: int, attacked: int) -> Hits:
    chances = {"expected": 1 / records, "first": 1 / records, "optimistic": 1.0, "strict": float(records == 1)}
    return {name: np.full(attacked, chance) for name, chance in chances.items()}


def _comparison(series: Sequence[PairedSeries]) -> Comparison:
    """All times of all variables as columns of records."""
    from microveil.attacks.linkage.comparison import Comparison
    from microveil.numerics.neighbours.mixed_distance import SQUARED, Table, Terms

    tables = []
    for side, cells in enumerate(([one.known for one in series], [one.released for one in series])):
        states = np.column_stack([one.states[side] for one in series])
        values = np.where(states > 0, 0.0, np.column_stack(cells))
        tables.append(Table(np.ascontiguousarray(values.T), np.ascontiguousarray(states.T)))
    wildcard = np.concatenate([one.wildcard for one in series])
    apart = [mean_square(one.known[:, t], one.released[:, t]) for one in series for t in range(one.length)]
    size = len(wildcard)
    terms = Terms(np.full(size, SQUARED, dtype=np.int64), np.zeros(size), np.zeros(size), wildcard, np.array(apart))
    return Comparison(tables[0], tables[1], terms, tuple(range(size)), {})


def _with_ends(charged: Comparison, comparison: Comparison, series: Sequence[PairedSeries]) -> Comparison:
    """With cells outside of a series equal in both files."""
    from microveil.numerics.neighbours.mixed_distance import Table

    if not (comparison.known.states.any() or comparison.released.states.any()):
        return charged
    tables = []
    for table, cells in (
        (charged.known, [one.known for one in series]),
        (charged.released, [one.released for one in series]),
    ):
        ends = np.column_stack([outside(values) for values in cells]).T
        states = np.where(ends & comparison.terms.wildcard[:, None], _NOT_THERE, table.states)
        tables.append(Table(table.cells, states.astype(np.uint8)))
    # where the values hardly differ, it still makes a difference whether there is a series
    typical = float(charged.terms.penalty.mean())
    least = _LEAST_OF_ENDS * typical if typical > 0 else 1.0
    terms = replace(charged.terms, penalty=np.maximum(charged.terms.penalty, least))
    return charged.between(tables[0], tables[1], terms)
