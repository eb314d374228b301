"""Tables in, numpy columns out, and back."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from microveil.errors import DataError, MicroveilError, SchemaError
from microveil.microdata import Categories, Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.microdata.description import describe, describe_attributes, with_domains


def test_kinds_are_guessed_from_the_column_types() -> None:
    frame = pl.DataFrame(
        {
            "n": [1, 2], "x": [1.5, 2.0], "t": ["a", "b"], "flag": [True, False],
            "day": [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)],
            "level": pl.Series(["low", "high"], dtype=pl.Enum(["low", "high"])),
        }
    )  # fmt: skip
    data = Microdata.of(frame)
    assert [a.kind for a in data.schema] == ["numeric", "numeric", "nominal", "nominal", "numeric", "ordinal"]
    assert data.domain("level") == ("low", "high")
    assert Microdata.of(frame, nominal=["day"]).domain("day") == ("2024-01-01", "2024-01-02")


def test_a_guess_can_be_overridden_and_a_partial_schema_completed() -> None:
    data = Microdata.of({"code": [1, 2, 1], "x": [1.0, 2.0, 3.0]}, nominal=["code"])
    assert data["code"].kind == "nominal"
    again = Microdata.of({"code": [1, 2, 1], "x": [1.0, 2.0, 3.0]}, data.schema.select(["code"]))
    assert [a.kind for a in again.schema] == ["nominal", "numeric"]


def test_a_schema_for_a_column_that_is_not_there_is_refused() -> None:
    schema = Microdata.of({"income": [1]}).schema
    with pytest.raises(
        SchemaError, match="describes 'income', but the table has no such column; did you mean 'incomes'"
    ):
        Microdata.of({"incomes": [1]}, schema)


def test_columns_with_the_same_name_are_refused() -> None:
    with pytest.raises(DataError, match=r"two columns \(number 1 and 2\) are named 'a'"):
        Microdata.of(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match=r"two columns \(number 1 and 2\) are named 'a'"):
        Microdata.of(pa.table([[1], [2]], names=["a", "a"]))


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (pd.DataFrame([[1, 2]]), "column names must be text"),
        ({"": [1]}, "column 1 has no name"),
        ([1, 2, 3], "not list"),
        ("people.csv", "not str"),
        (np.zeros((2, 2)), "not ndarray"),
        ({"a": [1], "b": [1, 2]}, "do not make a table"),
        (pl.DataFrame({"a": [1]}).lazy(), "not LazyFrame"),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(table: object, says: str) -> None:
    with pytest.raises(DataError, match=says) as refusal:
        Microdata.of(table)
    assert "\n" not in str(refusal.value)


def test_a_column_of_several_types_is_refused_by_name() -> None:
    data = Microdata.of(pd.DataFrame({"x": [1, "two", 3.0]}, dtype=object))
    with pytest.raises(DataError, match="column 'x' holds values of several types"):
        data.categories("x")


def test_numbers_know_why_they_are_missing() -> None:
    data = Microdata.of({"x": pa.array([1.0, None, float("nan"), -9.0, 95.0])})
    data = data.with_schema(
        data.schema.replacing(data["x"].changed(missing_codes=(-9,), missing_ranges=((90.0, 99.0),)))
    )
    column = data.numbers("x")
    assert column.state.tolist() == [0, 1, 1, 2, 3]
    assert np.isnan(column.values[1:]).all()


@pytest.mark.parametrize(
    "table",
    [pd.DataFrame({"x": [1.0, np.nan]}), pl.DataFrame({"x": [1.0, None]}), pl.DataFrame({"x": [1.0, float("nan")]})],
)
def test_nan_and_null_are_the_same_missing(table: object) -> None:
    assert Microdata.of(table).numbers("x").state.tolist() == [0, 1]


def test_text_in_a_numeric_attribute_is_refused() -> None:
    data = Microdata.of({"x": ["1", "2"]}, numeric=["x"])
    with pytest.raises(DataError, match="'x' should be numeric, but its column holds text"):
        data.numbers("x")


def test_values_outside_the_range_or_domain_are_refused_with_the_record_but_not_the_value() -> None:
    data = Microdata.of({"age": [20, 30, 176], "sex": ["f", "m", "quux"]})
    schema = data.schema.replacing(data["age"].changed(range=(0, 120)), data["sex"].changed(domain=("f", "m")))
    data = data.with_schema(schema)
    for read, name in ((data.numbers, "age"), (data.categories, "sex")):
        with pytest.raises(DataError, match=r"\(the first in record 3\)") as refusal:
            read(name)
        assert "176" not in str(refusal.value)
        assert "quux" not in str(refusal.value)


def test_whole_numbers_too_long_for_exact_arithmetic_are_refused() -> None:
    with pytest.raises(DataError, match="beyond 2\\^53"):
        Microdata.of({"id": [2**60, 2**60 + 1]}).numbers("id")


def test_categories_of_numbers_and_ranges_of_missing_codes() -> None:
    data = Microdata.of({"v": [1, 2, 97, 98, None, 1]}, nominal=["v"])
    data = data.with_schema(
        data.schema.replacing(data["v"].changed(missing_ranges=((97.0, 99.0),), missing="wildcard"))
    )
    assert data.domain("v") == (1, 2)
    assert data.categories("v").codes.tolist() == [0, 1, -1, -1, -1, 0]
    assert data.missing_states("v").tolist() == [0, 0, 2, 2, 1, 0]


def test_missing_as_a_category_comes_last_in_the_domain() -> None:
    data = Microdata.of({"v": ["b", None, "REF", "a"]})
    data = data.with_schema(data.schema.replacing(data["v"].changed(missing_codes=("REF",))))
    assert data.domain("v") == ("a", "b", "REF", None)
    assert data.categories("v").codes.tolist() == [1, 3, 2, 0]
    assert data.missing_states("v").tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("series", "masked"),
    [
        (pd.Series(["a", "b"], dtype="category"), ["b", "a"]),
        (pd.Series(["a", "b"], dtype="string"), ["b", "a"]),
        (pd.Series(["a", "b"], dtype=object), ["b", "a"]),
        (pd.Series([1, 2], dtype="Int64"), [2, 1]),
        (pd.Series([True, False], dtype="boolean"), [False, True]),
    ],
)
def test_pandas_types_come_back(series: pd.Series, masked: list[object]) -> None:
    frame = pd.DataFrame({"x": series})
    data = Microdata.of(frame, nominal=["x"])
    column = data.categories("x")
    swapped = data.category_column(Categories("x", 1 - column.codes, column.domain))
    result = data.with_columns({"x": swapped}).native
    assert result["x"].dtype == frame["x"].dtype
    assert result["x"].tolist() == masked


def test_polars_categories_and_dates_come_back() -> None:
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]
    frame = pl.DataFrame({"c": pl.Series(["a", "b"], dtype=pl.Categorical), "day": days})
    data = Microdata.of(frame, nominal=["day"])
    for name in ("c", "day"):
        column = data.categories(name)
        swapped = data.category_column(Categories(name, 1 - column.codes, column.domain))
        data = data.with_columns({name: swapped})
    assert data.native.schema == frame.schema
    assert data.native["day"].to_list() == days[::-1]


def test_the_digest_depends_on_names_and_cells_alone() -> None:
    columns = {"x": [1, 2, None], "t": ["a", None, "ü"]}
    digests = {
        Microdata.of(pd.DataFrame(columns)).digest(),
        Microdata.of(pl.DataFrame(columns)).digest(),
        Microdata.of(pa.table(columns)).digest(),
        Microdata.of(pa.concat_tables([pa.table(columns).slice(0, 1), pa.table(columns).slice(1)])).digest(),
    }
    assert len(digests) == 1
    others = [{**columns, "x": [1, 2, 3]}, {**columns, "t": ["a", "", "ü"]}, {"y": columns["x"], "t": columns["t"]}]
    assert digests.isdisjoint(Microdata.of(other).digest() for other in others)


def test_the_digest_of_a_table_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Microdata.of({"x": [1, 2]})
    first = data.digest()
    monkeypatch.setattr("microveil.microdata.microdata._canonical", None)
    assert data.digest() == first


def test_the_digest_tells_long_whole_numbers_apart() -> None:
    assert Microdata.of({"x": [2**60]}).digest() != Microdata.of({"x": [2**60 + 1]}).digest()


def test_texts_cannot_run_into_each_other_in_the_digest() -> None:
    assert Microdata.of({"x": ["ab", "c"]}).digest() != Microdata.of({"x": ["a", "bc"]}).digest()


def test_a_description_counts_missing_and_shows_no_values() -> None:
    data = survey(500, seed=3)
    rows = {row["name"]: row for row in describe_attributes(data)}
    assert rows["income"]["missing_codes"] > 0
    assert rows["education"]["missing"] == int(data.missing_states("education").astype(bool).sum())
    assert rows["age"]["mean"] == pytest.approx(data.numbers("age").values.mean())
    assert "min" not in rows["age"]


def test_domains_found_in_the_data_can_be_declared() -> None:
    data = Microdata.of({"v": ["b", "a", None], "x": [1, 2, 3]})
    schema = with_domains(data)
    assert schema["v"].domain == ("a", "b")
    assert schema["x"].domain is None


def test_an_attribute_without_a_key_among_roles_asks_for_one() -> None:
    data = Microdata.of({"x": [1, 2], "w": [1.0, 2.0]}, weight="w")
    from microveil.masking.randomising.noise import Noise

    with pytest.raises(MicroveilError, match="none is a key"):
        Noise().mask(data)


def test_what_is_done_to_the_native_frame_does_not_reach_back() -> None:
    data = Microdata.of(pd.DataFrame({"x": [1.0, 2.0]}))
    native = data.native
    native["x"] = 0.0
    native.loc[:, "x"] = 9.0
    assert data.numbers("x").values.tolist() == [1.0, 2.0]
    from microveil.masking.randomising.noise import Noise

    frame = Noise().mask(data, seed=1).frame
    frame.loc[:, "x"] = 9.0  # the caller's own frame can be written to
    assert frame["x"].tolist() == [9.0, 9.0]


def test_a_schema_does_not_change() -> None:
    schema = Microdata.of({"x": [1]}).schema
    with pytest.raises(AttributeError, match="make another"):
        schema.attributes = ()


def test_columns_no_method_touches_may_hold_anything() -> None:
    from microveil.masking.randomising.noise import Noise

    table = pa.table({"x": [1.0, 2.0], "list": [[1], [2, 3]], "record": [{"a": 1}, {"a": 2}], "raw": [b"1", b"\xff"]})
    release = Noise().mask(Microdata.of(table), ["x"], seed=1)
    assert release.frame["list"].to_pylist() == [[1], [2, 3]]
    intervals = pd.DataFrame({"x": [1.0, 2.0], "cut": pd.cut([1.0, 2.0], 2)})
    assert len(Noise().mask(Microdata.of(intervals), ["x"], seed=1)) == 2


def test_a_refused_mapping_does_not_show_its_cells() -> None:
    with pytest.raises(DataError, match="'a' must hold numbers only or texts only") as refusal:
        Microdata.of({"a": [1, "SECRET-7"]})
    assert "SECRET" not in str(refusal.value)


def test_numbers_too_large_to_square_are_refused() -> None:
    with pytest.raises(DataError, match="beyond 1e150"):
        Microdata.of({"x": [1.0, 1e200]}).numbers("x")


def test_a_table_is_described_as_text_and_in_a_notebook() -> None:
    table = {"age": [20, 22, 41, 43], "job": ["<cook>", "cook", "judge", None]}
    found = describe(Microdata.of(table, keys=["age"], confidential=["job"]))
    assert found.records == 4
    assert found.rows()[0] == ("age", "numeric", "key", "4", "0", "31.5", "10.55", "")
    assert str(found).splitlines()[0] == "4 records, 2 attributes"
    assert "<td>age</td>" in found._repr_html_()
    assert found.to_plain()["attributes"][1]["missing"] == 1
    assert found.schema["job"].domain == ("<cook>", "cook", "judge")
    assert repr(found) == "Description(4 records, 2 attributes)"


def test_hints_of_a_description_stand_below_it() -> None:
    found = describe({"email": [f"p{i}@example.org" for i in range(20)]})
    assert len(found.hints()) == 1
    assert found.hints()[0].startswith("email: ")
    assert "email: " in str(found)


def test_what_is_done_to_a_column_that_was_read_does_not_reach_back() -> None:
    table = Microdata.of({"age": [20.0, 30.0], "town": ["a", "b"]})
    for _ in range(2):
        table.numbers("age").values[:] = 0.0
        table.numbers("age").state[:] = 1
        table.categories("town").codes[:] = 0
        table.missing_states("town")[:] = 1
    assert table.numbers("age").values.tolist() == [20.0, 30.0]
    assert table.numbers("age").state.tolist() == [0, 0]
    assert table.categories("town").codes.tolist() == [0, 1]
    assert table.missing_states("town").tolist() == [0, 0]
    assert table.categories("town", ("b", "a")).codes.tolist() == [1, 0]


def test_columns_of_long_tables_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microveil.microdata.microdata._KEPT_RECORDS", 1)
    table = Microdata.of({"age": [20.0, 30.0]})
    assert table.numbers("age").values.tolist() == [20.0, 30.0]
    assert table._read == {}
