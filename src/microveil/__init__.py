"""Microveil: mask microdata, measure what an intruder could still learn, and what an analyst has lost."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from microveil.attacks import Attack, Risk
    from microveil.attacks.intervals import IntervalDisclosure
    from microveil.attacks.linkage.distance import DistanceLinkage
    from microveil.attacks.reidentification import FileRisk, Headline, risk_of_file
    from microveil.attacks.versions import Versions, attack_versions
    from microveil.battery import Battery, explain_risk, run_battery
    from microveil.errors import Cancelled, MicroveilError
    from microveil.losses import Loss, LossMeasure
    from microveil.losses.categorical.distance import DBIL
    from microveil.losses.categorical.tables import CTBIL
    from microveil.losses.numeric.moments import IL, IL1, IL2, IL3, IL4, IL5
    from microveil.losses.numeric.sse import SSE
    from microveil.masking import Method, Partition, Plan, Release, Step
    from microveil.masking.by_household import ByHousehold
    from microveil.masking.coarsening.mondrian import Mondrian
    from microveil.masking.coarsening.recode import Recode
    from microveil.masking.coarsening.sampling import Sampling
    from microveil.masking.coarsening.suppress import Suppress
    from microveil.masking.coarsening.top_bottom_coding import BottomCode, TopCode
    from microveil.masking.guarantees import Guarantees, guarantees_of
    from microveil.masking.manifest import Manifest, read_manifest
    from microveil.masking.microaggregation.best import Best
    from microveil.masking.microaggregation.mdav import MDAV
    from microveil.masking.microaggregation.mdav_generic import MDAVGeneric
    from microveil.masking.plan import read_plan
    from microveil.masking.randomising.noise import Noise
    from microveil.masking.randomising.pram import PRAM
    from microveil.masking.swapping.rank_swapping import RankSwapping
    from microveil.masking.synthesis.synthetic import Synthetic
    from microveil.masking.within import Within
    from microveil.microdata import Attribute, Hierarchy, Intervals, Microdata, Schema, datasets
    from microveil.microdata.description import Description, describe
    from microveil.microdata.files import read, write
    from microveil.protection import protect
    from microveil.registry import attack, loss, method
    from microveil.release_files import read_release
    from microveil.reporting.report import report
    from microveil.scoring import Assessment, Score, ScoreRule, assess, score
    from microveil.strengthening import Strengthened, protect_until, stronger
    from microveil.study import Candidate, Study, compare, run_study

# the names a user types; each is imported when it is first used, so that `import microveil` costs nothing
_HOMES = {
    "attacks": ("Attack", "Risk"),
    "attacks.intervals": ("IntervalDisclosure",),
    "attacks.linkage.distance": ("DistanceLinkage",),
    "attacks.reidentification": ("FileRisk", "Headline", "risk_of_file"),
    "attacks.versions": ("Versions", "attack_versions"),
    "battery": ("Battery", "explain_risk", "run_battery"),
    "errors": ("Cancelled", "MicroveilError"),
    "losses": ("Loss", "LossMeasure"),
    "losses.categorical.distance": ("DBIL",),
    "losses.categorical.tables": ("CTBIL",),
    "losses.numeric.moments": ("IL", "IL1", "IL2", "IL3", "IL4", "IL5"),
    "losses.numeric.sse": ("SSE",),
    "masking": ("Method", "Partition", "Plan", "Release", "Step"),
    "masking.coarsening.top_bottom_coding": ("BottomCode", "TopCode"),
    "masking.coarsening.mondrian": ("Mondrian",),
    "masking.coarsening.recode": ("Recode",),
    "masking.coarsening.sampling": ("Sampling",),
    "masking.coarsening.suppress": ("Suppress",),
    "masking.guarantees": ("Guarantees", "guarantees_of"),
    "masking.manifest": ("Manifest", "read_manifest"),
    "masking.microaggregation.best": ("Best",),
    "masking.microaggregation.mdav": ("MDAV",),
    "masking.microaggregation.mdav_generic": ("MDAVGeneric",),
    "masking.plan": ("read_plan",),
    "masking.randomising.noise": ("Noise",),
    "masking.randomising.pram": ("PRAM",),
    "masking.swapping.rank_swapping": ("RankSwapping",),
    "masking.synthesis.synthetic": ("Synthetic",),
    "masking.by_household": ("ByHousehold",),
    "masking.within": ("Within",),
    "microdata": ("Attribute", "Hierarchy", "Intervals", "Microdata", "Schema"),
    "microdata.description": ("Description", "describe"),
    "microdata.files": ("read", "write"),
    "protection": ("protect",),
    "registry": ("method", "attack", "loss"),
    "release_files": ("read_release",),
    "reporting.report": ("report",),
    "scoring": ("Assessment", "Score", "ScoreRule", "assess", "score"),
    "strengthening": ("Strengthened", "protect_until", "stronger"),
    "study": ("Candidate", "Study", "compare", "run_study"),
}
_MODULES = {"attacks": "attacks", "datasets": "microdata.datasets", "losses": "losses", "masking": "masking"}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022 - in the order a reader meets them
    "read", "write", "datasets", "Microdata", "Schema", "Attribute", "Hierarchy", "Intervals", "describe",
    "Description",
    "Method", "Best", "MDAV", "MDAVGeneric", "RankSwapping", "PRAM", "Noise", "Recode", "TopCode", "BottomCode",
    "Suppress", "Mondrian", "Sampling", "Synthetic", "Within", "ByHousehold", "method", "attack", "loss",
    "score",
    "protect", "Plan", "read_plan", "Step", "Release", "read_release", "Manifest", "read_manifest", "Partition",
    "Guarantees", "guarantees_of", "protect_until", "stronger", "Strengthened",
    "risk_of_file", "FileRisk", "assess", "Assessment", "Headline", "Score", "ScoreRule", "Attack", "Risk", "Battery",
    "run_battery", "explain_risk", "attack_versions", "Versions", "DistanceLinkage", "IntervalDisclosure",
    "run_study", "compare", "Candidate", "Study", "report",
    "LossMeasure", "Loss", "SSE", "IL", "IL1", "IL2", "IL3", "IL4", "IL5", "DBIL", "CTBIL",
    "MicroveilError", "Cancelled", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(f"microveil.{_MODULES[name]}")
    elif name in _HOME_OF:
        value = getattr(importlib.import_module(f"microveil.{_HOME_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'microveil' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
