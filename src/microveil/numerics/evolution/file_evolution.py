"""Evolution of whole masked files: one operator in a generation, leaders, and a child that replaces only its parent.

A file of numbers has a genome of bits, the Gray codes of its values XOR those of the original's; a file of categories
is its own genome. Files are crossed at two points of their cells, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.random_bits import StateArray, fraction, whole
from microveil.numerics.evolution.categorical_measures import By, CategoricalMeasures
from microveil.numerics.evolution.category_files import (
    CategoryFiles,
    category_files,
    change_category,
    count_categories,
    cross_categories,
    measure_categories,
    take_category_counts,
)
from microveil.numerics.evolution.link_credits import link_credit
from microveil.numerics.evolution.number_files import (
    NumberFiles,
    change_number,
    count_numbers,
    cross_numbers,
    measure_numbers,
    number_files,
    take_number_sums,
)
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

Selection = Literal["inverse", "range", "rank", "literal_eq_3_3"]
Cut = Literal["printed", "symmetric"]
BitRange = Literal["genome", "word"]
Operators = Literal["one", "both-all-cells", "both-one-cell"]
# the risk of a file by a linkage that is too slow to follow every change; given the file's cells
OtherLinkage = Callable[[FloatArray | IntArray], float]

_SELECTIONS: tuple[Selection, ...] = ("inverse", "range", "rank", "literal_eq_3_3")
_OPERATORS: tuple[Operators, ...] = ("one", "both-all-cells", "both-one-cell")
_INVERSE, _RANGE, _RANK = 0, 1, 2
_ONE, _ALL_CELLS = 0, 1
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
    selection: Selection = "inverse"
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

    cells: FloatArray | IntArray
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
    def of(cls, original: FloatArray, population: FloatArray, decimals: IntArray, clamp: BoolArray | bool) -> Grid:
        """Numbers count from 0, or from the least value where that is negative, and are kept within the original's
        range where they are clamped.

        >>> grid = Grid.of(np.array([[1.5], [-0.5]]), np.array([[[2.0], [0.0]]]), np.array([1]), False)
        >>> grid.offset.tolist(), grid.word.tolist()
        ([-5], [5])
        """
        scale = 10.0**decimals
        low = np.minimum(original.min(axis=0), population.min(axis=(0, 1)))
        high = np.maximum(original.max(axis=0), population.max(axis=(0, 1)))
        offset = np.minimum(0, np.rint(low * scale)).astype(np.int64)
        greatest = np.rint(high * scale).astype(np.int64) - offset
        word = np.array([max(1, int(number).bit_length()) for number in greatest], dtype=np.int64)
        within = original.min(axis=0), original.max(axis=0)
        return cls(
            decimals.astype(np.int64),
            offset,
            word,
            np.where(clamp, within[0], -np.inf),
            np.where(clamp, within[1], np.inf),
        )

    def rounded(self, values: FloatArray) -> FloatArray:
        """The values nearest on the grid."""
        scale = 10.0**self.decimals
        return np.asarray(np.rint(values * scale) / scale)


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
    bits = Bits(coded, 10.0**grid.decimals, grid.offset, grid.word, grid.low, grid.high)
    run = _Run(_no_categories(), files, bits, True, len(population), rules)
    return run.through(generations, generator, progress, label, other, every)


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
    run = _Run(files, *_no_numbers(), False, len(population), rules)
    return run.through(generations, generator, progress, label, other, every)


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
    operators: int
    crossover_rate: float
    mutation_rate: float
    accept_equal: bool


@cache
def _no_categories() -> CategoryFiles:
    """What stands for files of categories where there are numbers."""
    nothing = np.zeros((1, 1), dtype=np.int64)
    return category_files(CategoricalMeasures(nothing, np.array([1]), np.array([False])), nothing[None])


@cache
def _no_numbers() -> tuple[NumberFiles, Bits]:
    nothing, one = np.zeros((1, 1)), np.ones(1)
    bits = Bits(nothing.astype(np.int64), one, one.astype(np.int64), one.astype(np.int64), one, one)
    return number_files(nothing, nothing[None]), bits


class Standing(NamedTuple):
    """What each file of the population has reached, and its risk by another linkage (NaN where there is none)."""

    losses: FloatArray
    risks: FloatArray
    scores: FloatArray
    others: FloatArray


@dataclass(frozen=True)
class _Run:
    categories: CategoryFiles
    numbers: NumberFiles
    bits: Bits
    numeric: bool
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
        rules, cells = self.rules, (self.numbers if self.numeric else self.categories).cells[: self.size]
        settings = _Settings(
            rules.by == "max",
            rules.share,
            min(rules.leaders, self.size),
            _SELECTIONS.index(rules.selection),
            rules.cut == "symmetric",
            rules.bit_range == "word",
            _OPERATORS.index(rules.operators),
            rules.crossover_rate,
            rules.mutation_rate,
            rules.accept_equal,
        )
        again = every if other is not None and every > 0 else 0
        standing = Standing(*(np.zeros(self.size) for _ in range(3)), np.full(self.size, np.nan))
        self._measure(settings, standing, cells, other if again else None)
        first = Standing(*(values.copy() for values in standing))
        random = generator.integers(0, 2**64, size=1, dtype=np.uint64)
        trajectory = np.zeros((generations + 1, 3))
        trajectory[0] = standing.scores.min(), standing.scores.mean(), standing.scores.max()
        done, evaluations, chunk = 0, 0, again or _CHUNK
        while done < generations:
            end = min(generations, done + chunk)
            evaluations += _evolve(
                self.categories,
                self.numbers,
                self.bits,
                self.numeric,
                settings,
                standing,
                random,
                trajectory,
                done,
                end,
            )
            done = end
            if again:
                self._measure(settings, standing, cells, other)
            progress(done / generations, label)
        return Evolution(
            cells.copy(), standing.losses, standing.risks, standing.scores, first.losses, first.risks, first.scores,
            trajectory, int(evaluations),
        )  # fmt: skip

    def _measure(
        self, settings: _Settings, standing: Standing, cells: FloatArray | IntArray, other: OtherLinkage | None
    ) -> None:
        if other is not None:
            standing.others[:] = [other(file) for file in cells]
        for slot in range(self.size):
            found = _measured(self.categories, self.numbers, self.numeric, slot, standing.others[slot])
            standing.losses[slot], standing.risks[slot] = found
            standing.scores[slot] = _score(settings, *found)


# --- one generation after the other --------------------------------------------------------------------------------


@kernel
def _evolve(
    categories: CategoryFiles,
    numbers: NumberFiles,
    bits: Bits,
    numeric: bool,
    settings: _Settings,
    standing: Standing,
    random: StateArray,
    trajectory: FloatArray,
    begin: int,
    end: int,
) -> int:
    evaluations = 0
    for generation in range(begin, end):
        if settings.operators != _ONE:
            evaluations += _cross_and_mutate(categories, numbers, bits, numeric, settings, standing, random)
        elif len(standing.scores) == 1 or fraction(random) < 0.5:
            evaluations += _mutate(categories, numbers, bits, numeric, settings, standing, random)
        else:
            evaluations += _cross(categories, numbers, numeric, settings, standing, random)
        scores = standing.scores
        trajectory[generation + 1, 0] = scores.min()
        trajectory[generation + 1, 1] = scores.mean()
        trajectory[generation + 1, 2] = scores.max()
    return evaluations


@kernel
def _mutate(
    categories: CategoryFiles,
    numbers: NumberFiles,
    bits: Bits,
    numeric: bool,
    settings: _Settings,
    standing: Standing,
    random: StateArray,
) -> int:
    """One cell of one file is changed; the file stays as it was unless it got better."""
    slot = _select(settings, standing.scores, False, -1, random)
    n, d = _shape(categories, numbers, numeric)
    cell = whole(random, n * d)
    r, j = cell // d, cell % d
    if numeric:
        value, credit = numbers.cells[slot, r, j], numbers.chances[slot, r]
        new = mutated_number(bits, r, j, value, settings.word, random)
        if new == value:
            return 0
        found, sums = numbers.found[slot, j], numbers.sums[slot].copy()
        change_number(numbers, slot, r, j, new, -1)
        if not _accepted(categories, numbers, numeric, settings, standing, slot, slot):
            change_number(numbers, slot, r, j, value, credit)
            numbers.found[slot, j], numbers.sums[slot] = found, sums
        return 1
    code, credit = categories.cells[slot, r, j], categories.chances[slot, r]
    if categories.sizes[j] < 2:
        return 0
    change_category(categories, slot, r, j, other_category(code, categories.sizes[j], random), -1)
    if not _accepted(categories, numbers, numeric, settings, standing, slot, slot):
        change_category(categories, slot, r, j, code, credit)
    return 1


@kernel
def _cross(
    categories: CategoryFiles,
    numbers: NumberFiles,
    numeric: bool,
    settings: _Settings,
    standing: Standing,
    random: StateArray,
) -> int:
    """A leader and another file exchange cells; each child takes its parent's place if it is better."""
    size = len(standing.scores)
    one, other = _select_pair(settings, standing.scores, random)
    n, d = _shape(categories, numbers, numeric)
    first, last = cut_points(n * d, settings.symmetric, random)
    if numeric:
        cross_numbers(numbers, one, other, first, last, size, size + 1)
    else:
        cross_categories(categories, one, other, first, last, size, size + 1)
    into_one = _accepted(categories, numbers, numeric, settings, standing, one, size)
    into_other = _accepted(categories, numbers, numeric, settings, standing, other, size + 1)
    if numeric:
        _exchange(numbers.cells, numbers.chances, one, other, first, last, into_one, into_other)
        if into_one:
            take_number_sums(numbers, one, size)
        if into_other:
            take_number_sums(numbers, other, size + 1)
    else:
        _exchange(categories.cells, categories.chances, one, other, first, last, into_one, into_other)
        if into_one:
            take_category_counts(categories, one, size)
        if into_other:
            take_category_counts(categories, other, size + 1)
    return 2


