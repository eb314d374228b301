"""CREST: groups of similar records whose classes are mixed, so that a group does not give away its members' class."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked
from microveil.masking.microaggregation.base import Microaggregation, Partitioner, Records
from microveil.masking.notes import NOT_A_CLASS, NOT_ATTAINED, OF_GROUPING, ONE_CLASS, SAME_CLASS, SINGLE_CLASS, Note
from microveil.masking.preparation import Preparation
from microveil.microdata import Microdata
from microveil.microdata.schema import KINDS
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.counting.class_divergence import ClassReport

_FORMS = ("rms", "root", "square")
_ROUNDING = 1e-9


@parameterised
class Crest(Microaggregation):
    """Groups cut from a spanning tree that weighs how near records are against how well their classes are mixed.

    The tree grows by the edges with the least composite of length and class divergence (the Jensen-Shannon divergence
    of the classes around the edge from those of the file). Then edges are cut, the one first that costs least mix of
    classes for its length, as long as both parts keep k records. Groups can be larger than 2k-1: where small branches
    meet in one record, none can be cut off. The classes themselves are released as they are.

    Categorical keys take part with the numeric ones: two nominal categories are at distance 0 or 1, ordered ones as far
    apart as their positions, all numbers by the range of their attribute. A group publishes the most frequent category
    or, of ordered ones, the median.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of(
    ...     {"age": [20, 21, 22, 60, 61, 62], "ill": ["yes", "no", "no", "yes", "no", "no"]}, keys=["age"],
    ...     confidential=["ill"],
    ... )
    >>> Crest(k=3).mask(people).frame["age"].to_pylist()
    [21.0, 21.0, 21.0, 61.0, 61.0, 61.0]
    """

    name: ClassVar[str] = "crest"
    summary: ClassVar[str] = "groups of similar records that differ in their confidential class publish their mean"
    source: ClassVar[str] = "Li and Sarkar (2013), section 4, Fig. 4"
    kinds: ClassVar[tuple[str, ...]] = KINDS

    preparation: Preparation = parameter(
        default=Preparation(scale="minmax"), help="what happens before records are grouped"
    )
    neighbours: int | None = parameter(
        default=None,
        help="number of records around an edge whose classes are compared with those of the file; unset: k",
        ge=2,
        le=MOST_RECORDS,
    )
    alpha: float = parameter(
        default=0.5,
        help="weight of the distance relative to the divergence of classes; 1 gives the Euclidean minimum spanning "
        "tree",
        ge=0,
        le=1,
    )
    growth: Literal["dynamic", "frozen"] = parameter(
        default="dynamic",
        help="class divergence of an edge: computed on the tree as it is now (dynamic), or as it was when the inner "
        "end of the edge was added (frozen)",
    )
    cut: Literal["ratio", "longest"] = parameter(
        default="ratio",
        help="edge that is cut first: the one with the least increase of class divergence for its length (ratio), or "
        "the longest",
    )
    t: float | None = parameter(
        default=None, help="cut only where both parts have class shares within t of the file's", ge=0, le=1
    )
    closeness: Literal["emd", "jsd"] = parameter(
        default="emd",
        help="distance that t limits: the earth mover's distance with equal distances between classes, or the "
        "Jensen-Shannon divergence",
    )
    mixed: bool = parameter(default=False, help="cut only where both parts have more than one class")
    fewest: int = parameter(
        default=1,
        help="cut only where each class of a part has at least this number of records in it",
        ge=1,
        le=MOST_RECORDS,
    )
    regrow: bool = parameter(default=False, help="divide groups of 2k or more records again, by a tree of their own")
    length: Literal["rms", "root", "square"] = parameter(
        default="rms", help="how a distance over d attributes is normalised: sqrt(sum/d), sqrt(sum)/d, or sum/d"
    )
    classes: tuple[str, ...] | None = parameter(
        default=None,
        help="class attributes, whose combinations are the classes; unset: the categorical confidential attributes",
    )
    min_share: float = parameter(
        default=0.0, help="treat classes with a smaller share of the records as one class", ge=0, lt=1
    )

    def __post_init__(self) -> None:
        if self.polish != 0 and (self.t is not None or self.mixed or self.fewest > 1):
            asked = "t" if self.t is not None else "mixed" if self.mixed else "fewest"
            raise ParameterError(
                f"{self.name}: polish = {self.polish} is not allowed with {asked}; exchanges do not look at classes"
            )

    def _partitioner(self, data: Microdata) -> Partitioner:
        return partial(self._class_groups, self._class_codes(data, ()))

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        return self._partitioner(records.data)(columns, records, rng, progress)

    def _class_groups(
        self,
        of_file: IntArray,
        columns: FloatArray,
        records: Records,
        rng: np.random.Generator,
        progress: Progress,
    ) -> IntArray:
        from microveil.numerics.counting.class_divergence import shares_of
        from microveil.numerics.grouping.class_cuts import Removable, cut_removable_edges, regrow
        from microveil.numerics.grouping.class_tree import grow_tree

        shares = shares_of(np.bincount(of_file))
        classes = of_file[records.rows]
        removable = Removable(
            self.k, np.inf if self.t is None else self.t, self.closeness == "jsd", self.mixed, self.fewest
        )
        tree = grow_tree(
            columns,
            classes,
            shares,
            self.neighbours or self.k,
            self._alpha,
            attributes=len(records.attributes),
            form=_FORMS.index(self.length),
            frozen=self.growth == "frozen",
            progress=Part(progress, 0.0, 0.8),
            label=f"{self.name}: growing the tree",
        )
        labels = cut_removable_edges(
            tree,
            classes,
            shares,
            removable,
            longest=self.cut == "longest",
            progress=Part(progress, 0.8, 1.0),
            label=f"{self.name}: cutting the tree",
        ).labels
        return regrow(columns, labels, classes, shares, removable) if self.regrow else labels

    @property
    def _alpha(self) -> float:
        return self.alpha

    @property
    def reads_confidential(self) -> bool:
        return True  # groups are to differ in it

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        # settled here: a block, or the attributes distances are taken on, are not all that is masked
        settled = dataclasses.replace(self, classes=self._class_attributes(data, attributes))
        masked = Microaggregation._mask(settled, data, attributes, streams, progress)
        return dataclasses.replace(masked, notes=(*masked.notes, *self._class_notes(data, attributes, masked)))

    def _class_attributes(self, data: Microdata, attributes: tuple[str, ...]) -> tuple[str, ...]:
        """Which attributes are the class: those named, else the categorical confidential ones."""
        if self.classes is not None:
            for name in self.classes:
                if "identifier" in data[name].roles:
                    raise ParameterError(f"{self.name}: classes names '{name}', which is an identifier")
                if name in attributes:
                    raise ParameterError(f"{self.name}: classes names '{name}', which is masked itself")
            return self.classes
        confidential = [name for name in data.schema.confidential if name not in attributes]
        categorical = tuple(name for name in confidential if data[name].is_categorical)
        if confidential and not categorical:
            raise DataError(
                f"the confidential attribute '{confidential[0]}' is numeric, so it has no classes to mix; group its "
                f"values first, or name it in the parameter classes to take every value as a class"
            )
        return categorical

    def _class_codes(self, data: Microdata, attributes: tuple[str, ...]) -> IntArray:
        """The class of every record of the file, 0, 1, ...; a missing class is a class of its own."""
        names = self._class_attributes(data, attributes)
        if not names:
            return np.zeros(len(data), dtype=np.int64)
        codes = np.column_stack([_codes(data, name) for name in names])
        _, compound = np.unique(codes, axis=0, return_inverse=True)
        compound = compound.reshape(-1)
        rare = np.bincount(compound) < self.min_share * len(compound)
        _, merged = np.unique(np.where(rare[compound], len(rare), compound), return_inverse=True)
        return np.asarray(merged.reshape(-1), dtype=np.int64)

    def _class_notes(self, data: Microdata, attributes: tuple[str, ...], masked: Masked) -> tuple[Note, ...]:
        """Counts of what the groups give away about the class; no values."""
        from microveil.numerics.counting.class_divergence import ClassReport

        if not self._class_attributes(data, attributes):
            return (ONE_CLASS(),)
        classes = self._class_codes(data, attributes)
        notes: list[Note] = []
        for block, partition in masked.partitions.items():
            report = ClassReport.of(partition.labels, classes)
            found = [*class_notes(report), *self._not_attained(report)]
            several = len(masked.partitions) > 1
            notes += [OF_GROUPING(attributes=block, note=note) for note in found] if several else found
        unused = sum(not data[n].is_categorical and n not in attributes for n in data.schema.confidential)
        if self.classes is None and unused:
            notes.append(NOT_A_CLASS(attributes=unused))
        return tuple(notes)

    def _not_attained(self, report: ClassReport) -> list[Note]:
        """In how many groups what was asked of the classes does not hold: they could not be cut off better."""
        notes = []
        distances = report.divergence if self.closeness == "jsd" else report.attained
        asked = {
            f"t = {self.t}": self.t is not None and distances > self.t + _ROUNDING,
            "mixed": self.mixed and report.homogeneous,
            f"fewest = {self.fewest}": ((report.counts > 0) & (report.counts < self.fewest)).any(axis=1),
        }
        for what, failing in asked.items():
            if np.any(failing):
                notes.append(NOT_ATTAINED(asked=what, groups=int(np.sum(failing))))
        return notes


def class_notes(report: ClassReport) -> list[Note]:
    """How many records share one class with their whole group, and how many groups have a class of one record."""
    notes = []
    if report.homogeneous_records:
        notes.append(SAME_CLASS(records=report.homogeneous_records, groups=int(report.homogeneous.sum())))
    if report.single.any():
        notes.append(SINGLE_CLASS(groups=int(report.single.sum())))
    return notes


def _codes(data: Microdata, name: str) -> IntArray:
    if data[name].is_categorical:
        return data.categories(name).codes
    _, codes = np.unique(data.numbers(name).values, return_inverse=True)
    return np.asarray(codes.reshape(-1), dtype=np.int64)
