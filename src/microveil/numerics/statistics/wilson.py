"""The confidence interval of a share."""

from __future__ import annotations


def wilson_interval(successes: float, trials: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The Wilson score interval for a share; the whole of [0, 1] without trials.

    >>> [round(bound, 4) for bound in wilson_interval(37, 5000)]
    [0.0054, 0.0102]
    """
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + z**2 / (2 * trials)
    spread = z * (share * (1 - share) / trials + z**2 / (4 * trials**2)) ** 0.5
    scale = 1 + z**2 / trials
    # rounding must not push the share itself out of the interval
    return min(share, max(0.0, (centre - spread) / scale)), max(share, min(1.0, (centre + spread) / scale))
