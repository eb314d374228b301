"""The k-Ward family and the methods on one axis: Tables 3.1 to 3.11 of Fayyoumi (2008).

Losses are 100 SSE / SST; single columns as they are, several attributes on z-scores. The seconds of the source are
those of another machine and an O(n^3) program; what can be compared is how many distances a method computes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from microveil.masking import Method
from microveil.microdata import datasets
from microveil.numerics.grouping.ward import recursive_k_ward_groups
from microveil.numerics.statistics.summary import Summary, summarise
from reproduction.base import Reproduction, Row, Rows, printed, row, whole
from reproduction.k_ward_effort import k_ward_effort, recursive_k_ward_effort
from reproduction.measuring import method, share_lost

FILES = ("tarragona", "census")
EVERY_COLUMN = tuple(range(1, 14))
# how near the losses of these tables should be: equal values decide
EXPECTED = {"3.4": 0.005, "3.8": 0.005, "3.9": 0.005}

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


# --- Tables 3.1 and 3.2: the files -----------------------------------------------------------------------------------


def summaries(name: str) -> Rows:
    """Table 3.1 or 3.2: whether the file is the one the source used."""
    data = datasets.load(name)
    for line in printed("summaries"):
        if line["file"] == name:
            measured = summarise(data.numbers(data.names[int(line["column"]) - 1]).values)
            for figure in Summary._fields:
                yield row(f"{name} Var{line['column']} {figure}", line[figure], float(getattr(measured, figure)))


# --- Tables 3.3 to 3.9: single columns -------------------------------------------------------------------------------


def threshold_of(file: str, column: int) -> float:
    """The fixed threshold that the source used for a column."""
    return 0.8 if file == "tarragona" else CENSUS_THRESHOLDS[column - 1]


def method_named(name: str, file: str, column: int) -> Method:
    """The methods of Tables 3.3 to 3.9."""
    methods: dict[str, Method] = {
        "kw": method("k-ward", k=3, rule="kw"),
        "kwd": method("kwd", k=3),
        "kwr-fixed": method("kwr", k=3, threshold=threshold_of(file, column)),
        "kwr-dynamic": method("kwr", k=3),
        "kwdr-fixed": method("kwdr", k=3, threshold=threshold_of(file, column)),
        "kwdr-dynamic": method("kwdr", k=3),
    }
    return methods[name]


def table(number: str, file: str, name: str, columns: Sequence[int] = EVERY_COLUMN) -> Rows:
    """The losses of one of the Tables 3.3 to 3.9 in some columns."""
    data = datasets.load(file)
    for line in printed("k_ward_times", number):
        column = int(line["column"])
        if (line["file"], line["method"]) == (file, name) and column in columns:
            measured = share_lost(data, method_named(name, file, column), [data.names[column - 1]])
            label, expected = f"{file} {name} Var{column}", EXPECTED.get(number, 0.0)
            found = 0.003486 if label == "census kwr-dynamic Var10" else None
            yield row(label, line["loss"], measured, tolerance=expected, recomputed=found, near=5e-7)


def printed_table(number: str) -> Rows:
    for file, name in dict.fromkeys((line["file"], line["method"]) for line in printed("k_ward_times", number)):
        yield from table(number, file, name)


# the recomputed trees of the columns: table, file, whether the threshold is fixed, leaves of each column
LEAVES = {
    ("3.4", "tarragona", True): (4, 3, 2, 7, 3, 3, 3, 3, 3, 7, 4, 9, 9),
    ("3.5", "census", True): (3, 3, 6, 9, 8, 9, 2, 2, 3, 6, 32, 5, 5),
    ("3.6", "tarragona", False): (2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 4, 3, 3),
    ("3.7", "census", False): (2, 3, 5, 5, 3, 5, 2, 2, 2, 4, 7, 4, 4),
}


def trees() -> Rows:
    """How often kWR divides the columns; the printed trees are lost or garbled."""
    for (number, file, fixed), known in LEAVES.items():
        data = datasets.load(file)
        for column, found in enumerate(known, start=1):
            threshold = threshold_of(file, column) if fixed else None
            values = data.numbers(data.names[column - 1]).values
            made = recursive_k_ward_groups(values, 3, threshold=threshold)[1]
            yield Row(f"Table {number} {file} Var{column}: leaves", None, float(made.count("()")), 0, recomputed=found)


def lost_table(columns: Sequence[int] = EVERY_COLUMN) -> Rows:
    """Table 3.5, whose printed numbers are lost."""
    data = datasets.load("census")
    for column in columns:
        measured = share_lost(data, method_named("kwr-fixed", "census", column), [data.names[column - 1]])
        yield Row(f"census kwr-fixed Var{column}", None, measured, 6, recomputed=CENSUS_FIXED_THRESHOLD[column - 1])


def anchors() -> Rows:
    """13.8: single columns by k-Ward, also by its two other rules, the optimal cut and fixed sizes."""
    methods: tuple[tuple[int, str, Method], ...] = (
        *((0, f"k-ward {rule}", method("k-ward", k=3, rule=rule)) for rule in ("kw", "kwd-exact", "contiguous")),
        (1, "optimal-univariate", method("optimal-univariate", k=3)),
        (2, "fixed", method("fixed", k=3)),
    )
    for file, known in ANCHORS.items():
        data = datasets.load(file)
        for index, name, made in methods:
            for column in EVERY_COLUMN:
                measured = share_lost(data, made, [data.names[column - 1]])
                found = known[column - 1][index]
                if (file, name, column) == ("tarragona", "k-ward contiguous", 5):
                    found = 2.017796  # the one column where the rules make other groups
                yield Row(f"{file} {name} Var{column}", None, measured, 6, recomputed=found)


# --- the columns of times ---------------------------------------------------------------------------------------------


def efforts(file: str, columns: Sequence[int] = EVERY_COLUMN) -> Rows:
    """Merges, and the distances each method computes when it stores none."""
    data = datasets.load(file)
    for line in printed("k_ward_effort"):
        column = int(line["column"])
        if line["file"] != file or column not in columns:
            continue
        values = data.numbers(data.names[column - 1]).values
        complete = k_ward_effort(values, 3)
        measured = {
            "merges": complete.merges,
            "kw": complete.all_pairs,
            "kwd": complete.neighbours,
            "kwr_fixed": recursive_k_ward_effort(values, 3, threshold_of(file, column)).all_pairs,
            "kwr_dynamic": recursive_k_ward_effort(values, 3).all_pairs,
        }
        for figure, value in measured.items():
            yield Row(f"{file} Var{column} {figure}", None, float(value), 0, recomputed=float(line[figure]))


def time_saved(seconds: float, against: float) -> float:
    """The source's "improvement", in per cent."""
    return 100 * (1 - seconds / against)


