"""Cells that `suppress` empties beside the bound that no suppression falls below: keys of the sample survey.

Run: python benchmarks/suppress_bounds.py [records ...]. Seconds are those of the processor, without and with the bound.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from microveil.masking.coarsening.suppress import Suppress
from microveil.masking.notes import FEWEST_CELLS, LEAST_COST_OF_CELLS
from microveil.microdata import Microdata, datasets
from microveil.progress import silent
from microveil.randomness import Streams

KEYS = ("region", "sex", "education", "occupation")
IMPORTANCE = (3.0, 1.0, 2.0, 1.0)
MEANINGS: dict[str, dict[str, Any]] = {
    "wildcard": {"suppressed": "wildcard"},
    "wildcard, importance": {"suppressed": "wildcard", "importance": IMPORTANCE},
    "own category": {"suppressed": "own category"},
    "counted in the original": {"suppressed": "wildcard", "count": "original"},
}


def main() -> None:
    print("| records | k | an empty cell is | cost | bound | gap | seconds | with the bound |")
    print("|---|---|---|---|---|---|---|---|")
    for records in map(int, sys.argv[1:] or ("300", "1000", "5000")):
        data = datasets.survey(records, seed=1)
        for k in (2, 3, 5, 10):
            for meaning, settings in MEANINGS.items():
                without, _ = timed(Suppress(k=k, bound="none", **settings), data)
                taken, notes = timed(Suppress(k=k, **settings), data)
                told = next((note.values for note in notes if note.kind in (FEWEST_CELLS, LEAST_COST_OF_CELLS)), None)
                cells = ("none", "", "") if told is None else (told["cost"], told["bound"], f"{told['gap']} %")
                print("|", *(f"{cell} |" for cell in (records, k, meaning, *cells, f"{without:.2f}", f"{taken:.2f}")))


def timed(method: Suppress, data: Microdata) -> tuple[float, Any]:
    began = time.process_time()
    notes = method._mask(data, KEYS, Streams(1), silent).notes
    return time.process_time() - began, notes


if __name__ == "__main__":
    main()
