"""The score of a random method: the mean over several releases made with different seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

from microveil.errors import ParameterError
from microveil.masking import Method
from microveil.progress import Progress, parts, silent
from microveil.randomness import check_seed, derived_seed, draw_seed
from microveil.registry import make
from microveil.scoring.scores import Score

if TYPE_CHECKING:
    from microveil.scoring.rules.base import ScoreRule

REPEATS = 5  # as many as Marés (2013), Eq. 4.4, takes


@dataclass(frozen=True)
class RepeatedScore:
    """The scores of independent releases of one method; `seed` makes them again.

    >>> both = RepeatedScore((Score(10, 30), Score(14, 30)))
    >>> both.value, both.loss, round(both.deviation, 3)
    (21.0, 12.0, 1.414)
    """

    scores: tuple[Score, ...]
    seed: int = 0

    @property
    def value(self) -> float:
        """The mean of the scores, which is that of mean loss and mean risk unless the larger one counts."""
        return _mean([score.value for score in self.scores])

    @property
    def loss(self) -> float:
        return _mean([score.loss for score in self.scores])

    @property
    def risk(self) -> float:
        return _mean([score.risk for score in self.scores])

    @property
    def deviation(self) -> float:
        """The standard deviation of a single score."""
        squares = sum((score.value - self.value) ** 2 for score in self.scores)
        return sqrt(squares / max(1, len(self.scores) - 1))


def repeated_score(
    method: Method,
    data: Any,
    attributes: Sequence[str] | None = None,
    *,
    score: ScoreRule | str = "mean",
    repeats: int = REPEATS,
    known: Sequence[str] | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> RepeatedScore:
    """Mask a table several times, with seeds derived from one, and score each release by the same rule.

    >>> from microveil.masking.randomising.noise import Noise
    >>> people = {"age": [20, 22, 41, 43, 61, 65]}
    >>> len(repeated_score(Noise(alpha=0.1), people, seed=1).scores)
    5
    """
    if repeats < 1:
        raise ParameterError(f"repeats = {repeats} is not allowed; at least one is needed")
    rule: ScoreRule = make("score", score) if isinstance(score, str) else score
    seed = draw_seed() if seed is None else check_seed(seed)
    scores = []
    for own_seed, part in zip(repeat_seeds(seed, repeats), parts(progress, repeats), strict=True):
        masking, measuring = parts(part, 2)
        release = method.mask(data, attributes, seed=own_seed, progress=masking)
        scores.append(rule.assess(data, release, attributes, known=known, progress=measuring).score)
    return RepeatedScore(tuple(scores), seed)


def repeat_seeds(seed: int, repeats: int) -> list[int]:
    """The seeds of the repeats: each depends on the seed and its own number alone.

    >>> repeat_seeds(1, 3) == repeat_seeds(1, 5)[:3]
    True
    """
    return [derived_seed(seed, "repeat", number) for number in range(repeats)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
