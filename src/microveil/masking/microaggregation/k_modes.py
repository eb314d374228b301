"""Microaggregation by k-modes: clusters around modes and medians, made large enough."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.masking.microaggregation.mdav_generic import Generic
from microveil.masking.ranges import GROUP_SIZES, Ranges, ranges
from microveil.numerics.neighbours.mixed_distance import MEAN, MEDIAN, Axes
from microveil.parameters import parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class KModes(Generic):
    """As many clusters as groups of k would be, around the most frequent categories (the medians of ordered ones and of
    numbers); then every cluster of fewer than k records joins the one with the nearest centre.

    Equal records are always in the same group, so few of them are changed, and groups can be large. The clustering
    begins with records that are as dissimilar as can be and needs no chance.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": list("ffmmmf"), "job": ["cook", "cook", "smith", "smith", "smith", "nurse"]})
    >>> KModes(k=2).mask(people).frame["job"].to_pylist()
    ['cook', 'cook', 'smith', 'smith', 'smith', 'cook']
    """

    name: ClassVar[str] = "k-modes"
    summary: ClassVar[str] = "clusters around the most frequent categories, joined until each has k records"
    source: ClassVar[str] = "Huang (1998); Torra (2004a); Fayyoumi (2008), section 2.6.4"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES)

    def _mixed_groups(self, columns: FloatArray, axes: Axes, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.clustering.c_medians import c_medians_from, dissimilar_centres, merge_small

        axes = axes._replace(centre=np.where(axes.centre == MEAN, MEDIAN, axes.centre))
        clusters = max(1, len(columns) // self.k)
        progress(0.1, f"{self.name}: first centres")
        found = c_medians_from(columns, axes, dissimilar_centres(columns, axes, clusters))
        progress(0.8, f"{self.name}: clusters")
        return merge_small(columns, axes, found.labels, self.k, "nearest")
