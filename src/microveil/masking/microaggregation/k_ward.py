"""The k-Ward family: hierarchical clustering that stops when every group has k records."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.microaggregation.individual_ranking import OneByOne, own_values
from microveil.numerics.choices import Extremes, WardRule
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class KWard(Microaggregation):
    """Merge the two closest groups, never two that both have k records, until all have k; divide those of 2k or more.

    It starts from the k records at either extreme and single records between. For one attribute the rule says which
    groups may merge: neighbours in order (fast, and never breaks the order), all pairs as in the original, or the two
    shortcuts of the diagonal version. Several attributes are grouped together on all pairs, in O(n^2) as a rule: give
    `chunk` for long files. Every group has k to 2k-1 records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1, 2, 3, 10, 11, 12, 14]})
    >>> KWard(k=3).mask(people).frame["a"].to_pylist()
    [2.0, 2.0, 2.0, 11.75, 11.75, 11.75, 11.75]
    """

    name: ClassVar[str] = "k-ward"
    summary: ClassVar[str] = "hierarchical clustering by Ward's method until each group has at least k records"
    source: ClassVar[str] = (
        "Domingo-Ferrer and Mateo-Sanz (2002); Fayyoumi (2008), sections 2.6.3.2 and 3.3, Algorithm 2"
    )

    rule: WardRule = parameter(default="contiguous", help="for a single attribute: which groups may be merged")
    extremes: Extremes = parameter(
        default="md",
        help="for several attributes: start from the two most distant records (md), or from the ends of the first "
        "principal component (fpc) or of the sum of z-scores (zs)",
    )

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.ward import k_ward_groups, multivariate_k_ward_groups

        label = f"{self.name}: merging groups"
        if columns.shape[1] > 1:
            return multivariate_k_ward_groups(columns, self.k, self.extremes, progress, label)
        labels = k_ward_groups(own_values(records), self.k, self.rule)
        progress(1.0, label)
        return labels


@parameterised
class KWD(OneByOne):
    """k-Ward that only looks at neighbouring groups, or over complete groups to the right: far fewer distances.

    Fayyoumi (2008) claims the same groups as k-Ward; that holds nearly always, not always.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1, 2, 3, 10, 11, 12]})
    >>> KWD(k=3).mask(people).frame["a"].to_pylist()
    [2.0, 2.0, 2.0, 11.0, 11.0, 11.0]
    """

    name: ClassVar[str] = "kwd"
    summary: ClassVar[str] = "k-Ward on each attribute by itself, comparing neighbouring groups only"
    source: ClassVar[str] = "Fayyoumi and Oommen (2006b); Fayyoumi (2008), section 3.4.1, Algorithm 3"

    exact: bool = parameter(
        default=False, help="also compare across complete groups to the left, which always gives the groups of k-Ward"
    )

    def _axis_groups(self, values: FloatArray, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.ward import k_ward_groups

        return k_ward_groups(values, self.k, "kwd-exact" if self.exact else "kwd")


@parameterised
class KWR(OneByOne):
    """Divide each attribute's values into halves while that explains little of their variation, then k-Ward in each.

    A part is halved while the variation inside its halves, as a share of its own, is not below the threshold. Without a
    threshold it is dynamic: the first division is always made, and the share of the part above is the threshold.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1, 2, 3, 10, 11, 12]})
    >>> KWR(k=3, threshold=0.8).mask(people).frame["a"].to_pylist()
    [2.0, 2.0, 2.0, 11.0, 11.0, 11.0]
    """

    name: ClassVar[str] = "kwr"
    summary: ClassVar[str] = "k-Ward on each attribute by itself, in recursively halved parts"
    source: ClassVar[str] = "Fayyoumi and Oommen (2006b); Fayyoumi (2008), section 3.4.2, Algorithm 4"

    threshold: float | None = parameter(
        default=None,
        help="a part is halved while the variation within its halves, as a share of its own, is not below this; "
        "unset: dynamic",
        ge=0,
        le=1e6,
    )
    parts: int = parameter(default=2, help="number of parts with equal numbers of records (J)", ge=2, le=10_000)
    rule: WardRule = parameter(default="contiguous", help="which groups may be merged")

    def _axis_groups(self, values: FloatArray, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.ward import recursive_k_ward_groups

        return recursive_k_ward_groups(values, self.k, self.rule, self.threshold, self.parts)[0]


@parameterised
class KWDR(KWR):
    """The recursive k-Ward with the diagonal k-Ward in the parts.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1, 2, 3, 10, 11, 12]})
    >>> KWDR(k=3).mask(people).frame["a"].to_pylist()
    [2.0, 2.0, 2.0, 11.0, 11.0, 11.0]
    """

    name: ClassVar[str] = "kwdr"
    summary: ClassVar[str] = "the recursive k-Ward, comparing neighbouring groups only"
    source: ClassVar[str] = "Fayyoumi (2008), section 3.5.3"

    rule: WardRule = parameter(default="kwd", help="which groups may be merged")
