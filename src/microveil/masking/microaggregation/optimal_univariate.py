"""The univariate optimum: least loss for each attribute by itself."""

from __future__ import annotations

from typing import ClassVar, Literal

from microveil.masking.microaggregation.classification import Traits
from microveil.masking.microaggregation.individual_ranking import IndividualRanking
from microveil.numerics.choices import Remainder
from microveil.parameters import parameter, parameterised


@parameterised
class OptimalUnivariate(IndividualRanking):
    """For each attribute by itself the groups of at least k with the least sum of squares, exactly.

    A shortest path over the values in order, in O(n k) after sorting; groups have k to 2k-1 records. The fixed mode
    cuts groups of k instead, as published experiments that speak of the optimum seem to have done.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1, 2, 3, 6, 7, 8, 9]})
    >>> OptimalUnivariate(k=2).mask(people).frame["a"].to_pylist()
    [2.0, 2.0, 2.0, 6.5, 6.5, 8.5, 8.5]
    """

    name: ClassVar[str] = "optimal-univariate"
    summary: ClassVar[str] = "each attribute by itself: groups of at least k values with the least sum of squares"
    traits: ClassVar[Traits] = Traits("univariate", "data-oriented", "optimal")
    source: ClassVar[str] = "Hansen and Mukherjee (2003); Fayyoumi (2008), section 2.6.3.1; Nin (2008), section 2.4.2"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)

    partition: Literal["optimal", "fixed"] = parameter(default="optimal", help="the optimum, or groups of k")
    remainder: Remainder = parameter(
        default="middle", help="with fixed: which group takes the n mod k values left over"
    )
