"""PRAM without evolution: the tables of chapter 4 of Marés (2013) that need nothing but its matrices.

The Housing file is not to be had; of it only the frequencies of DEGREE survive. What the source evolved is in
`evolved_matrices` and `pram_formulas`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from microveil.numerics.perturbing.posterior import expected_ratios
from microveil.numerics.perturbing.transition_matrices import (
    entropy_matrix,
    frequency_matrix,
    invariant_within_range,
)
from reproduction.base import Kind, Quick, Reproduction, Row, Rows, row, whole
from reproduction.linkage import disclosure_risk, three
from reproduction.measuring import categorical_loss, method, with_one_more

DEGREE = np.array([98, 173, 251, 195, 170, 80, 33, 0])
DRAWS = 20
TABLE_4_1 = """0.500 0.067 0.060 0.065 0.067 0.076 0.080 0.083
0.073 0.500 0.058 0.064 0.066 0.075 0.080 0.083
0.072 0.064 0.500 0.062 0.064 0.074 0.080 0.083
0.073 0.065 0.057 0.500 0.066 0.075 0.080 0.083
0.073 0.066 0.058 0.064 0.500 0.075 0.080 0.083
0.074 0.068 0.061 0.066 0.068 0.500 0.080 0.083
0.075 0.068 0.062 0.067 0.069 0.076 0.500 0.083
0.075 0.069 0.062 0.067 0.069 0.077 0.081 0.500"""
TABLE_4_6 = """0.011 0.009 0.011 0.009 0.926 0.009 0.011 0.014
0.000 0.004 0.971 0.005 0.005 0.005 0.004 0.004
0.027 0.625 0.009 0.027 0.205 0.036 0.036 0.036
0.049 0.037 0.432 0.074 0.062 0.259 0.049 0.037
0.032 0.005 0.006 0.928 0.006 0.008 0.006 0.008
0.892 0.008 0.033 0.008 0.011 0.017 0.017 0.014
0.003 0.030 0.004 0.004 0.466 0.487 0.003 0.003
0.430 0.416 0.005 0.006 0.019 0.006 0.006 0.111"""
AFTER = (96, 171, 250, 181, 181, 81, 17, 23)
EXPECTED_AFTER = (94.3, 168.1, 259.4, 181.5, 172.4, 80.1, 22.8, 20.9)
EXPECTED_FREQUENCIES = (115.08, 140.83, 169.39, 148.68, 139.77, 109.11, 93.82, 83.33)
# Tables 4.8 and 4.9, the two rows that need no evolution: six categories and their weighted mean
RATIOS = {
    "Initial": ("0.846", "1.634", "2.629", "1.894", "1.599", "0.676", "1.780"),
    "Only invariance": ("0.981", "2.356", "4.838", "2.911", "2.287", "0.740", "2.827"),
}
# Tables 4.12 and 4.13: file, label, parameters that give the printed risk; IL and DR, and how near they should be
STANDARD: tuple[tuple[str, str, dict[str, Any], tuple[str, str, str, str], tuple[float, float]], ...] = (
    ("german_credit", "Freq PRAM", {"p": 0.60}, ("37.88", "31.03", "37.88", "34.45"), (1.5, 1.0)),
    (
        "german_credit",
        "Unif PRAM",
        {"matrix": "uniform", "theta": 0.47},
        ("13.60", "46.12", "46.12", "29.86"),
        (1.0, 1.0),
    ),
    ("solar_flare2", "Freq PRAM", {"p": 0.70}, ("29.26", "36.09", "36.09", "32.67"), (1.5, 1.0)),
    (
        "solar_flare2",
        "Unif PRAM",
        {"matrix": "uniform", "theta": 0.93},
        ("16.06", "42.68", "42.68", "29.38"),
        (1.2, 1.0),
    ),
)
# Tables 4.4 and 4.5, before evolution: IL and DR of the frequency matrix with p = 0.5
INITIAL = {"german_credit": ("80.36", "25.63"), "solar_flare2": ("81.18", "26.49")}
DOMAINS = {"german_credit": "ordinal", "solar_flare2": "nominal"}


def frequency_table() -> Rows:
    """Table 4.1, and the frequencies to be expected after it."""
    made = frequency_matrix(DEGREE, 0.5)
    for i, line in enumerate(TABLE_4_1.split("\n")):
        for j, cell in enumerate(line.split()):
            found = 0.06763 if (i, j) == (0, 4) else None
            yield row(f"row {i + 1}, column {j + 1}", cell, float(made[i, j]), recomputed=found, near=5e-6)
    for category, (value, found) in enumerate(zip(DEGREE @ made, EXPECTED_FREQUENCIES, strict=True)):
        yield Row(f"expected frequency {category + 1}", None, float(value), recomputed=found)


def evolved_frequencies() -> Rows:
    """Table 4.7: one draw by the evolved matrix of Table 4.6, beside the frequencies to be expected."""
    evolved = np.array([[float(cell) for cell in line.split()] for line in TABLE_4_6.split("\n")])
    for category, (shown, value, found) in enumerate(zip(AFTER, DEGREE @ evolved, EXPECTED_AFTER, strict=True)):
        yield Row(f"category {category + 1}", shown, float(value), 0, recomputed=found, near=0.051)


def ratios() -> Rows:
    """Expected ratios of categories 1 to 6: by the source's transposed form, and by the right one."""
    start = entropy_matrix(6, 0.6)
    matrices = {"Initial": start, "Only invariance": invariant_within_range(start, DEGREE[:6]).matrix}
    right = {"Only invariance": (1.892, 2.449, 2.994, 2.605, 2.428, 1.749, 2.504)}
    for title, shown in RATIOS.items():
        for form in ("source", "column"):
            made = expected_ratios(matrices[title], DEGREE[:6], form)
            values = (*made.by_category.tolist(), made.mean)
            for index, (cell, value) in enumerate(zip(shown, values, strict=True)):
                label = f"{title}, {f'category {index + 1}' if index < 6 else 'weighted mean'}, {form} form"
                known = right.get(title)
                found = 1.5997 if (title, index) == ("Initial", 4) else known[index] if known else None
                kind: Kind = "measurement" if form == "source" else "another reading"
                yield row(label, cell, float(value), recomputed=found, near=5.1e-4, kind=kind)


