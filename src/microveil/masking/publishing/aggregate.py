"""Publishing one aggregate of each group, or draws around its mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from microveil.errors import DataError, ParameterError
from microveil.masking.partition import Partition
from microveil.masking.publishing.drawing import NoiseMode, drawn_values
from microveil.masking.publishing.publishing import Published, Publishing, publishings, without_cells
from microveil.microdata import Categories, Microdata
from microveil.numerics.core.ordering import in_order_by_group
from microveil.numerics.grouping.groups import means_by_group, medians_by_group
from microveil.parameters import parameter, parameterised
from microveil.randomness import Streams
from microveil.typing import BoolArray, FloatArray, IntArray

InCommon = Literal["mean", "median", "mode"]


@parameterised
class Aggregate(Publishing):
    """A group publishes its mean, median or mode, or records drawn around its mean.

    Categories are published as the mode of their group, ordered ones as its median.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> MDAV(k=5, publish="median") == MDAV(k=5, publishing=Aggregate(publish="median"))
    True
    """

    name: ClassVar[str] = "aggregate"
    summary: ClassVar[str] = "a group publishes its mean, median or mode, or records drawn around its mean"

    publish: Literal["mean", "median", "mode", "perturb", "hybrid"] = parameter(
        default="mean",
        help="what a group publishes: its mean, median or mode, or records drawn around its mean, with the "
        "covariances of the file (perturb) or of the group (hybrid); categories publish their mode, ordered ones "
        "their median",
    )
    weighted: bool = parameter(default=False, help="weight the group means by the sampling weight")

    @classmethod
    def offered(cls) -> Mapping[str, type[Publishing]]:
        return publishings()

    @property
    def draws(self) -> bool:
        return self.publish in ("perturb", "hybrid")

    def check(self, label: str) -> None:
        if self.weighted and self.publish in ("median", "mode"):
            raise ParameterError(
                f"{label}: weighted = True is not allowed with {self.publish}s; only means have weights"
            )
        if self.weighted and self.draws:
            raise ParameterError(
                f"{label}: weighted = True is not allowed with drawn values: the noise keeps unweighted moments"
            )

    def check_table(self, data: Microdata, attributes: tuple[str, ...], label: str) -> None:
        super().check_table(data, attributes, label)
        self.weights(data, label)

    def weights(self, data: Microdata, label: str) -> FloatArray | None:
        """The sampling weights, where group means are weighted by them."""
        if not self.weighted:
            return None
        if data.schema.weight is None:
            raise ParameterError(f"{label}: weighted = True is not allowed; no attribute has the role weight")
        weights = data.numbers(data.schema.weight).values
        if np.isnan(weights).any() or (weights <= 0).any():
            raise DataError(f"the weight '{data.schema.weight}' must be a positive number in every record")
        return weights

    def _published(
        self, data: Microdata, partition: Partition, suppressed: Mapping[str, BoolArray], streams: Streams, label: str
    ) -> Published:
        numeric = [name for name in suppressed if data[name].kind == "numeric"]
        if not self.draws or not numeric:
            in_common: InCommon = "mean" if self.publish == "perturb" or self.publish == "hybrid" else self.publish
            return Published(aggregate_columns(data, partition, suppressed, in_common, self.weights(data, label)))
        mode: NoiseMode = "hybrid" if self.publish == "hybrid" else "centred"
        rng = streams.generator("published", *suppressed)
        drawn, notes = drawn_values(data.matrix(numeric), partition, mode, "normal", rng)
        others = {name: cells for name, cells in suppressed.items() if name not in numeric}
        columns = number_columns(data, numeric, drawn, suppressed) | aggregate_columns(data, partition, others, "mean")
        return Published({name: columns[name] for name in suppressed}, notes=notes)


def aggregate_columns(
    data: Microdata,
    partition: Partition,
    suppressed: Mapping[str, BoolArray],
    in_common: InCommon,
    weights: FloatArray | None = None,
) -> dict[str, pa.Array]:
    """The released columns of some attributes, given which of their cells may not be published.

    Numbers are published as asked for; categories always as their group's plurality, ordered ones as its median.
    """
    numeric = [name for name in suppressed if data[name].kind == "numeric"]
    columns: dict[str, pa.Array] = {}
    if numeric:
        values = aggregates(data.matrix(numeric), partition.labels, in_common, weights)
        columns = number_columns(data, numeric, values, suppressed)
    return {
        name: columns[name] if name in columns else _common_categories(data, name, partition, cells, weights)
        for name, cells in suppressed.items()
    }


def number_columns(
    data: Microdata, names: Sequence[str], values: FloatArray, suppressed: Mapping[str, BoolArray]
) -> dict[str, pa.Array]:
    """The columns of a matrix as those of numeric attributes."""
    return {
        name: data.number_column(name, column, suppressed[name]) for name, column in zip(names, values.T, strict=True)
    }


def _common_categories(
    data: Microdata, name: str, partition: Partition, suppressed: BoolArray, weights: FloatArray | None
) -> pa.Array:
    from microveil.numerics.statistics.category_coordinates import median_by_group, plurality_by_group

    column, missing = data.categories(name), data.missing_states(name) > 0
    in_common = median_by_group if data[name].kind == "ordinal" else plurality_by_group
    codes = in_common(np.where(missing, -1, column.codes), partition.labels, weights)
    released = data.category_column(Categories(name, np.where(missing, -1, codes), column.domain))
    return without_cells(released, suppressed)


def aggregates(
    values: FloatArray, labels: IntArray, in_common: InCommon, weights: FloatArray | None = None
) -> FloatArray:
    """What each record publishes, column by column; NaN where a group has no value."""
    if in_common == "mean":
        return means_by_group(values, labels, weights)
    of_group = medians_by_group if in_common == "median" else modes_by_group
    return np.column_stack([of_group(column, labels) for column in values.T])


def modes_by_group(values: FloatArray, labels: IntArray) -> FloatArray:
    """For each record the most frequent of the values its group has, of equally frequent ones the first in the file.

    Where all values of a group differ none is the most frequent, and the median speaks for it; NaN without any value.

    >>> modes_by_group(np.array([5.0, 1.0, 5.0, 2.0, 7.0]), np.array([0, 0, 0, 1, 1])).tolist()
    [5.0, 5.0, 5.0, 4.5, 4.5]
    """
    modes = medians_by_group(values, labels)
    order, _, _ = in_order_by_group(values, labels)
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (np.diff(values[order]) != 0) | (np.diff(labels[order]) != 0)
    starts = np.flatnonzero(begins)
    frequent = np.diff(starts, append=len(order)) > 1
    first, lengths = order[starts[frequent]], np.diff(starts, append=len(order))[frequent]
    ranked = first[np.lexsort((first, -lengths, labels[first]))]
    groups, best = np.unique(labels[ranked], return_index=True)
    position = np.full(int(labels.max(initial=-1)) + 1, -1, dtype=np.int64)
    position[groups] = ranked[best]
    chosen = position[labels]
    return np.where(chosen >= 0, values[chosen], modes)
