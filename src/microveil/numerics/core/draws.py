"""A random number for each record, by its place in a stream: where it stands in the table, or what its id says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.randomness import Streams, normal_of
from microveil.typing import FloatArray, Places


@dataclass(frozen=True)
class Drawn:
    """Numbers from 0 to 1 that were drawn for the records, handed out as a generator does."""

    numbers: FloatArray

    def random(self, size: int) -> FloatArray:
        assert size == len(self.numbers)  # one for each record, no more
        return self.numbers


Uniforms = np.random.Generator | Drawn


def generator_at(streams: Streams, places: Places, *labels: str) -> Uniforms:
    """What gives some records their numbers from 0 to 1, of the stream that belongs to these labels."""
    if isinstance(places, range):
        return streams.generator_at(places, *labels)
    from microveil.numerics.core.philox import uniforms_at

    return Drawn(uniforms_at(places, streams.generator(*labels).bit_generator.state["state"]["key"]))


def uniforms(streams: Streams, places: Places, *labels: str) -> FloatArray:
    """A number from 0 to below 1 for each of some records, by its place in the stream alone.

    >>> whole = Streams(7).uniforms(range(10), "income")
    >>> bool((uniforms(Streams(7), np.array([9, 4], dtype=np.uint64), "income") == whole[[9, 4]]).all())
    True
    """
    return generator_at(streams, places, *labels).random(len(places))


def normals(streams: Streams, places: Places, *labels: str) -> FloatArray:
    """A standard normal number for each of some records, by its place in the stream alone."""
    return normal_of(uniforms(streams, places, *labels))
