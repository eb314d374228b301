"""Search: evolution and other ways to let the machine find a better release."""

from microveil.search import toolbox
from microveil.search.formulas import EvolvedFormula, evolve_formula

__all__ = ["EvolvedFormula", "evolve_formula", "toolbox"]
