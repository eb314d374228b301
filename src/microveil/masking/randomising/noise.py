"""Additive noise."""

from __future__ import annotations

from typing import ClassVar

from microveil.masking.base import Masked, Method
from microveil.microdata import Microdata
from microveil.numerics.standard import Scaling
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import Streams


@parameterised
class Noise(Method):
    """Normal noise with mean 0 and alpha times the attribute's variance, independent for every cell.

    Means are kept in expectation, variances grow by the factor 1 + alpha and correlations shrink by it. A constant
    attribute gets no noise, and a declared range is kept.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [31, 45, 62, 70]})
    >>> Noise(alpha=0.0).mask(people, seed=1).frame["age"].to_pylist()
    [31.0, 45.0, 62.0, 70.0]
    """

    name: ClassVar[str] = "noise"
    family: ClassVar[str] = "randomising"
    summary: ClassVar[str] = "adds independent normal noise to every value"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "missing cells and missing codes stay as they are"
    source: ClassVar[str] = "Kim (1986), Tendick (1991); specification 01, 6.1.1 (a)"

    alpha: float = parameter(0.1, help="variance of the noise, as a share of the attribute's variance", ge=0)

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        columns = {}
        for name, part in zip(attributes, parts(progress, len(attributes)), strict=True):
            values = data.numbers(name).values
            spread = Scaling.of(values[:, None]).deviation[0]
            drawn = streams.generator(name).standard_normal(len(values))
            columns[name] = data.number_column(name, values + self.alpha**0.5 * spread * drawn)
            part(1.0, f"{self.name}: {name}")
        return Masked(columns)
