"""Clustering-based loss: how far a clustering of the release differs from one of the original."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from microveil.comparison.columns import Columns
from microveil.comparison.drawing import in_drawn_order
from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure, Scope
from microveil.microdata.distances import ORDINAL_DISTANCES, OrdinalDistance, category_distance
from microveil.microdata.schema import KINDS
from microveil.numerics.clustering.c_medians import Clusters, c_medians, c_medians_from
from microveil.numerics.clustering.k_means import k_means, k_means_from
from microveil.numerics.clustering.partition_similarity import PairCounts
from microveil.numerics.neighbours.mixed_distance import MEDIAN, MODE, Axes
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.randomness import PublicStreams
from microveil.typing import FloatArray, IntArray

_SAMPLES = 5  # of a long file
_INDICES = ("rand", "jaccard", "wallace")


@dataclass(frozen=True)
class _Tables:
    """Both tables as matrices in which the same distances hold; with axes for medians, without them for means."""

    before: FloatArray
    after: FloatArray
    axes: Axes | None

    def of_records(self, records: IntArray) -> _Tables:
        """Some records, in an order that depends on their content alone, so that the order of the files is nothing."""
        before, after = self.before[records], self.after[records]
        order = np.lexsort((*after.T, *before.T))
        return _Tables(before[order], after[order], self.axes)

    def best_of(self, clusters: int, starts: int, rng: np.random.Generator, progress: Progress) -> Clusters:
        """The best of several clusterings of the original."""
        if self.axes is None:
            return k_means(self.before, clusters, starts, rng, progress, Clustering.name)
        return c_medians(self.before, self.axes, clusters, starts, rng, progress, Clustering.name)

    def run(self, rows: FloatArray, centres: FloatArray) -> Clusters:
        if self.axes is None:
            return k_means_from(rows, centres)
        return c_medians_from(rows, self.axes, centres)


@parameterised
class Clustering(LossMeasure):
    """The original is clustered with several starts; the first centres of the best run are used once more on the
    release, and the two partitions compared. `value` is 100 times 1 less the index of Rand, Jaccard or Wallace, or the
    mean of the three; the details have the indices as percentages.

    Numbers alone are clustered around means (k-means, standardised as in the original), other tables around medians
    and modes (c-medians, with categories at the distances of `dbil`, and numbers at their difference over the range).
    A small change can lead to another optimum: `repeats` takes the mean over several clusterings of the original. Of
    long files five samples are drawn, and the loss is the mean of theirs; `standard_error` is its error, in its own
    unit, and `sampled` the number of records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 21, 22, 60, 61, 62]})
    >>> release = Microdata.of({"age": [20, 21, 50, 60, 61, 62]})
    >>> loss = Clustering(clusters=2).measure(people, release)
    >>> round(loss.value, 3), round(loss.details["rand"], 3)
    (42.389, 66.667)
    """

    name: ClassVar[str] = "clustering"
    family: ClassVar[str] = "clustering"
    summary: ClassVar[str] = "difference between clusterings of the original and of the release"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = (
        "pairs of records that are in one cluster before masking and in two after it, or the reverse; lower is better"
    )
    scope: ClassVar[Scope] = "specific"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "a missing cell takes the mean or median of its attribute, and differs from cells that are present by an "
        "indicator of missing cells"
    )
    source: ClassVar[str] = "Marés (2013), sections 2.5 and 5.4.3, Eq. 5.3; Rand (1971), Wallace (1983)"

    clusters: int = parameter(default=10, help="number of clusters", ge=1, le=1_000_000)
    method: Literal["c-medians", "k-means"] | None = parameter(
        default=None, help="around medians and modes, or around means; unset: means where all attributes are numeric"
    )
    index: Literal["mean", "rand", "jaccard", "wallace"] = parameter(
        default="mean", help="index of similarity of two partitions, or the mean of the three"
    )
    starts: int = parameter(
        default=20, help="number of runs on the original, of which the best is taken", ge=1, le=10_000
    )
    repeats: int = parameter(
        default=1, help="number of clusterings of the original whose losses are averaged", ge=1, le=10_000
    )
    ordinal_distance: OrdinalDistance = parameter(default="inclusive", help=f"c-medians: {ORDINAL_DISTANCES}")
    sample: int | None = parameter(
        default=25_000,
        help="largest number of records, in five samples drawn at random where there are more; none: all",
        ge=10,
        le=MOST_RECORDS,
    )
    seed: int = parameter(default=0, help="seed of the samples and of the initial centres", ge=0, le=LARGEST_SEED)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        columns = Columns.of(pair, attributes)
        by_means = self.method == "k-means" if self.method else all(kind == "numeric" for kind in columns.kinds)
        tables = _for_means(columns) if by_means else _for_medians(columns, self.ordinal_distance)
        samples = self._samples(columns)
        runs = [(sample, repeat) for sample in samples for repeat in range(self.repeats)]
        found = np.empty((len(runs), len(_INDICES)))
        made = np.empty(len(runs))
        for run, part in enumerate(parts(progress, len(runs))):
            sample, repeat = runs[run]
            rng = PublicStreams(self.seed, repeat).generator(self.name)
            counts, made[run] = self._compared(tables.of_records(sample), rng, part)
            found[run] = [getattr(counts, name) for name in _INDICES]
        indices = dict(zip(_INDICES, found.mean(axis=0).tolist(), strict=True))
        alike = found.mean(axis=1) if self.index == "mean" else found[:, _INDICES.index(self.index)]
        details = {name: 100 * index for name, index in indices.items()}
        details |= {"clusters": float(made.mean()), "sampled": float(sum(map(len, samples)))}
        if len(samples) > 1:
            by_sample = alike.reshape(len(samples), -1).mean(axis=1)
            details["standard_error"] = 100 * float(by_sample.std(ddof=1) / np.sqrt(len(samples)))
        same = bool((found == 1.0).all())  # the mean of three ones is rounded
        return Loss.of(self.name, 0.0 if same else 1.0 - float(alike.mean()), attributes, details=details)

    def _samples(self, columns: Columns) -> list[IntArray]:
        """All records; of a long file some of them, divided, so that the parts show how far chance goes."""
        records = columns.before.shape[1]
        if self.sample is None or records <= self.sample:
            return [np.arange(records)]
        order = in_drawn_order(np.vstack([columns.before, columns.after]), self.seed, self.name)
        return np.array_split(order[: self.sample], _SAMPLES)

    def _compared(self, tables: _Tables, rng: np.random.Generator, progress: Part) -> tuple[PairCounts, int]:
        """The pairs of both partitions, and the number of clusters of the original."""
        best = tables.best_of(self.clusters, self.starts, rng, Part(progress, 0.0, 0.8))
        original, released = (tables.run(rows, best.initial) for rows in (tables.before, tables.after))
        progress(1.0, self.name)
        return PairCounts.of(original.labels, released.labels), len(original.centres)


def _for_means(columns: Columns) -> _Tables:
    """Numbers and codes of ordered categories standardised as in the original, categories without order as indicators;
    missing is 0."""
    sides: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    for j, kind in enumerate(columns.kinds):
        both = columns.before[j][:, None], columns.after[j][:, None]
        if kind not in ("numeric", "ordinal"):
            codes = np.unique(np.concatenate(both))
            both = both[0] == codes[~np.isnan(codes)], both[1] == codes[~np.isnan(codes)]
        scaling = Scaling.of(np.asarray(both[0], dtype=np.float64))
        for side, cells in zip(sides, both, strict=True):
            side.append(np.nan_to_num(scaling.apply(np.asarray(cells, dtype=np.float64))))
    before, after = (np.hstack([*side, *_states(columns, of)]) for side, of in zip(sides, (0, 1), strict=True))
    return _Tables(before, after, None)


def _for_medians(columns: Columns, form: OrdinalDistance) -> _Tables:
    """Cells as they are, with the axes that distances are taken on; missing cells are put in the middle."""
    sides: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    axes: list[tuple[float, float, int]] = []
    for j, kind in enumerate(columns.kinds):
        present = np.sort(columns.before[j][~np.isnan(columns.before[j])])
        middle = present[(len(present) - 1) // 2] if len(present) else 0.0
        for side, cells in zip(sides, (columns.before[j], columns.after[j]), strict=True):
            side.append(np.where(np.isnan(cells), middle, cells)[:, None])
        if kind == "numeric":
            width = float(present[-1] - present[0]) if len(present) else 0.0
            axes.append((0.0, width if width > 0 else 1.0, MEDIAN))
        else:
            away = category_distance(kind, columns.sizes[j], form)
            # whole numbers, which a distance is divided by only once
            start, size = (round(away.start / away.slope), round(1 / away.slope)) if away.slope > 0 else (0, 0)
            axes.append((float(start), float(size), MEDIAN if kind == "ordinal" else MODE))
    states = _states(columns, 0), _states(columns, 1)
    axes += [(0.0, 0.0, MODE)] * len(states[0])
    before, after = (np.hstack([*side, *state]) for side, state in zip(sides, states, strict=True))
    offset, sizes, centre = (np.array(entries, dtype=np.float64) for entries in zip(*axes, strict=True))
    return _Tables(before, after, Axes(offset, sizes, centre.astype(np.int64)))


def _states(columns: Columns, side: int) -> list[FloatArray]:
    """A column that says where cells are missing, for each attribute in which any are missing in either table."""
    both = columns.before, columns.after
    missing = [np.isnan(table) for table in both]
    return [
        missing[side][j].astype(np.float64)[:, None] for j in range(len(both[0])) if any(m[j].any() for m in missing)
    ]
