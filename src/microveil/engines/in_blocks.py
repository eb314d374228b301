"""Grouping by distances in a table longer than memory: in blocks of similar records, each masked by itself.

The blocks are the leaves of a balanced tree over the attributes, built from a sample that is drawn by the places of
the records. Every record finds its leaf by its own values, so blocks do not depend on parts, workers or engines.
Distances are on the scale of the whole table. A leaf with too few records joins the one beside it, so that no border
breaks a group. Where attributes have long tails, cuts through these cost most of all, and the records farthest out are
better off as a block of their own: whether they are is tried on the sample.

Records on both sides of a border cannot share a group, which costs something. How much is measured on a sample that is
masked as one and in the same blocks.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

from microveil.engines.masking import Done, Job, common_types, write_in_parts
from microveil.engines.scratch import moved_into_place
from microveil.engines.stored import write_part
from microveil.engines.stored_facts import KnownFacts, StoredFacts
from microveil.errors import GuaranteeError, ParameterError
from microveil.masking.base import Masked
from microveil.masking.microaggregation.base import Microaggregation
from microveil.masking.notes import IN_BLOCKS, Note, added_up
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.equivalence_classes import equivalence_classes_of
from microveil.microdata.facts import Part
from microveil.microdata.frames import open_frame
from microveil.numerics.core.draws import uniforms
from microveil.numerics.grouping.local_search import loss_within
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.numerics.grouping.median_tree import MedianTree
from microveil.numerics.grouping.sums_of_squares import changes_lost
from microveil.numerics.statistics.scaling import Scaling
from microveil.progress import Progress, parts, silent
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

BLOCK_RECORDS = 100_000  # at most about so many records of a block; a table with no more is masked as one
BLOCK_GROUPS = 50  # a block has room for so many groups, so that of large groups not most are at a border
SAMPLED = 1_000  # records of the sample for each block
COMPARED = 200_000  # records, about, of the sample that is masked as one, too
_LEAST_GROUPS = 3  # a leaf with fewer than so many times k records joins the one beside it
_BY_PLACE = Streams(0)  # which records make the tree is no secret, and the same for every seed


def in_blocks(job: Job) -> Done:
    """Every block by itself; attributes that are not masked together have blocks of their own."""
    method = job.method
    if not isinstance(method, Microaggregation):
        raise ParameterError(
            f"{method.name} does not group records, so it cannot mask a table in blocks of similar ones"
        )
    if len(job.table) <= _records_of_block(method):
        return _as_one(job, method)
    if job.schema.panel is not None:
        raise ParameterError("series are grouped in memory only; protect the table without an engine")
    table, made = job.table, []
    empty = Microdata(open_frame(table.read(0, job.attributes).slice(0, 0)), job.schema.select(job.attributes))
    together = method.preparation.blocks(empty, job.attributes, method.name)
    facts = StoredFacts(table, job.schema, job.engine)
    for number, (names, part) in enumerate(zip(together, parts(job.progress, len(together)), strict=True)):
        folder = job.folder / f"{number:06d}"
        made.append(_InBlocks.of(job, method, names, facts, folder).masked(part))
        table = table.with_newer(folder, made[-1].types)
    described = {attribute.name: attribute for one in made for attribute in one.attributes}
    return Done(table, tuple(described.values()), tuple(note for one in made for note in one.notes))


def _records_of_block(method: Microaggregation) -> int:
    return max(BLOCK_RECORDS, BLOCK_GROUPS * method.k)


def _as_one(job: Job, method: Microaggregation) -> Done:
    """A table of no more than one block, as in memory."""
    columns = pa.table({name: job.table.column(name) for name in job.columns})
    data = Microdata(open_frame(columns), job.schema.select(job.columns))
    masked = method._mask(data, job.attributes, job.streams, job.progress)
    write_in_parts(job.folder, job.table, masked.columns)
    types = {name: column.type for name, column in masked.columns.items()}
    return Done(job.table.with_newer(job.folder, types), masked.attributes, masked.notes)


class _Made(NamedTuple):
    """What became of the attributes that are masked together."""

    types: Mapping[str, pa.DataType]
    attributes: tuple[Attribute, ...]
    notes: tuple[Note, ...]


class _Sorted(NamedTuple):
    """Of a part, how many records each leaf has, and those of the sample that is masked as one, too."""

    sizes: IntArray
    sample: pa.Table


class _Extra(NamedTuple):
    """By how many per cent the loss is larger than without blocks, give or take the error, which is twice the standard
    error of the difference to what is true of all records, and in how many records that was seen."""

    loss: float
    error: float
    compared: int


class _Lost(NamedTuple):
    """What became of some records, the squares that each lost, in units of the deviations in the whole table, and the
    groups of those that share their masked values."""

    masked: Masked
    squares: FloatArray
    groups: IntArray


class _OfBlock(NamedTuple):
    types: Mapping[str, pa.DataType]
    attributes: tuple[Attribute, ...]
    notes: tuple[Note, ...]
    records: int


@dataclass(frozen=True)
class _InBlocks:
    """The attributes that are masked together, with what every worker needs to know; the job stays with who asked.

    The folder has the records of each part in the order of their leaves (`sorted`), and the masked records of each
    block in the order of their places (`masked`), until the newer columns of all parts are there.
    """

    job: Job
    method: Microaggregation
    names: tuple[str, ...]
    schema: Schema
    facts: KnownFacts
    folder: Path

    @property
    def place(self) -> str:
        """The name of the column with the places of the records, which no other has."""
        return _unused("place", self.schema.names)

    @property
    def leaf(self) -> str:
        """The name of the column with their leaves."""
        return _unused("leaf", self.schema.names)

    @classmethod
    def of(
        cls, job: Job, method: Microaggregation, names: tuple[str, ...], facts: StoredFacts, folder: Path
    ) -> _InBlocks:
        for inner in (folder, folder / "sorted", folder / "masked"):
            inner.mkdir()
        others = [name for name in job.columns if name not in job.attributes]
        facts.moments(names)
        return cls(job, method, names, job.schema.select((*names, *others)), facts.known, folder)

    def masked(self, progress: Progress) -> _Made:
        tree = _best_tree(*self._sample(), len(self.names), self.method.k)
        sorted_parts = self._sorted_by_leaf(tree)
        sizes: IntArray = np.sum([part.sizes for part in sorted_parts], axis=0, dtype=np.int64)
        blocks = tree.joined(sizes, _LEAST_GROUPS * self.method.k)
        extra = self._extra_loss(blocks, pa.concat_tables([part.sample for part in sorted_parts]))
        done = self._masked_blocks(blocks, progress)
        types = common_types([block.types for block in done])
        self._put_back(len(done), types)
        said = IN_BLOCKS(
            method=self.method.name,
            attributes=self.names,
            blocks=len(done),
            smallest=min(block.records for block in done),
            extra=extra.loss,
            error=extra.error,
            compared=extra.compared,
        )
        for inner in ("sorted", "masked"):
            shutil.rmtree(self.folder / inner)
        described = {attribute.name: attribute for block in done for attribute in block.attributes}
        return _Made(types, tuple(described.values()), (*added_up([block.notes for block in done]), said))

    def _sample(self) -> tuple[FloatArray, int]:
        """The coordinates of the records of which the tree is made, and how many of them make a leaf at most."""
        largest = _records_of_block(self.method)
        share = min(1.0, SAMPLED / largest)
        table, schema, facts, method, names = self.job.table, self.schema, self.facts, self.method, self.names

        def of_part(number: int) -> FloatArray:
            part = table.part(number, schema, facts)
            return _coordinates(method, part, names)[uniforms(_BY_PLACE, part.places, "tree") < share]

        found = self.job.engine.map(of_part, len(table.pieces), silent, f"{method.name}: a sample")
        return np.concatenate(found), max(1, round(largest * share))

    def _sorted_by_leaf(self, tree: MedianTree) -> list[_Sorted]:
        """Write the records of each part leaf by leaf, each a batch of its own."""
        table, schema, facts, method, names = self.job.table, self.schema, self.facts, self.method, self.names
        folder, leaves, share = self.folder / "sorted", tree.leaves, COMPARED / len(self.job.table)
        place, leaf_column = self.place, self.leaf  # not by the object, for that has the job

        def of_part(number: int) -> _Sorted:
            cells = table.read(number, schema.names)
            places = table.places(number)
            leaf = tree.leaf_of(
                _coordinates(method, Microdata(open_frame(cells), schema, part=Part(places, facts)), names)
            )
            sizes = np.bincount(leaf, minlength=leaves).astype(np.int64)
            cells = cells.append_column(place, pa.array(np.arange(places.start, places.stop)))
            _write_batches(_file_of(folder, number), cells.take(pa.array(np.argsort(leaf, kind="stable"))), sizes)
            sample = cells.append_column(leaf_column, pa.array(leaf))
            return _Sorted(sizes, sample.filter(pa.array(_BY_PLACE.uniforms(places, "compared") < share)))

        return self.job.engine.map(of_part, len(table.pieces), silent, f"{method.name}: records to blocks")

    def _masked_blocks(self, blocks: Sequence[tuple[int, ...]], progress: Progress) -> list[_OfBlock]:
        """Mask each block, and write its records part by part, each a batch of its own."""
        job, names, folder = self.job, self.names, self.folder
        sorted_in, mask, parts_of_table = folder / "sorted", self._mask(), len(job.table.pieces)
        starts, place = np.array(job.table.starts), self.place

        def of_block(number: int) -> _OfBlock:
            leaves = blocks[number]
            found = [_read_batch(_file_of(sorted_in, part), leaf) for part in range(parts_of_table) for leaf in leaves]
            cells = pa.Table.from_batches(found)
            cells = cells.take(pa.array(np.argsort(cells[place].to_numpy()))).combine_chunks()
            masked = mask.of(cells).masked
            places = cells[place].to_numpy()
            made = pa.table({**masked.columns, place: cells[place]})
            _write_batches(_file_of(folder / "masked", number), made, np.diff(np.searchsorted(places, starts)))
            types = {name: masked.columns[name].type for name in names}
            return _OfBlock(types, masked.attributes, masked.notes, len(places))

        return job.engine.map(of_block, len(blocks), progress, self.method.name)

    def _mask(self) -> _Mask:
        return _Mask(self.method, self.names, self.schema, self.facts, self.job.streams)

    def _extra_loss(self, blocks: Sequence[tuple[int, ...]], sample: pa.Table) -> _Extra:
        """By how much the loss is larger than without blocks.

        The records of a sample lie farther apart, so that more of them are near a border: with a share s of all
        records, s^(-1/d) times as many in d dimensions. What the sample loses is brought back by that. Where records
        vary in fewer dimensions than there are attributes, they lose less than this says.
        """
        block_of_leaf = np.zeros(1 + max(map(max, blocks)), dtype=np.int64)
        for number, leaves in enumerate(blocks):
            block_of_leaf[list(leaves)] = number
        block = block_of_leaf[sample[self.leaf].to_numpy()]
        compared = np.bincount(block, minlength=len(blocks))[block] >= self.method.k
        if not compared.any():
            return _Extra(0.0, 0.0, 0)
        mask, block = self._mask(), block[compared]
        sample = sample.filter(pa.array(compared)).combine_chunks()
        as_one, apart = mask.of(sample), np.zeros(len(sample))
        for number in np.unique(block):
            apart[block == number] = mask.of(sample.filter(pa.array(block == number))).squares
        share = min(1.0, COMPARED / len(self.job.table))
        nearer = share ** (1.0 / len(self.names))
        ratio, error = _larger(apart, as_one.squares, as_one.groups)
        # the loss of all records is left to chance as well, with 1 / s times as many groups
        error = 2.0 * error * float(np.sqrt(nearer**2 + share)) if share < 1.0 else 0.0
        return _Extra(100.0 * nearer * ratio, 100.0 * error, len(sample))

    def _put_back(self, blocks: int, types: Mapping[str, pa.DataType]) -> None:
        """The masked records of all blocks as newer columns of the parts."""
        folder, table, names, place = self.folder, self.job.table, self.names, self.place

        def of_part(number: int) -> None:
            found = [_read_batch(_file_of(folder / "masked", block), number) for block in range(blocks)]
            places = np.concatenate([one[place].to_numpy() for one in found])
            order = pa.array(np.argsort(places))
            columns = {
                name: pa.chunked_array([one[name].cast(types[name], safe=False) for one in found], types[name])
                for name in names
            }
            write_part(folder, number, pa.table(columns).combine_chunks().take(order))

        self.job.engine.map(of_part, len(table.pieces), silent, f"{self.method.name}: blocks to records")


@dataclass(frozen=True)
class _Mask:
    """Masking some records by themselves, by the method's own work."""

    method: Microaggregation
    names: tuple[str, ...]
    schema: Schema
    facts: KnownFacts
    streams: Streams

    def of(self, cells: pa.Table) -> _Lost:
        part = Part(range(len(cells)), self.facts)
        data = Microdata(open_frame(cells.select(list(self.schema.names)).combine_chunks()), self.schema, part=part)
        masked = self.method._mask(data, self.names, self.streams, silent)
        released = data.with_columns(masked.columns, masked.attributes).select(self.names)
        classes = equivalence_classes_of(released, self.names)
        self._refuse_fewer_than_k(int(classes.frequencies.min()))
        moments = self.facts.moments(self.names)
        scaling = Scaling(moments.mean, moments.deviation)
        changes = changes_lost(*(scaling.apply(table.matrix(self.names)) for table in (data, released)))
        return _Lost(masked, np.nansum(changes**2, axis=1), classes.of_record)

    def _refuse_fewer_than_k(self, reached: int) -> None:
        if reached < self.method.k:
            raise GuaranteeError(
                f"{self.method.name}: counted again, {reached:,} records share a combination, fewer than k = "
                f"{self.method.k:,}; nothing was released"
            )


