"""One number from a loss and a risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from microveil.errors import ParameterError
from microveil.numerics.choices import By


@dataclass(frozen=True)
class Score:
    """One loss and one risk, with their mean and their maximum; all from 0 (ideal) to 100, but for a loss without a
    bound. `value` is the number that candidates are compared by: the mean in which the loss counts with `share`, or the
    maximum.

    >>> Score(loss=30, risk=10).value, Score(loss=30, risk=10, by="max").value
    (20.0, 30)
    """

    loss: float
    risk: float
    by: By = "mean"
    share: float = 0.5

    def __post_init__(self) -> None:
        if self.by not in get_args(By):
            raise ParameterError(f"by = {self.by!r} is not allowed; it must be one of {', '.join(get_args(By))}")
        _check_share(self.share)

    @property
    def mean(self) -> float:
        return (self.loss + self.risk) / 2

    @property
    def max(self) -> float:
        return max(self.loss, self.risk)

    @property
    def value(self) -> float:
        return self.max if self.by == "max" else self.weighted(self.share)

    def weighted(self, share: float) -> float:
        """The loss counted with this share, the risk with the rest; one half gives the mean.

        >>> Score(loss=22.15, risk=31.8796).weighted(0.5).__round__(4)
        27.0148
        """
        _check_share(share)
        return share * self.loss + (1 - share) * self.risk

    def to_plain(self) -> dict[str, float]:
        return {"value": self.value, "loss": self.loss, "risk": self.risk, "mean": self.mean, "max": self.max}


def _check_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise ParameterError(f"share = {share} is not allowed; it must be from 0 to 1")