@kernel
def _accepted(
    categories: CategoryFiles,
    numbers: NumberFiles,
    numeric: bool,
    settings: _Settings,
    standing: Standing,
    parent: int,
    child: int,
) -> bool:
    """Whether a child is better than its parent; then the parent's standing is the child's."""
    loss, risk = _measured(categories, numbers, numeric, child, standing.others[parent])
    score = _score(settings, loss, risk)
    if not (score < standing.scores[parent] or (settings.accept_equal and score == standing.scores[parent])):
        return False
    standing.losses[parent], standing.risks[parent], standing.scores[parent] = loss, risk, score
    return True


@kernel
def _measured(
    categories: CategoryFiles, numbers: NumberFiles, numeric: bool, slot: int, other: float
) -> tuple[float, float]:
    if numeric:
        return measure_numbers(numbers, slot, other)
    return measure_categories(categories, slot, 0.0 if np.isnan(other) else other)


@kernel
def _shape(categories: CategoryFiles, numbers: NumberFiles, numeric: bool) -> tuple[int, int]:
    """How many records and attributes there are."""
    if numeric:
        return numbers.original.shape[0], numbers.original.shape[1]
    return categories.original.shape[0], categories.original.shape[1]


@kernel
def _score(settings: _Settings, loss: float, risk: float) -> float:
    if settings.by_max:
        return max(loss, risk)
    return settings.share * loss + (1.0 - settings.share) * risk


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
        order = np.argsort(scores, kind="mergesort")  # of equal scores the first comes first
        weights[order[settings.leaders :]] = 0.0
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
def selection_weights(scores: FloatArray, selection: int) -> FloatArray:
    """By number: one over the score, the distance to the greatest score, the rank from the worst, or the score itself,
    as it is printed."""
    if selection == _INVERSE:
        return 1.0 / (scores + _LEAST_WEIGHT)
    if selection == _RANGE:
        return scores.max() - scores + _LEAST_WEIGHT
    if selection == _RANK:
        weights = np.empty(len(scores))
        weights[np.argsort(scores, kind="mergesort")] = np.arange(len(scores), 0, -1)
        return weights
    return scores + _LEAST_WEIGHT


