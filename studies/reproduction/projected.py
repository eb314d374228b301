"""Microaggregation in blocks against projected linkage: Tables 4.8 to 4.11 of Nin (2008).

Blocks are consecutive attributes and those left over are dropped; the intruder knows the first two blocks, three, ...,
all. Zscores and PCP are run on standardised values, MDAV on raw ones, which comes nearest to print.
"""

from __future__ import annotations

from collections.abc import Callable

from microveil.attacks.base import Attack
from microveil.attacks.linkage.scenarios import first_blocks
from microveil.masking import Method
from microveil.masking.preparation.attribute_blocks import consecutive_blocks
from microveil.registry import make
from reproduction.base import Quick, Reproduction, Row, Rows, file_of_scores, printed, row
from reproduction.measuring import (
    PLD_RULE,
    attack,
    information_loss,
    interval_disclosure,
    judged_by_agreement,
    linked,
    method,
    table,
)

METHODS: dict[str, Callable[[int, int], Method]] = {
    "pcp": lambda k, v: method("projection", k=k, block=v),
    "zscores": lambda k, v: method("projection", k=k, block=v, axis="z-sum"),
    "mdav": lambda k, v: method("mdav", k=k, block=v, scale="none"),
}
# the projection that comes nearest to print
NEAREST: dict[str, tuple[str, str]] = {
    "pcp": ("component", "own"),
    "zscores": ("z-sum", "masked"),
    "mdav": ("component-raw", "masked"),
}
FOUND = {
    ("census", "zscores"): (99.3, 95.2, 88.9, 88.5, 70.8, 62.1, 61.7, 32.4, 24.5),
    ("census", "mdav"): (79.8, 63.9, 55.2, 69.3, 48.6, 36.8, 56.4, 37.0, 25.5),
    ("census", "pcp"): (63.2, 49.0, 44.9, 31.7, 19.8, 15.4, 16.2, 9.4, 8.1),
    ("eia", "zscores"): (97.6, 92.2, 86.3, 91.7, 78.2, 67.1, 95.3, 80.7, 65.2),
    ("eia", "mdav"): (94.4, 88.0, 82.1, 66.4, 43.0, 31.9, 54.7, 31.3, 22.1),
    ("census, file order", "zscores"): (99.2, 94.5, 88.2, 89.4, 71.5, 62.0, 55.9, 32.0, 21.7),
    ("census, file order", "mdav"): (79.1, 64.1, 57.4, 79.0, 62.4, 51.7, 66.2, 42.9, 32.2),
}
# the recomputed DLD and IL of Zscores on Census
FOUND_ZSCORES = {
    "dld": (27.8, 18.7, 17.8, 16.2, 8.7, 8.1, 13.0, 7.0, 5.5),
    "il": (93, 124, 132, 92, 121, 127, 108, 133, 140),
}
FOUND_MDAV = {"il": (9.6, 24.3, 35.6, 21.0, 36.9, 49.8, 31.1, 48.8, 59.2)}
TABLES_OF = {"census": ("4.8", "4.10"), "eia": ("4.9", "4.11")}
NEAR = 8.0  # points, for ProjLD of Zscores


def printed_scores(file: str, name: str) -> list[dict[str, str]]:
    """The rows of a method in the two tables of a file, the older one with DR and the newer one with three scores."""
    older, newer = (printed(file_of_scores(number)) for number in TABLES_OF[file])
    return [{**new, "dr": old["dr"]} for old, new in zip(older, newer, strict=True) if new["method"] == name]


def nearest_attack(name: str) -> Attack:
    projection, parameters_from = NEAREST[name]
    return attack("projected-linkage", projections=(projection,), parameters_from=(parameters_from,))


