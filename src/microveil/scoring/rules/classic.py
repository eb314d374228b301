"""The score of numeric tables: IL, two linkages at several levels of knowledge, and interval disclosure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from microveil.attacks import Risk
from microveil.attacks.linkage.base import Linkage
from microveil.attacks.linkage.projected import blocks_masked
from microveil.attacks.linkage.scenarios import first_attributes, first_blocks
from microveil.comparison.pairs import Pair
from microveil.losses import Loss, LossMeasure
from microveil.parameters import parameter, parameterised
from microveil.registry import find, make
from microveil.scoring.assessing import Levels
from microveil.scoring.rules.base import Scenario, ScoreRule, Values

Knowledge = Literal["auto", "half", "each", "blocks", "all"]


@parameterised
class NumericRule(ScoreRule):
    """What scores of numeric tables share: IL, and linkages by an intruder who knows more and more."""

    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "as IL, the linkages and interval disclosure handle them"
    # symbols, and the attacks that measure them
    linkages: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"dld": "distance-linkage", "pld": "probabilistic-linkage"}
    )

    knowledge: Knowledge = parameter(
        default="auto",
        help="sets of attributes that the intruder knows, over which risks are averaged: the first attributes up to "
        "half of them (half) or up to all (each), the first blocks from two on (blocks), or all at once; auto: "
        "blocks where several were masked, else half",
    )
    il: Literal["il", "pil"] = parameter(
        default="il", help="the loss: IL, or the probabilistic information loss (PIL), which never exceeds 100"
    )
    bounded: bool = parameter(
        default=True, help="limit each part of IL to 100, so that no loss outweighs every risk; published tables do not"
    )

    def losses(self, pair: Pair) -> dict[str, LossMeasure]:
        return {"il": make("loss", self.il)}

    def scenarios(self, pair: Pair, known: Pair) -> dict[str, Scenario]:
        levels = self._levels(known)
        linked = {s: _scenario(attack, levels, self._knowledge_of(attack)) for s, attack in self.linkages.items()}
        return {**linked, "id": Scenario(make("attack", "interval-disclosure"), (pair.attributes,))}

    def _knowledge_of(self, attack: str) -> dict[str, Any]:
        """Parameters of an attack that say what its intruder knows beside the attributes."""
        return {}

    def _levels(self, known: Pair) -> Levels:
        names = known.attributes
        blocks = blocks_masked(known, names) if self.knowledge in ("auto", "blocks") else []
        if self.knowledge == "blocks" or (self.knowledge == "auto" and len(blocks) > 1):
            return tuple(first_blocks(blocks or [names]))
        if self.knowledge == "all":
            return (names,)
        return tuple(first_attributes(names, range(1, len(names) + 1) if self.knowledge == "each" else None))

    def _value(self, result: Loss | Risk) -> float:
        return result.raw if isinstance(result, Loss) and not self.bounded else result.value

    def _loss(self, values: Values) -> float:
        return values["il"]


def _scenario(name: str, levels: Levels, parameters: Mapping[str, Any]) -> Scenario:
    """An attack at these levels, each of which has the attributes of the one before it first."""
    if not issubclass(find("attack", name), Linkage):
        return Scenario(make("attack", name, parameters), levels)
    # such an attack goes through the levels by itself, and on long files shares its time among them
    sizes = {"known_sizes": tuple(map(len, levels)), "choose": "first"}
    return Scenario(make("attack", name, {**parameters, **sizes}), levels[-1:])


@parameterised
class Classic(NumericRule):
    """Half of the risk is interval disclosure, the other half the mean of distance and probabilistic linkage, each the
    mean over what the intruder may know.

    >>> Classic().combine({"il": 14.14, "dld": 73.03, "pld": 67.24, "id": 72.73}).value.__round__(2)
    42.79
    """

    name: ClassVar[str] = "classic"
    summary: ClassVar[str] = (
        "mean of IL and a risk from distance and probabilistic linkage and interval disclosure (ScoreOld)"
    )
    meaning: ClassVar[str] = "mean of IL and of three general attacks; lower is better"
    formula: ClassVar[str] = "(IL + DR)/2, DR = (DLD + PLD)/4 + ID/2"
    symbols: ClassVar[tuple[str, ...]] = ("il", "dld", "pld", "id")
    source: ClassVar[str] = (
        "Domingo-Ferrer and Torra (2001b); Nin (2008), sections 2.5.2, 2.5.3 and 4.3.1; Marés (2013), section 3.4"
    )

    def _risk(self, values: Values) -> float:
        return 0.25 * values["dld"] + 0.25 * values["pld"] + 0.5 * values["id"]
