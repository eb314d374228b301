"""Models of correlated normal variables: the columns themselves, or columns cut from such variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.masking.notes import NOT_DRAWN_GIVEN, Note
from microveil.masking.synthesis.columns import Column, Drawn, Smoothing
from microveil.numerics.core.ordering import in_order, positions_in
from microveil.numerics.statistics.category_coordinates import indicators
from microveil.numerics.statistics.copula import Latent, draw_given, latent_correlation, pairwise_covariance
from microveil.numerics.statistics.scaling import Scaling
from microveil.progress import Progress, parts
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

_MOST_INDICATORS = 50


def draw_normal(columns: list[Column], given: list[Column], streams: Streams) -> dict[str, Drawn]:
    """Numbers with exactly the mean and covariance of the original, also with the given columns.

    Nominal columns that are given count as indicators of their categories.
    """
    known = [part for column in given for part in _as_numbers(column)]
    scaling = Scaling.of(np.column_stack([*known, *(column.values for column in columns)]))
    scaled = scaling.apply(np.column_stack([*known, *(column.values for column in columns)]))
    g = len(known)
    covariance = pairwise_covariance(scaled)
    draws = draw_given(
        covariance, np.nan_to_num(scaled[:, :g]), streams.generator("normal"), exact=True, size=len(scaled)
    )
    values = scaling.mean[g:] + scaling.deviation[g:] * draws
    sources = _missing_from(columns, streams)
    return {column.name: Drawn(sources[j], values[:, j]) for j, column in enumerate(columns)}


def usable_as_numbers(columns: list[Column]) -> tuple[list[Column], list[Note]]:
    """The columns that a normal model can use, and a word on the others."""
    fits = [column.ordered or len(np.unique(column.codes)) <= _MOST_INDICATORS for column in columns]
    unused = [
        NOT_DRAWN_GIVEN(attribute=column.name, most=_MOST_INDICATORS)
        for column, used in zip(columns, fits, strict=True)
        if not used
    ]
    return [column for column, used in zip(columns, fits, strict=True) if used], unused


def _as_numbers(column: Column) -> list[FloatArray]:
    if column.ordered:
        return [column.values]
    return list(indicators(np.where(column.present, column.codes, -1)).T[:-1])  # the last one follows from the others


@dataclass(frozen=True)
class CopulaModel:
    """Columns keep the distribution of their values and get the correlation of the latent normal variables.

    `stratified`: every value of a column is used as often as it occurs, and the correlation of the latent variables is
    exact (a Latin hypercube, arranged as Iman and Conover do); else values are drawn independently.
    """

    stratified: bool
    smooth: bool
    common: int
    label: str

    def draw(
        self, columns: list[Column], given: list[Column], streams: Streams, progress: Progress
    ) -> dict[str, Drawn]:
        everything = [*given, *columns]
        ordered = _ordered(everything)
        latent = [
            Latent.of(values, streams.generator("latent", column.name))
            for values, column in zip(ordered, everything, strict=True)
        ]
        g = len(given)
        known = np.column_stack([np.zeros((len(columns[0].values), 0)), *(part.randomised for part in latent[:g])])
        draws = draw_given(
            latent_correlation(latent), known, streams.generator("copula"), exact=self.stratified, size=len(known)
        )
        sources = _missing_from(columns, streams)
        drawn = {}
        for j, part in enumerate(parts(progress, len(columns))):
            column, rng = columns[j], streams.generator(columns[j].name)
            drawn[column.name] = self._draw_column(column, ordered[g + j], draws[:, j], sources[j], rng)
            part(1.0, f"{self.label}: {column.name}")
        return drawn

    def _draw_column(
        self, column: Column, ordered: FloatArray, draws: FloatArray, source: IntArray, rng: np.random.Generator
    ) -> Drawn:
        from scipy.special import ndtr

        donors = source.copy()
        records = np.flatnonzero(column.present[source])
        rows = in_order(ordered)
        if self.stratified:
            positions = positions_in(np.argsort(draws[records], kind="stable"))
        else:
            positions = np.minimum((ndtr(draws[records]) * len(rows)).astype(np.int64), len(rows) - 1)
        donors[records] = rows[positions]
        if column.kind != "numeric" or not self.smooth:
            return Drawn(donors)
        values = np.full(len(donors), np.nan)
        start, end = np.zeros_like(positions), np.full_like(positions, len(rows))
        values[records] = Smoothing(column, self.common)(rows, positions, start, end, rng)
        return Drawn(donors, values)


def arranged(columns: list[Column], drawn: dict[str, Drawn], streams: Streams) -> dict[str, Drawn]:
    """The cells of each column in the order of its draws: the smallest value where the smallest draw is, and so on."""
    found = {}
    for column, source in zip(columns, _missing_from(columns, streams), strict=True):
        donors = source.copy()
        records, draws = np.flatnonzero(column.present[source]), drawn[column.name].values
        assert draws is not None
        rows = in_order(column.values)
        donors[records] = rows[positions_in(np.argsort(draws[records], kind="stable"))]
        found[column.name] = Drawn(donors)
    return found


def _missing_from(columns: list[Column], streams: Streams) -> list[IntArray]:
    """For each column the record that says whether a cell is missing: its own, or one drawn for the whole record."""
    n = len(columns[0].values)
    shuffled = streams.generator("missing").permutation(n)
    return [np.arange(n) if column.missing_stays else shuffled for column in columns]


def _ordered(columns: list[Column]) -> list[FloatArray]:
    """The values of each column; categories of nominal ones are put in the order in which they go best with the others:
    that of their mean on the first principal component of the ordered columns."""
    guides = [column.values for column in columns if column.ordered]
    if not guides:
        return [column.values for column in columns]
    scaled = Scaling.of(np.column_stack(guides)).apply(np.column_stack(guides))
    vectors = np.linalg.eigh(pairwise_covariance(scaled))[1]
    axis = np.nan_to_num(scaled) @ vectors[:, -1]
    return [column.values if column.ordered else _by_mean(column, axis) for column in columns]


def _by_mean(column: Column, axis: FloatArray) -> FloatArray:
    """The categories numbered in the order of their means on the axis."""
    present = column.present
    _, position, counts = np.unique(column.codes[present], return_inverse=True, return_counts=True)
    means = np.bincount(position.reshape(-1), weights=axis[present], minlength=len(counts)) / counts
    rank = np.empty(len(counts))
    rank[np.argsort(means, kind="stable")] = np.arange(len(counts))
    numbered = np.full(len(present), np.nan)
    numbered[present] = rank[position.reshape(-1)]
    return numbered
