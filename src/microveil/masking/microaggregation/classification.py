"""The ways of microaggregation, told apart as the literature does.

`attributes`: a univariate method groups the records anew for each attribute, a multivariate one for several at once.
`sizes`: groups of a fixed size have k records (the last ones may have some more); data-oriented ones have k to 2k-1 as
the data suggest, or more; `none` means that there are no groups of records. `search`: an optimal method finds the least
loss (for `width`: the least total width) of its kind of groups, a heuristic one a low loss. The `traits` that a class
declares are those of its default settings. The literature knows no optimal multivariate method: the problem is NP-hard.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Traits(NamedTuple):
    """What kind of microaggregation a method is."""

    attributes: Literal["univariate", "multivariate"]
    sizes: Literal["fixed", "data-oriented", "none"]
    search: Literal["optimal", "heuristic"]
