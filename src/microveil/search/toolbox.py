"""The evolutionary toolbox: small operators that compose to genetic algorithms and genetic programming.

Every operator is a function or an object that is called with a random generator, and none keeps a state of its own.
Scores are minimised.
"""

from microveil.numerics.evolution.crossover import PointCrossover, UniformCrossover, cross_at, cross_by_mask
from microveil.numerics.evolution.evolve import evolve
from microveil.numerics.evolution.gray import from_gray, gray
from microveil.numerics.evolution.mutation import (
    BernoulliMutation,
    PoissonMutation,
    complement,
    near_allele,
    other_allele,
)
from microveil.numerics.evolution.representations import Quantised, Strings, Variable
from microveil.numerics.evolution.selection import Roulette, Tournament, roulette, score_weights, tournament
from microveil.numerics.evolution.state import (
    State,
    all_of,
    any_of,
    diversity,
    diversity_below,
    evaluations,
    generations,
    improved_by,
    score_reached,
    seconds,
)
from microveil.numerics.evolution.survival import (
    DeterministicCrowding,
    Generational,
    GenerationGap,
    LosersReplaced,
    SteadyState,
)
from microveil.numerics.evolution.trees import Grammar, evaluate
from microveil.numerics.evolution.variation import (
    CrossoverAndMutation,
    CrossoverOrMutation,
    adapted,
    constant,
    scheduled,
)

__all__ = [  # noqa: RUF022 - in the order of an evolution
    "Strings", "Quantised", "Variable", "gray", "from_gray",
    "Roulette", "Tournament", "roulette", "score_weights", "tournament",
    "PointCrossover", "UniformCrossover", "cross_at", "cross_by_mask",
    "BernoulliMutation", "PoissonMutation", "complement", "other_allele", "near_allele",
    "CrossoverAndMutation", "CrossoverOrMutation", "constant", "scheduled", "adapted",
    "Generational", "GenerationGap", "SteadyState", "LosersReplaced", "DeterministicCrowding",
    "generations", "evaluations", "seconds", "diversity_below", "score_reached", "improved_by", "any_of", "all_of",
    "diversity", "State", "evolve",
    "Grammar", "evaluate",
]  # fmt: skip
