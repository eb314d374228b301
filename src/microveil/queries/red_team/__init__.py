"""The red team: attacks on the guarded statistical database, by an analyst who may ask what the language allows."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from microveil.entries import offered
from microveil.errors import UnknownNameError
from microveil.queries.red_team.base import QueryAttack

# in the order in which they are run
ATTACKS = {
    "singleton": "microveil.queries.red_team.singleton:Singleton",
    "individual-tracker": "microveil.queries.red_team.individual_tracker:IndividualTracker",
    "general-tracker": "microveil.queries.red_team.general_tracker:GeneralTracker",
    "double-tracker": "microveil.queries.red_team.double_tracker:DoubleTracker",
    "overlapping-sets": "microveil.queries.red_team.overlapping_sets:OverlappingSets",
    "mean-difference": "microveil.queries.red_team.mean_difference:MeanDifference",
    "range-creep": "microveil.queries.red_team.range_creep:RangeCreep",
    "averaging": "microveil.queries.red_team.averaging:Averaging",
    "split-averaging": "microveil.queries.red_team.split_averaging:SplitAveraging",
    "first-derivative-difference": "microveil.queries.red_team.first_derivative:FirstDerivativeDifference",
    "full-samples": "microveil.queries.red_team.full_samples:FullSamples",
    "linear-reconstruction": "microveil.queries.red_team.linear_reconstruction:LinearReconstruction",
    "stated-precision": "microveil.queries.red_team.stated_precision:StatedPrecision",
    "error-channel": "microveil.queries.red_team.error_channel:ErrorChannel",
    "null-channel": "microveil.queries.red_team.null_channel:NullChannel",
    "timing-channel": "microveil.queries.red_team.timing_channel:TimingChannel",
    "automatic-search": "microveil.queries.red_team.automatic_search:AutomaticSearch",
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
_HOMES = {entry.split(":")[1]: entry.split(":")[0] for entry in ATTACKS.values()}
_HOMES |= dict.fromkeys(("Campaign", "attack_queries"), "microveil.queries.red_team.campaign")
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
        found.append(getattr(importlib.import_module(module), cls)())
    return found


__getattr__, __dir__ = offered(globals(), _HOMES, [*__all__, *_HOMES])
