"""Charts as SVG text: data in, a picture out. They need no script and no network, and no colour to be understood."""

from microveil.reporting.charts.bars import bars
from microveil.reporting.charts.heatmap import heatmap
from microveil.reporting.charts.histogram import histogram
from microveil.reporting.charts.lines import Line, lines
from microveil.reporting.charts.looks import Look, looks_for
from microveil.reporting.charts.scatter import Guide, Mark, Region, scatter

__all__ = [
    "Guide",
    "Line",
    "Look",
    "Mark",
    "Region",
    "bars",
    "heatmap",
    "histogram",
    "lines",
    "looks_for",
    "scatter",
]
