"""Global-median k-anonymity: the regions of Mondrian publish the middle category of the domain."""

from __future__ import annotations

from typing import ClassVar

from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.publishing.publishing import Publishing
from microveil.masking.publishing.span import MiddleOfSpan
from microveil.masking.ranges import GROUP_SIZES, Ranges, ranges
from microveil.parameters import parameter, parameterised


@parameterised
class GlobalMedian(Mondrian):
    """The regions of `mondrian` publish the middle of all categories of the domain from their lowest to their highest.

    The middle comes from the domain, not from the records, so a published category may be one that nobody in the
    region has; numbers publish the middle of their interval. Records with equal values are always masked alike. Nominal
    categories have no middle: declare them ordinal, with a domain in a sensible order, to mask them so.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"grade": [1, 1, 3, 5, 4, 5]}, ordinal=["grade"])
    >>> GlobalMedian(k=3).mask(people).frame["grade"].to_pylist()
    [1, 1, 1, 4, 4, 4]
    """

    name: ClassVar[str] = "global-median"
    summary: ClassVar[str] = "median cuts into regions of at least k records, which publish the middle of their range"
    kinds: ClassVar[tuple[str, ...]] = ("numeric", "ordinal")
    source: ClassVar[str] = "Marés (2013), section 5.3.1; Marés and Torra (2012)"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES)

    publishing: Publishing = parameter(default=MiddleOfSpan(), help="what a region publishes")
