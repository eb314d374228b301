"""Publishing the curve that the series of a group are warped into at the least cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from microveil.masking.partition import Partition
from microveil.masking.publishing.aggregate import Aggregate, aggregate_columns, number_columns
from microveil.masking.publishing.publishing import Published, Publishing
from microveil.microdata import Microdata
from microveil.parameters import parameter, parameterised
from microveil.randomness import Streams
from microveil.typing import BoolArray


@parameterised
class Barycentre(Publishing):
    """A group publishes the DTW barycentre of its series, which all members share; other attributes as means and modes.

    The mean at each time flattens what the members do at different times; the barycentre keeps its height. Numeric
    attributes are a series in their order unless the table is declared to have others. Where the members are one curve
    at different speeds, the barycentre is a curve with the values of a member.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> from microveil.microdata import Microdata
    >>> peaks = Microdata.of({"t1": [0, 0, 0], "t2": [9, 0, 0], "t3": [0, 8, 0], "t4": [0, 0, 7], "t5": [0, 0, 0]})
    >>> release = MDAV(k=3, distance="dtw", publishing="barycentre").mask(peaks)
    >>> [release.frame[name][0].as_py() for name in peaks.names]
    [0.0, 0.0, 8.0, 0.0, 0.0]
    """

    name: ClassVar[str] = "barycentre"
    summary: ClassVar[str] = "a group publishes the DTW barycentre of its series"

    publish: Literal["barycentre"] = parameter(default="barycentre", help="series publish the barycentre of the group")
    rounds: int = parameter(
        default=30,
        help="most rounds in which the barycentre, at first a member of the group, is improved; it ends where the cost "
        "stays",
        ge=1,
        le=10_000,
    )

    @property
    def judged_by(self) -> Publishing:
        return Aggregate()

    def _published(
        self, data: Microdata, partition: Partition, suppressed: Mapping[str, BoolArray], streams: Streams, label: str
    ) -> Published:
        from microveil.numerics.series.barycentre import barycentres_by_group

        found = data.series_among(list(suppressed))
        in_series = {name for series in found for name in series.columns}
        others = {name: cells for name, cells in suppressed.items() if name not in in_series}
        columns = aggregate_columns(data, partition, others, "mean")
        for series in found:
            curves = barycentres_by_group(series.values, partition.labels, self.rounds)
            columns |= number_columns(data, series.columns, curves, suppressed)
        return Published({name: columns[name] for name in suppressed})
