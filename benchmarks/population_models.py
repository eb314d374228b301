"""How long models of the population take on adult with eight keys, beside `uniqueness` on the same file.

python benchmarks/population_models.py      prints the tables of RESULTS.md; needs MICROVEIL_DATA
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import microveil as mv

KEYS = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
SIZES = (5_000, 12_000, 48_842)
# for the model with all interactions, whose table is laid out: 74 x 7 x 5 x 2 x 16 cells
TWO_WAY = ["age", "marital-status", "race", "sex", "education"]
MODELS: dict[str, tuple[str, list[str], dict[str, Any]]] = {
    "uniqueness": ("uniqueness", KEYS, {}),
    "log-linear, independence": ("log-linear-risk", KEYS, {"model": "independence"}),
    "log-linear, independence, negative binomial": (
        "log-linear-risk",
        KEYS,
        {"model": "independence", "distribution": "negative-binomial"},
    ),
    "log-linear, stepwise": ("log-linear-risk", KEYS, {"model": "stepwise"}),
    "log-linear, all two-way (five keys)": ("log-linear-risk", TWO_WAY, {"model": "two-way"}),
    "population uniqueness, Dankar": ("population-uniqueness", KEYS, {}),
    "population uniqueness, slide negative binomial": ("population-uniqueness", KEYS, {"estimator": "snb"}),
    "population uniqueness, copula": ("population-uniqueness", KEYS, {"estimator": "copula"}),
    "k-map": ("k-map", KEYS, {}),
    "delta-presence": ("delta-presence", KEYS, {}),
    "journalist": ("journalist-risk", KEYS, {}),
}


def seconds(data: mv.Microdata, name: str, keys: list[str], parameters: dict[str, Any]) -> float:
    """Of the processor, for one assessment of a file that is released as it is."""
    attack = mv.attack(name, population=10 * len(data), **parameters)
    start = time.process_time()
    attack.assess(data, data, keys)
    return time.process_time() - start


def main() -> None:
    adult = mv.datasets.load("adult")
    adult = adult.select([*dict.fromkeys([*KEYS, *TWO_WAY])])
    small = adult.take(np.arange(500))
    print("| model | " + " | ".join(f"{size:,} records" for size in SIZES) + " | over uniqueness |")
    print("|---|" + "---|" * (len(SIZES) + 1))
    plain = 0.0
    for label, (name, keys, parameters) in MODELS.items():
        seconds(small, name, keys, parameters)  # compiled kernels are loaded
        taken = [seconds(adult.take(np.arange(size)), name, keys, parameters) for size in SIZES]
        plain = plain or taken[-1]
        print(f"| {label} | " + " | ".join(f"{t:.2f} s" for t in taken) + f" | {taken[-1] / plain:.1f} |", flush=True)


if __name__ == "__main__":
    main()
