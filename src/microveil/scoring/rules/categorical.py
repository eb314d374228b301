"""Scores of categorical tables."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from microveil.comparison.pairs import Pair
from microveil.losses import LossMeasure
from microveil.losses.categorical.aggregate import SOURCE_CH4_2
from microveil.losses.categorical.coding import ADD_MISSING
from microveil.microdata.schema import CATEGORICAL
from microveil.parameters import parameter, parameterised
from microveil.registry import make
from microveil.scoring.rules.base import Scenario, ScoreRule, Values


@parameterised
class CategoricalRule(ScoreRule):
    """What scores of categorical tables share: the risk is half interval disclosure and half the better of two
    linkages."""

    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = "as the losses, the linkages and interval disclosure handle them"

    assignment: Literal["one-to-one", "best"] = parameter(
        default="one-to-one",
        help="probabilistic linkage uses every released record once (one-to-one, up to 5,000 distinct records), or "
        "links each record by itself (best)",
    )

    def scenarios(self, pair: Pair, known: Pair) -> dict[str, Scenario]:
        everything = (known.attributes,)
        linked = {"assignment": self.assignment}
        return {
            "id": Scenario(make("attack", "interval-disclosure", self._intervals()), (pair.attributes,)),
            "dbrl": Scenario(make("attack", "distance-linkage", {"direction": "masked"}), everything),
            "prl": Scenario(make("attack", "probabilistic-linkage", linked), everything),
        }

    def _intervals(self) -> dict[str, Any]:
        return {"counted": "all"}

    def _risk(self, values: Values) -> float:
        return (values["id"] + max(values["dbrl"], values["prl"])) / 2


@parameterised
class Categorical(CategoricalRule):
    """The loss is the mean of changes in tables (CTBIL), of categories (DBIL) and of entropy (EBIL).

    >>> row = {"ctbil": 33.333, "dbil": 16.667, "ebil": 27.182, "id": 75.0, "dbrl": 50.0, "prl": 40.0}
    >>> score = Categorical().combine(row)
    >>> round(score.loss, 3), score.risk
    (25.727, 62.5)
    """

    name: ClassVar[str] = "categorical"
    summary: ClassVar[str] = (
        "mean of a loss from CTBIL, DBIL and EBIL and a risk from interval disclosure and the better of two linkages"
    )
    meaning: ClassVar[str] = "mean of loss and risk of categories; lower is better"
    formula: ClassVar[str] = "(IL + DR)/2, IL = (CTBIL + DBIL + EBIL)/3, DR = (ID + max(DBRL, PRL))/2"
    symbols: ClassVar[tuple[str, ...]] = ("ctbil", "dbil", "ebil", "id", "dbrl", "prl")
    source: ClassVar[str] = "Marés (2013), sections 4.2.3 and 5.4, Eq. 4.9, 4.10, 5.1, 5.2 and 5.4"

    add_missing_category: bool = parameter(default=False, help=ADD_MISSING)

    def losses(self, pair: Pair) -> dict[str, LossMeasure]:
        extra = {"add_missing_category": self.add_missing_category}
        return {name: make("loss", name, {**extra, **self._conventions(name)}) for name in ("ctbil", "dbil", "ebil")}

    def _conventions(self, loss: str) -> dict[str, Any]:
        return {}

    def _loss(self, values: Values) -> float:
        return (values["ctbil"] + values["dbil"] + values["ebil"]) / 3


@parameterised
class CategoricalSource(Categorical):
    """The same with the conventions that fit the printed values of PRAM best, those of the preset `source-ch4-2` of
    il-categorical: one-way tables, the share of changed cells, one category more than occurs in each attribute; and the
    share of unchanged cells in the place of intervals. A domain that declares its category for missing cells is not
    given another; where the schema has one that it does not declare, unset `add_missing_category`.

    >>> row = {"ctbil": 12.0, "dbil": 50.0, "ebil": 52.0, "id": 50.0, "dbrl": 12.0, "prl": 10.0}
    >>> CategoricalSource().combine(row).value
    34.5
    """

    name: ClassVar[str] = "categorical-source"
    summary: ClassVar[str] = (
        "the same as categorical, with the conventions that fit published tables best (source_ch4_2)"
    )
    source: ClassVar[str] = (
        "Marés (2013), section 4.2.4, with the conventions that come nearest to Tables 4.12 and 4.13"
    )

    add_missing_category: bool = parameter(default=SOURCE_CH4_2["add_missing_category"], help=ADD_MISSING)

    def _conventions(self, loss: str) -> dict[str, Any]:
        convention = {"ctbil": "dimension", "dbil": "ordinal_distance"}.get(loss)
        return {} if convention is None else {convention: SOURCE_CH4_2[convention]}

    def _intervals(self) -> dict[str, Any]:
        return {**super()._intervals(), "widths": (0.0,)}


@parameterised
class Clustering(CategoricalRule):
    """For users who will cluster the release: the loss says how differently the two tables fall into clusters.

    >>> Clustering().combine({"clustering": 19.62, "id": 80.0, "dbrl": 5.1, "prl": 4.0}).value.__round__(3)
    31.085
    """

    name: ClassVar[str] = "clustering"
    summary: ClassVar[str] = (
        "mean of the change of clusters and a risk from interval disclosure and the better of two linkages"
    )
    meaning: ClassVar[str] = "mean of the clustering loss and of the risk of categories; lower is better"
    formula: ClassVar[str] = "(IL + DR)/2, IL = 1 - (Rand + Jaccard + Wallace)/3, DR = (ID + max(DBRL, PRL))/2"
    symbols: ClassVar[tuple[str, ...]] = ("clustering", "id", "dbrl", "prl")
    source: ClassVar[str] = "Marés (2013), sections 5.4 and 5.4.3, Eq. 5.3"

    def losses(self, pair: Pair) -> dict[str, LossMeasure]:
        return {"clustering": make("loss", "clustering")}

    def _loss(self, values: Values) -> float:
        return values["clustering"]
