"""Smoothing of series, and aggregation in time."""

from __future__ import annotations

from typing import ClassVar, Literal

from microveil.masking.notes import FILTER_CAN_BE_UNDONE, LEVELS_AS_THEY_ARE, MAXIMA_AS_THEY_ARE, Note
from microveil.masking.ranges import OneOf, Ranges, Whole, ranges
from microveil.microdata import Attribute, Microdata
from microveil.microdata.panel import Series
from microveil.numerics.series.filters import Statistic, aggregated, exponential, low_pass, moving_average
from microveil.parameters import MOST_ATTRIBUTES, parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams
from microveil.series.methods.base import STAY, SeriesMethod
from microveil.typing import FloatArray


@parameterised
class Smoothing(SeriesMethod):
    """Every series by itself is made smoother, so that short events in it can no longer be seen.

    - low-pass: waves shorter than two windows are taken out, so that about one number in a window is left. The mean of
      a series without gaps, its slow waves and so its autocorrelation at long lags are kept exactly; the power at the
      others is gone and cannot be computed back.
    - moving-average: the mean of the values in a window around each point.
    - exponential: a point takes the share 2 / (window + 1) of its value, the rest from the smoothed value before it.

    The sum over all series is smoothed like each of them. What an intruder can do: nothing is hidden of who is who. The
    order of the levels stays, so who knows a series finds its record nearly always; combine it with a method that
    hides levels and shapes. The moving average and the exponential one are systems of equations with, as a rule, as
    many equations as unknowns: whoever knows the window solves them for the original values.

    >>> from microveil.microdata import Microdata
    >>> days = Microdata.of({"t1": [1.0, 2.0], "t2": [3.0, 2.0], "t3": [8.0, 2.0]})
    >>> Smoothing(form="moving-average", window=3).mask(days).frame["t2"].to_pylist()
    [4.0, 2.0]
    """

    name: ClassVar[str] = "smoothing"
    family: ClassVar[str] = "coarsening"
    random: ClassVar[bool] = False
    summary: ClassVar[str] = (
        "smooths every series over time: without its short waves, by a moving average or exponentially"
    )
    missing: ClassVar[str] = f"{STAY}; averages are of the values that are there, and short waves are sought over gaps"
    source: ClassVar[str] = "Nin and Torra (2006); Nin (2008), chapter 6"
    searched: ClassVar[Ranges] = ranges(window=Whole(2, 48), form=OneOf(("low-pass", "moving-average", "exponential")))

    form: Literal["low-pass", "moving-average", "exponential"] = parameter(
        default="low-pass", help="without waves shorter than two windows, a centred mean, or exponential"
    )
    window: int = parameter(default=4, help="number of points that are blurred together", ge=2, le=MOST_ATTRIBUTES)

    def _series(
        self, data: Microdata, series: Series, streams: Streams, progress: Progress
    ) -> tuple[FloatArray, tuple[Note, ...]]:
        progress(0.1, f"{self.name}: {series.name}")
        notes = (LEVELS_AS_THEY_ARE(method=self.name),)
        if self.form == "low-pass":
            return low_pass(series.values, self.window, series.positions), notes
        smooth = moving_average if self.form == "moving-average" else exponential
        return smooth(series.values, self.window), (*notes, FILTER_CAN_BE_UNDONE(method=self.name, form=self.form))


@parameterised
class TimeAggregation(SeriesMethod):
    """Time is cut into windows of so many points, and at all points of a window its mean, sum or maximum is published;
    the last window has the points that are left over, too.

    Kept exactly by the mean: the mean of every window, and so, without missing cells, of every series; and the sum over
    all series in every window. Kept exactly by the sum: the totals, at each point that of the whole window, so that
    values grow by the length of the window. The maximum keeps peaks and raises everything else. Within a window nothing
    is kept: autocorrelations shorter than it become larger, and waves shorter than two windows vanish.

    What an intruder can do: nothing is hidden of who is who, since the mean of a series is published as it is. A
    maximum is the true value of a point, which the release says.

    >>> from microveil.microdata import Microdata
    >>> days = Microdata.of({"t1": [1.0, 2.0], "t2": [3.0, 2.0], "t3": [8.0, 2.0]})
    >>> TimeAggregation(window=2).mask(days).frame["t1"].to_pylist()
    [4.0, 2.0]
    """

    name: ClassVar[str] = "time-aggregation"
    family: ClassVar[str] = "coarsening"
    random: ClassVar[bool] = False
    summary: ClassVar[str] = "publishes the mean, sum or maximum over windows of time, at each of their points"
    missing: ClassVar[str] = f"{STAY}; a window's mean, sum and maximum are of the values that are there"
    source: ClassVar[str] = "Nin and Torra (2006); Nin (2008), chapter 6"
    searched: ClassVar[Ranges] = ranges(window=Whole(2, 48))

    window: int = parameter(default=4, help="number of points in a window", ge=2, le=MOST_ATTRIBUTES)
    statistic: Statistic = parameter(default="mean", help="what is published of a window: mean, sum or maximum")

    def _series(
        self, data: Microdata, series: Series, streams: Streams, progress: Progress
    ) -> tuple[FloatArray, tuple[Note, ...]]:
        progress(0.1, f"{self.name}: {series.name}")
        told = MAXIMA_AS_THEY_ARE if self.statistic == "maximum" else LEVELS_AS_THEY_ARE
        notes = (told(method=self.name),)
        return aggregated(series.values, self.window, self.statistic), notes

    def _described(self, data: Microdata, series: Series) -> tuple[Attribute, ...]:
        """The sum of a window has a range as many times as wide."""
        if self.statistic != "sum":
            return ()
        most = min(2 * self.window - 1, len(series.columns))
        attributes = [data[name] for name in series.columns]
        return tuple(
            one.changed(range=(min(one.range[0], most * one.range[0]), max(one.range[1], most * one.range[1])))
            for one in attributes
            if one.range is not None
        )
