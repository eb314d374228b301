"""What every way of publishing shares: a group of records in, columns out; they go with any grouping."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import ParameterError
from microveil.masking.notes import Note
from microveil.masking.partition import Partition
from microveil.masking.publishing.missing_cells import Emptied, cells_to_empty
from microveil.microdata import Attribute, Microdata
from microveil.microdata.schema import KINDS
from microveil.numerics.grouping.sums_of_squares import squares_lost
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import Settings
from microveil.randomness import Streams
from microveil.typing import BoolArray

_ALL = (
    "aggregate:Aggregate",
    "span:Span",
    "micro_perturbation:MicroPerturbation",
    "secure_mean:SecureMean",
    "barycentre:Barycentre",
)


@dataclass(frozen=True)
class Published:
    """What the groups publish of some attributes: columns, attributes that are described anew, and what is to be said.

    `emptied` are the cells that could not be published because of missing values.
    """

    columns: dict[str, pa.Array]
    attributes: tuple[Attribute, ...] = ()
    notes: tuple[Note, ...] = ()
    emptied: Emptied = field(default_factory=Emptied)

    def lost(self, data: Microdata) -> float:
        """The squared changes of the numbers in units of their standard deviations."""
        released = data.with_columns(self.columns)
        numeric = [name for name in self.columns if data[name].kind == "numeric"]
        before, after = (table.matrix(numeric) if numeric else np.empty((len(data), 0)) for table in (data, released))
        scaling = Scaling.of(before)
        return squares_lost(scaling.apply(before), scaling.apply(after))


class Publishing(Settings):
    """What a group publishes for its members. A subclass implements `_published`."""

    kinds: ClassVar[tuple[str, ...]] = KINDS

    @property
    def draws(self) -> bool:
        """Whether another seed publishes something else."""
        return False

    @property
    def judged_by(self) -> Publishing:
        """The way of publishing by which partitions are compared, so that the one that loses least is published."""
        return self

    def check_table(self, data: Microdata, attributes: tuple[str, ...], label: str) -> None:
        """Refuse a table that it cannot publish, before the records are grouped."""
        other = next((name for name in attributes if data[name].kind not in self.kinds), None)
        if other is not None:
            raise ParameterError(
                f"{label}: publishing = '{self.name}' is not allowed with attribute '{other}', which is "
                f"{data[other].kind}; it works on {' and '.join(self.kinds)} attributes only"
            )

    def of_groups(
        self,
        data: Microdata,
        attributes: tuple[str, ...],
        partition: Partition,
        fewest: int,
        streams: Streams,
        label: str,
    ) -> Published:
        """What the groups publish of some attributes; `fewest` members must have a value for it to be published."""
        suppressed, emptied = cells_not_published(data, attributes, partition, fewest)
        return replace(self._published(data, partition, suppressed, streams, label), emptied=emptied)

    @abstractmethod
    def _published(
        self, data: Microdata, partition: Partition, suppressed: Mapping[str, BoolArray], streams: Streams, label: str
    ) -> Published:
        """The columns of some attributes, given which of their cells may not be published."""


def cells_not_published(
    data: Microdata, attributes: Iterable[str], partition: Partition, fewest: int
) -> tuple[dict[str, BoolArray], Emptied]:
    """The cells of some attributes that groups may not publish, as fewer than so many members have a value."""
    suppressed, emptied = {}, Emptied()
    for name in attributes:
        states = data.missing_states(name)
        matches = data[name].missing == "wildcard"
        suppressed[name] = cells_to_empty(states, partition, fewest, missing_matches=matches)
        emptied += Emptied.of(suppressed[name], states)
    return suppressed, emptied


def publishings() -> Mapping[str, type[Publishing]]:
    """Every way of publishing, by name."""
    found = [entry.split(":") for entry in _ALL]
    classes = [getattr(import_module(f"microveil.masking.publishing.{module}"), cls) for module, cls in found]
    return {cls.name: cls for cls in classes}


def without_cells(column: pa.Array, suppressed: BoolArray) -> pa.Array:
    """A column with some of its cells empty."""
    return pc.if_else(pa.array(suppressed), pa.scalar(None, column.type), column) if suppressed.any() else column
