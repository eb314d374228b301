"""Evolution of transition matrices: one matrix for each attribute, changed a little at a time, kept if it is fitter.

Nobody reads off a fitness of loss and linkage whether a matrix can be inverted: one that is nearly a permutation keeps
few categories in their places and gives away almost all of them to whoever knows it. A guard watches over that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from microveil.errors import DataError
from microveil.numerics.evolution.matrix_genome import THOUSANDTHS, crossed, decoded, encoded, mutated
from microveil.numerics.evolution.perturbed_fitness import Evaluation, Fitness
from microveil.numerics.perturbing.matrix_control import Control
from microveil.numerics.perturbing.posterior import map_disclosure
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

FRESH = 50  # perturbations by which the result is judged
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Guard:
    """What matrices may disclose to an intruder who knows them.

    `bound` is the highest allowed share of records whose true category is the most probable one given the published,
    for every attribute; "start" means that of its own matrix at the start. `weight` is how much the mean share, in per
    cent, counts in the fitness. With `epsilon`, no published category may be more than e^epsilon times as probable for
    one true category as for another (local differential privacy).
    """

    bound: float | Literal["start"] | None = None
    weight: float = 0.0
    epsilon: float | None = None

    def allows(self, matrix: FloatArray, frequencies: IntArray, at_start: float) -> bool:
        """Whether one matrix may be used, given what the one at the start disclosed."""
        if self.epsilon is not None and privacy_loss(matrix) > self.epsilon + _ROUNDING:
            return False
        most = at_start if self.bound == "start" else self.bound
        return most is None or map_disclosure(matrix, frequencies) <= most + _ROUNDING

    def term(self, matrices: Sequence[FloatArray], frequencies: Sequence[IntArray]) -> float:
        """What is added to the fitness."""
        return 100 * self.weight * float(np.mean(disclosures(matrices, frequencies))) if self.weight else 0.0


def disclosures(matrices: Sequence[FloatArray], frequencies: Sequence[IntArray]) -> tuple[float, ...]:
    """For each matrix the share of records whose true category is the most probable one."""
    return tuple(map_disclosure(matrix, t) for matrix, t in zip(matrices, frequencies, strict=True))


def privacy_loss(matrix: FloatArray) -> float:
    """The least epsilon with p_ij <= e^epsilon p_kj for all categories i, k and j.

    >>> round(float(np.exp(privacy_loss(np.array([[0.6, 0.4], [0.2, 0.8]])))), 6)
    3.0
    """
    least, most = matrix.min(axis=0), matrix.max(axis=0)
    published = most > 0
    if (least[published] == 0).any():
        return np.inf
    return float(np.log(most[published] / least[published]).max())


@dataclass(frozen=True)
class Strategy:
    """How the search goes on.

    `choose` says which matrix is changed next. The fitness of the matrices that are kept is that of the evaluation they
    were accepted with; with `reevaluate` they are evaluated anew beside every candidate. With `common` random numbers
    both get the same ones: new ones in every generation with `reevaluate`, else the same in all. `write_back` makes the
    controlled matrix the genome of what was accepted. `accept_equal` keeps a candidate that is as fit.
    """

    generations: int = 500
    crossover_rate: float = 0.5
    choose: Literal["random", "round-robin"] = "random"
    reevaluate: bool = False
    common: bool = False
    write_back: bool = False
    accept_equal: bool = False
    scale: int = THOUSANDTHS


class Point(NamedTuple):
    """Where the search is after a generation: the optimised fitness of what is kept, with its loss and risk."""

    fitness: float
    loss: float
    risk: float


@dataclass(frozen=True)
class Evolved:
    """What came of an evolution: the matrices as they are used, and the genomes they were made from, decoded.

    `stored` is the fitness that was optimised, and flatters what was accepted by luck. `fresh` is that of so many new
    `perturbations`, `start` the same of the matrices at the start. `disclosed` is for each attribute the share of the
    records whose true category is the most probable one given the published. `path` has a point for the start and for
    each generation; `refused` candidates were not evaluated, because of an empty row, the diagonal or the guard.
    """

    matrices: tuple[FloatArray, ...]
    genomes: tuple[FloatArray, ...]
    stored: Evaluation
    fresh: Evaluation
    start: Evaluation
    disclosed: tuple[float, ...]
    disclosed_at_start: tuple[float, ...]
    path: tuple[Point, ...] = field(repr=False)
    perturbations: int
    accepted: int
    refused: int


def evolve_matrices(
    start: Sequence[FloatArray],
    frequencies: Sequence[IntArray],
    fitness: Fitness,
    rng: np.random.Generator,
    strategy: Strategy | None = None,
    *,
    control: Control | None = None,
    guard: Guard | None = None,
    evolving: Sequence[bool] | None = None,
    allowed: Sequence[BoolArray | None] | None = None,
    fresh: int = FRESH,
    progress: Progress = silent,
    label: str = "evolving matrices",
) -> Evolved:
    """The matrices at the start, one for each attribute, changed by mutation and crossover while that makes them
    fitter: Algorithm 6 of Marés (2013).

    Every matrix is used as `control` makes it; where the diagonal was in its range at the start, it stays there. No
    matrix is used that the `guard` does not allow. Only matrices that are
    `evolving` are changed, and only in cells that are `allowed`. In the end the first and the last matrices are
    evaluated with so many `fresh` perturbations.
    """
    strategy, masks = strategy or Strategy(), list(allowed or [None] * len(start))
    changing = [j for j, matrix in enumerate(start) if len(matrix) > 1 and (evolving is None or evolving[j])]
    search = _Search(tuple(frequencies), fitness, strategy, control or Control(), guard or Guard(), masks)
    begun = search.begun(start, changing)
    path: list[Point] = []
    for state in search.states(begun, changing, rng):
        path.append(Point(state.fitness, state.evaluation.loss, state.evaluation.risk))
        progress(len(path) / (strategy.generations + 1), label)
    return Evolved(
        state.used,
        tuple(matrix for matrix in map(decoded, state.genomes) if matrix is not None),
        state.evaluation,
        fitness.of(state.used, rng, fresh),
        fitness.of(begun.used, rng, fresh),
        disclosures(state.used, frequencies),
        search.at_start,
        tuple(path),
        fresh,
        search.accepted,
        search.refused,
    )


class _Matrices(NamedTuple):
    """The genomes, and the matrices as they are used."""

    genomes: tuple[IntArray, ...]
    used: tuple[FloatArray, ...]

    def with_one(self, j: int, genome: IntArray, used: FloatArray) -> _Matrices:
        """The same with another matrix for one attribute."""
        return _Matrices(
            (*self.genomes[:j], genome, *self.genomes[j + 1 :]), (*self.used[:j], used, *self.used[j + 1 :])
        )


class _State(NamedTuple):
    """Matrices with their fitness."""

    genomes: tuple[IntArray, ...]
    used: tuple[FloatArray, ...]
    fitness: float
    evaluation: Evaluation

    @property
    def matrices(self) -> _Matrices:
        return _Matrices(self.genomes, self.used)


@dataclass
class _Search:
    """A run of the search, with how many candidates were accepted and how many refused without a look at them."""

    frequencies: tuple[IntArray, ...]
    fitness: Fitness
    strategy: Strategy
    control: Control
    guard: Guard
    masks: Sequence[BoolArray | None]
    at_start: tuple[float, ...] = ()
    in_range: tuple[bool, ...] = ()
    accepted: int = 0
    refused: int = 0

    def begun(self, start: Sequence[FloatArray], changing: Sequence[int]) -> _Matrices:
        """The matrices at the start; one that does not change is used to all its digits."""
        genomes, used = [], []
        for j, (matrix, mask) in enumerate(zip(start, self.masks, strict=True)):
            genomes.append(encoded(matrix if mask is None else matrix * mask, self.strategy.scale))
            found = decoded(genomes[j]) if j in changing else matrix
            if found is None:
                raise DataError(
                    f"a row of a matrix at the start has no cell of 1/{self.strategy.scale} or more, so it cannot "
                    "evolve; there are too many categories"
                )
            used.append(self.control.of(found, self.frequencies[j]))
        matrices = tuple(controlled.matrix for controlled in used)
        self.in_range = tuple(controlled.in_range for controlled in used)
        self.at_start = disclosures(matrices, self.frequencies)
        if not all(self._allows(matrices[j], j) for j in changing):
            raise DataError(
                "a matrix at the start discloses more than is allowed of the evolved one; let fewer categories stay "
                "at the start, or allow more"
            )
        return _Matrices(tuple(genomes), matrices)

    def _allows(self, matrix: FloatArray, j: int) -> bool:
        return self.guard.allows(matrix, self.frequencies[j], self.at_start[j])

    def _used(self, genome: IntArray, j: int) -> FloatArray | None:
        """The matrix of a candidate as it is used, if it may be."""
        matrix = decoded(genome)
        if matrix is None:
            return None
        found = self.control.of(matrix, self.frequencies[j])
        keeps_range = found.in_range or not self.in_range[j]
        return found.matrix if keeps_range and self._allows(found.matrix, j) else None

    def evaluated(self, matrices: _Matrices, seed: int) -> _State:
        found = self.fitness.of(matrices.used, np.random.default_rng(seed))
        return _State(*matrices, found.score + self.guard.term(matrices.used, self.frequencies), found)

    def states(self, begun: _Matrices, changing: Sequence[int], rng: np.random.Generator) -> Iterator[_State]:
        """What is kept at the start and after each generation."""
        strategy, common = self.strategy, _seed(rng)
        state = self.evaluated(begun, common)
        yield state
        for generation in range(strategy.generations if changing else 0):
            j = changing[generation % len(changing)] if strategy.choose == "round-robin" else int(rng.choice(changing))
            candidate = self._candidate(state.matrices, j, rng)
            if strategy.reevaluate:
                common = _seed(rng)
                state = self.evaluated(state.matrices, common)
            seed = common if strategy.common else _seed(rng)
            if candidate is None:
                self.refused += 1
            else:
                state = self._fitter(state, self.evaluated(candidate, seed), j)
            yield state

    def _candidate(self, matrices: _Matrices, j: int, rng: np.random.Generator) -> _Matrices | None:
        """The matrices with a changed one, if that may be used."""
        genome, mask = matrices.genomes[j], self.masks[j]
        if rng.random() < self.strategy.crossover_rate:
            genome = crossed(genome, rng, mask)
        else:
            genome = mutated(genome, rng, self.strategy.scale.bit_length(), mask)
        used = self._used(genome, j)
        return None if used is None else matrices.with_one(j, genome, used)

    def _fitter(self, state: _State, candidate: _State, j: int) -> _State:
        # a difference in the last digits is none, or another machine would go another way
        gained = state.fitness - candidate.fitness
        if gained < (-_ROUNDING if self.strategy.accept_equal else _ROUNDING):
            return state
        self.accepted += 1
        if not self.strategy.write_back:
            return candidate
        written = encoded(candidate.used[j], self.strategy.scale)
        return _State(
            *candidate.matrices.with_one(j, written, candidate.used[j]), candidate.fitness, candidate.evaluation
        )


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))
