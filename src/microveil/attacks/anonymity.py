"""Real anonymity: how many records share each released record.

A file masked in blocks is k-anonymous in each block, but not in all together: the records that share all their blocks
are far fewer. Their mean number is the real anonymity k'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microveil.errors import DataError
from microveil.masking.partition import Partition
from microveil.microdata import Microdata
from microveil.microdata.microdata import as_microdata
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Anonymity:
    """Records that look alike: their mean number k', the least number, and the share that stands alone, in per cent."""

    average: float
    smallest: int
    unique: float

    @classmethod
    def of(cls, codes: IntArray) -> Anonymity:
        """From an (n, columns) matrix of codes: records with equal rows look alike."""
        if codes.size == 0:
            raise DataError("there are no records or no attributes, so there is nothing that could look alike")
        _, sizes = np.unique(codes, axis=0, return_counts=True)
        return cls(len(codes) / len(sizes), int(sizes.min()), 100 * float((sizes == 1).sum() / len(codes)))


def real_anonymity(masked: Any, known: Sequence[str] | None = None, *, decimals: int = 8) -> Anonymity:
    """The real anonymity of a release, a table or a matrix towards an intruder who sees the attributes `known`.

    Numbers that agree to so many decimals count as equal, so that groups with the same mean are one. Missing cells
    look alike.

    >>> real_anonymity(np.array([[1.0, 5.0], [1.0, 5.0], [1.0, 6.0], [2.0, 6.0]])).average.__round__(3)
    1.333
    """
    if isinstance(masked, np.ndarray):
        return Anonymity.of(np.column_stack([_number_codes(column, decimals) for column in masked.T]))
    data = as_microdata(masked)
    names = data.names if known is None else tuple(known)
    return Anonymity.of(np.column_stack([_codes(data, name, decimals) for name in names]))


def shared_groups(partitions: Sequence[Partition]) -> Anonymity:
    """The same from the partitions of the blocks: records that share their group in every one of them.

    Groups are distinguished even where they publish the same values, so this can be lower than `real_anonymity`.
    """
    return Anonymity.of(np.column_stack([partition.labels for partition in partitions]))


def _number_codes(column: FloatArray, decimals: int) -> IntArray:
    rounded = np.round(column, decimals) + 0.0  # one zero, not two
    return np.unique(rounded, return_inverse=True)[1].astype(np.int64)


def _codes(data: Microdata, name: str, decimals: int) -> IntArray:
    if data[name].kind == "numeric":
        return _number_codes(data.numbers(name).values, decimals)
    return data.categories(name).codes.astype(np.int64)
