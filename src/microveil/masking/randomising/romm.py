"""Random orthogonal matrix masking: records are mixed so that means and covariances stay exactly as they are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.masking.base import Masked, Method
from microveil.masking.columns import columns_of
from microveil.masking.ranges import Interval, Ranges, ranges
from microveil.microdata import Microdata
from microveil.microdata.microdata import check_records
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams

_FEWEST = 5  # with a block of two, values would at most be swapped


@parameterised
class ROMM(Method):
    """V' = T V, where T is a random orthogonal matrix whose rows add up to 1: means, variances and covariances of the
    attributes are exactly those of the original, and single values are mixtures.

    A matrix over all records grows with the square of their number. So the records are divided at random into blocks of
    about `block`, each with a matrix of its own: the moments stay exact, in every block and in all, and the work grows
    with the number of records. With a small `strength` the matrices are near the identity, and records little changed;
    with a large one they are drawn from all such matrices alike, and no record is like any one of the original.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"wage": [10.0, 20.0, 30.0, 25.0, 45.0], "rent": [1.0, 5.0, 3.0, 4.0, 9.0]})
    >>> masked = ROMM(strength=5.0).mask(people, seed=1).data.matrix(["wage", "rent"])
    >>> np.allclose(np.cov(masked.T), np.cov(people.matrix(["wage", "rent"]).T)), masked.mean(axis=0).round(6).tolist()
    (True, [26.0, 4.4])
    """

    name: ClassVar[str] = "romm"
    family: ClassVar[str] = "randomising"
    summary: ClassVar[str] = "random orthogonal matrix masking: records are mixed; means and covariances stay exact"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    joint: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; into other records they are mixed as their mean, so that "
        "with missing cells means and covariances are kept about, not exactly"
    )
    source: ClassVar[str] = "Ting, Fienberg and Trottini (2008)"
    searched: ClassVar[Ranges] = ranges(strength=Interval(0.02, 5.0, logarithmic=True))

    strength: float = parameter(
        default=0.3, help="how far the matrices are from the identity; 5 is nearly as far as can be", gt=0, le=1e6
    )
    block: int = parameter(default=100, help="records that are mixed with each other", ge=_FEWEST, le=2_000)

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        from microveil.numerics.perturbing.orthogonal import blocks_of, rotated

        values = data.matrix(attributes)
        check_records(data, _FEWEST, self.name)
        absent = np.isnan(values)
        filled = np.where(absent, Scaling.of(values).mean, values)
        blocks = blocks_of(len(data), self.block, streams.generator("blocks"))
        mixed = rotated(filled, blocks, self.strength, streams.generator("matrices"))
        return Masked(columns_of(data, attributes, np.where(absent, np.nan, mixed)))
