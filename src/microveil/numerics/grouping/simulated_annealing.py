"""Lowering the loss of a partition: exchanges and moves between near groups that keep every group in [k, 2k-1].

`descend` takes every improvement until none is left. `anneal` also takes steps back, with a probability that falls as
it goes on, so that it leaves poor local optima: far records are tried more often than others because most of the loss
lies with them, and a step either sends a record to the group of one of its neighbours or calls the neighbour in.
The change of the loss follows from group sums in O(d). Random numbers come from a small generator of its own, so that a
run can be cut into slices (for progress and cancelling) and gives the same result on any number of threads.

A long table is polished in chunks of near groups, which fit into the processor's cache and have few neighbours to find.
The chunks are cut anew in every round, elsewhere, so that groups on both sides of a border meet in the next round; and
because a chunk keeps what it had unless the search finds better, no round can raise the loss.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel, over_chunks, threads
from microveil.numerics.core.random_bits import fraction, whole
from microveil.numerics.grouping.centroid_groups import split_large
from microveil.numerics.grouping.groups import group_centres, joined_labels
from microveil.numerics.grouping.steps import swap_change, swap_sums
from microveil.progress import Part, Progress, parts, silent
from microveil.typing import FloatArray, IntArray

ShortArray = npt.NDArray[np.int32]  # of record numbers: what fits into the cache decides how long a step takes

_NEIGHBOURS = 60
_PICKS = 1 << 16
# temperatures, in units of the starting loss per record: where a restart begins, where a second round does, the end
_HOT, _WARM, _COLD = 10.0, 0.5, 1e-3
_SLICES = 20
# shares of the groups that a restart gives up first, so that the others have room between k and 2k-1
_SLACK = (0.0, 0.01, 0.02, 0.05)
_FINALISTS = 2
_FEW_STEPS = 5_000  # for each record: with fewer, one run that starts cooler finds more than restarts
_LARGEST_CHUNK = 3_000
_FEWEST_ROUNDS, _MOST_ROUNDS = 2, 10
_STEPS_OF_A_ROUND = 4_000  # for each record, once there are more rounds than the fewest
_CUTS = (1 / 2, 1 / 3, 2 / 3, 2 / 5, 3 / 5)  # where the rounds cut, so that no border is one for long
_MOST_PASSES = 200  # of a descent; it comes to rest long before
# What `best` spends by itself. A step on d columns was measured to take about 1.6 (40 + d) nanoseconds where all
# records fit into the fast cache, and twice as long in a chunk of the largest size. So this many units of 1.6
# nanoseconds are some 40 seconds of one processor or 20 of two, whatever the number of records and columns. The rest of
# the work (neighbours, descents) grows in proportion to the records, while that of MDAV grows faster.
_UNITS_BY_DEFAULT = 23_500_000_000
_MOST_STEPS_BY_DEFAULT = 300_000  # for each record: beyond, hardly anything is gained


class _Groups(NamedTuple):
    """A partition as the kernels work on it: members by group, sizes, slots within the group, sums by group."""

    labels: IntArray
    members: IntArray
    sizes: IntArray
    slots: IntArray
    sums: FloatArray

    @classmethod
    def of(cls, columns: FloatArray, labels: IntArray, k: int) -> _Groups:
        sizes = np.bincount(labels)
        members = np.full((len(sizes), 2 * k - 1), -1, dtype=np.int64)
        slots = np.empty(len(labels), dtype=np.int64)
        order = np.argsort(labels, kind="stable")
        slots[order] = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        members[labels, slots] = np.arange(len(labels))
        sums = np.zeros((len(sizes), columns.shape[1]))
        np.add.at(sums, labels, columns)
        return cls(labels.copy(), members, sizes.astype(np.int64), slots, sums)


def default_steps(records: int, columns: int, runs: int = 1) -> int:
    """How many steps for each record `best` tries by default, where so many runs share the time.

    >>> [default_steps(n, 13) for n in (1000, 10_000, 1_000_000)]
    [300000, 22169, 221]
    """
    units = (40 + columns) * (1.0 + min(records, _LARGEST_CHUNK) / _LARGEST_CHUNK)
    return max(1, min(_MOST_STEPS_BY_DEFAULT, int(_UNITS_BY_DEFAULT / (units * max(1, records) * max(1, runs)))))


def polish_groups(
    columns: FloatArray,
    labels: IntArray,
    k: int,
    evaluations: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    largest_chunk: int = _LARGEST_CHUNK,
) -> IntArray:
    """A partition with at most the loss of the one given and groups of k to 2k-1 records.

    `evaluations` steps are tried in all. With none, the given partition only descends. More than `largest_chunk`
    records are polished in chunks.
    """
    columns = np.ascontiguousarray(columns)
    start = split_large(columns, numbered(labels), k)
    made = start
    if start.max() > 0 and loss_within(columns, start) > 0:
        if len(columns) <= max(largest_chunk, 4 * k):
            made = _polished(columns, start, k, evaluations, rng, progress)
        else:
            made = _polished_in_chunks(columns, start, k, evaluations, rng, progress, max(largest_chunk, 4 * k))
    progress(1.0, "polishing")
    return min((start, made), key=lambda found: loss_within(columns, found))


def _polished(
    columns: FloatArray, start: IntArray, k: int, evaluations: int, rng: np.random.Generator, progress: Progress
) -> IntArray:
    """With many steps, half of them go to restarts that begin hot, half to a second, cooler round of the best two.

    With few, one run takes them all.
    """
    neighbours = nearest_neighbours(columns, _NEIGHBOURS, threads())
    results = [descend(columns, start, k, neighbours)]
    if evaluations > 0:
        search = _Search(columns, k, neighbours, rng, unit=loss_within(columns, start) / len(columns))
        if evaluations < _FEW_STEPS * len(columns):
            given_up = dissolved(columns, results[0], k, _SLACK[-1])
            results += search.anneal([given_up], _heat(evaluations / len(columns)), evaluations, progress)
        else:
            starts = [dissolved(columns, results[0], k, share) for share in _SLACK]
            results += search.anneal(starts, _HOT, evaluations // 2, Part(progress, 0.0, 0.5))
            best_first = sorted(results, key=lambda made: loss_within(columns, made))
            results += search.anneal(best_first[:_FINALISTS], _WARM, evaluations // 2, Part(progress, 0.5, 1.0))
    return min(results, key=lambda made: loss_within(columns, made))


def _heat(steps: float) -> float:
    """The temperature at which a run with so many steps for each record begins: what they suffice to cool down."""
    return float(min(_HOT, max(0.3, 1.5 * (steps / 1000) ** 0.4)))


def _polished_in_chunks(
    columns: FloatArray,
    start: IntArray,
    k: int,
    evaluations: int,
    rng: np.random.Generator,
    progress: Progress,
    largest: int,
) -> IntArray:
    made = start
    rounds = max(_FEWEST_ROUNDS, min(_MOST_ROUNDS, evaluations // (_STEPS_OF_A_ROUND * len(columns))))
    for number, part in enumerate(parts(progress, rounds)):
        chunks = chunks_of_groups(columns, made, largest, _CUTS[number % len(_CUTS)])
        slack = _SLACK[-1] if number == 0 else 0.0  # room that is made once stays
        made = _round(columns, made, chunks, k, evaluations // rounds, slack, rng, part)
    return made


def _round(
    columns: FloatArray,
    labels: IntArray,
    chunks: list[IntArray],
    k: int,
    evaluations: int,
    slack: float,
    rng: np.random.Generator,
    progress: Progress,
) -> IntArray:
    """Every chunk polished by itself, with more of the steps where more of the loss lies."""
    sizes = np.array([len(rows) for rows in chunks])
    lost = np.array([loss_within(columns[rows], numbered(labels[rows])) for rows in chunks])
    shares = 0.3 * sizes / len(columns) + 0.7 * lost / max(float(lost.sum()), np.finfo(float).tiny)
    seeds = rng.integers(0, 2**63, size=len(chunks), dtype=np.int64)

    def polished(chunk: int, _: int) -> IntArray:
        rows, steps = chunks[chunk], int(evaluations * shares[chunk])
        own = np.random.default_rng(int(seeds[chunk]))
        return _polished_chunk(columns[rows], numbered(labels[rows]), k, steps, slack, own)

    return joined_labels(chunks, over_chunks(polished, len(chunks), 1, progress, "polishing"))


def _polished_chunk(
    columns: FloatArray, start: IntArray, k: int, evaluations: int, slack: float, rng: np.random.Generator
) -> IntArray:
    lost = loss_within(columns, start)
    if start.max() == 0 or lost == 0:
        return start
    neighbours = nearest_neighbours(columns, min(2 * _NEIGHBOURS, max(_NEIGHBOURS // 2, 6 * k)))
    results = [start, descend(columns, start, k, neighbours)]
    if evaluations > 0:
        search = _Search(columns, k, neighbours, rng, unit=lost / len(columns))
        begin = dissolved(columns, results[1], k, slack)
        results += search.anneal([begin], _heat(evaluations / len(columns)), evaluations, silent)
    return min(results, key=lambda made: loss_within(columns, made))


def chunks_of_groups(columns: FloatArray, labels: IntArray, largest: int, cut: float) -> list[IntArray]:
    """The records in chunks of whole groups that lie near each other, at most `largest` where groups allow it.

    A chunk is cut where this share of its groups lies below, along the attribute in which their means differ most.
    """
    sizes = np.bincount(labels)
    means = group_centres(columns, labels, len(sizes))
    of_group = np.empty(len(sizes), dtype=np.int64)
    waiting, used = [np.arange(len(sizes))], 0
    while waiting:
        groups = waiting.pop()
        if sizes[groups].sum() <= largest or len(groups) < 2:
            of_group[groups] = used
            used += 1
            continue
        widest = int(np.argmax(np.var(means[groups], axis=0)))
        order = groups[np.argsort(means[groups, widest], kind="stable")]
        below = min(max(1, round(cut * len(order))), len(order) - 1)
        waiting += [order[below:], order[:below]]
    order = np.argsort(of_group[labels], kind="stable")
    return np.split(order, np.cumsum(np.bincount(of_group[labels], minlength=used))[:-1])


def numbered(labels: IntArray) -> IntArray:
    """The labels as 0, 1, ..."""
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)


def loss_within(columns: FloatArray, labels: IntArray) -> float:
    """The sum of squared distances to the group means."""
    return float(((columns - group_centres(columns, labels, int(labels.max()) + 1)[labels]) ** 2).sum())


def nearest_neighbours(columns: FloatArray, count: int, workers: int = 1) -> ShortArray:
    """The nearest other records of every record, nearest first."""
    from scipy.spatial import cKDTree

    count = min(count, len(columns) - 1)
    if count < 1:
        return np.empty((len(columns), 0), dtype=np.int32)
    found = cKDTree(columns).query(columns, k=count + 1, workers=workers)[1]
    # with many equal records a record need not be first among its own neighbours
    own = found == np.arange(len(columns))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.ascontiguousarray(found[~own].reshape(len(columns), count), dtype=np.int32)


def dissolved(columns: FloatArray, labels: IntArray, k: int, share: float) -> IntArray:
    """The partition without the groups that cost least to give up; their records go to the nearest groups with room."""
    made = labels.copy()
    for _ in range(int(share * (labels.max() + 1))):
        sizes = np.bincount(made)
        means = group_centres(columns, made, len(sizes))
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
        self, columns: FloatArray, k: int, neighbours: ShortArray, rng: np.random.Generator, *, unit: float
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
                    hot, cold = temperatures[number], temperatures[number + 1]
                    _anneal(self.columns, groups, self.k, self.neighbours, self.picks, steps, hot, cold, random_state)

                list(pool.map(run, states))
                progress((number + 1) / _SLICES, "polishing")
        return [descend(self.columns, groups.labels, self.k, self.neighbours) for groups, _ in states]


def descend(columns: FloatArray, labels: IntArray, k: int, neighbours: ShortArray) -> IntArray:
    """Take the best exchange or move of each record in turn until no record has one that lowers the loss."""
    groups = _Groups.of(columns, labels, k)
    least = 1e-12 * max(float((columns**2).sum()), np.finfo(float).tiny)
    clock = np.ones(1, dtype=np.int64)
    asked = np.zeros(len(columns), dtype=np.int64)
    changed = np.ones(len(groups.sizes), dtype=np.int64)
    for _ in range(_MOST_PASSES):
        if not _descend_once(columns, groups, k, neighbours, least, clock, asked, changed):
            break
    return groups.labels


@kernel
def _descend_once(
    columns: FloatArray,
    groups: _Groups,
    k: int,
    neighbours: ShortArray,
    least: float,
    clock: IntArray,
    asked: IntArray,
    changed: IntArray,
) -> int:
    """One pass over the records; how many steps it took.

    `asked` is when each record was last found to have no step, `changed` when each group was last changed: two groups
    that have not changed since need not be asked again.
    """
    labels, members, sizes, sums = groups.labels, groups.members, groups.sizes, groups.sums
    taken = 0
    seen = np.full(sizes.shape[0], -1, dtype=np.int64)
    for i in range(columns.shape[0]):
        best, best_other, best_group = -least, -1, -1
        a = labels[i]
        for position in range(neighbours.shape[1]):
            b = labels[neighbours[i, position]]
            if b == a or seen[b] == i or max(changed[a], changed[b]) <= asked[i]:
                continue
            seen[b] = i
            if sizes[a] > k and sizes[b] < 2 * k - 1:
                change = _move_change(columns, sums, sizes, i, a, b)
                if change < best:
                    best, best_other, best_group = change, -1, b
            for slot in range(sizes[b]):
                j = members[b, slot]
                change = swap_change(columns, sums, i, j, a, b, sizes[a], sizes[b])
                if change < best:
                    best, best_other, best_group = change, j, b
        if best_group < 0:
            asked[i] = clock[0]
        else:
            taken += 1
            clock[0] += 1
            changed[a] = changed[best_group] = clock[0]
            if best_other >= 0:
                _swap(columns, groups, i, best_other)
            else:
                _move(columns, groups, i, best_group)
    return taken


@kernel
def _anneal(
    columns: FloatArray,
    groups: _Groups,
    k: int,
    neighbours: ShortArray,
    picks: IntArray,
    steps: int,
    hot: float,
    cold: float,
    state: npt.NDArray[np.uint64],
) -> None:
    """Try `steps` random exchanges and moves while the temperature falls from `hot` to `cold`."""
    labels, members, sizes, sums = groups.labels, groups.members, groups.sizes, groups.sums
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
            change = swap_change(columns, sums, i, j, a, b, sizes[a], sizes[b])
        if change <= 0.0 or fraction(state) < np.exp(-change / temperature):
            if moves:
                _move(columns, groups, i, b)
            else:
                _swap(columns, groups, i, j)


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
def _move(columns: FloatArray, groups: _Groups, i: int, b: int) -> None:
    members, sizes, slots, sums = groups.members, groups.sizes, groups.slots, groups.sums
    a = groups.labels[i]
    last = members[a, sizes[a] - 1]
    members[a, slots[i]] = last
    slots[last] = slots[i]
    sizes[a] -= 1
    members[b, sizes[b]] = i
    slots[i] = sizes[b]
    sizes[b] += 1
    groups.labels[i] = b
    for c in range(columns.shape[1]):
        sums[a, c] -= columns[i, c]
        sums[b, c] += columns[i, c]


@kernel
def _swap(columns: FloatArray, groups: _Groups, i: int, j: int) -> None:
    labels, members, slots = groups.labels, groups.members, groups.slots
    a, b = labels[i], labels[j]
    members[a, slots[i]], members[b, slots[j]] = j, i
    slots[i], slots[j] = slots[j], slots[i]
    labels[i], labels[j] = b, a
    swap_sums(columns, groups.sums, i, j, a, b)
