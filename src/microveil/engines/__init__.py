"""Tables that are longer than memory: the same methods, in parts, by DuckDB on one machine or Spark on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microveil.entries import offered

if TYPE_CHECKING:
    from microveil.engines.large import Classes, LargeMicrodata, LargeRelease
    from microveil.engines.opening import open  # noqa: A004 - the name that a user types
    from microveil.engines.spark_cells import SparkWorkers

__all__ = ["Classes", "LargeMicrodata", "LargeRelease", "SparkWorkers", "open"]

_HOMES = {
    "Classes": "large",
    "LargeMicrodata": "large",
    "LargeRelease": "large",
    "SparkWorkers": "spark_cells",
    "open": "opening",
}
__getattr__, __dir__ = offered(globals(), {name: f"{__name__}.{module}" for name, module in _HOMES.items()}, __all__)
