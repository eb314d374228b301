"""The contract of a method: parameters in, `mask(data, seed=...)`, a release out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, cast

import numpy as np
import pyarrow as pa

from microveil.errors import DataError, ParameterError, SchemaError
from microveil.masking.household_attributes import masked_by_level
from microveil.masking.households import agreement, household_of, renumbered, shared_attributes
from microveil.masking.likelihood import Statement
from microveil.masking.notes import Note
from microveil.masking.partition import Partition
from microveil.masking.plan import Step
from microveil.masking.ranges import Ranges, ranges
from microveil.masking.release import Provenance, Release, versions
from microveil.microdata import Attribute, Microdata
from microveil.microdata.edges import Edges
from microveil.microdata.facts import OverRecords as OverRecords
from microveil.microdata.microdata import as_microdata, resolve_attributes
from microveil.parameters import Parameterised
from microveil.plugins import plugins_used
from microveil.progress import Progress, Rising, silent
from microveil.randomness import Streams, check_seed, draw_seed
from microveil.typing import BoolArray, FloatArray, IntArray

OfHouseholds = Literal["table", "members", "itself"]


@dataclass(frozen=True)
class Tables:
    """What is masked, and the original of the same records beside it, if that is known."""

    data: Microdata
    original: Microdata | None

    def take(self, rows: IntArray) -> Tables:
        """Some of the records of both."""
        return Tables(self.data.take(rows), None if self.original is None else self.original.take(rows))


@dataclass(frozen=True)
class Masked:
    """What a method's own work gives: the new columns, and what it used to make them.

    `attributes` are descriptions that change with the columns, such as a domain of merged categories. Where only some
    records are released, `rows` are their numbers, ascending; the columns are still those of all records. `edges` are
    the new links between all records, where the method changes them.
    """

    columns: Mapping[str, pa.Array]
    partitions: Mapping[tuple[str, ...], Partition] = field(default_factory=dict)
    matrices: Mapping[tuple[str, ...], FloatArray] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    rows: IntArray | None = None
    edges: Edges | None = None

    def __post_init__(self) -> None:
        if not all(isinstance(note, Note) for note in self.notes):
            raise TypeError(
                "a note is made by its kind, such as Kind('cells-emptied', '{cells:cell} emptied')(cells=3)"
            )


def _dialect(table: Microdata) -> dict[str, str]:
    """How the text file was read, so that it is read alike when the release is made again."""
    origin = table.origin
    if origin is None or origin.format not in ("csv", "tsv"):
        return {}
    return {"delimiter": origin.delimiter, "encoding": origin.encoding, "decimal": origin.decimal}


def _beside(data: Any, original: Any) -> Microdata | None:
    """The original records of what is masked: the table itself unless that is a release already."""
    if not isinstance(data, Release):
        return as_microdata(data)
    if original is None:
        return None
    table = as_microdata(original)
    return table if data.rows is None else table.take(data.rows)


def _refuse_numbers_of_units(table: Microdata, attributes: Sequence[str]) -> None:
    for role, words in (
        ("household", "the household number"),
        ("series", "the number of the series"),
        ("node", "the number of the node"),
    ):
        for name in table.schema.having(role):
            if name in attributes:
                raise SchemaError(f"attribute '{name}' is {words}: a release has new ones, so it is not masked")


def _agreed(table: Microdata, attributes: Sequence[str], kept: Release | None) -> dict[str, BoolArray]:
    """For attributes that belong to households, in which records all members agreed before the first step masked them.

    Of an earlier release that was read from a file this is not known; then all count as having agreed.
    """
    earlier = kept.provenance.members_differ if kept else {}
    everyone = np.ones(len(table), dtype=np.bool_)
    before = {name: kept.agreed.get(name, everyone) for name in earlier} if kept else {}
    shared = shared_attributes(table, [name for name in attributes if name not in earlier])
    return {**before, **{name: agreement(table, name) for name in shared}}


def _members_differ(
    after: Microdata,
    attributes: Sequence[str],
    agreed: Mapping[str, BoolArray],
    earlier: Mapping[str, int],
) -> dict[str, int]:
    """For attributes that belong to households, in how many of those that agreed members no longer do."""
    household = household_of(after)
    if household is None:
        return {}
    return {
        name: len(np.unique(household[records & ~agreement(after, name)])) if name in attributes else earlier[name]
        for name, records in agreed.items()
    }


def _refuse_emptied_series(before: Microdata, after: Microdata, method: str) -> None:
    """Refuse a release in which a variable of a table of series has no value any more."""
    panel = before.schema.panel
    for variable, columns in ({} if panel is None else panel.columns).items():
        had, has = (
            any(not np.isnan(table.numbers(name).values).all() for name in columns if table[name].kind == "numeric")
            for table in (before, after)
        )
        if had and not has:
            raise DataError(
                f"{method} would suppress every value of the series '{variable}', for too few of them have values at "
                "the same times; put them on a common grid (length=N) or fill their gaps (fill=linear)"
            )


def _with_new_household_ids(released: Microdata, provenance: Provenance) -> Microdata:
    """With other numbers after every step, so that releases whose plans differ only later have other numbers too."""
    names, streams = provenance.renumbered, provenance.streams_of_release(released)
    new = {name: renumbered(released, name, streams.generator("household numbers", name)) for name in names}
    return released.with_columns({n: column for n, (column, _) in new.items()}, [a for _, a in new.values()])


class Method(Parameterised, ABC):
    """A way of masking. A subclass is a frozen dataclass of its parameters and implements `_mask`."""

    # what a class declares of all its methods; `draws`, `takes` and `is_joint` say it of one with its parameters
    random: ClassVar[bool] = True
    # what an attribute becomes depends on the others masked with it, and so do its random numbers
    joint: ClassVar[bool] = False
    # takes a record for a series: what a cell becomes depends on the cells of the record before and after it
    over_time: ClassVar[bool] = False
    # changes the links between the records, and no attribute
    structural: ClassVar[bool] = False
    # goes by the order of values, so that categories without a declared order cannot be masked
    needs_order: ClassVar[bool] = False
    # released records may hold other values than they had; not so where some records are only left out
    changes_values: ClassVar[bool] = True
    # parameters that decide what is told of a release, and nothing of what is in it, with the values that tell nothing
    told: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    # where it masks all attributes, released records belong to no single one of the original, though the values do
    detaches_values: ClassVar[bool] = False
    # may set single cells to missing, such as a missing code that no other record of a group has
    suppresses: ClassVar[bool] = False
    # what the masked cells of a record depend on, so that a table longer than memory can be masked in parts: on the
    # record and facts of the table; on how many records have which combination of values; on the order of an attribute;
    # on the records nearest to it; or on all of them
    over_records: ClassVar[OverRecords] = "whole table"
    # where it masks attributes that the schema declares as ones of the household: on the table of households, on that
    # of all members apart from the other attributes, or itself, with a look at the declared level
    of_households: ClassVar[OfHouseholds] = "table"
    # parameters with which the method only shows that it works; trials on small tables use them
    quick: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    # the parameters that a search varies, and between which values; a search passes over a method without any
    searched: ClassVar[Ranges] = ranges()
    weights: ClassVar[str] = "sampling weights are not used and are released as they are"

    @property
    def draws(self) -> bool:
        """Whether another seed can make another release, with the parameters as they are."""
        return self.random

    @property
    def works_over(self) -> OverRecords:
        """What the masked cells of a record depend on, with the parameters as they are."""
        return self.over_records

    @property
    def reads_confidential(self) -> bool:
        """Whether what is released of the masked attributes depends on the confidential values, with the parameters as
        they are."""
        return False

    @property
    def takes(self) -> tuple[str, ...]:
        """The kinds of attributes that it masks, with the parameters as they are."""
        return self.kinds

    @property
    def is_joint(self) -> bool:
        """Whether what an attribute becomes depends on the others masked with it, with the parameters as they are."""
        return self.joint

    @property
    def telling_nothing(self) -> Method:
        """The same method without what it only tells of its releases, for where nobody reads it."""
        return replace(cast(Any, self), **self.told) if self.told else self

    @classmethod
    def suits(cls, data: Microdata, name: str) -> bool:
        """Whether it can mask an attribute of a table, with its usual parameters."""
        return data[name].kind in cls.kinds and (data[name].has_order or not cls.needs_order)

    def mask(
        self,
        data: Any,
        attributes: Sequence[str] | None = None,
        *,
        seed: int | None = None,
        original: Any = None,
        keep_household_ids: bool = False,
        progress: Progress = silent,
    ) -> Release:
        """Mask some attributes of a table (or of an earlier release, which adds a step to it).

        `attributes` are the keys unless given; without any roles, all attributes of a kind the method is made for.
        Identifiers are left out of the release, and every step gives households new numbers, unless told to
        `keep_household_ids`. Attributes that the schema declares as ones of the household are masked once for each
        household, and its members get the same values. Without a seed a secret one is drawn and kept in the
        provenance; whoever knows or guesses the seed can undo much of the masking. A method that corrects a release
        needs the `original` table beside it.
        """
        earlier = data.provenance if isinstance(data, Release) else None
        if earlier is not None and earlier.shuffled:
            raise ParameterError(
                "the records of this release are in random order already, which is the last thing to do"
            )
        if earlier is not None and earlier.new_ids:
            raise ParameterError("this release has new identifiers already, which are given after the last step")
        table = as_microdata(data)
        if earlier is not None and earlier.content_digest and isinstance(table.places, range):
            raise ParameterError(
                "a release that was read from a file does not have the ids of its records, by which random numbers are "
                "drawn, so no step can be added to it; carry out all steps on the original"
            )
        chosen = self._chosen(table, attributes)
        _refuse_numbers_of_units(table, chosen)
        if len(table) == 0:
            raise DataError(f"the table has no records, so {self.name} has nothing to mask")
        seed = self._seed(seed, earlier)
        progress = Rising(progress)
        progress(0.0, self.name)
        identifiers = table.schema.identifiers
        before = earlier or Provenance(
            (), seed, table.digest(), len(table), table.schema, dialect=_dialect(table),
            versions={}, keep_household_ids=keep_household_ids, content_digest=table.content_digest(),
        )  # fmt: skip
        provenance = self.next_step(before, table.schema.collapsed(chosen), identifiers)
        streams = provenance.streams_of_step(table, joint=self.is_joint)
        masked = masked_by_level(self, Tables(table, _beside(data, original)), chosen, streams, progress)
        progress(1.0, self.name)
        released = table.with_columns(masked.columns, masked.attributes).without(identifiers)
        if masked.edges is not None:
            released = replace(released, edges=masked.edges)
        _refuse_emptied_series(table, released, self.name)
        kept = data if isinstance(data, Release) else None
        partitions = {b: p for b, p in (kept.partitions if kept else {}).items() if not set(b) & set(chosen)}
        matrices = {b: m for b, m in (kept.matrices if kept else {}).items() if not set(b) & set(chosen)}
        rows = kept.rows if kept else None
        agreed = _agreed(table, chosen, kept)
        if masked.rows is not None:
            released = released.take(masked.rows)
            rows = masked.rows if rows is None else rows[masked.rows]
            partitions = {}  # they were about all records
            agreed = {name: records[masked.rows] for name, records in agreed.items()}
        differing = _members_differ(released, chosen, agreed, earlier.members_differ if earlier else {})
        notes = (*provenance.step_notes, *masked.notes)
        provenance = replace(provenance, members_differ=differing, step_notes=notes)
        released = _with_new_household_ids(released, provenance)
        return Release(
            released, provenance, {**partitions, **masked.partitions}, {**matrices, **masked.matrices}, rows, agreed,
            kept.missing_file if kept else "",
        )  # fmt: skip

    def next_step(
        self, before: Provenance, attributes: tuple[str, ...] | None, identifiers: Sequence[str] = ()
    ) -> Provenance:
        """The provenance of what it makes, without its notes, given that of what it masks."""
        used = {plugin.package: plugin.version for plugin in plugins_used(self)}
        return replace(
            before,
            steps=(*before.steps, Step(self.name, self.parameters(), attributes)),
            left_out=(*before.left_out, *identifiers),
            versions={**before.versions, **versions(), **used},
        )

    def likelihood(
        self, data: Microdata, attributes: tuple[str, ...], streams: Streams
    ) -> Mapping[tuple[str, ...], Statement]:
        """How probable released values are given the original ones, by the attributes that each statement is about.

        It is said to an intruder who knows the method and this table, but not the seed. What is not in it can only be
        found out by masking the table again, with other seeds.
        """
        return {}

    def _chosen(self, table: Microdata, attributes: Sequence[str] | None) -> tuple[str, ...]:
        """The attributes to mask; a method that changes links takes none."""
        if not self.structural:
            return resolve_attributes(table, attributes, self.takes, self.name)
        if table.edges is None:
            raise DataError(
                f"{self.name} changes the links of a graph, and the table has none; give its edges with --graph or "
                "graph="
            )
        if attributes:
            raise ParameterError(f"{self.name} changes the links of a graph and no attribute, so none can be named")
        return ()

    def _seed(self, seed: int | None, earlier: Provenance | None) -> int:
        if earlier is not None:
            if earlier.seed is None:
                raise ParameterError("the seed of this release is not known, so no step can be added to it")
            if seed is not None and check_seed(seed) != earlier.seed:
                raise ParameterError("a release has one seed for all its steps, and this one has another")
            return earlier.seed
        return draw_seed() if seed is None else check_seed(seed)

    def _mask_beside(self, tables: Tables, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        """What a method that looks at the original too replaces."""
        return self._mask(tables.data, attributes, streams, progress)

    @abstractmethod
    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        """The method's own work: the masked columns of these attributes."""


class MethodBesideOriginal(Method):
    """A method that looks at the original table beside what it masks, or hands it on to a method inside it."""

    @abstractmethod
    def _mask_beside(self, tables: Tables, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        """The masked columns, made with a look at the original."""

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        return self._mask_beside(Tables(data, data), attributes, streams, progress)
