"""Mic1D-kappa: one-dimension microaggregation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from microveil.masking.base import Masked, Method
from microveil.masking.microaggregation.classification import Traits
from microveil.masking.notes import BACK_IN_RANGE, FEWER_THAN_KAPPA, OUTSIDE_RANGE, Note
from microveil.microdata import Microdata
from microveil.numerics.grouping.mic1d import mic1d
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams


@parameterised
class Mic1D(Method):
    """All values of the table, whatever their attribute, are sorted and averaged together in partitions of kappa.

    It breaks the links between attributes and needs no choice of attributes that go together. Means are not kept, and
    a value can leave the range of its attribute (`clip` prevents that). kappa counts values, not records; the loss
    does not grow steadily with it, so try some values around the one wanted.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [23, 23, 55, 80, 30], "height": [159, 177, 173, 155, 180]})
    >>> [round(age, 1) for age in Mic1D(kappa=5).mask(people).frame["age"].to_pylist()]
    [26.2, 26.2, 70.4, 70.4, 26.2]
    """

    name: ClassVar[str] = "mic1d"
    family: ClassVar[str] = "microaggregation"
    summary: ClassVar[str] = "averages all values of the table together, across attributes, in partitions of kappa"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "missing cells and missing codes take no part and stay as they are"
    traits: ClassVar[Traits] = Traits("multivariate", "none", "heuristic")
    source: ClassVar[str] = "Nin (2008), section 3.3.1"
    random: ClassVar[bool] = False
    quick: ClassVar[Mapping[str, Any]] = MappingProxyType({"kappa": 30, "clip": True})

    kappa: int = parameter(
        default=500, help="number of values, of all attributes, that are averaged together", ge=2, le=MOST_RECORDS
    )
    clip: bool = parameter(default=False, help="keep every value within the original range of its attribute")

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        original = data.matrix(attributes)
        published = mic1d(original, self.kappa)
        low = np.fmin.reduce(original, axis=0)
        high = np.fmax.reduce(original, axis=0)
        outside = int(((published < low) | (published > high)).sum())
        if self.clip:
            published = np.clip(published, low, high)
        progress(1.0, f"{self.name}: averaging values")
        columns = {name: data.number_column(name, published[:, j]) for j, name in enumerate(attributes)}
        return Masked(columns, notes=self._notes(int((~np.isnan(original)).sum()), outside))

    def _notes(self, values: int, outside: int) -> tuple[Note, ...]:
        notes = []
        if outside:
            notes.append((BACK_IN_RANGE if self.clip else OUTSIDE_RANGE)(values=outside))
        if values < self.kappa:
            notes.append(FEWER_THAN_KAPPA(values=values))
        return tuple(notes)
