"""Links to the likeliest record for several models of agreement at once: what a pair costs depends on its pattern
alone, so that a pair is compared once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.linkage.agreement import Patterns, Scheme
from microveil.numerics.neighbours.mixed_distance import Settings, Table, distances_from
from microveil.numerics.neighbours.nearest import distances_of_pairs, distinct, rounding_of
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray

_CHUNK = 512
_AT_ONCE = 10**6


def pattern_costs(scheme: Scheme, costs: Sequence[FloatArray], levels: npt.NDArray[np.uint8]) -> FloatArray:
    """The distances of patterns by the terms of a scheme, added up in the order in which those of records are.

    `levels` has a row for each pattern.
    """
    terms, sums, term = scheme.terms(costs), np.zeros(len(levels)), 0
    for j, limits in enumerate(scheme.limits):
        unknown = levels[:, j] > len(limits)
        for limit in range(len(limits)):
            beyond = np.where(levels[:, j] > limit, terms.slope[term], 0.0)
            sums += np.where(unknown, terms.penalty[term], beyond)
            term += 1
    return sums


def chances_by_pattern(
    scheme: Scheme,
    known: Table,
    released: Table,
    patterns: Patterns,
    costs: FloatArray,
    tolerance: FloatArray,
    progress: Progress,
    label: str,
) -> FloatArray:
    """For each record and each model the chance that the record is linked to its own, of all that cost least.

    `costs` has a row for each of the patterns, which are all that occur, and a column for each model; costs that differ
    by no more than the model's `tolerance` are equal.
    """
    (sources, source_of), (targets, target_of) = distinct(known), distinct(released)
    laid = scheme.table(sources), scheme.table(targets)
    terms = scheme.pattern_terms()
    settings, counts = terms.between(*laid), np.bincount(target_of)
    number_of = np.zeros(int(scheme.patterns), dtype=np.int64)
    number_of[patterns.numbers] = np.arange(len(patterns.numbers))
    queries, models = sources.cells.shape[1], costs.shape[1]
    border, ties = np.empty((queries, models)), np.empty((queries, models))

    def work(start: int, end: int) -> None:
        part = laid[0].at(slice(start, end))
        _least_costs(part, laid[1], counts, settings, number_of, costs, tolerance, border[start:end], ties[start:end])

    over_chunks(work, queries, max(1, _AT_ONCE // len(counts)), progress, label)
    own = number_of[distances_of_pairs(*laid, terms, source_of, target_of).astype(np.int64)]
    return np.where(costs[own] <= border[source_of], 1.0 / np.maximum(ties[source_of], 1), 0.0)


def tolerances(known: Table, released: Table, subsets: Sequence[list[int]]) -> FloatArray:
    """By how much two equal sums of costs may differ, for models on some of the attributes each."""
    return np.array([rounding_of(known.of(chosen), released.of(chosen)) for chosen in subsets])


@kernel
def _least_costs(
    sources: Table,
    targets: Table,
    counts: IntArray,
    settings: Settings,
    number_of: IntArray,
    costs: FloatArray,
    tolerance: FloatArray,
    border: FloatArray,
    ties: FloatArray,
) -> None:
    """For each source and each model the cost up to which targets tie for the least, and how many do.

    The patterns that a source has with the targets are counted first: they are few beside the targets.
    """
    cells, states = sources
    size, models = len(counts), costs.shape[1]
    patterns, in_common = np.empty(_CHUNK), np.empty(_CHUNK)
    count, met = np.zeros(len(costs), dtype=np.int64), np.empty(len(costs), dtype=np.int64)
    for q in range(cells.shape[1]):
        many = 0
        for begin in range(0, size, _CHUNK):
            end = min(size, begin + _CHUNK)
            found = patterns[: end - begin]
            distances_from((cells[:, q], states[:, q]), targets, begin, settings, found, in_common[: end - begin])
            for i in range(end - begin):
                number = number_of[int(found[i])]
                if count[number] == 0:
                    met[many] = number
                    many += 1
                count[number] += counts[begin + i]
        best, tied = border[q], ties[q]
        best[:] = np.inf
        tied[:] = 0.0
        for one in range(many):
            for model in range(models):
                best[model] = min(best[model], costs[met[one], model])
        for model in range(models):
            best[model] += tolerance[model]
        for one in range(many):
            number = met[one]
            for model in range(models):
                if costs[number, model] <= best[model]:
                    tied[model] += count[number]
            count[number] = 0
