"""The ways in which methods work over records, each done once for all methods: here record by record and combination
by combination; what goes by the order of values and what goes by neighbours have modules of their own.

What is done to a part is the method's own work, the same that it does to a table in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.engines.base import Engine
from microveil.engines.stored import StoredTable, file_of, row_numbers, write_part
from microveil.engines.stored_facts import StoredFacts, refuse_what_differs_by_part
from microveil.errors import DataError, ParameterError
from microveil.masking import Method
from microveil.masking.base import Masked
from microveil.masking.coarsening.suppress import Suppress
from microveil.masking.notes import Note, added_up
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.equivalence_classes import EquivalenceClasses, key_codes
from microveil.microdata.facts import Counted, Part
from microveil.microdata.frames import open_frame
from microveil.numerics.counting.exact_local_suppression import UndividedRecordsError
from microveil.numerics.counting.nested_local_suppression import highest_level
from microveil.progress import Progress, silent
from microveil.randomness import Streams
from microveil.typing import BoolArray, IntArray


@dataclass(frozen=True)
class Job:
    """A step of a plan on a stored table: who masks which attributes of what, and where the new columns go."""

    method: Method
    attributes: tuple[str, ...]
    table: StoredTable
    schema: Schema
    streams: Streams
    engine: Engine
    folder: Path
    progress: Progress

    @property
    def columns(self) -> tuple[str, ...]:
        """What the method may look at: the attributes, the weight and the strata."""
        weight = () if self.schema.weight is None else (self.schema.weight,)
        return tuple(dict.fromkeys((*self.attributes, *weight, *self.schema.having("stratum"))))


class Done(NamedTuple):
    """The table after a step, the descriptions of attributes that changed, and what the method has to say."""

    table: StoredTable
    attributes: tuple[Attribute, ...]
    notes: tuple[Note, ...]


_WAYS = ("per record", "per combination", "ordered", "neighbours")


class _OfPart(NamedTuple):
    """What became of a part: the types of its new columns, and how many of its records are released."""

    types: Mapping[str, pa.DataType]
    attributes: tuple[Attribute, ...]
    notes: tuple[Note, ...]
    released: int


def check_way(method: Method) -> None:
    """Refuse a method for which there is no way: one that has to see all records at once."""
    if method.works_over not in _WAYS:
        raise ParameterError(
            f"{method.name} with these parameters has to see all records at once, so it cannot mask a table "
            "longer than memory; protect it without an engine, or use a method that masks record by record"
        )
    if method.works_over == "per combination":
        _as_suppress(method)


def carried_out(job: Job) -> Done:
    """Mask a stored table by a method for which there is a way."""
    from microveil.engines.in_blocks import in_blocks  # which need what is here
    from microveil.engines.in_order import in_order

    ways: dict[str, Callable[[Job], Done]] = {
        "per record": per_record,
        "per combination": per_combination,
        "ordered": in_order,
        "neighbours": in_blocks,
    }
    refuse_what_differs_by_part(job.table, job.schema, job.columns)
    job.folder.mkdir()
    return ways[job.method.works_over](job)


def per_record(job: Job) -> Done:
    """Every part by itself, with what is known of the whole table."""
    table, columns, folder, method, streams = job.table, job.columns, job.folder, job.method, job.streams
    schema, attributes = job.schema.select(columns), job.attributes
    facts = StoredFacts(table, job.schema, job.engine)
    method._mask(table.part(0, schema, facts), attributes, streams, silent)  # asks for all facts that are needed
    known, names = facts.known, table.names

    def of_part(number: int) -> _OfPart:
        part = table.part(number, schema, known)
        masked = method._mask(part, attributes, streams, silent)
        made = dict(masked.columns)
        if masked.rows is not None:
            rest = table.read(number, names)
            every = pa.table({name: made.get(name, rest[name]) for name in names}).take(pa.array(masked.rows))
            made = {name: every[name] for name in names}
        write_part(folder, number, pa.table(made))
        released = len(part) if masked.rows is None else len(masked.rows)
        return _OfPart({n: c.type for n, c in made.items()}, masked.attributes, masked.notes, released)

    done = job.engine.map(of_part, len(table.pieces), job.progress, method.name)
    types = common_types([part.types for part in done])
    changed = _described([part.attributes for part in done])
    notes = added_up([part.notes for part in done])
    if sum(part.released for part in done) == len(table):
        return Done(table.with_newer(folder, types), tuple(changed.values()), notes)
    left = [file_of(folder, number) for number, part in enumerate(done) if part.released]
    sample = replace(StoredTable.of_files(left), types=types, record_id=table.record_id)
    return Done(sample, tuple(changed.values()), notes)


def _described(of_parts: Sequence[Sequence[Attribute]]) -> dict[str, Attribute]:
    """The attributes as all parts describe them: missing codes that only some parts have are codes everywhere."""
    found: dict[str, Attribute] = {}
    for attribute in (one for attributes in of_parts for one in attributes):
        before = found.get(attribute.name, attribute)
        codes = tuple(dict.fromkeys((*before.missing_codes, *attribute.missing_codes)))
        found[attribute.name] = attribute.changed(missing_codes=codes)
    return found


def write_in_parts(folder: Path, table: StoredTable, columns: Mapping[str, pa.Array]) -> None:
    """Write whole columns as newer ones of all parts."""
    for part in range(len(table.pieces)):
        places = table.places(part)
        cells = {name: column.slice(places.start, len(places)) for name, column in columns.items()}
        write_part(folder, part, pa.table(cells))


_MOST_LISTED = 20_000_000  # records of frequent combinations that are looked at one by one, in search of some to change


@dataclass(frozen=True)
class _Listed:
    """Records that are looked at one by one: their places, their combinations, and how many of each one are wanted."""

    places: IntArray
    numbers: IntArray
    wanted: IntArray

    def __add__(self, later: _Listed) -> _Listed:
        places = np.concatenate([self.places, later.places])
        return _Listed(places, np.concatenate([self.numbers, later.numbers]), self.wanted).first()

    def first(self) -> _Listed:
        """Of each combination the first, as many as are wanted."""
        order = np.argsort(self.numbers, kind="stable")
        numbers = self.numbers[order]
        rank = np.arange(len(order)) - np.searchsorted(numbers, numbers)
        kept = np.sort(order[rank < self.wanted[numbers]])
        return _Listed(self.places[kept], self.numbers[kept], self.wanted)


def per_combination(job: Job) -> Done:
    """The records of rare combinations one by one, and those of each frequent one as a single record that counts for
    all of them; what the method does to the latter would be done to all, and is refused where it is anything.

    Where an empty cell is a category, rare records become equal to the first ones of frequent combinations. Some of
    these are therefore looked at one by one as well, and more where they were too few.
    """
    table, method, attributes = job.table, _as_suppress(job.method), job.attributes
    facts = StoredFacts(table, job.schema, job.engine)
    counted = facts.counted(attributes)
    combinations = _Combinations.of(method, counted, attributes)
    spare, changed = combinations.enough if combinations.own else 0, None
    while changed is None:
        wanted = combinations.wanted(spare)
        if spare and wanted[~combinations.is_rare].sum() > _MOST_LISTED:
            raise DataError(
                f"{method.name} would empty cells of many records of frequent combinations, too; recode the keys "
                "first, use suppressed=wildcard, or protect the table without an engine"
            )
        listed = _listed(job, combinations.table, wanted)
        changed = _changed(job, facts, combinations, listed)
        spare *= 4
    masked, columns, places, folder = *changed, listed.places, job.folder
    types = {name: column.type for name, column in columns.items()}

    def put(number: int) -> None:
        within = table.places(number)
        first, last = np.searchsorted(places, [within.start, within.stop])
        at = pa.array(places[first:last] - within.start)
        cells = table.read(number, attributes)
        made = {n: replaced_cells(cells[n].cast(types[n], safe=False), at, columns[n][first:last]) for n in attributes}
        write_part(folder, number, pa.table(made))

    job.engine.map(put, len(table.pieces), job.progress, method.name)
    return Done(table.with_newer(folder, types), masked.attributes, masked.notes)


def _as_suppress(method: Method) -> Suppress:
    """The method, where it is one that can be carried out by combinations."""
    if (
        not isinstance(method, Suppress)
        or method.weighted
        or method.combinations is not None
        or method.count == "original"
    ):
        raise ParameterError(
            f"{method.name} with sampling weights, listed combinations or counts in the original is for tables in "
            "memory; leave these out, or protect the table without an engine"
        )
    return method


class _Combinations(NamedTuple):
    """The combinations of the keys, how many records have each, which are rare, and whether the empty cells of some key
    are a category of their own; `enough` records are more than the method brings together."""

    table: pa.Table
    counts: IntArray
    is_rare: BoolArray
    own: bool
    enough: int

    @classmethod
    def of(cls, method: Suppress, counted: Counted, attributes: Sequence[str]) -> _Combinations:
        k = method.k if method.risk is None else max(method.k, int(np.ceil(1.0 / method.risk - 1e-9)))
        keys, enough = method.with_policies(counted.data, tuple(attributes)), highest_level(k)
        codes = [key_codes(keys, name) for name in attributes]
        classes = EquivalenceClasses.of(attributes, codes, repeats=counted.counts)
        own = any(keys[name].missing != "wildcard" for name in attributes)
        table = pa.table({name: counted.data.arrow(name) for name in attributes})
        return cls(table, counted.counts, classes.per_record < enough, own, enough)

    def wanted(self, spare: int) -> IntArray:
        """How many records of each are looked at one by one: of frequent ones some, and all where few would be left."""
        some = np.where(self.counts < spare + self.enough, self.counts, spare) if spare else 0
        return np.where(self.is_rare, self.counts, some)


def _listed(job: Job, combinations: pa.Table, wanted: IntArray) -> _Listed:
    """The first records of combinations, as many as are wanted."""
    table, attributes = job.table, job.attributes
    some = np.flatnonzero(wanted)
    among, wanted = combinations.take(pa.array(some)), wanted[some]

    def of_part(number: int) -> _Listed:
        found = row_numbers(table.read(number, attributes), among, attributes)
        rows = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
        numbers = found.drop_null().to_numpy(zero_copy_only=False)
        return _Listed(table.places(number).start + rows, numbers, wanted).first()

    found = job.engine.added(of_part, len(table.pieces), silent, f"{job.method.name}: records to look at")
    return _Listed(found.places, some[found.numbers], wanted)


def _changed(
    job: Job, facts: StoredFacts, combinations: _Combinations, listed: _Listed
) -> tuple[Masked, dict[str, pa.Array]] | None:
    """What the method does, and the released cells of the listed records; nothing where it has to change others too.

    The record that counts for the rest of a combination comes right behind the last one that is listed, before the
    place of the first that it stands for: so the method meets it before any that it would take later than these.
    """
    listed_of = np.bincount(listed.numbers, minlength=len(combinations.counts))
    assert (listed_of <= combinations.counts).all()
    left = combinations.counts - listed_of
    rest = np.flatnonzero(left)
    last = np.full(len(left), facts.records, dtype=np.int64)
    last[listed.numbers] = listed.places  # in their order, so that the last one stays
    order = np.argsort(np.concatenate([listed.places, last[rest]]), kind="stable")
    numbers = np.concatenate([listed.numbers, rest])[order]
    is_rest = order >= len(listed.places)
    together = combinations.table.take(pa.array(numbers)).combine_chunks()
    part = Part(range(len(together)), facts, np.where(is_rest, left[numbers], 1))
    data = Microdata(open_frame(together), job.schema.select(job.attributes), part=part)
    try:
        masked = job.method._mask(data, job.attributes, job.streams, job.progress)
    except UndividedRecordsError:
        return None
    of_rest, of_listed = pa.array(is_rest), pa.array(~is_rest)
    for name, column in masked.columns.items():
        if column.filter(of_rest).null_count > _missing(data.arrow(name).filter(of_rest)):
            if combinations.own:
                return None
            raise DataError(
                f"attribute '{name}' would lose cells of frequent combinations, too; recode the keys first, or protect "
                "the table without an engine"
            )
    return masked, {name: column.filter(of_listed) for name, column in masked.columns.items()}


def _missing(column: pa.Array) -> int:
    """How many cells are empty or no number."""
    return int(pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0)


def replaced_cells(column: pa.ChunkedArray, at: pa.Array, cells: pa.Array) -> pa.Array:
    """A column with other cells at some places."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not len(at):
        return whole
    taken = np.zeros(len(whole), dtype=np.bool_)
    taken[at.to_numpy()] = True
    return pc.replace_with_mask(whole, pa.array(taken), cells)


def common_types(of_parts: Sequence[Mapping[str, pa.DataType]]) -> dict[str, pa.DataType]:
    """The type of each column that has room for what all parts have."""
    found = dict(of_parts[0])
    for types in of_parts[1:]:
        for name, kind in types.items():
            if kind != found[name] and not pa.types.is_null(kind):
                floating = pa.types.is_floating(kind) or pa.types.is_null(found[name])
                found[name] = kind if floating else found[name]
    return found
