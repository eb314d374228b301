"""Tables that several tests use: the reference database of salaries, the published tables, and small random ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microveil as mv
from microveil.microdata import datasets
from microveil.tables import Aggregated, ProtectedTable

SALARIES = {
    "sex": list("FMMFMMMFFFMF"),
    "dept": list("AAAABBBBCCCC"),
    "age": list("YYOOYOYOYOOY"),
    "salary": [31, 28, 47, 52, 35, 58, 33, 64, 29, 55, 61, 37],
}
RULES = ("frequency 3", "dominance 1 85")
CELLS = Aggregated("N_OBS", ("MAX",))


def published(name: str) -> Path:
    """A file of the published tables."""
    folder = datasets.data_folder()
    if folder is None or not (Path(folder) / "tables" / name).exists():
        pytest.skip("reference data not found: set MICROVEIL_DATA to the folder that holds it")
    return Path(folder) / "tables" / name


def turnover(*dimensions: str, **options: Any) -> ProtectedTable:
    """The turnover of enterprises by activity and SIZE or CJ, or both linked."""
    tables = [mv.read(published(f"turnover_act_{name.lower()}.csv")) for name in dimensions]
    by = [["ACTIVITY", name] for name in dimensions]
    hierarchies = {"ACTIVITY": published("activity_corr_table.csv")}
    return mv.table(tables, by, "TOT", rules=RULES, source=CELLS, hierarchies=hierarchies, **options)


def random_firms(
    seed: int, records: int = 30, categories: Sequence[int] = (3, 3), *, whole: bool = True
) -> dict[str, Any]:
    """Records with categories in some dimensions and a skewed value."""
    draw = np.random.default_rng(seed)
    values = np.ceil(draw.lognormal(2, 1, records)) if whole else draw.lognormal(2, 1, records)
    names = [[f"c{code}" for code in draw.integers(0, size, records)] for size in categories]
    return {f"d{i}": column for i, column in enumerate(names)} | {"value": values}
