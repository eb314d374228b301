"""Charts as SVG text: data in, a picture out. They need no script and no network, and no colour to be understood."""

from microveil.reporting.charts.bars import bars
from microveil.reporting.charts.heatmap import heatmap
from microveil.reporting.charts.histogram import histogram
from microveil.reporting.charts.lines import Line, lines
from microveil.reporting.charts.log_histogram import log_histogram
from microveil.reporting.charts.network import network
from microveil.reporting.charts.scatter import Guide, Mark, Region, scatter
from microveil.reporting.charts.styles import Style, styles_for

__all__ = [
    "Guide",
    "Line",
    "Mark",
    "Region",
    "Style",
    "bars",
    "heatmap",
    "histogram",
    "lines",
    "log_histogram",
    "network",
    "scatter",
    "styles_for",
]
