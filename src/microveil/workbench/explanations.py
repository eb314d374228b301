"""What the numbers on the screens mean: the scenario, how they are computed, and where to read more.

Each explanation has a key, by which the controls and numbers of a page refer to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from microveil.applications import number


@dataclass(frozen=True)
class Explanation:
    """A title, what it means, and where they exist the formula, an example from this file, and the source."""

    title: str
    meaning: str
    formula: str = ""
    example: str = ""
    source: str = ""


DATA = {
    "screen": Explanation(
        "The table and its roles",
        "A risk can be measured only if it is known what an intruder may know. So the most important decision on this "
        "screen is which attributes are keys. Everything else has a sensible guess.",
    ),
    "kind": Explanation(
        "Kind",
        "What the values are: numbers that can be averaged (numeric), categories in an order (ordinal), categories "
        "without one (nominal), or places (location). A code that is written in digits is a category, not a number.",
    ),
    "role": Explanation(
        "Role",
        "A key (quasi-identifier) is what an intruder may know of a person: age, sex, place. An identifier names the "
        "person and is never released. Confidential is what the intruder would like to learn. The weight says for how "
        "many persons of the population a record stands; records with the same household number live together.",
        source="Hundepool et al. (2012), chapter 3",
    ),
    "distribution": Explanation(
        "Distribution",
        "How often each value occurs, drawn without numbers: 24 steps from the 1 % to the 99 % quantile of numbers, "
        "or the twelve most frequent categories and the rest.",
    ),
    "distinct": Explanation(
        "Distinct values",
        "How many different values occur. A key with as many values as there are records singles out everybody.",
        "number of different values, missing ones left out",
    ),
    "mean": Explanation("Mean", "Of numbers; missing values and missing codes are left out.", "sum of the values / n"),
    "attribute": Explanation(
        "One attribute in detail",
        "Its distribution with numbers, and everything that can be said about it. What you apply is a step of the "
        "history, so it can be undone.",
    ),
    "missing": Explanation(
        "Missing values",
        "An empty cell, or a code such as -9. Codes never enter a calculation and come out of a release as they went "
        "in. What a missing value counts as decides which records are alike: as an answer of its own, as unknown and "
        "alike to everything (wildcard), or as nothing to know (not applicable).",
    ),
    "domain": Explanation(
        "Possible values",
        "What a value may be, whatever this file happens to hold: masked values stay inside, and a category that "
        "nobody has this quarter is still one. Left empty, it is what occurs.",
    ),
    "level": Explanation(
        "Person or household", "What all members of a household share is masked once for all of them, so it stays so."
    ),
    "hierarchy": Explanation(
        "Hierarchy",
        "How values become coarser, level by level: cook, then services, then all. Recoding and generalisation climb "
        "it, and distances between categories follow it. Drag a category into another group, or edit the text.",
    ),
    "series": Explanation(
        "Time series",
        "A record is then a whole series, such as the year of a shop, and is masked, attacked and measured as one.",
    ),
    "hint": Explanation(
        "Warnings", "What a column looks like, and what to do if it is that. A warning is a guess: you decide."
    ),
}

TRY = {
    "screen": Explanation(
        "Try a method",
        "A method makes a masked table of the one where you are in the history. Nothing is lost: each result is a "
        "candidate of its own, and undo leads back.",
    ),
    "attributes": Explanation(
        "Attributes to mask", "Those that the method can treat. The keys are ticked, for they lead to a person."
    ),
    "seed": Explanation(
        "Seed",
        "Random numbers come from the seed, so the same seed gives the same release. Whoever knows it can undo much of "
        "the masking; left empty, a secret one is drawn. A release has one seed for all its steps.",
    ),
    "preview": Explanation(
        "What it does to a small sample",
        "400 records drawn from the table, or all of them where there are fewer. Groups of a sample are more "
        "dissimilar than those of the whole table, so on all records it changes less.",
    ),
    "several": Explanation(
        "Several values",
        "Each value gives a candidate of its own on the map, and you stay where you are in the history.",
    ),
}

MAP = {
    "screen": Explanation(
        "The risk-utility map",
        "Each mark is a release of this table: the risk (what an intruder gains) grows to the right, the loss (what an "
        "analyst loses) upwards. Good releases are near the lower left corner. The broken line is the front: of its "
        "releases none is beaten by another in both. The box marks the knee, beyond which a little less of one side "
        "costs much of the other.",
        source="Duncan, Keller-McNulty and Stokes (2001)",
    ),
    "risk": Explanation(
        "Risk",
        "The share of records that the most successful of the attacks links to the right person: the usual attacks, "
        "and one by an intruder who knows the plan but not the seed. Studies and searches measure the same.",
        "risk = greatest share of records linked by any attack, in %",
    ),
    "grid": Explanation(
        "Several methods at once",
        "A study: every ticked method at several strengths, random ones with several seeds if you like. Each becomes a "
        "point of the map; one that you like is made by a click.",
    ),
    "search": Explanation(
        "Let the machine search",
        "Methods, their order, their attributes and their parameters are varied together, and what loses little at "
        "little risk is kept. At the end the best are measured once more with fresh seeds, because what is best of "
        "many was also lucky.",
        source="Beume, Naujoks and Emmerich (2007)",
    ),
    "loss": Explanation(
        "Loss",
        "How far means, variances, correlations, values and tables of the release are from those of the original: 0 is "
        "no difference.",
        "loss = mean of the losses that fit the attributes, in %",
    ),
    "score": Explanation("Score", "Risk and loss in one number; lower is better.", "score = (loss + risk) / 2"),
    "bounds": Explanation(
        "What you accept",
        "Bounds are yours: the map shades what lies within the bound on the risk, and the screen Out says which bound "
        "a release does not keep. The threshold is for the risk of a single record.",
    ),
}

OUT = {
    "screen": Explanation(
        "What leaves the house",
        "The folder public of the export may be given away: the masked table and the public report. The folder "
        "internal is yours alone: with the plan, the manifest and the script the release can be made again, byte for "
        "byte, and with their seed much of the masking could be undone.",
    ),
    "open": Explanation(
        "What is still open", "What somebody who decides about the release should have seen. None of it stops you."
    ),
}


def of_data(rows: Sequence[Mapping[str, Any]], records: int) -> dict[str, Explanation]:
    """The numbers of the screen Data, with examples from this file."""
    found = dict(DATA)
    most = max(rows, key=lambda row: row["distinct"] or 0, default=None)
    gaps = max(rows, key=lambda row: row["missing"] or 0, default=None)
    mean = next((row for row in rows if row["mean"] is not None), None)
    if most is not None and most["distinct"]:
        told = f"{most['name']} has {number(most['distinct'])} different values in {records:,} records."
        found["distinct"] = replace(found["distinct"], example=told)
    if gaps is not None and gaps["missing"]:
        told = f"{gaps['name']} is missing in {number(gaps['missing'])} of {records:,} records."
        found["missing"] = replace(found["missing"], formula="number of empty cells and missing codes", example=told)
    if mean is not None:
        found["mean"] = replace(found["mean"], example=f"The mean of {mean['name']} is {number(mean['mean'])}.")
    return found


def of_map(measures: Mapping[str, Any] | None, title: str) -> dict[str, Explanation]:
    """The numbers of the screens Map and Out, with the release where the user is, or the first one, as the example."""
    if measures is None:
        return MAP
    attacks = [row for row in measures["rows"] if row["kind"] == "risk"]
    losses = [row for row in measures["rows"] if row["kind"] == "loss"]
    risk, loss = measures["risk"], measures["loss"]
    nearest = min(attacks, key=lambda row: abs(row["value"] - risk), default=None)
    worst = max(losses, key=lambda row: row["value"], default=None)
    by = "" if nearest is None else f", by {nearest['name']}"
    most = (
        "" if worst is None else f"; the largest of {len(losses)} losses is {worst['name']} with {worst['value']:.1f} %"
    )
    score = f"{title}: ({loss:.1f} + {risk:.1f}) / 2 = {(loss + risk) / 2:.1f}."
    return {
        **MAP,
        "risk": replace(MAP["risk"], example=f"{title}: {risk:.1f} % of the records are linked{by}."),
        "loss": replace(MAP["loss"], example=f"{title}: {loss:.1f} %{most}."),
        "score": replace(MAP["score"], example=score),
    }


def of_candidate(title: str, words: str, loss: float, risk: float, notes: Sequence[str]) -> Explanation:
    """What a mark of the map says when it is pointed at."""
    told = f"Risk {risk:.1f} %, loss {loss:.1f} %, score {(loss + risk) / 2:.1f}." + "".join(
        f" {note[:1].upper()}{note[1:]}." for note in notes
    )
    return Explanation(title, told, words)


def of_risk(found: Mapping[str, Any] | None, measures: Mapping[str, Any] | None = None) -> dict[str, Explanation]:
    """The numbers of the screen Risk, with examples from this file."""
    measured = found is not None and "failed" not in found
    told = _examples(found, measures) if found is not None and measured else {}
    return {key: replace(one, example=told.get(key, "")) for key, one in RISK.items()}


def _examples(found: Mapping[str, Any], measures: Mapping[str, Any] | None) -> dict[str, str]:
    now = found["summary"] if measures is None else measures["headline"]["after"]
    keys, records = found["keys"], now["records"]
    told = {}

    def named(values: Sequence[str]) -> str:
        return ", ".join(f"{key} {value}" for key, value in zip(keys, values, strict=False))

    combinations = found["combinations"]
    if combinations:
        first = combinations[0]
        count = first["records"]
        share = "is alone with it" if count == 1 else f"is one of {count:,} with it"
        each = first["expected"] / count
        told["expected"] = (
            f"A record with {named(first['values'])} {share}, and adds {each:.3g} to the sum, which is "
            f"{now['expected']:.4g} over {records:,} records."
        )
        told["half"] = f"The first combination of the list has {first['percent']:.2g} % of the sum."
    alone = next((one for one in combinations if one["records"] == 1), None)
    if alone is not None and now["uniques"]:
        told["uniques"] = f"One of the {now['uniques']:,} has {named(alone['values'])}, and nobody else does."
    elif not now["uniques"]:
        told["uniques"] = f"Every record of this file shares its combination: the smallest group has {now['k']:,}."
    below = found["below"]["5"]
    told["below"] = f"{below:,} of {records:,} records are in a group with fewer than 5 members."
    worst = found["examples"]["record"]
    if worst is not None:
        beside = "nobody else" if worst["records"] == 1 else f"{worst['records'] - 1:,} other records"
        population = (
            "" if worst["population"] is None else f", for about {worst['population']:,.0f} persons in the population"
        )
        told["largest"] = (
            f"A record with {named(worst['values'])} agrees with {beside} of the file{population}: {worst['risk']:.3g}."
        )
    home = found["examples"]["household"]
    if home is not None:
        product = " x ".join(f"(1 - {risk:.3g})" for risk in home["risks"]) + (" x ..." if home["more"] else "")
        told["households"] = f"The household that is worst off: 1 - {product} = {home['risk']:.3g}."
    return told


RISK = {
    "screen": Explanation(
        "Risk of re-identification",
        "An intruder knows the keys of a person and looks for the record that agrees. The more records agree, and "
        "the more persons of the population do, the less sure the intruder can be.",
    ),
    "expected": Explanation(
        "Expected re-identifications",
        "If an intruder links every record to a person by the keys, so many links are right on average.",
        "sum over all records of the risk of the record",
        source="Franconi and Polettini (2004)",
    ),
    "largest": Explanation(
        "Largest risk of a record",
        "The probability that the intruder is right about the record that is worst off. The threshold is what you "
        "accept for a single record; 0.09 is common for public releases.",
        "1/f for a file of the whole population, the expected 1/F for a sample, where f records and F persons of "
        "the population agree on the keys",
        source="Franconi and Polettini (2004)",
    ),
    "uniques": Explanation(
        "Records alone in their combination",
        "No other record of the file has the same values of all keys. In a sample they may still have doubles in "
        "the population.",
        "number of records with f = 1",
    ),
    "below": Explanation(
        "Records by the size of their group",
        "A group are the records with the same values of all keys. An intruder who finds a person's group has to "
        "guess among its members. A file in which nobody is in a group of fewer than k is k-anonymous.",
        "number of records with f < k",
        source="Samarati (2001); Sweeney (2002)",
    ),
    "half": Explanation(
        "The worst combinations",
        "Combinations of key values by how much their records add to the expected re-identifications. Few that carry "
        "half of it can be treated one by one; many call for a method that changes all records.",
        "risk of a record x records with the combination, as a share of the sum over all",
    ),
    "households": Explanation(
        "Risk through the household",
        "Who finds one member of a household has found the others, if it can be seen who lives together.",
        "risk of a household = 1 - product over its members of (1 - risk of the member)",
        source="Templ, Kowarik and Meindl (2015)",
    ),
    "causes": Explanation(
        "What causes it",
        "Records by their risk, and which keys give them away: what each key adds for an intruder who knows all "
        "others, and which keys take part in the smallest combinations that occur only once (special uniques, SUDA).",
        source="Elliot, Manning and Ford (2002)",
    ),
    "advice": Explanation(
        "What would lower the risk",
        "Single changes of the original, each tried on the file: what it does to the expected re-identifications, "
        "and how much of the information (entropy) of the key it costs.",
    ),
    "entropy": Explanation(
        "Information lost",
        "The part of the entropy of the keys that is gone after the change.",
        "H(keys before | keys after) / H(keys before), in %",
    ),
    "attacks": Explanation(
        "Attacks",
        "Each attack plays an intruder against the table where you are in the history, and counts how often it "
        "succeeds. Tick what the intruder knows; without a tick these are the declared keys. Each finding below opens "
        "its scenario, its formula and an example from this file.",
    ),
}
