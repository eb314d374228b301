"""How well a score tells two groups apart: the area under the ROC curve, its interval, and rates at a threshold."""

from __future__ import annotations

import numpy as np

from microveil.typing import FloatArray

_HALVINGS = 60
_Z = 1.959963984540054


def placements(positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """For each positive the share of the negatives that it scores above, an equal score being one half. Their mean is
    the area under the ROC curve.

    >>> placements(np.array([3.0, 1.0]), np.array([1.0, 2.0])).tolist()
    [1.0, 0.25]
    """
    ordered = np.sort(negatives)
    below = np.searchsorted(ordered, positives, side="left")
    upto = np.searchsorted(ordered, positives, side="right")
    return np.asarray((below + upto) / (2.0 * len(negatives)))


def area_interval(area: float, positives: int, negatives: int) -> tuple[float, float]:
    """The 95 % interval of an area under the ROC curve: all areas from which it is no further than 1.96 standard
    deviations of Hanley and McNeil (1982), which holds at 0 and 1 too: method 5 of Newcombe (2006).

    >>> [round(bound, 3) for bound in area_interval(0.5, 50, 50)]
    [0.39, 0.61]
    >>> round(area_interval(1.0, 50, 50)[0], 3)
    0.96
    """
    if positives == 0 or negatives == 0:
        return 0.0, 1.0

    def apart(other: float) -> bool:
        size = (positives + negatives) / 2 - 1
        spread = other * (1 - other) * (1 + size * ((1 - other) / (2 - other) + other / (1 + other)))
        return abs(area - other) > _Z * float(np.sqrt(max(spread, 0.0) / (positives * negatives)))

    bounds = []
    for outer in (0.0, 1.0):
        near, far = area, outer
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            near, far = (near, middle) if apart(middle) else (middle, far)
        bounds.append(near)
    return bounds[0], bounds[1]


def claims(positives: FloatArray, negatives: FloatArray, rate: float) -> tuple[FloatArray, FloatArray]:
    """The chance with which each is claimed to be a positive, so that this rate of the negatives is: whoever scores
    above a threshold is, and of those who have just its score a share.

    >>> hits, false = claims(np.array([5.0, 3.0, 2.0, 1.0]), np.array([4.0, 2.0, 2.0, 0.0]), 0.5)
    >>> hits.tolist(), false.tolist()
    ([1.0, 1.0, 0.5, 0.0], [1.0, 0.5, 0.5, 0.0])
    """
    wanted = rate * len(negatives)
    threshold = np.sort(negatives)[::-1][max(0, int(np.ceil(wanted - 1e-9)) - 1)]
    share = (wanted - (negatives > threshold).sum()) / (negatives == threshold).sum()
    one, other = (np.where(side == threshold, share, side > threshold) for side in (positives, negatives))
    return np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
