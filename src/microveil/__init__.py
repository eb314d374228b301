"""Microveil: mask microdata, measure what an intruder could still learn, and what an analyst has lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microveil.entries import OFFERED, homes, offered

__version__ = "0.1.0"

if TYPE_CHECKING:
    from microveil import applications, registry, series, tables
    from microveil.attacks import Attack, Risk
    from microveil.attacks.anonymity import Anonymity, real_anonymity, shared_groups
    from microveil.attacks.intervals import IntervalDisclosure
    from microveil.attacks.linkage.distance import DistanceLinkage
    from microveil.attacks.population.delta_presence import DeltaPresence, delta_presence
    from microveil.attacks.population.log_linear import LogLinearEstimate, log_linear_risk
    from microveil.attacks.population.population_uniqueness import PopulationUniques, population_uniques
    from microveil.attacks.reidentification import FileRisk, Headline, risk_of_file
    from microveil.attacks.taxonomy import Disclosure, disclosure_of
    from microveil.attacks.uniqueness import unique_in_both
    from microveil.attacks.versions import Versions, attack_versions, combine_versions
    from microveil.battery import Battery, explain_risk, run_battery
    from microveil.comparison.matrix_mask import MatrixMask, to_matrix_mask
    from microveil.engines import LargeMicrodata, LargeRelease
    from microveil.engines.opening import open  # noqa: A004 - the name that a user types
    from microveil.errors import Cancelled, MicroveilError
    from microveil.losses import Loss, LossMeasure
    from microveil.losses.categorical.distance import DBIL
    from microveil.losses.categorical.tables import CTBIL
    from microveil.losses.numeric.moments import IL, IL1, IL2, IL3, IL4, IL5
    from microveil.losses.numeric.sse import SSE
    from microveil.masking import Method, Partition, Plan, Release, Step
    from microveil.masking.by_household import ByHousehold
    from microveil.masking.coarsening.generalise import Generalise
    from microveil.masking.coarsening.mondrian import Mondrian
    from microveil.masking.coarsening.recode import Recode
    from microveil.masking.coarsening.sampling import Sampling
    from microveil.masking.coarsening.suppress import Suppress
    from microveil.masking.coarsening.top_bottom_coding import BottomCode, TopCode
    from microveil.masking.guarantees import Guarantees, guarantees_of
    from microveil.masking.in_blocks import mask_in_blocks
    from microveil.masking.manifest import Manifest, read_manifest
    from microveil.masking.microaggregation.advice import Advice, advise, advise_k
    from microveil.masking.microaggregation.best import Best
    from microveil.masking.microaggregation.bound import LossBound, microaggregation_bound
    from microveil.masking.microaggregation.mdav import MDAV
    from microveil.masking.microaggregation.mdav_generic import MDAVGeneric
    from microveil.masking.plan import read_plan
    from microveil.masking.preparation import Preparation
    from microveil.masking.preparation.attribute_blocks import consecutive_blocks
    from microveil.masking.publishing import Aggregate, Barycentre, MicroPerturbation, SecureMean, Span
    from microveil.masking.randomising.noise import Noise
    from microveil.masking.randomising.pram import PRAM
    from microveil.masking.randomising.resampling import resampled_table
    from microveil.masking.swapping.rank_swapping import RankSwapping
    from microveil.masking.synthesis.synthetic import Synthetic
    from microveil.masking.within import Within
    from microveil.microdata import Attribute, Hierarchy, Intervals, Microdata, Schema, datasets, hierarchies
    from microveil.microdata.combinations import Combination
    from microveil.microdata.description import Description, describe
    from microveil.microdata.files import read, write
    from microveil.microdata.proposals import propose_hierarchy
    from microveil.numerics.grouping.learning_automata import object_migration
    from microveil.numerics.grouping.ward import ward_groups
    from microveil.numerics.perturbing.swapping import is_valid_rank_swap
    from microveil.protection import protect
    from microveil.queries import Answer, QueryServer, Question
    from microveil.registry import attack, loss, method
    from microveil.release_files import read_release
    from microveil.reporting import risk_utility
    from microveil.reporting.report import report, reports
    from microveil.reporting.risk_page import risk_page
    from microveil.reporting.risk_section import risk_histogram, risk_pictures
    from microveil.reporting.side_by_side import SideBySide, side_by_side
    from microveil.reporting.solution_space import solution_space_page
    from microveil.rules.checking import RuleCheck, check
    from microveil.rules.pack import RulePack
    from microveil.scoring import Assessment, Score, ScoreRule, assess, decisions, score
    from microveil.scoring.optimising import Optimum, grid, optimise
    from microveil.scoring.repeated import RepeatedScore, repeated_score
    from microveil.scoring.risk_advice.advice import Proposal, RiskAdvice, advise_risk
    from microveil.search import Found, search, toolbox
    from microveil.search.space import good_plans
    from microveil.strengthening import Strengthened, protect_until, stronger
    from microveil.study import Candidate, Study, Tried, compare, run_study
    from microveil.tables import ProtectedTable, table

# the names a user types; each is imported when it is first used, so that `import microveil` costs nothing
_HOMES = {
    "attacks": ("Attack", "Risk"),
    "attacks.anonymity": ("Anonymity", "real_anonymity", "shared_groups"),
    "attacks.population.delta_presence": ("DeltaPresence", "delta_presence"),
    "attacks.population.log_linear": ("LogLinearEstimate", "log_linear_risk"),
    "attacks.population.population_uniqueness": ("PopulationUniques", "population_uniques"),
    "attacks.reidentification": ("FileRisk", "Headline", "risk_of_file"),
    "attacks.taxonomy": ("Disclosure", "disclosure_of"),
    "attacks.uniqueness": ("unique_in_both",),
    "attacks.versions": ("Versions", "attack_versions", "combine_versions"),
    "battery": ("Battery", "explain_risk", "run_battery"),
    "comparison.matrix_mask": ("MatrixMask", "to_matrix_mask"),
    "engines.large": ("LargeMicrodata", "LargeRelease"),
    "engines.opening": ("open",),
    "errors": ("Cancelled", "MicroveilError"),
    "losses": ("Loss", "LossMeasure"),
    "masking": ("Method", "Partition", "Plan", "Release", "Step"),
    "masking.guarantees": ("Guarantees", "guarantees_of"),
    "masking.manifest": ("Manifest", "read_manifest"),
    "masking.microaggregation.advice": ("Advice", "advise", "advise_k"),
    "masking.microaggregation.bound": ("LossBound", "microaggregation_bound"),
    "masking.in_blocks": ("mask_in_blocks",),
    "masking.preparation": ("Preparation",),
    "masking.preparation.attribute_blocks": ("consecutive_blocks",),
    "masking.publishing": ("Aggregate", "Barycentre", "MicroPerturbation", "SecureMean", "Span"),
    "masking.plan": ("read_plan",),
    "masking.randomising.resampling": ("resampled_table",),
    "microdata": ("Attribute", "Hierarchy", "Intervals", "Microdata", "Schema"),
    "microdata.combinations": ("Combination",),
    "microdata.description": ("Description", "describe"),
    "microdata.files": ("read", "write"),
    "microdata.proposals": ("propose_hierarchy",),
    "numerics.grouping.learning_automata": ("object_migration",),
    "numerics.grouping.ward": ("ward_groups",),
    "numerics.perturbing.swapping": ("is_valid_rank_swap",),
    "protection": ("protect",),
    "queries": ("Answer", "Question", "QueryServer"),
    "registry": ("method", "attack", "loss"),
    "release_files": ("read_release",),
    "reporting.report": ("report", "reports"),
    "reporting.risk_page": ("risk_page",),
    "reporting.risk_section": ("risk_histogram", "risk_pictures"),
    "reporting.side_by_side": ("SideBySide", "side_by_side"),
    "reporting.solution_space": ("solution_space_page",),
    "rules.checking": ("RuleCheck", "check"),
    "rules.pack": ("RulePack",),
    "scoring": ("Assessment", "Score", "ScoreRule", "assess", "score"),
    "scoring.optimising": ("Optimum", "grid", "optimise"),
    "scoring.risk_advice.advice": ("Proposal", "RiskAdvice", "advise_risk"),
    "scoring.repeated": ("RepeatedScore", "repeated_score"),
    "search": ("Found",),
    "search.space": ("good_plans",),
    "strengthening": ("Strengthened", "protect_until", "stronger"),
    "study": ("Candidate", "Study", "Tried", "compare", "run_study"),
    "tables.protected": ("ProtectedTable",),
    "tables.tabulating": ("table",),
}
_MODULES = {
    name: f"microveil.{module}"
    for name, module in {
        "applications": "applications", "attacks": "attacks", "datasets": "microdata.datasets",
        "decisions": "scoring.decisions", "engines": "engines", "graphs": "graphs",
        "hierarchies": "microdata.hierarchies", "locations": "microdata.locations", "losses": "losses",
        "masking": "masking", "queries": "queries", "registry": "registry",
        "risk_utility": "reporting.risk_utility", "scoring": "scoring", "search": "search", "series": "series",
        "tables": "tables", "toolbox": "search.toolbox",
    }.items()
}  # fmt: skip

__all__ = [  # noqa: RUF022 - in the order a reader meets them
    "read", "write", "open", "LargeMicrodata", "LargeRelease", "datasets", "Microdata", "Schema", "Attribute",
    "Hierarchy", "Intervals",
    "hierarchies", "propose_hierarchy", "describe", "Description", "Combination", "check", "RulePack", "RuleCheck",
    "Method", "Best", "MDAV", "MDAVGeneric", "RankSwapping", "PRAM", "Noise", "Recode", "TopCode", "BottomCode",
    "Suppress", "Generalise", "Mondrian", "Sampling", "Synthetic", "Within", "ByHousehold", "method", "attack", "loss",
    "score", "registry",
    "protect", "Plan", "read_plan", "Step", "Release", "read_release", "Manifest", "read_manifest", "Partition",
    "Guarantees", "guarantees_of", "protect_until", "stronger", "Strengthened",
    "advise", "advise_k", "Advice", "microaggregation_bound", "LossBound", "mask_in_blocks",
    "consecutive_blocks", "Preparation", "Aggregate", "Span", "MicroPerturbation", "SecureMean", "Barycentre",
    "object_migration", "ward_groups",
    "resampled_table", "is_valid_rank_swap", "to_matrix_mask", "MatrixMask",
    "risk_of_file", "FileRisk", "advise_risk", "RiskAdvice", "Proposal", "assess", "Assessment",
    "Headline", "Score", "ScoreRule", "Attack", "Risk", "Battery",
    "run_battery", "explain_risk", "attack_versions", "Versions", "combine_versions", "DistanceLinkage",
    "IntervalDisclosure", "unique_in_both", "real_anonymity", "shared_groups", "Anonymity", "disclosure_of",
    "Disclosure", "log_linear_risk", "LogLinearEstimate", "population_uniques", "PopulationUniques", "delta_presence",
    "DeltaPresence",
    "search", "Found", "toolbox", "series", "graphs", "locations", "table", "tables", "ProtectedTable",
    "QueryServer", "Question", "Answer", "queries",
    "run_study", "compare", "Candidate", "Study", "Tried", "good_plans", "optimise", "grid", "Optimum",
    "repeated_score", "RepeatedScore",
    "decisions", "report", "reports", "side_by_side", "SideBySide", "risk_page", "risk_histogram", "risk_pictures",
    "risk_utility", "solution_space_page",
    "LossMeasure", "Loss", "SSE", "IL", "IL1", "IL2", "IL3", "IL4", "IL5", "DBIL", "CTBIL",
    "applications", "MicroveilError", "Cancelled", "__version__",
]  # fmt: skip


_HOME_OF = {
    # every method, attack and loss is at hand; `__all__` and `dir` show those most used, a family's module all of them
    **homes("microveil", OFFERED),
    **{name: f"microveil.{module}" for module, names in _HOMES.items() for name in names},
}
__getattr__, __dir__ = offered(globals(), _HOME_OF, __all__, _MODULES)
