"""Tables of series: long and wide forms in and out, the schema that declares them, and what is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microveil as mv
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, MicroveilError, ParameterError, SchemaError
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.panel import Panel
from microveil.microdata.times import positions_of

LONG = "id=shop,time=month,value=sales"


def long_table(**changes: Any) -> dict[str, list[Any]]:
    """Three shops over four months, in a mixed order."""
    rows = [(s, f"2024-{m:02}", "north" if s == "b" else "south", 100 * i + m)
            for m in (3, 1, 4, 2) for i, s in enumerate("bca", start=1)]  # fmt: skip
    columns = dict(zip(("shop", "month", "region", "sales"), map(list, zip(*rows, strict=True)), strict=True))
    return {**columns, **changes}


def values_of(data: Microdata, name: str = "sales") -> list[list[float]]:
    (found,) = (series for series in data.series_among(data.names) if series.name == name)
    return found.values.tolist()


def test_a_long_table_becomes_one_record_for_each_series() -> None:
    panel = Microdata.of(long_table(), series=LONG)
    assert len(panel) == 3
    assert panel.names == ("shop", "region", "sales 2024-01", "sales 2024-02", "sales 2024-03", "sales 2024-04")
    assert values_of(panel) == [[101, 102, 103, 104], [201, 202, 203, 204], [301, 302, 303, 304]]
    assert panel["shop"].roles == ("series",)
    assert panel.arrow("region").to_pylist() == ["north", "south", "south"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_the_frame_that_comes_out_is_long_and_of_the_type_that_went_in(frame: Any) -> None:
    panel = Microdata.of(frame(long_table()), series=LONG)
    out = panel.native
    assert type(out) is type(frame(long_table()))
    back = Microdata.of(out).frame.to_arrow()
    assert back.column_names == ["shop", "month", "region", "sales"]
    rows = sorted(map(tuple, (row.values() for row in back.to_pylist())))
    assert rows == sorted(zip(*long_table().values(), strict=True))


def test_masking_names_the_variable_in_its_plan_and_renumbers_the_series() -> None:
    panel = Microdata.of(long_table(), series=LONG)
    release = mv.MDAV(k=3).mask(panel, seed=7)
    assert release.provenance.steps[0].attributes == ("sales",)
    assert release.provenance.attributes == panel.schema.panel.all_columns  # type: ignore[union-attr]
    assert release.guarantees.k == 3
    assert values_of(release.data) == [[201.0, 202.0, 203.0, 204.0]] * 3
    shops = release.frame["shop"].to_pylist()
    assert set(shops) == {"1", "2", "3"}
    (told,) = (note for note in release.provenance.notes if "renumbered" in note)
    assert told.startswith("shop: series renumbered at random; their records stay in the order of the original")
    kept = mv.MDAV(k=3).mask(Microdata.of(long_table(), series=f"{LONG},keep-ids"), seed=7)
    assert set(kept.frame["shop"].to_pylist()) == {"a", "b", "c"}


def test_without_attributes_the_series_are_masked_and_not_numbers_of_the_units() -> None:
    table = long_table(floor=[{"a": 1, "b": 2, "c": 3}[s] for s in long_table()["shop"]])
    panel = Microdata.of(table, series=LONG, keys=["region"])
    release = mv.MDAV(k=3).mask(panel, seed=1)
    assert release.provenance.steps[0].attributes == ("sales",)
    assert release.data.arrow("floor").to_pylist() == [2, 3, 1]


def test_the_number_of_a_series_is_never_masked() -> None:
    panel = Microdata.of(long_table(), series=LONG, numeric=None)
    with pytest.raises(SchemaError, match="'shop' is the number of the series"):
        mv.PRAM().mask(panel, ["shop"])


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav", "dta", "tsv"])
def test_a_release_of_a_file_is_long_again_and_read_back_with_its_series(ending: str, tmp_path: Path) -> None:
    source = tmp_path / f"panel.{ending}"
    mv.write(Microdata.of(long_table()), source)
    panel = mv.read(source, series=LONG)
    saved = mv.MDAV(k=3).mask(panel, seed=3).save(tmp_path / f"safe.{ending}")
    plain = mv.read(saved.table)
    assert plain.names == ("shop", "month", "region", "sales")
    assert len(plain) == 12
    back = mv.read_release(saved.table, panel)
    assert values_of(back.data) == [[201.0, 202.0, 203.0, 204.0]] * 3
    assert back.provenance.attributes == panel.schema.panel.all_columns  # type: ignore[union-attr]
    assert mv.assess(panel, back).losses


def test_a_plan_is_carried_out_on_the_next_quarter(tmp_path: Path) -> None:
    release = mv.MDAV(k=3).mask(Microdata.of(long_table(), series=LONG), seed=3)
    later = long_table(month=[f"2024-{int(month[-2:]) + 3:02}" for month in long_table()["month"]])
    plan = mv.Plan.from_plain(release.plan.to_plain())
    again = mv.protect(Microdata.of(later, plan.schema), plan)
    assert again.data.names[2:] == ("sales 2024-04", "sales 2024-05", "sales 2024-06", "sales 2024-07")
    assert again.guarantees.k == 3


def test_a_schema_file_says_which_columns_are_the_series(tmp_path: Path) -> None:
    panel = Microdata.of(long_table(), series=LONG, keys=["region", "sales"])
    assert panel.schema.keys == ("region", *panel.schema.panel.all_columns)  # type: ignore[union-attr]
    panel.schema.write(tmp_path / "shops.toml")
    read = Schema.read(tmp_path / "shops.toml")
    assert read.panel == panel.schema.panel
    assert read["sales"].roles == ("key",)
    again = Microdata.of(long_table(), read)
    assert again.schema == panel.schema
    assert values_of(again) == values_of(panel)


def test_a_wide_table_has_its_columns_as_times() -> None:
    table = {"meter": [1, 2, 3], "rooms": [2, 3, 4], "2021": [1.0, 2.0, 3.0], "2022": [2.0, 2.0, 2.0],
             "2024": [5.0, 6.0, 7.0]}  # fmt: skip
    panel = Microdata.of(table, series="wide,id=meter,value=use", confidential=["rooms"])
    (use,) = panel.series_among(panel.names)
    assert (use.name, use.columns) == ("use", ("2021", "2022", "2024"))
    assert use.positions.tolist() == [0.0, 1.0 / 1.5, 2.0]
    release = mv.MDAV(k=3).mask(panel, seed=1)
    assert release.frame.column_names == list(table)
    assert sorted(release.frame["meter"].to_pylist()) == [1, 2, 3]


def test_a_wide_table_has_several_variables_by_patterns() -> None:
    table = {"load1": [1, 2], "load2": [3, 4], "temp1": [5, 6], "temp2": [7, 8], "x": [9, 9]}
    panel = Microdata.of(table, series="wide,load=load*,temp=temp1+temp2")
    assert {s.name: s.values.tolist() for s in panel.series_among(panel.names)} == {
        "load": [[1, 3], [2, 4]],
        "temp": [[5, 7], [6, 8]],
    }
    assert panel.schema.collapsed(panel.names) == ("load", "temp", "x")
    assert panel.schema.expanded(["temp", "x"]) == ("temp1", "temp2", "x")


def test_several_variables_of_a_long_table() -> None:
    table = long_table(visits=[7] * 12)
    panel = Microdata.of(table, series=f"{LONG},value=visits")
    assert values_of(panel, "visits") == [[7.0] * 4] * 3
    assert mv.Microdata.of(panel.native).names == ("shop", "month", "region", "sales", "visits")


def test_part_of_the_times_can_be_masked() -> None:
    panel = Microdata.of(long_table(), series=LONG)
    release = mv.MDAV(k=3).mask(panel, ["sales 2024-01", "sales 2024-02"], seed=1)
    assert release.provenance.steps[0].attributes == ("sales 2024-01", "sales 2024-02")
    assert values_of(release.data)[0] == [201.0, 202.0, 103.0, 104.0]
    assert pa.types.is_floating(release.frame["sales"].type)


def test_unequal_lengths_and_gaps_are_empty_cells_and_leave_no_rows() -> None:
    table = long_table()
    kept = [i for i in range(12) if (table["shop"][i], table["month"][i]) not in {("a", "2024-04"), ("b", "2024-02")}]
    short = {name: [cells[i] for i in kept] for name, cells in table.items()}
    panel = Microdata.of(short, series=LONG)
    assert np.isnan(values_of(panel)).tolist() == [[False, True, False, False], [False] * 4, [False] * 3 + [True]]
    assert len(panel.native) == 10
    filled = Microdata.of(short, series=f"{LONG},fill=linear")
    assert values_of(filled)[0] == [101.0, 102.0, 103.0, 104.0]
    assert np.isnan(values_of(filled)[2][3])
    (row,) = (row for row in mv.describe(panel).attributes if row["name"] == "sales")
    assert (row["kind"], row["missing"], row["looks_like"]) == ("series of 4", 2, "incomplete")


@pytest.mark.spec("04:TS-SPLIT")
def test_series_of_any_length_are_resampled_to_as_many_points() -> None:
    table = {"id": [1, 1, 1, 2, 2, 3], "t": [1, 2, 3, 1, 2, 1], "v": [0.0, 2.0, 4.0, 1.0, 2.0, 9.0]}
    panel = Microdata.of(table, series="id=id,time=t,value=v,length=5")
    assert values_of(panel, "v") == [[0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 1.25, 1.5, 1.75, 2.0], [9.0] * 5]
    out = Microdata.of(panel.native)
    assert out.arrow("t").to_pylist() == [1, 2, 3, 4, 5] * 3


def test_times_of_every_type_are_put_in_order() -> None:
    day = dt.date(2024, 1, 31)
    assert positions_of(pa.array([day, day + dt.timedelta(1), day + dt.timedelta(3)])).tolist() == [0, 1 / 1.5, 2]  # type: ignore[union-attr]
    months = pa.array([dt.date(2024, 1, 1), dt.date(2024, 2, 1), dt.date(2024, 3, 1), dt.date(2024, 5, 1)])
    assert positions_of(months).tolist() == [0, 1, 2, 4]  # type: ignore[union-attr]
    for texts, wanted in (
        (["2023-Q4", "2024-Q1", "2024-Q3"], [0, 1 / 1.5, 2]),
        (["2020-W52", "2020-W53", "2021-W01"], [0, 1, 2]),
        (["08:15", "08:30", "08:00"], [1, 2, 0]),
        (["9", "10", "11"], [0, 1, 2]),
        (["jan", "mar", "feb"], [0, 2, 1]),
        (["2024-01-31 08:00", "2024-01-31 09:00", "2024-01-31 10:00"], [0, 1, 2]),
        (["2024-10-27T02:30+02:00", "2024-10-27T02:30+01:00", "2024-10-27T03:30+01:00"], [0, 1, 2]),
    ):
        assert positions_of(pa.array(texts)).tolist() == pytest.approx(wanted), texts  # type: ignore[union-attr]
    for texts in (["red", "green"], ["2024-02-30", "2024-02-28"], ["2024-01-01T00:00Z", "2024-01-01T00:00"]):
        assert positions_of(pa.array(texts)) is None, texts


def test_times_with_a_zone_are_instants() -> None:
    zoned = pa.array(
        [dt.datetime(2024, 10, 27, h, tzinfo=dt.UTC) for h in (0, 1, 2)], pa.timestamp("us", "Europe/Paris")
    )
    panel = Microdata.of(pa.table({"id": [1, 1, 1], "t": zoned, "v": [1, 2, 3]}), series="id=id,time=t,value=v")
    assert values_of(panel, "v") == [[1.0, 2.0, 3.0]]
    assert panel.native["t"].type == zoned.type


@pytest.mark.parametrize(
    ("changes", "how", "says"),
    [
        ({}, "id=shop,time=month,value=sale", "sale"),
        ({}, "id=shop,time=month", "needs a column of values"),
        ({}, "id=shop,value=sales", "the time of a long table"),
        ({}, "id=shop,time=shop,value=sales", "different columns"),
        ({}, "id=shop,time=month,valeu=sales", "did you mean 'value'"),
        ({}, "shop", "--series takes"),
        ({}, f"{LONG},length=0", "length = 0"),
        ({}, f"{LONG},length=many", "whole number"),
        ({}, f"{LONG},fill=spline", "fill is"),
        ({"month": ["2024-01"] * 12}, LONG, "9 rows repeat a time of the same series"),
        ({"month": ["red", "green", "blue"] * 4}, LONG, "no order that is known"),
        ({"month": [None, *["2024-01"] * 11]}, LONG, "is empty in 1 rows"),
        ({"shop": [None, *"abcabcabcab"]}, LONG, "is empty in 1 rows"),
        ({"region": [str(i) for i in range(12)]}, LONG, "'region' changes within 3 series"),
        ({"sales": ["a"] * 12}, LONG, "must be numbers"),
    ],
)
def test_what_is_no_table_of_series_is_refused_in_a_sentence(changes: dict[str, Any], how: str, says: str) -> None:
    with pytest.raises(MicroveilError, match=says) as caught:
        Microdata.of(long_table(**changes), series=how)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("wide,time=t", "a column for each time"),
        ("wide,id=meter", "meter"),
        ("wide,load=x*", "no column is a value"),
        ("wide,load=a,temp=a+b", "two variables"),
        ("wide,load=a,temp=b+c", "as many columns"),
        ("wide,load=job", "nominal"),
        ("wide,a=b", "'a' is the name of a column"),
    ],
)
def test_what_is_no_wide_table_of_series_is_refused(how: str, says: str) -> None:
    table = {"a": [1, 2], "b": [3, 4], "c": [5, 6], "job": ["x", "y"]}
    with pytest.raises(MicroveilError, match=says):
        Microdata.of(table, series=how)


def test_an_empty_table_has_no_series() -> None:
    empty = pa.table(
        {"shop": pa.array([], pa.string()), "month": pa.array([], pa.string()), "sales": pa.array([], pa.int64())}
    )
    with pytest.raises(DataError, match="no series"):
        Microdata.of(empty, series=LONG)


@pytest.mark.parametrize("plain", [{"form": "round"}, {"id": 3}, {"values": 3}, {"extra": 1}, {"length": "ten"},
                                   {"keep_ids": "yes"}, {"columns": []}, {"fill": 1}])  # fmt: skip
def test_a_wrong_entry_in_a_schema_is_refused(plain: dict[str, Any]) -> None:
    whole = {"form": "long", "id": "shop", "time": "month", "values": ["sales"], **plain}
    if "columns" in plain:
        whole = {"form": "wide", "columns": [1]}
    with pytest.raises(SchemaError):
        Panel.from_plain(whole)


def test_series_must_be_said_by_a_text_or_a_mapping() -> None:
    with pytest.raises(ParameterError, match="series takes"):
        Microdata.of(long_table(), series=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [LONG, f"{LONG},value=b,length=4,fill=linear,keep-ids", "wide", "wide,id=x,value=y",
                                  "wide,load=h*+k*,temp=t*"])  # fmt: skip
def test_a_declaration_can_be_typed_again(text: str) -> None:
    panel = Panel.of(text)
    assert Panel.of(panel.text) == panel
    assert Panel.from_plain(panel.to_plain()) == panel


def test_another_schema_than_the_table_has_is_refused() -> None:
    panel = Microdata.of(long_table(), series=LONG)
    with pytest.raises(SchemaError, match="other series"):
        panel.with_schema(Schema([], Panel.of("id=a,time=b,value=c")))


def test_a_table_that_declares_no_series_has_its_numbers_as_one() -> None:
    (found,) = Microdata.of({"a": [1, 2], "b": [3, 4], "job": ["x", "y"]}).series_among(["a", "job", "b"])
    assert (found.name, found.columns, found.values.tolist()) == ("series", ("a", "b"), [[1, 3], [2, 4]])


# --- series without values, and times that come in several forms ------------------------------------------------------

MONTHS = ["2024-01", "2024-02", "2024-03"]


def rows_of(values: Mapping[str, Sequence[float | None]], times: list[str] = MONTHS) -> dict[str, list[Any]]:
    rows = [(shop, time, value) for shop, listed in values.items() for time, value in zip(times, listed, strict=True)]
    return {"shop": [r[0] for r in rows], "month": [r[1] for r in rows], "sales": [r[2] for r in rows]}


def test_a_series_or_a_time_without_any_value_is_still_there_when_the_table_is_read_again() -> None:
    data = Microdata.of(rows_of({"a": [1, None, 3], "b": [None] * 3, "c": [4, None, 6]}), series=LONG)
    again = Microdata.of(data.native, series=LONG)
    assert (len(data), data.schema.panel.all_columns) == (3, again.schema.panel.all_columns)  # type: ignore[union-attr]
    assert len(again) == 3
    np.testing.assert_array_equal(again.matrix(again.names[1:]), data.matrix(data.names[1:]))


def test_a_release_with_a_suppressed_series_can_be_assessed(tmp_path: Path) -> None:
    shops = {f"s{i:02}": [None if i == 5 else float(10 * i + t) for t in range(3)] for i in range(12)}
    data = Microdata.of(rows_of(shops), series=LONG)
    release = mv.method("mdav", k=3).mask(data, ["sales"], seed=1)
    saved = release.save(tmp_path / "safe.csv")
    read = mv.read_release(saved.table, original=data)
    assert len(read) == 12
    assert mv.assess(data, read).headline is not None


def test_a_release_in_which_no_value_would_be_left_is_refused() -> None:
    """No two of these series have a time in common."""
    times = [f"2024-01-{day:02}" for day in range(1, 25)]
    cells = {f"s{i}": [float(i) if day // 4 == i else None for day in range(24)] for i in range(6)}
    data = Microdata.of(rows_of(cells, times), series=LONG)
    with pytest.raises(DataError, match=r"every value of the series 'sales'.*length=N"):
        mv.method("mdav", k=3).mask(data, ["sales"], seed=1)


def test_missing_cells_of_series_are_no_wildcards_unless_that_is_said() -> None:
    """At which times a series has values is there for everyone to see."""
    times = [f"t{i}" for i in range(1, 7)]
    cells = {f"s{i}": [None if t == i else 1.0 for t in range(6)] for i in range(6)}
    data = Microdata.of(rows_of(cells, times), series=LONG, keys=["sales"])
    release = mv.method("series-noise", size=1e-9, level=0).mask(data, ["sales"], seed=1)
    assert release.guarantees.k == 1
    said = Schema([Attribute(name="sales", kind="numeric", missing="wildcard", roles=("key",))])
    anything = Microdata.of(rows_of(cells, times), said, series=LONG)
    assert {anything[name].missing for name in anything.schema.panel.all_columns} == {"wildcard"}  # type: ignore[union-attr]


def test_who_knows_a_series_at_some_times_knows_it_at_all() -> None:
    rng = np.random.default_rng(3)
    cells = {f"s{i}": rng.normal(100, 30, 3).round(3).tolist() for i in range(30)}
    data = Microdata.of(rows_of(cells), series=LONG)
    changed = data.with_columns({"sales 2024-02": pa.array(rng.normal(100, 30, 30))})
    found = Pair.of(data, changed)
    assert found.knowledge.named == ("sales",)
    assert found.attributes == data.schema.panel.all_columns  # type: ignore[union-attr]
    release = mv.method("mdav", k=5).mask(data, ["sales 2024-02"], seed=1)
    assert release.guarantees.k == 1
    assert Pair.of(data, release).knowledge.named == ("sales",)


def test_the_same_instant_in_two_zones_is_one_time() -> None:
    rows = [("a", "2024-05-01T12:00:00+02:00", 1.0), ("a", "2024-05-01T13:00:00+02:00", 2.0)]
    rows += [("b", "2024-05-01T10:00:00Z", 3.0), ("b", "2024-05-01T11:00:00Z", 4.0)]
    table = {name: [row[i] for row in rows] for i, name in enumerate(("shop", "month", "sales"))}
    data = Microdata.of(table, series=LONG)
    assert data.matrix(data.names[1:]).tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (["2024-05-01T12:00:00Z", "2024-05-01T13:00:00"], "have a time zone in 1 of 2 distinct times only"),
        (["2024-05-01", "soon"], "cannot be read in one way: 1 of 2 distinct ones are no time stamps"),
        (["soon", "later"], "have no order that is known"),
    ],
)
def test_times_that_cannot_be_read_are_refused_with_the_reason(times: list[str], told: str) -> None:
    with pytest.raises(DataError, match=f"the times in column 'month' {told}"):
        Microdata.of(rows_of({"a": [1.0, 2.0]}, times), series=LONG)


def test_periods_of_pandas_are_times() -> None:
    frame = pd.DataFrame(rows_of({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}))
    frame["month"] = pd.PeriodIndex(frame["month"], freq="M")
    data = Microdata.of(frame, series=LONG)
    assert data.names == ("shop", *(f"sales {month}" for month in MONTHS))


def test_a_text_among_the_values_is_counted() -> None:
    table = rows_of({"a": [1.0, 2.0, 3.0]})
    table["sales"] = ["1", "2", "none"]
    with pytest.raises(DataError, match="column 'sales' has 1 that is none"):
        Microdata.of(table, series=LONG)


def test_a_frame_beside_a_table_of_series_is_read_as_such() -> None:
    rng = np.random.default_rng(3)
    cells = {f"s{i}": rng.normal(100, 30, 3).tolist() for i in range(10)}
    table = rows_of(cells)
    data = Microdata.of(table, series=LONG)
    release = mv.method("mdav", k=2).mask(data, ["sales"], seed=1)
    assert Pair.of(data, release.frame).attributes == Pair.of(data, release).attributes
    assert Pair.of(table, release).attributes == Pair.of(data, release).attributes
    whole = mv.assess(data, release.data).to_plain()
    assert mv.assess(data, release.frame).to_plain() == mv.assess(table, release.data).to_plain() == whole
