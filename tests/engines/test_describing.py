"""What an engine guesses of a table is what is guessed of it in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microveil as mv

LEVELS = ["low", "medium", "high", "never"]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.usefixtures("small_parts")
def test_the_order_of_categories_in_a_file_is_the_one_in_memory(ordered: bool, tmp_path: Path) -> None:
    codes = pa.array(np.array([2, 1, 0] * 500, dtype=np.int8))
    level = pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS), ordered=ordered)
    size = pa.DictionaryArray.from_arrays(codes, pa.array([30, 10, 20]), ordered=ordered)
    file = tmp_path / "people.parquet"
    pq.write_table(pa.table({"level": level, "x": np.arange(1_500.0), "size": size}), file, row_group_size=400)
    people = mv.read(file, keys=["level"])
    plan = mv.Plan(
        (mv.Step("rank-swapping", {"p": 20}, ("level",)),) if ordered else (mv.Step("pram", {}, ("level",)),), 5
    )
    with mv.open(file, "duckdb", keys=["level"]) as large:
        assert large.schema == people.schema
        large.protect(plan, tmp_path / "out")
        assert mv.open(file, "duckdb", people.schema.with_kinds(nominal=["level"])).schema["level"].kind == "nominal"
    expected = mv.protect(people, plan).data.arrow("level").to_pylist()
    assert pq.read_table(tmp_path / "out")["level"].to_pylist() == expected


def test_the_categories_of_several_files_come_one_after_the_other(tmp_path: Path) -> None:
    for number, levels in enumerate((["low", "high"], ["low", "high", "highest"])):
        codes = pa.array(np.arange(len(levels), dtype=np.int8))
        cells = pa.DictionaryArray.from_arrays(codes, pa.array(levels), ordered=True)
        pq.write_table(pa.table({"level": cells}), tmp_path / f"{number}.parquet")
    with mv.open(tmp_path, "duckdb") as large:
        assert large.schema["level"].domain == ("low", "high", "highest")
