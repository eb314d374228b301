"""The tables of the learning automaton and of dependence trees, printed value beside measured value.

Run: python studies/learning_tables.py [quick]. The whole takes about two minutes; `quick` leaves out the exhaustive
search over subsets and the simulated files. Losses are 100 SSE / SST on z-scores. Rows marked "seed" come from a
random start, of which one run is shown; rows marked "trend" are about random files.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations

import numpy as np
import numpy.typing as npt

from microveil.masking.microaggregation.dependence import chosen_attributes
from microveil.microdata import datasets
from microveil.numerics.associative import acnn
from microveil.numerics.automata import Migration, pairs_within, record_migration
from microveil.numerics.centroid_groups import centroid_groups
from microveil.numerics.mdav import mdav_groups
from microveil.numerics.standard import standardise

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

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
SELECTIONS = [
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
# records, attributes, k: MDAV and OMMA as printed for uniform files
SIMULATED = {
    (1200, 16, 3): (27.67671, 25.82418),
    (2400, 16, 3): (24.64686, 23.71665),
    (3000, 16, 3): (23.66435, 22.69465),
    (5400, 16, 3): (21.71397, 21.05564),
    (3000, 12, 3): (17.55012, 16.92778),
    (3000, 22, 3): (30.51047, 29.41102),
    (2400, 16, 6): (40.37307, 36.19842),
    (2400, 16, 12): (53.22947, 46.16533),
}


def loss(columns: FloatArray, labels: IntArray, *, but_the_last: bool = False) -> float:
    """100 SSE / SST of standardised columns; some printed tables leave out the group formed last."""
    total = 0.0
    for group in range(int(labels.max()) + (0 if but_the_last else 1)):
        members = columns[labels == group]
        total += float(((members - members.mean(axis=0)) ** 2).sum())
    return 100 * total / columns.size


def random_start(columns: FloatArray, k: int, seed: int, share: float = 0.5) -> Migration:
    start = np.random.default_rng(seed).permutation(np.arange(len(columns)) // k)
    return record_migration(columns, start, pairs_within(columns, share))


def final(columns: FloatArray, migration: Migration) -> float:
    return 100 * migration.sse[-1] / columns.size


def heading(title: str, *columns: str) -> None:
    print(f"\n## {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def row(*cells: object) -> None:
    print(f"| {' | '.join(f'{cell:.5f}' if isinstance(cell, float) else str(cell) for cell in cells)} |", flush=True)


def compared(printed: float, measured: float, tolerance: float, kind: str) -> tuple[float, float, str, str]:
    verdict = "reproduced" if abs(measured - printed) <= tolerance else f"not reproduced ({kind})"
    return printed, measured, f"{measured - printed:+.5f}", verdict


def univariate(files: dict[str, FloatArray]) -> None:
    heading("Table 4.2: OMMA on one attribute, k = 3", "table", "attribute", "printed", "measured", "difference", "")
    for table, printed in UNIVARIATE.items():
        columns = standardise(files[table])
        for j, value in enumerate(map(float, printed.split())):
            column = np.ascontiguousarray(columns[:, [j]])
            measured = final(column, random_start(column, 3, seed=j))
            row(table, j + 1, *compared(value, measured, 0.04 * value, "seed"))


def multivariate(files: dict[str, FloatArray]) -> None:
    heading(
        "Table 4.3: OMMA from 9 random starts (seed)",
        *("table", "k", "printed", "median", "difference", "least", "greatest", "", "cycles printed", "cycles"),
    )
    for (table, k), (printed, cycles) in MULTIVARIATE.items():
        columns = standardise(files[table])
        runs = [random_start(columns, k, seed) for seed in range(9)]
        losses = [final(columns, run) for run in runs]
        median, low, high = float(np.median(losses)), min(losses), max(losses)
        verdict = "printed value within these runs" if low <= printed <= high else "printed value outside these runs"
        mean_cycles = f"{np.mean([run.cycles for run in runs]):.1f}"
        row(table, k, printed, median, f"{median - printed:+.5f}", low, high, verdict, cycles, mean_cycles)


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
    numbers = [str(j + 1) for j in range(13)]
    for table, metric, width, printed in SELECTIONS:
        columns = standardise(files[table])
        chosen = chosen_attributes(files[table], numbers, 3, metric, width, constant="attach")  # type: ignore[arg-type]
        found = {frozenset(choice) for choice in chosen}
        for choice, value in (entry.split() for entry in printed.split("; ")):
            subset = tuple(sorted(int(number) - 1 for number in choice.split(",")))
            measured = loss_on_subset(columns, subset, but_the_last=True)
            row(
                *(table, metric, width or "", choice, "yes" if frozenset(choice.split(",")) in found else "no"),
                *compared(float(value), measured, 6e-5, "misprint, see the specification"),
                loss_on_subset(columns, subset, but_the_last=False),
            )
        if len(found) != len(printed.split("; ")):
            print(f"{len(found)} choices are tied, {len(printed.split('; '))} are printed")


def exhaustive(files: dict[str, FloatArray]) -> None:
    heading(
        "Table 6.4: all subsets of attributes, k = 3 (sizes 4 and 5 were printed for three attributes only)",
        *("table", "size", "figure", "printed", "measured", "difference", "", "three lowest attributes only"),
    )
    for (table, size), printed in SUBSETS.items():
        columns = standardise(files[table])
        losses, cut = [], []
        of_three: dict[tuple[int, ...], float] = {}
        for subset in combinations(range(13), size):
            losses.append(loss_on_subset(columns, subset, but_the_last=True))
            three = subset[:3]
            if three not in of_three:
                of_three[three] = losses[-1] if size <= 3 else loss_on_subset(columns, three, but_the_last=True)
            cut.append(of_three[three])
        for figure, value, take in zip(("least", "greatest", "mean"), printed, (min, max, np.mean), strict=True):
            row(table, size, figure, *compared(value, float(take(losses)), 6e-5, "see 9.7"), float(take(cut)))


def simulated() -> None:
    heading(
        "Tables 4.5 to 4.7: uniform files (trend)",
        *(
            "records",
            "attributes",
            "k",
            "cbfs printed",
            "cbfs",
            "mdav",
            "OMMA printed",
            "OMMA",
            "difference",
            "seconds",
        ),
    )
    for (n, d, k), (printed_start, printed) in SIMULATED.items():
        columns = standardise(np.random.default_rng(n + d).uniform(0, 1000, size=(n, d)))
        began = time.perf_counter()
        made = final(columns, random_start(columns, k, seed=1))
        taken = time.perf_counter() - began
        cbfs = loss(columns, centroid_groups(columns, k)[0])
        mdav = loss(columns, mdav_groups(columns, k))
        row(n, d, k, printed_start, cbfs, mdav, printed, made, f"{made - printed:+.5f}", f"{taken:.1f}")


def main() -> None:
    files = {}
    for table in ("tarragona", "census"):
        data = datasets.load(table)
        files[table] = np.column_stack([data.numbers(name).values for name in data.names])
    univariate(files)
    multivariate(files)
    warm_starts(files)
    network(files)
    selections(files)
    if "quick" not in sys.argv[1:]:
        exhaustive(files)
        simulated()


if __name__ == "__main__":
    main()
