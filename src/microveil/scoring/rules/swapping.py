"""Scores of rank swapping, with the attack made for it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from microveil.parameters import parameter, parameterised
from microveil.scoring.rules.base import Values
from microveil.scoring.rules.classic import NumericRule

_ATTACK = "rank-swapping-linkage"


@parameterised
class Swapping(NumericRule):
    """The score of rank-swapped tables as the published tables have it: the attack that knows how far values moved
    counts as much as interval disclosure, and twice as much as each of the general linkages.

    >>> Swapping().combine({"il": 3.89, "rsld": 77.73, "dld": 73.52, "pld": 71.28, "id": 93.98}).value.__round__(2)
    42.63
    """

    name: ClassVar[str] = "swapping"
    summary: ClassVar[str] = (
        "mean of IL and a risk from rank swapping linkage, two general linkages and interval disclosure, weighted as "
        "in published tables"
    )
    meaning: ClassVar[str] = "mean of IL and of four attacks on rank swapping; lower is better"
    formula: ClassVar[str] = "(IL + DR)/2, DR = RSLD/3 + DLD/6 + PLD/6 + ID/3"
    symbols: ClassVar[tuple[str, ...]] = ("il", "rsld", "dld", "pld", "id")
    source: ClassVar[str] = "Nin (2008), section 4.1.3, with the weights of Tables 4.3 to 4.5"
    linkages: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"rsld": _ATTACK, "dld": "distance-linkage", "pld": "probabilistic-linkage"}
    )

    p: float | None = parameter(
        default=None,
        help="p of rank swapping that the intruder assumes, in per cent of the records; unset: from the release",
        ge=0,
        le=100,
    )

    def _knowledge_of(self, attack: str) -> dict[str, Any]:
        return {"p": self.p} if attack == _ATTACK else {}

    def _risk(self, values: Values) -> float:
        return values["rsld"] / 3 + values["dld"] / 6 + values["pld"] / 6 + values["id"] / 3


@parameterised
class SwappingStated(Swapping):
    """The score of rank-swapped tables as its text states it; none of the published tables was made with it.

    >>> SwappingStated().combine({"il": 10, "rsld": 30, "dld": 20, "pld": 10, "id": 40}).risk.__round__(2)
    29.96
    """

    name: ClassVar[str] = "swapping-stated"
    summary: ClassVar[str] = "the same as swapping, with the weights that the text of Nin (2008) states"
    formula: ClassVar[str] = "(IL + DR)/2, DR = 0.166 RSLD + 0.166 DLD + 0.166 PLD + 0.5 ID"
    source: ClassVar[str] = "Nin (2008), section 4.1.3, with the weights of the text"

    def _risk(self, values: Values) -> float:
        return 0.166 * (values["rsld"] + values["dld"] + values["pld"]) + 0.5 * values["id"]
