"""Transition matrices that evolve on the table being masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from microveil.errors import DataError, ParameterError, nearest_name
from microveil.masking.notes import MATRICES_EVOLVED, Note
from microveil.microdata import Microdata
from microveil.numerics.choices import By
from microveil.numerics.perturbing.matrix_control import Control
from microveil.parameters import Settings, parameter, parameterised
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.masking.randomising.pram import Variable
    from microveil.numerics.evolution.matrix_evolution import Evolved, Guard, Strategy
    from microveil.numerics.evolution.perturbed_fitness import Evaluation, Fitness

_GENERATIONS = 500
_START, _INVARIANT_START = 0.5, 0.6  # diagonals from which Marés (2013) starts
_MOST_CATEGORIES = 200  # beyond, so many cells wait for their turn that nothing comes of it
_FINE = 50  # categories up to which thousandths do
_UNSUITED = ("identifier", "household", "node")  # almost every record has a category of its own


@parameterised
class Evolution(Settings):
    """How transition matrices evolve: from where, for how long, by which fitness, and what they may disclose.

    >>> from microveil.masking.randomising.pram import PRAM
    >>> PRAM(matrix="evolved", generations=50) == PRAM(matrix="evolved", evolution=Evolution(generations=50))
    True
    """

    name: ClassVar[str] = "evolution"
    summary: ClassVar[str] = "how evolved matrices begin, what they are chosen by, and what they may disclose"

    generations: int | None = parameter(
        default=None,
        help=f"number of changed matrices that are tried (evolved); unset: {_GENERATIONS}",
        ge=1,
        le=1_000_000,
    )
    start: float | None = parameter(
        default=None,
        help="probability that a category stays in the matrix at the start (evolved), which prefers rare categories "
        f"(frequency) or, if invariant, none (entropy); unset: {_START}, or {_INVARIANT_START} if invariant",
        gt=0,
        le=1,
    )
    fitness: Literal["general", "bivariate"] | None = parameter(
        default=None,
        help="what is minimised (evolved): information loss and disclosure risk, or the change of joint counts with "
        "attributes that are not masked; unset: general",
    )
    by: By | None = parameter(
        default=None,
        help="whether the mean of loss and risk counts, or the greater of the two (general fitness); unset: mean",
    )
    beside: tuple[str, ...] | None = parameter(
        default=None,
        help="attributes that are not masked, with which joint counts are made (bivariate fitness); unset: all others "
        "that are categorical",
        min_length=1,
    )
    repeats: int | None = parameter(
        default=None, help="number of perturbations by which a matrix is judged (evolved); unset: 5", ge=1, le=1_000
    )
    guard: Literal["bound", "term", "none"] | None = parameter(
        default=None,
        help="what evolved matrices may disclose to an intruder who knows them: no more true categories than at the "
        "start (bound), as a term of the fitness that weighs as much as the risk (term), or anything (none); unset: "
        "bound",
    )
    epsilon: float | None = parameter(
        default=None,
        help="privacy loss of an evolved matrix at most (local differential privacy): no published category is more "
        "than e^epsilon times as probable for one true category as for another; unset: any",
        gt=0,
        le=100,
    )
    reach: int | None = parameter(
        default=None,
        help="number of positions in its order that an ordinal category moves at most (evolved); unset: any",
        ge=1,
        le=5_000,
    )

    def check(self, label: str) -> None:
        if self.beside is not None and self.fitness != "bivariate":
            raise ParameterError(f"{label}: beside is not allowed without fitness = 'bivariate'")
        if self.by is not None and self.fitness == "bivariate":
            raise ParameterError(f"{label}: by is not allowed with fitness = 'bivariate', which has no part for risk")

    def start_of(self, frequencies: IntArray, *, invariant: bool) -> FloatArray:
        """The matrix from which an attribute's matrix evolves."""
        from microveil.numerics.perturbing.transition_matrices import entropy_matrix, frequency_matrix

        if invariant:
            return entropy_matrix(len(frequencies), self.start or _INVARIANT_START)
        return frequency_matrix(frequencies, self.start or _START)

    def of(
        self,
        data: Microdata,
        variables: Sequence[Variable],
        start: Sequence[FloatArray],
        evolving: Sequence[bool],
        control: Control,
        rng: np.random.Generator,
        progress: Progress,
        label: str,
    ) -> Evolved:
        """The matrices of all variables, evolved together; those that are not evolving stay as they are."""
        from microveil.numerics.evolution.matrix_evolution import evolve_matrices

        return evolve_matrices(
            start,
            [variable.frequencies for variable in variables],
            self.fitness_of(data, variables, label),
            rng,
            self._strategy(variables),
            control=control,
            guard=self._guard(),
            evolving=evolving,
            allowed=[self._allowed(data, variable) for variable in variables],
            progress=progress,
            label=f"{label}: evolving matrices",
        )

    def _strategy(self, variables: Sequence[Variable]) -> Strategy:
        """With common random numbers, by which fewer changes are kept out of luck; cells are thousandths, or less where
        so many categories share a row that thousandths are coarse."""
        from microveil.numerics.evolution.matrix_evolution import Strategy

        largest = max(variables, key=lambda variable: len(variable.members))
        if len(largest.members) > _MOST_CATEGORIES:
            raise DataError(
                f"attribute '{largest.name}' has {len(largest.members):,} categories, and an evolved matrix has room "
                f"for {_MOST_CATEGORIES}; recode it first"
            )
        scale = 1_000 if len(largest.members) <= _FINE else 10_000
        return Strategy(generations=self.generations or _GENERATIONS, common=True, scale=scale)

    def _guard(self) -> Guard:
        from microveil.numerics.evolution.matrix_evolution import Guard

        how = self.guard or "bound"
        return Guard(
            bound="start" if how == "bound" else None, weight=0.5 if how == "term" else 0.0, epsilon=self.epsilon
        )

    def _allowed(self, data: Microdata, variable: Variable) -> BoolArray | None:
        """The cells that may be above 0: those near the diagonal where the reach is limited."""
        if self.reach is None or not _is_ordinal(data, variable):
            return None
        positions = np.arange(len(variable.members))
        return np.asarray(np.abs(positions[:, None] - positions) <= self.reach)

    def fitness_of(self, data: Microdata, variables: Sequence[Variable], label: str) -> Fitness:
        """What matrices of these variables are judged by; missing cells stay as they are and count as a category."""
        from microveil.numerics.evolution.categorical_measures import CategoricalMeasures
        from microveil.numerics.evolution.perturbed_fitness import REPEATS, BivariateFitness, GeneralFitness

        sizes = np.array([len(variable.members) for variable in variables])
        missing = np.array([(variable.codes < 0).any() for variable in variables])
        columns = zip(variables, sizes.tolist(), strict=True)
        codes = np.column_stack([np.where(variable.codes < 0, size, variable.codes) for variable, size in columns])
        repeats = self.repeats or REPEATS
        made: Fitness
        if self.fitness == "bivariate":
            made = BivariateFitness(codes, sizes + missing, self._beside(data, variables, label), repeats)
        else:
            ordinal = np.array([_is_ordinal(data, variable) for variable in variables])
            measures = CategoricalMeasures(codes, sizes + missing, ordinal)
            made = GeneralFitness(measures, self.by or "mean", repeats)
        return _WithMissing(made, missing) if missing.any() else made

    def _beside(self, data: Microdata, variables: Sequence[Variable], label: str) -> IntArray:
        """The codes of the attributes with which joint counts are made; missing is a category."""
        masked = {column.name for variable in variables for column in variable.columns}
        for name in self.beside or ():
            if name not in data.names:
                raise ParameterError(
                    f"{label}: beside names '{name}', which is no attribute{nearest_name(name, data.names)}"
                )
            if name in masked:
                raise ParameterError(f"{label}: beside names '{name}', which is masked itself")
            if not data[name].is_categorical:
                raise ParameterError(f"{label}: beside names '{name}', which is numeric")
        names = self.beside or [
            name
            for name in data.names
            if data[name].is_categorical and name not in masked and not set(data[name].roles) & set(_UNSUITED)
        ]
        if not names:
            raise ParameterError(
                f"{label}: fitness = 'bivariate' needs a categorical attribute that is not masked, and there is none"
            )
        return np.column_stack([data.categories(name).codes + 1 for name in names])


