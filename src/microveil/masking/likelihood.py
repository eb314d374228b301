"""What a method says of itself: how probable a released value is, given the original one.

None of these holds a value of a record or anything drawn from the seed of a release: an intruder who knows the plan and
the true values of some attributes can say the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.typing import FloatArray


@dataclass(frozen=True)
class Transition:
    """A category becomes another with the probability in its row of the matrix, whose order is that of the domain."""

    matrix: FloatArray


@dataclass(frozen=True)
class Shift:
    """A value is replaced by the one so many ranks above it, negative ones lying below.

    `probabilities` are those of the shifts -w to w. If `bounded`, no value moves farther than that.
    """

    probabilities: FloatArray
    bounded: bool

    @property
    def reach(self) -> int:
        return len(self.probabilities) // 2

    def then(self, later: Shift) -> Shift:
        """The shift of two steps one after the other. Equal values change their order in between, so there is no bound.

        >>> Shift(np.array([0.5, 0.0, 0.5]), True).then(Shift(np.array([0.5, 0.0, 0.5]), True)).probabilities.tolist()
        [0.25, 0.0, 0.5, 0.0, 0.25]
        """
        return Shift(np.convolve(self.probabilities, later.probabilities), False)


@dataclass(frozen=True)
class Normal:
    """Numbers are drawn towards their mean by the factor `slope`, and normal noise of this covariance is added."""

    slope: float
    covariance: FloatArray


@dataclass(frozen=True)
class Kept:
    """This share of the records keep their cells; the others have those of a record drawn at random."""

    share: float


Statement = Transition | Shift | Normal | Kept
