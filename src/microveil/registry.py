"""Every method, attack, loss and score by its short name. To add one, write its file and one line here."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from microveil.errors import ParameterError, UnknownNameError, nearest_name, shortened
from microveil.parameters import (
    Parameterised,
    component_parameters,
    describe_parameters,
    from_text,
    parameter_names,
)

if TYPE_CHECKING:
    from microveil.attacks import Attack
    from microveil.losses import LossMeasure
    from microveil.masking import Method

Kind = Literal["method", "attack", "loss", "score"]

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
    "mdav-generic": "microveil.masking.microaggregation.mdav_generic:MDAVGeneric",
    "k-modes": "microveil.masking.microaggregation.k_modes:KModes",
    "fuzzy": "microveil.masking.microaggregation.fuzzy:Fuzzy",
    "omma": "microveil.masking.microaggregation.omma:OMMA",
    "mic1d": "microveil.masking.microaggregation.mic1d:Mic1D",
    "crest": "microveil.masking.microaggregation.crest:Crest",
    "camp-crest": "microveil.masking.microaggregation.camp_crest:CampCrest",
    "rank-swapping": "microveil.masking.swapping.rank_swapping:RankSwapping",
    "rank-swapping-distribution": "microveil.masking.swapping.rank_swapping_distribution:RankSwappingDistribution",
    "rank-swapping-buckets": "microveil.masking.swapping.rank_swapping_buckets:RankSwappingBuckets",
    "data-swapping": "microveil.masking.swapping.data_swapping:DataSwapping",
    "sampling": "microveil.masking.coarsening.sampling:Sampling",
    "recode": "microveil.masking.coarsening.recode:Recode",
    "top-code": "microveil.masking.coarsening.top_bottom_coding:TopCode",
    "bottom-code": "microveil.masking.coarsening.top_bottom_coding:BottomCode",
    "suppress": "microveil.masking.coarsening.suppress:Suppress",
    "pram": "microveil.masking.randomising.pram:PRAM",
    "noise": "microveil.masking.randomising.noise:Noise",
    "noise-swapping": "microveil.masking.randomising.noise_swapping:NoiseSwapping",
    "rounding": "microveil.masking.randomising.rounding:Rounding",
    "resampling": "microveil.masking.randomising.resampling:Resampling",
    "lossy": "microveil.masking.randomising.lossy:Lossy",
    "matrix": "microveil.masking.randomising.matrix:Matrix",
    "restore": "microveil.masking.randomising.restore:Restore",
    "hybrid": "microveil.masking.synthesis.hybrid:Hybrid",
    "mondrian": "microveil.masking.coarsening.mondrian:Mondrian",
    "global-median": "microveil.masking.coarsening.global_median:GlobalMedian",
    "within": "microveil.masking.within:Within",
    "by-household": "microveil.masking.by_household:ByHousehold",
    "synthetic": "microveil.masking.synthesis.synthetic:Synthetic",
}
ATTACKS = {
    "distance-linkage": "microveil.attacks.linkage.distance:DistanceLinkage",
    "probabilistic-linkage": "microveil.attacks.linkage.probabilistic:ProbabilisticLinkage",
    "rank-swapping-linkage": "microveil.attacks.linkage.rank_swapping:RankSwappingLinkage",
    "annotated-union-linkage": "microveil.attacks.linkage.annotated_union:AnnotatedUnionLinkage",
    "alignment-linkage": "microveil.attacks.linkage.alignment:AlignmentLinkage",
    "projected-linkage": "microveil.attacks.linkage.projected:ProjectedLinkage",
    "representative-linkage": "microveil.attacks.linkage.representatives:RepresentativeLinkage",
    "rank-alignment-linkage": "microveil.attacks.linkage.rank_alignment:RankAlignmentLinkage",
    "frequency-alignment-linkage": "microveil.attacks.linkage.frequency_alignment:FrequencyAlignmentLinkage",
    "ranking-intervals": "microveil.attacks.ranking_intervals:RankingIntervals",
    "interval-disclosure": "microveil.attacks.intervals:IntervalDisclosure",
    "uniqueness": "microveil.attacks.uniqueness:Uniqueness",
    "singling-out": "microveil.attacks.singling_out:SinglingOut",
    "attribute-disclosure": "microveil.attacks.attribute_disclosure:AttributeDisclosure",
    "class-disclosure": "microveil.attacks.class_disclosure:ClassDisclosure",
    "inference": "microveil.attacks.inference:Inference",
    "expected-ratio": "microveil.attacks.pram_disclosure:ExpectedRatio",
    "map-disclosure": "microveil.attacks.pram_disclosure:MapDisclosure",
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
    "matrix-discrepancy": "microveil.losses.numeric.matrices:MatrixDiscrepancy",
    "pil": "microveil.losses.numeric.probabilistic:PIL",
    "abim": "microveil.losses.numeric.biases:ABIM",
    "abisd": "microveil.losses.numeric.biases:ABISD",
    "abico": "microveil.losses.numeric.biases:ABICO",
    "quantiles": "microveil.losses.numeric.quantiles:Quantiles",
    "distribution": "microveil.losses.numeric.distribution:Distribution",
    "energy": "microveil.losses.numeric.energy:EnergyLoss",
    "bias": "microveil.losses.analytical.bias_types:BiasTypes",
    "regression": "microveil.losses.analytical.regression:Regression",
    "estimates": "microveil.losses.analytical.estimates:SurveyEstimates",
    "validity": "microveil.losses.analytical.validity:Validity",
    "quality": "microveil.losses.analytical.quality:Quality",
    "generalisation": "microveil.losses.coarsening.generalisation:Generalisation",
    "dbil": "microveil.losses.categorical.distance:DBIL",
    "ctbil": "microveil.losses.categorical.tables:CTBIL",
    "ebil": "microveil.losses.categorical.entropy:EBIL",
    "record-entropy": "microveil.losses.categorical.entropy:RecordEntropy",
    "il-categorical": "microveil.losses.categorical.aggregate:ILCategorical",
    "bivariate-counts": "microveil.losses.categorical.association:BivariateCounts",
    "chi-square": "microveil.losses.categorical.association:ChiSquare",
    "propensity": "microveil.losses.model_based.propensity:Propensity",
    "classification": "microveil.losses.model_based.classification:Classification",
    "clustering": "microveil.losses.clustering.similarity:Clustering",
}
SCORES = {
    "mean": "microveil.scoring.rules.usual:Mean",
    "max": "microveil.scoring.rules.usual:Max",
    "worst": "microveil.scoring.rules.usual:Worst",
    "classic": "microveil.scoring.rules.classic:Classic",
    "swapping": "microveil.scoring.rules.swapping:Swapping",
    "swapping-stated": "microveil.scoring.rules.swapping:SwappingStated",
    "projected": "microveil.scoring.rules.projected:Projected",
    "projected-used": "microveil.scoring.rules.projected:ProjectedUsed",
    "projected-max": "microveil.scoring.rules.projected:ProjectedMax",
    "score-index": "microveil.scoring.rules.index:ScoreIndex",
    "categorical": "microveil.scoring.rules.categorical:Categorical",
    "categorical-source": "microveil.scoring.rules.categorical:CategoricalSource",
    "clustering": "microveil.scoring.rules.categorical:Clustering",
    "time-series": "microveil.scoring.rules.series:TimeSeries",
}
ENTRIES: dict[str, dict[str, str]] = {"method": METHODS, "attack": ATTACKS, "loss": LOSSES, "score": SCORES}


def names(kind: str = "method") -> tuple[str, ...]:
    """The registered names of one kind, in order."""
    if kind not in ENTRIES:
        raise UnknownNameError("kind of entry", kind, ENTRIES)
    return tuple(ENTRIES[kind])


def find(kind: str, name: str) -> type[Any]:
    """The class behind a name."""
    if not isinstance(name, str):
        given = name.__name__ if isinstance(name, type) else type(name).__name__
        raise ParameterError(f"{kind} takes a name in quotes, such as {kind}('{names(kind)[0]}'), not {given}")
    if name not in names(kind):
        raise UnknownNameError(kind, name, names(kind))
    module, cls = ENTRIES[kind][name].split(":")
    found: type[Any] = getattr(importlib.import_module(module), cls)
    return found


def make(kind: str, name: str, parameters: Mapping[str, Any] | None = None, *, text: bool = False) -> Any:
    """Build a component by name; with `text`, the values are texts as typed on a command line."""
    cls = find(kind, name)
    given = dict(parameters or {})
    known = parameter_names(cls)
    for parameter in given:
        if parameter not in known:
            raise ParameterError(
                f"{name} has no parameter '{shortened(str(parameter))}'{nearest_name(str(parameter), known)}"
            )
    for parameter in component_parameters(cls):
        if parameter in given:
            given[parameter] = _made_inside(f"{name}: {parameter}", given[parameter])
    return from_text(cls, given) if text else cls(**given)


def _made_inside(where: str, given: Any) -> Any:
    """A method that is a parameter of another, from its plain forms: `{"name": "mdav", "k": 5}` or "mdav k=5".

    Other things are left as they are: either it is a method already, or the component says what is wrong with it.
    """
    if isinstance(given, Mapping):
        rest = dict(given)
        name = rest.pop("name", None)
        if not isinstance(name, str):
            raise ParameterError(f"{where} needs the name of a method, such as {{ name = 'mdav', k = 5 }}")
        return make("method", name, rest)
    if isinstance(given, str):
        words = given.split()
        settings = [word.partition("=") for word in words[1:]]
        if not words or not all(equals for _, equals, _ in settings):
            raise ParameterError(f"{where} is a method with its parameters, such as 'mdav k=5', not '{given}'")
        return make("method", words[0], {name: value for name, _, value in settings}, text=True)
    return given


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


def describe(kind: str, name: str) -> dict[str, Any]:
    """Everything a program or a page needs to show an entry."""
    cls: type[Parameterised] = find(kind, name)
    entry: dict[str, Any] = {
        "name": cls.name,
        "family": cls.family,
        "summary": cls.summary,
        "kinds": list(cls.kinds),
        "parameters": [dict(parameter) for parameter in describe_parameters(cls)],
        "source": cls.source,
        "missing": cls.missing,
    }
    for extra in ("weights", "meaning", "formula", "route", "scope"):
        if hasattr(cls, extra):
            entry[extra] = getattr(cls, extra)
    if kind == "method":
        from microveil.masking.taxonomy import place_of

        entry["nature"] = place_of(find("method", name)).nature
    return entry
