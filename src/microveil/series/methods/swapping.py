"""Swapping of series: levels and shapes change places between similar series."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.notes import LEVELS_AS_THEY_ARE, SERIES_NOT_SWAPPED, SHAPES_AS_THEY_ARE, SHAPES_OF_OTHERS, Note
from microveil.masking.ranges import Interval, OneOf, Ranges, ranges
from microveil.masking.swapping.ranks import ranks
from microveil.microdata import Microdata
from microveil.microdata.panel import Series
from microveil.numerics.series.components import completed, spreads
from microveil.numerics.series.statistics import means
from microveil.numerics.statistics.projection_axis import Axis
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams
from microveil.series.methods.base import STAY, SeriesMethod, rows_with_values
from microveil.typing import BoolArray, FloatArray, IntArray


@parameterised
class SeriesSwapping(SeriesMethod):
    """Every series is split into its level, which is its mean, and its shape, the rest. Levels are exchanged in
    pairs between series that are at most p per cent of the ranks apart in the order of their levels, and so are shapes.
    The pairs for levels and for shapes are drawn independently, so that a published series has its level from one
    series and its shape from another. With near=own shapes are exchanged between series that are near in shape, by the
    first principal component of the shapes.

    Kept exactly, without missing cells: all levels and all shapes that there are, and so the sum over all series at
    every point (the aggregate curve), the mean of the file, and with its shape the autocorrelation and the spectrum of
    each series, now in another record. With `scale` the standard deviation goes with the level: shapes of small series
    then fit large ones, but the aggregate curve is kept on average only. Where level and shape together leave a
    declared range, values are brought back into it, and the release says how many. Not kept: what level and shape have
    to do with each other, and with the other attributes of the record, finer than the window. Several variables are
    swapped one by one.

    What an intruder can do: with one component alone the other stays in its record and links nearly all series, which
    the release says. With both, whoever knows a series finds its very shape in the release, though in the record of
    another. Whoever knows p keeps only records whose level is in the window, at most 2p per cent of all, and with the
    whole original file at hand about 1.4p, those near the owners of both the level and the shape; with near=own
    only those whose level and shape are both in it, about (2p)^2 / 100 per cent. So p should not be small for a small
    file.

    >>> from microveil.microdata import Microdata
    >>> days = Microdata.of({"t1": [1, 2, 10, 12], "t2": [3, 2, 14, 12], "t3": [2, 8, 12, 15]})
    >>> release = SeriesSwapping(p=50).mask(days, seed=1)
    >>> [round(float(release.data.numbers(name).values.sum()), 9) for name in days.names]
    [25.0, 31.0, 37.0]
    """

    name: ClassVar[str] = "series-swapping"
    family: ClassVar[str] = "swapping"
    summary: ClassVar[str] = (
        "levels and shapes of series change places with those of similar series; keeps every level, every shape and "
        "the aggregate curve"
    )
    missing: ClassVar[str] = (
        f"{STAY}; a shape is filled where its own series has no value, by interpolation or by the average shape"
    )
    source: ClassVar[str] = "Moore (1996), Nin and Torra (2006); Nin (2008), chapter 6"
    searched: ClassVar[Ranges] = ranges(
        p=Interval(1.0, 60.0, logarithmic=True),
        component=OneOf(("both", "level", "shape")),
        near=OneOf(("level", "own")),
    )

    p: float = parameter(
        default=10.0,
        help="largest difference in rank between series that exchange a component, as a percentage of the series",
        ge=0,
        le=100,
    )
    component: Literal["both", "level", "shape"] = parameter(
        default="both", help="what changes places: levels and shapes, each with another partner, or one of them alone"
    )
    near: Literal["level", "shape", "own"] = parameter(
        default="level",
        help="the order in which partners are near: both components by level, both by shape, or each by its own",
    )
    scale: bool = parameter(
        default=False, help="whether the standard deviation of a series belongs to its level, and not to its shape"
    )

    def _series(
        self, data: Microdata, series: Series, streams: Streams, progress: Progress
    ) -> tuple[FloatArray, tuple[Note, ...]]:
        rows = rows_with_values(series, 2, self.name)
        values = series.values[rows]
        level = means(values)
        size = spreads(values) if self.scale else np.ones(len(rows))
        unit = np.where(size > 0, size, 1.0)[:, None]
        shape = (completed(values, series.positions) - level[:, None]) / unit
        progress(0.3, f"{self.name}: {series.name}")
        orders = {"level": level, "shape": Axis.of(shape, False).scores(shape)}
        sources = {
            part: self._sources(orders[part if self.near == "own" else self.near], streams, series.name, part)
            for part in ("level", "shape")
            if self.component in ("both", part)
        }
        stay = np.arange(len(rows))
        from_level, from_shape = sources.get("level", stay), sources.get("shape", stay)
        moved = _without_level(shape[from_shape], values)
        masked = series.values.copy()
        masked[rows] = level[from_level, None] + size[from_level, None] * moved
        return masked, self._notes(series, (from_level == stay) & (from_shape == stay))

    def _sources(self, keys: FloatArray, streams: Streams, *labels: str) -> IntArray:
        """From which series each gets a component: from its partner, which gets the one of this in turn."""
        from microveil.numerics.perturbing.swapping import swap_partners

        rng = streams.generator(*labels)
        order = np.lexsort((rng.random(len(keys)), keys))
        window = min(len(keys), int(ranks(self.p, "percent", len(keys))))
        sources = np.empty(len(keys), dtype=np.int64)
        sources[order] = order[swap_partners(window, rng.random(len(keys)))]
        return sources

    def _notes(self, series: Series, unchanged: BoolArray) -> tuple[Note, ...]:
        notes: list[Note] = []
        if self.component == "level":
            notes.append(SHAPES_AS_THEY_ARE(method=self.name))
        if self.component != "level":
            notes.append(SHAPES_OF_OTHERS(method=self.name))
        if self.component == "shape":
            notes.append(LEVELS_AS_THEY_ARE(method=self.name))
        if unchanged.any():
            notes.append(SERIES_NOT_SWAPPED(series=series.name, unchanged=int(unchanged.sum())))
        return tuple(notes)


def _without_level(shapes: FloatArray, values: FloatArray) -> FloatArray:
    """Shapes with mean 0 over the points at which the series that get them have values."""
    present = ~np.isnan(values)
    if present.all():
        return shapes
    mean = (shapes * present).sum(axis=1) / present.sum(axis=1)
    return np.where(present, shapes - mean[:, None], np.nan)
