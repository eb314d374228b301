"""How close the records of a release come to original ones, measured by how close originals are to each other.

A model that has learnt single records by heart draws them again, or draws others just beside them. That is a sign of
danger; its absence proves nothing, for a release can tell who was in the file without coming close to anybody. Whether
it does shows the attack `membership-inference`, with a control group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microveil.masking.notes import COPIES, DISTANCE_TO_ORIGINALS, Note
from microveil.microdata.distances import category_distance
from microveil.microdata.microdata import as_microdata, resolve_attributes
from microveil.microdata.schema import KINDS
from microveil.microdata.tables import Tables
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.statistics.scaling import Scaling
from microveil.progress import Progress, parts, silent
from microveil.randomness import PublicStreams, Streams
from microveil.typing import FloatArray, IntArray

CLOSEST_SHARE = 0.05
_FEWEST_COMPARED = 500
_AFFORDABLE_TERMS = 4e9  # differences of two cells, about ten seconds on two threads


@dataclass(frozen=True)
class Closeness:
    """Shares are percentages of the released records, distances are multiples of those between originals.

    `copies` equal an original record in all attributes compared, `unique_copies` one that no other original equals.
    `distance_ratio` is the median distance to the nearest original over that from an original to its nearest other one;
    about 1 is what new records from the same population would have. `closer` have an original nearer than the nearest
    5 % of the originals have another one; such new records would be about 5 %. `neighbour_ratio` is the median ratio of
    the distances to the nearest and to the second nearest original: near 0, records stand beside a single original.
    """

    copies: float
    unique_copies: float
    distance_ratio: float
    closer: float
    neighbour_ratio: float
    compared: int
    records: int

    @property
    def notes(self) -> tuple[Note, ...]:
        """The figures in words."""
        copies = COPIES(copies=self.copies, unique_copies=self.unique_copies)
        if np.isnan(self.closer):
            return (copies,)
        sample = {} if self.compared == self.records else {"compared": self.compared, "records": self.records}
        distances = DISTANCE_TO_ORIGINALS(
            distance_ratio=self.distance_ratio, neighbour_ratio=self.neighbour_ratio, closer=self.closer, **sample
        )
        return copies, distances


def closeness(
    original: Any,
    release: Any,
    attributes: Sequence[str] | None = None,
    *,
    records: int | None = None,
    streams: Streams | None = None,
    progress: Progress = silent,
) -> Closeness:
    """Compare a release with its original, whichever record comes from which.

    Copies are counted over all records. Distances are Euclidean over z-scores by the original's mean and standard
    deviation, with the distances of categories beside them; a missing cell is near to missing ones of its kind only.
    They are taken from `records` released and as many original records drawn at random; unset: all, or what about ten
    seconds allow.
    """
    before, after = as_microdata(original), as_microdata(release)
    pair = Tables(before, after, resolve_attributes(before, attributes, KINDS, "a comparison"))
    copies, unique_copies = _copies(pair)
    samples = _samples(pair, records, streams or PublicStreams(0))
    between, beside = _distances(pair, samples, progress)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.median(beside[:, 0]) / np.median(between[:, 0])
        steps = np.where(beside[:, 1] > 0, beside[:, 0] / beside[:, 1], 1.0)
    limit = np.quantile(between[:, 0], CLOSEST_SHARE) if len(pair) > 1 else np.nan
    return Closeness(
        copies=100 * copies,
        unique_copies=100 * unique_copies,
        distance_ratio=float(ratio),
        closer=100 * float((beside[:, 0] < limit).mean()) if len(pair) > 1 else float("nan"),
        neighbour_ratio=float(np.median(steps)),
        compared=len(samples[1]),
        records=len(after),
    )


def _copies(pair: Tables) -> tuple[float, float]:
    """The shares of released records that equal an original one, and one that is the only one of its kind."""
    n = len(pair)
    columns, sizes = [], []
    for name in pair.attributes:
        if pair.original[name].kind == "numeric":
            cells = np.concatenate([column.values for column in pair.numbers(name)]) + 0.0
        else:
            cells = np.concatenate([column.codes for column in pair.categories(name)]).astype(np.float64)
        states = np.concatenate([data.missing_states(name) for data in (pair.original, pair.masked)])
        distinct, position = np.unique(np.where(states > 0, 0.0, cells), return_inverse=True)
        columns += [position.reshape(-1).astype(np.int64), states.astype(np.int64)]
        sizes += [len(distinct), int(states.max()) + 1]
    rows, _ = number_rows(columns, sizes)
    held = np.bincount(rows[:n], minlength=int(rows.max()) + 1)[rows[n:]]
    return float((held > 0).mean()), float((held == 1).mean())


def _samples(pair: Tables, records: int | None, streams: Streams) -> tuple[IntArray, IntArray]:
    """The original and the released records whose distances are taken; the tables may be of different length."""
    wanted = records or max(_FEWEST_COMPARED, int(_AFFORDABLE_TERMS / (2 * len(pair) * len(pair.attributes))))
    return streams.some_of(len(pair), wanted, "closeness"), streams.some_of(len(pair.masked), wanted, "closeness")


def _distances(pair: Tables, samples: tuple[IntArray, IntArray], progress: Progress) -> tuple[FloatArray, FloatArray]:
    """From originals to their two nearest others, and from released records to their two nearest originals."""
    from microveil.numerics.neighbours.mixed_distance import Table, Terms
    from microveil.numerics.neighbours.nearest_distances import two_nearest

    before, after, form, start, slope, penalty = zip(*(_compared(pair, name) for name in pair.attributes), strict=True)
    tables = []
    for cells, data in ((before, pair.original), (after, pair.masked)):
        states = np.stack([data.missing_states(name) for name in pair.attributes])
        tables.append(Table(np.where(states > 0, 0.0, np.stack(cells)), states))
    never = np.zeros(len(form), dtype=np.bool_)
    terms = Terms(np.array(form), np.array(start), np.array(slope), never, np.array(penalty))
    label = "comparing with the original"
    first, second = parts(progress, 2)
    between = two_nearest(tables[0], tables[0], terms, samples[0], others=True, progress=first, label=label)
    beside = two_nearest(tables[1], tables[0], terms, samples[1], progress=second, label=label)
    return np.sqrt(between), np.sqrt(beside)


def _compared(pair: Tables, name: str) -> tuple[FloatArray, FloatArray, int, float, float, float]:
    """The cells of both tables, and how the attribute adds to a squared distance."""
    from microveil.numerics.neighbours.mixed_distance import CATEGORY, SQUARED

    if pair.original[name].kind == "numeric":
        one, other = (column.values[:, None] for column in pair.numbers(name))
        scaling = Scaling.of(one)
        # two independent standard values differ by 2 in the mean of squares, and so does a missing one from any
        return scaling.apply(one)[:, 0], scaling.apply(other)[:, 0], SQUARED, 0.0, 0.0, 2.0
    columns = pair.categories(name)
    distance = category_distance(pair.original[name].kind, len(columns[0].domain))
    before, after = (column.codes.astype(np.float64) for column in columns)
    return before, after, CATEGORY, distance.start, distance.slope, 1.0
