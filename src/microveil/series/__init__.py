"""Time series: methods, attacks and losses for tables whose records are series, and distances of series as arrays."""

from typing import TYPE_CHECKING

from microveil.entries import homes, offered

if TYPE_CHECKING:
    from microveil.numerics.series.barycentre import barycentre
    from microveil.numerics.series.distances import euclidean, sts
    from microveil.numerics.series.dtw import RunLengths, dtw, warping_path

_HOMES = {
    "barycentre": "microveil.numerics.series.barycentre",
    "euclidean": "microveil.numerics.series.distances",
    "sts": "microveil.numerics.series.distances",
    **dict.fromkeys(("RunLengths", "dtw", "warping_path"), "microveil.numerics.series.dtw"),
}
__all__ = ["RunLengths", "barycentre", "dtw", "euclidean", "sts", "warping_path"]

__getattr__, __dir__ = offered(globals(), {**_HOMES, **homes(__name__)}, [*__all__, *homes(__name__)])
