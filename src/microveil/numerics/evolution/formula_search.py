"""Genetic programming of formulas for transition matrices: Algorithm 7 of Marés (2013)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, get_args

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.numerics.evolution.evolve import evolve
from microveil.numerics.evolution.formulas import LeastFrequency, canonical, formula_matrix, grammar_of
from microveil.numerics.evolution.matrix_evolution import FRESH, Guard
from microveil.numerics.evolution.perturbed_fitness import Evaluation, Fitness
from microveil.numerics.evolution.state import State
from microveil.numerics.evolution.survival import LosersReplaced
from microveil.numerics.evolution.trees import Grammar, Tree
from microveil.numerics.evolution.variation import CrossoverOrMutation, constant
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_NOT_ALLOWED = Evaluation(np.inf, np.nan, np.nan, np.nan)
_DRAWS = 100  # of first populations, until formulas that differ are enough


@dataclass(frozen=True)
class FormulaSearch:
    """How formulas evolve: by default as in Marés (2013), section 4.2.4, which does not say how many are `drawn` in a
    generation.

    With `common` random numbers every formula is judged by the same perturbations.
    """

    levels: int = 5
    population: int = 6
    generations: int = 1500
    drawn: int = 4
    crossover: float = 0.5
    common: bool = False
    freq_min: LeastFrequency = "literal"

    def __post_init__(self) -> None:
        if self.freq_min not in get_args(LeastFrequency):
            raise ParameterError(f"freq_min = '{self.freq_min}' is not allowed; it must be 'literal' or 'positive'")
        if self.drawn < 2 or self.drawn % 2:
            raise ParameterError(f"drawn = {self.drawn} is not allowed; it is an even number, at least 2")
        if self.population < self.drawn:
            raise ParameterError(f"drawn = {self.drawn} is not allowed; the population has {self.population} formulas")
        if self.generations < 0:
            raise ParameterError(f"generations = {self.generations} is not allowed; it must be at least 0")

    def matrices(self, tree: Tree, frequencies: Sequence[IntArray]) -> list[FloatArray]:
        """The matrix that a formula makes for each attribute."""
        return [formula_matrix(tree, t, self.freq_min) for t in frequencies]


@dataclass(frozen=True)
class FoundFormula:
    """The best formula, what it was chosen by, and how it does with fresh perturbations; with the best score after
    every generation, and how many formulas were judged.
    """

    tree: Tree
    optimised: Evaluation
    fresh: Evaluation
    trajectory: tuple[float, ...]
    judged: int


def evolve_formula(
    frequencies: Sequence[IntArray],
    fitness: Fitness,
    rng: np.random.Generator,
    search: FormulaSearch | None = None,
    *,
    guard: Guard | None = None,
    fresh: int = FRESH,
    progress: Progress = silent,
) -> FoundFormula:
    """The formula whose matrices, one for each attribute, are the fittest that genetic programming finds, of those that
    the guard allows.
    """
    search = search or FormulaSearch()
    grammar = grammar_of(search.levels)
    judge = _Judge(search, tuple(frequencies), fitness, guard or Guard(), int(rng.integers(2**62)))

    def stop(state: State) -> bool:
        progress(min(state.generation / max(search.generations, 1), 1.0), "formulas")
        return state.generation >= search.generations

    ended = evolve(
        _first(grammar, search.population, rng),
        judge,
        vary=CrossoverOrMutation(grammar.cross, grammar.subtree, constant(search.crossover, 1 - search.crossover)),
        survive=LosersReplaced(search.drawn),
        stop=stop,
        rng=rng,
        duplicates=False,
        identity=cache(canonical),
    )
    if not np.isfinite(ended.score):
        raise DataError("no formula was found whose matrices disclose as little as is asked for")
    return FoundFormula(
        ended.best,
        judge.known[canonical(ended.best)].evaluation,
        fitness.of(search.matrices(ended.best, frequencies), rng, fresh),
        tuple(ended.trajectory),
        len(judge.known),
    )


class _Judged(NamedTuple):
    evaluation: Evaluation
    term: float


@dataclass
class _Judge:
    """The fitness of formulas; one that is known already, also with operands exchanged, is not judged again."""

    search: FormulaSearch
    frequencies: tuple[IntArray, ...]
    fitness: Fitness
    guard: Guard
    noise: int
    known: dict[str, _Judged] = field(default_factory=dict)

    def __call__(self, tree: Tree) -> float:
        name = canonical(tree)
        if name not in self.known:
            self.known[name] = self._judged(self.search.matrices(tree, self.frequencies))
        return self.known[name].evaluation.score + self.known[name].term

    def _judged(self, matrices: list[FloatArray]) -> _Judged:
        pairs = zip(matrices, self.frequencies, strict=True)
        if not all(self.guard.allows(matrix, t, at_start=1.0) for matrix, t in pairs):
            return _Judged(_NOT_ALLOWED, 0.0)
        rng = np.random.default_rng([self.noise, 0 if self.search.common else len(self.known)])
        return _Judged(self.fitness.of(matrices, rng), self.guard.term(matrices, self.frequencies))


def _first(grammar: Grammar, count: int, rng: np.random.Generator) -> list[Tree]:
    """So many formulas that all differ, half of them full and half grown."""
    found: dict[str, Tree] = {}
    for _ in range(_DRAWS):
        for tree in grammar.half_and_half(count, rng):
            found.setdefault(canonical(tree), tree)
        if len(found) >= count:
            return list(found.values())[:count]
    raise DataError(f"there are not {count:,} different formulas of {grammar.levels} levels")
