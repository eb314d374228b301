"""The owner's side: what was claimed beside the truth, and whether it is more than a guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from microveil.queries.red_team.readings import Claim
from microveil.typing import FloatArray

EXACT = 1e-6  # relative error up to which a value counts as learnt exactly
PARTIAL = 0.1  # error, in standard deviations of the attribute, up to which it counts as learnt partially
_CHANCE = 0.001  # probability below which guessing does not explain what was learnt
_RELIABLE = 0.95  # share of the claims said to be certain that must be right

Success = Literal["exact", "partial", "none"]


@dataclass(frozen=True)
class Truth:
    """The values of all records, and of what an intruder seeks; categories are 0 and 1."""

    values: FloatArray
    is_category: bool

    @property
    def deviation(self) -> float:
        return float(np.nanstd(self.values))

    def tolerance(self) -> float:
        return 0.0 if self.is_category else PARTIAL * self.deviation

    def best_guesses(self, targets: Sequence[int]) -> tuple[float, float]:
        """The shares of records that one guess for all gets right, exactly and partially.

        Of a category that is drawn in a balanced way, it is the larger part of the targets.
        """
        known = self.values[~np.isnan(self.values)]
        if self.is_category:
            held = float(np.mean(self.values[list(targets)])) if len(targets) else 0.0
            return max(held, 1 - held), max(held, 1 - held)
        ordered = np.sort(known)
        commonest = int(np.unique(ordered, return_counts=True)[1].max())
        inside = np.searchsorted(ordered, ordered + 2 * self.tolerance(), side="right") - np.arange(len(ordered))
        return commonest / len(ordered), int(inside.max()) / len(ordered)


@dataclass(frozen=True)
class Outcome:
    """What came of one attack.

    `exact` and `partial` count the targets whose value was claimed within 1e-6 of it, and within a tenth of a standard
    deviation; `wrong` the other claims. An attack has succeeded if claims that it is sure of are right, or if more
    claims are right than a guess explains.
    """

    attack: str
    targets: int
    claims: int
    exact: int
    partial: int
    wrong: int
    questions: int
    refused: int
    seconds: float
    success: Success
    why_not: str | None = None
    guesses: tuple[float, float] = (0.0, 0.0)

    @property
    def learnt(self) -> int:
        return self.exact + self.partial

    @property
    def questions_for_each(self) -> float | None:
        """Questions for each value that was learnt."""
        return self.questions / self.learnt if self.success != "none" and self.learnt else None

    def to_plain(self) -> dict[str, Any]:
        return {
            "attack": self.attack,
            "success": self.success,
            "targets": self.targets,
            "claims": self.claims,
            "learnt_exactly": self.exact,
            "learnt_partially": self.partial,
            "claimed_wrongly": self.wrong,
            "questions": self.questions,
            "refused": self.refused,
            "questions_for_each_value": self.questions_for_each,
            "seconds": self.seconds,
            "not_tried": self.why_not,
        }


@dataclass(frozen=True)
class Tally:
    """Claims counted by how near to the truth they are."""

    exact: int
    partial: int
    wrong: int
    sure: int
    sure_and_exact: int


def tally(claims: Sequence[Claim], truth: Truth) -> Tally:
    """Compare claims with the truth."""
    said = np.array([claim.value for claim in claims], dtype=float)
    true = truth.values[[claim.record for claim in claims]] if claims else np.zeros(0)
    said = np.clip(np.round(said), 0, 1) if truth.is_category else said
    off = np.abs(said - true)
    exact = off <= EXACT * np.maximum(1.0, np.abs(true))
    near = ~exact & (off <= truth.tolerance())
    sure = np.array([claim.is_certain for claim in claims], dtype=bool)
    counts = (exact.sum(), near.sum(), (~exact & ~near).sum(), sure.sum(), (sure & exact).sum())
    return Tally(*map(int, counts))


def success_of(counted: Tally, guesses: tuple[float, float]) -> Success:
    """Whether an attack has learnt something."""
    from scipy.special import bdtrc

    claims = counted.exact + counted.partial + counted.wrong
    if not claims:
        return "none"

    def beats_guessing(right: int, guess: float) -> bool:
        """Whether so many or more right ones are improbable for somebody who guesses."""
        return right > 0 and bool(bdtrc(right - 1, claims, guess) < _CHANCE)

    if counted.sure and counted.sure_and_exact >= _RELIABLE * counted.sure:
        return "exact"
    if counted.sure == 0 and beats_guessing(counted.exact, guesses[0]):
        return "exact"
    return "partial" if beats_guessing(counted.exact + counted.partial, guesses[1]) else "none"