def _unused(name: str, names: Sequence[str]) -> str:
    """A name that is none of these."""
    return name if name not in names else _unused(f"{name}'", names)


def _larger(one: FloatArray, other: FloatArray, groups: IntArray) -> tuple[float, float]:
    """By what share the sum of what records lose is larger than that of what they lose otherwise, and the standard
    error of this ratio, with the records that share a group taken together, for they do not lose independently."""
    total = float(other.sum())
    if total <= 0:
        return 0.0, 0.0
    ratio = float(one.sum()) / total
    residuals = np.bincount(groups, weights=one - ratio * other)
    return ratio - 1.0, float(np.sqrt((residuals**2).sum())) / total


def _coordinates(method: Microaggregation, part: Microdata, names: tuple[str, ...]) -> FloatArray:
    """Where the tree cuts: the columns by which a method groups, with missing cells at the mean; how far out a record
    is; and a number by its place, for many records that are alike."""
    columns, _ = method.preparation.coordinates(part, names)
    columns = np.where(np.isnan(columns), 0.0, columns)
    squares = np.zeros(len(columns))
    for column in columns.T:  # one after the other, so that rounding does not depend on how many records there are
        squares += column**2
    return np.column_stack([columns, squares, uniforms(_BY_PLACE, part.places, "ties")])


