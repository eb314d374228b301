"""Scores of microaggregation in blocks, with the attack that projects each block."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from microveil.parameters import parameterised
from microveil.scoring.rules.base import Values
from microveil.scoring.rules.classic import NumericRule


@parameterised
class Projected(NumericRule):
    """ScoreNew: half of the risk is interval disclosure, the other half the mean of three linkages, one of which knows
    the blocks that were masked together.

    >>> row = {"il": 57.72, "dld": 10.15, "pld": 5.71, "projld": 27.59, "id": 43.48}
    >>> Projected().combine(row).value.__round__(2)
    43.35
    """

    name: ClassVar[str] = "projected"
    summary: ClassVar[str] = (
        "mean of IL and a risk from two general linkages, projected linkage and interval disclosure (ScoreNew)"
    )
    meaning: ClassVar[str] = "mean of IL and of four attacks on microaggregation; lower is better"
    formula: ClassVar[str] = "(IL + DR)/2, DR = (DLD + PLD + ProjLD)/6 + ID/2"
    symbols: ClassVar[tuple[str, ...]] = ("il", "dld", "pld", "projld", "id")
    source: ClassVar[str] = "Nin, Herranz and Torra (2008b); Nin (2008), section 4.3.3, ScoreNew as in Table 4.10"
    linkages: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"dld": "distance-linkage", "pld": "probabilistic-linkage", "projld": "projected-linkage"}
    )

    def _risk(self, values: Values) -> float:
        return (values["dld"] + values["pld"] + values["projld"]) / 6 + values["id"] / 2


@parameterised
class ProjectedUsed(Projected):
    """ScoreNew as Table 4.11 has it: distance linkage was left out there.

    >>> row = {"il": 13.9, "dld": 2.94, "pld": 6.91, "projld": 16.2, "id": 70.04}
    >>> ProjectedUsed().combine(row).value.__round__(2), Projected().combine(row).value.__round__(2)
    (27.35, 26.63)
    """

    name: ClassVar[str] = "projected-used"
    summary: ClassVar[str] = "the same as projected without distance linkage, as in one published table"
    meaning: ClassVar[str] = "mean of IL and of three attacks on microaggregation; lower is better"
    formula: ClassVar[str] = "(IL + DR)/2, DR = (PLD + ProjLD)/4 + ID/2"
    symbols: ClassVar[tuple[str, ...]] = ("il", "pld", "projld", "id")
    source: ClassVar[str] = "Nin (2008), section 4.3.3, ScoreNew as computed in Table 4.11"
    linkages: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"pld": "probabilistic-linkage", "projld": "projected-linkage"}
    )

    def _risk(self, values: Values) -> float:
        return (values["pld"] + values["projld"]) / 4 + values["id"] / 2


@parameterised
class ProjectedMax(Projected):
    """ScoreMax: as `projected`, but of the linkages the best alone counts, for an intruder runs the best they have.

    >>> row = {"il": 80.96, "dld": 12.93, "pld": 5.70, "projld": 49.83, "id": 42.60}
    >>> ProjectedMax().combine(row).value.__round__(2)
    63.59
    """

    name: ClassVar[str] = "projected-max"
    summary: ClassVar[str] = (
        "mean of IL and a risk from the most successful of three linkages and interval disclosure (ScoreMax)"
    )
    meaning: ClassVar[str] = "mean of IL, the most successful linkage and interval disclosure; lower is better"
    formula: ClassVar[str] = "(IL + DR)/2, DR = max(DLD, PLD, ProjLD)/2 + ID/2"
    source: ClassVar[str] = "Nin, Herranz and Torra (2008b); Nin (2008), section 4.3.3, ScoreMax"

    def _risk(self, values: Values) -> float:
        return max(values["dld"], values["pld"], values["projld"]) / 2 + values["id"] / 2
