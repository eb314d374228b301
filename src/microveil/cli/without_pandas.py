"""pyarrow imports pandas with the first array that it makes, in case the cells are a column of pandas. That takes as
long as numpy, pyarrow and numba together, and a command that reads and writes plain files has no such column.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.util import find_spec

_COMMANDS = ("protect",)
# what pandas takes part in: files of statistical packages and of spreadsheets, and Spark
_OF_PANDAS = (".sav", ".zsav", ".por", ".dta", ".xpt", ".sas7bdat", ".xls", "spark")
_PANDAS = "pandas"


def leave_pandas_out(words: Sequence[str]) -> None:
    """Let pyarrow look for pandas once, and find none, where a command line has no use for it.

    What imports pandas by itself gets it as before. Where methods of other packages are installed, which may have a use
    for anything, nothing is changed.
    """
    if _needs_none(words):
        import pyarrow as pa

        hidden = _Hidden()
        sys.meta_path.insert(0, hidden)
        try:
            pa.array([0])
        finally:
            sys.meta_path.remove(hidden)


class _Hidden(MetaPathFinder):
    """As if pandas were not installed."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == _PANDAS:
            raise ModuleNotFoundError(f"{_PANDAS} is not looked for", name=_PANDAS)


def _needs_none(words: Sequence[str]) -> bool:
    if not words or words[0] not in _COMMANDS or "--help" in words or _PANDAS in sys.modules:
        return False
    if any(mark in word.lower() for word in words for mark in _OF_PANDAS) or find_spec(_PANDAS) is None:
        return False
    from microveil.plugins import GROUPS, declared

    return not any(declared(kind) != ({}, ()) for kind in GROUPS)
