"""Writes firms.csv and activity.csv: fictional enterprises with their activity, size and turnover.

    python docs/examples/make_firms.py

A few activities have a single or a dominating enterprise, as real ones do. No enterprise of the world is in it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ACTIVITIES = {
    "food": ("bakery", "dairy", "brewery"),
    "metal": ("foundry", "tools", "shipyard"),
    "trade": ("retail", "wholesale"),
}
SIZES = ("small", "medium", "large")


def main() -> None:
    draw = np.random.default_rng(2071)
    leaves = [leaf for group in ACTIVITIES.values() for leaf in group]
    often = np.array([9, 4, 2, 3, 6, 1, 12, 5], dtype=float)
    rows = []
    for number in range(260):
        activity = leaves[draw.choice(len(leaves), p=often / often.sum())]
        size = SIZES[draw.choice(3, p=[0.65, 0.27, 0.08])]
        turnover = draw.lognormal(5 + 1.5 * SIZES.index(size), 0.9)
        holding = f"h{draw.integers(1, 200)}"
        rows.append(f"e{number + 1},{activity},{size},{draw.choice(['north', 'south'])},{holding},{turnover:.1f}")
    lines = ["enterprise,activity,size,region,holding,turnover", *rows]
    (HERE / "firms.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tree = [f"{group},{leaf}" for group, some in ACTIVITIES.items() for leaf in some]
    (HERE / "activity.csv").write_text("\n".join(["sector,activity", *tree]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
