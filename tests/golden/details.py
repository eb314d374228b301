"""Golden details: all that stands beside a value, and every number and list among the parameters, as digests.

`releases.py` records cells and headline numbers for every choice of a parameter. Here every parameter that is a number
or a list takes other values too, on a small table with households, hierarchies, strata and weights; and of a release
its notes, guarantees, partitions, matrices and schema count, of a risk the chance of every record, of a sentence the
numbers in it. The same is done with limits so low that long files are tried on short ones, and with what is no entry
of the registry: versions of a release, records in another order, advice, the risk of a file.

`python tests/golden/details.py --write` makes the record anew, which is right only when a change of behaviour is meant;
`python tests/golden/details.py` compares. Numbers are compared to eight digits, and what is below 1e-9 is 0; as some of
them come from iterations, they are compared only on the kind of machine that they were recorded on.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import microveil as mv
from microveil.attacks.correspondence import corresponding, disorder_of
from microveil.attacks.linkage.evidence import evidence_of
from microveil.attacks.linkage.likelihood import LikelihoodLinkage
from microveil.comparison.pairs import Pair, Workings
from microveil.masking.synthesis.closeness import closeness
from microveil.progress import silent
from microveil.registry import describe, find, make, names

try:
    from .releases import REFUSED, SEED, differences, digest, edges, graph_releases, labelled, linked, machine, settings
except ImportError:  # run as a script
    from releases import REFUSED, SEED, differences, digest, edges, graph_releases, labelled, linked, machine, settings  # type: ignore[no-redef]

RECORDED = Path(__file__).resolve().parent / "details.json"
Case = tuple[str, str]
SHARING = ("mdav", "mdav-generic", "individual-ranking", "pram")  # whose shared parameters are varied, too
SLOW = ("evolved", "propensity")  # whose numbers and lists are not varied one by one

# other values of parameters that are lists, names or tables, by kind and parameter; what does not fit is refused
LISTED: dict[tuple[str, str], list[Any]] = {
    ("method", "shares"): [[60, 30, 10], [100, 0, 0]],
    ("method", "variable"): ["income", "age"],
    ("method", "importance"): [[1, 2, 3], [3, 1, 1, 2, 1, 1], [0.5, 2, 1, 1, 4, 1, 1]],
    ("method", "measure"): [[0.2, 0.5, 0.4], [0.3, 0.6]],
    ("method", "choquet_measure"): [[0.2, 0.3, 0.6, 0.4, 0.7, 0.8, 1.0], [0.2, 0.5, 1.0]],
    ("method", "classes"): [["ill"], ["sex"], ["sex", "ill"]],
    ("method", "within"): [["sex"], ["stratum"]],
    ("method", "keys"): [["age"], ["school", "sex"]],
    ("method", "given"): [{"sex": [[0.9, 0.1], [0.2, 0.8]]}, {"sex": {"f": {"f": 0.7, "m": 0.3}}}, ["sex"], ["age"]],
    ("method", "diagonal"): [[0.55, 0.75], [0.9, 1.0], [0.0, 0.4]],
    ("method", "beside"): [["ill"], ["stratum"]],
    ("method", "points"): [[0.0, 25.0, 50.0, 100.0], [1000.0], [10.0, 2000.0, 4000.0]],
    ("method", "mixing"): [[[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.2, 0.0, 1.0]]],
    ("method", "shift"): [[1.0, -2.0, 0.5]],
    ("method", "covariance"): [[[1.0, 0.2, 0.0], [0.2, 4.0, 0.0], [0.0, 0.0, 0.25]]],
    ("method", "first"): ["noise alpha=0.3", "individual-ranking k=4"],
    ("method", "method"): ["mdav k=2", "rank-swapping p=20", "pram p=0.6", "suppress k=2", "mondrian k=4"],
    ("method", "order"): [["sex", "age"], ["income"]],
    ("method", "start"): [[{"method": "noise"}, {"method": "rank-swapping", "p": 10}]],
    ("attack", "known_sizes"): [[1], [2, 3]],
    ("attack", "block"): [["sex"], ["school", "sex"]],
    ("attack", "weights"): [[1, 2], [3, 1, 1], [1, 1, 2, 0.5, 1, 1]],
    ("attack", "tolerances"): [[0.5], [0.01, 0.1, 1.0]],
    ("attack", "steps"): [[0, 1], [1]],
    ("attack", "projections"): [["z-sum"], ["component"]],
    ("attack", "parameters_from"): [["masked"], ["original", "own"]],
    ("attack", "blocks"): [[["age", "income"]], [["age"], ["income", "rooms"]]],
    ("attack", "loadings"): [[0.5, 0.5], [0.2, 0.3, 0.5]],
    ("attack", "alphas"): [[0.5], [0.1, 1.0, 3.0]],
    ("attack", "released"): [["age"], ["income", "rooms"]],
    ("attack", "widths"): [[2.5], [10, 20, 30]],
    ("attack", "confidential"): [["ill"], ["debt"], ["income"], ["ill", "debt"]],
    ("attack", "given"): [{"sex": [[0.9, 0.1], [0.2, 0.8]]}],
    ("loss", "percents"): [[50], [10, 90]],
    ("loss", "confidential"): [["ill"], ["debt"], ["income", "sex"]],
    ("loss", "response"): ["income", "debt"],
    ("loss", "predictors"): [["age"], ["sex", "rooms"]],
    ("loss", "by"): ["sex", "stratum"],
    ("loss", "subdomains"): [["sex"], ["sex", "school"]],
    ("loss", "tabulations"): [["school"], ["sex", "district"]],
    ("loss", "given"): [{"sex": [[0.9, 0.1], [0.2, 0.8]]}],
    ("loss", "add_missing_category"): [False, True],
    ("loss", "crossed_with"): [["ill"], ["sex", "stratum"]],
    ("loss", "target"): [["ill"], ["debt"], ["sex"]],
    ("score", "known_sizes"): [[1], [2]],
    ("score", "widths"): [[5.0], [1.0, 10.0]],
}

# parameters that are of use with others only
TOGETHER: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("method", "projection"): [
        {"axis": "variable", "variable": "income"},
        {"axis": "weighted-mean", "importance": [1, 2, 3], "partition": "width"},
        {"axis": "owa", "alpha": 0.5, "partition": "kwdr", "threshold": 0.5},
        {"axis": "choquet", "alpha": 2.0, "component_scale": "minmax"},
        {"axis": "twofold", "alpha": 3.0, "component_scale": "none"},
        {"axis": "sugeno", "partition": "fixed", "remainder": "best"},
    ],
    ("method", "moving-average"): [
        {"shares": [60, 30, 10], "ends": "keep"},
        {"shares": [5, 90, 5], "ends": "renormalise"},
    ],
    ("method", "crest"): [
        {"classes": ["ill"], "t": 0.3},
        {"classes": ["ill", "sex"], "fewest": 2, "regrow": True},
        {"classes": ["ill"], "mixed": True, "closeness": "jsd", "t": 0.2, "cut": "longest"},
        {"classes": ["debt"], "t": 0.4, "min_share": 0.1},
    ],
    ("method", "camp-crest"): [{"classes": ["ill"], "t": 0.3, "partial": True}, {"runs": True, "growth": "frozen"}],
    ("method", "rank-swapping"): [{"p": 3, "unit": "positions"}, {"p": 33.3, "rounding": "round", "ties": "stable"}],
    ("method", "rank-swapping-distribution"): [
        {"p": 4, "unit": "positions", "shift": shift, "fallback": "nearest"}
        for shift in ("normal", "uniform", "geometric")
    ],
    ("method", "rank-swapping-buckets"): [
        {"buckets": 5, "bucket_weights": "normal", "renormalise": True, "taken": "bucket"}
    ],
    ("method", "data-swapping"): [
        {"share": 0.6, "within": ["stratum"], "keys": ["sex"]},
        {"share": 0.6, "together": True, "keys": ["rooms"]},
    ],
    ("method", "sampling"): [{"share": 0.4, "stratified": True}, {"size": 9, "stratified": True, "adjust": False}],
    ("method", "recode"): [
        {"by": "map", "map": {"west": ["a1", "a2"], "person": ["f", "m"], "low": [1, 2]}, "publish": "label"},
        {"by": "map", "map": {"west": ["a1", "a2"]}},
        *({"by": "cuts", "cuts": [30, 50.5], "centre": centre} for centre in ("mean", "median", "midpoint")),
        {"by": "cuts", "cuts": 40, "publish": "label"},
        {"by": "width", "width": 12.5, "publish": "label"},
        {"by": "width", "width": 500, "centre": "median"},
        {"by": "frequency", "groups": 4, "publish": "label"},
        {"by": "rare", "p": 3, "publish": "label"},
        {"by": "hierarchy", "level": 1, "publish": "label"},
        {"by": "hierarchy", "level": 2},
        {"by": "hierarchy", "level": 0, "publish": "label"},
        {"by": "automatic", "k": 4, "leave": 0.1, "publish": "label"},
    ],
    **{
        ("method", name): [
            {"by": "value", "threshold": threshold, "code": code}
            for threshold in (40.0, 1500.0)
            for code in ("mean", "median")
        ]
        + [
            {"by": "percent", "percent": 20, "code": "mean", "publish": "label"},
            {"by": "count", "k": 8, "code": "median"},
            {"by": "percent", "percent": 12.5, "p": 3, "naming": "source"},
        ]
        for name in ("top-code", "bottom-code")
    },
    ("method", "suppress"): [
        {"k": 2, "most_values": 1000, "risk": 0.05, "weighted": True},
        {"k": 2, "most_values": 1000, "risk": 0.4},
        {"k": 3, "most_values": 1000, "suppressed": "wildcard", "count": "original"},
        {"k": 3, "most_values": 1000, "suppressed": "own category", "weighted": True},
        {"k": 2, "most_values": 1000, "importance": [3, 1, 1, 2, 1, 1]},
    ],
    ("method", "pram"): [
        {"matrix": "formula", "formula": "freq_i / (freq_j + 1)"},
        {"matrix": "formula", "formula": "freq_max - freq_j + freq_min + N", "freq_min": "positive"},
        {"invariant": True, "diagonal": [0.55, 0.75]},
        {"diagonal": [0.9, 1.0], "scope": "matrix"},
        {"diagonal": [0.3, 0.5], "scope": "row", "lowering": "printed"},
        {"p": 0.3, "diagonal": [0.5, 0.6], "scope": "row", "lowering": "eq-4.7"},
        {"compound": True, "invariant": True},
        {"matrix": "entropy", "exclude_missing": True, "invariant": True},
        {"given": {"sex": [[0.9, 0.1], [0.2, 0.8]]}, "invariant": True},
    ],
    ("method", "noise"): [
        {"form": form, "exact": True, "alpha": 0.4} for form in ("correlated", "linear", "non-linear")
    ],
    ("method", "noise-swapping"): [
        {"alpha": 0.5, "within": "clusters", "clusters": 3, "smallest": 4},
        {"within": "strata", "scores": True},
    ],
    ("method", "rounding"): [{"base": 7.0, "mode": mode} for mode in ("nearest", "random", "controlled")]
    + [{"k": 4, "mode": "random"}, {"points": [20.0, 40.0, 60.0, 2000.0], "mode": "random"}],
    ("method", "lossy"): [{"quality": 10, "order": "correlated"}],
    ("method", "matrix"): [
        {"mixing": [[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.2, 0.0, 1.0]], "shift": [1.0, -2.0, 0.5]},
        {"covariance": [[1.0, 0.2, 0.0], [0.2, 4.0, 0.0], [0.0, 0.0, 0.25]], "alpha": 0.5},
    ],
    ("method", "restore"): [{"first": "noise alpha=0.3", "alike": "apart", "moments": "raw"}],
    ("method", "within"): [
        {"by": "strata", "method": method}
        for method in ("mdav k=2", "suppress k=2 most_values=1000", "pram p=0.5", "noise")
    ]
    + [
        {"clusters": 3, "starts": 2, "smallest": 6, "merge": merge, "method": "mdav-generic k=2"}
        for merge in ("nearest", "two-smallest")
    ],
    ("method", "synthetic"): [
        {"given": ["sex"], "leaf": 3},
        {"order": ["sex", "age"], "smooth": False, "blend": 0.4},
        {"model": "copula", "given": ["age"]},
        {"model": "normal", "blend": 0.7},
    ],
    ("method", "omma"): [
        {"start": "k-ward", "order": "nearest"},
        {"neighbours": 4, "depth": 2, "max_cycles": 3, "threshold": 0.9},
    ],
    ("attack", "distance-linkage"): [
        {"metric": "mahalanobis", "covariance": "joint"},
        {"metric": "gower", "missing_cells": "left out"},
        {"metric": "manhattan", "standardisation": "minmax", "direction": "masked"},
        {"neighbours": 3, "direction": "masked", "ordinal_distance": "unit"},
        {"known_sizes": [2], "choose": "first", "aggregate": "any"},
        {"known_sizes": [1, 2], "aggregate": "worst"},
        {"known_sizes": [2], "aggregate": "any"},
        {"one_to_one": True, "block": ["sex"]},
        {"standardisation": "none", "records": 9, "seed": 4},
    ],
    ("attack", "probabilistic-linkage"): [
        {"agreement": "round", "digits": 0},
        {"agreement": "bins", "bins": 4},
        {"agreement": "quantile", "quantile": 0.3},
        {"agreement": "nearest", "standardisation": "none"},
        {"prevalence": "estimated", "coincidence": "estimated"},
        {"interactions": "both", "steps": [1], "tolerances": [0.2]},
        {"assignment": "threshold", "false_links": 0.4, "missed_links": 0.3},
        {"assignment": "one-to-one", "block": ["sex"]},
        {"known_sizes": [2], "aggregate": "any", "records": 11},
    ],
    ("attack", "rank-swapping-linkage"): [
        {"p": 4, "unit": "positions", "exclude_self": True},
        {"p": 20, "propagate": True, "metric": "manhattan"},
    ],
    ("attack", "annotated-union-linkage"): [{"p": 5, "unit": "positions", "share": 0.5}],
    ("attack", "alignment-linkage"): [
        {"align": align, "ties": ties, "k": 2} for align in ("warping", "neighbours") for ties in ("strict", "plain")
    ],
    ("attack", "projected-linkage"): [
        {"projections": ["loadings"], "loadings": [0.5, 0.3, 0.2]},
        {"block": 2, "rescale": True},
        {"block": 1},
    ],
    ("attack", "representative-linkage"): [
        {"operator": operator, "split": True, "scale": scale}
        for operator in ("owa", "sugeno", "twofold", "structure", "component", "z-sum")
        for scale in ("minmax", "rank")
    ]
    + [
        {"split": True, "quantifier": "sigmoid", "boundary": "raw", "distinct": True},
        {"operator": "twofold", "choquet_quantifier": "exponent", "split": True, "correlation": 0.2},
        {"split": True, "linkage": "probabilistic", "agreement": 0.2, "missing_cells": "zero", "rescale": True},
    ],
    ("attack", "likelihood-linkage"): [{"one_to_one": True, "records": 7}, {"replays": 2, "one_to_one": True}],
    ("attack", "interval-disclosure"): [
        {"window": window, "mode": "records", "counted": "all", "widths": [5.0, 20.0]}
        for window in ("rank-difference", "sd", "range", "value")
    ],
    ("attack", "uniqueness"): [{"estimate": "ratio", "population": 500}, {"estimate": "none", "classes": 2}],
    ("attack", "inference"): [
        {"learner": "ridge", "confidential": ["debt"], "penalty": 10.0},
        {"learner": "tree", "confidential": ["ill"], "leaf": 2},
    ],
    ("attack", "class-disclosure"): [{"groups": "values", "confidential": ["debt"], "parts": 3}],
    ("loss", "il"): [{"zero": "scale", "correspondence": "nearest"}],
    ("loss", "matrix-discrepancy"): [
        {"matrix": matrix, "by": by, "cells": "all", "standardise": False}
        for matrix in ("x", "v", "r", "rf", "c", "f")
        for by in ("mse", "mv")
    ],
    ("loss", "distribution"): [{"distance": distance, "bins": 4} for distance in ("hellinger", "jensen-shannon")],
    ("loss", "regression"): [
        {"response": "income", "predictors": ["age", "sex", "school"], "grouped": True, "level": 0.8}
    ],
    ("loss", "estimates"): [{"by": "sex", "level": 0.5}],
    ("loss", "validity"): [
        {"subdomains": ["sex"], "tabulations": ["school"], "fewest": 5, "relative_to": "scale"},
        {"fewest": 10},
    ],
    ("loss", "ctbil"): [
        {"dimension": 3, "mode": "cells"},
        {"dimension": 1, "mode": "cells", "add_missing_category": True},
    ],
    ("loss", "ebil"): [{"mode": "matrix", "given": {"sex": [[0.9, 0.1], [0.2, 0.8]]}}],
    ("loss", "record-entropy"): [{"mode": "matrix", "direction": "forward"}],
    ("loss", "propensity"): [
        {"model": "tree", "leaf": 5, "permutations": 3},
        {"interactions": True, "permutations": 3},
        {"squares": False, "sample": 20},
    ],
    ("loss", "classification"): [
        {"target": ["ill"], "compare": "predictions", "learner": "bayes", "folds": 3},
        {"target": ["debt"], "classes": 3, "leaf": 4},
        {"target": ["ill"], "sample": 20, "leaf": 3},
    ],
    ("loss", "clustering"): [
        {"clusters": 3, "index": index, "starts": 3, "repeats": 2} for index in ("rand", "jaccard", "wallace")
    ]
    + [{"clusters": 4, "sample": 12, "starts": 2}],
    ("loss", "bias"): [{"confidential": ["ill"], "leaf": 3, "sample": 20}],
}

# the releases that measures with other parameters than the usual ones are tried on
VARIED = (
    "swapped of survey", "mdav-generic of survey", "suppressed of survey", "mdav of survey", "pram of survey",
    "intervals of survey", "mdav-generic of edges", "ranked of numbers", "noise of numbers",
)  # fmt: skip

# limits for long files, so low that the short one is long; chunks, which must change nothing, are recorded all the same
LOWERED: dict[str, dict[str, float]] = {
    "attacks.linkage.base": {"AFFORDABLE_TERMS": 2_000.0, "MOST_PAIRED": 20, "_MOST_CHOICES": 5},
    "attacks.linkage.likelihood": {"_AFFORDABLE_TERMS": 2_000.0, "_QUICKLY_PAIRED": 10},
    "attacks.linkage.distance": {"_QUICKLY_PAIRED": 10, "_QUICKLY_COMPARED": 20},
    "attacks.linkage.candidates": {"_AFFORDABLE_STEPS": 3_000.0},
    "attacks.linkage.comparison": {"_AT_ONCE": 64, "_ASKED": 10},
    "attacks.linkage.rank_swapping": {"_QUICKLY_PROPAGATED": 10},
    "attacks.linkage.evidence": {"_REPLAYED_RECORDS": 100, "_DRAWS": 8, "_MOST_CELLS": 40},
    "attacks.linkage.probabilistic": {"_PAIRS": 300, "_MOST_INTERACTING": 64},
    "attacks.correspondence": {"_MOST_SAMPLED": 15, "_MOST_COMPARED": 500, "_FEWEST_SAMPLED": 8, "_ASSOCIATED": 30},
    "masking.guarantees": {"_CELLS": 10, "_FEW_VALUES": 3},
    "masking.synthesis.closeness": {"_AFFORDABLE_TERMS": 500.0, "_FEWEST_COMPARED": 5},
    "masking.microaggregation.omma": {"_ALL_PAIRS_UP_TO": 10, "_NEIGHBOURS_BEYOND": 5},
    "masking.synthesis.latent": {"_MOST_INDICATORS": 2},
    "losses.analytical.regression": {"_CHUNK": 10, "_MOST_DUMMIES": 3},
}

# limits beyond which a release is refused
STRICT: dict[str, dict[str, float]] = {
    "masking.microaggregation.two_approx": {"_MOST_RECORDS": 41},
    "masking.microaggregation.fuzzy": {"_MOST_DEGREES": 41},
    "masking.preparation.coordinates": {"_MOST_CELLS": 41},
    "masking.preparation.preparation": {"_MOST_SUBSETS": 3, "_MOST_CHOICES": 2},
    "masking.randomising.pram": {"_MOST_CATEGORIES": 4},
    "masking.randomising.evolution": {"_MOST_CATEGORIES": 4},
    "attacks.linkage.alignment": {"_MOST_STEPS": 100},
    "attacks.linkage.rank_swapping": {"_MOST_PAIRS": 100},
    "losses.model_based.propensity": {"_MOST_CELLS": 100.0},
}
# what a class says of all that is made of it
DECLARED = (
    "kinds", "random", "joint", "suppresses", "quick", "searched", "weights", "general", "subject", "reads_labels",
    "needs_private_file", "known_is_all", "assumes", "variants", "route", "scope", "usual", "learns", "every_attack",
    "symbols", "family", "top",
)  # fmt: skip


def household_survey() -> mv.Microdata:
    """Forty-two persons in fourteen households, with every kind of attribute, role and missing cell."""
    number = np.arange(42)
    draw = np.random.default_rng(20261117)
    districts = ("a1", "a2", "b1", "b2", "b3", "c1")
    age = draw.integers(18, 80, 42)
    income = np.round(np.exp(draw.normal(7.5, 0.6, 42))) + 10.0 * age
    ill = draw.choice(["flu", "none", "asthma"], 42, p=[0.3, 0.5, 0.2])
    debt = np.round(income * draw.uniform(0, 0.8, 42), 1)
    cells = {
        "person": [f"p{i:02}" for i in number],
        "household": [100 + int(i) // 3 for i in number],
        "age": [int(a) for a in age],
        "income": [None if i in (8, 31) else float(income[i]) for i in number],
        "rooms": [int(1 + (i // 3) % 5) for i in number],
        "district": [districts[(i // 3) * 5 % 6] for i in number],
        "school": [None if i == 20 else -1 if i == 33 else int(1 + (age[i] + i) % 4) for i in number],
        "sex": ["f" if draw.random() < 0.55 else "m" for _ in number],
        "stratum": ["n" if i < 18 else "s" for i in number],
        "weight": [float(10 + i % 7) for i in number],
        "ill": [None if i == 5 else str(ill[i]) for i in number],
        "debt": [None if i == 11 else float(debt[i]) for i in number],
    }
    tree = mv.Hierarchy.of([(name, name[0], "*") for name in districts])
    of_school = mv.Hierarchy.of([(str(i), "low" if i < 3 else "high", "*") for i in range(1, 6)])
    attributes = [
        mv.Attribute(name="person", kind="nominal", roles=("identifier",)),
        mv.Attribute(name="household", kind="nominal", roles=("household",)),
        mv.Attribute(
            name="age", kind="numeric", roles=("key",), range=(0, 120), hierarchy={"cuts": [[30, 45, 60], [45]]}
        ),
        mv.Attribute(name="income", kind="numeric", roles=("key",), missing="not applicable"),
        mv.Attribute(name="rooms", kind="numeric", roles=("key",)),
        mv.Attribute(name="district", kind="location", roles=("key",), domain=districts, hierarchy=tree),
        mv.Attribute(
            name="school", kind="ordinal", roles=("key",), domain=(1, 2, 3, 4, 5), hierarchy=of_school,
            missing="own category", missing_codes=(-1,),
        ),
        mv.Attribute(name="sex", kind="nominal", roles=("key",), domain=("f", "m")),
        mv.Attribute(name="stratum", kind="nominal", roles=("stratum",)),
        mv.Attribute(name="weight", kind="numeric", roles=("weight",)),
        mv.Attribute(name="ill", kind="nominal", roles=("confidential",)),
        mv.Attribute(name="debt", kind="numeric", roles=("confidential",)),
    ]  # fmt: skip
    return mv.Microdata.of(cells, schema=mv.Schema(attributes))


TABLES: dict[str, Callable[[], mv.Microdata]] = {"survey": household_survey, "edges": edges}


def plain(found: Any) -> Any:
    """What a digest is made of: numbers to eight digits, and of a sentence or a page its numbers and its tags."""
    if isinstance(found, Mapping):
        return {str(key): plain(value) for key, value in found.items()}
    if isinstance(found, np.ndarray):
        return plain(found.tolist())
    if isinstance(found, list | tuple):
        return [plain(value) for value in found]
    if isinstance(found, str):
        return [*re.findall(r"\d[\d,.]*", found), *re.findall("<[^>]*>", found)] if " " in found else found
    if isinstance(found, bool | int) or found is None:
        return found
    number = float(found)
    return repr(number) if not np.isfinite(number) else 0.0 if abs(number) < 1e-9 else float(f"{number:.8g}")


CLOCKED = {("best", "seconds")}  # parameters with which a release depends on the clock


def varied(kind: str, name: str) -> Iterator[dict[str, Any]]:
    """The quick parameters, every choice of a parameter, and other values of numbers and lists.

    The parameters that all ways of grouping share are varied with three of them only.
    """
    shared = {p["name"] for p in describe(kind, name)["parameters"] if p.get("part") or p["name"] == "polish"}
    left_out = shared if name not in SHARING else set()
    quick = dict(getattr(find(kind, name), "quick", {}))
    yield from (one for one in settings(kind, name) if not left_out & (set(one) - set(quick)))
    for parameter in describe(kind, name)["parameters"] if name not in SLOW else ():
        if parameter["name"] in left_out or (name, parameter["name"]) in CLOCKED:
            continue
        usual = quick.get(parameter["name"], parameter["default"])
        for value in (*_numbers(parameter, usual), *LISTED.get((kind, parameter["name"]), ())):
            yield {**quick, parameter["name"]: value}
    yield from ({**quick, **parameters} for parameters in TOGETHER.get((kind, name), ()))


def _numbers(parameter: Mapping[str, Any], usual: Any) -> list[float]:
    """A few values beside the usual one, within the limits of a parameter that is a number."""
    word = parameter["type"].split(" or ")[0]
    if word not in ("int", "float"):
        return []
    low, high = parameter.get("minimum"), parameter.get("maximum", parameter.get("below"))
    tried: list[float] = [] if low is None else [low]
    if usual is None:
        tried += [3, 8] if word == "int" else [0.25, 2.0]
    else:
        tried += [usual + 1, usual + 4] if word == "int" else [usual * 0.5, usual * 1.6, 0.37]
    fits = [v for v in tried if v != usual and (high is None or v <= high) and v >= parameter.get("above", -np.inf)]
    return [int(v) if word == "int" else float(v) for v in dict.fromkeys(fits)]


def details(release: mv.Release) -> Any:
    """All that a release holds but its versions."""
    data = release.data
    return plain({
        "cells": {name: [str(plain(cell)) for cell in data.arrow(name).to_pylist()] for name in data.names},
        "schema": data.schema.to_plain(),
        "notes": [(note.kind.name, note.to_plain()["values"]) for note in release.provenance.step_notes],
        "notes of all": list(release.provenance.notes),
        "cautions": list(release.provenance.warnings),
        "guarantees": release.guarantees.to_plain(),
        "sentences": release.guarantees.sentences(),
        "partitions": {"+".join(block): found.labels for block, found in release.partitions.items()},
        "matrices": {"+".join(block): found for block, found in release.matrices.items()},
        "rows": release.rows,
        "left out": list(release.provenance.left_out),
        "differing": dict(release.provenance.members_differ),
        "untouched": list(release.untouched),
        "digests": len(json.dumps(release.manifest("0")["output"].get("schema", {}))),
    })  # fmt: skip


def of_risk(risk: mv.attacks.Risk) -> Any:
    return plain({**risk.to_plain(), "per_record": risk.per_record, "certain": risk.certain, "name": risk.name})


def recorded(label: str, made: Callable[[], Any]) -> Case:
    """The case as its digest; a refusal of ours is a case too."""
    try:
        return label, digest(made())
    except mv.MicroveilError:
        return label, REFUSED


def masked(people: mv.Microdata, name: str, parameters: Mapping[str, Any]) -> mv.Release:
    method = make("method", name, parameters)
    attributes = [key for key in people.schema.keys if people[key].kind in method.takes]
    return method.mask(linked(people) if method.structural else people, attributes, seed=SEED)


def released_details(people: mv.Microdata, name: str, parameters: Mapping[str, Any]) -> Any:
    return details(masked(people, name, parameters))


def released_by(name: str) -> Iterator[Case]:
    for table, made in TABLES.items():
        people = made()
        for parameters in varied("method", name):
            label = f"{labelled(name, parameters)} of {table}"
            yield recorded(label, partial(released_details, people, name, parameters))


@cache
def table_of(table: str) -> mv.Microdata:
    if table != "numbers":
        return TABLES[table]()
    draw = np.random.default_rng(11)
    cells = np.round(draw.normal(size=(36, 3)) @ [[2.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 4.0]], 2)
    return mv.Microdata.of(dict(zip("abc", cells.T, strict=True)), keys=list("abc"))


# releases of every family, by what they are of; each is made when it is first asked for
OF_BOTH: dict[str, tuple[str, dict[str, Any]]] = {
    "mdav": ("mdav", {"k": 3}),
    "mdav-generic": ("mdav-generic", {"k": 3}),
    "swapped": ("rank-swapping", {"p": 15}),
    "pram": ("pram", {"p": 0.6}),
    "suppressed": ("suppress", {"k": 2, "most_values": 1000}),
    "intervals": ("mondrian", {"k": 3, "publish": "interval"}),
}
MADE: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "survey": {
        **OF_BOTH,
        "ranked": ("individual-ranking", {"k": 3}),
        "noise": ("noise", {"alpha": 0.2}),
        "recoded": ("recode", {"k": 2, "leave": 0.5}),
        "sample": ("sampling", {"share": 0.6}),
        "synthetic": ("synthetic", {}),
        "crest": ("crest", {}),
    },
    "edges": OF_BOTH,
    "numbers": {"ranked": ("individual-ranking", {"k": 3}), "noise": ("noise", {"alpha": 0.1})},
}
# made of others: in two steps, without provenance, in another order
REMADE: dict[str, Callable[[], Any]] = {
    "two steps of survey": lambda: two_steps(table_of("survey")),
    "bare of survey": lambda: measured_release("noise of survey")[1].data,
    "shuffled of survey": lambda: measured_release("swapped of survey")[1].shuffled(),
}
MEASURED_RELEASES = tuple(f"{label} of {table}" for table, labels in MADE.items() for label in labels) + tuple(REMADE)


@cache
def measured_release(on: str) -> tuple[mv.Microdata, Any]:
    """A release beside its original."""
    label, _, table = on.rpartition(" of ")
    people = table_of(table)
    return people, REMADE[on]() if on in REMADE else masked(people, *MADE[table][label])


def two_steps(people: mv.Microdata) -> mv.Release:
    categories = [key for key in people.schema.keys if people[key].kind in ("ordinal", "nominal")]
    first = mv.method("noise", alpha=0.1).mask(people, ["age"], seed=SEED)
    return mv.method("pram", p=0.7).mask(first, categories)


@cache
def _pair(on: str) -> Pair:
    people, release = measured_release(on)
    matched = corresponding(people, release)
    return Pair.of(matched.original, matched.release)


def measured(kind: str, name: str, parameters: Mapping[str, Any], pair: Pair) -> Any:
    """What a measure finds on tables that are paired up already."""
    measure = make(kind, name, parameters)
    if kind == "attack":
        return of_risk(measure.assess_pair(measure.facing(pair)))
    return plain(measure.measure_pair(pair).to_plain())


def measured_whole(kind: str, name: str, parameters: Mapping[str, Any], people: mv.Microdata, release: Any) -> Any:
    """What a measure finds on tables as they are given."""
    measure = make(kind, name, parameters)
    if kind == "attack":
        return of_risk(measure.assess(people, release))
    if kind == "loss":
        return plain(measure.measure(people, release).to_plain())
    return plain(measure.assess(people, release).to_plain()["score"])


def measured_by(kind: str, name: str) -> Iterator[Case]:
    """One measure as it usually is on every release, and with other parameters on some of them; one of graphs with all
    parameters on releases of a graph."""
    usual, *others = varied(kind, name)
    if kind != "score" and find(kind, name).of_graph:
        for on, (people, release) in graph_releases().items():
            for parameters in (usual, *others):
                label = f"{labelled(name, parameters)} on {on}"
                yield recorded(label, partial(measured_whole, kind, name, parameters, people, release))
        return
    called = f"score {name}" if kind == "score" else name  # a score may have the name of a loss
    for on in MEASURED_RELEASES if kind != "score" else (*VARIED[:2], VARIED[-1]):
        people, release = measured_release(on)
        yield recorded(f"{called} on {on}", partial(measured_whole, kind, name, usual, people, release))
    for on in VARIED if kind != "score" else ():
        for parameters in others:
            label = f"{labelled(name, parameters)} on {on}"
            yield recorded(label, partial(measured, kind, name, parameters, _pair(on)))
    for on in VARIED[:2] if kind == "score" else ():
        people, release = measured_release(on)
        for parameters in others:
            yield recorded(
                f"{labelled(called, parameters)} on {on}",
                partial(measured_whole, kind, name, parameters, people, release),
            )


@contextmanager
def limited(by: Mapping[str, Mapping[str, float]]) -> Iterator[None]:
    with ExitStack() as stack:
        for module, limits in by.items():
            home = importlib.import_module(f"microveil.{module}")
            for name, limit in limits.items():
                stack.enter_context(patch.object(home, name, limit))
        yield


def with_low_limits(kind: str, limits: str) -> Iterator[Case]:
    """Every method or measure as it treats files that are too long for what it usually does.

    What is measured is made before the limits hold, and what others found out about it without them is not used.
    """
    pairs = {on: replace(_pair(on), workings=Workings()) for on in VARIED}
    with limited(LOWERED if limits == "low" else STRICT):
        for name in names(kind):
            if kind == "method":
                people = household_survey()
                quick = dict(find(kind, name).quick)
                yield recorded(f"{name} with {limits} limits", partial(released_details, people, name, quick))
                continue
            if find(kind, name).of_graph:
                continue  # none is cut short by these limits
            sampled = {"sample": 20} if any(p["name"] == "sample" for p in describe(kind, name)["parameters"]) else {}
            for on, pair in pairs.items():
                yield recorded(f"{name} with {limits} limits on {on}", partial(measured, kind, name, sampled, pair))


def assessed(on: str) -> Iterator[Case]:
    """What an assessment shows, in every form, and what a battery says of attacks that do not apply."""
    people, release = measured_release(on)

    def shown() -> Any:
        found = mv.assess(people, release, attacks="all", losses="all")
        frame = mv.Microdata.of(found.to_frame())
        cells = {name: frame.arrow(name).to_pylist() for name in ("measure", "percent", "low", "high")}
        forms = [str(found), found._repr_html_(), list(found.notes), list(found.warnings), found.heading]
        return plain([found.to_plain(), cells, forms])

    yield recorded(f"assessment of {on}", shown)
    yield recorded(f"battery on {on}", lambda: plain(mv.run_battery(people, release).to_plain()))
    if isinstance(release, mv.Release):
        forms = [str(release.guarantees), release.guarantees._repr_html_(), release._repr_html_(), repr(release)]
        yield recorded(f"forms of {on}", lambda: plain([forms, list(release.cautions(people))]))


def evidence() -> Iterator[Case]:
    """What the plan of a release tells an intruder, term by term, whatever it does to the links."""
    for on in MEASURED_RELEASES:
        _, release = measured_release(on)
        if not isinstance(release, mv.Release):
            continue
        for replays in (None, 2):

            def told(on: str = on, replays: int | None = replays) -> Any:
                pair = LikelihoodLinkage.seen(LikelihoodLinkage.facing(_pair(on)))
                attributes = pair.of_kinds(LikelihoodLinkage.kinds)
                found = evidence_of(pair, attributes, replays, 3, silent, "likelihood-linkage")
                terms = [(type(term).__name__, vars(term)) for term in found.scores.terms]
                return plain([terms, found.record_of, found.person_of, list(found.decided)])

            yield recorded(f"evidence of {on}, {replays} replays", told)


def risks_of_files() -> Iterator[Case]:
    for table, made in TABLES.items():
        people = made()
        for keys in (None, ["age", "sex"], ["school"]):
            for threshold in (0.05, 0.5):

                def risk(people: Any = people, keys: Any = keys, threshold: float = threshold) -> Any:
                    found = mv.risk_of_file(people, keys, threshold=threshold)
                    records = found.to_records()
                    cells = [records.arrow(name).to_pylist() for name in records.names]
                    forms = [str(found), found._repr_html_(), found.heading, found.rows()]
                    return plain([found.to_plain(), cells, forms, [found.below(k) for k in (2, 3, 5)]])

                yield recorded(f"risk of {table} by {keys} at {threshold}", risk)


def name_of(kind: str, name: str, parameters: Mapping[str, Any]) -> str:
    return str(make(kind, name, parameters).name)


def declared() -> Iterator[Case]:
    """What every class declares, and the limits of its parameters."""
    for kind in ("method", "attack", "loss", "score"):
        for name in names(kind):
            cls = find(kind, name)
            said = {what: repr(getattr(cls, what, None)) for what in DECLARED if what != "variants"}
            said["variants"] = repr([(v.parameters, v.most_records) for v in getattr(cls, "variants", ())])
            parameters = describe(kind, name)["parameters"]
            limits = {p["name"]: {k: v for k, v in p.items() if k != "help"} for p in parameters}
            yield f"{kind} {name} declares", digest([said, limits])
            for parameter in (p["name"] for p in parameters if p["type"].startswith("list")):
                yield recorded(f"{kind} {name} with no {parameter}", partial(name_of, kind, name, {parameter: []}))


def anonymity(table: mv.Microdata) -> Any:
    return plain(vars(mv.real_anonymity(table)))


def advice(made: Callable[[], mv.Microdata]) -> Any:
    return plain([vars(one) for one in mv.advise(made())])


def combined() -> Iterator[Case]:
    """Several versions of a release together; releases in another order; how near to copies they are; advice."""
    yield from risks_of_files()
    people = table_of("survey")
    sets = {
        "groups": ("mdav of survey", "ranked of survey"),
        "noise and swapping": ("noise of survey", "swapped of survey"),
        "categories": ("mdav-generic of survey", "pram of survey", "swapped of survey"),
    }
    for label, chosen in sets.items():
        for link in ("order", "nearest"):
            for attack in ("distance-linkage", "probabilistic-linkage", "uniqueness", "interval-disclosure"):

                def found(chosen: Any = chosen, link: Any = link, attack: str = attack) -> Any:
                    versions = [measured_release(one)[1] for one in chosen]
                    made = mv.attack_versions(people, versions, attack=mv.attack(attack), link=link)
                    return plain([
                        made.to_plain(), made.together.per_record, made.sentences(), made.row(), str(made),
                        made._repr_html_(), [made.data.arrow(name).to_pylist() for name in made.data.names],
                    ])  # fmt: skip

                yield recorded(f"versions {label}, {link}, {attack}", found)
    for on in MEASURED_RELEASES:
        original, release = measured_release(on)
        table = release.data if isinstance(release, mv.Release) else release
        shuffled = table.take(np.random.default_rng(3).permutation(len(table)))
        for order, other in (("as it is", table), ("shuffled", shuffled), ("whole", release)):

            def matched(original: Any = original, other: Any = other) -> Any:
                found = corresponding(original, other)
                same = len(other) == len(original)
                disorder = disorder_of(original, mv.Microdata.of(other)) if same else None
                order = None if disorder is None else vars(disorder)
                return plain([list(found.warnings), found.warning, found.original.digest(), order])

            yield recorded(f"correspondence of {on} {order}", matched)
        for records in (None, 15):

            def near(original: Any = original, table: Any = table, records: Any = records) -> Any:
                found = closeness(original, table, original.schema.keys, records=records)
                return plain([vars(found), [(note.kind.name, dict(note.values)) for note in found.notes]])

            yield recorded(f"closeness of {on}, {records} records", near)
        yield recorded(f"anonymity of {on}", partial(anonymity, table))
    for table_name, made in TABLES.items():
        yield recorded(f"advice for {table_name}", partial(advice, made))


def cases() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names("method"):
        found.update(released_by(name))
    for kind in ("attack", "loss", "score"):
        for name in names(kind):
            found.update(measured_by(kind, name))
        for limits in ("low", "strict"):
            found.update(with_low_limits(kind, limits) if kind != "score" else {})
    for limits in ("low", "strict"):
        found.update(with_low_limits("method", limits))
    for on in MEASURED_RELEASES:
        found.update(assessed(on))
    return found | dict(combined()) | dict(declared()) | dict(evidence())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="record what comes out now")
    parser.add_argument("--record", type=Path, default=RECORDED, help="where the record lies")
    asked = parser.parse_args()
    found = cases()
    if asked.write:
        record = {"machine": machine(), "cases": found}
        asked.record.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        refused = sum(seal == REFUSED for seal in found.values())
        print(f"{len(found)} cases recorded, {refused} of them refused")
        return
    changed = differences(json.loads(asked.record.read_text(encoding="utf-8"))["cases"], found, exact=True)
    print(*changed, f"{len(found)} cases, {len(changed)} differ", sep="\n")
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
