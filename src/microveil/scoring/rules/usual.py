"""Scores out of whatever an assessment measures: the mean, the maximum, and the worst that any intruder achieves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from microveil.attacks import Risk
from microveil.comparison.pairs import Pair
from microveil.losses import Loss
from microveil.microdata.schema import KINDS
from microveil.numerics.choices import By
from microveil.parameters import parameter, parameterised
from microveil.scoring.headline import headline_loss, headline_risk, worst_risk
from microveil.scoring.rules.base import ScoreRule, Values

_MISSING = "as the measures handle them"


@parameterised
class Mean(ScoreRule):
    """The mean of one loss and one risk, made of what was measured: the loss is IL for numeric attributes and the mean
    of CTBIL, DBIL and EBIL for categories, weighted by their numbers; the risk is the mean of interval disclosure and
    of the linkage that succeeds most often.

    >>> Mean().combine({"il": 10, "dr": 30}).value
    20.0
    """

    name: ClassVar[str] = "mean"
    summary: ClassVar[str] = "mean of the loss and of the risk that were measured"
    meaning: ClassVar[str] = "mean of loss and risk; lower is better"
    formula: ClassVar[str] = "(IL + DR)/2"
    symbols: ClassVar[tuple[str, ...]] = ("il", "dr")
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = _MISSING
    source: ClassVar[str] = (
        "Domingo-Ferrer and Torra (2001b); Fayyoumi (2008), section 2.4.3; Marés (2013), Eq. 3.2, 4.12 and 5.4"
    )
    usual: ClassVar[bool] = True

    def _loss(self, values: Values) -> float:
        return values["il"]

    def _risk(self, values: Values) -> float:
        return values["dr"]

    def values(
        self, pair: Pair, losses: Mapping[str, Loss], risks: Mapping[str, Risk], own: Mapping[str, Loss | Risk]
    ) -> dict[str, float]:
        return {"il": headline_loss(losses, pair), "dr": headline_risk(risks)}


@parameterised
class Max(Mean):
    """The larger of one loss and one risk, as in `mean`: a release that is bad on one side cannot make up for it on the
    other.

    >>> Max().combine({"il": 10, "dr": 30}).value
    30
    """

    name: ClassVar[str] = "max"
    summary: ClassVar[str] = "the larger of the loss and the risk that were measured"
    meaning: ClassVar[str] = "the worse of loss and risk; lower is better"
    formula: ClassVar[str] = "max(IL, DR)"
    source: ClassVar[str] = "Marés (2013), Eq. 3.4 and 4.11"

    by: By = parameter(default="max", help="how loss and risk are combined: their mean, or the larger of the two")


@parameterised
class Worst(Mean):
    """The mean of one loss, as in `mean`, and of the share of records linked by the best of all attacks that apply to
    the release, also of an intruder who knows how it was made: an intruder runs the best they have.

    >>> Worst().combine({"il": 10, "dr": 30}).value
    20.0
    """

    name: ClassVar[str] = "worst"
    summary: ClassVar[str] = "mean of the loss and of the share of records linked by the most successful attack"
    meaning: ClassVar[str] = "mean of the loss and of the worst linkage; lower is better"
    formula: ClassVar[str] = "(IL + DR)/2, DR the greatest share of records linked by any attack"
    source: ClassVar[str] = (
        "Microveil's own: the argument for the strongest attack in Nin (2008), section 4.3.3, applied to all attacks"
    )
    every_attack: ClassVar[bool] = True

    def values(
        self, pair: Pair, losses: Mapping[str, Loss], risks: Mapping[str, Risk], own: Mapping[str, Loss | Risk]
    ) -> dict[str, float]:
        return {"il": headline_loss(losses, pair), "dr": worst_risk(risks)}