def savings() -> Rows:
    """Every printed improvement beside the one its printed times give; these have two digits."""
    lines = printed("k_ward_times")
    slow = {(line["file"], line["column"]): float(line["seconds"]) for line in lines if line["method"] == "kw"}
    for line in lines:
        if line["saved"]:
            label = f"Table {line['table']}, {line['file']}, {line['method']} Var{line['column']}"
            computed = time_saved(float(line["seconds"]), slow[line["file"], line["column"]])
            yield row(label, line["saved"], computed, tolerance=0.0111, kind="arithmetic")


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


def measured_savings() -> Rows:
    """The time saved against kW, means over the columns."""
    for file in FILES:
        times(file, (1,))  # compiles
        taken = times(file)
        for name in list(taken)[1:]:
            shown = [float(line["saved"]) for line in printed("k_ward_times") if line["saved"]
                     and (line["file"], line["method"]) == (file, name)]  # fmt: skip
            note = f"mean of the printed savings: {np.mean(shown):.2f}" if shown else ""
            yield Row(f"{file} {name}", None, time_saved(taken[name], taken["kw"]), note=note)


# --- Tables 3.10 and 3.11: several attributes -------------------------------------------------------------------------


def projected(file: str) -> Rows:
    """Table 3.10 (Tarragona, printed) or 3.11 (Census, lost, so that there recomputed values count)."""
    data = datasets.load(file)
    for cut, threshold, *known in PROJECTED[file]:
        for axis, value in zip(("z-sum", "component"), known, strict=True):
            made = method("projection", k=3, axis=axis, partition=cut, threshold=threshold)
            label = f"{file} {axis} {cut}" + ("" if threshold is None else f" {threshold}")
            measured = share_lost(data, made)
            if file == "tarragona":
                yield Row(label, value, measured, tolerance=0.015)
            else:
                yield Row(label, None, measured, 4, recomputed=value)


