"""Lossy compression: the table squeezed like a photograph."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.base import Masked, Method
from microveil.masking.columns import columns_of
from microveil.masking.ranges import Ranges, Whole, ranges
from microveil.microdata import Microdata
from microveil.numerics.statistics.moments import paired_covariance
from microveil.numerics.statistics.scaling import min_max, standardise
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams
from microveil.typing import FloatArray


@parameterised
class Lossy(Method):
    """The table is taken for a grey image, a record a line and an attribute a column, each scaled to 0 to 255 between
    its least and largest value; the image is compressed as JPEG does it and scaled back.

    Blocks of 8 records and 8 attributes are blurred together, so the order of the records in the file matters and is
    part of the method, and so is that of the attributes. The lower the quality, the more is lost; even the best rounds
    to 256 steps. A constant attribute is left out of the image. The extremes of an attribute are not hidden.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43], "income": [0, 255, 0, 255]})
    >>> release = Lossy(quality=90).mask(people)
    >>> bool(abs(release.data.numbers("income").values - [0, 255, 0, 255]).max() < 20)
    True
    """

    name: ClassVar[str] = "lossy"
    family: ClassVar[str] = "randomising"
    joint: ClassVar[bool] = True
    random: ClassVar[bool] = False
    summary: ClassVar[str] = "the table is compressed with loss, as a JPEG image, and decompressed"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; in the image they have the mean of their attribute"
    )
    source: ClassVar[str] = "Domingo-Ferrer and Torra (2001b), JPEG; Fayyoumi (2008), section 2.5.1"
    searched: ClassVar[Ranges] = ranges(quality=Whole(5, 100, logarithmic=False))

    quality: int = parameter(default=50, help="JPEG quality of the image, in per cent", ge=1, le=100)
    order: Literal["given", "correlated"] = parameter(
        default="given", help="order of the attributes in the image: as given, or correlated ones side by side"
    )

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        from microveil.numerics.perturbing.jpeg import compressed

        values = data.matrix(attributes)
        positions = self._positions(values)
        masked = values.copy()
        if positions:
            pictured = values[:, positions]
            grey = np.round(255.0 * min_max(pictured))
            means = np.nanmean(grey, axis=0)
            progress(0.3, f"{self.name}: compressing the image")
            seen = compressed(np.where(np.isnan(grey), means, grey), self.quality)
            low, high = np.nanmin(pictured, axis=0), np.nanmax(pictured, axis=0)
            masked[:, positions] = np.clip(low + seen / 255.0 * (high - low), low, high)
        progress(0.9, f"{self.name}: image decompressed")
        return Masked(columns_of(data, attributes, masked))

    def _positions(self, values: FloatArray) -> list[int]:
        """The attributes in the image, in order; constants and those without any value are left out."""
        from microveil.numerics.perturbing.jpeg import correlated_order

        covariance = paired_covariance(standardise(values))
        varying = np.flatnonzero(np.diag(covariance) > 0)
        if self.order == "given" or not varying.size:
            return [int(j) for j in varying]
        return [int(varying[j]) for j in correlated_order(covariance[np.ix_(varying, varying)])]
