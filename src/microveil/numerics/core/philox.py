"""The numbers that Philox, a counter-based generator, has at any places of a stream, without those before them.

Philox4x64 with ten rounds (Salmon, Moraes, Dror and Shaw, 2011), as numpy counts: a step of the counter gives four
numbers, and the first step is that from 0 to 1.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import Bits, FloatArray

_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_TURN_0, _TURN_1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_BUMP_0, _BUMP_1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)


@kernel
def _upper(one: np.uint64, other: np.uint64) -> np.uint64:
    """The upper 64 of the 128 bits of a product."""
    low, high = one & _LOW, one >> _HALF
    other_low, other_high = other & _LOW, other >> _HALF
    crossed = high * other_low + ((low * other_low) >> _HALF)
    middle = (crossed & _LOW) + low * other_high
    return np.uint64(high * other_high + (crossed >> _HALF) + (middle >> _HALF))


@kernel
def uniforms_at(places: Bits, key: Bits) -> FloatArray:
    """The numbers from 0 to below 1 at these places of the stream of a key of 128 bits."""
    drawn = np.empty(len(places))
    for i in range(len(places)):
        counter = (places[i] >> np.uint64(2)) + np.uint64(1)
        second = third = fourth = np.uint64(0)
        left, right = key[0], key[1]
        for _ in range(_ROUNDS):
            upper, lower = _upper(_TURN_0, counter), _TURN_0 * counter
            other_upper, other_lower = _upper(_TURN_1, third), _TURN_1 * third
            counter, second = other_upper ^ second ^ left, other_lower
            third, fourth = upper ^ fourth ^ right, lower
            left, right = left + _BUMP_0, right + _BUMP_1
        bits = (counter, second, third, fourth)[places[i] & np.uint64(3)]
        drawn[i] = float(bits >> np.uint64(11)) * 2.0**-53
    return drawn
