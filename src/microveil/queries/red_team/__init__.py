"""The red team: attacks on the guarded statistical database, by an analyst who may ask what the language allows."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from microveil.entries import offered
from microveil.errors import UnknownNameError
from microveil.queries.red_team.base import QueryAttack

_HERE = "microveil.queries.red_team"
# in the order in which they are run
ATTACKS = {
    "singleton": "singleton:Singleton",
    "individual-tracker": "individual_tracker:IndividualTracker",
    "general-tracker": "general_tracker:GeneralTracker",
    "double-tracker": "double_tracker:DoubleTracker",
    "overlapping-sets": "overlapping_sets:OverlappingSets",
    "mean-difference": "mean_difference:MeanDifference",
    "range-creep": "range_creep:RangeCreep",
    "averaging": "averaging:Averaging",
    "split-averaging": "split_averaging:SplitAveraging",
    "first-derivative-difference": "first_derivative:FirstDerivativeDifference",
    "full-samples": "full_samples:FullSamples",
    "linear-reconstruction": "linear_reconstruction:LinearReconstruction",
    "stated-precision": "stated_precision:StatedPrecision",
    "error-channel": "error_channel:ErrorChannel",
    "null-channel": "null_channel:NullChannel",
    "timing-channel": "timing_channel:TimingChannel",
    "automatic-search": "automatic_search:AutomaticSearch",
}
# those that the criterion of security counts first
CLASSIC = (
    "singleton",
    "individual-tracker",
    "general-tracker",
    "double-tracker",
    "overlapping-sets",
    "mean-difference",
)
_HOMES = {entry.split(":")[1]: f"{_HERE}.{entry.split(':')[0]}" for entry in ATTACKS.values()}
_HOMES |= {"Campaign": f"{_HERE}.campaign", "attack_queries": f"{_HERE}.campaign"}
__all__ = ["ATTACKS", "CLASSIC", "QueryAttack", "attacks_of"]


def attacks_of(names: Sequence[str | QueryAttack] | None = None) -> list[QueryAttack]:
    """Attacks by their names, or all of them."""
    found = []
    for name in ATTACKS if names is None else names:
        if isinstance(name, QueryAttack):
            found.append(name)
            continue
        if name not in ATTACKS:
            raise UnknownNameError("attack on a statistical database", str(name), ATTACKS)
        module, cls = ATTACKS[name].split(":")
        found.append(getattr(importlib.import_module(f"{_HERE}.{module}"), cls)())
    return found


__getattr__, __dir__ = offered(globals(), _HOMES, [*__all__, *_HOMES])