# --- operators -----------------------------------------------------------------------------------------------------


@kernel
def cut_points(cells: int, symmetric: bool, random: StateArray) -> tuple[int, int]:
    """The first and the last cell that are exchanged."""
    first = whole(random, cells)
    if not symmetric:
        return first, first + whole(random, cells - first)
    last = whole(random, cells)
    return min(first, last), max(first, last)


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
    return min(bits.high[j], max(bits.low[j], (changed + bits.offset[j]) / bits.scale[j]))


@kernel
def _exchange(
    cells: FloatArray | IntArray,
    chances: IntArray,
    one: int,
    other: int,
    first: int,
    last: int,
    into_one: bool,
    into_other: bool,
) -> None:
    """Write the cells and chances of the children that were accepted; the chances of records that were exchanged in
    part are in the spare slots."""
    if not (into_one or into_other):
        return
    d, child = cells.shape[2], len(cells) - 2
    for r in range(first // d, last // d + 1):
        low, high = max(0, first - r * d), min(d - 1, last - r * d)
        for j in range(low, high + 1):
            mine, theirs = cells[one, r, j], cells[other, r, j]
            if into_one:
                cells[one, r, j] = theirs
            if into_other:
                cells[other, r, j] = mine
        whole_row = low == 0 and high == d - 1
        to_one = chances[other, r] if whole_row else chances[child, r]
        to_other = chances[one, r] if whole_row else chances[child + 1, r]
        if into_one:
            chances[one, r] = to_one
        if into_other:
            chances[other, r] = to_other


# --- both operators in one generation ------------------------------------------------------------------------------


@kernel
def _cross_and_mutate(
    categories: CategoryFiles,
    numbers: NumberFiles,
    bits: Bits,
    numeric: bool,
    settings: _Settings,
    standing: Standing,
    random: StateArray,
) -> int:
    """A pair is crossed with one rate and its children are mutated with another; each competes with its parent."""
    size = len(standing.scores)
    if size == 1:
        return 0
    one, other = _select_pair(settings, standing.scores, random)
    n, d = _shape(categories, numbers, numeric)
    cut = cut_points(n * d, settings.symmetric, random) if fraction(random) < settings.crossover_rate else (0, -1)
    if numeric:
        _make_children(numbers.cells, one, other, cut[0], cut[1])
    else:
        _make_children(categories.cells, one, other, cut[0], cut[1])
    for child, parent in ((size, one), (size + 1, other)):
        if settings.operators == _ALL_CELLS:
            for cell in range(n * d):
                if fraction(random) < settings.mutation_rate:
                    _mutate_cell(categories, numbers, bits, numeric, settings, child, cell // d, cell % d, random)
        elif fraction(random) < settings.mutation_rate:
            cell = whole(random, n * d)
            _mutate_cell(categories, numbers, bits, numeric, settings, child, cell // d, cell % d, random)
        donor = one + other - parent
        if numeric:
            for r in range(n):
                known = _known_chance(numbers.cells, numbers.chances, child, parent, donor, r)
                if known < 0:
                    row = (numbers.cells[child, r] - numbers.mean) / numbers.deviation
                    known = link_credit(numbers.originals, r, row)
                numbers.chances[child, r] = known
            count_numbers(numbers, child)
        else:
            for r in range(n):
                known = _known_chance(categories.cells, categories.chances, child, parent, donor, r)
                if known < 0:
                    known = link_credit(categories.originals, r, categories.cells[child, r].astype(np.float64))
                categories.chances[child, r] = known
            count_categories(categories, child)
    for child, parent in ((size, one), (size + 1, other)):
        if _accepted(categories, numbers, numeric, settings, standing, parent, child):
            if numeric:
                numbers.cells[parent], numbers.chances[parent] = numbers.cells[child], numbers.chances[child]
                take_number_sums(numbers, parent, child)
            else:
                categories.cells[parent] = categories.cells[child]
                categories.chances[parent] = categories.chances[child]
                take_category_counts(categories, parent, child)
    return 2


@kernel
def _make_children(cells: FloatArray | IntArray, one: int, other: int, first: int, last: int) -> None:
    """Copies of two files in the spare slots, with the cells from `first` to `last` exchanged."""
    d, child = cells.shape[2], len(cells) - 2
    cells[child], cells[child + 1] = cells[one], cells[other]
    for cell in range(first, last + 1):
        r, j = cell // d, cell % d
        cells[child, r, j], cells[child + 1, r, j] = cells[other, r, j], cells[one, r, j]


@kernel
def _mutate_cell(
    categories: CategoryFiles,
    numbers: NumberFiles,
    bits: Bits,
    numeric: bool,
    settings: _Settings,
    child: int,
    r: int,
    j: int,
    random: StateArray,
) -> None:
    if numeric:
        value = numbers.cells[child, r, j]
        numbers.cells[child, r, j] = mutated_number(bits, r, j, value, settings.word, random)
    elif categories.sizes[j] > 1:
        code = categories.cells[child, r, j]
        categories.cells[child, r, j] = other_category(code, categories.sizes[j], random)


@kernel
def _known_chance(cells: FloatArray | IntArray, chances: IntArray, child: int, parent: int, donor: int, r: int) -> int:
    """The chance of a record that is as in one of the parents; -1 where it is new."""
    for origin in (parent, donor):
        same = True
        for j in range(cells.shape[2]):
            same = same and cells[child, r, j] == cells[origin, r, j]
        if same:
            return chances[origin, r]
    return -1
