"""The arithmetic of printed scores: every score, and every risk made of parts, from the parts that are printed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from microveil.registry import make
from microveil.scoring.rules.base import ScoreRule
from reproduction.base import Reproduction, Rows, file_of_scores, printed, row, whole


@cache
def rule_named(name: str) -> ScoreRule:
    made: ScoreRule = make("score", name)
    return made


def combined(rule: str, line: Mapping[str, str], figure: str) -> float:
    """The score, or with "dr" its risk and with "il" its loss, of the printed parts of a line."""
    made = rule_named(rule)
    score = made.combine({name: float(line[name]) for name in made.symbols})
    return float({"dr": score.risk, "il": score.loss}.get(figure, score.value))


def block_scores() -> Rows:
    for line in printed("block_scores"):
        parts = (f"Table {line['table']}", line["file"], line["scheme"], line["method"], line["size"], line["k"])
        yield row(
            " ".join(filter(None, parts)),
            line["score"],
            combined("classic", line, "score"),
            tolerance=0.0101,
            kind="arithmetic",
        )


def swapping_scores() -> Rows:
    for number in ("4.3", "4.4", "4.5"):
        for line in printed(file_of_scores(number)):
            label = f"Table {number} {line['file']} {line['parameter']}"
            yield row(label, line["score"], combined("swapping", line, "score"), tolerance=0.07, kind="arithmetic")


def projection_scores() -> Rows:
    """Tables 4.8 to 4.11; ScoreNew of EIA was made without DLD."""
    figures = {
        "4.8": {"dr": "classic", "score": "classic"},
        "4.9": {"dr": "classic", "score": "classic"},
        "4.10": {"score_old": "classic", "score_new": "projected", "score_max": "projected-max"},
        "4.11": {"score_old": "classic", "score_new": "projected-used", "score_max": "projected-max"},
    }
    for number, rules in figures.items():
        for line in printed(file_of_scores(number)):
            label = f"Table {number} {line['file']} {line['method']} v={line['v']} k={line['k']}"
            for figure, rule in rules.items():
                yield row(
                    f"{label} {figure}", line[figure], combined(rule, line, figure), tolerance=0.02, kind="arithmetic"
                )


def series_scores() -> Rows:
    for number in ("6.5", "6.6", "6.7"):
        for line in printed(file_of_scores(number)):
            label = f"Table {number} {line['method']} i={line['series']} k={line['k']}"
            for figure in ("il", "dr", "score"):
                yield row(
                    f"{label} {figure}",
                    line[figure],
                    combined("time-series", line, figure),
                    tolerance=0.0101,
                    kind="arithmetic",
                )


def pram_scores() -> Rows:
    """Tables 4.3 to 4.5 and 4.12 to 4.15 of Marés (2013): mean and maximum of IL and DR, and the drop."""
    first: dict[str, float] = {}
    for line in printed("scores_pram_search"):
        parts = {"il": float(line["il"]), "dr": float(line["dr"])}
        label = f"Table {line['table']} {line['file']} {line['method']}"
        for rule in ("mean", "max"):
            if line[rule]:
                yield row(
                    f"{label} {rule}",
                    line[rule],
                    rule_named(rule).combine(parts).value,
                    tolerance=0.02,
                    kind="arithmetic",
                )
        if line["mean"]:
            first.setdefault(line["table"], float(line["mean"]))
        if line["drop"]:
            dropped = 100 * (1 - float(line["mean"]) / first[line["table"]])
            yield row(f"{label} drop", line["drop"], dropped, tolerance=0.02, kind="arithmetic")


TABLES = (
    Reproduction(
        "scores-3",
        "Scores of blocks from their printed parts",
        "Nin (2008), Tables 3.3 to 3.13",
        whole(block_scores),
        214,
        0.2,
        why="two roundings can add up to 0.01",
        judges=False,
    ),
    Reproduction(
        "scores-4.3",
        "Scores of rank swapping from their printed parts",
        "Nin (2008), Tables 4.3 to 4.5",
        whole(swapping_scores),
        58,
        0.1,
        why="with the weights that the tables were made with, not those of the text; two of 58 look like misprints",
        judges=False,
    ),
    Reproduction(
        "scores-4.8",
        "Scores of block microaggregation from their printed parts",
        "Nin (2008), Tables 4.8 to 4.11",
        whole(projection_scores),
        270,
        0.2,
        why="ScoreNew of EIA was made without DLD, against its formula",
        judges=False,
    ),
    Reproduction(
        "scores-6.5",
        "Scores of time series from their printed parts",
        "Nin (2008), Tables 6.5 to 6.7",
        whole(series_scores),
        180,
        0.1,
        judges=False,
    ),
    Reproduction(
        "scores-pram",
        "Scores of the search for PRAM from their printed parts",
        "Marés (2013), Tables 4.3 to 4.5 and 4.12 to 4.15",
        whole(pram_scores),
        42,
        0.1,
        judges=False,
    ),
)
