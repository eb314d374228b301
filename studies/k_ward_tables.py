"""The tables of the k-Ward family and of the methods on one axis, rebuilt: printed, measured, difference.

    python studies/k_ward_tables.py

Losses are 100 SSE / SST; single columns as they are, several attributes on z-scores. "printed" is what the
source prints (studies/printed/k_ward_times.csv), "computed" an anchor of the specification. A line that ends in "!"
does not come out. The seconds of the source are those of another machine and an O(n^3) program; what can be compared
is how many distances a method computes.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from microveil.losses.numeric.sse import SSE
from microveil.masking import Method
from microveil.masking.microaggregation.fixed import Fixed
from microveil.masking.microaggregation.individual_ranking import IndividualRanking
from microveil.masking.microaggregation.k_ward import KWD, KWDR, KWR, KWard
from microveil.masking.microaggregation.optimal_univariate import OptimalUnivariate
from microveil.masking.microaggregation.projection import Projection
from microveil.microdata import Microdata, datasets
from microveil.numerics.summary import Summary, summarise
from microveil.numerics.univariate import optimal_groups
from microveil.numerics.ward import k_ward_effort, k_ward_groups, recursive_k_ward_effort, recursive_k_ward_groups

Line = tuple[str, float, float, int]
Table = tuple[str, Iterator[Line]]

FILES = ("tarragona", "census")
EVERY_COLUMN = tuple(range(1, 14))
PRINTED = Path(__file__).parent / "printed"

CENSUS_THRESHOLDS = (0.40, 0.28, 0.31, 0.28, 0.31, 0.38, 0.29, 0.70, 0.80, 0.31, 0.27, 0.32, 0.30)

# computed anchors of single columns, k = 3: k-Ward, optimal, fixed
ANCHORS = {
    "tarragona": (
        *((7.175552, 7.140953, 7.151996), (0.557071, 0.552595, 0.635861), (0.775100, 0.509636, 0.517015)),
        *((1.487324, 1.486149, 1.488541), (2.017808, 1.687544, 1.693941), (0.586020, 0.473140, 0.475026)),
        *((1.921481, 1.919532, 1.966235), (0.337549, 0.264560, 0.421819), (1.286893, 1.285451, 1.286255)),
        *((1.905378, 1.746065, 1.749286), (2.966038, 2.540145, 2.583679), (4.747529, 4.135483, 4.147029)),
        (4.958075, 4.951077, 5.005625),
    ),
    "census": (
        *((0.131157, 0.130762, 0.131553), (0.001157, 0.000828, 0.001375), (0.008201, 0.007507, 0.008284)),
        *((0.004671, 0.004082, 0.004890), (0.023982, 0.023453, 0.024491), (0.034020, 0.029223, 0.032616)),
        *((0.001515, 0.001233, 0.001707), (0.442970, 0.431877, 0.434179), (0.732113, 0.691204, 0.721764)),
        *((0.003486, 0.003048, 0.006114), (0.008303, 0.007482, 0.013526), (0.003646, 0.003484, 0.006887)),
        (0.004824, 0.003748, 0.008079),
    ),
}
CENSUS_FIXED_THRESHOLD = (
    *(0.131145, 0.001157, 0.008051, 0.005488, 0.023999, 0.075325, 0.001520),
    *(0.442970, 0.732114, 0.003487, 0.012153, 0.003653, 0.005537),
)
# computed anchors, thirteen standardised attributes, k = 3, 4, 5, 10
SEVERAL: dict[str, dict[tuple[str, ...], tuple[float, ...]]] = {
    "tarragona": {
        ("k-ward", "md"): (16.2109, 20.2381, 21.8335, 36.7280),
        ("k-ward", "fpc"): (15.8744, 21.5822, 23.6866, 33.9644),
        ("k-ward", "zs"): (19.1584, 24.3060, 27.6009, 34.4147),
        ("individual-ranking", "fixed"): (2.2402, 5.0394, 8.5446, 14.0238),
        ("individual-ranking", "optimal"): (2.2071, 3.1932, 4.2554, 10.6068),
        ("projection", "z-sum", "fixed"): (28.9217, 32.1505, 35.2030, 40.9245),
        ("projection", "z-sum", "optimal-score"): (28.3428, 31.9954, 32.8699, 38.0656),
        ("projection", "component", "fixed"): (23.8886, 30.6309, 33.2875, 39.9075),
        ("projection", "component", "optimal-score"): (24.8514, 30.8705, 31.8736, 37.4750),
    },
    "census": {
        ("k-ward", "md"): (5.9908, 7.7528, 9.0664, 14.0924),
        ("k-ward", "fpc"): (6.3935, 8.1390, 9.2717, 16.6460),
        ("k-ward", "zs"): (6.4028, 8.1377, 9.6842, 16.3005),
        ("individual-ranking", "fixed"): (0.1073, 0.2417, 0.3375, 0.8951),
        ("individual-ranking", "optimal"): (0.1029, 0.2340, 0.3313, 0.8906),
        ("projection", "z-sum", "fixed"): (26.6357, 30.4984, 32.3456, 36.4493),
        ("projection", "z-sum", "optimal-score"): (28.0434, 30.2334, 32.6540, 36.9035),
        ("projection", "component", "fixed"): (26.7161, 30.0541, 32.4366, 36.2164),
        ("projection", "component", "optimal-score"): (28.1092, 31.4494, 33.2952, 36.6805),
    },
}
# Table 3.10 (printed) and its lost twin 3.11 (computed): cut, threshold, loss on the z-sum, loss on the component
PROJECTED = {
    "tarragona": (
        *(("kw", None, 30.13, 25.35), ("kwd", None, 30.13, 25.35), ("kwr", 0.8, 30.13, 25.35)),
        *(("kwr", None, 30.13, 25.35), ("kwdr", None, 30.13, 25.35)),
    ),
    "census": (
        *(("kw", None, 28.5767, 29.5396), ("kwd", None, 28.5767, 29.5396), ("kwr", 0.3, 28.3453, 29.6081)),
        *(("kwr", None, 28.2661, 29.5963), ("kwdr", None, 28.2661, 29.5963)),
    ),
}


def printed(name: str) -> list[dict[str, str]]:
    with (PRINTED / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def decimals_of(number: str) -> int:
    return len(number.partition(".")[2])


def loss(data: Microdata, method: Method, attributes: list[str]) -> float:
    return float(SSE().measure(data, method.mask(data, attributes), attributes).value)


# --- Tables 3.1 and 3.2: the files -----------------------------------------------------------------------------------


def summaries(name: str) -> Iterator[Line]:
    """Table 3.1 or 3.2: whether the file is the one the source used."""
    data = datasets.load(name)
    for row in printed("summaries"):
        if row["file"] == name:
            measured = summarise(data.numbers(data.names[int(row["column"]) - 1]).values)
            for figure in Summary._fields:
                known = row[figure]
                yield f"Var{row['column']} {figure}", float(known), getattr(measured, figure), decimals_of(known)


def files() -> Iterator[Table]:
    for number, name in enumerate(FILES, start=1):
        yield f"Table 3.{number}, {name}: summary (printed)", summaries(name)


# --- Tables 3.3 to 3.9: single columns -------------------------------------------------------------------------------


def method_named(name: str, file: str, column: int) -> Method:
    """The methods of Tables 3.3 to 3.9; a fixed threshold is the one the source used for that column."""
    threshold = 0.8 if file == "tarragona" else CENSUS_THRESHOLDS[column - 1]
    methods: dict[str, Method] = {
        "kw": KWard(k=3, rule="kw"),
        "kwd": KWD(k=3),
        "kwr-fixed": KWR(k=3, threshold=threshold),
        "kwr-dynamic": KWR(k=3),
        "kwdr-fixed": KWDR(k=3, threshold=threshold),
        "kwdr-dynamic": KWDR(k=3),
    }
    return methods[name]


def table(number: str, file: str, name: str, columns: Sequence[int] = EVERY_COLUMN) -> Iterator[Line]:
    """The losses of one of the Tables 3.3 to 3.9 in some columns."""
    data = datasets.load(file)
    for row in printed("k_ward_times"):
        column = int(row["column"])
        if (row["table"], row["file"], row["method"]) == (number, file, name) and column in columns:
            measured = loss(data, method_named(name, file, column), [data.names[column - 1]])
            yield f"{name} Var{column}", float(row["loss"]), measured, decimals_of(row["loss"])


def lost_table(columns: Sequence[int] = EVERY_COLUMN) -> Iterator[Line]:
    """Table 3.5, whose printed numbers are lost."""
    data = datasets.load("census")
    for column in columns:
        method = method_named("kwr-fixed", "census", column)
        measured = loss(data, method, [data.names[column - 1]])
        yield f"kwr-fixed Var{column}", CENSUS_FIXED_THRESHOLD[column - 1], measured, 6


def anchors_of(file: str, place: int, method: Method, columns: Sequence[int] = EVERY_COLUMN) -> Iterator[Line]:
    data = datasets.load(file)
    for column in columns:
        known = ANCHORS[file][column - 1][place]
        yield f"{method.name} Var{column}", known, loss(data, method, [data.names[column - 1]]), 6


def single_columns() -> Iterator[Table]:
    shown = dict.fromkeys((row["table"], row["file"], row["method"]) for row in printed("k_ward_times"))
    for number, file, name in shown:
        yield f"Table {number}, {file}: {name} (printed)", table(number, file, name)
        if (number, file) == ("3.4", "tarragona"):
            yield "Table 3.5, census: kwr-fixed (computed; the printed numbers are lost)", lost_table()
    for file in ANCHORS:
        for place, method in enumerate((KWard(k=3, rule="kw"), OptimalUnivariate(k=3), Fixed(k=3))):
            yield f"Specification 13.8, {file}: {method.name} (computed)", anchors_of(file, place, method)
        for rule in ("kwd-exact", "contiguous"):
            yield (
                f"Specification 13.8, {file}: k-ward, {rule} (computed: kw)",
                anchors_of(file, 0, KWard(k=3, rule=rule)),
            )


# --- the columns of times ---------------------------------------------------------------------------------------------


def efforts(file: str, columns: Sequence[int] = EVERY_COLUMN) -> Iterator[Line]:
    """Merges, and the distances each method computes when it stores none."""
    data = datasets.load(file)
    for row in printed("k_ward_effort"):
        column = int(row["column"])
        if row["file"] != file or column not in columns:
            continue
        values = data.numbers(data.names[column - 1]).values
        whole = k_ward_effort(values, 3)
        threshold = 0.8 if file == "tarragona" else CENSUS_THRESHOLDS[column - 1]
        measured = {
            "merges": whole.merges,
            "kw": whole.all_pairs,
            "kwd": whole.neighbours,
            "kwr_fixed": recursive_k_ward_effort(values, 3, threshold).all_pairs,
            "kwr_dynamic": recursive_k_ward_effort(values, 3).all_pairs,
        }
        for figure, value in measured.items():
            yield f"Var{column} {figure}", float(row[figure]), float(value), 0


def effort_tables() -> Iterator[Table]:
    for file in FILES:
        yield f"Specification 13.8, {file}: merges and distances (computed)", efforts(file)


def time_saved(seconds: float, against: float) -> float:
    """The source's "improvement", in per cent."""
    return 100 * (1 - seconds / against)


