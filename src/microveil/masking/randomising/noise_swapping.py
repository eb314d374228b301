"""Noise, then swapping of the records that can still be recognised, then means and covariances as they were."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.base import Masked, Method
from microveil.masking.columns import columns_of
from microveil.masking.notes import RECORDS_SWAPPED
from microveil.masking.partition import Partition
from microveil.masking.preparation.strata import stratum_numbers
from microveil.masking.randomising.noise import correlated_noise
from microveil.masking.ranges import Interval, Ranges, ranges
from microveil.microdata import Microdata
from microveil.microdata.microdata import check_records, count
from microveil.numerics.grouping.chunks import similar_chunks
from microveil.numerics.statistics.moments import complete_rows, with_moments_of
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray


@parameterised
class NoiseSwapping(Method):
    """The masking of Kim and Winkler. Noise with alpha times the covariance of the data is added; each record is
    linked to the nearest masked one; a record that is linked to its own changes places with the nearest masked record
    of its sub-population; and every sub-population is mapped linearly so that its means and covariances are those of
    the original, over its records without missing cells.

    Sub-populations are the strata of the schema, clusters of similar records, or the whole file. One with fewer
    than `smallest` records, or than two more than there are attributes, is joined with others like it: a covariance
    kept for fewer would give them away. With `scores` all this is done on the normal scores of the values, for data far
    from normal: then distributions are kept closely, and means and covariances nearly.

    >>> import numpy as np
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"income": np.arange(40.0) ** 2, "age": np.arange(40.0) % 7})
    >>> release = NoiseSwapping(alpha=0.2).mask(people, seed=1)
    >>> [round(float(release.data.numbers(name).values.mean()), 6) for name in people.names]
    [513.5, 2.875]
    """

    name: ClassVar[str] = "noise-swapping"
    family: ClassVar[str] = "randomising"
    joint: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "adds noise, swaps records that are still re-identified, and restores means and covariances"
    )
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; records are swapped with records that lack the same cells, "
        "and linked on the cells they have"
    )
    source: ClassVar[str] = "Kim and Winkler (1995); Fayyoumi (2008), section 2.4.3"
    searched: ClassVar[Ranges] = ranges(alpha=Interval(0.005, 4.0, logarithmic=True))

    alpha: float = parameter(
        default=0.1, help="variance of the noise, as a share of the attribute's variance", ge=0, le=1e6
    )
    within: Literal["auto", "strata", "clusters", "file"] = parameter(
        default="auto",
        help="sub-populations: strata where the schema has them, else the file (auto); strata; clusters; file",
    )
    clusters: int = parameter(default=10, help="with within=clusters: fewest clusters", ge=1, le=1_000_000)
    smallest: int = parameter(
        default=10, help="fewest records of a sub-population; smaller ones are joined", ge=3, le=MOST_RECORDS
    )
    scores: bool = parameter(default=False, help="work on the normal scores of the values: for data far from normal")

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        from microveil.numerics.perturbing.nearest_swap import exchange, recognised
        from microveil.numerics.statistics.normal_scores import scored_columns, unscored_columns

        values = data.matrix(attributes)
        check_records(data, len(attributes) + 2, f"{self.name} on {count(len(attributes), 'attribute')}")
        original = values
        if self.scores:
            original = scored_columns(values, (streams.generator("ties", name) for name in attributes))
        drawn = np.column_stack([streams.generator(name).standard_normal(len(values)) for name in attributes])
        noisy = original + correlated_noise(original, self.alpha, drawn)
        scaling = Scaling.of(original)
        before, after = scaling.apply(original), scaling.apply(noisy)
        progress(0.2, f"{self.name}: noise added")
        known = recognised(before, after, Part(progress, 0.2, 0.6), f"{self.name}: linking records")
        populations = self._populations(data, before)
        order = exchange(after, known, [rows for group in populations for rows in _alike(after, group)])
        progress(0.8, f"{self.name}: records swapped")
        masked, left = _restored(original, noisy[order], populations)
        if self.scores:
            masked = unscored_columns(masked, values)
        moved = int((order != np.arange(len(order))).sum())
        note = RECORDS_SWAPPED(
            method=self.name, recognised=int(known.sum()), swapped=moved, populations=len(populations), left=left
        )
        return Masked(columns_of(data, attributes, masked), notes=(note,))

    def _populations(self, data: Microdata, columns: FloatArray) -> list[IntArray]:
        from microveil.numerics.grouping.groups import pooled

        least = max(self.smallest, columns.shape[1] + 2)
        if self.within == "clusters":
            filled = np.nan_to_num(columns)  # a missing cell lies at the mean
            return similar_chunks(filled, max(1, len(columns) // self.clusters), least)
        if self.within == "file" or (self.within != "strata" and not data.schema.having("stratum")):
            return [np.arange(len(columns))]
        numbers = stratum_numbers(data, f"{self.name}: within = 'strata' is not allowed")
        return pooled(Partition.of(numbers).groups, least)


def _restored(original: FloatArray, masked: FloatArray, populations: list[IntArray]) -> tuple[FloatArray, int]:
    """Every sub-population with its own means and covariances, and how many had too few complete records for it."""
    restored, left = masked.copy(), 0
    for rows in populations:
        if complete_rows(original[rows], masked[rows]).sum() < original.shape[1] + 2:
            left += 1
            continue
        restored[rows], _ = with_moments_of(original[rows], masked[rows])
    return restored, left


def _alike(rows: FloatArray, group: IntArray) -> list[IntArray]:
    """The records of a group by the cells they lack: only such can change places."""
    missing = np.isnan(rows[group])
    if not missing.any():
        return [group]
    _, pattern = np.unique(missing, axis=0, return_inverse=True)
    return [group[records] for records in Partition.of(pattern.reshape(-1)).groups]
