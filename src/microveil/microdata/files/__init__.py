"""Reading and writing tables: CSV, Parquet, Excel, SPSS, Stata, SAS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microveil.entries import offered

if TYPE_CHECKING:
    from microveil.microdata.files.origin import Origin
    from microveil.microdata.files.reading import read
    from microveil.microdata.files.writing import write, writer

__all__ = ["Origin", "read", "write", "writer"]

# each is imported when it is first used: a process that only reads a file must start quickly
_HOMES = {"Origin": "origin", "read": "reading", "write": "writing", "writer": "writing"}
__getattr__, __dir__ = offered(globals(), {name: f"{__name__}.{module}" for name, module in _HOMES.items()}, __all__)
