"""Time series: methods, attacks and losses for tables whose records are series, and distances of series as arrays."""

from typing import TYPE_CHECKING

from microveil.entries import homes, offered

if TYPE_CHECKING:
    from microveil.numerics.series.barycentre import barycentre
    from microveil.numerics.series.distances import euclidean, sts
    from microveil.numerics.series.dtw import RunLengths, dtw, warping_path
    from microveil.numerics.series.normalising import Normalisation, normalised
    from microveil.numerics.series.resampling import fill_gaps, resampled
    from microveil.numerics.series.spans import split

_HOMES = {
    "barycentre": "microveil.numerics.series.barycentre",
    "euclidean": "microveil.numerics.series.distances",
    "sts": "microveil.numerics.series.distances",
    **dict.fromkeys(("RunLengths", "dtw", "warping_path"), "microveil.numerics.series.dtw"),
    **dict.fromkeys(("Normalisation", "normalised"), "microveil.numerics.series.normalising"),
    **dict.fromkeys(("fill_gaps", "resampled"), "microveil.numerics.series.resampling"),
    "split": "microveil.numerics.series.spans",
}
__all__ = ["Normalisation", "RunLengths", "barycentre", "dtw", "euclidean", "fill_gaps", "normalised", "resampled"]
__all__ += ["split", "sts", "warping_path"]

__getattr__, __dir__ = offered(globals(), {**_HOMES, **homes(__name__)}, [*__all__, *homes(__name__)])