def printed_savings() -> Iterator[tuple[str, float, float]]:
    """Every printed improvement beside the one its printed times give."""
    rows = printed("k_ward_times")
    slow = {(row["file"], row["column"]): float(row["seconds"]) for row in rows if row["method"] == "kw"}
    for row in rows:
        if row["saved"]:
            label = f"Table {row['table']}, {row['file']}, {row['method']} Var{row['column']}"
            yield label, float(row["saved"]), time_saved(float(row["seconds"]), slow[row["file"], row["column"]])


def times(file: str, columns: Sequence[int] = EVERY_COLUMN) -> dict[str, float]:
    """Seconds of each method over some columns, on this machine."""
    data = datasets.load(file)
    taken = {}
    for name in ("kw", "kwd", "kwr-fixed", "kwr-dynamic", "kwdr-fixed", "kwdr-dynamic"):
        begun = time.perf_counter()
        for column in columns:
            method_named(name, file, column).mask(data, [data.names[column - 1]])
        taken[name] = time.perf_counter() - begun
    return taken


def show_times() -> None:
    apart = max(abs(shown - computed) for _, shown, computed in printed_savings())
    print(f"\nPrinted improvements: 100 (1 - t / t of kW), at most {apart:.3f} apart")
    print("\nTime saved against kW, per cent, means over the columns: printed | measured here")
    for file in FILES:
        times(file, (1,))  # compiles
        taken = times(file)
        for name in list(taken)[1:]:
            shown = [float(r["saved"]) for r in printed("k_ward_times") if (r["file"], r["method"]) == (file, name)]
            known = f"{np.mean(shown):6.2f}" if shown else "  lost"
            print(f"{file:10} {name:14} {known} | {time_saved(taken[name], taken['kw']):6.2f}")


