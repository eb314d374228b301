"""The search for a formula from which PRAM makes its matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.randomising.pram import PRAM, variable_of
from microveil.microdata.microdata import as_microdata, resolve_attributes
from microveil.numerics.evolution.categorical_measures import By, CategoricalMeasures
from microveil.numerics.evolution.formula_search import FRESH, FormulaSearch
from microveil.numerics.evolution.formula_search import evolve_formula as evolve
from microveil.numerics.evolution.formulas import LeastFrequency, readable
from microveil.numerics.evolution.perturbed_fitness import REPEATS, Evaluation, GeneralFitness
from microveil.numerics.perturbing.posterior import map_disclosure
from microveil.progress import Progress, silent
from microveil.randomness import Streams, check_seed, draw_seed
from microveil.typing import FloatArray


@dataclass(frozen=True)
class EvolvedFormula:
    """A formula for PRAM matrices that was found by genetic programming.

    `optimised` is the evaluation by which it was chosen; as the least of many noisy ones it is too good. `fresh` is
    from perturbations that the search has not seen, with the deviation of a single one, and is the one to report.
    `disclosed` says for each attribute how many per cent of the true categories an intruder who knows the matrices
    guesses right. `trajectory` is the best score after every generation, and `judged` the number of formulas tried.
    """

    formula: str
    attributes: tuple[str, ...]
    optimised: Evaluation
    fresh: Evaluation
    disclosed: Mapping[str, float]
    trajectory: tuple[float, ...]
    judged: int
    freq_min: LeastFrequency
    seed: int

    @property
    def pram(self) -> PRAM:
        """PRAM with matrices of this formula."""
        return PRAM(
            matrix="formula",
            formula=self.formula,
            freq_min=None if self.freq_min == "literal" else self.freq_min,
        )


def evolve_formula(
    data: Any,
    attributes: Sequence[str] | None = None,
    *,
    by: By = "max",
    levels: int = 5,
    population: int = 6,
    generations: int = 1500,
    drawn: int = 4,
    crossover: float = 0.5,
    repeats: int = REPEATS,
    common: bool = False,
    probabilistic: bool = False,
    fresh: int = FRESH,
    freq_min: LeastFrequency = "literal",
    most_disclosed: float | None = None,
    disclosure_weight: float = 0.0,
    seed: int | None = None,
    progress: Progress = silent,
) -> EvolvedFormula:
    """Look for the formula whose PRAM matrices give the least score of information loss and disclosure risk.

    Formulas of at most so many `levels` evolve by steady-state genetic programming as in Marés (2013), section 4.2: in
    every generation `drawn` formulas are compared, the better half are crossed or mutated, and their children replace
    the others if they are better. A score is the greater of loss and risk, or their mean, over `repeats` perturbations;
    the same ones for all formulas if random numbers are `common`. The formula that was found is scored anew by `fresh`
    perturbations. Linkage by match weight is part of the risk if it is `probabilistic`, and takes by far the most time.

    Loss and risk know nothing of an intruder who knows the matrices. `most_disclosed` forbids formulas by which such an
    intruder guesses more than this percentage of the true categories of an attribute, and `disclosure_weight` adds as
    many times the mean of these percentages to the score. Records with a missing cell do not count.

    >>> people = {"sex": ["f", "m"] * 30, "job": ["a", "b", "b", "c", "c", "c"] * 10}
    >>> found = evolve_formula(people, levels=3, generations=20, seed=1)
    >>> found.pram.mask(people, seed=1).matrices["sex",].shape
    (2, 2)
    """
    for name, value in (("repeats", repeats), ("fresh", fresh)):
        if value < 1:
            raise ParameterError(f"{name} = {value} is not allowed; at least one perturbation is needed")
    search = FormulaSearch(levels, population, generations, drawn, crossover, common, freq_min)
    table = as_microdata(data)
    chosen = resolve_attributes(table, attributes, PRAM.kinds, PRAM.name)
    seed = draw_seed() if seed is None else check_seed(seed)
    variables = [variable_of(table, (name,)) for name in chosen]
    codes = np.column_stack([variable.codes for variable in variables])
    complete = codes[(codes >= 0).all(axis=1)]
    if len(complete) == 0:
        raise DataError("no record has a value in every attribute, so no formula can be judged")
    sizes = np.array([len(variable.members) for variable in variables])
    ordinal = np.array([table[name].kind == "ordinal" for name in chosen])
    fitness = GeneralFitness(CategoricalMeasures(complete, sizes, ordinal), by, repeats, probabilistic)
    frequencies = [variable.frequencies for variable in variables]

    def disclosed(matrices: Sequence[FloatArray]) -> list[float]:
        return [100 * map_disclosure(matrix, t) for matrix, t in zip(matrices, frequencies, strict=True)]

    def penalty(matrices: Sequence[FloatArray]) -> float:
        if most_disclosed is not None and max(disclosed(matrices)) > most_disclosed:
            return np.inf
        return disclosure_weight * float(np.mean(disclosed(matrices))) if disclosure_weight else 0.0

    rng = Streams(seed).generator("formula")
    found = evolve(frequencies, fitness, rng, search, penalty=penalty, fresh=fresh, progress=progress)
    return EvolvedFormula(
        readable(found.tree),
        chosen,
        found.optimised,
        found.fresh,
        dict(zip(chosen, disclosed(search.matrices(found.tree, frequencies)), strict=True)),
        found.trajectory,
        found.judged,
        freq_min,
        seed,
    )
