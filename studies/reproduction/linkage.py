"""Distance-based and probabilistic linkage in general: Nin (2008) and Marés (2013).

The rule by which the sources let numbers agree in probabilistic linkage is not known; all rules are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from microveil.attacks.linkage.probabilistic import Agreement
from microveil.microdata import Microdata, datasets
from reproduction.base import Quick, Reproduction, Row, Rows, whole
from reproduction.measuring import attack, method, right_links, table

# how numbers agree, and the scale of the two files; the values nearest on a common scale come closest to print
RULES = (*((rule, "separate") for rule in get_args(Agreement)), ("nearest", "joint"))
# Marés (2013): the unmasked files
IDENTITY = {"german_credit": (8.5, 54.25), "solar_flare2": (4.50, 52.25)}
# Nin (2008), Table 3.3: PLD of the Zscores files of correlated blocks by k
WATER = {5: 62.50, 10: 54.87, 20: 40.79}
# Nin (2008): P-RL with two and with five attributes known, k = 50, optimal microaggregation
OPTIMAL = {"census": (374, 1057), "eia": (1011, 3694)}


def three(file: str) -> tuple[Microdata, list[str]]:
    """The three attributes that the categorical experiments protect; those of Flare are letters without order."""
    data = datasets.load(file)
    names = [data.names[i] for i in ((0, 5, 6) if file == "german_credit" else (0, 1, 2))]
    return Microdata.of(data, nominal=names), names


def disclosure_risk(data: Microdata, release: Any, names: Sequence[str]) -> float:
    """(ID + max(DBRL, PRL)) / 2."""
    linked = [attack(name).assess(data, release, names).value for name in ("distance-linkage", "probabilistic-linkage")]
    return (attack("interval-disclosure", counted="all").assess(data, release, names).value + max(linked)) / 2


def unmasked() -> Rows:
    """A file linked to itself: how many of its records differ from all others."""
    for file, (linked, risk) in IDENTITY.items():
        data, names = three(file)
        attacks = {
            "distance": attack("distance-linkage"),
            "distance, one to one": attack("distance-linkage", one_to_one=True),
            **{
                f"probabilistic, {assignment}, interactions {interactions}": attack(
                    "probabilistic-linkage", assignment=assignment, interactions=interactions
                )
                for assignment in ("best", "one-to-one")
                for interactions in ("none", "different", "both")
            },
        }
        for title, made in attacks.items():
            yield Row(f"{file} {title}", None, made.assess(data, data, names).value, recomputed=linked)
        yield Row(f"{file} (ID + max(DBRL, PRL)) / 2", None, disclosure_risk(data, data, names), recomputed=risk)


def rules_of_agreement(quick: bool) -> Rows:
    """P-RL by every rule: right links against groups of 50, and PLD of the Zscores files of Water."""
    for file, shown in OPTIMAL.items():
        if quick and file == "eia":
            continue
        data = table(file)
        release = method("optimal-univariate", k=50).mask(data)
        for known, value in zip((2, 5), shown, strict=True):
            for rule, scale in RULES:
                made = attack("probabilistic-linkage", agreement=rule, standardisation=scale)
                count = right_links(made, data, [release], known, "first")
                label = f"{file} P-RL by {rule}, {scale}, {known} known"
                yield Row(label, value, count, 0, kind="another reading")
    data = table("water-nine")
    for k, share in WATER.items():
        release = method("projection", k=k, axis="z-sum", partition="fixed", remainder="middle", block=3).mask(data)
        for rule, scale in RULES:
            made = attack(
                "probabilistic-linkage", agreement=rule, standardisation=scale, known_sizes=(6, 9), choose="first"
            )
            linked = made.assess(data, release).counters["first"]
            yield Row(f"water PLD by {rule}, {scale}, Zscores k={k}", share, linked, kind="another reading")


TABLES = (
    Reproduction(
        "linkage-unmasked",
        "Files linked to themselves",
        "recomputed from Marés (2013)",
        whole(unmasked),
        18,
        10,
        tuple(IDENTITY),
    ),
    Reproduction(
        "linkage-agreement",
        "Probabilistic linkage by every rule of agreement",
        "Nin (2008), Table 3.3 and figures 4.8 and 4.9",
        rules_of_agreement,
        49,
        10,
        ("census", "eia", "water_treatment"),
        Quick(35, 10, "EIA"),
        "the sources do not say when numbers agree; no rule gives all their values",
        judges=False,
    ),
)
