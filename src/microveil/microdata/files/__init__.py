"""Reading and writing tables: CSV, Parquet, Excel, SPSS, Stata, SAS."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microveil.microdata.files.origin import Origin
    from microveil.microdata.files.reading import read
    from microveil.microdata.files.writing import write, writer

# each is imported when it is first used: a process that only reads a file must start quickly
_HOMES = {"Origin": "origin", "read": "reading", "write": "writing", "writer": "writing"}

__all__ = ["Origin", "read", "write", "writer"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'microveil.microdata.files' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"microveil.microdata.files.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
