"""Rank swapping and the attacks that know it: Tables 4.2 to 4.6 and figures 4.3 to 4.5 of Nin (2008).

Census is run in the order of the source's list of attributes (alphabetical) and, where that matters, in that of the
file, for the source does not say which it used. Swapping is random and the source does not say how many files it made:
measured values are means over a few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from microveil.attacks.base import Attack
from microveil.attacks.linkage.scenarios import first_attributes
from microveil.masking import Method, Release
from microveil.microdata import Microdata
from microveil.registry import make
from reproduction.base import Kind, Quick, Reproduction, Row, Rows, file_of_scores, printed, row, whole
from reproduction.measuring import (
    PLD_RULE,
    attack,
    information_loss,
    interval_disclosure,
    judged_by_agreement,
    linked,
    method,
    releases,
    right_links,
    risks,
    table,
)

REPEATS = 5
JUDGED = 2  # files of which PLD, which is slow, is the mean
PERCENTAGES = (2, 4, 6, 8, 10, 12, 14, 16, 18, 20)
BUCKETS = (75, 50, 35, 30, 25, 20, 15, 10, 5)
SWAPPING: dict[str, Callable[[int], Method]] = {
    "4.3": lambda p: method("rank-swapping", p=float(p)),
    "4.4": lambda p: method("rank-swapping-distribution", p=float(p)),
    "4.5": lambda b: method("rank-swapping-buckets", buckets=b),
}

# --- Example 4.1 and Table 4.2 -----------------------------------------------------------------------------------

X = [[8, 9, 1, 3], [6, 7, 10, 2], [10, 3, 4, 1], [7, 1, 2, 6], [9, 4, 6, 4],
     [2, 2, 8, 8], [1, 10, 3, 9], [4, 8, 7, 10], [5, 5, 5, 5], [3, 6, 9, 7]]  # fmt: skip
SWAPPED = [[10, 10, 3, 5], [5, 5, 8, 1], [8, 4, 2, 2], [9, 2, 4, 4], [7, 3, 5, 6],
           [4, 1, 10, 10], [3, 9, 1, 7], [2, 6, 9, 8], [6, 7, 6, 3], [1, 8, 7, 9]]  # fmt: skip


def example() -> Rows:
    """The printed 8 of RS-RL with four attributes cannot be: seven candidates are alone and three nearest are wrong."""
    original, swapped = (
        Microdata.of({f"attr{j + 1}": np.array(cells)[:, j] for j in range(4)}) for cells in (X, SWAPPED)
    )
    known = first_attributes(original.names, (1, 2, 3, 4))
    by_windows = attack("rank-swapping-linkage", p=2.0, unit="positions", metric="manhattan")
    attacks = (
        ("RS-RL", (0, 2, 7, 8), (0, 2, 7, 7), by_windows),
        ("DB-RL", (0, 2, 4, 1), (0, 2, 4, 1), attack("distance-linkage", metric="manhattan")),
    )
    for label, shown, right, made in attacks:
        curve = [risk.counters["optimistic"] for risk in risks(made, original, swapped, known)]
        for c, (share, value, found) in enumerate(zip(curve, shown, right, strict=True), start=1):
            yield Row(f"{label}, {c} attributes known", float(value), share / 10, 0, recomputed=float(found))


# --- Tables 4.3 to 4.5 -------------------------------------------------------------------------------------------

# recomputed, by table, file and figure, in the order of the parameters
FOUND: dict[tuple[str, str, str], Sequence[float]] = {
    ("4.3", "census", "rsld"): (75.99, 66.47, 55.26, 43.97, 32.48, 22.36, 15.63, 10.70, 7.10, 4.86),
    ("4.3", "census", "dld"): (72.17, 58.73, 43.08, 30.43, 20.19, 12.49, 8.44, 5.75, 4.03, 2.93),
    ("4.3", "census", "id"): (94.7, 85.3, 74.7, 65.0, 54.1),
    ("4.3", "census, file order", "rsld"): (76.19, 66.00, 53.44, 40.53, 29.12, 19.14, 12.62, 8.04, 5.08, 3.21),
    ("4.3", "census, file order", "dld"): (72.24, 57.62, 41.66, 28.53, 19.09, 11.37, 7.85, 5.29, 3.63, 2.26),
    ("4.3", "eia", "rsld"): (21.4, 5.6, 1.9, 1.0, 0.6, 0.5, 0.3, 0.25, 0.2, 0.2),
    ("4.3", "eia", "dld"): (15.2, 3.9, 1.6, 0.8, 0.5, 0.45, 0.3, 0.2, 0.2, 0.2),
    ("4.3", "eia", "id"): (94.3, 83.6, 72.8, 62.7, 51.9),
    ("4.4", "census", "rsld"): (32.1, 21.2, 17.2, 12.5, 9.5, 7.4, 5.1, 3.8, 2.2, 1.7),
    ("4.4", "eia", "rsld"): (9.3, 2.7, 1.0, 0.4, 0.34, 0.28, 0.16, 0.17, 0.13, 0.10),
    ("4.5", "census", "rsld"): (23.0, 20.8, 17.9, 17.5, 15.0, 13.3, 8.8, 5.1, 1.3),
    ("4.5", "eia", "rsld"): (9.1, 5.8, 3.8, 3.5, 2.3, 1.7, 1.3, 0.7, 0.3),
    ("4.5", "eia", "il"): (9.25, 13.2, 18.1, 20.3, 25.0, 30.6, 39.5, 62.6, 204.8),
}
SEVERAL_RUNS = {"census": 1.0, "eia": 0.5}  # points by which means of a few random files may be apart
MISPRINT = "a copy of the row p = 8 of Table 4.3"


def expected(number: str, name: str, figure: str, parameter: int, shown: float) -> float:
    """How near to print a value should be; for the loss ten per cent."""
    if figure == "il":
        return 0.1 * shown
    if number == "4.3" and figure == "rsld":
        reach, last = {"census": (3.3, 14), "census, file order": (1.6, 12)}.get(name, (0.0, 0))
        return reach if parameter <= last else 0.0
    return 4.0 if (number, figure) == ("4.3", "dld") and name != "eia" and parameter <= 8 else 0.0


def mean_disclosure(made: Attack, data: Microdata, released: Sequence[Release]) -> float:
    """The mean over one to half of the attributes, and over the files."""
    scenarios = first_attributes(data.names)
    return float(np.mean([linked(made, data, release, scenarios) for release in released]))


def score_table(number: str, quick: bool) -> Rows:
    """IL, RSLD, DLD, PLD, ID and the score; quickly one file of every third parameter, without PLD and score."""
    for name in ("census", "census, file order", "eia") if number == "4.3" else ("census", "eia"):
        lines = [line for line in printed(file_of_scores(number)) if line["file"] == name.split(",")[0]]
        for index, line in enumerate(lines):
            if quick and index % 3:
                continue
            parameter = int(line["parameter"])
            measured = measured_scores(number, name, parameter, quick)
            for figure, value in measured.items():
                known = FOUND.get((number, name, figure), ())
                found = known[index] if index < len(known) else None
                near = SEVERAL_RUNS[name.split(",")[0]]
                label = f"{name} {parameter} {figure.upper()}"
                if (number, name, parameter) == ("4.4", "eia", 8):
                    yield Row(label, None, value, 2, recomputed=found, near=near, note=MISPRINT)
                    continue
                reach = expected(number, name, figure, parameter, float(line[figure]))
                kind: Kind = "another reading" if name.endswith("file order") else "measurement"
                yield row(label, line[figure], value, tolerance=reach, recomputed=found, near=near, kind=kind)


def measured_scores(number: str, name: str, parameter: int, quick: bool) -> dict[str, float]:
    data = table(name)
    released = releases(data, SWAPPING[number](parameter), 1 if quick else REPEATS)
    linkages = {
        "rsld": mean_disclosure(attack("rank-swapping-linkage"), data, released),
        "dld": mean_disclosure(attack("distance-linkage"), data, released),
    }
    if name == "census, file order":
        return linkages
    measured = {
        "il": float(np.mean([information_loss(data, release) for release in released])),
        **linkages,
        "id": float(np.mean([interval_disclosure(data, release) for release in released])),
    }
    if not quick:
        measured["pld"] = mean_disclosure(judged_by_agreement(), data, released[:JUDGED])
        measured["score"] = make("score", "swapping").combine(measured).value
    return measured


def unknown() -> Rows:
    """What a bound that is too large costs the intruder."""
    data = table("census")
    known = {(4, 4): 66.8, (4, 8): 61.8, (4, 20): 59.3, (8, 8): 43.5, (8, 16): 32.5, (8, 20): 31.4}
    for p, by_distance in ((4, 58.7), (8, 30.1)):
        released = releases(data, SWAPPING["4.3"](p), REPEATS)
        for assumed in (p, 2 * p, 20):
            value = mean_disclosure(attack("rank-swapping-linkage", p=float(assumed)), data, released)
            yield Row(f"p={p}, {assumed} assumed", None, value, 1, recomputed=known[p, assumed], near=1.0)
        plain = mean_disclosure(attack("distance-linkage"), data, released)
        yield Row(f"p={p}, by distance", None, plain, 1, recomputed=by_distance, near=1.0)
        one = mean_disclosure(attack("rank-swapping-linkage", propagate=True), data, released)
        yield Row(f"p={p}, one assignment of all", None, one, 1)


# figures 4.3 and 4.4: right links with so many attributes known, recomputed
CURVES: dict[tuple[str, str, int], Sequence[float]] = {
    ("4.3", "census", 7): (100.0, 99.7, 97.7, 93.3, 84.1, 68.9, 54.7, 39.3, 26.0, 17.9),
    ("4.3", "census", 13): (100.0, 100.0, 99.9, 99.5, 98.6, 95.5, 91.6, 84.4, 74.7, 64.1),
    ("4.3", "eia", 10): (84.5, 57.4, 33.4, 18.4, 9.8, 4.9, 3.1, 2.0, 1.3, 0.9),
}
DISTRIBUTION_CURVE = (0, 28.6, 47.2, 46.5, 37.7, 34.5, 30.1, 27.3, 20.6, 16.5, 12.3, 9.8, 9.3)


def curves(quick: bool) -> Rows:
    """Figures 4.3 and 4.4: right links by the number of attributes known; the figures have no numbers."""
    repeats = 1 if quick else REPEATS
    made = attack("rank-swapping-linkage")
    for (number, name, c), known in CURVES.items():
        data = table(name)
        for p, found in list(zip(PERCENTAGES, known, strict=True))[:: 3 if quick else 1]:
            released = releases(data, SWAPPING[number](p), repeats)
            value = 100 * right_links(made, data, released, c) / len(data)
            yield Row(f"rank swapping, {name} p={p}, {c} attributes", None, value, 1, recomputed=found, near=1.5)
    data = table("census")
    released = releases(data, SWAPPING["4.4"](2), repeats)
    for c, found in enumerate(DISTRIBUTION_CURVE, start=1):
        value = 100 * right_links(made, data, released, c) / len(data)
        yield Row(f"p-distribution, census p=2, {c} attributes", None, value, 1, recomputed=found, near=2.5)


# --- Table 4.6 ---------------------------------------------------------------------------------------------------

# right links, recomputed: by distance, by the annotated union with half of p and with all of it
UNION = {
    ("census", 2): (1020, 736, 1046),
    ("census", 4): (878, 435, 912),
    ("census", 10): (256, 116, 396),
    ("census", 20): (36, 26, 70),
    ("eia", 2): (1022, 491, 1220),
    ("eia", 4): (207, 141, 311),
    ("eia", 10): (12, 19, 13),
}


def union(quick: bool) -> Rows:
    """Right links of distance and of the annotated union, with half of the attributes known."""
    attacks = {
        "distance": attack("distance-linkage"),
        "half": attack("annotated-union-linkage", share=0.5),
        "whole": attack("annotated-union-linkage"),
    }
    for index, line in enumerate(printed("annotated_union")):
        if quick and index % 3:
            continue
        name, p = line["file"], int(line["p"])
        data = table(name)
        released = releases(data, SWAPPING["4.4"](p), 1 if quick else REPEATS)
        counted = dict(zip(attacks, UNION.get((name, p), ()), strict=False))
        for figure, made in attacks.items():
            value = right_links(made, data, released, 7 if name == "census" else 5)
            near = 0.07 * float(line[figure]) if name == "census" and p <= 4 else 0.0
            found = counted.get(figure)
            # counts of random files: a tenth, or five records
            slack = None if found is None else max(5.0, 0.1 * found)
            yield row(f"{name} p={p} {figure}", line[figure], value, tolerance=near, recomputed=found, near=slack)


FILES = ("census", "eia")
FLOOR = (
    "for larger p print stays on a floor (10 per cent of Census, 5 of EIA) that does not follow from the procedure it "
    "describes; PLD needs a rule of agreement that the source does not give; no reading of ID gives the whole column; "
    "the score inherits all that. Near print is ten per cent for IL, and where p is small 3.3 points for RSLD and 4 "
    "for DLD of Census; means "
    "of a few random files may be a point apart (EIA half a point). " + PLD_RULE
)


def _scores(number: str, title: str, length: int, quick: int) -> Reproduction:
    return Reproduction(
        f"swapping-{number}", title, f"Nin (2008), Table {number}", lambda short: score_table(number, short),
        length, 150, FILES, Quick(quick, 6, "two of three parameters, four of five files, PLD and the score"), FLOOR,
    )  # fmt: skip


TABLES = (
    Reproduction(
        "swapping-4.2",
        "Ten swapped records",
        "Nin (2008), Table 4.2",
        whole(example),
        8,
        0.5,
        why="the printed 8 is impossible: seven records have one candidate, and the nearest of three others is wrong",
    ),
    _scores("4.3", "Scores of rank swapping", 140, 40),
    _scores("4.4", "Scores of rank swapping by a distribution", 120, 32),
    _scores("4.5", "Scores of rank swapping by buckets", 108, 24),
    Reproduction(
        "swapping-unknown",
        "An intruder who does not know p",
        "recomputed from Nin (2008)",
        whole(unknown),
        10,
        5,
        ("census",),
    ),
    Reproduction(
        "swapping-curves",
        "Right links by attributes known",
        "Nin (2008), figures 4.3 and 4.4",
        curves,
        43,
        20,
        FILES,
        Quick(25, 3, "two of three parameters and four of five files"),
        "the figures have no numbers",
    ),
    Reproduction(
        "swapping-4.6",
        "The annotated union against distance",
        "Nin (2008), Table 4.6",
        union,
        60,
        30,
        FILES,
        Quick(21, 3, "two of three rows and four of five files"),
        "near print is 7 per cent, for Census with p = 2 and 4; elsewhere print is higher, also than an independent "
        "recomputation",
    ),
)
