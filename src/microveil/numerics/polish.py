"""Lowering the loss of a partition: exchanges and moves between near groups that keep every group in [k, 2k-1].

`descend` takes every improvement until none is left. `anneal` also takes steps back, with a probability that falls as
it goes on, so that it leaves poor local optima: far records are tried more often than others because most of the loss
lies with them, and a step either sends a record to the group of one of its neighbours or calls the neighbour in.
The change of the loss follows from group sums in O(d). Random numbers come from a small generator of its own, so that a
run can be cut into slices (for progress and cancelling) and gives the same result on any number of threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from microveil.numerics.compiled import kernel, threads
from microveil.numerics.mdav import mdav_groups
from microveil.numerics.random_bits import fraction, whole
from microveil.progress import Part, Progress

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_NEIGHBOURS = 60
_PICKS = 1 << 16
# temperatures, in units of the starting loss per record: where a restart begins, where a second round does, the end
_HOT, _WARM, _COLD = 10.0, 0.5, 1e-3
_SLICES = 20
# shares of the groups that a restart gives up first, so that the others have room between k and 2k-1
_SLACK = (0.0, 0.01, 0.02, 0.05)
_FINALISTS = 2


@dataclass(frozen=True)
class _Groups:
    """A partition as the kernels work on it: members by group, sizes, places within the group, sums by group."""

    labels: IntArray
    members: IntArray
    sizes: IntArray
    places: IntArray
    sums: FloatArray

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray, IntArray, FloatArray]:
        return self.labels, self.members, self.sizes, self.places, self.sums

    @classmethod
    def of(cls, columns: FloatArray, labels: IntArray, k: int) -> _Groups:
        sizes = np.bincount(labels)
        members = np.full((len(sizes), 2 * k - 1), -1, dtype=np.int64)
        places = np.empty(len(labels), dtype=np.int64)
        order = np.argsort(labels, kind="stable")
        places[order] = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        members[labels, places] = np.arange(len(labels))
        sums = np.zeros((len(sizes), columns.shape[1]))
        np.add.at(sums, labels, columns)
        return cls(labels.copy(), members, sizes.astype(np.int64), places, sums)


def polish_groups(
    columns: FloatArray, labels: IntArray, k: int, evaluations: int, rng: np.random.Generator, progress: Progress
) -> IntArray:
    """A partition with at most the loss of the one given and groups of k to 2k-1 records.

    `evaluations` steps are tried in all: half of them by restarts that begin hot, half by a second, cooler round of the
    best two. With none, the given partition only descends.
    """
    columns = np.ascontiguousarray(columns)
    start = split_large_groups(columns, labels, k)
    neighbours = nearest_neighbours(columns, _NEIGHBOURS)
    if neighbours.shape[1] == 0 or start.max() == 0 or loss_within(columns, start) == 0:
        progress(1.0, "polishing")
        return start
    results = [descend(columns, start, k, neighbours)]
    if evaluations > 0:
        search = _Search(columns, k, neighbours, rng, unit=loss_within(columns, start) / len(columns))
        starts = [dissolved(columns, results[0], k, share) for share in _SLACK]
        results += search.anneal(starts, _HOT, evaluations // 2, Part(progress, 0.0, 0.5))
        best_first = sorted(results, key=lambda made: loss_within(columns, made))
        results += search.anneal(best_first[:_FINALISTS], _WARM, evaluations // 2, Part(progress, 0.5, 1.0))
    progress(1.0, "polishing")
    return min(results, key=lambda made: loss_within(columns, made))


def loss_within(columns: FloatArray, labels: IntArray) -> float:
    """The sum of squared distances to the group means."""
    sizes = np.bincount(labels)
    means = np.column_stack([np.bincount(labels, weights=column) for column in columns.T]) / sizes[:, None]
    return float(((columns - means[labels]) ** 2).sum())


def split_large_groups(columns: FloatArray, labels: IntArray, k: int) -> IntArray:
    """Every group of 2k or more records divided, so that sizes lie in [k, 2k-1]; numbered 0, 1, ..."""
    made = np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)
    used = int(made.max()) + 1
    for group in np.flatnonzero(np.bincount(made) >= 2 * k):
        rows = np.flatnonzero(made == group)
        parts = mdav_groups(columns[rows], k)
        made[rows] = np.where(parts == 0, group, used + parts - 1)
        used += int(parts.max())
    return made


def nearest_neighbours(columns: FloatArray, count: int) -> IntArray:
    """The nearest other records of every record, nearest first."""
    from scipy.spatial import cKDTree

    count = min(count, len(columns) - 1)
    if count < 1:
        return np.empty((len(columns), 0), dtype=np.int64)
    found = cKDTree(columns).query(columns, k=count + 1, workers=threads())[1]
    # with many equal records a record need not be first among its own neighbours
    own = found == np.arange(len(columns))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.ascontiguousarray(found[~own].reshape(len(columns), count)).astype(np.int64)


def dissolved(columns: FloatArray, labels: IntArray, k: int, share: float) -> IntArray:
    """The partition without the groups that cost least to give up; their records go to the nearest groups with room."""
    made = labels.copy()
    for _ in range(int(share * (labels.max() + 1))):
        sizes = np.bincount(made)
        means = np.column_stack([np.bincount(made, weights=column) for column in columns.T]) / sizes[:, None]
        spread = np.bincount(made, weights=((columns - means[made]) ** 2).sum(axis=1))
        # dense groups of the smallest size: giving them up costs little
        group = int(np.lexsort((spread, sizes))[0])
        for record in np.flatnonzero(made == group):
            distances = ((means - columns[record]) ** 2).sum(axis=1)
            distances[(sizes >= 2 * k - 1) | (np.arange(len(sizes)) == group)] = np.inf
            to = int(np.argmin(distances))
            if not np.isfinite(distances[to]):
                return labels  # no room anywhere: leave it at that
            made[record] = to
            sizes[to] += 1
        made[made > group] -= 1
    return made


class _Search:
    """Annealing from several starts side by side."""

    def __init__(
        self, columns: FloatArray, k: int, neighbours: IntArray, rng: np.random.Generator, *, unit: float
    ) -> None:
        self.columns, self.k, self.neighbours, self.rng, self.unit = columns, k, neighbours, rng, unit
        # records to try, far ones more often: most of the loss lies with them
        far = (columns**2).sum(axis=1)
        shares = 0.3 / len(columns) + 0.7 * far / max(float(far.sum()), np.finfo(float).tiny)
        self.picks = rng.choice(len(columns), size=max(_PICKS, len(columns)), p=shares / shares.sum()).astype(np.int64)

    def anneal(self, starts: list[IntArray], hot: float, evaluations: int, progress: Progress) -> list[IntArray]:
        """One result for each start; the steps are shared alike, and each result ends with a descent."""
        states = [
            (_Groups.of(self.columns, labels, self.k), np.array([seed], dtype=np.uint64))
            for labels, seed in zip(starts, self.rng.integers(1, 2**63, size=len(starts), dtype=np.uint64), strict=True)
        ]
        steps = evaluations // len(starts) // _SLICES
        temperatures = self.unit * hot * (_COLD / hot) ** (np.arange(_SLICES + 1) / _SLICES)
        with ThreadPoolExecutor(max_workers=threads()) as pool:
            for number in range(_SLICES):

                def run(state: tuple[_Groups, npt.NDArray[np.uint64]], number: int = number) -> None:
                    groups, random_state = state
                    _anneal(
                        self.columns, *groups.arrays, self.k, self.neighbours, self.picks, steps,
                        temperatures[number], temperatures[number + 1], random_state,
                    )  # fmt: skip

                list(pool.map(run, states))
                progress((number + 1) / _SLICES, "polishing")
        return [descend(self.columns, groups.labels, self.k, self.neighbours) for groups, _ in states]


def descend(columns: FloatArray, labels: IntArray, k: int, neighbours: IntArray) -> IntArray:
    """Take the best exchange or move of each record in turn until no record has one that lowers the loss."""
    groups = _Groups.of(columns, labels, k)
    least = 1e-12 * max(float((columns**2).sum()), np.finfo(float).tiny)
    while _descend_once(columns, *groups.arrays, k, neighbours, least):
        pass
    return groups.labels


@kernel
def _descend_once(
    columns: FloatArray,
    labels: IntArray,
    members: IntArray,
    sizes: IntArray,
    places: IntArray,
    sums: FloatArray,
    k: int,
    neighbours: IntArray,
    least: float,
) -> int:
    """One pass over the records; how many steps it took."""
    taken = 0
    for i in range(columns.shape[0]):
        best, best_other, best_group = -least, -1, -1
        a = labels[i]
        for position in range(neighbours.shape[1]):
            b = labels[neighbours[i, position]]
            if b == a:
                continue
            if sizes[a] > k and sizes[b] < 2 * k - 1:
                change = _move_change(columns, sums, sizes, i, a, b)
                if change < best:
                    best, best_other, best_group = change, -1, b
            for place in range(sizes[b]):
                j = members[b, place]
                change = _swap_change(columns, sums, sizes, i, j, a, b)
                if change < best:
                    best, best_other, best_group = change, j, b
        if best_group >= 0:
            taken += 1
            if best_other >= 0:
                _swap(columns, labels, members, places, sums, i, best_other)
            else:
                _move(columns, labels, members, sizes, places, sums, i, best_group)
    return taken


@kernel
def _anneal(
    columns: FloatArray,
    labels: IntArray,
    members: IntArray,
    sizes: IntArray,
    places: IntArray,
    sums: FloatArray,
    k: int,
    neighbours: IntArray,
    picks: IntArray,
    steps: int,
    hot: float,
    cold: float,
    state: npt.NDArray[np.uint64],
) -> None:
    """Try `steps` random exchanges and moves while the temperature falls from `hot` to `cold`."""
    cooling = (cold / hot) ** (1.0 / max(1, steps))
    temperature = hot
    near = neighbours.shape[1]
    for _ in range(steps):
        temperature *= cooling
        i = picks[whole(state, picks.shape[0])]
        closeness = fraction(state)
        r = neighbours[i, int(near * closeness * closeness)]
        if fraction(state) < 0.5:
            i, r = r, i
        a, b = labels[i], labels[r]
        if a == b:
            continue
        moves = sizes[a] > k and sizes[b] < 2 * k - 1 and fraction(state) < 0.5
        if moves:
            j = -1
            change = _move_change(columns, sums, sizes, i, a, b)
        else:
            j = members[b, whole(state, sizes[b])]
            if j == r:
                continue  # the neighbour is what makes the other group worth joining
            change = _swap_change(columns, sums, sizes, i, j, a, b)
        if change <= 0.0 or fraction(state) < np.exp(-change / temperature):
            if moves:
                _move(columns, labels, members, sizes, places, sums, i, b)
            else:
                _swap(columns, labels, members, places, sums, i, j)


@kernel
def _move_change(columns: FloatArray, sums: FloatArray, sizes: IntArray, i: int, a: int, b: int) -> float:
    """How the loss changes when record i goes from group a to group b."""
    m, n = sizes[a], sizes[b]
    from_a, from_b = 0.0, 0.0
    for j in range(columns.shape[1]):
        x = columns[i, j]
        from_a += (x - sums[a, j] / m) ** 2
        from_b += (x - sums[b, j] / n) ** 2
    return float(n / (n + 1.0) * from_b - m / (m - 1.0) * from_a)


@kernel
def _swap_change(columns: FloatArray, sums: FloatArray, sizes: IntArray, i: int, j: int, a: int, b: int) -> float:
    """How the loss changes when record i of group a and record j of group b change places."""
    along_a, along_b, square = 0.0, 0.0, 0.0
    for c in range(columns.shape[1]):
        step = columns[j, c] - columns[i, c]
        along_a += sums[a, c] * step
        along_b += sums[b, c] * step
        square += step * step
    return float(-(2.0 * along_a + square) / sizes[a] + (2.0 * along_b - square) / sizes[b])


@kernel
def _move(
    columns: FloatArray,
    labels: IntArray,
    members: IntArray,
    sizes: IntArray,
    places: IntArray,
    sums: FloatArray,
    i: int,
    b: int,
) -> None:
    a = labels[i]
    last = members[a, sizes[a] - 1]
    members[a, places[i]] = last
    places[last] = places[i]
    sizes[a] -= 1
    members[b, sizes[b]] = i
    places[i] = sizes[b]
    sizes[b] += 1
    labels[i] = b
    for c in range(columns.shape[1]):
        sums[a, c] -= columns[i, c]
        sums[b, c] += columns[i, c]


@kernel
def _swap(
    columns: FloatArray, labels: IntArray, members: IntArray, places: IntArray, sums: FloatArray, i: int, j: int
) -> None:
    a, b = labels[i], labels[j]
    members[a, places[i]], members[b, places[j]] = j, i
    places[i], places[j] = places[j], places[i]
    labels[i], labels[j] = b, a
    for c in range(columns.shape[1]):
        step = columns[j, c] - columns[i, c]
        sums[a, c] += step
        sums[b, c] -= step
