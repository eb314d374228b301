"""The score of time series: changes of moments, values and forecasts, two linkages, and interval disclosure."""

from __future__ import annotations

from typing import ClassVar, Literal

from microveil.attacks import Risk
from microveil.comparison.pairs import Pair
from microveil.losses import Loss, LossMeasure
from microveil.numerics.choices import Basis
from microveil.parameters import parameter, parameterised
from microveil.registry import make
from microveil.scoring.rules.base import Scenario, ScoreRule, Values


@parameterised
class TimeSeries(ScoreRule):
    """The loss is the mean of changes in means and autocovariances, in values and in forecasts; the risk is half that
    of linkage by values (EULD) and by shape (STSLD), half interval disclosure. Linkage is that of intruders who know
    the first variable, the first two, and so on, in the mean.

    >>> row = {"il1": 0.0, "il2": 12.57, "il3": 14.20, "euld": 7.19, "stsld": 3.33, "id": 36.52}
    >>> TimeSeries().combine(row).value.__round__(2)
    14.91
    """

    name: ClassVar[str] = "time-series"
    summary: ClassVar[str] = (
        "mean of the changes of moments, values and forecasts of series and a risk from linkage and interval disclosure"
    )
    meaning: ClassVar[str] = "mean of loss and risk of time series; lower is better"
    formula: ClassVar[str] = "(IL + DR)/2, IL = (IL1 + IL2 + IL3)/3, DR = (EULD + STSLD)/4 + ID/2"
    symbols: ClassVar[tuple[str, ...]] = ("il1", "il2", "il3", "euld", "stsld", "id")
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "as the measures of series handle them"
    source: ClassVar[str] = "Nin and Torra (2006); Nin (2008), sections 6.3.4 and 6.4"

    basis: Basis = parameter(
        default="lag", help="what regressions forecast from in IL3: the values before (lag), or the time"
    )
    normalise: Literal["largest", "none", "series", "global"] = parameter(
        default="largest",
        help="scale of the series in both linkages: the one that links most (largest), as they are (none), each by its "
        "own mean and deviation (series), or each variable by those of all its values (global)",
    )

    def losses(self, pair: Pair) -> dict[str, LossMeasure]:
        return {
            "il1": make("loss", "series-il1"),
            "il2": make("loss", "series-il2"),
            "il3": make("loss", "series-il3", {"basis": self.basis}),
        }

    def scenarios(self, pair: Pair, known: Pair) -> dict[str, Scenario]:
        numbers = known.of_kinds(self.kinds)
        levels = (known.attributes if known.original.series_among(numbers) else pair.attributes,)
        scale = {"normalise": self.normalise}
        return {
            "euld": Scenario(make("attack", "series-linkage", {"distance": "euclidean", **scale}), levels),
            "stsld": Scenario(make("attack", "series-linkage", {"distance": "sts", **scale}), levels),
            "id": Scenario(make("attack", "series-intervals"), (pair.attributes,)),
        }

    def _value(self, result: Loss | Risk) -> float:
        """Of linkage, the mean over what intruders know, where there are several variables."""
        return result.counters.get("average", result.value) if isinstance(result, Risk) else result.value

    def _loss(self, values: Values) -> float:
        return (values["il1"] + values["il2"] + values["il3"]) / 3

    def _risk(self, values: Values) -> float:
        return (values["euld"] + values["stsld"]) / 4 + values["id"] / 2
