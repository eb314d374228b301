"""Noise that varies over time as the series do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.masking.likelihood import Normal, Statement
from microveil.masking.notes import LEVELS_AS_THEY_ARE, SERIES_WITHOUT_NOISE, Note
from microveil.masking.ranges import Interval, OneOf, Ranges, ranges
from microveil.microdata import Microdata
from microveil.microdata.panel import Series
from microveil.numerics.series.autocorrelated_noise import (
    amplitudes,
    coefficients,
    covariance_by_spectrum,
    covariance_by_steps,
    file_amplitudes,
    noise_by_spectrum,
    noise_by_steps,
    step_ratios,
    without_mean,
)
from microveil.numerics.series.components import points, pooled_spread, spreads
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams
from microveil.series.methods.base import STAY, SeriesMethod, rows_with_values
from microveil.typing import FloatArray

Whose = Literal["series", "file"]
_CELLS = 2_000_000  # cells for which noise is drawn at a time


@parameterised
class SeriesNoise(SeriesMethod):
    """Normal noise is added to every series, correlated over time as the series are, so that it cannot be smoothed away
    and does not make them rougher than they were. With s the standard deviation within the series of
    the file, or within each series:

    - frequency: noise of standard deviation size s whose spectrum is that of the series, with random phases. In
      expectation the power at every frequency but 0 grows by the factor 1 + size^2 (where s is that of the series), so
      the normalised spectrum and the circular autocorrelation are kept at every lag. The usual autocorrelation falls by
      some hundredths, more so where a series ends far from where it began.
    - differences: independent noise is added to the differences and summed up again, falling back towards 0 at such a
      rate that the drift stays bounded: the standard deviation of the noise is size s, and the ratio of mean squared
      differences to variance stays as it was. So the autocorrelation is kept at lag 1, but for some hundredths,
      and elsewhere only in part.

    The noise has mean 0 over each series; beside it every level is shifted by level s times a normal number. Kept on
    average: the means of series and of the file, the aggregate curve, and the autocorrelation as above. Variances
    within series grow by 1 + size^2. With level 0 the mean of every series is kept exactly, and links it.

    What an intruder can do: noise that is as smooth as the series hides levels better than changes, so one who knows
    many points links series by their changes more often than by their values. With scale=series the noise follows the
    size of each series: quiet ones are published nearly as they are, a constant one exactly, and long series are
    linked nearly all unless size is far above 1. With scale=file, which is usual, small series are hidden best, and
    those far larger than the others least.

    >>> from microveil.microdata import Microdata
    >>> days = Microdata.of({"t1": [1, 2, 10], "t2": [3, 2, 14], "t3": [2, 8, 12]})
    >>> release = SeriesNoise(level=0.0).mask(days, seed=1)
    >>> round(float(np.mean([release.data.numbers(name).values[1] for name in days.names])), 9)
    4.0
    """

    name: ClassVar[str] = "series-noise"
    family: ClassVar[str] = "randomising"
    summary: ClassVar[str] = (
        "adds noise to series that has their spectrum, or follows their differences, so that autocorrelations are kept "
        "on average"
    )
    missing: ClassVar[str] = f"{STAY}; a spectrum takes them for the level of their series"
    source: ClassVar[str] = "Kim (1986), Nin and Torra (2006); Nin (2008), chapter 6"
    searched: ClassVar[Ranges] = ranges(
        size=Interval(0.05, 2.0, logarithmic=True),
        level=Interval(0.05, 2.0, logarithmic=True),
        mode=OneOf(("frequency", "differences")),
        scale=OneOf(("file", "series")),
    )

    mode: Literal["frequency", "differences"] = parameter(
        default="frequency", help="noise with the spectrum of the series, or noise added to its differences"
    )
    size: float = parameter(
        default=0.5, help="standard deviation of the noise, as a share of the standard deviation", ge=0, le=1e6
    )
    level: float = parameter(
        default=0.5,
        help="standard deviation of the shift of a whole series, as a share of the same; 0 keeps every mean exactly",
        ge=0,
        le=1e6,
    )
    scale: Whose = parameter(
        default="file",
        help="whose standard deviation within series the noise is measured by: of each series, or of all in the file",
    )
    like: Whose = parameter(
        default="series",
        help="whose spectrum, or ratio of differences, the noise follows: of each series, or the average of the file",
    )

    def __post_init__(self) -> None:
        if self.size == 0 and self.level == 0:
            raise ParameterError(f"{self.name}: size and level cannot both be 0; that would change nothing")

    def _series(
        self, data: Microdata, series: Series, streams: Streams, progress: Progress
    ) -> tuple[FloatArray, tuple[Note, ...]]:
        rows = rows_with_values(series, 0, self.name)
        values = series.values[rows]
        if not rows.size:
            return series.values.copy(), ()
        unit = self._units(values)
        shift = self.level * unit * streams.generator(series.name, "level").standard_normal(len(rows))
        rng = streams.generator(series.name, self.mode)
        shared = self._of_file(values)
        masked = series.values.copy()
        chunk = max(1, _CELLS // values.shape[1])
        for first in range(0, len(rows), chunk):
            part = slice(first, first + chunk)
            noise = without_mean(self._drawn(values[part], shared, rng), ~np.isnan(values[part]))
            masked[rows[part]] = values[part] + shift[part, None] + self.size * unit[part, None] * noise
            progress(min(1.0, (first + chunk) / len(rows)), f"{self.name}: {series.name}")
        return masked, self._notes(series, unit)

    def likelihood(
        self, data: Microdata, attributes: tuple[str, ...], streams: Streams
    ) -> Mapping[tuple[str, ...], Statement]:
        """Where all series get noise of one covariance: of the file's size and spectrum, without missing cells."""
        if self.scale != "file" or self.like != "file":
            return {}
        found = [series for series in data.series_among(attributes) if not np.isnan(series.values).any()]
        return {series.columns: Normal(1.0, self._covariance(series.values)) for series in found}

    def _covariance(self, values: FloatArray) -> FloatArray:
        length, shared = values.shape[1], self._of_file(values)
        noise = np.zeros((length, length))
        if length > 1 and self.mode == "frequency":
            noise = covariance_by_spectrum(shared, length)
        elif length > 1:
            noise = covariance_by_steps(float(shared[0]), length)
        return np.asarray(pooled_spread(values) ** 2 * (self.size**2 * noise + self.level**2))

    def _units(self, values: FloatArray) -> FloatArray:
        """The standard deviation by which noise is measured; a series of one point has that of the file."""
        file = pooled_spread(values)
        if self.scale == "file":
            return np.full(len(values), file)
        return np.where(points(values) > 1, spreads(values), file)

    def _of_file(self, values: FloatArray) -> FloatArray:
        """What noise follows where a series has nothing of its own: the file's spectrum, or its coefficient."""
        if self.mode == "frequency":
            return file_amplitudes(values)
        ratios = step_ratios(values)
        known = ~np.isnan(ratios)
        return coefficients(np.array([ratios[known].mean() if known.any() else 2.0]), max(2, values.shape[1]))

    def _drawn(self, values: FloatArray, shared: FloatArray, rng: np.random.Generator) -> FloatArray:
        length = values.shape[1]
        if length < 2:
            return np.zeros_like(values)
        if self.mode == "frequency":
            own = amplitudes(values) if self.like == "series" else np.zeros((len(values), len(shared)))
            varies = np.asarray(own.any(axis=1))[:, None]
            return noise_by_spectrum(np.where(varies, own, shared), length, rng)
        ratios = step_ratios(values) if self.like == "series" else np.full(len(values), np.nan)
        return noise_by_steps(np.where(np.isnan(ratios), shared[0], coefficients(ratios, length)), length, rng)

    def _notes(self, series: Series, unit: FloatArray) -> tuple[Note, ...]:
        notes: list[Note] = []
        if self.level == 0:
            notes.append(LEVELS_AS_THEY_ARE(method=self.name))
        if (unit == 0).any():
            notes.append(SERIES_WITHOUT_NOISE(series=series.name, constant=int((unit == 0).sum())))
        return tuple(notes)
