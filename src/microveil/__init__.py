"""Microveil: mask microdata, measure what an intruder could still learn, and what an analyst has lost."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from microveil.entries import OFFERED, homes, offered

__version__ = "0.1.0"

if TYPE_CHECKING:
    from microveil.attacks import Attack, Risk
    from microveil.attacks.intervals import IntervalDisclosure
    from microveil.attacks.linkage.distance import DistanceLinkage
    from microveil.attacks.reidentification import FileRisk, Headline, risk_of_file
    from microveil.battery import Battery, run_battery
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
    from microveil.microdata.files import read, write
    from microveil.protection import protect
    from microveil.registry import attack, loss, method
    from microveil.reporting.report import report
    from microveil.scoring import Assessment, Score, ScoreRule, assess, score
    from microveil.study import Candidate, Study, compare, run_study

# the names a user types; each is imported when it is first used, so that `import microveil` costs nothing
_HOMES = {
    "attacks": ("Attack", "Risk"),
    "attacks.reidentification": ("FileRisk", "Headline", "risk_of_file"),
    "battery": ("Battery", "run_battery"),
    "errors": ("Cancelled", "MicroveilError"),
    "losses": ("Loss", "LossMeasure"),
    "masking": ("Method", "Partition", "Plan", "Release", "Step"),
    "masking.guarantees": ("Guarantees", "guarantees_of"),
    "masking.plan": ("read_plan",),
    "microdata": ("Attribute", "Hierarchy", "Intervals", "Microdata", "Schema"),
    "microdata.files": ("read", "write"),
    "protection": ("protect",),
    "registry": ("method", "attack", "loss"),
    "reporting.report": ("report",),
    "scoring": ("Assessment", "Score", "ScoreRule", "assess", "score"),
    "study": ("Candidate", "Study", "compare", "run_study"),
}
_MODULES = {name: name for name in ("attacks", "losses", "masking", "scoring")} | {"datasets": "microdata.datasets"}

__all__ = [  # noqa: RUF022 - in the order a reader meets them
    "read", "write", "datasets", "Microdata", "Schema", "Attribute", "Hierarchy", "Intervals",
    "Method", "Best", "MDAV", "MDAVGeneric", "RankSwapping", "PRAM", "Noise", "Recode", "TopCode", "BottomCode",
    "Suppress", "Mondrian", "Sampling", "Synthetic", "Within", "ByHousehold", "method", "attack", "loss",
    "score",
    "protect", "Plan", "read_plan", "Step", "Release", "Partition", "Guarantees", "guarantees_of",
    "risk_of_file", "FileRisk", "assess", "Assessment", "Headline", "Score", "ScoreRule", "Attack", "Risk", "Battery",
    "run_battery", "DistanceLinkage", "IntervalDisclosure",
    "run_study", "compare", "Candidate", "Study", "report",
    "LossMeasure", "Loss", "SSE", "IL", "IL1", "IL2", "IL3", "IL4", "IL5", "DBIL", "CTBIL",
    "MicroveilError", "Cancelled", "__version__",
]  # fmt: skip


_PLACES = {
    # every method, attack and loss is at hand; `__all__` and `dir` show those most used, a family's module all of them
    **homes("microveil", OFFERED),
    **{name: f"microveil.{module}" for module, names in _HOMES.items() for name in names},
}
_look_up, __dir__ = offered(globals(), _PLACES, __all__)


def __getattr__(name: str) -> Any:
    return importlib.import_module(f"microveil.{_MODULES[name]}") if name in _MODULES else _look_up(name)
