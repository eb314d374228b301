"""Evolution of whole masked files: one operator in a generation, leaders, and a child that replaces only its parent.

A file of numbers has a genome of bits, the Gray codes of its values XOR those of the original's; a file of categories
is its own genome. Files are crossed at two points of their cells, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, get_args

import numpy as np

from microveil.numerics.choices import BitRange, By, Cut, Operators
from microveil.numerics.core.compiled import by_type, kernel
from microveil.numerics.core.random_bits import StateArray, fraction, whole
from microveil.numerics.evolution.categorical_measures import CategoricalMeasures, score_of
from microveil.numerics.evolution.category_files import (
    CategoryFiles,
    category_files,
    chance_of_categories,
    change_category,
    count_categories,
    cross_categories,
    measure_categories,
    save_category_counts,
    take_category_counts,
)
from microveil.numerics.evolution.exchanges import CellArray, cut_points, exchange_cells
from microveil.numerics.evolution.number_files import (
    NumberFiles,
    chance_of_numbers,
    change_number,
    count_numbers,
    cross_numbers,
    measure_numbers,
    number_files,
    save_number_sums,
    take_number_sums,
)
from microveil.numerics.evolution.selection import Weighting
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray

# the risk of a file by a linkage that is too slow to follow every change; given the file's cells
OtherLinkage = Callable[[CellArray], float]

_SELECTIONS: tuple[Weighting, ...] = get_args(Weighting)
_INVERSE, _RANGE, _RANK = 0, 1, 2
_LEAST_WEIGHT = 1e-9
_CHUNK = 100  # generations between two reports of progress


@dataclass(frozen=True)
class Rules:
    """How files evolve.

    The score is the mean of loss and risk, in which the loss has a `share`, or the greater of the two. Parents are
    drawn with weights by `selection`, the first of a crossing among the `leaders`. Cells are exchanged from a point
    drawn from all to one drawn from there to the end (`printed`), or between two points drawn alike (`symmetric`).
    A bit is flipped within the length of its genome, or within the `word` of its attribute. With the operators
    "both-..." every generation crosses a pair with one rate and mutates the children, in all cells or in one, with
    another. A child must be better than its parent, or with `accept_equal` as good.
    """

    by: By = "mean"
    share: float = 0.5
    leaders: int = 2
    selection: Weighting = "inverse"
    cut: Cut = "printed"
    bit_range: BitRange = "genome"
    operators: Operators = "one"
    crossover_rate: float = 0.9
    mutation_rate: float = 0.01
    accept_equal: bool = False


@dataclass(frozen=True)
class Evolution:
    """What came out: the files, their losses, risks and scores, those of the first population, and for each generation
    (the first population is number 0) the least, mean and greatest score; `evaluations` are the children measured."""

    cells: CellArray
    losses: FloatArray
    risks: FloatArray
    scores: FloatArray
    first_losses: FloatArray
    first_risks: FloatArray
    first_scores: FloatArray
    trajectory: FloatArray
    evaluations: int

    @property
    def best(self) -> int:
        """The file of the least score, the first of several."""
        return int(np.argmin(self.scores))


@dataclass(frozen=True)
class Grid:
    """The whole numbers that the values of each attribute are coded as: value * 10^decimals - offset; `word` is how
    many bits the greatest has. Values are kept from `low` to `high`."""

    decimals: IntArray
    offset: IntArray
    word: IntArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, original: FloatArray, population: FloatArray, decimals: IntArray, limits: FloatArray) -> Grid:
        """Numbers count from 0, or from the least value where that is negative; `limits` are the least and the
        greatest value that each attribute may have.

        >>> limits = np.array([[-np.inf], [np.inf]])
        >>> grid = Grid.of(np.array([[1.5], [-0.5]]), np.array([[[2.0], [0.0]]]), np.array([1]), limits)
        >>> grid.offset.tolist(), grid.word.tolist()
        ([-5], [5])
        """
        scale = 10.0**decimals
        low = np.minimum(original.min(axis=0), population.min(axis=(0, 1)))
        high = np.maximum(original.max(axis=0), population.max(axis=(0, 1)))
        offset = np.minimum(0, np.rint(low * scale)).astype(np.int64)
        greatest = np.rint(high * scale).astype(np.int64) - offset
        word = np.array([max(1, int(number).bit_length()) for number in greatest], dtype=np.int64)
        return cls(decimals.astype(np.int64), offset, word, limits[0], limits[1])

    def rounded(self, values: FloatArray) -> FloatArray:
        """The values nearest on the grid."""
        scale = 10.0**self.decimals
        return np.asarray(np.clip(np.rint(values * scale) / scale, self.low, self.high))


def evolve_numbers(
    original: FloatArray,
    population: FloatArray,
    grid: Grid,
    rules: Rules,
    generations: int,
    generator: np.random.Generator,
    progress: Progress,
    label: str,
    *,
    other: OtherLinkage | None = None,
    every: int = 0,
) -> Evolution:
    """Evolve masked files of numbers, shape (files, records, attributes), which are first rounded to the grid.

    With `every`, the `other` linkage is measured anew after so many generations; its last value counts till then.
    """
    files = number_files(original, grid.rounded(population))
    coded = np.rint(original * 10.0**grid.decimals).astype(np.int64) - grid.offset
    bits = Bits(coded, np.asarray(10.0**grid.decimals, dtype=np.float64), grid.offset, grid.word, grid.low, grid.high)
    return _Run(_Numbers(files, bits), len(population), rules).through(
        generations, generator, progress, label, other, every
    )


def evolve_categories(
    measures: CategoricalMeasures,
    population: IntArray,
    rules: Rules,
    generations: int,
    generator: np.random.Generator,
    progress: Progress,
    label: str,
    *,
    other: OtherLinkage | None = None,
    every: int = 0,
) -> Evolution:
    """Evolve masked files of category codes, shape (files, records, attributes)."""
    files = category_files(measures, population)
    return _Run(_Categories(files), len(population), rules).through(
        generations, generator, progress, label, other, every
    )


class Bits(NamedTuple):
    """The original as whole numbers, and how values become such numbers."""

    original: IntArray
    scale: FloatArray
    offset: IntArray
    word: IntArray
    low: FloatArray
    high: FloatArray


class _Settings(NamedTuple):
    by_max: bool
    share: float
    leaders: int
    selection: int
    symmetric: bool
    word: bool
    accept_equal: bool


class Standing(NamedTuple):
    """What each file of the population has reached, and its risk by another linkage (NaN where there is none)."""

    losses: FloatArray
    risks: FloatArray
    scores: FloatArray
    others: FloatArray


class _Numbers(NamedTuple):
    """Files of numbers, and their genomes."""

    state: NumberFiles
    bits: Bits


class _Categories(NamedTuple):
    """Files of category codes, which are their own genomes."""

    state: CategoryFiles


@dataclass(frozen=True)
class _Run:
    files: _Numbers | _Categories
    size: int
    rules: Rules

    def through(
        self,
        generations: int,
        generator: np.random.Generator,
        progress: Progress,
        label: str,
        other: OtherLinkage | None,
        every: int,
    ) -> Evolution:
        rules, cells = self.rules, self.files.state.cells[: self.size]
        settings = _Settings(
            rules.by == "max",
            rules.share,
            min(rules.leaders, self.size),
            _SELECTIONS.index(rules.selection),
            rules.cut == "symmetric",
            rules.bit_range == "word",
            rules.accept_equal,
        )
        evolve = self._with_one_operator if rules.operators == "one" or self.size == 1 else self._with_both_operators
        again = every if other is not None and every > 0 else 0
        losses, risks, scores = np.zeros((3, self.size))
        standing = Standing(losses, risks, scores, np.full(self.size, np.nan))
        self._measure(standing, cells, other if again else None)
        first = Standing(*(values.copy() for values in standing))
        random = generator.integers(0, 2**64, size=1, dtype=np.uint64)
        trajectory = np.zeros((generations + 1, 3))
        _record(trajectory, 0, standing.scores)
        done, evaluations, chunk = 0, 0, again or _CHUNK
        while done < generations:
            end = min(generations, done + chunk)
            evaluations += evolve(settings, standing, random, trajectory, done, end)
            done = end
            if again:
                self._measure(standing, cells, other)
            progress(done / generations, label)
        return Evolution(
            cells.copy(), standing.losses, standing.risks, standing.scores, first.losses, first.risks, first.scores,
            trajectory, int(evaluations),
        )  # fmt: skip

    def _measure(self, standing: Standing, cells: CellArray, other: OtherLinkage | None) -> None:
        if other is not None:
            standing.others[:] = [other(file) for file in cells]
        for slot in range(self.size):
            found = _measure(self.files.state, slot, float(standing.others[slot]))
            standing.losses[slot], standing.risks[slot] = found
            standing.scores[slot] = score_of(*found, self.rules.by, self.rules.share)

    def _with_one_operator(
        self, settings: _Settings, standing: Standing, random: StateArray, trajectory: FloatArray, begin: int, end: int
    ) -> int:
        return _evolve(self.files, settings, standing, random, trajectory, begin, end)

    def _with_both_operators(
        self, settings: _Settings, standing: Standing, random: StateArray, trajectory: FloatArray, begin: int, end: int
    ) -> int:
        """In every generation a pair is crossed with one rate and its children are mutated with another."""
        for generation in range(begin, end):
            one, other = _select_pair(settings, standing.scores, random)
            self._make_children(settings, one, other, random)
            for child, parent in ((self.size, one), (self.size + 1, other)):
                loss, risk = _measure(self.files.state, child, float(standing.others[parent]))
                if _accepted(settings, standing, parent, loss, risk):
                    self.files.state.cells[parent] = self.files.state.cells[child]
                    self.files.state.chances[parent] = self.files.state.chances[child]
                    _take_sums(self.files.state, parent, child)
            _record(trajectory, generation + 1, standing.scores)
        return 2 * (end - begin)

    def _make_children(self, settings: _Settings, one: int, other: int, random: StateArray) -> None:
        """Both children in the spare slots, measured anew."""
        cells, chances = self.files.state.cells, self.files.state.chances
        _, n, d = cells.shape
        first, last = 0, -1
        if fraction(random) < self.rules.crossover_rate:
            first, last = cut_points(n * d, settings.symmetric, random)
        exchanged = np.zeros(n * d, dtype=np.bool_)
        exchanged[first : last + 1] = True
        for child, parent, donor in ((self.size, one, other), (self.size + 1, other, one)):
            cells[child] = np.where(exchanged.reshape(n, d), cells[donor], cells[parent])
            for cell in self._cells_to_mutate(n * d, random):
                r, j = cell // d, cell % d
                cells[child, r, j] = _mutated(self.files, child, r, j, settings.word, random)
            kept, given = ((cells[child] == cells[origin]).all(axis=1) for origin in (parent, donor))
            chances[child] = np.where(kept, chances[parent], chances[donor])
            for r in np.flatnonzero(~kept & ~given).tolist():
                chances[child, r] = _chance(self.files.state, r, cells[child, r])
            _count(self.files.state, child)

    def _cells_to_mutate(self, cells: int, random: StateArray) -> list[int]:
        if self.rules.operators == "both-all-cells":
            found: list[int] = _drawn_cells(cells, self.rules.mutation_rate, random).tolist()
            return found
        return [whole(random, cells)] if fraction(random) < self.rules.mutation_rate else []


# --- one generation after the other --------------------------------------------------------------------------------


@kernel
def _mutated_number(files: _Numbers, slot: int, r: int, j: int, word: bool, random: StateArray) -> float:
    return mutated_number(files.bits, r, j, files.state.cells[slot, r, j], word, random)


@kernel
def _mutated_category(files: _Categories, slot: int, r: int, j: int, word: bool, random: StateArray) -> int:
    """Another category, if there is one."""
    code, size = files.state.cells[slot, r, j], files.state.sizes[j]
    return np.int32(other_category(code, size, random)) if size > 1 else code  # type: ignore[return-value]


_mutated = by_type({_Numbers: _mutated_number, _Categories: _mutated_category})
_measure: Callable[[NumberFiles | CategoryFiles, int, float], tuple[float, float]] = by_type(
    {NumberFiles: measure_numbers, CategoryFiles: measure_categories}
)
_change = by_type({NumberFiles: change_number, CategoryFiles: change_category})
_save_sums = by_type({NumberFiles: save_number_sums, CategoryFiles: save_category_counts})
_cross = by_type({NumberFiles: cross_numbers, CategoryFiles: cross_categories})
_chance = by_type({NumberFiles: chance_of_numbers, CategoryFiles: chance_of_categories})
_count = by_type({NumberFiles: count_numbers, CategoryFiles: count_categories})
_take_sums = by_type({NumberFiles: take_number_sums, CategoryFiles: take_category_counts})


@kernel
def _take_children(
    state: NumberFiles | CategoryFiles, one: int, other: int, first: int, last: int, into_one: bool, into_other: bool
) -> None:
    """Give two files that were crossed the cells and sums of their children, each only if its child is accepted."""
    child = len(state.cells) - 2
    exchange_cells(state.cells, state.chances, one, other, first, last, into_one, into_other)
    if into_one:
        _take_sums(state, one, child)
    if into_other:
        _take_sums(state, other, child + 1)


@kernel
def _evolve(
    files: _Numbers | _Categories,
    settings: _Settings,
    standing: Standing,
    random: StateArray,
    trajectory: FloatArray,
    begin: int,
    end: int,
) -> int:
    """Either one cell of one file is changed, or a leader and another file exchange cells; a child replaces its parent
    only if it is better."""
    state, evaluations = files.state, 0
    n, d, size = state.original.shape[0], state.original.shape[1], len(standing.scores)
    for generation in range(begin, end):
        if size == 1 or fraction(random) < 0.5:
            slot, cell = _select(settings, standing.scores, False, -1, random), whole(random, n * d)
            r, j = cell // d, cell % d
            value, credit = state.cells[slot, r, j], state.chances[slot, r]
            new = _mutated(files, slot, r, j, settings.word, random)
            if new != value:
                _save_sums(state, slot, size)
                _change(state, slot, r, j, new, -1)
                loss, risk = _measure(state, slot, standing.others[slot])
                evaluations += 1
                if not _accepted(settings, standing, slot, loss, risk):
                    _change(state, slot, r, j, value, credit)
                    _save_sums(state, size, slot)
        else:
            one, other = _select_pair(settings, standing.scores, random)
            first, last = cut_points(n * d, settings.symmetric, random)
            _cross(state, one, other, first, last, size, size + 1)
            loss, risk = _measure(state, size, standing.others[one])
            into_one = _accepted(settings, standing, one, loss, risk)
            loss, risk = _measure(state, size + 1, standing.others[other])
            into_other = _accepted(settings, standing, other, loss, risk)
            _take_children(state, one, other, first, last, into_one, into_other)
            evaluations += 2
        _record(trajectory, generation + 1, standing.scores)
    return evaluations


@kernel
def _accepted(settings: _Settings, standing: Standing, parent: int, loss: float, risk: float) -> bool:
    """Whether a child is better than its parent; then the parent's standing is the child's."""
    score = _score(settings, loss, risk)
    if not (score < standing.scores[parent] or (settings.accept_equal and score == standing.scores[parent])):
        return False
    standing.losses[parent], standing.risks[parent], standing.scores[parent] = loss, risk, score
    return True


@kernel
def _score(settings: _Settings, loss: float, risk: float) -> float:
    if settings.by_max:
        return max(loss, risk)
    return settings.share * loss + (1.0 - settings.share) * risk


@kernel
def _record(trajectory: FloatArray, generation: int, scores: FloatArray) -> None:
    trajectory[generation, 0] = scores.min()
    trajectory[generation, 1] = scores.mean()
    trajectory[generation, 2] = scores.max()


# --- selection -----------------------------------------------------------------------------------------------------


@kernel
def _select_pair(settings: _Settings, scores: FloatArray, random: StateArray) -> tuple[int, int]:
    """One of the leaders, and one of all the others."""
    one = _select(settings, scores, True, -1, random)
    return one, _select(settings, scores, False, one, random)


@kernel
def _select(settings: _Settings, scores: FloatArray, among_leaders: bool, without: int, random: StateArray) -> int:
    """A file drawn with a weight that depends on its score."""
    weights = selection_weights(scores, settings.selection)
    if among_leaders:
        weights[_ranks(scores) >= settings.leaders] = 0.0
    if without >= 0:
        weights[without] = 0.0
    drawn = fraction(random) * weights.sum()
    last = 0
    for i in range(len(weights)):
        if weights[i] > 0.0:
            last = i
            if drawn < weights[i]:
                break
            drawn -= weights[i]
    return last


@kernel
def _ranks(scores: FloatArray) -> IntArray:
    """How many are better; of equal scores the first is better."""
    ranks = np.zeros(len(scores), dtype=np.int64)
    for i in range(len(scores)):
        for k in range(len(scores)):
            ranks[i] += scores[k] < scores[i] or (scores[k] == scores[i] and k < i)
    return ranks


@kernel
def selection_weights(scores: FloatArray, selection: int) -> FloatArray:
    """By number: one over the score, the distance to the greatest score, the rank from the worst, or the score itself,
    as it is printed."""
    if selection == _INVERSE:
        return 1.0 / (scores + _LEAST_WEIGHT)
    if selection == _RANGE:
        return np.asarray(scores.max() - scores + _LEAST_WEIGHT)
    if selection == _RANK:
        return (len(scores) - _ranks(scores)).astype(np.float64)
    return scores + _LEAST_WEIGHT


# --- operators -----------------------------------------------------------------------------------------------------


@kernel
def other_category(code: int, size: int, random: StateArray) -> int:
    """Any category but this one."""
    drawn = whole(random, size - 1)
    return drawn + 1 if drawn >= code else drawn


@kernel
def mutated_number(bits: Bits, r: int, j: int, value: float, word: bool, random: StateArray) -> float:
    """The value with one bit of its genome flipped, from the length of the genome or from the whole word.

    The genome is the Gray code of the value XOR that of the original. So it is as long as the two numbers XOR each
    other, and a flipped bit of a Gray code flips that bit and all below it of the number.
    """
    number = int(np.rint(value * bits.scale[j])) - bits.offset[j]
    length = bits.word[j]
    if not word:
        length, rest = 0, number ^ bits.original[r, j]
        while rest > 0:
            length += 1
            rest >>= 1
    bit = whole(random, max(1, length))
    changed = number ^ ((2 << bit) - 1)
    return float(min(bits.high[j], max(bits.low[j], (changed + bits.offset[j]) / bits.scale[j])))


@kernel
def _drawn_cells(cells: int, rate: float, random: StateArray) -> IntArray:
    """The cells that are mutated when each is with this rate."""
    drawn = np.empty(cells, dtype=np.bool_)
    for cell in range(cells):
        drawn[cell] = fraction(random) < rate
    return np.flatnonzero(drawn)
