"""Additive noise with a Laplace distribution."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.masking import Masked, Method
from microveil.microdata import Microdata
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import Streams


@parameterised
class LaplaceNoise(Method):
    """Adds to every value a draw from a Laplace distribution, whose tails are heavier than those of normal noise.

    The scale of the noise is a share of the attribute's standard deviation; each attribute is masked by itself.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [31.0, 45.0, 62.0, 70.0]})
    >>> LaplaceNoise(scale=0.0).mask(people, seed=1).frame["age"].to_pylist()
    [31.0, 45.0, 62.0, 70.0]
    """

    name: ClassVar[str] = "laplace-noise"
    family: ClassVar[str] = "randomising"
    summary: ClassVar[str] = "adds Laplace noise to every value"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "missing cells and missing codes stay as they are"
    source: ClassVar[str] = "Dwork, McSherry, Nissim and Smith (2006), the Laplace mechanism"

    scale: float = parameter(
        default=0.2, help="scale of the noise, as a share of the attribute's standard deviation", ge=0, le=1e6
    )

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        columns = {}
        for name, part in zip(attributes, parts(progress, len(attributes)), strict=True):
            values = data.numbers(name).values  # NaN where a cell is missing
            present = values[~np.isnan(values)]
            spread = float(present.std()) if len(present) and present.min() < present.max() else 0.0
            # a stream of its own for every attribute: what it becomes does not depend on the others
            noise = streams.generator(name).laplace(0.0, 1.0, len(values))
            columns[name] = data.number_column(name, values + self.scale * spread * noise)
            part(1.0, f"{self.name}: {name}")
        return Masked(columns)
