"""What methods share that correct a release: beside it they look at the original."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method, MethodBesideOriginal, Tables
from microveil.masking.columns import columns_of
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.notes import MASKED_FIRST, SOME_MASKED_FIRST, Note
from microveil.microdata import Microdata
from microveil.microdata.microdata import count
from microveil.parameters import parameter, parameterised
from microveil.progress import Part, Progress
from microveil.randomness import Streams
from microveil.typing import FloatArray


@parameterised
class PostMasking(MethodBesideOriginal):
    """Changes a release so that it keeps more of the original's statistics.

    It is a later step: of a plan, or as `mask(release, original=table)`. A table that nothing has masked yet is masked
    first by another method, so that an original is never released as it is; so is an attribute that no step has changed
    yet.
    """

    joint: ClassVar[bool] = True
    suppresses: ClassVar[bool] = True
    random: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)

    first: Method = parameter(
        default=MDAV(k=5),
        help="method that is applied first to a table that has not been masked yet",
    )

    @property
    def draws(self) -> bool:
        return self.random or self.first.draws

    def __post_init__(self) -> None:
        if "numeric" not in self.first.takes or isinstance(self.first, PostMasking):
            raise ParameterError(f"{self.name}: first = '{self.first.name}' is not allowed; it must mask numbers")

    @abstractmethod
    def _corrected(
        self, data: Microdata, attributes: tuple[str, ...], original: FloatArray, masked: FloatArray, progress: Progress
    ) -> tuple[FloatArray, tuple[Note, ...]]:
        """The corrected values of these attributes, and what is to be said about them."""

    def _mask_beside(self, tables: Tables, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        data, original = tables.data, tables.original
        if original is None:
            raise DataError(
                f"{self.name} corrects a release and needs the original as well: mask(release, original=...)"
            )
        if len(original) != len(data):
            raise DataError(f"the original has {count(len(original), 'record')} and the release {len(data):,}")
        before, after = original.matrix(attributes), data.matrix(attributes)
        notes: tuple[Note, ...] = ()
        untouched = _untouched(attributes, before, after)
        if untouched:
            masked = self.first._mask(data, untouched, streams, Part(progress, 0.0, 0.5))
            if masked.rows is not None or masked.attributes:
                raise DataError(
                    f"{self.name} cannot correct a release of {self.first.name}: it needs all records, and numbers"
                )
            data = data.with_columns(masked.columns)
            after = data.matrix(attributes)
            notes = (self._masked_first(attributes, untouched), *masked.notes)
        corrected, said = self._corrected(data, attributes, before, after, Part(progress, 0.5, 1.0))
        return Masked(columns_of(data, attributes, corrected), notes=(*notes, *said))

    def _masked_first(self, attributes: tuple[str, ...], untouched: tuple[str, ...]) -> Note:
        if untouched == attributes:
            return MASKED_FIRST(method=self.name, first=self.first.name)
        return SOME_MASKED_FIRST(method=self.name, attributes=untouched, first=self.first.name)


def _untouched(attributes: tuple[str, ...], before: FloatArray, after: FloatArray) -> tuple[str, ...]:
    """The attributes that are released as they were; a constant only where nothing at all has changed."""
    same = ((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=0)
    if same.all():
        return attributes
    varying = [np.unique(column[~np.isnan(column)]).size > 1 for column in before.T]
    return tuple(name for name, alike, varies in zip(attributes, same, varying, strict=True) if alike and varies)
