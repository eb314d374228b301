"""A column in order, cut into ranges of about as many records as a part has, each in a file: sorted without ever being
in memory as a whole.

Records drawn from all parts say where to cut. Every part sorts its own records and sends each range its stretch of
them, and what a range receives are sorted stretches, which it merges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from microveil.engines.base import Engine
from microveil.engines.sending import received, send
from microveil.masking.swapping.ranks import ascending
from microveil.progress import Progress, parts
from microveil.typing import FloatArray, IntArray

KEY, DRAWN, PLACE, CELL = "key", "drawn", "place", "cell"
RUNS, _SORTED = "runs", "sorted"  # the folders of what parts send, and of the ranges

_DRAWN_OF_PART = 1024  # records of each part by which the ranges are cut


class Keyed(NamedTuple):
    """Some records of a part by their places, ascending: what they are sorted by, the random numbers that equal ones
    are sorted by unless they keep their places, and their cells."""

    keys: FloatArray
    drawn: FloatArray | None
    places: IntArray
    cells: pa.Array


class Sample(NamedTuple):
    """Some records of some parts, with random numbers of their own, or zeros where equal ones keep their places."""

    keys: FloatArray
    drawn: FloatArray
    places: IntArray


@dataclass(frozen=True)
class SortedRanges:
    """Records in order: `starts` is the rank of the first record of each range, and the number of all records."""

    folder: Path
    starts: tuple[int, ...]

    def __len__(self) -> int:
        return self.starts[-1]

    @property
    def ranges(self) -> int:
        return len(self.starts) - 1

    def read(self, number: int) -> pa.RecordBatch:
        """The keys, places and cells of one range."""
        (batch,) = received(self.folder, [number], 0)
        return batch

    def between(self, first: int, last: int) -> pa.Table:
        """The records of some ranks, whichever ranges they are in."""
        found = []
        for number in range(self.ranges):
            low, high = max(first, self.starts[number]), min(last, self.starts[number + 1])
            if low < high:
                found.append(self.read(number).slice(low - self.starts[number], high - low))
        return pa.Table.from_batches(found)


def sample_of(keys: FloatArray, places: IntArray, first: int, *, numbered: bool) -> Sample:
    """Some records of a part, which begins with the record `first`. Which they are changes how long ranges are, and
    nothing that is released."""
    rng = np.random.default_rng(first)
    rows = rng.choice(len(keys), min(len(keys), _DRAWN_OF_PART), replace=False)
    return Sample(keys[rows], rng.random(len(rows)) if numbered else np.zeros(len(rows)), places[rows])


def in_sorted_ranges(
    engine: Engine,
    folder: Path,
    ranges: int,
    samples: Sequence[Sample],
    read: Callable[[int], Keyed],
    progress: Progress,
    label: str,
) -> SortedRanges:
    """Put the records that `read` gives of every part in order, in so many ranges; fewer where few were sampled."""
    runs, made = folder / RUNS, folder / _SORTED
    runs.mkdir(parents=True)
    made.mkdir()
    cuts = _cuts(samples, ranges)
    ranges = len(cuts.keys) + 1
    sending, merging = parts(progress, 2)

    def sort_part(part: int) -> None:
        found = read(part)
        order = ascending(found.keys, found.drawn)
        drawn = None if found.drawn is None else found.drawn[order]
        run = Keyed(found.keys[order], drawn, found.places[order], found.cells.take(pa.array(order)))
        send(runs, part, _batch(run), _ends(run, cuts))

    def merge(number: int) -> int:
        rows = pa.Table.from_batches(received(runs, range(len(samples)), number)).combine_chunks()
        keys = rows[KEY].to_numpy()
        order = ascending(keys, rows[DRAWN].to_numpy() if DRAWN in rows.column_names else None)
        merged = rows.select([KEY, PLACE, CELL]).take(pa.array(order)).combine_chunks()
        (batch,) = merged.to_batches() or [pa.RecordBatch.from_pylist([], schema=merged.schema)]
        send(made, number, batch, [len(batch)])
        return len(batch)

    engine.map(sort_part, len(samples), sending, label)
    sizes = engine.map(merge, ranges, merging, label)
    return SortedRanges(made, (0, *accumulate(sizes)))


def _batch(run: Keyed) -> pa.RecordBatch:
    columns = {KEY: run.keys, DRAWN: run.drawn, PLACE: run.places, CELL: run.cells}
    return pa.RecordBatch.from_pydict({name: pa.array(c) for name, c in columns.items() if c is not None})


def _cuts(samples: Sequence[Sample], ranges: int) -> Sample:
    """The records at which all ranges but the first begin, so that these are of about the same length."""
    keys, drawn, places = (np.concatenate(columns) for columns in zip(*samples, strict=True))
    order = np.lexsort((places, drawn, keys))
    chosen = order[np.arange(1, min(ranges, len(order))) * len(order) // ranges]
    return Sample(keys[chosen], drawn[chosen], places[chosen])


def _ends(run: Keyed, cuts: Sample) -> list[int]:
    """Where the stretch of each range ends among the records of a part, which are in order."""
    ends = []
    for key, number, place in zip(*cuts, strict=True):
        first, last = (int(np.searchsorted(run.keys, key, side)) for side in ("left", "right"))
        if run.drawn is not None:
            equal = run.drawn[first:last]
            first, last = (first + int(np.searchsorted(equal, number, side)) for side in ("left", "right"))
        ends.append(first + int(np.searchsorted(run.places[first:last], place)))
    return [*ends, len(run.keys)]
