"""The loss of `best` on the reference tables beside the targets and beside MDAV: 100 SSE / SST on z-scores.

Run: python studies/best_losses.py [polish]. Takes about two minutes with the default effort.
"""

from __future__ import annotations

import sys
import time

from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.best import Best
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import datasets

TARGETS = {
    "tarragona": {3: 14.55, 5: 20.10, 10: 29.80},
    "census": {3: 4.85, 5: 7.60, 10: 11.70},
}


def main() -> None:
    effort = {"polish": int(sys.argv[1])} if len(sys.argv) > 1 else {}
    print("| table | k | target | best | difference | mdav | seconds |\n|---|---|---|---|---|---|---|")
    for table, targets in TARGETS.items():
        data = datasets.load(table)
        for k, target in targets.items():
            began = time.perf_counter()
            release = Best(k=k, **effort).mask(data, seed=1)
            taken = time.perf_counter() - began
            value = SSE().measure(data, release).value
            plain = SSE().measure(data, MDAV(k=k).mask(data)).value
            verdict = "" if value <= target else " (target missed)"
            cells = (table, k, f"{target:.2f}", f"{value:.4f}", f"{value - target:+.4f}{verdict}", f"{plain:.4f}")
            print("|", *(f"{cell} |" for cell in cells), f"{taken:.1f} |", flush=True)


if __name__ == "__main__":
    main()
