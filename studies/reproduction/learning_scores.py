"""The scores of cbfs, OMMA and IAMAT: Tables 4.4 and 5.2 of Fayyoumi (2008).

G_IL and ID of cbfs and IAMAT on Census must come out to all printed digits; OMMA begins with a random partition; RLD
does not come out by any reading of its definition; the printed SI of Census was made with the constant 39 for G_DR.
The G_IL of simulated files says little: their attributes are independent, so a covariance that happens to be
near 0 can change by hundreds of times its size (M4 of three uniform files: 349, 1, 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from microveil.masking import Method, Plan, Release, Step
from microveil.microdata import Microdata, datasets
from microveil.microdata.datasets.simulated_tables import simulated
from microveil.protection import protect
from microveil.scoring import Assessment, Score, score_index
from reproduction.base import Quick, Reproduction, Row, Rows, printed, whole
from reproduction.measuring import method

CENSUS_KEYS = (1, 2, 3, 5, 10, 11, 12)
METHODS = ("cbfs", "omma", "iamat")
CONSTANT = 39.0  # what the source put in the place of G_DR for Census
WIDTHS = {"census": 10, "uniform-b": 30, "normal-b": 30}  # intervals of 1 to so many per cent
# OMMA on Census over twelve recomputed seeds: the least and the greatest G_IL and ID by k
OMMA_RANGES = {
    "g_il": {3: (21.6, 31.0), 4: (26.5, 33.6), 5: (31.5, 37.3)},
    "id": {3: (2.04, 2.53), 4: (0.68, 1.21), 5: (0.32, 0.64)},
}
CRITERIA = ("g_il", "rld", "id", "g_dr", "si")


def printed_criteria() -> dict[tuple[str, int, str], dict[str, float]]:
    """The printed criteria by file, k and method."""
    return {
        (line["file"], int(line["k"]), line["method"]): {
            name: float(line[name]) for name in (*CRITERIA, "si_right") if line[name]
        }
        for line in printed("learning_scores")
    }


def as_run(name: str, k: int) -> Method:
    """The three methods as the source ran them."""
    return method("omma", k=k, start="random", order="rows") if name == "omma" else method(name, k=k)


def load(file: str) -> tuple[Microdata, tuple[str, ...]]:
    """A file and the attributes its intruder may know."""
    if file == "census":
        data = datasets.load(file)
        return data, tuple(data.names[number - 1] for number in CENSUS_KEYS)
    data = simulated(file)
    return data, data.schema.keys


def scores(
    data: Microdata,
    known: Sequence[str],
    ks: Iterable[int] = (3, 4, 5),
    methods: Sequence[str] = METHODS,
    *,
    widths: int = 10,
    seed: int = 1,
) -> dict[tuple[str, int], tuple[Release, Assessment]]:
    """Every method and k: its release of all attributes, and what it loses and risks."""
    made = {}
    for k in ks:
        for name in methods:
            step = Step(name, as_run(name, k).parameters(), data.names)
            release = protect(data, Plan((step,), seed))
            index = score_index(data, release, known=known, widths=range(1, widths + 1), decimals=4)
            made[name, k] = release, index
    return made


def criteria(index: Assessment) -> dict[str, float]:
    return {
        "g_il": index.score.loss,
        "rld": index.risks["distance-linkage"].value,
        "id": index.risks["interval-disclosure"].value,
        "g_dr": index.score.risk,
        "si": index.score.weighted(0.5),
    }


def right_index(shown: dict[str, float]) -> float:
    """The score index of the printed parts."""
    return Score(shown["g_il"], (shown["rld"] + shown["id"]) / 2).weighted(0.5)


def measured(file: str) -> Rows:
    """Every criterion of one file; of Census the printed SI is wrong, so the right one stands beside."""
    data, known = load(file)
    for (name, k), (_, index) in scores(data, known, widths=WIDTHS[file]).items():
        shown = printed_criteria()[file, k, name]
        for criterion, value in criteria(index).items():
            label = f"{file} k={k} {name} {criterion.upper()}"
            if (file, name) == ("census", "omma") and criterion in OMMA_RANGES:
                low, high = OMMA_RANGES[criterion][k]
                yield Row(label, shown[criterion], value, 4, recomputed=(low + high) / 2, near=(high - low) / 2)
            else:
                yield Row(label, shown[criterion], value, 4, tolerance=6e-5)


def arithmetic() -> Rows:
    """G_DR and SI from their printed parts; the printed SI of Census was made with a constant."""
    for (file, k, name), shown in printed_criteria().items():
        label = f"{file} k={k} {name}"
        yield Row(
            f"{label} G_DR", shown["g_dr"], (shown["rld"] + shown["id"]) / 2, 4, tolerance=6e-5, kind="arithmetic"
        )
        right = shown.get("si_right")
        index = right_index(shown)
        yield Row(f"{label} SI", shown["si"], index, 4, tolerance=6e-5, recomputed=right, kind="arithmetic")


def both(quick: bool) -> Rows:
    for file in ("census",) if quick else WIDTHS:
        yield from measured(file)


TABLES = (
    Reproduction(
        "learning-4.4",
        "The scores of cbfs, OMMA and IAMAT",
        "Fayyoumi (2008), Tables 4.4 and 5.2",
        both,
        135,
        120,
        ("census",),
        Quick(45, 15, "the simulated files"),
        why=(
            "RLD does not come out by any reading of its definition, and G_DR and SI contain it; the printed SI of "
            "Census was made with 39 in the place of G_DR; the simulated files are other ones, their G_IL says little, "
            "and the source seems to have scored MDAV there with records out of order"
        ),
    ),
    Reproduction(
        "learning-arithmetic",
        "G_DR and SI from their printed parts",
        "Fayyoumi (2008), Tables 4.4 and 5.2",
        whole(arithmetic),
        54,
        0.1,
        why="every printed SI of Census is (G_IL + 39) / 2",
        judges=False,
    ),
)
