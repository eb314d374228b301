"""Make nodes.csv and edges.csv, the fictional social network that the examples on graphs run on: 120 persons."""

from __future__ import annotations

from pathlib import Path

import microveil as mv

if __name__ == "__main__":
    network = mv.datasets.social_network(120, seed=15, friends=6)
    mv.write(network, Path(__file__).parent, force=True)
