"""What each screen shows, as plain values for its template: a file a screen."""

import microveil as mv
from microveil.workbench.screens.data import data
from microveil.workbench.screens.frame import frame
from microveil.workbench.screens.out import out
from microveil.workbench.screens.risk import attacks, risk
from microveil.workbench.screens.risk_utility_map import map_of
from microveil.workbench.screens.trying import attempt, code_of_step, methods

__all__ = ["attempt", "code_of_step", "data", "frame", "map_of", "out", "risk", "warm"]


def warm() -> None:
    """Look at the registry and load what draws, so that the first look at a screen need not wait for it."""
    methods()
    attacks()
    mv.risk_utility.risk_utility_chart([mv.risk_utility.Spot("", 1.0, 1.0, "")], front=[0])
    mv.decisions.front([])
