"""The score of time series; its measures are those of series, and only their values are combined here."""

from __future__ import annotations

from typing import ClassVar

from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.losses import LossMeasure
from microveil.parameters import parameterised
from microveil.scoring.rules.base import ScoreRule, Values


@parameterised
class TimeSeries(ScoreRule):
    """The loss is the mean of changes in means and autocovariances, in values and in forecasts; the risk is half that
    of linkage by values (EULD) and by shape (STSLD), half interval disclosure.

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

    def losses(self, pair: Pair) -> dict[str, LossMeasure]:
        raise DataError(
            f"{self.name} puts together measures of time series, which a table of records does not have; give their "
            "values to combine"
        )

    def _loss(self, values: Values) -> float:
        return (values["il1"] + values["il2"] + values["il3"]) / 3

    def _risk(self, values: Values) -> float:
        return (values["euld"] + values["stsld"]) / 4 + values["id"] / 2
