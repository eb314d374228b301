"""Linkage disclosure of published tables: the share of right links, averaged over sets of known attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from microveil.attacks.base import Attack, Risk
from microveil.progress import Progress, parts, silent


@dataclass(frozen=True)
class Disclosure:
    """The risks of one attack for intruders who know more and more."""

    risks: tuple[Risk, ...]

    def curve(self, counter: str = "expected") -> list[float]:
        """The share of right links in per cent, scenario by scenario, by one of the ways of counting."""
        return [risk.counters[counter] for risk in self.risks]

    def mean(self, counter: str = "expected") -> float:
        """The mean of the curve: DLD, RSLD or ProjLD, by the attack."""
        return sum(self.curve(counter)) / len(self.risks)

    @property
    def value(self) -> float:
        return sum(risk.value for risk in self.risks) / len(self.risks)


def disclosure(
    attack: Attack, original: Any, release: Any, scenarios: Sequence[Sequence[str]], *, progress: Progress = silent
) -> Disclosure:
    """The attack for each list of known attributes.

    >>> from microveil.attacks.linkage.distance import DistanceLinkage
    >>> people = {"age": [20, 22, 41], "height": [160, 180, 170]}
    >>> disclosure(DistanceLinkage(), people, people, first_attributes(["age", "height"], (1, 2))).curve()
    [100.0, 100.0]
    """
    made = [
        attack.assess(original, release, known, progress=part)
        for known, part in zip(scenarios, parts(progress, len(scenarios)), strict=True)
    ]
    return Disclosure(tuple(made))


def first_attributes(attributes: Sequence[str], numbers: Sequence[int] | None = None) -> list[tuple[str, ...]]:
    """The first c attributes, for c from 1 to half of them (rounded up) unless other numbers are given.

    >>> first_attributes(["a", "b", "c"])
    [('a',), ('a', 'b')]
    """
    return [tuple(attributes[:c]) for c in numbers or range(1, (len(attributes) + 1) // 2 + 1)]


def first_blocks(blocks: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The attributes of the first g blocks, for g from 2 to all of them (a single block is known as a whole).

    >>> first_blocks([("a", "b"), ("c", "d")])
    [('a', 'b', 'c', 'd')]
    """
    known = [tuple(name for block in blocks[:g] for name in block) for g in range(2, len(blocks) + 1)]
    return known or [tuple(name for block in blocks for name in block)]
