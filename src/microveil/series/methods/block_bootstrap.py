"""Synthetic series from a block bootstrap."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.base import Masked
from microveil.masking.notes import Note
from microveil.masking.ranges import OneOf, Ranges, Whole, ranges
from microveil.masking.synthesis.closeness import closeness
from microveil.microdata import Microdata
from microveil.microdata.panel import Series
from microveil.numerics.series.components import completed, spreads
from microveil.numerics.series.statistics import means
from microveil.parameters import MOST_ATTRIBUTES, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress
from microveil.randomness import Streams
from microveil.series.methods.base import STAY, SeriesMethod, rows_with_values
from microveil.typing import FloatArray


@parameterised
class BlockBootstrap(SeriesMethod):
    """For every series a synthetic one is put together from k others that are nearest to it, or from all others: the
    level and the standard deviation of one of them; the average of their shapes, which are without both; and on that
    blocks of residuals, each from another of them drawn at random. A residual is what is left of a shape without the
    average shape of its own neighbours.

    Blocks are taken from the same points of time, or with `period` also from points whole periods away (the same hour
    of another day); period=1 takes them from anywhere. They are `block` points long (moving) or so long on average,
    with random ends (stationary).

    Nothing is kept exactly. Kept on average: the means of the file, and of neighbourhoods in it; the variance, though
    somewhat less of it where donors are nearest, since extreme series are neighbours of few; the autocorrelation and
    the spectrum at times shorter than a block, and at longer ones that of the average shapes. At the ends of blocks
    series may jump. With donors=file shapes and levels come from anywhere: the aggregate curve is not kept where large
    series have shapes of their own, and what series have to do with other attributes is lost.

    What it guarantees: no published series is that of any one person; the values of a series enter its own synthetic
    one only by averages over k neighbours. What it does not guarantee: neither k-anonymity nor differential privacy. A
    block is a fragment of another person's residual, a level is that of another person, and a series like no other
    remains far from all others, since its neighbours come from the same corner of the file, unless donors=file. Notes
    of the release say how close published series come to original ones.

    >>> from microveil.microdata import Microdata
    >>> days = Microdata.of({"t1": [1, 2, 10, 12], "t2": [3, 2, 14, 12], "t3": [2, 8, 12, 15]})
    >>> release = BlockBootstrap(k=2, block=2).mask(days, seed=1)
    >>> len(release)
    4
    """

    name: ClassVar[str] = "block-bootstrap"
    family: ClassVar[str] = "synthesis"
    summary: ClassVar[str] = "draws synthetic series from blocks of the residuals of similar series"
    missing: ClassVar[str] = (
        f"{STAY}; a series is filled where others draw from it, by interpolation or by the average shape"
    )
    source: ClassVar[str] = "Künsch (1989); Politis and Romano (1994)"
    searched: ClassVar[Ranges] = ranges(
        block=Whole(2, 48), k=Whole(2, 50, of_records=True), donors=OneOf(("nearest", "file"))
    )

    k: int = parameter(
        default=5, help="number of nearest other series that each one is drawn from", ge=2, le=MOST_RECORDS
    )
    block: int = parameter(
        default=8, help="length of a block in points, on average if stationary", ge=1, le=MOST_ATTRIBUTES
    )
    blocks: Literal["stationary", "moving"] = parameter(
        default="stationary", help="blocks of random length, or all of one length from a random point on"
    )
    period: int | None = parameter(
        default=None,
        help="points in a period, such as 24 hours: a block may come from the same place in another period; unset: "
        "blocks stay at their time",
        ge=1,
        le=MOST_ATTRIBUTES,
    )
    donors: Literal["nearest", "file"] = parameter(
        default="nearest", help="draw from the k nearest other series, or from all others"
    )

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        drawn = super()._mask(data, attributes, streams, Part(progress, 0.0, 0.7))
        found = closeness(
            data, data.with_columns(drawn.columns), attributes, streams=streams, progress=Part(progress, 0.7, 1.0)
        )
        return Masked(drawn.columns, notes=(*drawn.notes, *found.notes))

    def _series(
        self, data: Microdata, series: Series, streams: Streams, progress: Progress
    ) -> tuple[FloatArray, tuple[Note, ...]]:
        from microveil.numerics.core.compiled import threads
        from microveil.numerics.series.block_bootstrap import nearest_others, resampled

        rows = rows_with_values(series, self.k + 1, f"{self.name} with k = {self.k}")
        complete = completed(series.values[rows], series.positions)
        level, spread = means(series.values[rows]), spreads(series.values[rows])
        shape = (complete - level[:, None]) / np.where(spread > 0, spread, 1.0)[:, None]
        near = nearest_others(complete, self.k, threads()) if self.donors == "nearest" else None
        progress(0.3, f"{self.name}: {series.name}")
        masked = series.values.copy()
        masked[rows] = resampled(
            level,
            spread,
            shape,
            near,
            block=self.block,
            stationary=self.blocks == "stationary",
            period=self.period,
            rng=streams.generator(series.name),
            progress=Part(progress, 0.3, 1.0),
            label=f"{self.name}: {series.name}",
        )
        return np.where(np.isnan(series.values), np.nan, masked), ()