def _best_tree(sample: FloatArray, largest: int, attributes: int, k: int) -> MedianTree:
    """The tree that loses less on its sample: of all records, or with the records farthest out by themselves."""
    trees = [MedianTree.of(sample, largest, attributes)]
    if len(sample) > largest:
        inner = float(np.sort(sample[:, attributes])[-largest - 1])
        if sample[:, attributes].max() > inner:
            trees.append(MedianTree.of(sample, largest, attributes, first=(attributes, inner)))
    size = max(2, min(k, largest // BLOCK_GROUPS))  # there are fewer records, so that large groups do not fit in

    def lost(tree: MedianTree) -> float:
        leaf, columns = tree.leaf_of(sample), sample[:, :attributes]
        blocks = [np.ascontiguousarray(columns[leaf == number]) for number in range(tree.leaves)]
        return sum(loss_within(block, mdav_groups(block, size)) for block in blocks if len(block))

    return min(trees, key=lost) if len(trees) > 1 else trees[0]


def _file_of(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.arrow"


def _write_batches(file: Path, table: pa.Table, sizes: IntArray) -> None:
    """Write rows one after the other in batches of these sizes, which can be read one by one."""
    whole = table.combine_chunks().to_batches()
    rows = whole[0] if whole else pa.RecordBatch.from_pylist([], schema=table.schema)
    with moved_into_place(file) as unfinished, ipc.new_file(str(unfinished), table.schema) as writer:
        first = 0
        for size in sizes.tolist():
            writer.write_batch(rows.slice(first, size))
            first += size


def _read_batch(file: Path, number: int) -> pa.RecordBatch:
    with pa.OSFile(str(file)) as source:
        return ipc.open_file(source).get_batch(number)
