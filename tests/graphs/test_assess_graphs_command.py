"""`microveil assess nodes.csv FOLDER --graph edges.csv`: graphs on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from microveil.microdata import Microdata

from .example import rewired, social


def written(data: Microdata, folder: Path, columns: list[str]) -> None:
    """A graph as two files."""
    assert data.edges is not None
    folder.mkdir()
    cells = [data.arrow(name).to_pylist() for name in columns]
    rows = [",".join(map(str, row)) for row in zip(*cells, strict=True)]
    (folder / "nodes.csv").write_text("\n".join([",".join(columns), *rows, ""]), encoding="utf-8")
    ids = data.arrow("id").to_pylist()
    ends = zip(data.edges.source.tolist(), data.edges.target.tolist(), strict=True)
    links = [f"{ids[one]},{ids[other]}" for one, other in ends]
    (folder / "edges.csv").write_text("\n".join(["source,target", *links, ""]), encoding="utf-8")


@pytest.mark.parametrize("columns", [["id", "job", "age"], ["id"]])
def test_a_graph_in_a_folder_is_assessed(run: Callable[..., Any], tmp_path: Path, columns: list[str]) -> None:
    data = social(1, 50)
    written(data, tmp_path / "original", columns)
    written(rewired(data, 0.2), tmp_path / "masked", columns)
    told = run(
        "assess", "original/nodes.csv", "masked", "--graph", "original/edges.csv", "--attacks", "all", "--explain"
    )
    assert told.status == 0, told.stderr
    assert "degree-linkage (knows=neighbour-degrees)" in told.stdout
    assert "seed-expansion" in told.stdout
    assert "structure" in told.stdout
    assert ("aamil" in told.stdout) == (len(columns) > 1)
    assert "failed" not in told.stdout
