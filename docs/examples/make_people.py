"""Make people.csv, the fictional file that every example of the documentation runs on.

400 persons in 150 households of a country that does not exist; a survey in which every person stands for some fifty.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

FIRST = ("Ana", "Ben", "Cleo", "Dana", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jana", "Kim", "Lea", "Max", "Nils", "Ona")
LAST = ("Adler", "Berg", "Cole", "Dorn", "Ek", "Frey", "Gall", "Holm", "Igel", "Jung", "Kern", "Lind", "Moos", "Nord")
ZIPS = ("8010", "8020", "8041", "8042", "9020", "9021", "9073", "7000", "7011", "7012")
EDUCATION = ("none", "primary", "secondary", "tertiary")
DIAGNOSES = ("none", "none", "none", "asthma", "diabetes", "hypertension", "depression")


def people(seed: int = 20, records: int = 400, households: int = 150) -> list[dict[str, object]]:
    """The rows, with some missing incomes (-9: refused) and educations (empty)."""
    rng = np.random.default_rng(seed)
    home = np.sort(rng.integers(0, households, records))
    zip_of, weight_of = rng.choice(len(ZIPS), households, p=_falling(len(ZIPS))), rng.uniform(30, 70, households)
    rows = []
    for i in range(records):
        age = int(np.clip(rng.normal(44, 20), 1, 97))
        level = 0 if age < 7 else int(np.clip(rng.normal(1.2 + (age > 24), 0.9), 0, 3))
        income = 0 if age < 16 else int(np.exp(rng.normal(9.7 + 0.25 * level + 0.01 * min(age, 55), 0.5)))
        rows.append({
            "name": f"{rng.choice(FIRST)} {rng.choice(LAST)} {i + 1}",
            "household": int(home[i]) + 1,
            "zip": ZIPS[zip_of[home[i]]],
            "age": age,
            "sex": rng.choice(["f", "m"]),
            "education": "" if rng.random() < 0.03 else EDUCATION[level],
            "income": -9 if rng.random() < 0.04 else income,
            "diagnosis": rng.choice(DIAGNOSES),
            "weight": round(float(weight_of[home[i]]), 1),
        })  # fmt: skip
    return rows


def _falling(size: int) -> np.ndarray:
    shares = 1.0 / np.arange(1, size + 1)
    return shares / shares.sum()


if __name__ == "__main__":
    rows = people()
    with (Path(__file__).parent / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
