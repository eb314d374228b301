"""Genetic programming of formulas for PRAM: section 4.2.4 of Marés (2013), against plain matrices at their best.

The source compares formulas with plain matrices of one parameter each; here that parameter is chosen as well. Measures
are those by which the printed loss and risk of plain matrices come out, without probabilistic linkage, which links
fewer records than distance does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from microveil.numerics.choices import By
from microveil.numerics.evolution.categorical_measures import BY_EQUALITY, CategoricalMeasures, Conventions
from microveil.numerics.evolution.formula_search import FormulaSearch, FoundFormula, evolve_formula
from microveil.numerics.evolution.formulas import readable
from microveil.numerics.evolution.matrix_evolution import disclosures
from microveil.numerics.evolution.perturbed_fitness import Evaluation, GeneralFitness
from microveil.numerics.perturbing.transition_matrices import frequency_matrix, uniform_matrix
from microveil.typing import FloatArray, IntArray
from reproduction.base import Quick, Reproduction, Row, Rows, claim, printed, row
from reproduction.evolved_categories import NO_DATA
from reproduction.linkage import three

FILES = {"german_credit": "german", "solar_flare2": "flare"}
SEEDS = (1, 2, 3, 4, 5)
GENERATIONS = 1500
DEPTHS = (3, 4, 5)
FRESH = 50
BOTH: tuple[By, ...] = ("max", "mean")
STEPS = 20
# the best maxima of an independent program for frequency matrices with p = 0.65, and that of the printed formulas
KNOWN_BEST = {"german_credit": 34.1, "solar_flare2": 33.8}
PRINTED_START = {
    ("german_credit", "mean"): ("30.23", "26.72"),
    ("solar_flare2", "mean"): ("33.09", "26.10"),
    ("german_credit", "max"): ("37.18", "34.33"),
    ("solar_flare2", "max"): ("38.57", "37.03"),
}
Maker = Callable[[IntArray, float], FloatArray]
PLAIN: dict[str, tuple[Maker, int]] = {"freq pram": (frequency_matrix, STEPS - 1), "unif pram": (uniform_matrix, STEPS)}


@cache
def measures_of(file: str) -> CategoricalMeasures:
    """One-way tables, changed cells and entropy as loss; equality and distance as risk; one more category counts."""
    data, names = three(file)
    codes = np.column_stack([data.categories(name).codes for name in names])
    sizes = codes.max(axis=0) + 1
    conventions = Conventions(1, "nominal", BY_EQUALITY)
    return CategoricalMeasures(codes, sizes, np.zeros(len(names), dtype=np.bool_), conventions, 1)


@cache
def frequencies_of(file: str) -> tuple[IntArray, ...]:
    return tuple(np.bincount(column) for column in measures_of(file).original.T)


def evaluated(file: str, matrices: Sequence[FloatArray], repeats: int) -> Evaluation:
    return GeneralFitness(measures_of(file), "max").of(matrices, np.random.default_rng(1), repeats)


@cache
def tuned(file: str, plain: str, steps: int = STEPS) -> tuple[float, Evaluation]:
    """The parameter, in steps of 0.05, by which the greater of IL and DR is least, and what it gives anew."""
    make, most = PLAIN[plain]
    tried = [step / STEPS for step in range(1, most + 1, STEPS // steps)]

    def matrices(parameter: float) -> list[FloatArray]:
        return [make(t, parameter) for t in frequencies_of(file)]

    best = min(tried, key=lambda parameter: evaluated(file, matrices(parameter), 5).score)
    return best, evaluated(file, matrices(best), FRESH)


@cache
def found(file: str, by: By, levels: int, generations: int, seed: int) -> FoundFormula:
    fitness = GeneralFitness(measures_of(file), by)
    search = FormulaSearch(levels=levels, generations=generations)
    return evolve_formula(frequencies_of(file), fitness, np.random.default_rng(seed), search, fresh=FRESH)


def searches(file: str, by: By, levels: int, quick: bool) -> list[FoundFormula]:
    """Sorted by what they score with fresh perturbations."""
    generations, seeds = (40, SEEDS[:1]) if quick else (GENERATIONS, SEEDS)
    made = [found(file, by, levels, generations, seed) for seed in seeds]
    return sorted(made, key=lambda one: one.fresh.score)


def _in_the_middle(made: Sequence[FoundFormula]) -> FoundFormula:
    return made[(len(made) - 1) // 2]


def _range(made: Sequence[FoundFormula]) -> str:
    scores = [one.fresh.score for one in made]
    return f"{len(scores)} runs from {min(scores):.2f} to {max(scores):.2f}" if len(scores) > 1 else "one run"


def against_plain(quick: bool) -> Rows:
    """Tables 4.12 to 4.14: the formulas, and whether they beat plain matrices, as printed and at their best."""
    steps = 5 if quick else STEPS
    shown = {(line["file"], line["method"]): line for line in printed("scores_pram_search", "4.12", "4.13", "4.14")}
    for by in ("max", "mean"):
        for figure in ("il", "dr", "max", "mean"):
            yield row(f"housing gp {by} {figure}", shown["housing", f"gp {by}"][figure], None, note=NO_DATA)
    for file, name in FILES.items():
        best = {plain: tuned(file, plain, steps) for plain in PLAIN}
        for plain, (parameter, made_so) in best.items():
            known = KNOWN_BEST[file] if plain == "freq pram" else None
            note = f"parameter {parameter:g}; IL {made_so.loss:.2f}, DR {made_so.risk:.2f}"
            yield Row(f"{file} {plain} at its best: max", None, made_so.score, recomputed=known, near=1.0, note=note)
        for by in BOTH:
            made = searches(file, by, 5, quick)
            middle, line = _in_the_middle(made), shown[name, f"gp {by}"]
            loss, risk = middle.fresh.loss, middle.fresh.risk
            values = {"il": loss, "dr": risk, "max": max(loss, risk), "mean": (loss + risk) / 2}
            for figure, value in values.items():
                note = f"{_range(made)}; {readable(middle.tree)}" if figure == by else ""
                yield row(f"{file} gp {by} {figure}", line[figure], value, note=note)
            first = float(np.median([one.trajectory[0] for one in made]))
            yield row(f"{file} gp {by}: best formula at first", PRINTED_START[file, by][0], first)
            yield claim(
                f"{file} gp {by}: the best score never rises",
                all((np.diff(one.trajectory) <= 0).all() for one in made),
                middle.trajectory[0] - middle.trajectory[-1],
                "how far it falls",
            )
        yield from _claims(file, best, searches(file, "max", 5, quick), searches(file, "mean", 5, quick), shown, name)


def _claims(
    file: str,
    best: dict[str, tuple[float, Evaluation]],
    by_max: Sequence[FoundFormula],
    by_mean: Sequence[FoundFormula],
    shown: dict[tuple[str, str], dict[str, str]],
    name: str,
) -> Rows:
    middle, least = _in_the_middle(by_max).fresh.score, by_max[0].fresh.score
    printed_plain = float(shown[name, "freq pram"]["max"])
    plain = best["freq pram"][1].score
    yield claim(
        f"{file}: formulas beat frequency PRAM as it is printed", middle < printed_plain, middle,
        f"max, the run in the middle; printed {printed_plain:.2f}; the best run has {least:.2f}",
    )  # fmt: skip
    ahead = sum(one.fresh.score < plain for one in by_max)
    yield claim(
        f"{file}: formulas beat frequency PRAM at its best", middle < plain, middle,
        f"max, the run in the middle; frequency PRAM {plain:.2f}, which {ahead} of {len(by_max)} runs beat",
    )  # fmt: skip
    yield claim(f"{file}: the best of all runs beats frequency PRAM at its best", least < plain, least,
                f"max; frequency PRAM {plain:.2f}")  # fmt: skip
    known = {
        "the formula": FormulaSearch().matrices(_in_the_middle(by_max).tree, frequencies_of(file)),
        "frequency PRAM": [frequency_matrix(t, best["freq pram"][0]) for t in frequencies_of(file)],
    }
    guessed = {name: 100 * float(np.mean(disclosures(m, frequencies_of(file)))) for name, m in known.items()}
    yield Row(f"{file}: true categories that whoever knows the matrices guesses, %", None, guessed["the formula"],
              note=f"by frequency PRAM {guessed['frequency PRAM']:.2f}")  # fmt: skip
    apart = [float(np.median([abs(one.fresh.loss - one.fresh.risk) for one in made])) for made in (by_max, by_mean)]
    yield claim(f"{file}: by the mean IL and DR are farther apart than by the maximum", apart[1] > apart[0], apart[1],
                f"difference of IL and DR; by the maximum {apart[0]:.2f}")  # fmt: skip
    lopsided = sum(min(one.fresh.loss, one.fresh.risk) < 5 for one in by_mean)
    yield claim(f"{file}: the mean is won by formulas that keep, or lose, nearly everything",
                2 * lopsided > len(by_mean), lopsided,
                f"runs of {len(by_mean)} that end with IL or DR below 5", 0)  # fmt: skip


def by_depth(quick: bool) -> Rows:
    """Table 4.15; the line of Flare with five levels is a copy of another, and is compared with Table 4.13 above."""
    shown = {(line["file"], line["method"]): line for line in printed("scores_pram_search", "4.15")}
    for depth in DEPTHS:
        for figure in ("il", "dr", "max"):
            yield row(
                f"housing, {depth} levels: {figure}", shown["housing", f"depth {depth}"][figure], None, note=NO_DATA
            )
    for file, name in FILES.items():
        scores = {}
        for depth in DEPTHS:
            made = searches(file, "max", depth, quick)
            middle, line = _in_the_middle(made), shown[name, f"depth {depth}"]
            scores[depth] = middle.fresh.score
            copied = (name, depth) == ("flare", 5)
            values = {"il": middle.fresh.loss, "dr": middle.fresh.risk, "max": middle.fresh.score}
            for figure, value in values.items():
                note = f"{_range(made)}; {readable(middle.tree)}" if figure == "max" else ""
                cell = "" if copied else line[figure]
                # with five levels they are the numbers of Tables 4.12 and 4.13, which have their verdicts there
                kind = "another reading" if depth == 5 and not copied else "measurement"
                yield row(f"{file}, {depth} levels: {figure}", cell, value, note=note, kind=kind)
        told = ", ".join(f"{depth} levels {score:.2f}" for depth, score in scores.items())
        yield claim(f"{file}: deeper formulas are no better", scores[5] >= min(scores[3], scores[4]), scores[5],
                    f"max, the run in the middle: {told}")  # fmt: skip


TABLES = (
    Reproduction(
        "formulas-plain",
        "Formulas for PRAM against plain matrices at their best",
        "Marés (2013), section 4.2.4",
        against_plain,
        48,
        150,
        tuple(FILES),
        Quick(48, 5, "four of five runs, most generations, and most parameters of the plain matrices"),
        "six formulas, 1,500 generations, five runs, of which the one in the middle is compared with print; scores are "
        "those of 50 fresh perturbations. The source did not choose the parameter of the plain matrices; the best ones "
        "here have max 34.1 and 33.8 in an independent program, against printed formulas with 34.33 and 37.03, so that "
        "the printed superiority of formulas rests on plain matrices that are not at their best; on Flare formulas do "
        "not beat frequency PRAM in print either (37.03 against 36.09). Matrices have no row for the empty "
        "category that domains count, so that freq_min is above 0. Runs with so few formulas end anywhere: the ranges "
        "stand in the notes",
        in_full=True,
    ),
    Reproduction(
        "formulas-depth",
        "Formulas for PRAM by their levels",
        "Marés (2013), section 4.2.4",
        by_depth,
        29,
        90,
        tuple(FILES),
        Quick(29, 5, "four of five runs, and most generations"),
        "in print, German and Housing are no better with five levels than with three or four; Flare is, once a line "
        "that is a copy of Housing (40.84, 0.09) is replaced by that of Table 4.13 (37.03, 28.25)",
        in_full=True,
    ),
)
