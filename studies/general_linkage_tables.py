"""Distance-based and probabilistic linkage: printed or known value, measured value, difference.

    python studies/general_linkage_tables.py

Percentages of records, or numbers of right links where the row says so. What the specification computed itself is
called "known". A row that ends in "!" lies outside the tolerance that the specification gives, or differs from print.
The rule by which the sources let numbers agree in probabilistic linkage is not known; all rules are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np

from microveil.attacks.base import Attack
from microveil.attacks.intervals import IntervalDisclosure
from microveil.attacks.linkage.base import Standardisation
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.probabilistic import Agreement, ProbabilisticLinkage
from microveil.masking.microaggregation.optimal_univariate import OptimalUnivariate
from microveil.masking.microaggregation.projection import Projection
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata, datasets
from microveil.microdata.selections import load_selection

# how numbers agree, and the scale of the two files; the values nearest on a common scale come closest to print
RULES: tuple[tuple[Agreement, Standardisation], ...] = (
    *((rule, "separate") for rule in get_args(Agreement)),
    ("nearest", "joint"),
)
# specification 05, 5.6 and 11.3: the unmasked files
IDENTITY = {"german_credit": (8.5, 54.25), "solar_flare2": (4.50, 52.25)}
# specification 05, 11.3: frequency PRAM by p, uniform PRAM by theta; printed or calibrated risk and its tolerance
PRAM_RISKS = (
    ("german_credit", PRAM(p=0.60), 31.0, 1.0),
    ("german_credit", PRAM(matrix="uniform", theta=0.47), 46.1, 1.0),
    ("solar_flare2", PRAM(p=0.70), 36.1, 1.0),
    ("solar_flare2", PRAM(matrix="uniform", theta=0.93), 42.7, 1.0),
)
# specification 03, Table 3.3: PLD of the Zscores files of correlated blocks by k
WATER = {5: 62.50, 10: 54.87, 20: 40.79}
# specification 04, 6.6: right links with two and with five attributes known, k = 50, optimal microaggregation
OPTIMAL = {"census": ((369, 1047), (374, 1057)), "eia": ((469, 2353), (1011, 3694))}


def main() -> None:
    print("| what | file | printed or known | measured | difference |\n|---|---|---|---|---|")
    unmasked()
    randomised()
    optimal()
    water()


def row(what: str, file: str, known: float, measured: float, tolerance: float = 0.005) -> None:
    verdict = "" if abs(measured - known) <= tolerance + 1e-9 else " !"
    print(f"| {what} | {file} | {known:g} | {measured:.2f} | {measured - known:+.2f}{verdict} |", flush=True)


def three(file: str) -> tuple[Microdata, list[str]]:
    """The three attributes that the categorical experiments protect; those of Flare are letters without order."""
    data = datasets.load(file)
    names = [data.names[i] for i in ((0, 5, 6) if file == "german_credit" else (0, 1, 2))]
    return Microdata.of(data, nominal=names), names


def unmasked() -> None:
    for file, (linked, risk) in IDENTITY.items():
        data, names = three(file)
        measured = {
            "distance": DistanceLinkage(),
            "distance, one to one": DistanceLinkage(one_to_one=True),
            **{
                f"probabilistic, {assignment}, interactions {interactions}": ProbabilisticLinkage(
                    assignment=assignment, interactions=interactions
                )
                for assignment in ("best", "one-to-one")
                for interactions in ("none", "different", "both")
            },
        }
        for what, attack in measured.items():
            row(f"unmasked, {what}", file, linked, attack.assess(data, data, names).value)
        row("unmasked, (ID + max(DBRL, PRL)) / 2", file, risk, disclosure_risk(data, data, names))


def disclosure_risk(data: Microdata, release: object, names: Sequence[str]) -> float:
    linked = [attack.assess(data, release, names).value for attack in (DistanceLinkage(), ProbabilisticLinkage())]
    return (IntervalDisclosure().assess(data, release, names).value + max(linked)) / 2


def randomised() -> None:
    for file, method, known, tolerance in PRAM_RISKS:
        data, names = three(file)
        risks = [disclosure_risk(data, method.mask(data, names, seed=seed), names) for seed in range(20)]
        what = f"PRAM {method.matrix} {method.p if method.matrix == 'frequency' else method.theta}, mean of 20"
        row(what, file, known, float(np.mean(risks)), tolerance)


def optimal() -> None:
    """Right links; ties go to the first record, as the printed whole numbers imply."""
    for file, (by_distance, by_probability) in OPTIMAL.items():
        data = datasets.load(file).select(datasets.COLUMNS["census-alphabetical" if file == "census" else "eia"])
        release = OptimalUnivariate(k=50).mask(data)
        for known, printed in zip((2, 5), by_distance, strict=True):
            for direction in ("original", "masked"):
                count = right(DistanceLinkage(direction=direction), data, release, known)
                row(f"DB-RL from the {direction}, {known} known, links", file, printed, count, 0.02 * printed)
        for known, printed in zip((2, 5), by_probability, strict=True):
            for rule, scale in RULES:
                count = right(ProbabilisticLinkage(agreement=rule, standardisation=scale), data, release, known)
                row(f"P-RL by {rule}, {scale}, {known} known, links", file, printed, count, 0.02 * printed)


def right(attack: Attack, data: Microdata, release: object, known: int) -> float:
    return attack.assess(data, release, data.names[:known]).counters["first"] / 100 * len(data)


def water() -> None:
    """PLD over the first two and the first three blocks."""
    data = load_selection("water-nine")
    for k, printed in WATER.items():
        release = Projection(k=k, axis="z-sum", partition="fixed", remainder="middle", block=3).mask(data)
        for rule, scale in RULES:
            attack = ProbabilisticLinkage(agreement=rule, standardisation=scale, known_sizes=(6, 9), choose="first")
            linked = attack.assess(data, release).counters["first"]
            row(f"PLD by {rule}, {scale}, Zscores, k = {k}", "water", printed, linked)


if __name__ == "__main__":
    main()
