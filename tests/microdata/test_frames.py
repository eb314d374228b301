"""Frames of every library hold after masking what the Arrow columns hold, in their former type where it fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from microveil.errors import DataError
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.coarsening.recode import Recode
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata
from microveil.microdata.frames import arrow_column, open_frame, with_arrow_columns
from microveil.scoring import assess

TOWNS = ["Graz", "Linz", "Graz", "Wels"]
BEFORE: dict[str, Any] = {
    "pandas category": pd.Series(pd.Categorical(TOWNS)),
    "pandas ordered": pd.Series(pd.Categorical(TOWNS, ordered=True)),
    "pandas numbered category": pd.Series(pd.Categorical([1, 2, 1, 3])),
    "pandas bool": pd.Series([True, False, True, False]),
    "pandas boolean": pd.Series([True, False, None, False], dtype="boolean"),
    "pandas whole": pd.Series([1, 2, 3, 4]),
    "pandas text": pd.Series(TOWNS),
    "pandas object": pd.Series(TOWNS, dtype=object),
    "pandas day": pd.to_datetime(pd.Series(["2024-01-01"] * 4)),
    "polars category": pl.Series(TOWNS, dtype=pl.Categorical),
    "polars enum": pl.Series(TOWNS, dtype=pl.Enum(["Graz", "Linz", "Wels"])),
    "polars bool": pl.Series([True, False, True, False]),
    "polars whole": pl.Series([1, 2, 3, 4], dtype=pl.Int8),
    "polars day": pl.Series(["2024-01-01"] * 4).str.to_date(),
    "arrow category": pa.array(TOWNS).dictionary_encode(),
    "arrow numbered category": pa.array([1, 2, 1, 3]).dictionary_encode(),
    "arrow bool": pa.array([True, False, True, False]),
    "arrow whole": pa.array([1, 2, 3, 4], pa.int8()),
}
AFTER: dict[str, pa.Array] = {
    "labels": pa.array(["Linz, Wels", "Graz", None, "2024-01"]),
    "old categories": pa.array(["Wels", "Graz", None, "Linz"]),
    "digits": pa.array(["1", "2", None, "3"]),
    "truth values": pa.array([True, None, False, False]),
    "numbers": pa.array([1.5, 2.0, None, -3.0]),
    "whole numbers": pa.array([3, 2, 1, 1]),
}


def table_of(column: Any) -> Any:
    if isinstance(column, pd.Series):
        return pd.DataFrame({"x": column})
    return pl.DataFrame({"x": column}) if isinstance(column, pl.Series) else pa.table({"x": column})


@pytest.mark.parametrize("after", AFTER.values(), ids=AFTER)
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_a_frame_holds_the_cells_of_its_new_column(before: Any, after: pa.Array) -> None:
    frame = with_arrow_columns(open_frame(table_of(before)), {"x": after})
    assert arrow_column(frame, "x").to_pylist() == after.to_pylist()


TYPED = {name: column for name, column in BEFORE.items() if name != "arrow numbered category"}


@pytest.mark.parametrize("before", TYPED.values(), ids=TYPED)
def test_values_that_fit_keep_the_type_of_the_column(before: Any) -> None:
    frame = open_frame(table_of(before))
    again = with_arrow_columns(frame, {"x": arrow_column(frame, "x").take(pa.array([1, 0, 3, 2]))})
    assert again["x"].dtype == frame["x"].dtype
    if isinstance(before, pd.Series):
        assert again.to_native()["x"].dtype == before.dtype


MAKERS: list[Callable[[list[Any]], Any]] = [
    lambda cells: pd.DataFrame({"x": pd.Categorical(cells)}),
    lambda cells: pl.DataFrame({"x": pl.Series(cells, dtype=pl.Enum(sorted(set(cells))))}),
    lambda cells: pa.table({"x": pa.array(cells).dictionary_encode()}),
]


@pytest.mark.parametrize("make", MAKERS, ids=["pandas", "polars", "arrow"])
def test_labels_of_categories_are_released_by_every_library(make: Callable[[list[Any]], Any]) -> None:
    data = Microdata.of(make(["a", "a", "b", "c"]), keys=["x"])
    released = Recode(by="rare", publish="label").mask(data).data
    assert released.arrow("x").to_pylist() == ["a", "a", "b, c", "b, c"]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_sets_of_truth_values_are_released_by_every_library(library: Callable[[dict[str, Any]], Any]) -> None:
    data = Microdata.of(library({"x": [True, False, True, False]}), keys=["x"])
    released = Mondrian(k=4, publish="set").mask(data).data
    assert len(set(released.arrow("x").to_pylist())) == 1
    assert "True" in released.arrow("x").to_pylist()[0]
    assert "False" in released.arrow("x").to_pylist()[0]


@pytest.mark.parametrize("cells", [[[1, i] for i in range(12)], [{"a": i} for i in range(12)]], ids=["lists", "dicts"])
def test_a_column_that_cannot_be_compared_is_left_alone_by_an_assessment(cells: list[Any]) -> None:
    frame = pd.DataFrame({"x": range(12), "other": cells})
    release = MDAV(k=3).mask(frame, seed=10**9)
    assert release.frame["other"].tolist() == cells
    plain = assess(frame[["x"]], MDAV(k=3).mask(frame[["x"]], seed=10**9))
    assert assess(frame, release).to_plain() == plain.to_plain()
    assert assess(frame, release.frame).attributes == ("x",)
    with pytest.raises(DataError, match="columns of lists, records or the like cannot be used as categories"):
        assess(frame, release, known=["other"])
