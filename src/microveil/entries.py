"""Every built-in method, attack, loss, score and control by its short name, with the module and the class it is.

To add one, write its file and one line here: registry, command line, documentation and the families' modules follow.
The tables are text alone, above all rooms, so that a room can offer its classes without importing them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

Kind = Literal["method", "attack", "loss", "score", "control"]

METHODS = {
    "best": "microveil.masking.microaggregation.best:Best",
    "mdav": "microveil.masking.microaggregation.mdav:MDAV",
    "fixed": "microveil.masking.microaggregation.fixed:Fixed",
    "individual-ranking": "microveil.masking.microaggregation.individual_ranking:IndividualRanking",
    "optimal-univariate": "microveil.masking.microaggregation.optimal_univariate:OptimalUnivariate",
    "weight-microaggregation": "microveil.masking.microaggregation.weight_microaggregation:WeightMicroaggregation",
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
    "record-swapping": "microveil.masking.swapping.record_swapping:RecordSwapping",
    "shuffling": "microveil.masking.swapping.shuffling:Shuffling",
    "sampling": "microveil.masking.coarsening.sampling:Sampling",
    "recode": "microveil.masking.coarsening.recode:Recode",
    "generalise": "microveil.masking.coarsening.generalise:Generalise",
    "top-code": "microveil.masking.coarsening.top_bottom_coding:TopCode",
    "bottom-code": "microveil.masking.coarsening.top_bottom_coding:BottomCode",
    "multivariate-top-coding": "microveil.masking.coarsening.multivariate_top_coding:MultivariateTopCoding",
    "suppress": "microveil.masking.coarsening.suppress:Suppress",
    "pram": "microveil.masking.randomising.pram:PRAM",
    "noise": "microveil.masking.randomising.noise:Noise",
    "noise-swapping": "microveil.masking.randomising.noise_swapping:NoiseSwapping",
    "rounding": "microveil.masking.randomising.rounding:Rounding",
    "resampling": "microveil.masking.randomising.resampling:Resampling",
    "lossy": "microveil.masking.randomising.lossy:Lossy",
    "matrix": "microveil.masking.randomising.matrix:Matrix",
    "romm": "microveil.masking.randomising.romm:ROMM",
    "restore": "microveil.masking.randomising.restore:Restore",
    "hybrid": "microveil.masking.synthesis.hybrid:Hybrid",
    "mondrian": "microveil.masking.coarsening.mondrian:Mondrian",
    "global-median": "microveil.masking.coarsening.global_median:GlobalMedian",
    "within": "microveil.masking.within:Within",
    "by-household": "microveil.masking.by_household:ByHousehold",
    "synthetic": "microveil.masking.synthesis.synthetic:Synthetic",
    "evolved": "microveil.search.evolved:Evolved",
    "series-swapping": "microveil.series.methods.swapping:SeriesSwapping",
    "series-noise": "microveil.series.methods.noise:SeriesNoise",
    "smoothing": "microveil.series.methods.smoothing:Smoothing",
    "time-aggregation": "microveil.series.methods.smoothing:TimeAggregation",
    "block-bootstrap": "microveil.series.methods.block_bootstrap:BlockBootstrap",
    "graph-profiles": "microveil.graphs.methods.profiles:GraphProfiles",
    "k-degree": "microveil.graphs.methods.structure:KDegree",
    "k-automorphism": "microveil.graphs.methods.structure:KAutomorphism",
    "edge-swapping": "microveil.graphs.methods.structure:EdgeSwapping",
    "edge-replacement": "microveil.graphs.methods.structure:EdgeReplacement",
    "synthetic-graph": "microveil.graphs.methods.structure:SyntheticGraph",
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
    "likelihood-linkage": "microveil.attacks.linkage.likelihood:LikelihoodLinkage",
    "ranking-intervals": "microveil.attacks.ranking_intervals:RankingIntervals",
    "interval-disclosure": "microveil.attacks.intervals:IntervalDisclosure",
    "uniqueness": "microveil.attacks.uniqueness:Uniqueness",
    "household-risk": "microveil.attacks.population.household_risk:HouseholdRisk",
    "suda": "microveil.attacks.population.suda:Suda",
    "log-linear-risk": "microveil.attacks.population.log_linear:LogLinearRisk",
    "population-uniqueness": "microveil.attacks.population.population_uniqueness:PopulationUniqueness",
    "k-map": "microveil.attacks.population.k_map:KMap",
    "delta-presence": "microveil.attacks.population.delta_presence:PresenceRisk",
    "prosecutor-risk": "microveil.attacks.population.intruders:ProsecutorRisk",
    "journalist-risk": "microveil.attacks.population.intruders:JournalistRisk",
    "marketer-risk": "microveil.attacks.population.intruders:MarketerRisk",
    "singling-out": "microveil.attacks.singling_out:SinglingOut",
    "attribute-disclosure": "microveil.attacks.attribute_disclosure:AttributeDisclosure",
    "class-disclosure": "microveil.attacks.class_disclosure:ClassDisclosure",
    "inference": "microveil.attacks.inference:Inference",
    "minimality": "microveil.attacks.minimality:Minimality",
    "definetti": "microveil.attacks.definetti:DeFinetti",
    "composition": "microveil.attacks.composition:Composition",
    "membership-inference": "microveil.attacks.membership:MembershipInference",
    "expected-ratio": "microveil.attacks.pram_disclosure:ExpectedRatio",
    "map-disclosure": "microveil.attacks.pram_disclosure:MapDisclosure",
    "series-linkage": "microveil.series.attacks.series_linkage:SeriesLinkage",
    "series-intervals": "microveil.series.attacks.intervals:SeriesIntervals",
    "fragment-linkage": "microveil.series.attacks.fragment:FragmentLinkage",
    "extremes-linkage": "microveil.series.attacks.extremes:ExtremesLinkage",
    "period-linkage": "microveil.series.attacks.period:PeriodLinkage",
    "neighbourhood-matching": "microveil.graphs.attacks.neighbourhood_matching:NeighbourhoodMatching",
    "degree-linkage": "microveil.graphs.attacks.degree_linkage:DegreeLinkage",
    "seed-expansion": "microveil.graphs.attacks.seed_expansion:SeedExpansion",
    "friends-inference": "microveil.graphs.attacks.friends_inference:FriendsInference",
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
    "series-il": "microveil.series.losses.information_loss:SeriesIL",
    "series-il1": "microveil.series.losses.information_loss:SeriesIL1",
    "series-il2": "microveil.series.losses.information_loss:SeriesIL2",
    "series-il3": "microveil.series.losses.information_loss:SeriesIL3",
    "spectrum": "microveil.series.losses.spectrum:Spectrum",
    "peaks": "microveil.series.losses.peaks:Peaks",
    "aggregate-curve": "microveil.series.losses.aggregate_curve:AggregateCurve",
    "aamil": "microveil.graphs.losses.adjacency_matrices:AAMIL",
    "cdil": "microveil.graphs.losses.category_distribution:CDIL",
    "profile-dbil": "microveil.graphs.losses.profile_distance:ProfileDBIL",
    "semantic-il": "microveil.graphs.losses.semantic:SemanticIL",
    "structure": "microveil.graphs.losses.structure:StructureLoss",
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
CONTROLS = {
    "set-size": "microveil.queries.controls.set_size:SetSize",
    "overlap": "microveil.queries.controls.overlap:Overlap",
    "audit": "microveil.queries.controls.audit:Audit",
    "interval-audit": "microveil.queries.controls.interval_audit:IntervalAudit",
    "statistics": "microveil.queries.controls.statistics:Statistics",
    "partition": "microveil.queries.controls.partition:Partitioned",
    "cell-suppression": "microveil.queries.controls.cell_suppression:CellSuppression",
    "lattice": "microveil.queries.controls.lattice:Lattice",
    "access": "microveil.queries.controls.access:Access",
    "random-sample": "microveil.queries.controls.random_sample:RandomSample",
    "output-noise": "microveil.queries.controls.output_noise:OutputNoise",
    "rounding": "microveil.queries.controls.rounding:RoundedAnswers",
    "cell-key": "microveil.queries.controls.cell_key:CellKeyPerturbation",
    "intervals": "microveil.queries.controls.intervals:IntervalAnswers",
    "proxy": "microveil.queries.controls.proxy:Proxy",
    "differential-privacy": "microveil.queries.controls.differential_privacy:DifferentialPrivacy",
}
ENTRIES: dict[str, dict[str, str]] = {
    "method": METHODS, "attack": ATTACKS, "loss": LOSSES, "score": SCORES, "control": CONTROLS,
}  # fmt: skip
# Scores are not among them: they are asked for by name, and `mv.Mean` or `mv.Max` would be taken for something else.
OFFERED: tuple[Kind, ...] = ("method", "attack", "loss")


def homes(package: str, kinds: Iterable[str] = tuple(ENTRIES)) -> dict[str, str]:
    """The built-in classes of some kinds that live inside a package, each with the module it is imported from.

    >>> homes("microveil.attacks.linkage")["DistanceLinkage"]
    'microveil.attacks.linkage.distance'
    """
    modules = [entry.split(":") for kind in kinds for entry in ENTRIES[kind].values()]
    return {cls: module for module, cls in modules if module.startswith(f"{package}.")}


def offer(namespace: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that offers the built-in classes inside it, each imported when it is
    first used; called with the `globals()` of the package."""
    package: str = namespace["__name__"]
    return offered(namespace, homes(package), [*namespace.get("__all__", ()), *homes(package)])


def offered(
    namespace: dict[str, Any], modules: Mapping[str, str], listed: list[str], whole: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The same for any names and the modules that hold them, and for `whole` modules by the names they go by; `dir`
    shows those that are `listed`."""

    def look_up(name: str) -> Any:
        if whole and name in whole:
            return importlib.import_module(whole[name])
        if name not in modules:
            raise AttributeError(f"module '{namespace['__name__']}' has no attribute '{name}'")
        namespace[name] = found = getattr(importlib.import_module(modules[name]), name)
        return found

    return look_up, lambda: sorted(listed)
