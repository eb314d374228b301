"""The ways of microaggregation, told apart as the literature does.

`attributes`: a univariate method groups the records anew for each attribute, a multivariate one for several at once.
`sizes`: groups of a fixed size have k records (the last ones may have some more); data-oriented ones have k to 2k-1 as
the data suggest, or more; `none` means that there are no groups of records. `search`: an optimal method finds the least
loss (for `width`: the least total width) of its kind of groups, a heuristic one a low loss. Traits are those of a
method's default settings. The literature knows no optimal multivariate method: the problem is NP-hard.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Traits(NamedTuple):
    """What kind of microaggregation a method is."""

    attributes: Literal["univariate", "multivariate"]
    sizes: Literal["fixed", "data-oriented", "none"]
    search: Literal["optimal", "heuristic"]


TRAITS: dict[str, Traits] = {
    "best": Traits("multivariate", "data-oriented", "heuristic"),
    "mdav": Traits("multivariate", "fixed", "heuristic"),
    "fixed": Traits("univariate", "fixed", "optimal"),
    "individual-ranking": Traits("univariate", "fixed", "optimal"),
    "optimal-univariate": Traits("univariate", "data-oriented", "optimal"),
    "moving-average": Traits("univariate", "none", "heuristic"),
    "hanani": Traits("multivariate", "fixed", "heuristic"),
    "univariate-genetic": Traits("univariate", "data-oriented", "heuristic"),
    "width": Traits("univariate", "data-oriented", "optimal"),
    "projection": Traits("multivariate", "data-oriented", "heuristic"),
    "k-ward": Traits("multivariate", "data-oriented", "heuristic"),
    "kwd": Traits("univariate", "data-oriented", "heuristic"),
    "kwr": Traits("univariate", "data-oriented", "heuristic"),
    "kwdr": Traits("univariate", "data-oriented", "heuristic"),
    "secure-k-ward": Traits("univariate", "data-oriented", "heuristic"),
    "md": Traits("multivariate", "fixed", "heuristic"),
    "cbfs": Traits("multivariate", "fixed", "heuristic"),
    "iamat": Traits("multivariate", "fixed", "heuristic"),
    "v-mdav": Traits("multivariate", "data-oriented", "heuristic"),
    "mst": Traits("multivariate", "data-oriented", "heuristic"),
    "mu-approx": Traits("multivariate", "data-oriented", "heuristic"),
    "two-approx": Traits("multivariate", "data-oriented", "heuristic"),
    "mdav-genetic": Traits("multivariate", "data-oriented", "heuristic"),
    "mdav-generic": Traits("multivariate", "fixed", "heuristic"),
    "k-modes": Traits("multivariate", "data-oriented", "heuristic"),
    "fuzzy": Traits("multivariate", "none", "heuristic"),
    "omma": Traits("multivariate", "fixed", "heuristic"),
    "mic1d": Traits("multivariate", "none", "heuristic"),
    "crest": Traits("multivariate", "data-oriented", "heuristic"),
    "camp-crest": Traits("multivariate", "data-oriented", "heuristic"),
}
