"""Choosing among candidates: by a bound on the risk, by balance, by the knee of the front; and whether to publish.

A candidate is anything with a `loss` and a `risk`, such as an `Outcome`; what is chosen is one of those given. One
whose loss or risk is no finite number was not measured, and is never chosen. Zaslavsky and Horton (1998) on whether to
publish.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, NamedTuple, Protocol, TypeVar

from scipy import special

from microveil.attacks import Risk
from microveil.errors import ParameterError
from microveil.numerics.choices import By
from microveil.scoring.headline import is_linkage
from microveil.scoring.scores import Score

_EQUAL = 1e-9  # scores that differ by less are the same


class Candidate(Protocol):
    """What can be chosen."""

    @property
    def loss(self) -> float: ...

    @property
    def risk(self) -> float: ...


class Outcome(NamedTuple):
    """A candidate that is nothing but its label, loss and risk."""

    label: str
    loss: float
    risk: float


C = TypeVar("C", bound=Candidate)


def measured(candidates: Iterable[C]) -> list[C]:
    """The candidates whose loss and risk are finite numbers."""
    return [candidate for candidate in candidates if isfinite(candidate.loss) and isfinite(candidate.risk)]


def admissible(candidates: Iterable[C], risk_below: float) -> list[C]:
    """The candidates whose risk is below the bound.

    >>> [c.label for c in admissible([Outcome("a", 3, 20), Outcome("b", 9, 10)], risk_below=15)]
    ['b']
    """
    return [candidate for candidate in measured(candidates) if candidate.risk < risk_below]


def least_loss(candidates: Iterable[C], risk_below: float) -> C | None:
    """The candidate with the least loss whose risk is below the bound; of equal losses the safer. None if none is.

    >>> least_loss([Outcome("a", 3, 20), Outcome("b", 9, 10), Outcome("c", 30, 1)], risk_below=15).label
    'b'
    """
    return min(admissible(candidates, risk_below), key=lambda c: (c.loss, c.risk), default=None)


def least_score(candidates: Iterable[C], *, by: By = "mean", share: float = 0.5) -> C | None:
    """The candidate with the least score; of the same scores the one whose loss and risk are nearest to each other.

    >>> least_score([Outcome("a", 10, 30), Outcome("b", 20, 20), Outcome("c", 38, 2)]).label
    'b'
    """
    listed = measured(candidates)
    scores = [Score(c.loss, c.risk, by, share).value for c in listed]
    if not listed:
        return None
    least = min(scores)
    same = [c for c, score in zip(listed, scores, strict=True) if score - least <= _EQUAL * max(1.0, abs(least))]
    return min(same, key=lambda c: abs(c.loss - c.risk))


def most_balanced(candidates: Iterable[C]) -> C | None:
    """The candidate whose worse side is least bad: the least maximum of loss and risk, then the least mean."""
    return min(measured(candidates), key=lambda c: (max(c.loss, c.risk), c.loss + c.risk), default=None)


def front(candidates: Iterable[C]) -> list[C]:
    """The Pareto front by rising risk: the candidates that no other beats, being no worse in both and better in one.

    >>> [c.label for c in front([Outcome("a", 10, 30), Outcome("b", 20, 20), Outcome("c", 25, 20)])]
    ['b', 'a']
    """
    kept: list[C] = []
    for candidate in sorted(measured(candidates), key=lambda c: (c.risk, c.loss)):
        if not kept or candidate.loss < kept[-1].loss or _same_point(candidate, kept[-1]):
            kept.append(candidate)
    return kept


def _same_point(one: Candidate, other: Candidate) -> bool:
    return one.loss == other.loss and one.risk == other.risk


def knee(candidates: Iterable[C]) -> C | None:
    """The knee of the front, beyond which a little less of one side costs much of the other.

    Loss and risk are scaled to [0, 1] between the two ends of the front; the knee is the candidate farthest below the
    line that joins them, so neither units nor candidates off the front matter. Where none lies below the line, there is
    no knee, and the most balanced candidate of the front is taken.

    >>> knee([Outcome("a", 0, 50), Outcome("b", 5, 10), Outcome("c", 60, 5), Outcome("d", 90, 90)]).label
    'b'
    """
    kept = front(candidates)
    if not kept:
        return None
    safest, truest = kept[0], kept[-1]
    across, down = truest.risk - safest.risk, safest.loss - truest.loss
    if down <= 0:  # the whole front is one point
        return most_balanced(kept)

    def below(c: C) -> float:
        return 1.0 - (c.risk - safest.risk) / across - (c.loss - truest.loss) / down

    deepest = max(kept, key=below)
    return deepest if below(deepest) > _EQUAL else most_balanced(kept)


@dataclass(frozen=True)
class PublishDecision:
    """Whether the expected harm of publishing is less than that of not publishing.

    What an intruder achieves is a probability nobody knows; it has a Beta distribution, `prior` before the linkage
    experiments and `posterior` after them. Harms are in one unit, which is the owner's to choose.
    """

    prior: tuple[float, float]
    matches: float
    trials: int
    disclosure_loss: float
    withholding_loss: float

    @property
    def posterior(self) -> tuple[float, float]:
        a, b = self.prior
        return a + self.matches, b + self.trials - self.matches

    @property
    def probability(self) -> float:
        """The expected probability of disclosure."""
        a, b = self.posterior
        return a / (a + b)

    @property
    def expected_loss(self) -> float:
        """The expected harm of publishing."""
        return self.probability * self.disclosure_loss

    @property
    def publish(self) -> bool:
        return self.expected_loss < self.withholding_loss

    @property
    def bearable(self) -> float:
        """The probability of disclosure up to which publishing does less harm than not publishing; at most 1."""
        if self.disclosure_loss == 0:
            return 1.0 if self.withholding_loss > 0 else 0.0
        return min(1.0, self.withholding_loss / self.disclosure_loss)

    @property
    def confidence(self) -> float:
        """How probable it is, after the experiments, that the probability of disclosure is a bearable one."""
        return float(special.betainc(*self.posterior, self.bearable))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The bounds between which the probability of disclosure lies with this probability, as much beyond on either
        side."""
        if not 0 < level < 1:
            raise ParameterError(f"level = {level} is not allowed; it must lie between 0 and 1")
        tail = (1 - level) / 2
        low, high = (float(special.betaincinv(*self.posterior, q)) for q in (tail, 1 - tail))
        return low, high

    def to_plain(self) -> dict[str, Any]:
        return {
            "publish": self.publish,
            "probability": self.probability,
            "interval": list(self.interval()),
            "expected_loss": self.expected_loss,
            "withholding_loss": self.withholding_loss,
            "bearable": self.bearable,
            "confidence": self.confidence,
            "posterior": list(self.posterior),
        }

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{'Publish' if self.publish else 'Do not publish'}: a record is disclosed with probability "
            f"{self.probability:.4f} (95 % interval {low:.4f} to {high:.4f}), so publishing is expected to cost "
            f"{self.expected_loss:.4g} and not publishing {self.withholding_loss:.4g}; with probability "
            f"{self.confidence:.4f} the true one is below the bearable {self.bearable:.4f}."
        )


