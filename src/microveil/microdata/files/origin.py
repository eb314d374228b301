"""Where a table came from and how its file was written, so that it can go back in the same form."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """The file a table was read from; `delimiter`, `encoding` and `decimal` matter for CSV only."""

    path: str
    format: str
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