# --- Tables 3.10 and 3.11: several attributes -------------------------------------------------------------------------


def several_attributes() -> Iterator[Table]:
    for name, cases in PROJECTED.items():
        yield f"Table {'3.10' if name == 'tarragona' else '3.11'}, {name}, projected", projected(name, cases)
    for name, anchors in SEVERAL.items():
        yield f"Specification 9.5 and 13.9, {name} (computed)", anchored(name, anchors)


def projected(name: str, cases: tuple[tuple[str, float | None, float, float], ...]) -> Iterator[Line]:
    data = datasets.load(name)
    for cut, threshold, *known in cases:
        for axis, value in zip(("z-sum", "component"), known, strict=True):
            method = Projection(k=3, axis=axis, partition=cut, threshold=threshold)  # type: ignore[arg-type]
            label = f"{axis} {cut}" + ("" if threshold is None else f" {threshold}")
            yield label, value, loss(data, method, list(data.names)), 2 if name == "tarragona" else 4


def anchored(name: str, anchors: dict[tuple[str, ...], tuple[float, ...]]) -> Iterator[Line]:
    data = datasets.load(name)
    for case, losses in anchors.items():
        for k, value in zip((3, 4, 5, 10), losses, strict=True):
            yield f"{' '.join(case)} k={k}", value, loss(data, method_of(case, k), list(data.names)), 4


