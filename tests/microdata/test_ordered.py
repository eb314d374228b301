"""Decimals, dates, times and durations are masked like numbers and come back in their own type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from microveil.errors import DataError
from microveil.masking.coarsening.top_bottom_coding import TopCode
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.pram import PRAM
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.microdata import Microdata, files
from microveil.microdata.description import describe_attributes

DAYS = [dt.date(2020, 1, day) for day in (1, 2, 4)] + [dt.date(2021, 5, day) for day in (1, 2, 2)]
MONTHS = ["2020-01", "2020-02", "2020-04", "2024-01", "2024-02", "2024-03"]
LONG = [10**25, 5, 7]
NOON = [dt.datetime(2020, 1, 1 + i, 12) for i in (0, 1, 3, 20, 21, 22)]
HOURS = [dt.timedelta(hours=h) for h in (1, 2, 4, 50, 51, 52)]
TIMES = [dt.time(h, 30) for h in (1, 2, 4, 20, 21, 22)]
MONEY = [Decimal(text) for text in ("1.00", "1.50", "2.00", "9.25", "9.50", "9.60")]

COLUMNS: dict[str, Any] = {
    "pandas dates": pd.Series(DAYS, dtype=object),
    "pandas datetime64[ns]": pd.to_datetime(pd.Series(NOON)).astype("datetime64[ns]"),
    "pandas datetime64[s]": pd.to_datetime(pd.Series(NOON)).astype("datetime64[s]"),
    "pandas time zone": pd.to_datetime(pd.Series(NOON)).dt.tz_localize("UTC"),
    "pandas timedelta64[ns]": pd.to_timedelta(pd.Series(HOURS)).astype("timedelta64[ns]"),
    "pandas period": pd.Series(pd.PeriodIndex(MONTHS, freq="M")),
    "pandas decimal": pd.Series(MONEY, dtype=object),
    "pandas arrow decimal": pd.Series(MONEY, dtype=pd.ArrowDtype(pa.decimal128(8, 2))),
    "polars date": pl.Series(DAYS),
    "polars datetime": pl.Series(NOON),
    "polars duration": pl.Series(HOURS),
    "polars time": pl.Series(TIMES),
    "polars decimal": pl.Series(MONEY, dtype=pl.Decimal(8, 2)),
    "arrow date32": pa.array(DAYS, pa.date32()),
    "arrow date64": pa.array(DAYS, pa.date64()),
    "arrow timestamp[ms]": pa.array(NOON, pa.timestamp("ms")),
    "arrow time32": pa.array(TIMES, pa.time32("s")),
    "arrow time64": pa.array(TIMES, pa.time64("ns")),
    "arrow duration": pa.array(HOURS, pa.duration("us")),
    "arrow decimal256": pa.array(MONEY, pa.decimal256(50, 2)),
}  # fmt: skip
EXPECTED = {
    "date": [dt.date(2020, 1, 2)] * 3 + [dt.date(2021, 5, 2)] * 3,
    "stamp": [dt.datetime(2020, 1, 2, 20)] * 3 + [dt.datetime(2020, 1, 22, 12)] * 3,
    "duration": [dt.timedelta(hours=2)] * 3 + [dt.timedelta(hours=51)] * 3,
    "time": [dt.time(2, 50)] * 3 + [dt.time(21, 30)] * 3,
    "decimal": [Decimal("1.50")] * 3 + [Decimal("9.45")] * 3,
}


def table_of(column: Any) -> Any:
    if isinstance(column, pd.Series):
        return pd.DataFrame({"x": column})
    return pl.DataFrame({"x": column}) if isinstance(column, pl.Series) else pa.table({"x": column})


def type_of(frame: Any) -> Any:
    return frame.schema.field("x").type if isinstance(frame, pa.Table) else frame["x"].dtype


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_ordered_values_are_guessed_numeric_and_masked_in_their_own_type(column: Any) -> None:
    frame = table_of(column)
    data = Microdata.of(frame)
    assert data["x"].kind == "numeric"
    released = MDAV(k=3).mask(data, seed=1)
    assert type(released.frame) is type(frame)
    assert type_of(released.frame) == type_of(frame)
    assert len(set(released.data.numbers("x").values.tolist())) == 2


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(DAYS), "date"),
        (pa.array(NOON), "stamp"),
        (pa.array(HOURS), "duration"),
        (pa.array(TIMES), "time"),
        (pa.array(MONEY, pa.decimal128(8, 2)), "decimal"),
    ],
)
def test_means_are_rounded_to_the_steps_that_the_column_shows(column: pa.Array, expected: str) -> None:
    # the means of the first groups: a third of a day past the 2nd, 20:00, 2:20, 2:50, 1.50
    released = MDAV(k=3).mask(Microdata.of(pa.table({"x": column})), seed=1)
    assert released.data.arrow("x").to_pylist() == EXPECTED[expected]


def test_values_that_are_left_alone_come_back_to_the_nanosecond() -> None:
    stamps = pa.array([1_700_000_000_123_456_789 + i * 10**15 for i in range(10)], pa.timestamp("ns"))
    released = TopCode(percent=10.0).mask(Microdata.of(pa.table({"x": stamps})), seed=1)
    after = released.data.arrow("x")
    assert after.cast(pa.int64()).to_pylist()[:9] == stamps.cast(pa.int64()).to_pylist()[:9]


def test_swapped_dates_are_dates_that_were_there() -> None:
    released = RankSwapping(p=50.0).mask(Microdata.of(pl.DataFrame({"x": DAYS})), seed=3)
    assert sorted(released.frame["x"].to_list()) == sorted(DAYS)


def test_missing_dates_stay_missing() -> None:
    days = [*DAYS, None]
    released = MDAV(k=3).mask(Microdata.of(pa.table({"x": pa.array(days)})), seed=1)
    assert released.data.arrow("x").to_pylist()[-1] is None


def test_noise_never_leaves_the_days_that_a_calendar_has() -> None:
    last = pa.array([dt.date(9999, 12, 31), dt.date(1, 1, 1)] * 3)
    data = Microdata.of(pa.table({"x": last}))
    column = data.number_column("x", np.array([1e9, -1e9] * 3))
    assert column.to_pylist() == [dt.date(9999, 12, 31), dt.date(1, 1, 1)] * 3


@pytest.mark.parametrize(
    ("texts", "masked"),
    [
        ([d.isoformat() for d in DAYS], "2020-01-02"),
        ([t.isoformat(sep=" ") for t in NOON], "2020-01-02 20:00:00"),
        ([t.isoformat() for t in NOON], "2020-01-02T20:00:00"),
    ],
)
def test_dates_in_a_csv_file_are_text_until_they_are_declared_numeric(
    tmp_path: Path, texts: list[str], masked: str
) -> None:
    (tmp_path / "people.csv").write_text("x\n" + "\n".join(texts) + "\n", encoding="utf-8")
    assert files.read(tmp_path / "people.csv")["x"].kind == "nominal"
    data = files.read(tmp_path / "people.csv", numeric=["x"])
    assert MDAV(k=3).mask(data, seed=1).data.arrow("x").to_pylist()[0] == masked


def test_text_that_is_no_date_is_still_refused_as_a_number(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("x\n2024-02-30\n2024-01-01\n", encoding="utf-8")
    with pytest.raises((DataError, ValueError), match="numeric"):
        files.read(tmp_path / "people.csv", numeric=["x"]).numbers("x")


# --- what cannot be masked passes through, and is refused in words when it is asked for -------------------------

OTHERS: dict[str, Any] = {
    "pandas mixed": pd.Series([1, "a", None, 2.5, True, "b"], dtype=object),
    "pandas complex": pd.Series([1j] * 6),
    "pandas sparse": pd.Series(pd.arrays.SparseArray([0, 0, 1] * 2)),
    "pandas lists": pd.Series([[1, 2]] * 6),
    "pandas records": pd.Series([{"a": 1}] * 6),
    "polars lists": pl.Series([[1, 2]] * 6),
    "polars records": pl.Series([{"a": 1}] * 6),
    "polars objects": pl.Series([frozenset([1])] * 6, dtype=pl.Object),
    "arrow map": pa.array([[("a", 1)]] * 6, pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("column", OTHERS.values(), ids=OTHERS)
def test_other_columns_pass_through_and_are_refused_as_attributes(column: Any) -> None:
    frame = table_of(column)
    frame = frame.append_column("y", pa.array(range(6))) if isinstance(frame, pa.Table) else _with_y(frame)
    data = Microdata.of(frame)
    released = MDAV(k=3).mask(data, ["y"], seed=1)
    assert released.data.select(["x"]).digest() == data.select(["x"]).digest()
    assert [row["name"] for row in describe_attributes(data)] == ["x", "y"]
    with pytest.raises(DataError, match=r"columns? .*(cannot be used as categories|to use it, make its values)"):
        PRAM().mask(data, ["x"], seed=1)


def _with_y(frame: Any) -> Any:
    return frame.assign(y=range(6)) if isinstance(frame, pd.DataFrame) else frame.with_columns(y=pl.Series(range(6)))


def test_intervals_of_pandas_are_ordered_categories_that_come_back() -> None:
    frame = pd.DataFrame({"x": pd.cut([1, 2, 3, 4, 5, 6], 3)})
    data = Microdata.of(frame)
    assert data["x"].kind == "ordinal"
    released = PRAM(p=0.5).mask(data, ["x"], seed=1).frame
    assert released["x"].dtype == frame["x"].dtype
    assert not released["x"].isna().any()


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame({"x": [10**25, 5, 7]}, dtype=object), pl.DataFrame({"x": [10**25, 5, 7]}), {"x": [10**25, 5, 7]}],
)
def test_whole_numbers_beyond_64_bits_pass_through_and_can_be_swapped_but_not_averaged(frame: Any) -> None:
    data = Microdata.of(frame)
    assert data["x"].kind == "numeric"
    with pytest.raises(DataError, match="whole numbers beyond 2\\^53"):
        MDAV(k=3).mask(data, seed=1)
    assert data.take(np.array([2, 0, 1])).arrow("x").to_pylist() == [7, 10**25, 5]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (pd.Series([1, 2]), "not Series; a series is one column, which its to_frame\\(\\) makes a table"),
        (pl.Series([1, 2]), "not Series; a series is one column"),
        (pl.LazyFrame({"a": [1]}), "not LazyFrame; its collect\\(\\) makes the table"),
        (np.zeros((2, 2)), "not ndarray; give its columns names"),
        (5, "not int"),
        (pd.DataFrame({("a", "b"): [1]}), "column names must be text, but column 1 is named"),
        ({5: [1]}, "column names must be text, but column 1 is named 5"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns \\(number 1 and 2\\) are named 'a'"),
        ({"a": [1, "x"]}, "'a' must hold numbers only or texts only"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence_that_says_what_to_do(table: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        Microdata.of(table)


def test_types_that_only_arrow_knows_are_swapped_as_they_are() -> None:
    frame = pa.table({"x": pa.array(MONEY, pa.decimal256(50, 2))})
    released = RankSwapping(p=50.0).mask(Microdata.of(frame), seed=3).frame
    assert released.schema == frame.schema
    assert sorted(released["x"].to_pylist()) == MONEY
