"""Multivariate top coding: records far from the others are moved towards the robust centre of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from microveil.errors import DataError
from microveil.masking.base import Masked, Method
from microveil.masking.columns import columns_of
from microveil.masking.notes import FLAT_ELLIPSOID, LARGER_SHARE, NO_ROBUST_SPREAD, RECORDS_MOVED, Note
from microveil.masking.ranges import Interval, Ranges, ranges
from microveil.microdata import Microdata
from microveil.microdata.microdata import count
from microveil.numerics.statistics.minimum_covariance_determinant import (
    RobustEllipsoid,
    chi_squared_quantile,
    shortest_half,
)
from microveil.parameters import parameter, parameterised
from microveil.progress import Part, Progress
from microveil.randomness import PublicStreams, Streams
from microveil.typing import BoolArray, FloatArray

_RECORDS_PER_ATTRIBUTE = 5  # with fewer, the most concentrated half tells little of the others
_ROUNDING = 1e-9  # a record moved onto the ellipsoid is not moved again by a second application


@parameterised
class MultivariateTopCoding(Method):
    """Moves records that are far from the others, in all attributes together, onto the tolerance ellipsoid.

    How far a record is, is its robust distance: the Mahalanobis distance by the minimum covariance determinant, the
    centre and covariance of the most concentrated half of the records, reweighted. A record whose distance exceeds the
    root of the `quantile` of the chi-squared distribution, with as many degrees of freedom as there are attributes, is
    moved along the straight line to the robust centre until it has just that distance. So are records with an unusual
    combination of values none of which is unusual by itself. All others stay as they are.

    What is hidden is how far away a record was. The direction in which it lies from the centre is kept, and whoever
    estimates the ellipsoid from the release sees which records were moved: ratios of the deviations from the centre
    stay true. Records inside the ellipsoid are released as they are; mask them by another method.

    Sums that hold between attributes, such as a total and its parts, are kept. An attribute with more than half of its
    values equal, such as savings that are mostly 0, has no robust spread and is left as it is.

    >>> from microveil.microdata import Microdata
    >>> income = [20.0, 24.0, 22.0, 27.0, 23.0, 21.0, 25.0, 26.0, 24.0, 95.0]
    >>> people = Microdata.of({"income": income})
    >>> MultivariateTopCoding().mask(people).data.numbers("income").values.round(1)[-2:].tolist()
    [24.0, 28.8]
    """

    name: ClassVar[str] = "multivariate-top-coding"
    family: ClassVar[str] = "coarsening"
    summary: ClassVar[str] = (
        "multivariate top coding: records with a large robust distance are moved towards the robust centre"
    )
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    random: ClassVar[bool] = False
    joint: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; the ellipsoid is that of the complete records, and others "
        "are measured and moved by the cells that they have"
    )
    source: ClassVar[str] = (
        "Rousseeuw and Van Driessen (1999) on the minimum covariance determinant; Croux and Haesbroeck (1999) on its "
        "consistency; Templ and Meindl (2008) on robust distances of records that stand out"
    )
    searched: ClassVar[Ranges] = ranges(quantile=Interval(0.75, 0.999))

    quantile: float = parameter(
        default=0.975, help="share of normally distributed records that lie inside the ellipsoid", ge=0.5, lt=1
    )
    share: float = parameter(
        default=0.5,
        help="share of the records whose covariance has the least determinant; a half stands the most outliers",
        ge=0.5,
        le=1,
    )

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        values = data.matrix(attributes)
        chosen, notes = self._chosen_columns(values, attributes)
        if chosen.any():
            measured = tuple(name for name, taken in zip(attributes, chosen, strict=True) if taken)
            coded = self._coded(values[:, chosen], measured, Part(progress, 0.0, 0.9))
            values[:, chosen] = coded.values
            notes += coded.notes
        return Masked(columns_of(data, attributes, values), notes=notes)

    def _chosen_columns(self, values: FloatArray, attributes: tuple[str, ...]) -> tuple[BoolArray, tuple[Note, ...]]:
        """The attributes in which records can be far from each other."""
        spread = np.array([shortest_half(column) for column in values.T])
        varies = np.nanmax(values, axis=0, initial=-np.inf) > np.nanmin(values, axis=0, initial=np.inf)
        concentrated = varies & (spread == 0)
        names = [name for name, told in zip(attributes, concentrated, strict=True) if told]
        return spread > 0, tuple(NO_ROBUST_SPREAD(method=self.name, attribute=name) for name in names)

    def _coded(self, values: FloatArray, attributes: tuple[str, ...], progress: Progress) -> _Coded:
        complete = values[~np.isnan(values).any(axis=1)]
        needed = _RECORDS_PER_ATTRIBUTE * len(attributes)
        no_spread = len(complete) >= needed and any(shortest_half(column) == 0 for column in complete.T)
        if len(complete) < needed or no_spread:
            lack = "too few" if len(complete) < needed else "too much alike"
            raise DataError(
                f"{count(len(complete), 'record')} without missing cells are {lack} for {self.name} on "
                f"{count(len(attributes), 'attribute')}; it needs {needed} whose values differ"
            )
        starts = PublicStreams(1).generator("minimum covariance determinant")
        ellipsoid = RobustEllipsoid.of(complete, self.share, starts, progress)
        if ellipsoid is None:
            raise DataError(
                f"{self.name} finds no ellipsoid around the records, for {', '.join(attributes)} have values of too "
                "different size; mask some of them apart, or top-code them first"
            )
        squared, dimensions = ellipsoid.squared_distances(values)
        limit = chi_squared_quantile(self.quantile, np.maximum(dimensions, 1))
        beyond = squared > limit * (1 + _ROUNDING)
        kept = np.sqrt(limit[beyond] / squared[beyond])[:, None]
        values = values.copy()
        values[beyond] = ellipsoid.centre + kept * (values[beyond] - ellipsoid.centre)
        notes = [
            RECORDS_MOVED(
                method=self.name,
                records=int(beyond.sum()),
                of=len(values),
                attributes=attributes,
                distance=float(np.sqrt(limit[np.argmax(dimensions)])),
            )
        ]
        if dimensions.max() < len(attributes):
            notes.append(FLAT_ELLIPSOID(method=self.name, attributes=attributes, dimensions=int(dimensions.max())))
        if ellipsoid.share > self.share:
            notes.append(LARGER_SHARE(method=self.name, attributes=attributes, share=ellipsoid.share))
        return _Coded(values, tuple(notes))


@dataclass(frozen=True)
class _Coded:
    values: FloatArray
    notes: tuple[Note, ...]
