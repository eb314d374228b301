"""The score index SI of numeric tables, from G_IL and G_DR."""

from __future__ import annotations

from typing import ClassVar

from microveil.attacks import Risk
from microveil.comparison.pairs import Pair
from microveil.losses import Loss, LossMeasure
from microveil.parameters import parameter, parameterised
from microveil.registry import make
from microveil.scoring.rules.base import Scenario, ScoreRule, Values

_LEAST_KNOWN = 4


@parameterised
class ScoreIndex(ScoreRule):
    """The score index SI, from the loss G_IL and the risk G_DR, with the share x of the loss.

    G_DR is the mean of two risks: RLD, in which an intruder who knows some of the attributes takes the two persons
    nearest to each released record, and ID, in which all attributes of a record lie in the intervals around their
    released ranks. The loss has no upper bound.

    >>> ScoreIndex().combine({"g_il": 22.15, "rld": 61.8889, "id": 1.8704}).value.__round__(4)
    27.0148
    """

    name: ClassVar[str] = "score-index"
    summary: ClassVar[str] = (
        "weighted mean of G_IL and a risk from linkage to two neighbours and interval disclosure of records (SI)"
    )
    meaning: ClassVar[str] = "weighted mean of G_IL and G_DR; lower is better"
    formula: ClassVar[str] = "x G_IL + (1 - x) G_DR, G_DR = (RLD + ID)/2"
    symbols: ClassVar[tuple[str, ...]] = ("g_il", "rld", "id")
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "as G_IL, distance linkage and interval disclosure handle them"
    source: ClassVar[str] = "Fayyoumi (2008), section 4.4"

    known_sizes: tuple[int, ...] | None = parameter(
        default=None,
        help="how many attributes the intruder knows, each number in turn; unset: from 4 to all",
        min_length=1,
    )
    widths: tuple[float, ...] = parameter(
        default=tuple(float(p) for p in range(1, 11)), help="half-widths of the intervals in per cent", min_length=1
    )
    decimals: int | None = parameter(
        default=None,
        help="first round each of the five parts of G_IL to this number of decimals, as in Fayyoumi (2008)",
        ge=0,
        le=15,
    )

    def losses(self, pair: Pair) -> dict[str, LossMeasure]:
        return {"g_il": make("loss", "g-il", {"decimals": self.decimals})}

    def scenarios(self, pair: Pair, known: Pair) -> dict[str, Scenario]:
        most = len(known.attributes)
        sizes = self.known_sizes or tuple(range(min(_LEAST_KNOWN, most), most + 1))
        linkage = {"neighbours": 2, "direction": "masked", "standardisation": "joint", "known_sizes": sizes}
        intervals = {"mode": "records", "ties": "order", "widths": self.widths}
        return {
            "rld": Scenario(make("attack", "distance-linkage", linkage), (known.attributes,)),
            "id": Scenario(make("attack", "interval-disclosure", intervals), (pair.attributes,)),
        }

    def _value(self, result: Loss | Risk) -> float:
        return result.raw if isinstance(result, Loss) else result.value

    def _loss(self, values: Values) -> float:
        return values["g_il"]

    def _risk(self, values: Values) -> float:
        return (values["rld"] + values["id"]) / 2
