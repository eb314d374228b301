"""Random streams that depend on a seed and labels alone, and the seeds themselves.

Every step and every attribute draws from a stream of its own, so that leaving one out, or working on several threads,
changes nothing in the others. The seed of a step's streams is derived from the seed of the release, the digest of the
original and what was done up to this step, so that releases of two files, or of one file by two plans, have no random
numbers in common, also where their seed is the same (`Provenance.streams_of_step`).

Whoever has the seed of a release can draw its random numbers again and take them out, so seeds are drawn with 128 bits,
and the whole seed goes through a keyed hash: of a stream that became known, neither the seed nor any other stream can
be found.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from microveil.errors import ParameterError
from microveil.typing import FloatArray, IntArray

SEED_BITS = 256  # seeds are below 2 to this power
GUESSABLE = 1_000_000  # seeds below are tried first by whoever looks for one
_DRAWN_BITS = 128
_LARGEST_EXACT = 2**53 - 1  # in JSON as most programs read it; TOML promises a little more
_DIGITS = len(str(2**SEED_BITS))
_HALF_STEP = 2.0**-54  # half the distance between two uniform numbers
_RULE = f"a whole number from 0 to 2^{SEED_BITS} - 1, such as 20071 or '0x4e67'"


def draw_seed() -> int:
    """A fresh secret seed, for callers who gave none; it goes into the provenance, so the release can be made again."""
    return secrets.randbits(_DRAWN_BITS)


def check_seed(seed: object) -> int:
    """A seed as a number: a whole one, or a text of decimal digits or, after 0x, of hexadecimal ones.

    >>> check_seed(20071), check_seed("20071"), check_seed("0x4e67")
    (20071, 20071, 20071)
    """
    number = _number(seed)
    if number is None or not 0 <= number < 2**SEED_BITS:
        raise ParameterError(f"seed must be {_RULE}{_got(seed)}")
    return number


def _number(seed: object) -> int | None:
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        return int(seed)
    if not isinstance(seed, str) or not seed.isascii() or len(seed) > _DIGITS:
        return None
    if seed.isdecimal():
        return int(seed)
    digits = seed.lower().removeprefix("0x")
    is_hexadecimal = seed[:2].lower() == "0x" and digits != "" and set(digits) <= set("0123456789abcdef")
    return int(digits, 16) if is_hexadecimal else None


def _got(seed: object) -> str:
    """What was given instead, if it is short enough to be read."""
    if isinstance(seed, int) and not isinstance(seed, bool) and seed.bit_length() > SEED_BITS:
        return ", got one that is negative" if seed < 0 else ", got one that is larger"
    if isinstance(seed, str | bool | int | float | np.number) and len(repr(seed)) <= 40:
        return f", got {seed!r}"
    return f", got a {type(seed).__name__}"


def plain_seed(seed: int) -> int | str:
    """A seed as files hold it: beyond what every reader of JSON and TOML keeps exactly, as a hexadecimal text.

    >>> plain_seed(7), plain_seed(2**64 + 10)
    (7, '0x1000000000000000a')
    """
    return seed if seed <= _LARGEST_EXACT else hex(seed)


def derived_seed(seed: int, *labels: Any) -> int:
    """A seed of 128 bits that belongs to a seed and labels: as secret as that seed, and unrelated to those of others.

    >>> derived_seed(7, "cell", 1) == derived_seed(7, "cell", 1)
    True
    """
    return _keyed(seed, b"microveil seed", labels)


def _keyed(seed: int, purpose: bytes, content: Any) -> int:
    """128 bits from a keyed hash: without the seed, which is the key, nothing can be said about them."""
    key = check_seed(seed).to_bytes(SEED_BITS // 8, "big")
    message = json.dumps(content, sort_keys=True, default=str).encode()
    return int.from_bytes(hashlib.blake2b(message, digest_size=_DRAWN_BITS // 8, key=key, person=purpose).digest())


def normal_of(uniform: FloatArray) -> FloatArray:
    """Numbers from 0 to below 1 as standard normal ones, by the inverse of the normal distribution; its ends are never
    reached.

    >>> normal_of(np.array([0.0, 0.5, 0.975])).round(2).tolist()
    [-8.29, 0.0, 1.96]
    """
    from scipy.special import ndtri

    low = uniform < 0.5
    tail = np.where(low, uniform + _HALF_STEP, (1.0 - uniform) - _HALF_STEP)
    return np.asarray(np.where(low, 1.0, -1.0) * ndtri(tail))


@dataclass(frozen=True)
class Streams:
    """The random streams of one step of one release: counter-based generators, keyed by the step's seed and the labels.

    >>> a = Streams(7).generator("income").integers(100, size=3)
    >>> b = Streams(7).generator("income").integers(100, size=3)
    >>> bool((a == b).all())
    True
    """

    seed: int
    step: int = 0
    _numbers_of_a_step: ClassVar[int] = 4  # that a generator of the Philox family makes each time it counts

    def generator(self, *labels: str) -> np.random.Generator:
        """The stream that belongs to these labels, whatever was drawn from other streams before."""
        return np.random.Generator(np.random.Philox(key=_keyed(self.seed, b"microveil stream", [self.step, *labels])))

    def generator_at(self, places: range, *labels: str) -> np.random.Generator:
        """The stream that belongs to these labels, where the numbers from 0 to 1 of some records begin in it."""
        rng = self.generator(*labels)
        jump, rest = divmod(places.start, self._numbers_of_a_step)
        if jump:
            rng.bit_generator.advance(jump)  # type: ignore[attr-defined]
        rng.random(rest)
        return rng

    def uniforms(self, places: range, *labels: str) -> FloatArray:
        """A number from 0 to below 1 for each of some consecutive records, by its place in the table alone.

        A part of a table gets the numbers that its records have in the whole, so that neither the number of parts nor
        who works on them changes what is drawn.

        >>> whole = Streams(7).uniforms(range(10), "income")
        >>> bool((Streams(7).uniforms(range(3, 10), "income") == whole[3:]).all())
        True
        """
        return self.generator_at(places, *labels).random(len(places))

    def some_of(self, records: int, wanted: int, *labels: str) -> IntArray:
        """The numbers of so many records drawn without repetition, ascending; of all if no more are there.

        >>> Streams(7).some_of(3, 5, "attack").tolist()
        [0, 1, 2]
        """
        if wanted >= records:
            return np.arange(records)
        return np.sort(self.generator(*labels).choice(records, size=wanted, replace=False)).astype(np.int64)


@dataclass(frozen=True)
class PublicStreams(Streams):
    """Streams of what nobody has to hide: sample data, and the records that an attack or a loss samples.

    They never coincide with those of a release, whatever its seed.
    """

    _numbers_of_a_step: ClassVar[int] = 1

    def generator(self, *labels: str) -> np.random.Generator:
        digest = hashlib.sha256("\x1f".join(labels).encode()).digest()
        words = np.frombuffer(digest[:16], dtype="<u4").tolist()
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, self.step, *words])))
