"""Random streams that depend on a seed and a label alone.

Every step and every attribute draws from a stream of its own, so that leaving one out, or working on several threads,
changes nothing in the others.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from microveil.errors import ParameterError


def draw_seed() -> int:
    """A fresh seed, for callers who gave none; it goes into the provenance, so the release can be made again."""
    return secrets.randbits(32)


def check_seed(seed: object) -> int:
    """A seed is a whole number from 0 up."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(f"seed must be a whole number of at least 0, got {seed!r}")
    return int(seed)


@dataclass(frozen=True)
class Streams:
    """The random streams of one step of one release.

    >>> a = Streams(7).generator("income").integers(100, size=3)
    >>> b = Streams(7).generator("income").integers(100, size=3)
    >>> bool((a == b).all())
    True
    """

    seed: int
    step: int = 0

    def generator(self, *labels: str) -> np.random.Generator:
        """The stream that belongs to these labels, whatever was drawn from other streams before."""
        digest = hashlib.sha256("\x1f".join(labels).encode()).digest()
        words = np.frombuffer(digest[:16], dtype="<u4").tolist()
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, self.step, *words])))

    def some_of(self, records: int, wanted: int, *labels: str) -> npt.NDArray[np.int64]:
        """The numbers of so many records drawn without repetition, ascending; of all if no more are there.

        >>> Streams(7).some_of(3, 5, "attack").tolist()
        [0, 1, 2]
        """
        if wanted >= records:
            return np.arange(records)
        return np.sort(self.generator(*labels).choice(records, size=wanted, replace=False)).astype(np.int64)