@dataclass(frozen=True)
class _WithMissing:
    """A fitness in which some attributes have one more category, for missing cells, that stays."""

    fitness: Fitness
    missing: BoolArray

    def of(self, matrices: Sequence[FloatArray], rng: np.random.Generator, repeats: int | None = None) -> Evaluation:
        widened = [
            _with_one_more(matrix) if missing else matrix
            for matrix, missing in zip(matrices, self.missing, strict=True)
        ]
        return self.fitness.of(widened, rng, repeats)


def _with_one_more(matrix: FloatArray) -> FloatArray:
    wider = np.eye(len(matrix) + 1)
    wider[:-1, :-1] = matrix
    return wider


def _is_ordinal(data: Microdata, variable: Variable) -> bool:
    return len(variable.columns) == 1 and data[variable.name].kind == "ordinal"


def what_evolved(found: Evolved, label: str) -> Note:
    """What is to be said of evolved matrices: the fitness that was optimised is not the one to expect."""
    return MATRICES_EVOLVED(
        method=label,
        generations=len(found.path) - 1,
        perturbations=found.perturbations,
        fresh=found.fresh.score,
        deviation=found.fresh.deviation,
        stored=found.stored.score,
        start=found.start.score,
        disclosed=100 * float(np.mean(found.disclosed)),
        before=100 * float(np.mean(found.disclosed_at_start)),
    )
