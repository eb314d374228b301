"""Evolution of whole files of numbers: the first half of section 3.5 of Marés (2013).

Starting files are made by rank swapping and MDAV; their parameters are not in the source. Its loss and risk are cited
there and not defined, so that its scores are on another scale than those here.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.masking import Plan, Step
from microveil.microdata import Microdata, datasets
from microveil.microdata.datasets.selections import load_selection
from microveil.numerics.choices import Operators
from microveil.numerics.evolution.file_evolution import Rules
from microveil.progress import silent
from microveil.protection import protect
from microveil.search.file_evolution import EvolvedFiles, FilePopulation
from reproduction.base import Quick, Reproduction, Row, Rows, claim, printed, row, whole
from reproduction.measuring import attack, loss

GENERATIONS = 1000
RUNS = (1, 2)
FILES = ("census", "tarragona", "eia", "pima_diabetes")
FEW_FILES = ("census", "tarragona")
EIA_RECORDS = 2000
BEST = 50  # of the pool of census
FIGURES = ("min", "mean", "max")
# the best starting score, and the best in the end, of the run that the text quotes
QUOTED = {
    "census": ("20.0802", "6.4298", "67.98"),
    "pima_diabetes": ("20.7190", "8.8885", "57.10"),
    "eia": ("17.7906", "10.8979", "38.74"),
    "tarragona": ("21.4104", "5.5862", "73.91"),
}
Mask = tuple[str, dict[str, Any]]
SIXTEEN: tuple[Mask, ...] = (
    *(("rank-swapping", {"p": float(p)}) for p in range(2, 17, 2)),
    *(("mdav", {"k": k}) for k in range(3, 11)),
)
POOL: tuple[Mask, ...] = (
    *(("rank-swapping", {"p": float(p)}) for p in range(1, 31)),
    *(("mdav", {"k": k}) for k in range(3, 33)),
)
WINDOWS = (5.0, 10.0, 20.0, 40.0)  # that an intruder may assume for p, too
OTHER_EIA = "eia, random records"


@cache
def table(file: str) -> Microdata:
    """All attributes; of EIA the ten of revenue and sales, and the first 2,000 records or as many random ones."""
    if file.startswith("eia"):
        data = load_selection("eia")
        data = data.select([name for name in data.names if name != "UTILITYID"])
        drawn = np.random.default_rng(1).choice(len(data), EIA_RECORDS, replace=False)
        return data.take(np.sort(drawn) if file == OTHER_EIA else np.arange(EIA_RECORDS))
    data = datasets.load(file)
    return data.select([name for name in data.names if data[name].kind == "numeric"])


@cache
def population(file: str, masks: tuple[int, ...] | None = None) -> FilePopulation:
    """The starting files: 16, some of these, or of Census the best of a pool."""
    data = table(file)
    chosen = POOL if file == "census" and masks is None else SIXTEEN
    chosen = tuple(chosen[i] for i in masks) if masks is not None else chosen
    files = tuple(protect(data, Plan((Step(*mask, data.names),), seed=1), progress=silent).data for mask in chosen)
    made = FilePopulation(data, files, tuple(data.names))
    if file != "census" or masks is not None:
        return made
    scores = made.evolve(Rules(), 0, np.random.default_rng(1), silent, "").run.scores
    best = np.sort(np.argsort(scores, kind="stable")[:BEST])
    return FilePopulation(data, tuple(files[i] for i in best), tuple(data.names))


@cache
def evolved(
    file: str, seed: int, generations: int, operators: Operators = "one", masks: tuple[int, ...] | None = None
) -> EvolvedFiles:
    rules = Rules(operators=operators)
    return population(file, masks).evolve(rules, generations, np.random.default_rng(seed), silent, "")


def _setting(quick: bool) -> tuple[tuple[str, ...], int, tuple[int, ...] | None]:
    """The files, the number of generations, and which of the 16 starting files."""
    return (("tarragona",), 100, (0, 4, 8, 12)) if quick else (FILES, GENERATIONS, None)


def scores(quick: bool) -> Rows:
    """Table 3.2 and the scores that the text quotes."""
    files, generations, masks = _setting(quick)
    shown = {(line["file"], line["run"]): line for line in printed("evolved_numbers")}
    for file in files:
        runs = {seed: evolved(file, seed, generations, masks=masks).run for seed in RUNS}
        first = runs[1].trajectory[0]
        yield row(f"{file} min at first", QUOTED[file][0], float(first[0]))
        for figure, value in zip(FIGURES[1:], first[1:], strict=True):
            yield Row(f"{file} {figure} at first", None, float(value), 4)
        for seed, run in runs.items():
            for figure, value in zip(FIGURES, run.trajectory[-1], strict=True):
                yield row(f"{file} run {seed} {figure}", shown[file, str(seed)][figure], float(value))
    if not quick:
        for seed in RUNS:
            for figure, value in zip(FIGURES, evolved(OTHER_EIA, seed, generations).run.trajectory[-1], strict=True):
                cell = shown["eia", str(seed)][figure]
                yield row(f"{OTHER_EIA}, run {seed} {figure}", cell, float(value), kind="another reading")


def claims(quick: bool) -> Rows:
    """What the text says of these runs."""
    files, generations, masks = _setting(quick)
    for file in files:
        runs = [evolved(file, seed, generations, masks=masks).run for seed in RUNS]
        first, ends = runs[0].trajectory[0], [run.trajectory[-1] for run in runs]
        if file in FEW_FILES:
            share = 100 * min(end[0] for end in ends) / first[0]
            yield claim(
                f"{file}: the best score falls to 60 % or less", share <= 60, share,
                f"in per cent; from {first[0]:.2f} to {', '.join(f'{end[0]:.2f}' for end in ends)}",
            )  # fmt: skip
        means = [float(end[1]) for end in ends]
        yield claim(
            f"{file}: the whole population improves", max(means) < first[1], max(means),
            f"mean score; at first {first[1]:.2f}",
        )  # fmt: skip
        apart = abs(float(ends[0][0] - ends[1][0]))
        yield claim(
            f"{file}: two runs end close to each other", apart <= 3, apart,
            "difference of the best scores, at most three points as in print",
        )  # fmt: skip
        yield claim(
            f"{file}: both runs end with the same worst score", ends[0][2] == ends[1][2],
            float(ends[0][2] - ends[1][2]),
            f"difference; at first {first[2]:.2f}, then {ends[0][2]:.2f} and {ends[1][2]:.2f}",
        )  # fmt: skip
        spread = [_spread(runs[0].first_losses, runs[0].first_risks), _spread(runs[0].losses, runs[0].risks)]
        yield claim(
            f"{file}: the R-U map stays diverse", spread[1] >= spread[0] / 2, spread[1],
            f"mean distance of (DR, IL) from its centre; at first {spread[0]:.2f}, of which half should be left",
        )  # fmt: skip
    yield from _ablations(generations, masks)
    yield from _tailored(generations, masks)
    yield from _not_in_loss(generations, masks)


def _not_in_loss(generations: int, masks: tuple[int, ...] | None) -> Rows:
    """Properties that IL has no part for, of the best file at first and in the end."""
    data, made = table("tarragona"), evolved("tarragona", 1, generations, masks=masks)
    before = made.population.files[int(np.argmin(made.run.first_scores))]
    after = data.with_columns(made.columns(data, made.run.best))
    for name in ("quantiles", "distribution"):
        first, last = (loss(name, data, file, data.names).value for file in (before, after))
        label = f"tarragona: the loss '{name}', which is no part of IL, rises"
        yield claim(label, last > first, last, f"best file; at first {first:.2f}")


def _spread(losses: Any, risks: Any) -> float:
    points = np.column_stack([losses, risks])
    return float(np.linalg.norm(points - points.mean(axis=0), axis=1).mean())


def _ablations(generations: int, masks: tuple[int, ...] | None) -> Rows:
    """Figure 3.5: one operator in a generation against both."""
    one = [evolved("tarragona", seed, generations, masks=masks).run for seed in RUNS]
    mean = float(np.mean([run.trajectory[-1, 1] for run in one]))
    kinds: tuple[tuple[Operators, str], ...] = (("both-all-cells", "all cells"), ("both-one-cell", "one cell"))
    for operators, cells in kinds:
        both = [evolved("tarragona", seed, generations, operators, masks).run for seed in RUNS]
        other = float(np.mean([run.trajectory[-1, 1] for run in both]))
        yield claim(
            f"tarragona: one operator is better than both with mutation of {cells}", mean < other, mean,
            f"mean score; with both {other:.2f}",
        )  # fmt: skip


def _tailored(generations: int, masks: tuple[int, ...] | None) -> Rows:
    """Attacks that know how the starting file of a slot was masked, before and after."""
    data, run = table("tarragona"), evolved("tarragona", 1, generations, masks=masks)
    chosen = SIXTEEN if masks is None else tuple(SIXTEEN[i] for i in masks)
    after = [data.with_columns(run.columns(data, i)) for i in range(len(chosen))]
    swapped = {i: given["p"] for i, (name, given) in enumerate(chosen) if name == "rank-swapping"}
    grouped = [i for i, (name, _) in enumerate(chosen) if name == "mdav"]

    def linked(file: Microdata, name: str, **parameters: Any) -> float:
        pair = Pair.of(data, file, data.names, known=data.names)
        return float(attack(name, **parameters).assess_pair(pair, explicit=True).value)

    def by_windows(files: Any, assumed: tuple[float, ...]) -> float:
        return float(
            np.mean(
                [max(linked(files[i], "rank-swapping-linkage", p=w) for w in (p, *assumed)) for i, p in swapped.items()]
            )
        )

    before = run.population.files
    risks = {
        "rank-swapped files escape the attack by their own windows": [by_windows(f, ()) for f in (before, after)],
        "rank-swapped files escape the attack by the best of several windows": [
            by_windows(f, WINDOWS) for f in (before, after)
        ],
        "microaggregated files escape the attack by alignment": [
            float(np.mean([linked(f[i], "alignment-linkage") for i in grouped])) for f in (before, after)
        ],
    }
    for told, (first, last) in risks.items():
        yield claim(
            f"tarragona: {told}",
            last <= first / 2,
            last,
            f"records linked in per cent; at first {first:.1f}, half or less",
        )


def seconds_each(quick: bool) -> Rows:
    """Seconds for a generation here, on average."""
    files, generations, masks = _setting(quick)
    for file in files:
        made = population(file, masks)
        made.evolve(Rules(), 10, np.random.default_rng(1), silent, "")  # compiles
        spent = []
        for count in (0, generations):
            began = time.process_time()
            made.evolve(Rules(), count, np.random.default_rng(1), silent, "")
            spent.append(time.process_time() - began)
        lines = [line for line in printed("evolved_seconds") if line["file"] == file]
        parts = ("cross_fitness", "cross_other", "mutation_fitness", "mutation_other")
        then = sum(float(lines[0][part]) for part in parts) / 2
        yield Row(f"{file}: seconds for a generation", None, (spent[1] - spent[0]) / generations, 5,
                  note=f"printed, on another machine: {then:.1f}")  # fmt: skip


def arithmetic() -> Rows:
    """Total minutes from the printed seconds of the two operators, half of the generations each; and printed falls."""
    for line in printed("evolved_seconds"):
        parts = ("cross_fitness", "cross_other", "mutation_fitness", "mutation_other")
        total = GENERATIONS * sum(float(line[part]) for part in parts) / 2 / 60
        shown = 60 * int(line["hours"]) + int(line["minutes"])
        yield Row(f"{line['file']}: minutes", shown, total, 0, tolerance=1, kind="arithmetic")
    for file, (start, end, fall) in QUOTED.items():
        yield row(
            f"{file}: fall of the best score, %", fall, 100 * (1 - float(end) / float(start)), tolerance=0.006,
            kind="arithmetic",
        )  # fmt: skip


WHY = (
    "IL and DR are cited in the source, not defined; here IL is the mean of five parts, and DR half interval "
    "disclosure and half linkage by distance, so that scores are on another scale"
)
TABLES = (
    Reproduction(
        "evolved-numbers-3.2",
        "Files of numbers evolve by the mean of IL and DR",
        "Marés (2013), Table 3.2",
        scores,
        42,
        25,
        FILES,
        Quick(9, 8, "all files but Tarragona, twelve of its 16 starting files, and 900 of 1,000 generations"),
        f"{WHY}. Which 2,000 records of EIA were used is not stated: the first ones are compared, and random ones are "
        "another reading",
        in_full=True,
    ),
    Reproduction(
        "evolved-numbers-claims",
        "What is said of files of numbers that evolve",
        "Marés (2013), section 3.5",
        claims,
        25,
        40,
        FILES,
        Quick(12, 8, "all files but Tarragona, twelve of its 16 starting files, and 900 of 1,000 generations"),
        "the runs of `evolved-numbers-3.2`. That evolved files escape attacks made for their methods was not measured "
        "in the source. That the best score falls to 60 per cent is what its tables show (to between 26 and 61), on "
        "its scale of loss and risk. With both operators every generation measures two children, with one on average "
        "1.5",
        in_full=True,
        judges=False,
    ),
    Reproduction(
        "evolved-numbers-seconds",
        "Seconds for a generation of files of numbers, measured here",
        "none",
        seconds_each,
        4,
        10,
        FILES,
        Quick(1, 4, "all files but Tarragona"),
        in_full=True,
        judges=False,
    ),
    Reproduction(
        "evolved-numbers-3.3",
        "Totals and improvements of files of numbers from printed parts",
        "Marés (2013), Table 3.3",
        whole(arithmetic),
        8,
        0.1,
        why="the total of Tarragona does not follow from its parts",
        judges=False,
    ),
)
