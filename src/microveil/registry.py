"""Every method, attack and loss by its short name. To add one, write its file and one line here."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from microveil.errors import ParameterError, UnknownNameError, nearest_name
from microveil.parameters import Parameterised, describe_parameters, from_text, parameter_names

if TYPE_CHECKING:
    from microveil.attacks import Attack
    from microveil.losses import LossMeasure
    from microveil.masking import Method

Sort = Literal["method", "attack", "loss"]

METHODS = {
    "best": "microveil.masking.microaggregation.best:Best",
    "mdav": "microveil.masking.microaggregation.mdav:MDAV",
    "fixed": "microveil.masking.microaggregation.fixed:Fixed",
    "individual-ranking": "microveil.masking.microaggregation.individual_ranking:IndividualRanking",
    "optimal-univariate": "microveil.masking.microaggregation.optimal_univariate:OptimalUnivariate",
    "moving-average": "microveil.masking.microaggregation.moving_average:MovingAverage",
    "hanani": "microveil.masking.microaggregation.hanani:Hanani",
    "univariate-genetic": "microveil.masking.microaggregation.univariate_genetic:UnivariateGenetic",
    "width": "microveil.masking.microaggregation.width:Width",
    "projection": "microveil.masking.microaggregation.projection:Projection",
    "k-ward": "microveil.masking.microaggregation.k_ward:KWard",
    "kwd": "microveil.masking.microaggregation.k_ward:KWD",
    "kwr": "microveil.masking.microaggregation.k_ward:KWR",
    "kwdr": "microveil.masking.microaggregation.k_ward:KWDR",
    "secure-k-ward": "microveil.masking.microaggregation.secure_k_ward:SecureKWard",
    "md": "microveil.masking.microaggregation.md:MD",
    "cbfs": "microveil.masking.microaggregation.cbfs:CBFS",
    "iamat": "microveil.masking.microaggregation.iamat:IAMAT",
    "v-mdav": "microveil.masking.microaggregation.v_mdav:VMDAV",
    "mst": "microveil.masking.microaggregation.mst:MST",
    "mu-approx": "microveil.masking.microaggregation.mu_approx:MuApprox",
    "two-approx": "microveil.masking.microaggregation.two_approx:TwoApprox",
    "mdav-genetic": "microveil.masking.microaggregation.mdav_genetic:MDAVGenetic",
    "fuzzy": "microveil.masking.microaggregation.fuzzy:Fuzzy",
    "omma": "microveil.masking.microaggregation.omma:OMMA",
    "mic1d": "microveil.masking.microaggregation.mic1d:Mic1D",
    "crest": "microveil.masking.microaggregation.crest:Crest",
    "camp-crest": "microveil.masking.microaggregation.camp_crest:CampCrest",
    "rank-swapping": "microveil.masking.swapping.rank_swapping:RankSwapping",
    "pram": "microveil.masking.randomising.pram:PRAM",
    "noise": "microveil.masking.randomising.noise:Noise",
}
ATTACKS = {
    "distance-linkage": "microveil.attacks.linkage.distance:DistanceLinkage",
    "interval-disclosure": "microveil.attacks.intervals:IntervalDisclosure",
}
LOSSES = {
    "sse": "microveil.losses.numeric.sse:SSE",
    "sse-separate": "microveil.losses.numeric.separate_sse:SeparateSSE",
    "il": "microveil.losses.numeric.moments:IL",
    "il1": "microveil.losses.numeric.moments:IL1",
    "il2": "microveil.losses.numeric.moments:IL2",
    "il3": "microveil.losses.numeric.moments:IL3",
    "il4": "microveil.losses.numeric.moments:IL4",
    "il5": "microveil.losses.numeric.moments:IL5",
    "g-il": "microveil.losses.numeric.moments:GIL",
    "dbil": "microveil.losses.categorical.distance:DBIL",
    "ctbil": "microveil.losses.categorical.tables:CTBIL",
}
SHELVES: dict[str, dict[str, str]] = {"method": METHODS, "attack": ATTACKS, "loss": LOSSES}


def names(sort: str = "method") -> tuple[str, ...]:
    """The registered names of one sort, in order."""
    if sort not in SHELVES:
        raise UnknownNameError("kind of entry", sort, SHELVES)
    return tuple(SHELVES[sort])


def find(sort: str, name: str) -> type[Any]:
    """The class behind a name."""
    if name not in names(sort):
        raise UnknownNameError(sort, name, names(sort))
    module, cls = SHELVES[sort][name].split(":")
    found: type[Any] = getattr(importlib.import_module(module), cls)
    return found


def make(sort: str, name: str, parameters: Mapping[str, Any] | None = None, *, text: bool = False) -> Any:
    """Build a component by name; with `text`, the values are texts as typed on a command line."""
    cls = find(sort, name)
    given = dict(parameters or {})
    known = parameter_names(cls)
    for parameter in given:
        if parameter not in known:
            raise ParameterError(f"{name} has no parameter '{parameter}'{nearest_name(parameter, known)}")
    return from_text(cls, given) if text else cls(**given)


def method(name: str, **parameters: Any) -> Method:
    """A method by its name: `method("mdav", k=5)`."""
    made: Method = make("method", name, parameters)
    return made


def attack(name: str, **parameters: Any) -> Attack:
    """An attack by its name."""
    made: Attack = make("attack", name, parameters)
    return made


def loss(name: str, **parameters: Any) -> LossMeasure:
    """A loss by its name."""
    made: LossMeasure = make("loss", name, parameters)
    return made


def describe(sort: str, name: str) -> dict[str, Any]:
    """Everything a program or a page needs to show an entry."""
    cls: type[Parameterised] = find(sort, name)
    entry: dict[str, Any] = {
        "name": cls.name,
        "family": cls.family,
        "summary": cls.summary,
        "kinds": list(cls.kinds),
        "parameters": [dict(parameter) for parameter in describe_parameters(cls)],
        "source": cls.source,
        "missing": cls.missing,
    }
    for extra in ("weights", "meaning"):
        if hasattr(cls, extra):
            entry[extra] = getattr(cls, extra)
    if sort == "method":
        from microveil.masking.taxonomy import place_of

        entry["nature"] = place_of(find("method", name)).nature
    return entry
