"""Search: pipelines of methods with little loss and little risk, found by evolution.

The module can be called: `microveil.search(data, risk_below=5)`.
"""

import sys
from types import ModuleType
from typing import Any

from microveil.search.found import Found
from microveil.search.searching import search

__all__ = ["Found", "search"]


class _Callable(ModuleType):
    """The module is called like its main function, which has its name."""

    def __call__(self, *args: Any, **options: Any) -> Found:
        return search(*args, **options)


sys.modules[__name__].__class__ = _Callable
