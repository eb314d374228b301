"""The search for a formula from which PRAM makes its matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from microveil.errors import DataError, ParameterError, brief
from microveil.masking.randomising.evolution import Evolution
from microveil.masking.randomising.pram import PRAM, variable_of
from microveil.microdata.microdata import as_microdata, resolve_attributes
from microveil.numerics.choices import By
from microveil.numerics.evolution.formula_search import FormulaSearch
from microveil.numerics.evolution.formula_search import evolve_formula as evolve
from microveil.numerics.evolution.formulas import LeastFrequency, readable
from microveil.numerics.evolution.matrix_evolution import FRESH, Guard, disclosures
from microveil.numerics.evolution.perturbed_fitness import REPEATS, Evaluation
from microveil.progress import Progress, silent
from microveil.randomness import Streams, check_seed, draw_seed

# the least and the most of what is counted
_WHOLE = {
    "levels": (2, 12),
    "population": (2, 100_000),
    "generations": (0, 10_000_000),
    "drawn": (2, 100_000),
    "fresh": (1, 100_000),
}


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
    fresh: int = FRESH,
    freq_min: LeastFrequency = "literal",
    most_disclosed: float | None = None,
    disclosure_weight: float = 0.0,
    epsilon: float | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> EvolvedFormula:
    """Look for the formula whose PRAM matrices give the least score of information loss and disclosure risk.

    Formulas of at most so many `levels` evolve by steady-state genetic programming as in Marés (2013), section 4.2: in
    every generation `drawn` formulas are compared, the better half are crossed or mutated, and their children replace
    the others if they are better. A score is the greater of loss and risk, or their mean, over `repeats` perturbations;
    the same ones for all formulas if random numbers are `common`. The formula that was found is scored anew by `fresh`
    perturbations.

    Loss and risk know nothing of an intruder who knows the matrices. `most_disclosed` forbids formulas by which such an
    intruder guesses more than this percentage of the true categories of an attribute, and `disclosure_weight` adds as
    many times the mean of these percentages to the score. With `epsilon` no published category may be more than
    e^epsilon times as probable for one true category as for another.

    >>> people = {"sex": ["f", "m"] * 30, "job": ["a", "b", "b", "c", "c", "c"] * 10}
    >>> found = evolve_formula(people, levels=3, generations=20, seed=1)
    >>> found.pram.mask(people, seed=1).matrices["sex",].shape
    (2, 2)
    """
    asked = {"levels": levels, "population": population, "generations": generations, "drawn": drawn, "fresh": fresh}
    for name, number in asked.items():
        _check(name, number, *_WHOLE[name], whole=True)
    _check("crossover", crossover, 0, 1)
    _check("disclosure_weight", disclosure_weight, 0, 100)
    if most_disclosed is not None:
        _check("most_disclosed", most_disclosed, 0, 100)
    search = FormulaSearch(levels, population, generations, drawn, crossover, common, freq_min)
    table = as_microdata(data)
    chosen = resolve_attributes(table, attributes, PRAM.kinds, PRAM.name)
    seed = draw_seed() if seed is None else check_seed(seed)
    variables = [variable_of(table, (name,)) for name in chosen]
    frequencies = [variable.frequencies for variable in variables]
    if not all(t.any() for t in frequencies):
        empty = next(name for name, t in zip(chosen, frequencies, strict=True) if not t.any())
        raise DataError(f"attribute '{empty}' has no value, so no formula can be judged by it")
    fitness = Evolution(by=by, repeats=repeats, epsilon=epsilon).fitness_of(table, variables, "evolve_formula")
    guard = Guard(None if most_disclosed is None else most_disclosed / 100, disclosure_weight, epsilon)
    rng = Streams(seed).generator("formula")
    found = evolve(frequencies, fitness, rng, search, guard=guard, fresh=fresh, progress=progress)
    disclosed = disclosures(search.matrices(found.tree, frequencies), frequencies)
    return EvolvedFormula(
        readable(found.tree),
        chosen,
        found.optimised,
        found.fresh,
        {name: 100 * share for name, share in zip(chosen, disclosed, strict=True)},
        found.trajectory,
        found.judged,
        freq_min,
        seed,
    )


def _check(name: str, value: float, least: float, most: float, *, whole: bool = False) -> None:
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
        kind = "whole number" if whole else "number"
        raise ParameterError(
            f"evolve_formula: {name} = {brief(value)} is not allowed; it is a {kind} from {least:,} to {most:,}"
        )
