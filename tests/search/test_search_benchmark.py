"""The benchmark of searches adds up over sessions: what is finished is kept, and not run again."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("search_benchmark", ROOT / "benchmarks" / "search.py")
assert SPEC is not None
assert SPEC.loader is not None
bench: Any = importlib.util.module_from_spec(SPEC)


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    import sys

    assert SPEC is not None
    assert SPEC.loader is not None
    sys.modules["search_benchmark"] = bench
    SPEC.loader.exec_module(bench)
    bench.SAMPLERS.pop(bench.GRID)


def test_finished_cells_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    assert bench.kept(bench.Cell, path) == []
    cells = [bench.Cell("census", "random", 600, seed, 600, 79.1234 + seed, 10.5, 20.25, "abc+") for seed in (1, 2)]
    for cell in cells:
        bench.keep(cell, path)
    assert bench.kept(bench.Cell, path) == cells
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3


def test_one_seed_of_every_file_comes_before_the_next_seed() -> None:
    listed = list(bench.wanted("", ["sms-emoa", "grid"], 2))
    assert [cell[3] for cell in listed] == [1] * 6 + [2] * 6
    assert [cell[0] for cell in listed[:6:2]] == ["census", "german_credit", "adult"]
    assert {cell[2] for cell in listed if cell[:2] == ("census", "grid")} == {bench.PIPELINES["census"][1]}


def test_the_search_is_compared_seed_by_seed(capsys: pytest.CaptureFixture[str]) -> None:
    own = bench.Cell("census", "sms-emoa", 600, 1, 600, 80.5, 1.0, 1.0, "abc")
    cells = [own, replace(own, seed=2, hypervolume=81.5)]
    cells += [replace(cell, sampler="random", hypervolume=cell.hypervolume - 1) for cell in cells]
    cells.append(replace(own, sampler="grid", pipelines=124, hypervolume=79.0))
    bench.print_table(cells)
    line = capsys.readouterr().out.splitlines()[-1]
    told = "| census | 600 | 2 | 81.00 ± 6.35 | 80.00 ± 6.35 | 1.00 ± 0.00 | 79.00 (one seed) | 1.50 (one seed) |"
    assert line == told