def publish_decision(
    experiments: Risk | Sequence[Risk] | tuple[float, int],
    *,
    disclosure_loss: float,
    withholding_loss: float,
    prior: tuple[float, float] = (1.0, 1.0),
) -> PublishDecision:
    """Publish if the probability of disclosure times its harm is expected to be less than the harm of not publishing.

    `experiments` are risks of attacks, or the number of right links and of trials. Of several attacks the linkage that
    succeeds most often counts, for an intruder runs the best; risks that are no shares of linked records are passed
    over. A right link may be a fraction, where several records were equally near. The prior is a Beta distribution; by
    default every probability is as likely.

    >>> decision = publish_decision((3, 100), disclosure_loss=50, withholding_loss=2)
    >>> decision.posterior, round(decision.expected_loss, 3), decision.publish
    ((4.0, 98.0), 1.961, True)
    """
    matches, trials = _counted(experiments)
    if not isinstance(prior, tuple | list) or len(prior) != 2 or not all(_is_number(n) and n > 0 for n in prior):
        raise ParameterError(f"prior = {prior!r} is not allowed; it must be two finite numbers above 0")
    for name, value in (("disclosure_loss", disclosure_loss), ("withholding_loss", withholding_loss)):
        if not _is_number(value) or value < 0:
            raise ParameterError(f"{name} = {value!r} is not allowed; it must be a finite number of at least 0")
    a, b = prior
    return PublishDecision(
        (float(a), float(b)), float(matches), int(trials), float(disclosure_loss), float(withholding_loss)
    )


def _counted(experiments: Risk | Sequence[Risk] | tuple[float, int]) -> tuple[float, int]:
    """Right links and trials."""
    listed = [experiments] if isinstance(experiments, Risk) else list(experiments)
    if listed and all(isinstance(risk, Risk) for risk in listed):
        linked = [risk for risk in listed if isinstance(risk, Risk) and is_linkage(risk)]
        if not linked:
            raise ParameterError("none of the risks is that of a linkage, so there are no right links to count")
        worst = max(linked, key=lambda risk: risk.value)
        return min(worst.value * worst.attacked / 100, worst.attacked), worst.attacked
    if len(listed) != 2 or not all(isinstance(count, Real) and not isinstance(count, bool) for count in listed):
        raise ParameterError("the experiments are risks of attacks, or the number of right links and that of trials")
    matches, trials = map(float, listed)  # type: ignore[arg-type]
    if not isfinite(trials) or trials != int(trials):
        raise ParameterError(f"{trials:g} trials are not possible; they must be a whole number")
    if not 0 <= matches <= trials:
        raise ParameterError(f"{matches:g} right links in {trials:g} trials are not possible")
    return matches, int(trials)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
