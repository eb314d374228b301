"""The tables of the learning automaton, of IAMAT and of dependence trees, printed value beside measured value.

Run: python studies/learning_tables.py [quick]. The whole takes about eight minutes, most of it for files of up to
100,000 records; `quick` leaves out the exhaustive search over subsets and the simulated files and takes one. Losses are
100 SSE / SST on z-scores. Rows marked "seed" come from a random start, of which one run is shown; rows marked "trend"
are about random files. The scores of the same methods are in learning_scores.py.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.masking.microaggregation.dependence import chosen_attributes
from microveil.microdata import Microdata, datasets
from microveil.microdata.simulated import RECIPES, simulated
from microveil.numerics.associative import acnn
from microveil.numerics.automata import Migration, pairs_within, record_migration
from microveil.numerics.centroid_groups import centroid_groups
from microveil.numerics.dependence import (
    Metric,
    dependence,
    draw_codes,
    draw_values,
    maximum_spanning_tree,
    random_tables,
)
from microveil.numerics.squares import squares
from microveil.numerics.standard import standardise

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
PRINTED = Path(__file__).parent / "printed"

UNIVARIATE = {
    "tarragona": (
        "7.15199 0.63586 0.51702 1.48854 1.69394 0.47503 1.96623 0.42182 1.28627 1.74929 2.58367 4.14703 5.00563"
    ),
    "census": "0.13155 0.00138 0.00828 0.00489 0.02449 0.03262 0.00172 0.43418 0.72176 0.00611 0.01353 0.00689 0.00808",
}
MULTIVARIATE = {
    ("tarragona", 2): (9.2435, 7),
    ("tarragona", 3): (15.1290, 5),
    ("tarragona", 6): (24.2609, 5),
    ("census", 3): (5.2290, 5),
    ("census", 4): (6.7623, 4),
    ("census", 5): (8.0900, 4),
    ("census", 6): (9.1429, 4),
}
WARM = {("tarragona", 3, "cbfs"): 14.8919} | {
    ("census", k, "iamat"): loss for k, loss in ((3, 5.0643), (4, 6.6680), (5, 8.0425), (6, 9.0018))
}
# table, measure, width of intervals, and for each choice its printed loss
SELECTIONS: list[tuple[str, Metric, float | None, str]] = [
    ("tarragona", "emim", 50_000, "7,4,1 24.1333; 7,4,10 24.1881; 7,4,2 25.0465; 7,4,12 25.6574; 7,4,6 25.6826"),
    ("tarragona", "emim", 100_000, "7,4,1 24.1333; 7,4,2 25.0465; 7,4,12 25.6574"),
    ("tarragona", "emim", 150_000, "7,4,2 25.0465; 7,4,12 25.6574"),
    ("census", "emim", 1_000, "1,10,7 17.4700; 1,10,12 25.3632"),
    (
        *("census", "emim", 5_000),
        "2,10,8 16.2332; 2,10,5 17.3421; 2,10,1 17.7012; 2,10,13 21.0694; 2,10,7 21.1128; 2,10,12 21.5828",
    ),
    ("census", "emim", 10_000, "1,2,12 18.2996"),
    ("tarragona", "chi2", 50_000, "7,2,12 25.0923"),
    ("tarragona", "chi2", 100_000, "7,1,12 24.8137"),
    ("tarragona", "chi2", 150_000, "7,4,12 25.6574"),
    ("census", "chi2", 1_000, "1,10,7 17.4700; 1,10,12 25.3632"),
    ("census", "chi2", 5_000, "10,2,8 16.2322; 5,8,2 17.0012; 10,5,2 17.3421; 10,5,8 22.5430"),
    ("census", "chi2", 10_000, "1,5,8 18.1627; 1,8,12 18.8725; 1,5,12 20.2778; 5,8,12 21.9324"),
    ("tarragona", "normal", None, "2,4,10 23.1068; 2,4,1 24.9648; 2,4,7 25.0465; 2,4,12 25.9818; 2,4,6 26.0992"),
    ("census", "normal", None, "4,10,5 16.3416; 4,10,9 16.8352; 4,10,6 19.6712; 4,10,7 20.2959; 4,10,12 20.9725"),
]
# table and number of attributes: least, greatest and mean loss as printed
SUBSETS = {
    ("tarragona", 1): (37.6374, 48.1006, 43.1017),
    ("tarragona", 2): (24.7415, 45.6925, 31.6609),
    ("tarragona", 3): (20.7141, 34.1569, 25.1587),
    ("tarragona", 4): (20.7141, 34.1569, 25.4997),
    ("tarragona", 5): (20.7141, 34.1569, 25.6141),
    ("census", 1): (38.2133, 62.9093, 45.79787),
    ("census", 2): (22.5795, 55.634, 31.618),
    ("census", 3): (15.6043, 45.815, 21.2046),
    ("census", 4): (15.6043, 45.815, 22.0308),
    ("census", 5): (15.6043, 45.815, 22.8299),
}
# a tree of eight attributes for the comparison of the three measures; the source's own drawings are lost
PARENTS = (-1, 0, 0, 2, 2, 2, 0, 1)


def printed(name: str) -> list[dict[str, str]]:
    """A table of the source, one dictionary a row."""
    with (PRINTED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def matrix(data: Microdata) -> FloatArray:
    return np.column_stack([data.numbers(name).values for name in data.names])


def loss(columns: FloatArray, labels: IntArray, *, but_the_last: bool = False) -> float:
    """100 SSE / SST of standardised columns; some printed tables leave out the group formed last."""
    return 100 * squares(columns, labels, skip_last_group=but_the_last).ratio


def random_start(columns: FloatArray, k: int, seed: int, share: float = 0.5) -> Migration:
    start = np.random.default_rng(seed).permutation(np.arange(len(columns)) // k)
    return record_migration(columns, start, pairs_within(columns, share))


def final(columns: FloatArray, migration: Migration) -> float:
    return 100 * migration.sse[-1] / columns.size


def heading(title: str, *columns: str) -> None:
    print(f"\n## {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def row(*cells: object) -> None:
    print(f"| {' | '.join(f'{cell:.5f}' if isinstance(cell, float) else str(cell) for cell in cells)} |", flush=True)


def compared(shown: float, measured: float, tolerance: float, kind: str) -> tuple[float, float, str, str]:
    verdict = "reproduced" if abs(measured - shown) <= tolerance else f"not reproduced ({kind})"
    return shown, measured, f"{measured - shown:+.5f}", verdict


def univariate(files: dict[str, FloatArray]) -> None:
    heading("Table 4.2: OMMA on one attribute, k = 3", "table", "attribute", "printed", "measured", "difference", "")
    for table, shown in UNIVARIATE.items():
        columns = standardise(files[table])
        for j, value in enumerate(map(float, shown.split())):
            column = np.ascontiguousarray(columns[:, [j]])
            measured = final(column, random_start(column, 3, seed=j))
            row(table, j + 1, *compared(value, measured, 0.04 * value, "seed"))


def multivariate(files: dict[str, FloatArray]) -> None:
    heading(
        "Table 4.3: OMMA from 9 random starts (seed)",
        *("table", "k", "printed", "median", "difference", "least", "greatest", "", "cycles printed", "cycles"),
    )
    for (table, k), (shown, cycles) in MULTIVARIATE.items():
        columns = standardise(files[table])
        runs = [random_start(columns, k, seed) for seed in range(9)]
        losses = [final(columns, run) for run in runs]
        median, low, high = float(np.median(losses)), min(losses), max(losses)
        verdict = "printed value within these runs" if low <= shown <= high else "printed value outside these runs"
        mean_cycles = f"{np.mean([run.cycles for run in runs]):.1f}"
        row(table, k, shown, median, f"{median - shown:+.5f}", low, high, verdict, cycles, mean_cycles)


def warm_starts(files: dict[str, FloatArray]) -> None:
    heading("OMMA from the partitions of other methods", "table", "k", "start", "known", "measured", "difference", "")
    for (table, k, start), known in WARM.items():
        columns = standardise(files[table])
        labels, _ = centroid_groups(columns, k, recomputed=start == "cbfs", interaction=start == "iamat")
        made = record_migration(columns, labels, pairs_within(columns, 0.5))
        row(table, k, start, *compared(known, final(columns, made), 6e-5, "deterministic"))


def network(files: dict[str, FloatArray]) -> None:
    heading(
        "ACNN on the standardised files", "table", "clusters known", "clusters", "rejected known", "rejected", "sizes"
    )
    for table, (count, rejected) in {"tarragona": (7, 228), "census": (6, 105)}.items():
        found = acnn(standardise(files[table]))
        row(table, count, found.count, rejected, len(found.rejected), found.sizes)


def loss_on_subset(columns: FloatArray, subset: tuple[int, ...], *, but_the_last: bool) -> float:
    labels, _ = centroid_groups(np.ascontiguousarray(columns[:, list(subset)]), 3, recomputed=False)
    return loss(columns, labels, but_the_last=but_the_last)


def selections(files: dict[str, FloatArray]) -> None:
    heading(
        "Tables 6.5, 6.7, 6.8: three attributes chosen by their dependence, k = 3",
        *(
            "table",
            "measure",
            "width",
            "choice",
            "chosen",
            "printed",
            "measured",
            "difference",
            "",
            "with the last group",
        ),
    )
    for table, metric, width, shown in SELECTIONS:
        columns = standardise(files[table])
        found = {frozenset(choice) for choice in choices(files[table], metric, width)}
        for choice, value in (entry.split() for entry in shown.split("; ")):
            subset = tuple(sorted(int(number) - 1 for number in choice.split(",")))
            measured = loss_on_subset(columns, subset, but_the_last=True)
            row(
                *(table, metric, width or "", choice, "yes" if frozenset(choice.split(",")) in found else "no"),
                *compared(float(value), measured, 6e-5, "misprint, see the specification"),
                loss_on_subset(columns, subset, but_the_last=False),
            )
        if len(found) != len(shown.split("; ")):
            print(f"{len(found)} choices are tied, {len(shown.split('; '))} are printed")


def losses_of_subsets(columns: FloatArray, size: int, *, used: int | None = None) -> dict[tuple[int, ...], float]:
    """Of every choice of so many attributes the loss on all, without the last group; `used`: only the first so many of
    them decide the groups, as in the printed tables."""
    of_used: dict[tuple[int, ...], float] = {}
    for subset in combinations(range(columns.shape[1]), size):
        first = subset[:used]
        if first not in of_used:
            of_used[first] = loss_on_subset(columns, first, but_the_last=True)
    return {subset: of_used[subset[:used]] for subset in combinations(range(columns.shape[1]), size)}


def exhaustive(files: dict[str, FloatArray]) -> None:
    heading(
        "Table 6.4: all subsets of attributes, k = 3 (sizes 4 and 5 were printed for three attributes only)",
        *("table", "size", "figure", "printed", "measured", "difference", "", "three lowest attributes only"),
    )
    for (table, size), shown in SUBSETS.items():
        columns = standardise(files[table])
        losses = list(losses_of_subsets(columns, size).values())
        cut = list(losses_of_subsets(columns, size, used=3).values())
        for figure, value, take in zip(("least", "greatest", "mean"), shown, (min, max, np.mean), strict=True):
            row(table, size, figure, *compared(value, float(take(losses)), 6e-5, "see 9.7"), float(take(cut)))


class Comparison(NamedTuple):
    """One file and k: losses of cbfs, IAMAT (also without the last group) and, from a random start, OMMA."""

    cbfs: float
    iamat: float
    iamat_but_the_last: float
    omma: float
    seconds: dict[str, float]

    @property
    def improvement(self) -> float:
        """Of IAMAT over cbfs, in per cent of cbfs."""
        return 100 * (self.cbfs - self.iamat) / self.cbfs


def compare(columns: FloatArray, k: int, *, omma: bool = True, seed: int = 1) -> Comparison:
    """The three methods on the same standardised file."""
    seconds = {}
    began = time.perf_counter()
    of_seed, _ = centroid_groups(columns, k)
    seconds["cbfs"] = time.perf_counter() - began
    began = time.perf_counter()
    of_interaction, _ = centroid_groups(columns, k, recomputed=False, interaction=True)
    seconds["iamat"] = time.perf_counter() - began
    began = time.perf_counter()
    migrated = final(columns, random_start(columns, k, seed)) if omma and len(columns) % k == 0 else float("nan")
    seconds["omma"] = time.perf_counter() - began
    return Comparison(
        loss(columns, of_seed),
        loss(columns, of_interaction),
        loss(columns, of_interaction, but_the_last=True),
        migrated,
        seconds,
    )


def iamat_on_files(files: dict[str, FloatArray]) -> None:
    heading(
        "Table 5.1: IAMAT (real files exact but for Tarragona, k = 4 and 5; the others trend)",
        *("file", "k", "cbfs printed", "cbfs", "difference", "IAMAT printed", "without the last group", "difference"),
        *("with it", "improvement printed", "improvement"),
    )
    for line in printed("learning_losses"):
        if line["iamat"] and line["file"] in files:
            made = compare(standardise(files[line["file"]]), int(line["k"]), omma=False)
            shown = [float(line[name]) for name in ("cbfs_iamat", "iamat", "iamat_improvement")]
            row(
                *(line["file"], line["k"], shown[0], made.cbfs, f"{made.cbfs - shown[0]:+.5f}"),
                *(shown[1], made.iamat_but_the_last, f"{made.iamat_but_the_last - shown[1]:+.5f}", made.iamat),
                *(shown[2], made.improvement),
            )


def wrong_improvements() -> Iterator[tuple[str, int, float, float, float]]:
    """Table 4.3: file, k, the improvement printed, that over cbfs, and that over OMMA by which the simulated rows
    were divided."""
    for line in printed("learning_losses"):
        if line["omma"]:
            cbfs, omma = float(line["cbfs_omma"]), float(line["omma"])
            gained = 100 * (cbfs - omma)
            yield line["file"], int(line["k"]), float(line["omma_improvement"]), gained / cbfs, gained / omma


def scale(rows: Iterable[dict[str, str]], *, omma: bool, seed: int = 0) -> Iterator[tuple[dict[str, str], Comparison]]:
    """The rows of a table about simulated files, each measured on a file of the same shape."""
    for line in rows:
        n, d, k = (int(line[name]) for name in ("records", "attributes", "k"))
        columns = standardise(matrix(simulated(f"{line['distribution']}-a", n, d, seed=seed)))
        yield line, compare(columns, k, omma=omma)


def scalability(table: str, method: str) -> None:
    heading(
        f"{'Tables 4.5 to 4.7' if method == 'omma' else 'Tables 5.3 to 5.5'}: simulated files (trend; the printed "
        '"normal" rows are those of uniform files)',
        *("table", "distribution", "records", "attributes", "k", "cbfs printed", "cbfs", f"{method} printed", method),
        *("difference", "improvement printed", "improvement", "times cbfs printed", "times cbfs"),
    )
    for line, made in scale(printed(table), omma=method == "omma"):
        measured: float = getattr(made, method)
        times = float(line[f"{method}_seconds"]) / float(line["cbfs_seconds"])
        row(
            *(line[name] for name in ("table", "distribution", "records", "attributes", "k")),
            *(float(line["cbfs"]), made.cbfs, float(line[method]), measured, f"{measured - float(line[method]):+.5f}"),
            *(float(line["improvement"]), 100 * (made.cbfs - measured) / made.cbfs),
            *(f"{times:.1f}", f"{made.seconds[method] / made.seconds['cbfs']:.1f}"),
        )


class Measure(NamedTuple):
    """What a measure of dependence is like: choices that differ with the width, tied choices, trees found, seconds."""

    choices_by_width: float
    tied: float
    recovered: float
    seconds: float


def measures_of_dependence(files: dict[str, FloatArray], records: int, seeds: Sequence[int]) -> dict[str, Measure]:
    """Table 6.9: sensitivity to the width, the size of the tied choice, convergence to the true tree, and speed."""
    found: dict[str, Measure] = {}
    metrics: tuple[Metric, ...] = ("emim", "chi2", "normal")
    for metric in metrics:
        began = time.perf_counter()
        widths = [(table, width) for table, name, width, _ in SELECTIONS if name == metric and table in files]
        if metric == "normal":  # it has no width, so every width gives the same
            widths = [(table, width) for table in files for width in (None, None, None)]
        chosen = [choices(files[table], metric, width) for table, width in widths]
        different = [len({tuple(c) for c, (t, _) in zip(chosen, widths, strict=True) if t == table}) for table in files]
        trees = [tree_is_found(metric, records, seed) for seed in seeds]
        found[metric] = Measure(
            float(np.mean(different)),
            float(np.mean([len(choice) for choice in chosen])),
            float(np.mean(trees)),
            time.perf_counter() - began,
        )
    return found


def choices(file: FloatArray, metric: Metric, width: float | None) -> list[tuple[str, ...]]:
    """The tied choices of three attributes, by number, as the source makes them."""
    return chosen_attributes(file, [str(j + 1) for j in range(file.shape[1])], 3, metric, width, constant="attach")


def tree_is_found(metric: Metric, records: int, seed: int) -> bool:
    """Whether the tree of a simulated file is the strongest one, after cutting its values into intervals again."""
    rng = np.random.default_rng(seed)
    values = draw_values(draw_codes(PARENTS, random_tables(PARENTS, 10, rng), records, rng), 100, rng)
    tree = maximum_spanning_tree(dependence(values, metric, None if metric == "normal" else 100))
    return {(i, j) for i, j, _ in tree} == {(parent, node) for node, parent in enumerate(PARENTS) if parent >= 0}


def metric_comparison(files: dict[str, FloatArray]) -> None:
    heading(
        "Table 6.9: the three measures (printed: width-sensitive yes, yes, no; tied choices medium, small, large; true "
        "tree yes, yes, not always; speed: normal, chi2, emim)",
        *("measure", "different choices over three widths", "mean tied choices", "share of trees found", "seconds"),
    )
    for metric, made in measures_of_dependence(files, 5000, range(20)).items():
        row(metric, *made)


def right_value(what: str, of: str, files: dict[str, FloatArray]) -> float:
    """What an entry of the register of errors should have been, computed anew."""
    if what == "improvement":
        file, k = of.split()
        return next(over_cbfs for name, size, _, over_cbfs, _ in wrong_improvements() if (name, size) == (file, int(k)))
    if what == "index":
        k, method = of.split()
        line = next(r for r in printed("learning_scores") if (r["file"], r["k"], r["method"]) == ("census", k, method))
        return (float(line["g_il"]) + (float(line["rld"]) + float(line["id"])) / 2) / 2
    file, detail = of.split()
    columns = standardise(files[file])
    if what in ("cbfs", "iamat"):
        value: float = getattr(compare(columns, int(detail), omma=False), what)
        return value
    subset = tuple(int(number) - 1 for number in detail.split(","))
    return loss_on_subset(columns, subset, but_the_last=what == "subset but the last group")


def errors(files: dict[str, FloatArray]) -> None:
    heading("Printed values that are wrong", "place", "what", "of", "printed", "right", "computed anew", "why")
    for line in printed("learning_errors"):
        values = float(line["printed"]), float(line["right"]), right_value(line["what"], line["of"], files)
        row(line["place"], line["what"], line["of"], *values, line["why"])


def main() -> None:
    whole = "quick" not in sys.argv[1:]
    files = {table: matrix(datasets.load(table)) for table in ("tarragona", "census")}
    univariate(files)
    multivariate(files)
    warm_starts(files)
    network(files)
    selections(files)
    metric_comparison(files)
    errors(files)
    iamat_on_files(
        files | ({name: matrix(simulated(name)) for name in RECIPES if name.endswith("-b")} if whole else {})
    )
    if whole:
        exhaustive(files)
        scalability("omma_scale", "omma")
        scalability("iamat_scale", "iamat")


if __name__ == "__main__":
    main()
