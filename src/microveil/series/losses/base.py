"""What losses of series share: the series of both tables side by side, and one loss out of those of single series."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.losses.base import Loss, LossMeasure
from microveil.numerics.series.spans import Spans, filled
from microveil.parameters import parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray


class Compared(NamedTuple):
    """The series of one variable before and after masking, a row a record; what was missing is missing in both."""

    name: str
    columns: tuple[str, ...]
    positions: FloatArray
    before: FloatArray
    after: FloatArray

    @property
    def spans(self) -> Spans:
        """Where the series begin and end."""
        return Spans.of(~np.isnan(self.before))

    def without_gaps(self) -> tuple[FloatArray, FloatArray]:
        """Both, complete from the beginning to the end of each original series: straight lines over gaps."""
        return filled(self.before, self.positions, self.spans), filled(self.after, self.positions, self.spans)


class Changes(NamedTuple):
    """Of one variable: how far each series has changed, NaN for one without a cell, and further forms of it."""

    per_series: FloatArray
    details: Mapping[str, FloatArray]


@parameterised
class SeriesLoss(LossMeasure):
    """A loss over the series of a table; in a table that is not declared to have any, its numeric attributes are taken
    for one, in their order.

    `per_attribute` has the loss of each variable.
    """

    family: ClassVar[str] = "series"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    of_series: ClassVar[bool] = True

    @classmethod
    def suited(cls, pair: Pair) -> bool:
        return bool(pair.in_series)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        return self._loss(compared_series(pair, attributes, self.name), progress)

    @abstractmethod
    def _loss(self, series: Sequence[Compared], progress: Progress) -> Loss:
        """The loss over the series of all variables."""

    def _put_together(self, series: Sequence[Compared], changes: Sequence[Changes]) -> Loss:
        """The mean over all series of all variables, as a loss."""
        per_variable = {one.name: 100 * _mean(found.per_series) for one, found in zip(series, changes, strict=True)}
        details = {
            name: 100 * _mean(np.concatenate([found.details[name].ravel() for found in changes]))
            for name in changes[0].details
        }
        value = _mean(np.concatenate([found.per_series for found in changes]))
        return Loss.of(self.name, value, columns_of(series), per_attribute=per_variable, details=details)


def compared_series(pair: Pair, attributes: Sequence[str], measure: str) -> tuple[Compared, ...]:
    """The series that these attributes are values of, in both tables."""
    before, after = (data.series_among(attributes) for data in (pair.original, pair.masked))
    if not before:
        raise DataError(f"there is no series among the attributes for {measure} to work on")
    return tuple(
        Compared(one.name, one.columns, one.positions, one.values, np.where(np.isnan(one.values), np.nan, other.values))
        for one, other in zip(before, after, strict=True)
    )


def columns_of(series: Sequence[Compared]) -> tuple[str, ...]:
    """The attributes that the series are made of."""
    return tuple(column for one in series for column in one.columns)


def _mean(values: FloatArray) -> float:
    """Over what is known; 0 where nothing is."""
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if kept.size else 0.0