def method_of(case: tuple[str, ...], k: int) -> Method:
    if case[0] == "k-ward":
        return KWard(k=k, extremes=case[1])  # type: ignore[arg-type]
    if case[0] == "individual-ranking":
        return IndividualRanking(k=k, partition=case[1])  # type: ignore[arg-type]
    return Projection(k=k, axis=case[1], partition=case[2])  # type: ignore[arg-type]


def comes_out(line: Line) -> bool:
    """Half a digit, and what rounding to it twice can add."""
    _, known, measured, decimals = line
    return abs(measured - known) <= 0.5 * 10**-decimals + 1e-9


def show(tables: Iterator[Table]) -> tuple[int, int]:
    """Print each table; return how many values came out, of how many."""
    right = total = 0
    for title, lines in tables:
        print(f"\n{title}\n{'':40} {'known':>12} {'measured':>12} {'difference':>12}")
        for line in lines:
            label, known, measured, decimals = line
            mark = "" if comes_out(line) else "  !"
            print(f"{label:40} {known:12.{decimals}f} {measured:12.6f} {measured - known:12.6f}{mark}")
            right, total = right + comes_out(line), total + 1
    return right, total


def trees() -> None:
    """How kWR divides the columns: the specification's own trees, the printed ones are lost."""
    print("\nTrees of kWR: threshold 0.8 (census: the source's), dynamic")
    for name in FILES:
        data = datasets.load(name)
        for number, attribute in enumerate(data.names):
            values = data.numbers(attribute).values
            threshold = 0.8 if name == "tarragona" else CENSUS_THRESHOLDS[number]
            fixed, dynamic = (recursive_k_ward_groups(values, 3, threshold=t)[1] for t in (threshold, None))
            print(f"{name} Var{number + 1}: {fixed} | {dynamic}")


def speed() -> None:
    """Growth on one attribute: these two are O(n k) and O(n log n) after sorting."""
    print(f"\nSeconds on normal values, k = 3\n{'n':>10} {'optimal':>10} {'k-Ward':>10}")
    rng = np.random.default_rng(1)
    for n in (10_000, 100_000, 1_000_000):
        values = rng.standard_normal(n)
        print(f"{n:10d} {seconds(optimal_groups, values):10.3f} {seconds(k_ward_groups, values):10.3f}")


def seconds(groups: Callable[..., npt.NDArray[np.int64]], values: npt.NDArray[np.float64]) -> float:
    begun = time.perf_counter()
    groups(values, 3)
    return time.perf_counter() - begun


def main() -> int:
    counts = [show(tables) for tables in (files(), single_columns(), effort_tables(), several_attributes())]
    trees()
    show_times()
    speed()
    right, total = (sum(column) for column in zip(*counts, strict=True))
    print(f"\n{right} of {total} values come out to the digits known.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