def standard(quick: bool) -> Rows:
    """Tables 4.12 and 4.13: frequency and uniform PRAM; the parameters are those that give the printed risk."""
    for file, title, parameters, shown, near in STANDARD:
        loss, risk = measured(file, parameters, 3 if quick else DRAWS)
        values = (loss, risk, max(loss, risk), (loss + risk) / 2)
        reach = (*near, max(near), max(near))
        for figure, cell, value, tolerance in zip(("IL", "DR", "max", "mean"), shown, values, reach, strict=True):
            kind: Kind = "fitted" if cell == shown[1] else "measurement"  # DR, and the maximum where that is DR
            yield row(f"{file} {title} {figure}", cell, value, tolerance=tolerance, kind=kind)


def before_evolution(quick: bool) -> Rows:
    """Tables 4.4 and 4.5, first rows."""
    for file, (loss, risk) in INITIAL.items():
        found, disclosed = measured(file, {"p": 0.5}, 3 if quick else DRAWS)
        yield row(f"{file} IL", loss, found)
        yield row(f"{file} DR", risk, disclosed, tolerance=1.0)


def measured(file: str, parameters: dict[str, Any], draws: int) -> tuple[float, float]:
    """The means of IL and DR over several releases."""
    data, names = three(file)
    counted = with_one_more(data.select(names), DOMAINS[file])  # type: ignore[arg-type]
    losses, risks = [], []
    for seed in range(draws):
        release = method("pram", **parameters).mask(data, names, seed=seed)
        losses.append(categorical_loss(counted, release.data.select(names).with_schema(counted.schema)))
        risks.append(disclosure_risk(data, release, names))
    return float(np.mean(losses)), float(np.mean(risks))


FILES = ("german_credit", "solar_flare2")
FEWER = "17 of 20 releases"
TABLES = (
    Reproduction(
        "pram-4.1",
        "The frequency-based matrix of DEGREE",
        "Marés (2013), Tables 4.1 and 4.2",
        whole(frequency_table),
        72,
        0.1,
        why="one of 64 cells is misprinted (0.067 for 0.068)",
    ),
    Reproduction(
        "pram-4.4",
        "Frequency PRAM before evolution",
        "Marés (2013), Tables 4.4 and 4.5",
        before_evolution,
        4,
        20,
        FILES,
        Quick(4, 4, FEWER),
        "section 4.1 of the source has another scale of IL than 4.2, about twice as large",
    ),
    Reproduction(
        "pram-4.7",
        "Frequencies by the evolved matrix",
        "Marés (2013), Tables 4.6 and 4.7",
        whole(evolved_frequencies),
        8,
        0.1,
        why="printed is one random draw, measured the expectation; all draws are within 1.3 deviations",
    ),
    Reproduction(
        "pram-4.8",
        "Expected ratios without evolution",
        "Marés (2013), Tables 4.8 to 4.11",
        whole(ratios),
        28,
        0.1,
        why="the source divided by the row where the column belongs; both forms stand here",
    ),
    Reproduction(
        "pram-4.12",
        "Frequency and uniform PRAM",
        "Marés (2013), Tables 4.12 and 4.13",
        standard,
        16,
        8,
        FILES,
        Quick(16, 8, FEWER),
        "p and theta are not in the source: they are those that give the printed risk; genetic programming is "
        "in `formulas-plain`",
    ),
)
