"""Excel workbooks and Parquet files."""

from __future__ import annotations

import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import xlsxwriter

from microveil.errors import FileError
from microveil.microdata import Microdata
from microveil.microdata.files import read, write


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    with xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return path


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(FileError) as caught:
        read(path, **options)
    return str(caught.value)


def test_a_workbook_comes_back_as_it_was(tmp_path: Path) -> None:
    columns = {"i": [1, None, 3], "x": [0.1, 2.5, None], "t": ["a", "=1+1", None], "zip": ["01234", "2", "3"]}
    data = Microdata.of(pa.table(columns))
    write(data, tmp_path / "t.xlsx")
    assert read(tmp_path / "t.xlsx").native.equals(data.native)


def test_columns_of_a_sheet_become_what_their_cells_are(tmp_path: Path) -> None:
    rows = [["whole", "mixed", "day", "yes"], [1.0, 1, date(2020, 1, 31), True], [2.0, "x", date(2020, 2, 1), False]]
    table = read(workbook(tmp_path / "t.xlsx", first=rows)).native
    assert table.to_pydict() == {
        "whole": [1, 2],
        "mixed": ["1", "x"],
        "day": ["2020-01-31", "2020-02-01"],
        "yes": ["true", "false"],
    }


def test_the_first_sheet_is_read_unless_another_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", people=[["a"], [1]], places=[["b"], [2]])
    assert read(path).names == ("a",)
    assert read(path, sheet="places").names == ("b",)
    assert "did you mean 'places'" in refusal(path, sheet="place")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "sheet 's', row 1: the first row must name the columns"),
        ([["a", "", "b"], [1, 2, 3]], "sheet 's', row 1: column 2 has no name"),
        ([["a", "b", "a"], [1, 2, 3]], "columns 1 and 3 have the same name"),
        ([["a"], [1], [2, 3]], "sheet 's', row 3: has more cells"),
    ],
)
def test_a_broken_sheet_is_refused_with_sheet_and_row(tmp_path: Path, rows: list[list[Any]], words: str) -> None:
    assert words in refusal(workbook(tmp_path / "t.xlsx", s=rows))


def test_a_workbook_does_not_tell_when_it_was_written(tmp_path: Path) -> None:
    write(Microdata.of({"a": [1, 2], "t": ["x", "y"]}), tmp_path / "one.xlsx")
    with zipfile.ZipFile(tmp_path / "one.xlsx") as archive:
        assert b"2000-01-01T00:00:00Z" in archive.read("docProps/core.xml")
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}


def test_too_many_records_for_a_sheet_are_refused(tmp_path: Path) -> None:
    data = Microdata.of(pa.table({"a": pa.nulls(1_048_576, pa.int64())}))
    with pytest.raises(FileError, match="at most 1,048,575 records"):
        write(data, tmp_path / "t.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_a_workbook_named_csv_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", s=[["a"], [1]]).rename(tmp_path / "people.csv")
    assert refusal(path).endswith("people.csv: is an Excel workbook, not CSV; rename it to end in .xlsx")


def test_a_damaged_workbook_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", s=[["a"], [1]])
    path.write_bytes(path.read_bytes()[:1000])
    assert "damaged" in refusal(path)


def test_parquet_comes_back_as_it_was(tmp_path: Path) -> None:
    columns = {"i": [1, None], "x": [0.5, None], "t": ["a", ""], "c": pa.array(["u", "v"]).dictionary_encode()}
    data = Microdata.of(pa.table(columns))
    write(data, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").native.to_pydict() == data.native.to_pydict()


def test_dictionary_columns_of_parquet_are_categories(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"c": pa.array(["u", "v", "u"]).dictionary_encode()}), tmp_path / "t.pq")
    data = read(tmp_path / "t.pq")
    assert data["c"].kind == "nominal"
    assert data.categories("c").codes.tolist() == [0, 1, 0]


@pytest.mark.parametrize("ending", ["xlsx", "parquet"])
def test_a_file_is_the_same_every_time(tmp_path: Path, ending: str) -> None:
    data = Microdata.of(pa.table({"a": [1, 2], "t": ["x", "y"]}))
    one, two = tmp_path / f"one.{ending}", tmp_path / f"two.{ending}"
    write(data, one)
    write(data, two)
    assert one.read_bytes() == two.read_bytes()


def test_a_parquet_file_with_a_damaged_name_of_a_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    write(Microdata.of({"zzname": [1, 2]}), path)
    path.write_bytes(path.read_bytes().replace(b"zzname", b"z\xffname"))
    with pytest.raises(FileError, match="damaged or cut off"):
        read(path)


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    data = Microdata.of(pa.table({"a": [1, 2]}))
    write(data, tmp_path / "t.parquet")
    (tmp_path / "t.parquet").write_bytes((tmp_path / "t.parquet").read_bytes()[:-20])
    assert "damaged" in refusal(tmp_path / "t.parquet")
