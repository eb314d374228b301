"""Rounding to multiples of a base or to given points: nearest, at random, or at random with the sum kept."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

import numpy as np

from microveil.numerics.core.draws import Drawn, Uniforms
from microveil.typing import FloatArray

Mode = Literal["nearest", "random", "controlled"]

_STEPS = (1.0, 2.0, 5.0)
_LAST_DIGITS = 4  # of a quotient: a half may miss its mark by so many units in the last place
_LARGEST_SLACK = 1e-6  # and by no more than this
_MOST_DIGITS = 300  # beyond these, powers of ten leave the range of a double
_LEAST = float(np.nextafter(0.0, 1.0))


def round_to_base(
    values: FloatArray, base: float, mode: Mode, limits: tuple[float, float] | None, rng: Uniforms
) -> FloatArray:
    """Values as multiples of the base that lie within the limits; NaN stays.

    >>> rng = np.random.default_rng(1)
    >>> round_to_base(np.array([0.15, -2.5, 7.0]), 0.1, "nearest", None, rng).tolist()
    [0.2, -2.5, 7.0]
    >>> round_to_base(np.array([24.0, -25.0, 26.0]), 10.0, "nearest", (-20.0, 25.0), rng).tolist()
    [20.0, -20.0, 20.0]
    """
    with np.errstate(over="ignore"):
        quotients = values / base
    fine = np.isinf(quotients)  # the base is less than the last digit of the value, which is a multiple as it is
    quotients = np.where(fine, 0.0, quotients)
    slack = _slack(quotients)
    if mode == "nearest":
        whole = np.floor(np.abs(quotients))
        rounded = np.sign(quotients) * (whole + (np.abs(quotients) - whole + slack >= 0.5))
    else:
        low = np.floor(quotients + slack)
        share = np.clip(quotients - low, 0.0, 1.0)
        rounded = low + (_drawn_up(share, rng) if mode == "random" else _drawn_up_evenly(share, rng))
    lowest, highest = multiples_within(base, limits)
    if lowest <= highest:
        rounded = np.clip(rounded, lowest, highest)
    return np.where(fine, values, _multiples(rounded, base))


def multiples_within(base: float, limits: tuple[float, float] | None) -> tuple[float, float]:
    """The lowest and the highest multiple of the base within the limits; in the wrong order where there is none.

    >>> multiples_within(0.1, (0.0, 0.7)), multiples_within(10.0, (1.0, 7.0))
    ((0.0, 7.0), (1.0, 0.0))
    """
    if limits is None:
        return -np.inf, np.inf
    with np.errstate(over="ignore"):
        ends = np.array(limits) / base
    slack = np.where(np.isinf(ends), 0.0, _slack(np.where(np.isinf(ends), 0.0, ends)))
    return float(np.ceil(ends[0] - slack[0])) + 0.0, float(np.floor(ends[1] + slack[1])) + 0.0


def _slack(quotients: FloatArray) -> FloatArray:
    """How far a quotient may be off, the numbers being decimals and the machine binary."""
    return np.asarray(np.minimum(_LAST_DIGITS * np.spacing(np.abs(quotients)), _LARGEST_SLACK))


def _multiples(quotients: FloatArray, base: float) -> FloatArray:
    """So many bases, with the digits of the base and no more: 3 times 0.1 is 0.3."""
    exponent = Decimal(repr(base)).normalize().as_tuple().exponent
    digits = max(0, -exponent) if isinstance(exponent, int) else 0
    return np.asarray((np.round(quotients * base, digits) if digits <= _MOST_DIGITS else quotients * base) + 0.0)


def _drawn_up(share: FloatArray, rng: Uniforms) -> FloatArray:
    """1 with the probability that the share gives, independently."""
    return (rng.random(len(share)) < share).astype(np.float64)


def _drawn_up_evenly(share: FloatArray, rng: Uniforms) -> FloatArray:
    """1 with the probability that the share gives, but so many in all as the shares sum to, up to one."""
    assert not isinstance(rng, Drawn)  # whose numbers belong to single records
    present = np.flatnonzero(~np.isnan(share))
    order = rng.permutation(present)
    mounting = np.floor(np.cumsum(share[order]) + rng.random())
    up = np.zeros(len(share))
    up[order] = np.diff(mounting, prepend=0.0)
    return up


def round_to_points(values: FloatArray, points: FloatArray, mode: Mode, rng: Uniforms) -> FloatArray:
    """Values as one of the two points beside them, or the end point beyond which they lie; NaN stays.

    >>> points = np.array([0.0, 10.0, 100.0])
    >>> round_to_points(np.array([4.0, 5.0, 500.0]), points, "nearest", np.random.default_rng(1)).tolist()
    [0.0, 10.0, 100.0]
    """
    above = np.clip(np.searchsorted(points, np.nan_to_num(values, nan=points[0])), 1, max(1, len(points) - 1))
    low, high = points[above - 1], points[np.minimum(above, len(points) - 1)]
    width = np.where(high > low, high - low, 1.0)
    share = np.clip((values - low) / width, 0.0, 1.0)
    if mode == "nearest":
        outward = np.where(np.abs(high) >= np.abs(low), share >= 0.5, share > 0.5)
        up = outward.astype(np.float64)
    else:
        up = _drawn_up(share, rng)
    return np.where(np.isnan(values), np.nan, np.where(up > 0, high, low))


def base_by_spread(deviation: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is at most half the deviation; 1 for a constant.

    >>> base_by_spread(11.2)
    5.0
    """
    half = max(deviation / 2.0, _LEAST) if deviation > 0 else 1.0
    return max(base for base in _bases(half / 10.0, half) if base <= half)


def base_for_sharing(values: FloatArray, k: int, limits: tuple[float, float] | None) -> float | None:
    """The least of 1, 2 and 5 times a power of ten with which at least k values share each nearest multiple.

    None where there are fewer than k values.

    >>> base_for_sharing(np.array([1.0, 2.0, 3.0, 11.0, 12.0, 13.0]), 3, None)
    10.0
    """
    present = values[~np.isnan(values)]
    if present.size < k:
        return 1.0 if present.size == 0 else None
    known, counts = np.unique(present, return_counts=True)
    if len(known) == 1:
        return 1.0
    rng = np.random.default_rng(0)  # nothing is drawn
    largest = 4.0 * max(float(np.abs(known).max()), float(np.ptp(known)))
    for base in _bases(float(np.diff(known).min()), largest):
        lowest, highest = multiples_within(base, limits)
        if lowest > highest:
            continue
        rounded = round_to_base(known, base, "nearest", limits, rng)
        starts = np.flatnonzero(np.diff(rounded, prepend=np.nan) != 0)
        if np.add.reduceat(counts, starts).min() >= k:
            return base
    return 10.0 * largest


def _bases(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten, from the last at most `low` to the first of at least `high`."""
    first, last = int(np.floor(np.log10(max(low, _LEAST)))), int(np.ceil(np.log10(high)))
    bases = (float(f"{step:.0f}e{power}") for power in range(first, last + 1) for step in _STEPS)
    return [base for base in bases if base > 0]