def several() -> Rows:
    """9.5 and 13.9: thirteen standardised attributes."""
    for file, known in SEVERAL.items():
        data = datasets.load(file)
        for case, losses in known.items():
            for k, value in zip((3, 4, 5, 10), losses, strict=True):
                measured = share_lost(data, method_of(case, k))
                yield Row(f"{file} {' '.join(case)} k={k}", None, measured, 4, recomputed=value)


def method_of(case: tuple[str, ...], k: int) -> Method:
    if case[0] == "k-ward":
        return method("k-ward", k=k, extremes=case[1])
    if case[0] == "individual-ranking":
        return method("individual-ranking", k=k, partition=case[1])
    return method("projection", k=k, axis=case[1], partition=case[2])


def _single(number: str, title: str, why: str = "") -> Reproduction:
    lines = printed("k_ward_times", number)
    files = tuple(dict.fromkeys(line["file"] for line in lines))
    rows = whole(lambda: printed_table(number))
    return Reproduction(
        f"k-ward-{number}", title, f"Fayyoumi (2008), Table {number}", rows, len(lines), 0.3, files, why=why
    )


TIES = "what is not exact lies in columns with many equal values, and is below 0.005"
LOST = "the printed numbers are lost; independent recomputations stand for them"
TABLES = (
    Reproduction(
        "k-ward-3.1",
        "The files Tarragona and Census",
        "Fayyoumi (2008), Tables 3.1 and 3.2",
        whole(lambda: (line for file in FILES for line in summaries(file))),
        156,
        0.2,
        FILES,
    ),
    _single("3.3", "kW and kWD, one column at a time"),
    _single("3.4", "kWR with the threshold 0.8, Tarragona", TIES),
    Reproduction(
        "k-ward-3.5",
        "kWR with fixed thresholds, Census",
        "Fayyoumi (2008), Table 3.5",
        whole(lost_table),
        13,
        0.2,
        ("census",),
        why=LOST,
    ),
    _single("3.6", "kWR with the dynamic threshold, Tarragona"),
    _single(
        "3.7",
        "kWR with the dynamic threshold, Census",
        why="Var10 is printed as 0.005, against the source's own words that it equals kW (0.003)",
    ),
    _single("3.8", "kWDR with the threshold 0.8, Tarragona", TIES),
    _single("3.9", "kWDR with the dynamic threshold, Census", TIES),
    Reproduction(
        "k-ward-3.10",
        "Projected attributes, Tarragona",
        "Fayyoumi (2008), Table 3.10",
        whole(lambda: projected("tarragona")),
        10,
        0.5,
        ("tarragona",),
        why="one value is 0.012 off, as in an independent recomputation; near print is 0.015",
    ),
    Reproduction(
        "k-ward-3.11",
        "Projected attributes, Census",
        "Fayyoumi (2008), Table 3.11",
        whole(lambda: projected("census")),
        10,
        0.5,
        ("census",),
        why=LOST,
    ),
    Reproduction(
        "k-ward-trees",
        "How often kWR divides a column",
        "Fayyoumi (2008), Tables 3.4 to 3.7",
        whole(trees),
        52,
        0.3,
        FILES,
        why="the printed trees are lost or garbled; independent recomputations stand for them",
        judges=False,
    ),
    Reproduction(
        "k-ward-improvements",
        "The printed improvements from the printed times",
        "Fayyoumi (2008), Tables 3.3 to 3.9",
        whole(savings),
        91,
        0.1,
        judges=False,
    ),
    Reproduction(
        "k-ward-times",
        "The time saved against kW, measured here",
        "Fayyoumi (2008), Tables 3.3 to 3.9",
        whole(measured_savings),
        10,
        2,
        FILES,
        why=(
            "seconds of another machine and an O(n^3) program; here kW itself is fast, so that little is left to save, "
            "and the shares are other ones in every run"
        ),
        judges=False,
    ),
    Reproduction(
        "k-ward-effort",
        "Merges, and the distances that each version computes",
        "recomputed from Fayyoumi (2008)",
        whole(lambda: (line for file in FILES for line in efforts(file))),
        130,
        2,
        FILES,
    ),
    Reproduction(
        "k-ward-columns",
        "All 26 columns by k-Ward, the optimal cut and fixed sizes",
        "recomputed from Fayyoumi (2008)",
        whole(anchors),
        130,
        3,
        FILES,
    ),
    Reproduction(
        "k-ward-several",
        "Thirteen attributes by k-Ward, ranking and projection",
        "recomputed from Fayyoumi (2008)",
        whole(several),
        72,
        10,
        FILES,
    ),
)
