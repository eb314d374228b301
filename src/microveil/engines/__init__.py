"""Tables that are longer than memory: the same methods, in parts, by DuckDB on one machine or Spark on a cluster."""

from __future__ import annotations

from microveil.engines.large import Classes, LargeMicrodata, LargeRelease, open_table

__all__ = ["Classes", "LargeMicrodata", "LargeRelease", "open_table"]
