"""Evolution of whole files of categories: the second half of section 3.5 of Marés (2013).

The Housing file is not to be had. Neither the parameters of the starting files nor the number of generations are in the
source: the files are as many of each method as it says, with parameters in even steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from microveil.masking import Plan, Step
from microveil.microdata import Microdata, datasets
from microveil.microdata.microdata import Categories
from microveil.numerics.choices import By
from microveil.numerics.evolution.file_evolution import Rules
from microveil.progress import silent
from microveil.protection import protect
from microveil.search.file_evolution import FilePopulation
from microveil.typing import IntArray
from reproduction.base import Quick, Reproduction, Row, Rows, claim, printed, row, whole

if TYPE_CHECKING:
    from microveil.numerics.evolution.file_evolution import Evolution

GENERATIONS = 2000
LONG = 20_000
FILES = ("german_credit", "solar_flare2", "adult")
QUICK_FILES = FILES[:2]
FIGURES = ("min", "mean", "max")  # as a trajectory has them
NO_DATA = "the Housing file is not available"
# the protected attributes, with their categories in order where the file does not sort them so
ATTRIBUTES: dict[str, dict[str, str]] = {
    "german_credit": {"checking_status": "", "savings": "", "employment": ""},
    "solar_flare2": {
        "zurich_class": "A B C D E F H",
        "largest_spot_size": "X R S A H K",
        "spot_distribution": "X O I C",
    },
    "adult": {
        "education": "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm "
        "Bachelors Masters Prof-school Doctorate",
        "marital-status": "",
        "occupation": "",
    },
}
ORDINAL = ("checking_status", "savings", "employment", "education")


@dataclass(frozen=True)
class Grid:
    """The parameters of the starting files; microaggregation has six groupings of the attributes for every k."""

    sizes: range
    merged: range


GRIDS = {
    "german_credit": Grid(range(2, 14), range(2, 6)),
    "solar_flare2": Grid(range(2, 14), range(2, 6)),
    "adult": Grid(range(2, 10), range(2, 8)),
}
# how many files the source has of microaggregation, of each of three codings, of rank swapping and of PRAM
COUNTS = {"german_credit": (72, 4, 11, 9), "solar_flare2": (72, 4, 11, 9), "adult": (48, 6, 11, 9)}
GROUPINGS = (((0, 1, 2),), ((0,), (1, 2)), ((1,), (0, 2)), ((2,), (0, 1)), ((0,), (1,), (2,)))


# --- the starting files ----------------------------------------------------------------------------------------------


@cache
def protected(file: str) -> Microdata:
    """The protected attributes with their domains; records with an empty cell in them are left out."""
    chosen = ATTRIBUTES[file]
    data = datasets.load(file).select(tuple(chosen))
    attributes = []
    for name, order in chosen.items():
        domain = tuple(order.split()) or tuple(sorted(str(c) for c in data.domain(name) if c is not None))
        attributes.append(data[name].changed(kind="ordinal" if name in ORDINAL else "nominal", domain=domain))
    data = data.with_schema(data.schema.replacing(*attributes))
    codes = np.column_stack([data.categories(name, data.domain(name)).codes for name in data.names])
    return data.take(np.flatnonzero((codes >= 0).all(axis=1)))


@cache
def starting_files(file: str, every: int = 1) -> tuple[Microdata, ...]:
    """All of them, or of microaggregation only every so manieth k."""
    data, grid = protected(file), GRIDS[file]
    sizes = grid.sizes[::every]
    steps = [
        *([_step("mdav-generic", data, group, k=k) for group in groups] for k in sizes for groups in GROUPINGS),
        *(list(_coding(name, data, p)) for name in ("bottom-code", "top-code", "recode") for p in grid.merged),
        *([_step("rank-swapping", data, (0, 1, 2), p=float(p))] for p in range(1, 12)),
        *([_step("pram", data, (0, 1, 2), p=p / 10)] for p in range(1, 10)),
    ]
    masked = [protect(data, Plan(tuple(one), seed), progress=silent).data for seed, one in enumerate(steps)]
    return (*masked, *(_along_one_axis(data, k) for k in sizes))


def _step(method: str, data: Microdata, group: Sequence[int], **parameters: Any) -> Step:
    return Step(method, parameters, tuple(data.names[j] for j in group))


def _coding(method: str, data: Microdata, p: int) -> Iterator[Step]:
    """An attribute keeps at least two categories apart, however many are to be merged."""
    for j, name in enumerate(data.names):
        used = len(np.unique(data.categories(name, data.domain(name)).codes))
        rare = {"by": "rare"} if method == "recode" else {}
        yield _step(method, data, (j,), p=min(p, used - 1), **rare)


def _along_one_axis(data: Microdata, k: int) -> Microdata:
    """Groups of k records in the order of the sum of their ranks publish medians, or the most frequent category."""
    codes = np.column_stack([data.categories(name, data.domain(name)).codes for name in data.names])
    order = np.lexsort((np.arange(len(codes)), _rank_sums(codes)))
    groups = np.minimum(np.arange(len(codes)) // k, len(codes) // k - 1)
    made = {}
    for j, name in enumerate(data.names):
        sorted_codes, ordinal = codes[order, j], data[name].kind == "ordinal"
        central = np.array(
            [_centre(part, ordinal) for part in np.split(sorted_codes, np.flatnonzero(np.diff(groups)) + 1)]
        )
        column = np.empty(len(codes), dtype=np.int64)
        column[order] = central[groups]
        made[name] = data.category_column(Categories(name, column, data.domain(name)))
    return data.with_columns(made)


def _rank_sums(codes: IntArray) -> IntArray:
    """The sum over the attributes of how many records have at most the same category."""
    counts = [np.cumsum(np.bincount(column)) for column in codes.T]
    return np.asarray(sum(below[column] for below, column in zip(counts, codes.T, strict=True)))


def _centre(codes: IntArray, ordinal: bool) -> int:
    return int(np.sort(codes)[(len(codes) - 1) // 2]) if ordinal else int(np.bincount(codes).argmax())


# --- runs ------------------------------------------------------------------------------------------------------------


@cache
def evolved(file: str, by: By, generations: int, every: int = 1, left_out: float = 0.0) -> Evolution:
    """A run by one fitness, with so many of the best starting files (a share) left out."""
    original, files = protected(file), starting_files(file, every)
    if left_out:
        scores = evolved(file, by, 0, every).scores
        worse = np.sort(np.argsort(scores, kind="stable")[round(left_out * len(files)) :])
        files = tuple(files[i] for i in worse)
    population = FilePopulation(original, files, tuple(original.names), preset="source-ch4-2")
    return population.evolve(Rules(by=by), generations, np.random.default_rng(1), silent, "").run


def _setting(quick: bool) -> tuple[tuple[str, ...], int, int]:
    """The files, the number of generations, and of how many values of k one is taken."""
    return (QUICK_FILES, 300, 4) if quick else (FILES, GENERATIONS, 1)


def one_fitness(by: By, quick: bool) -> Rows:
    """Scores of the population at first and after evolution, each with print beside it."""
    files, generations, every = _setting(quick)
    shown = {(line["file"], line["figure"]): line for line in printed("evolved_categories") if line["fitness"] == by}
    for file in (*files, "housing"):
        for index, figure in enumerate(FIGURES):
            line = shown.get((file, figure), {"start": "", "end": ""})
            if file == "housing":
                values: tuple[float | None, float | None] = (None, None)
            else:
                run = evolved(file, by, generations, every)
                values = (float(run.trajectory[0, index]), float(run.trajectory[-1, index]))
            for when, cell, value in zip(("at first", "after"), (line["start"], line["end"]), values, strict=True):
                if cell or value is not None:
                    yield row(f"{file} {figure} {when}", cell, value, note=NO_DATA if value is None else "")


def claims(quick: bool) -> Rows:
    """What the text says of the two fitness functions, and of long runs."""
    files, generations, every = _setting(quick)
    for file in files:
        by_mean, by_max = (evolved(file, by, generations, every) for by in ("mean", "max"))
        start, end = by_max.trajectory[0], by_max.trajectory[-1]
        fall = 100 * (1 - end[1] / start[1])
        yield claim(
            f"{file}: by the maximum the mean score falls by at least 10 %",
            fall >= 10,
            fall,
            _from_to(start[1], end[1]),
        )
        apart = [float(np.abs(run.losses - run.risks).mean()) for run in (by_mean, by_max)]
        first = float(np.abs(by_max.first_losses - by_max.first_risks).mean())
        yield claim(
            f"{file}: IL and DR end nearer to each other by the maximum than by the mean",
            apart[1] < apart[0],
            apart[1],
            f"mean difference of IL and DR: {first:.2f} at first, {apart[0]:.2f} by the mean",
        )
        gaps = start[1] - start[0], end[1] - end[0]
        yield claim(
            f"{file}: by the maximum the mean moves towards the minimum",
            gaps[1] < gaps[0],
            gaps[1],
            f"before {gaps[0]:.2f}",
        )
        for by, run in (("mean", by_mean), ("maximum", by_max)):
            falls = 100 * (1 - run.trajectory[-1] / run.trajectory[0])
            yield claim(
                f"{file}: by the {by} the best improves less than the mean of all", falls[0] < falls[1], falls[0],
                f"in per cent; the mean improves by {falls[1]:.2f}",
            )  # fmt: skip
            drops = -np.diff(run.trajectory[:, 2])
            seldom, total = int((drops > 0).sum()), float(drops.sum())
            largest = float(drops.max(initial=0.0))
            yield claim(
                f"{file}: by the {by} the worst improves rarely, in jumps",
                0 < seldom <= generations / 20 and largest >= 0.1 * total,
                seldom, f"generations of {generations:,}; largest jump {largest:.2f} of {total:.2f}", 0,
            )  # fmt: skip
    balance = {file: _apart(evolved(file, "mean", generations, every)) for file in files}
    few, many = [balance[file] for file in QUICK_FILES], balance.get("adult")
    yield claim(
        "by the mean IL and DR are farther apart with few categories (German, Flare) than with many (Adult)",
        many is not None and many < min(few),
        many,
        f"mean difference of IL and DR: {', '.join(f'{file} {value:.2f}' for file, value in balance.items())}",
    )
    if not quick:
        for file in QUICK_FILES:
            for by in ("mean", "max"):
                ends = evolved(file, by, LONG).trajectory[-1]
                for figure, value in zip(FIGURES, ends, strict=True):
                    yield Row(f"{file} by the {by}, {figure} after {LONG:,} generations", None, float(value))


def _apart(run: Evolution) -> float:
    return float(np.abs(run.losses - run.risks).mean())


def _from_to(before: float, after: float) -> str:
    return f"{before:.2f} to {after:.2f}"


def without_the_best(quick: bool) -> Rows:
    """Flare by the maximum, without the best 5 and 10 per cent of the starting files."""
    _, generations, every = _setting(quick)
    file = "solar_flare2"
    whole_run = float(evolved(file, "max", generations, every).trajectory[-1, 0])
    for share, shown, above in ((0.05, "32.96", "1.33"), (0.1, "32.71", "1.08")):
        end = float(evolved(file, "max", generations, every, share).trajectory[-1, 0])
        first = float(evolved(file, "max", generations, every, share).trajectory[0, 0])
        label = f"without the best {100 * share:.0f} %"
        yield row(f"{label}: min after", shown, end, note=f"at first {first:.2f}")
        yield row(f"{label}: above the whole run", above, end - whole_run, note=f"which ends at {whole_run:.2f}")
        yield claim(f"{label}: at most two points above the whole run", end - whole_run <= 2, end - whole_run)
        yield claim(f"{label}: costs about a point", 0.5 <= end - whole_run <= 2, end - whole_run, "0.5 to 2 points")


def arithmetic() -> Rows:
    """The printed improvements from the printed scores, and the populations from their parts."""
    for line in printed("evolved_categories"):
        start, end = float(line["start"]), float(line["end"])
        wrong = (line["fitness"], line["file"], line["figure"]) == ("max", "adult", "min")
        yield row(
            f"by the {line['fitness']}, {line['file']} {line['figure']}: improvement, %",
            line["improvement"],
            100 * (start - end) / start,
            tolerance=0.006,
            note="1.37 is right" if wrong else "",
            kind="arithmetic",
        )
    for share, shown, above in ((5, 32.96, "1.33"), (10, 32.71, "1.08")):
        yield row(f"without the best {share} %: above 31.63", above, shown - 31.63, kind="arithmetic")


TABLES = (
    *(
        Reproduction(
            f"evolved-categories-{by}",
            f"Files of categories evolve by the {title} of IL and DR",
            "Marés (2013), section 3.5",
            lambda quick, by=by: one_fitness(by, quick),  # type: ignore[misc]
            length,
            seconds,
            FILES,
            Quick(quick_length, 10, "Adult, most values of k, and 1,700 of 2,000 generations"),
            "the source states neither the parameters of its starting files nor the number of generations; its IL and "
            "DR are cited, not defined, for this chapter, and probabilistic linkage is left out of the risk here. So "
            "no printed value can be expected; what can is how scores change, which has its verdicts in "
            "`evolved-categories-claims`",
            in_full=True,
        )
        for by, title, length, quick_length, seconds in (("mean", "mean", 24, 18, 60), ("max", "greater", 22, 16, 25))
    ),
    Reproduction(
        "evolved-categories-claims",
        "What is said of files of categories that evolve",
        "Marés (2013), section 3.5",
        claims,
        34,
        10,
        FILES,
        Quick(15, 10, "Adult, most values of k, and long runs"),
        "the runs of `evolved-categories-mean` and `-max`. Rarely means in at most one of 20 generations, and in jumps "
        "that the largest is a tenth of all",
        in_full=True,
        judges=False,
    ),
    Reproduction(
        "evolved-categories-robust",
        "Files of categories evolve without the best of them",
        "Marés (2013), section 3.5",
        without_the_best,
        8,
        10,
        ("solar_flare2",),
        Quick(8, 5, "most values of k, and 1,700 of 2,000 generations"),
        "that 10 per cent end better than 5 in print is chance, as the source says",
        in_full=True,
    ),
    Reproduction(
        "evolved-categories-arithmetic",
        "Improvements of files of categories from the printed scores",
        "Marés (2013), section 3.5",
        whole(arithmetic),
        24,
        0.1,
        why="one improvement is misprinted (1.34 for 1.37)",
        judges=False,
    ),
)
