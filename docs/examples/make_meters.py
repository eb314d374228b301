"""Make meters.csv, the fictional table of series that the examples on time series run on: 60 meters over 24 hours."""

from __future__ import annotations

from pathlib import Path

import microveil as mv

if __name__ == "__main__":
    panel = mv.datasets.metering(60, seed=7, step="hour", periods=1, form="long")
    mv.write(panel, Path(__file__).parent / "meters.csv", force=True)
