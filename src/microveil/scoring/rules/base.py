"""The contract of a score rule: which measures its formula needs, and what it makes of their values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, ClassVar

from microveil.attacks import Attack, Risk
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.losses import Loss, LossMeasure
from microveil.numerics.choices import By
from microveil.parameters import Parameterised, describe_parameters, parameter, parameterised
from microveil.progress import Progress, silent
from microveil.registry import make
from microveil.scoring.assessing import Levels, assess
from microveil.scoring.assessment import Assessment
from microveil.scoring.scores import Score

Values = Mapping[str, float]


@dataclass(frozen=True)
class Scenario:
    """An attack, and the attributes the intruder knows, level by level; the risk is the mean over the levels."""

    attack: Attack
    levels: Levels


@parameterised
class ScoreRule(Parameterised, ABC):
    """A formula. A subclass names its quantities in `symbols` and says how each is measured and combined."""

    family: ClassVar[str] = "score"
    formula: ClassVar[str]
    meaning: ClassVar[str]
    symbols: ClassVar[tuple[str, ...]]
    # made of whatever an assessment measures, and not of measures of its own
    usual: ClassVar[bool] = False
    # wants every attack that applies to the release
    every_attack: ClassVar[bool] = False

    by: By = parameter(default="mean", help="how loss and risk are combined: their mean, or the larger of the two")
    share: float = parameter(
        default=0.5, help="weight of the loss in the mean; the risk has 1 minus this weight", ge=0, le=1
    )

    def combine(self, values: Values) -> Score:
        """The score of these values of the formula's symbols, in per cent; other names are passed over."""
        for symbol in self.symbols:
            if symbol not in values:
                raise ParameterError(f"{self.name} needs {', '.join(self.symbols)}, and '{symbol}' is not given")
            value = values[symbol]
            if not isinstance(value, Real) or isinstance(value, bool) or not isfinite(value):
                raise ParameterError(f"{self.name}: {symbol} = {value!r} is not allowed; it must be a finite number")
        return Score(self._loss(values), self._risk(values), self.by, self.share)

    @property
    def stated(self) -> str:
        """The formula, with what these parameters change in it."""
        usual = {parameter["name"]: parameter["default"] for parameter in describe_parameters(type(self))}
        if self.by != usual["by"]:
            return f"{self.formula}; here the {'larger' if self.by == 'max' else 'mean'} of the two"
        return self.formula if self.share == usual["share"] else f"{self.formula}; here IL has the share {self.share:g}"

    @abstractmethod
    def _loss(self, values: Values) -> float:
        """The loss in the formula."""

    @abstractmethod
    def _risk(self, values: Values) -> float:
        """The risk in the formula."""

    def losses(self, pair: Pair) -> dict[str, LossMeasure]:
        """The losses the formula needs, by symbol."""
        return {}

    def scenarios(self, pair: Pair, known: Pair) -> dict[str, Scenario]:
        """The attacks the formula needs, by symbol; `known` has the attributes the intruder may know."""
        return {}

    def values(
        self,
        pair: Pair,
        losses: Mapping[str, Loss],
        risks: Mapping[str, Risk],
        own: Mapping[str, Loss | Risk],
    ) -> dict[str, float]:
        """The values of the symbols: of their own measures, or (for usual rules) out of all that was measured."""
        return {symbol: self._value(own[symbol]) for symbol in self.symbols}

    def _value(self, result: Loss | Risk) -> float:
        return result.value

    def assess(
        self,
        original: Any,
        release: Any,
        attributes: Sequence[str] | None = None,
        *,
        known: Sequence[str] | None = None,
        progress: Progress = silent,
    ) -> Assessment:
        """Measure what the formula needs, and nothing else, and put it together."""
        only = None if self.usual else ()
        return assess(
            original, release, attributes, attacks=only, losses=only, known=known, score=self, progress=progress
        )


def score(name: str, **parameters: Any) -> ScoreRule:
    """A rule by its name: `score("classic")`."""
    made: ScoreRule = make("score", name, parameters)
    return made
