"""Methods that go by the order of an attribute's values, on columns longer than memory.

The records are put in order in ranges that lie on the disk. What is exchanged or grouped follows from ranks, or from
the values as they come by in their order, so that one pass over the ranges finds it; then the new cells are sent back
to the parts that their records are in. A few methods need the whole column, and get it: one attribute at a time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from microveil.engines.base import Engine
from microveil.engines.masking import Done, Job, common_types, replaced_cells, write_in_parts
from microveil.engines.scratch import moved_into_place
from microveil.engines.sending import received, send_by_number
from microveil.engines.sorted_ranges import (
    CELL,
    KEY,
    PLACE,
    RUNS,
    Keyed,
    Sample,
    SortedRanges,
    in_sorted_ranges,
    sample_of,
)
from microveil.engines.stored import StoredTable, write_part
from microveil.engines.stored_facts import StoredFacts
from microveil.masking.microaggregation.individual_ranking import CutInOrder, values_in_file
from microveil.masking.notes import Note, added_up
from microveil.masking.partition import Partition
from microveil.masking.swapping.ranks import SwapByRank, sort_keys
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.facts import Facts
from microveil.microdata.facts import Part as PartOfTable
from microveil.microdata.frames import open_frame
from microveil.microdata.microdata import PRESENT, check_records
from microveil.numerics.grouping.groups import which_pooled
from microveil.numerics.statistics.moment_sums import MomentSums
from microveil.progress import Part, Progress, parts, silent
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

_STATES = 256  # of missing, at most: they are numbered by a byte
_RANK = "rank"


class _Sent(NamedTuple):
    """New cells on their way to the parts of their records: where they lie, who sent some, and of which type they
    are."""

    folder: Path
    senders: tuple[int, ...]
    types: tuple[pa.DataType, ...]
    notes: tuple[Note, ...] = ()


class _Seen(NamedTuple):
    """What was seen of a part: how many of its records are in which state of missing, and some of its records."""

    counts: IntArray
    states: npt.NDArray[np.uint8]
    sample: Sample

    def of(self, states: Sequence[int], mean: float) -> Sample:
        """The records that were drawn of some states, with a mean for what is missing."""
        chosen, sample = np.isin(self.states, states), self.sample
        keys = np.where(self.states == PRESENT, sample.keys, mean)
        return Sample(keys[chosen], sample.drawn[chosen], sample.places[chosen])


class _Masked(NamedTuple):
    """What became of an attribute."""

    type: pa.DataType
    attributes: tuple[Attribute, ...]
    notes: tuple[Note, ...]


def in_order(job: Job) -> Done:
    """One attribute after the other."""
    table, method = job.table, job.method
    if isinstance(method, SwapByRank) or (isinstance(method, CutInOrder) and method.works_by_ranges):
        stages = parts(job.progress, len(job.attributes))
        done = [_by_ranges(job, name, stage) for name, stage in zip(job.attributes, stages, strict=True)]
    else:
        done = _whole_columns(job)
    for name, made in zip(job.attributes, done, strict=True):
        table = table.with_newer(_of_attribute(job, name), {name: made.type})
    attributes = tuple(attribute for made in done for attribute in made.attributes)
    return Done(table, attributes, added_up([made.notes for made in done]))


def _of_attribute(job: Job, name: str) -> Path:
    return job.folder / f"{job.attributes.index(name):06d}"


def _whole_columns(job: Job) -> list[_Masked]:
    """Every attribute by itself, all of its values at once."""
    table, method, streams, whole = job.table, job.method, job.streams, job.schema
    others = tuple(name for name in job.columns if name not in job.attributes)

    def of_attribute(number: int) -> _Masked:
        name = job.attributes[number]
        names = (name, *others)
        data = Microdata(open_frame(pa.table({one: table.column(one) for one in names})), whole.select(names))
        masked = method._mask(data, (name,), streams, silent)
        column = masked.columns[name]
        own = _of_attribute(job, name)
        own.mkdir(exist_ok=True)
        write_in_parts(own, table, {name: column})
        return _Masked(column.type, masked.attributes, masked.notes)

    return job.engine.each(of_attribute, len(job.attributes), job.progress, method.name)


@dataclass(frozen=True)
class _Column:
    """An attribute and who masks it; it goes to the workers."""

    table: StoredTable
    method: SwapByRank | CutInOrder
    schema: Schema
    streams: Streams
    name: str
    known: Facts

    @classmethod
    def of(cls, job: Job, name: str) -> _Column:
        """With all that is asked about the whole table when a part is read."""
        facts = StoredFacts(job.table, job.schema, job.engine)
        assert isinstance(job.method, SwapByRank | CutInOrder)
        column = cls(job.table, job.method, job.schema.select([name]), job.streams, name, facts)
        first = column.part(0)
        if isinstance(job.method, CutInOrder):
            check_records(job.table, job.method.k, f"{job.method.name} with k = {job.method.k}")
            job.method.publishing.check_table(first, (name,), job.method.name)
        column.keys(first)
        return replace(column, known=facts.known)

    @property
    def draws(self) -> bool:
        """Whether equal values are put in order by random numbers."""
        return isinstance(self.method, SwapByRank) and self.method.ties == "random"

    def part(self, number: int) -> Microdata:
        return self.table.part(number, self.schema, self.known)

    def keys(self, data: Microdata) -> FloatArray:
        """What the records of a part are sorted by; NaN or any number where a cell is missing."""
        if isinstance(self.method, SwapByRank):
            return sort_keys(data, self.name, self.method.name)[0].astype(np.float64)
        values = values_in_file(data, self.name)
        return -values if self.method.descends else values

    def seen(self, number: int) -> _Seen:
        data = self.part(number)
        states, first = data.missing_states(self.name), data.range_of_places.start
        sample = sample_of(self.keys(data), np.arange(first, data.range_of_places.stop), first, numbered=self.draws)
        return _Seen(np.bincount(states, minlength=_STATES), states[sample.places - first], sample)

    def masked_together(self, counts: IntArray) -> list[list[int]]:
        """The states of missing whose records are masked together, given how many records are in each. Those whose
        records would only keep their cells are left out, unless there are no others."""
        if isinstance(self.method, SwapByRank):
            return [[PRESENT]] if counts[PRESENT] else []
        occurring = np.flatnonzero(counts).tolist()
        pools = which_pooled(counts[occurring].tolist(), self.method.k)
        together = [[occurring[one] for one in pool] for pool in pools]
        return [states for states in together if len(states) > 1 or states == [PRESENT]] or together

    def mean(self, engine: Engine) -> float:
        """The mean of what all records are sorted by, which stands for missing cells; 0 without any value."""

        def of_part(number: int) -> MomentSums:
            data = self.part(number)
            return MomentSums.of(np.where(data.missing_states(self.name) == PRESENT, self.keys(data), np.nan)[:, None])

        sums = engine.added(of_part, len(self.table.pieces), silent, self.method.name)
        return float(sums.mean[0]) if sums.records[0] else 0.0

    def read(self, number: int, states: Sequence[int], mean: float, before: int) -> Keyed:
        """The records of a part in some states; `before` is how many of them the parts before it have."""
        data = self.part(number)
        of_records = data.missing_states(self.name)
        rows = np.flatnonzero(np.isin(of_records, states))
        keys = np.where(of_records == PRESENT, self.keys(data), mean)[rows]
        drawn = self.streams.uniforms(range(before, before + len(rows)), self.name) if self.draws else None
        return Keyed(keys, drawn, data.range_of_places.start + rows, data.arrow(self.name).take(pa.array(rows)))

    def with_cells(self, cells: pa.ChunkedArray) -> Microdata:
        """Some records of this attribute alone."""
        frame = open_frame(pa.table({self.name: cells.combine_chunks()}))
        return Microdata(frame, self.schema, part=PartOfTable(range(len(cells)), self.known))

    def as_published(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        """The cells that nothing was done to: numbers that were published anew are empty where they are NaN."""
        if isinstance(self.method, CutInOrder) and pa.types.is_floating(cells.type):
            return pc.if_else(pc.is_nan(cells).fill_null(False), pa.scalar(None, cells.type), cells)
        return cells


def _by_ranges(job: Job, name: str, progress: Progress) -> _Masked:
    """The new column of an attribute, written for every part."""
    table, engine, column = job.table, job.engine, _Column.of(job, name)
    seeing, masking, putting = Part(progress, 0, 0.1), Part(progress, 0.1, 0.9), Part(progress, 0.9, 1)
    seen = engine.map(column.seen, len(table.pieces), seeing, job.method.name)
    together = column.masked_together(np.sum([one.counts for one in seen], axis=0))
    folder = job.folder / f"in-order-{job.attributes.index(name):06d}"
    sent = [
        _masked(column, engine, folder / str(number), states, seen, stage)
        for number, (states, stage) in enumerate(zip(together, parts(masking, len(together)), strict=True))
    ]
    of_type = common_types([{name: kind} for one in sent for kind in one.types] or [{name: table.types[name]}])[name]
    own = _of_attribute(job, name)
    own.mkdir(exist_ok=True)

    def put(part: int) -> None:
        cells = column.as_published(table.read(part, [name])[name]).cast(of_type, safe=False)
        for one in sent:
            rows = received(one.folder, one.senders, part)
            places = np.concatenate([np.zeros(0, np.int64), *(batch.column(PLACE) for batch in rows)])
            order = np.argsort(places)
            new = pa.chunked_array([batch.column(CELL).cast(of_type, safe=False) for batch in rows], of_type)
            at = pa.array(places[order] - table.starts[part])
            cells = replaced_cells(cells, at, new.take(pa.array(order)).combine_chunks())
        write_part(own, part, pa.table({name: cells}))

    engine.map(put, len(table.pieces), putting, job.method.name)
    shutil.rmtree(folder, ignore_errors=True)
    return _Masked(of_type, (), added_up([one.notes for one in sent]))


def _masked(
    column: _Column, engine: Engine, folder: Path, states: Sequence[int], seen: Sequence[_Seen], progress: Progress
) -> _Sent:
    """The new cells of the records in some states of missing, which are masked together."""
    sorting, masking = parts(progress, 2)
    mean = column.mean(engine) if set(states) > {PRESENT} else 0.0
    counts = [int(one.counts[states].sum()) for one in seen]
    before = (0, *accumulate(counts))
    samples = [one.of(states, mean) for one in seen]

    def read(part: int) -> Keyed:
        return column.read(part, states, mean, before[part])

    ranges = -(-before[-1] // max(1, column.table.starts[1]))  # as many records in each as a part has
    ordered = in_sorted_ranges(engine, folder, ranges, samples, read, sorting, column.method.name)
    shutil.rmtree(folder / RUNS, ignore_errors=True)
    work = _exchanged if isinstance(column.method, SwapByRank) else _grouped
    sent = work(column, engine, ordered, folder, masking)
    shutil.rmtree(ordered.folder, ignore_errors=True)
    return sent


def _exchanged(column: _Column, engine: Engine, ordered: SortedRanges, folder: Path, progress: Progress) -> _Sent:
    """The cells of all ranks, each sent to the record of the rank that receives it."""
    method, streams, name, draws = column.method, column.streams, column.name, column.draws
    assert isinstance(method, SwapByRank)
    exchange, asked, sent = folder / "exchange", _made(folder / "asked"), _made(folder / "sent")
    starts, records, of_parts = ordered.starts, len(ordered), column.table.starts

    def find(_: int) -> None:
        drawn = records if draws else 0  # the numbers that put equal values in order come first
        _write(exchange, method.exchanges(records, streams.generator_at(range(drawn, drawn), name)))

    def ask(number: int) -> None:
        sources = _numbers(exchange, starts[number], starts[number + 1])
        places = ordered.read(number).column(PLACE)
        send_by_number(asked, number, pa.record_batch([sources, places], [_RANK, PLACE]), sources, starts)

    def answer(number: int) -> pa.DataType:
        places = np.empty(starts[number + 1] - starts[number], dtype=np.int64)
        for batch in received(asked, range(ordered.ranges), number):
            places[batch.column(_RANK).to_numpy() - starts[number]] = batch.column(PLACE).to_numpy()
        cells = ordered.read(number).column(CELL)
        send_by_number(sent, number, pa.record_batch([places, cells], [PLACE, CELL]), places, of_parts)
        return cells.type

    finding, asking, answering = parts(progress, 3)
    engine.each(find, 1, finding, method.name)
    engine.map(ask, ordered.ranges, asking, method.name)
    types = engine.map(answer, ordered.ranges, answering, method.name)
    shutil.rmtree(asked, ignore_errors=True)
    return _Sent(sent, tuple(range(ordered.ranges)), tuple(types))


def _grouped(column: _Column, engine: Engine, ordered: SortedRanges, folder: Path, progress: Progress) -> _Sent:
    """What the groups publish, each sent by the range in which it starts."""
    method, name = column.method, column.name
    assert isinstance(method, CutInOrder)
    cuts, sent = folder / "cuts", _made(folder / "sent")
    ranks, records, of_parts = ordered.starts, len(ordered), column.table.starts

    def find(_: int) -> list[int]:
        keys = (ordered.read(number).column(KEY).to_numpy() for number in range(ordered.ranges))
        alone = records < 2 * method.k
        starts = np.zeros(1, dtype=np.int64) if alone else method.starts_in_order(keys, records, silent)
        _write(cuts, [starts, np.array([records])])
        return [int(number) for number in np.searchsorted(starts, ranks)]

    finding, publishing = parts(progress, 2)
    (groups,) = engine.each(find, 1, finding, method.name)

    def publish(number: int) -> tuple[pa.DataType, tuple[Note, ...]] | None:
        first, last = groups[number], groups[number + 1]
        if first == last:
            return None
        starts = _numbers(cuts, first, last + 1)
        rows = ordered.between(starts[0], starts[-1])
        places = rows[PLACE].to_numpy()
        order = np.argsort(places)  # sums are those of memory, to the last digit
        labels = np.repeat(np.arange(last - first), np.diff(starts))[order]
        data = column.with_cells(rows[CELL].take(pa.array(order)))
        published = method.published(data, name, Partition.of(labels), column.streams)
        cells = published.columns[name]
        send_by_number(sent, number, pa.record_batch([places[order], cells], [PLACE, CELL]), places[order], of_parts)
        return cells.type, (*published.emptied.notes, *published.notes)

    made = engine.map(publish, ordered.ranges, publishing, method.name)
    senders = tuple(number for number, one in enumerate(made) if one is not None)
    told = [one for one in made if one is not None]
    return _Sent(sent, senders, tuple(kind for kind, _ in told), added_up([notes for _, notes in told]))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _write(path: Path, numbers: Iterable[IntArray]) -> None:
    """Write whole numbers as they come."""
    with moved_into_place(path) as unfinished, unfinished.open("wb") as file:
        for some in numbers:
            file.write(np.ascontiguousarray(some, dtype=np.int64).data)


def _numbers(path: Path, first: int, last: int) -> IntArray:
    """Some of the whole numbers of a file."""
    return np.fromfile(path, dtype=np.int64, count=last - first, offset=8 * first)
