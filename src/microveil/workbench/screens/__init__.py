"""What each screen shows, as plain values for its template: a file a screen."""

from microveil.workbench.screens.data import data
from microveil.workbench.screens.frame import frame
from microveil.workbench.screens.out import out
from microveil.workbench.screens.risk import risk
from microveil.workbench.screens.risk_utility_map import map_of
from microveil.workbench.screens.trying import attempt, code_of_step, methods

__all__ = ["attempt", "code_of_step", "data", "frame", "map_of", "methods", "out", "risk"]
