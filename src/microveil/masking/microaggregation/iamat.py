"""IAMAT: interactive-associative microaggregation."""

from __future__ import annotations

from typing import ClassVar, Literal

from microveil.masking.microaggregation.cbfs import FarthestFirst
from microveil.parameters import parameter, parameterised


@parameterised
class IAMAT(FarthestFirst):
    """Like cbfs, but a group takes next the record with the strongest interaction with all its members.

    The interaction is the product of the associations, which fall exponentially with the squared distance; so the
    record with the strongest one is the record that raises the sum of squares within the group least, and the scale
    of the exponential (alpha in the papers) decides nothing. Leftover records join the last group; all other groups
    have exactly k records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 42, 43, 62, 66]})
    >>> IAMAT(k=3).mask(people).frame["age"].to_pylist()
    [28.0, 28.0, 28.0, 57.0, 57.0, 57.0]
    """

    name: ClassVar[str] = "iamat"
    summary: ClassVar[str] = "groups of k records that grow by the record nearest to all members"
    source: ClassVar[str] = "Oommen and Fayyoumi (2007), Algorithm 1; Fayyoumi (2008), section 5.3.2, Algorithm 12"

    centroid: Literal["fixed", "recomputed"] = parameter(
        default="fixed",
        help="centroid from which the farthest record starts a group: that of all records, as published, or that of "
        "the records still without a group",
    )

    @property
    def _by_interaction(self) -> bool:
        return True
