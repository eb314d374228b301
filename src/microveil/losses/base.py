"""The contract of a loss: `measure(original, release)` gives a loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, ClassVar, Literal

from microveil.comparison.pairs import Pair, fitting
from microveil.microdata.facts import OverRecords
from microveil.parameters import Parameterised
from microveil.progress import Progress, silent

Route = Literal["data", "statistic", "mechanism"]
Scope = Literal["general", "specific"]


@dataclass(frozen=True)
class Loss:
    """How much was lost: `value` is a percentage in [0, 100]; `raw` is the same without the upper bound.

    `details` are further forms of the measure, named as in the literature.
    """

    name: str
    value: float
    raw: float
    attributes: tuple[str, ...]
    per_attribute: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, fraction: float, attributes: tuple[str, ...], **more: Any) -> Loss:
        """From a fraction of 1, which may go beyond it."""
        raw = 100.0 * float(fraction)
        return cls(name, min(100.0, raw), raw, attributes, **more)

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it: what has no finite value is None."""
        return {
            "value": self.value,
            "raw": _finite(self.raw),
            "attributes": list(self.attributes),
            "per_attribute": {name: _finite(value) for name, value in self.per_attribute.items()},
            "details": {name: _finite(value) for name, value in self.details.items()},
        }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


class LossMeasure(Parameterised, ABC):
    """A way of measuring loss. A subclass is a frozen dataclass of its parameters and implements `_measure`."""

    meaning: ClassVar[str]
    # what is compared: the cells themselves, statistics of the two tables, or how the masking works
    route: ClassVar[Route] = "statistic"
    # a measure for a broad range of uses, or for one kind of analysis
    scope: ClassVar[Scope] = "general"
    # measured in every assessment that it suits; others only when asked for by name
    usual: ClassVar[bool] = False
    # may be told, in wide classes, to all who get the table. Not so by default, nor by what a class inherits: what
    # masking does to variances, covariances and quantiles is a known function of its strength, whatever the data, and
    # so such losses would tell the strength
    public: ClassVar[bool] = False
    # a model is learnt, and tried on records that are drawn by what they hold: tiny changes of values move it a little
    learns: ClassVar[bool] = False
    # whether it is about whole series, and not about attributes
    of_series: ClassVar[bool] = False
    # whether it needs the links between the records, so that it is measured on graphs only
    of_graph: ClassVar[bool] = False
    # whether it can tell what intervals, sets and other labels stand for
    reads_labels: ClassVar[bool] = False
    # how it works over records: what is no "whole table" asks its pair for nothing but sums over all records, so that
    # tables longer than memory are measured part by part
    over_records: ClassVar[OverRecords] = "whole table"

    @property
    def works_over(self) -> OverRecords:
        """The same with the parameters as they are."""
        return self.over_records

    def adds_up(self, pair: Pair) -> bool:
        """Whether it can be found of these tables part by part."""
        return self.works_over != "whole table"

    @classmethod
    def suited(cls, pair: Pair) -> bool:
        """Whether there is something to measure."""
        if cls.of_graph and not pair.is_graph:
            return False
        return not cls.kinds or bool(pair.of_kinds(cls.kinds))

    @classmethod
    def facing(cls, pair: Pair) -> Pair:
        """The same tables on the attributes that this loss is about, unless somebody asks for it by name: dozens of
        times of one series are for losses of series, and all other attributes are for the others."""
        inside = pair.in_series
        return pair.about(tuple(name for name in pair.attributes if (name in inside) == cls.of_series))

    def measure(
        self, original: Any, release: Any, attributes: Sequence[str] | None = None, *, progress: Progress = silent
    ) -> Loss:
        """The loss over these attributes; by default those a release masked, else the keys and whatever else was
        changed, or without keys all numeric ones."""
        pair = Pair.of(original, release, attributes)
        return self.measure_pair(pair, explicit=attributes is not None, progress=progress)

    def measure_pair(self, pair: Pair, *, explicit: bool = False, progress: Progress = silent) -> Loss:
        """The same on tables that are paired up already; without `explicit`, attributes of other kinds are left out."""
        pair = pair.reading_labels() if self.reads_labels else pair
        attributes = fitting(pair, self, explicit=explicit)
        progress(0.0, self.name)
        loss = self._measure(pair, attributes, progress)
        progress(1.0, self.name)
        return loss

    @abstractmethod
    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        """The measure itself over these attributes."""
