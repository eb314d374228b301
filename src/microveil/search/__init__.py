"""Search: let the machine find a better release, by evolution of pipelines, of masked files, or of formulas.

The module can be called: `microveil.search(data, risk_below=5)`.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from microveil.entries import homes, offered

if TYPE_CHECKING:
    from microveil.search import toolbox
    from microveil.search.evolved import Evolved
    from microveil.search.formulas import EvolvedFormula, evolve_formula
    from microveil.search.found import Found
    from microveil.search.searching import search
    from microveil.search.space import good_plans

__all__ = ["Evolved", "EvolvedFormula", "Found", "evolve_formula", "good_plans", "search", "toolbox"]

_HOMES = {
    **homes(__name__),
    **dict.fromkeys(("EvolvedFormula", "evolve_formula"), "microveil.search.formulas"),
    "Found": "microveil.search.found",
    "search": "microveil.search.searching",
    "good_plans": "microveil.search.space",
}
__getattr__, __dir__ = offered(globals(), _HOMES, __all__, {"toolbox": "microveil.search.toolbox"})


class _Callable(ModuleType):
    """The module is called like its main function, which has its name."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from microveil.search.searching import search

        return search(*args, **options)


sys.modules[__name__].__class__ = _Callable
