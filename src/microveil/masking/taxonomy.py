"""The kinds of method there are: how they protect, and what data they are for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from microveil.errors import UnknownNameError
from microveil.masking.base import Method
from microveil.microdata.schema import CATEGORICAL

Nature = Literal["perturbative", "non-perturbative", "synthetic"]

# perturbative: other values; non-perturbative: fewer or coarser ones, but true; synthetic: none of the original
NATURES: dict[str, Nature] = {
    "microaggregation": "perturbative",
    "swapping": "perturbative",
    "randomising": "perturbative",
    "coarsening": "non-perturbative",
    "synthesis": "synthetic",
    "structure": "perturbative",  # of links, where the others are about values
    "combining": "perturbative",  # as a rule: what another method makes, part of the file by part
}


@dataclass(frozen=True)
class MethodClass:
    """How the literature classifies a method: its nature, whether it treats numbers and which categories, or the links
    of a graph."""

    nature: Nature
    numerical: bool
    categorical: tuple[str, ...]
    links: bool = False


def classify(method: type[Method]) -> MethodClass:
    """Where a method belongs, by its family and the kinds of attribute it masks.

    >>> from microveil.masking.swapping.rank_swapping import RankSwapping
    >>> classify(RankSwapping)
    MethodClass(nature='perturbative', numerical=True, categorical=('ordinal', 'nominal'), links=False)
    """
    if method.family not in NATURES:
        raise UnknownNameError("family of methods", method.family, NATURES)
    return MethodClass(
        NATURES[method.family],
        "numeric" in method.kinds,
        tuple(kind for kind in CATEGORICAL if kind in method.kinds),
        method.structural,
    )
