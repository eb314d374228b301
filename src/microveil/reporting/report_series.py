"""The pictures of a report on a table of series: the file as a whole, some series one by one, and autocorrelations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.microdata import Microdata
from microveil.microdata.panel import Series
from microveil.numerics.series.statistics import autocorrelations, means
from microveil.reporting.charts import Line, lines
from microveil.reporting.charts.scales import round_limits
from microveil.reporting.report_pictures import AFTER, BEFORE, Picture
from microveil.typing import FloatArray

_QUANTILES = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)  # of the levels of the series that are shown one by one
_MOST_VARIABLES = 4
_MOST_LAGS = 48
_MOST_DRAWN = 400  # points of a curve; a longer one is thinned
_WIDE, _NARROW = 860.0, 280.0
_ENOUGH = 5  # times the fewest records, for a picture that is to be seen by all


def names_apart(data: Microdata, names: Sequence[str]) -> tuple[str, ...]:
    """The attributes that are no values of series."""
    panel = data.schema.panel
    return tuple(name for name in names if panel is None or panel.variable_of(name) is None)


def series_pictures(pair: Pair) -> list[tuple[str, list[Picture], list[Picture]]]:
    """For each variable the pictures of the whole file, and the small ones of single series, before and after."""
    if pair.original.schema.panel is None:
        return []
    before = pair.original.series_among(pair.attributes)[:_MOST_VARIABLES]
    after = {series.name: series for series in pair.masked.series_among(pair.attributes)}
    return [
        (one.name, [_whole(one, after[one.name]), _memory(one, after[one.name])], _singles(one, after[one.name]))
        for one in before
        if one.name in after
    ]


def released_series_pictures(released: Microdata, names: Sequence[str], fewest: int) -> list[Picture]:
    """For each variable the middle half of the released series and their mean autocorrelation: nothing of a single
    series, nothing of the original, and nothing where too few series are there for a picture."""
    if released.schema.panel is None:
        return []
    made = []
    for series in released.series_among(names)[:_MOST_VARIABLES]:
        present = (~np.isnan(series.values)).sum(axis=0)
        if not len(present) or present.min() < _ENOUGH * fewest:
            continue
        drawn = [_band(AFTER, series, (0.25, 0.5, 0.75), digits=3)]
        made.append(
            Picture(
                _curves(drawn, series.name, "median and middle half of the released series"),
                f"{series.name}: median of the released series at each time, with the middle half of them",
            )
        )
        if series.values.shape[1] > 1:
            made.append(
                Picture(
                    _correlogram([_mean_autocorrelation(AFTER, series)], series.name),
                    f"{series.name}: mean autocorrelation of the released series",
                )
            )
    return made


def _whole(before: Series, after: Series) -> Picture:
    drawn = [_band(label, series, (0.1, 0.5, 0.9)) for label, series in ((BEFORE, before), (AFTER, after))]
    return Picture(
        _curves(drawn, before.name, "median and middle 80 % of all series"),
        f"{before.name}: median of all series at each time, with the middle 80 % of them, before and after masking",
    )


def _memory(before: Series, after: Series) -> Picture:
    drawn = [_mean_autocorrelation(label, series) for label, series in ((BEFORE, before), (AFTER, after))]
    return Picture(
        _correlogram(drawn, before.name),
        f"{before.name}: mean autocorrelation of the series, before and after masking",
    )


def _singles(before: Series, after: Series) -> list[Picture]:
    """Some series from low to high level, each before and after masking, on a common scale."""
    levels = means(before.values)
    known = np.flatnonzero(~np.isnan(levels))
    if not len(known):
        return []
    ranked = known[np.argsort(levels[known], kind="stable")]
    chosen = dict.fromkeys(int(ranked[round(share * (len(ranked) - 1))]) for share in _QUANTILES)
    rows = list(chosen)
    cells = np.concatenate([before.values[rows].ravel(), after.values[rows].ravel()])
    limits = round_limits(float(np.nanmin(cells)), float(np.nanmax(cells)))
    made = []
    for row in rows:
        share = 100 * float(np.searchsorted(levels[ranked], levels[row])) / len(ranked)
        drawn = [
            Line(label, _points(series.positions, series.values[row]))
            for label, series in ((BEFORE, before), (AFTER, after))
        ]
        words = f"a series whose mean is above that of {share:.0f} % of the others"
        svg = lines(
            drawn,
            title=f"{before.name}, {words}",
            description=f"The values of {words}, before and after masking.",
            x_title="time",
            y_title=before.name,
            y_limits=limits,
            width=_NARROW,
            height=190.0,
        )
        made.append(Picture(svg, f"{before.name}: {words}"))
    return made


def _band(label: str, series: Series, quantiles: tuple[float, float, float], digits: int | None = None) -> Line:
    """The median with a low and a high quantile at each time at which a series has a value."""
    some = np.flatnonzero((~np.isnan(series.values)).any(axis=0))
    some = some[_thinned(len(some))]
    if not len(some):
        return Line(label, [], [])
    low, middle, high = np.nanquantile(series.values[:, some], quantiles, axis=0)
    if digits is not None:
        low, middle, high = (np.array([float(f"{x:.{digits}g}") for x in part]) for part in (low, middle, high))
    at = series.positions[some].tolist()
    return Line(label, list(zip(at, middle.tolist(), strict=True)), list(zip(low.tolist(), high.tolist(), strict=True)))


def _mean_autocorrelation(label: str, series: Series) -> Line:
    most = min(_MOST_LAGS, series.values.shape[1] - 1)
    found = autocorrelations(series.values, max(0, most))
    known = found[~np.isnan(found).any(axis=1)]
    average = known.mean(axis=0) if len(known) else np.zeros(found.shape[1])
    return Line(label, [(float(lag), float(value)) for lag, value in enumerate(average)])


def _curves(drawn: Sequence[Line], name: str, what: str) -> str:
    return lines(
        drawn,
        title=f"{name}: {what}",
        description=f"The {what} of {name} at each time.",
        x_title="time, in units of the usual spacing",
        y_title=name,
        width=_WIDE,
    )


def _correlogram(drawn: Sequence[Line], name: str) -> str:
    return lines(
        drawn,
        title=f"{name}: mean autocorrelation",
        description=f"The autocorrelation of the series of {name} at each lag, on average over all series.",
        x_title="lag",
        y_title="autocorrelation",
        width=_WIDE,
        height=220.0,
    )


def _points(positions: FloatArray, values: FloatArray) -> list[tuple[float, float]]:
    present = np.flatnonzero(~np.isnan(values))
    present = present[_thinned(len(present))]
    return list(zip(positions[present].tolist(), values[present].tolist(), strict=True))


def _thinned(points: int) -> slice:
    """Every so many-th of very many points."""
    return slice(None, None, max(1, -(-points // _MOST_DRAWN)))