def measured_scores(name: str, file: str, v: int, k: int, *, quick: bool) -> dict[str, float]:
    """What Tables 4.8 to 4.11 print of a method; quickly without PLD and what contains it."""
    data = table(file)
    blocks = consecutive_blocks(data.names, v, "drop")
    names = [attribute for block in blocks for attribute in block]
    data = data.select(names)
    release, known = METHODS[name](k, v).mask(data, names), first_blocks(blocks)
    measured = {
        "il": information_loss(data, release),
        "dld": linked(attack("distance-linkage"), data, release, known, "first"),
        "projld": linked(nearest_attack(name), data, release, known, "first"),
        "id": interval_disclosure(data, release),
    }
    if quick:
        return measured
    measured["pld"] = linked(judged_by_agreement(), data, release, known, "first")
    scores = {
        "score_old": "classic",
        "score_new": "projected" if file.startswith("census") else "projected-used",
        "score_max": "projected-max",
    }
    return measured | {
        "dr": make("score", "classic").combine(measured).risk,
        **{figure: make("score", rule).combine(measured).value for figure, rule in scores.items()},
    }


def score_table(file: str, quick: bool) -> Rows:
    for name in METHODS:
        for index, line in enumerate(printed_scores(file, name)):
            v, k = int(line["v"]), int(line["k"])
            for figure, value in measured_scores(name, file, v, k, quick=quick).items():
                label = f"{name} v={v} k={k} {figure.upper()}"
                near = NEAR if (name, figure) == ("zscores", "projld") else 0.0
                found, by = found_there(file, name, figure, index)
                yield row(label, line[figure], value, tolerance=near, recomputed=found, near=by)


def found_there(file: str, name: str, figure: str, index: int) -> tuple[float | None, float]:
    """What was recomputed, and to which digit."""
    if figure == "projld" and (file, name) in FOUND:
        return FOUND[file, name][index], 0.1
    if file == "census" and name == "zscores" and figure in FOUND_ZSCORES:
        return FOUND_ZSCORES[figure][index], 0.1 if figure == "dld" else 1.0
    if file == "census" and name == "mdav" and figure in FOUND_MDAV:
        return FOUND_MDAV[figure][index], 0.1
    return None, 0.0


def file_order() -> Rows:
    """ProjLD of Census in the order of the file."""
    for name in ("zscores", "mdav"):
        for index, line in enumerate(printed_scores("census", name)):
            v, k = int(line["v"]), int(line["k"])
            value = measured_scores(name, "census, file order", v, k, quick=True)["projld"]
            found = FOUND["census, file order", name][index]
            label = f"{name} v={v} k={k} PROJLD"
            yield row(label, line["projld"], value, recomputed=found, near=0.1, kind="another reading")


def strongest() -> Rows:
    """What an intruder who tries every projection and every source of its parameters gets: more than is printed."""
    for file in ("census", "eia"):
        data = table(file)
        for name, make_method in METHODS.items():
            blocks = consecutive_blocks(data.names, 4, "drop")
            names = [attribute for block in blocks for attribute in block]
            release = make_method(25, 4).mask(data, names)
            risk = linked(attack("projected-linkage"), data, release, first_blocks(blocks))
            yield Row(f"{file} {name} v=4 k=25", None, risk)


WHY = (
    "ProjLD is that of the projection and parameters that fit best, and equals an independent recomputation (for "
    "Zscores, near print is 8 points); the source's PCP was not run on the scale of its Zscores, its "
    "MDAV perhaps on raw values; IL, ID and PLD are not rebuilt by any reading that was tried, and the scores inherit "
    "that. " + PLD_RULE
)


def _table(number: str, file: str, title: str) -> Reproduction:
    return Reproduction(
        f"projected-{number}",
        title,
        f"Nin (2008), Tables {' and '.join(TABLES_OF[file])}",
        lambda quick: score_table(file, quick),
        243,
        60 if file == "census" else 200,
        (file,),
        Quick(108, 15, "PLD, DR and the scores"),
        WHY,
    )


TABLES = (
    _table("4.10", "census", "Block microaggregation against projections, Census"),
    _table("4.11", "eia", "Block microaggregation against projections, EIA"),
    Reproduction(
        "projected-order",
        "ProjLD of Census in the order of the file",
        "Nin (2008), Table 4.10",
        lambda quick: file_order(),
        18,
        8,
        ("census",),
        why="the source does not say in which order it took the attributes",
        judges=False,
    ),
    Reproduction(
        "projected-strongest",
        "The best of all projections",
        "recomputed from Nin (2008)",
        lambda quick: strongest(),
        6,
        10,
        ("census", "eia"),
        why="not in the source; far stronger than what it prints",
    ),
)
