"""Secure-k-Ward: k-Ward whose published values keep away from every value they stand for."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.masking.microaggregation.individual_ranking import OneByOne
from microveil.masking.publishing.publishing import Publishing
from microveil.masking.publishing.secure_mean import SecureMean
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class SecureKWard(OneByOne):
    """k-Ward on each attribute by itself; a mean too close to one of its members is moved off all of them.

    The published value is the nearest one, above or below the mean, at least epsilon from every member; above or below
    is chosen so that the shifts of the groups cancel in the attribute's overall mean.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1.0, 2.0, 2.9, 11.0, 12.0, 13.1]})
    >>> release = SecureKWard(k=3, epsilon=0.02).mask(people)
    >>> [round(value, 3) for value in release.frame["a"].to_pylist()]
    [1.898, 1.898, 1.898, 12.102, 12.102, 12.102]
    """

    name: ClassVar[str] = "secure-k-ward"
    summary: ClassVar[str] = "k-Ward whose published values keep a distance from every original value of the group"
    source: ClassVar[str] = "Li et al. (2002); Fayyoumi (2008), section 2.6.3.1"

    publishing: Publishing = parameter(default=SecureMean(), help="what a group publishes")

    def _axis_groups(self, values: FloatArray, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.ward import k_ward_groups

        return k_ward_groups(values, self.k)
