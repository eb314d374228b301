"""Hybrid data: a masked file with the means and covariances of the original."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from microveil.masking.base import Masked, Tables
from microveil.masking.columns import restored_moments
from microveil.masking.notes import Note
from microveil.masking.post_masking import PostMasking
from microveil.masking.synthesis.closeness import closeness
from microveil.microdata import Microdata
from microveil.parameters import parameterised
from microveil.progress import Part, Progress
from microveil.randomness import Streams
from microveil.typing import FloatArray


@parameterised
class Hybrid(PostMasking):
    """A release is mapped linearly so that its means and covariances are exactly those of the original.

    With M the masked records, U'U the covariance of the original and W'W that of the masked records (Cholesky):
    H = (M - mean of M) W^-1 U + mean of the original. Records stay similar to their masked ones. Where a covariance is
    singular it is decomposed by its eigenvalues instead; masked records that vary in fewer directions than the original
    can reach only a part of its covariances, and a note says so. Other notes say how close the released records come to
    original ones: what is mixed with synthetic records (`synthetic`, then `hybrid`) can be judged by them.

    It is a later step: of a plan, or as `mask(release, original=table)`. A table that nothing has masked yet is masked
    by the method `first` before, so that an original is never released as it is.

    >>> from microveil.masking.randomising.noise import Noise
    >>> people = Microdata.of({"age": [31.0, 45.0, 62.0, 70.0]})
    >>> release = Hybrid().mask(Noise(alpha=1.0).mask(people, seed=1), original=people)
    >>> values = release.data.numbers("age").values
    >>> round(float(values.mean()), 6), round(float(values.var()), 6)
    (52.0, 228.5)
    """

    name: ClassVar[str] = "hybrid"
    family: ClassVar[str] = "synthesis"
    summary: ClassVar[str] = "transforms a release linearly so that it has the means and covariances of the original"
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; means and covariances are those of the records without "
        "missing cells, and other records are mapped by the attributes they have"
    )
    source: ClassVar[str] = "Dandekar, Domingo-Ferrer and Sebé (2002); Fayyoumi (2008), section 2.5"

    def _mask_beside(self, tables: Tables, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        masked = super()._mask_beside(tables, attributes, streams, Part(progress, 0.0, 0.6))
        released = tables.data.with_columns(masked.columns)
        found = closeness(tables.original, released, attributes, streams=streams, progress=Part(progress, 0.6, 1.0))
        return replace(masked, notes=(*masked.notes, *found.notes))

    def _corrected(
        self, data: Microdata, attributes: tuple[str, ...], original: FloatArray, masked: FloatArray, progress: Progress
    ) -> tuple[FloatArray, tuple[Note, ...]]:
        corrected, notes = restored_moments(data, attributes, original, masked, self.name)
        progress(1.0, f"{self.name}: means and covariances restored")
        return corrected, notes
