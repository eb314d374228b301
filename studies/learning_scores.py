"""The scores of cbfs, OMMA and IAMAT: information loss, disclosure risks and their index, printed beside measured.

Run: python studies/learning_scores.py [quick] [--map FILE]. The whole takes about two minutes; `quick` leaves out the
simulated files. `--map` writes the risk-utility map of Census, k = 3, 4, 5, as SVG. G_IL and ID of cbfs and IAMAT on
Census must come out to all printed digits; OMMA begins with a random partition; RLD does not come out by any reading
of its definition; the printed SI of Census was made with the constant 39 in the place of G_DR, so that "SI right" is
the index of the printed parts. The G_IL of the simulated files says little: their attributes are independent, so a
covariance that happens to be near 0 can change by hundreds of times its size (M4 of three uniform files: 349, 1, 4).
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from microveil.masking import Method, Plan, Release, Step
from microveil.masking.microaggregation.cbfs import CBFS
from microveil.masking.microaggregation.iamat import IAMAT
from microveil.masking.microaggregation.omma import OMMA
from microveil.microdata import Microdata, datasets
from microveil.microdata.simulated import simulated
from microveil.protection import protect
from microveil.reporting.risk_utility import risk_utility_map
from microveil.scoring import Assessment, Score, score_index
from microveil.study import Candidate, Result, Study

PRINTED = Path(__file__).parent / "printed" / "learning_scores.csv"
CENSUS_KEYS = (1, 2, 3, 5, 10, 11, 12)
METHODS = ("cbfs", "omma", "iamat")
CONSTANT = 39.0  # what the source put in the place of G_DR for Census
WIDTHS = {"census": 10, "uniform-b": 30, "normal-b": 30}  # intervals of 1 to so many per cent


def printed() -> dict[tuple[str, int, str], dict[str, float]]:
    """The printed criteria by file, k and method."""
    with PRINTED.open(encoding="utf-8", newline="") as file:
        return {
            (line["file"], int(line["k"]), line["method"]): {
                name: float(line[name]) for name in ("g_il", "rld", "id", "g_dr", "si", "si_right") if line[name]
            }
            for line in csv.DictReader(file)
        }


def method(name: str, k: int) -> Method:
    """The three methods as the source ran them."""
    if name == "omma":
        return OMMA(k=k, start="random", order="rows")
    return CBFS(k=k) if name == "cbfs" else IAMAT(k=k)


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
            step = Step(name, method(name, k).parameters(), data.names)
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


def as_study(made: dict[tuple[str, int], tuple[Release, Assessment]]) -> Study:
    """The points of the risk-utility map: loss and risk of every method and k."""
    results = [
        Result(Candidate(f"{name} k={k}", release.provenance.steps), release, index)
        for (name, k), (release, index) in made.items()
    ]
    return Study(tuple(sorted(results, key=lambda result: result.assessment.score.mean)))


def show(file: str) -> dict[tuple[str, int], tuple[Release, Assessment]]:
    data, known = load(file)
    made = scores(data, known, widths=WIDTHS[file])
    print(f"\n## Tables 4.4 and 5.2: {file}, intruder knows {', '.join(known)}\n")
    print("| k | method | criterion | printed | measured | difference |\n|---|---|---|---|---|---|")
    for (name, k), (_, index) in made.items():
        shown = printed()[file, k, name]
        shown = {**shown, "si": right_index(shown)}  # the printed one is wrong for Census
        for criterion, value in criteria(index).items():
            label = "SI right" if criterion == "si" else criterion.upper()
            difference = value - shown[criterion]
            print(f"| {k} | {name} | {label} | {shown[criterion]:.5f} | {value:.5f} | {difference:+.5f} |", flush=True)
    return made


def main() -> None:
    census = show("census")
    if "--map" in sys.argv:
        Path(sys.argv[sys.argv.index("--map") + 1]).write_text(risk_utility_map(as_study(census)), encoding="utf-8")
    if "quick" not in sys.argv[1:]:
        show("uniform-b")
        show("normal-b")


if __name__ == "__main__":
    main()
