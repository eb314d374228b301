"""What methods for series share: one variable after the other, and what is told of a release."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from microveil.errors import DataError
from microveil.masking.base import Masked, Method
from microveil.masking.columns import columns_of
from microveil.masking.notes import SERIES_DYNAMICS, SERIES_IN_RANGE, SERIES_MEANS, Note, Value
from microveil.microdata import Attribute, Microdata
from microveil.microdata.microdata import count
from microveil.microdata.panel import Series
from microveil.numerics.series.components import points
from microveil.numerics.series.kept import kept_dynamics, kept_means
from microveil.progress import Part, Progress, parts
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

STAY = "cells that are missing stay missing, so gaps and lengths are published as they are and can single a series out"


class SeriesMethod(Method):
    """A method that masks each variable of a table of series by itself, over all of its points.

    A subclass implements `_series`. The release says in its notes, over the whole file and as measured, how far means
    moved, what became of the autocorrelation, and how much of the spectrum lies elsewhere.
    """

    joint: ClassVar[bool] = True
    over_time: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)

    @classmethod
    def suits(cls, data: Microdata, name: str) -> bool:
        panel = data.schema.panel
        return super().suits(data, name) and panel is not None and name in panel.all_columns

    @abstractmethod
    def _series(
        self, data: Microdata, series: Series, streams: Streams, progress: Progress
    ) -> tuple[FloatArray, tuple[Note, ...]]:
        """The masked values of one variable, and what there is to say of them beside what is measured."""

    def _described(self, data: Microdata, series: Series) -> tuple[Attribute, ...]:
        """Descriptions of attributes that change with the values, such as their range."""
        return ()

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        found = data.series_among(attributes)
        points_of = {name for series in found for name in series.columns}
        odd = next((name for name in attributes if name not in points_of), None)
        if odd is not None:
            raise DataError(f"attribute '{odd}' is not a point of any series, so {self.name} cannot mask it")
        columns: dict[str, pa.Array] = {}
        described: list[Attribute] = []
        notes: list[Note] = []
        for series, part in zip(found, parts(progress, len(found)), strict=True):
            masked, said = self._series(data, series, streams, Part(part, 0.0, 0.9))
            changed = self._described(data, series)
            table = data.with_columns({}, changed)
            published = _in_range(table, series.columns, masked)
            columns |= columns_of(table, series.columns, published)
            described += changed
            notes += [*said, *measured_notes(series, masked, published)]
            part(1.0, f"{self.name}: {series.name}")
        return Masked(columns, notes=tuple(notes), attributes=tuple(described))


def measured_notes(series: Series, masked: FloatArray, published: FloatArray) -> list[Note]:
    """What was kept of a variable, measured on what is published."""
    notes = []
    present = ~np.isnan(series.values)
    moved_back = int((masked != published)[present].sum())
    if moved_back:
        notes.append(SERIES_IN_RANGE(series=series.name, values=moved_back))
    published = np.where(present, published, np.nan)
    means, dynamics = kept_means(series.values, published), kept_dynamics(series.values, published)
    if means is not None:
        notes.append(SERIES_MEANS(series=series.name, file=means.file, own=means.series))
    if dynamics is not None:
        later: dict[str, Value] = (
            {"lag": dynamics.lag, "quarter_before": dynamics.quarter_before, "quarter_after": dynamics.quarter_after}
            if dynamics.lag > 1
            else {}
        )
        notes.append(
            SERIES_DYNAMICS(
                series=series.name,
                first_before=dynamics.first_before,
                first_after=dynamics.first_after,
                spectrum=dynamics.spectrum,
                **later,
            )
        )
    return notes


def rows_with_values(series: Series, at_least: int, why: str) -> IntArray:
    """The series that have any value; too few of them are refused."""
    rows = np.flatnonzero(points(series.values) > 0)
    if len(rows) < at_least:
        raise DataError(
            f"'{series.name}' has {count(len(rows), 'series', 'series')} with values, but {why} needs at least "
            f"{at_least}"
        )
    return np.asarray(rows)


def _in_range(data: Microdata, columns: Sequence[str], values: FloatArray) -> FloatArray:
    """The values as they are published: inside the ranges that the schema declares."""
    limits = np.array([data[name].range or (-np.inf, np.inf) for name in columns]).T
    return np.asarray(np.clip(values, limits[0], limits[1]))
