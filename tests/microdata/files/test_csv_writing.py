"""Writing delimited text: what comes back, in which form, and always the same bytes."""

from __future__ import annotations

import contextlib
import gzip
import math
import os
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import FileError, OutputExistsError
from microveil.microdata import Microdata
from microveil.microdata.files import read, write, writer
from microveil.microdata.files.atomic import write_together


def table(**columns: list[Any]) -> Microdata:
    return Microdata.of(pa.table(columns))


def written(data: Microdata, path: Path, **options: Any) -> str:
    write(data, path, force=True, **options)
    return path.read_bytes().decode("utf-8")


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
whole = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(st.none() | texts, st.none() | whole, st.none() | floats), max_size=8),
    name=texts.filter(str.strip).filter(lambda name: name not in ("n", "x")),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from([".", ","]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_every_table_comes_back_as_it_was(
    rows: list[tuple[Any, Any, Any]], name: str, delimiter: str, decimal: str, encoding: str
) -> None:
    if name.startswith("\ufeff") or decimal == delimiter:
        return
    # one sure text, whole number and fraction, so that an untyped file shows the types
    rows = [("sure, text", 1, 0.5), *rows]
    text, numbers, fractions = (list(column) for column in zip(*rows, strict=True))
    before = pa.table([pa.array(text), pa.array(numbers, pa.int64()), pa.array(fractions)], names=[name, "n", "x"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write(Microdata.of(before), path, delimiter=delimiter, decimal=decimal, encoding=encoding)
        after = read(path, delimiter=delimiter, decimal=decimal).native
    assert after.column_names == before.column_names
    assert after.column(name).to_pylist() == text
    assert after.column("n").to_pylist() == numbers
    assert after.column("x").to_pylist() == fractions


@settings(max_examples=50, deadline=None)
@given(st.lists(st.none() | texts, max_size=6))
def test_a_single_column_comes_back_with_its_missing_cells(cells: list[str | None]) -> None:
    cells = ["sure text", *cells]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write(table(a=cells), path)
        assert read(path).native.to_pydict() == {"a": cells}


def plain_cell(text: str | None, delimiter: str, *, neutralised: bool) -> str:
    """What a text is in the file, said once more."""
    if text is None:
        return ""
    if neutralised and text.lstrip("'")[:1] in ("=", "+", "-", "@", "\t", "\r") and text.lstrip("'"):
        text = f"'{text}"
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if not text or any(sign in text for sign in f'"\r\n{delimiter}') else text


short_texts = st.none() | st.text(st.sampled_from("ab,;\"'=\n\r\t-é "), max_size=4)


@settings(max_examples=150, deadline=None)
@given(
    columns=st.lists(st.lists(short_texts, min_size=3, max_size=3), min_size=1, max_size=3),
    times=st.sampled_from([1, 8]),
    delimiter=st.sampled_from([",", ";", "\t"]),
    kind=st.sampled_from([pa.string(), pa.large_string()]),
    neutralised=st.booleans(),
)
def test_texts_are_enclosed_where_they_must_be_however_often_they_occur(
    columns: list[list[str | None]], times: int, delimiter: str, kind: pa.DataType, *, neutralised: bool
) -> None:
    repeated = {f"c{i}": pa.array(cells * times, type=kind) for i, cells in enumerate(columns)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        text = written(Microdata.of(pa.table(repeated)), path, delimiter=delimiter, neutralise_formulas=neutralised)
    rows = zip(*(cells * times for cells in columns), strict=True)
    lines = [delimiter.join(plain_cell(cell, delimiter, neutralised=neutralised) for cell in row) for row in rows]
    assert text == "\n".join([delimiter.join(repeated), *lines]) + "\n"


def test_cells_are_written_in_their_shortest_form(tmp_path: Path) -> None:
    data = table(
        x=[-9.0, 0.1, 1e22, None, math.nan, math.inf],
        i=[1, None, 2**62, 0, -1, 5],
        t=["a", "", None, 'say "hi"', "x,y", "l\nm"],
    )
    assert written(data, tmp_path / "t.csv") == (
        'x,i,t\n-9,1,a\n0.1,,""\n1e+22,4611686018427387904,\n,0,"say ""hi"""\n,-1,"x,y"\ninf,5,"l\nm"\n'
    )


def test_dates_and_truth_values_are_written_as_words(tmp_path: Path) -> None:
    assert written(table(d=[date(2020, 1, 31)], b=[True]), tmp_path / "t.csv") == "d,b\n2020-01-31,true\n"


def test_a_column_of_lists_is_refused_by_name(tmp_path: Path) -> None:
    data = Microdata.of(pa.table({"a": [1], "l": pa.array([{"x": 1}])}))
    with pytest.raises(FileError, match="column 'l'"):
        write(data, tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_table_goes_back_in_the_form_it_came(tmp_path: Path) -> None:
    content = "größe;x\n1,5;a\n2;ä\n".encode("cp1252")
    (tmp_path / "in.csv").write_bytes(content)
    write(read(tmp_path / "in.csv"), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == content


def test_the_given_form_wins_over_that_of_the_origin(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("größe;x\n1,5;a\n".encode("cp1252"))
    data = read(tmp_path / "in.csv")
    assert written(data, tmp_path / "o.csv", delimiter=",", encoding="utf-8") == "größe,x\n1.5,a\n"
    assert written(data, tmp_path / "o.csv", decimal=".", encoding="utf-8") == "größe;x\n1.5;a\n"
    assert written(data, tmp_path / "o.tsv", encoding="utf-8") == "größe\tx\n1,5\ta\n"


def test_text_from_tabs_to_csv_gets_a_delimiter_that_suits_the_decimal_mark(tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("a\tb\n1,5\tx\n", encoding="utf-8")
    assert written(read(tmp_path / "in.tsv"), tmp_path / "out.csv") == "a;b\n1,5;x\n"


def test_an_archive_holds_neither_time_nor_name(tmp_path: Path) -> None:
    write(table(a=[1]), tmp_path / "one.csv.gz")
    write(table(a=[1]), tmp_path / "two.csv.gz")
    packed = (tmp_path / "one.csv.gz").read_bytes()
    assert packed == (tmp_path / "two.csv.gz").read_bytes()
    assert packed[3:8] == b"\0\0\0\0\0"
    assert gzip.decompress(packed) == b"a\n1\n"


def test_characters_the_encoding_lacks_are_refused_by_column(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        write(table(a=["x"], b=["Ω"]), tmp_path / "t.csv", encoding="cp1252")
    assert caught.value.column == "b"
    assert "Ω" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_not_overwritten_without_force(tmp_path: Path) -> None:
    write(table(a=[1]), tmp_path / "t.csv")
    with pytest.raises(OutputExistsError):
        write(table(a=[2]), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "a\n1\n"
    write(table(a=[2]), tmp_path / "t.csv", force=True)
    assert (tmp_path / "t.csv").read_text() == "a\n2\n"


def test_a_table_is_written_together_with_other_files(tmp_path: Path) -> None:
    made = writer(table(a=[1]), tmp_path / "t.csv")
    write_together({tmp_path / "t.csv": made, tmp_path / "m.txt": lambda at: at.write_text("m") and None}, force=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.txt", "t.csv"]


@pytest.mark.parametrize("problem", [OSError("no more room"), KeyboardInterrupt()])
@pytest.mark.parametrize("existing", [(), ("m.txt",), ("t.csv",), ("m.txt", "t.csv")])
def test_files_written_together_all_appear_or_all_stay_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: tuple[str, ...], problem: BaseException
) -> None:
    """Whichever move fails, the files of before are back and nothing else is left; without a failure all are new."""
    moves = {name: getattr(os, name) for name in ("replace", "rename", "link")}
    left = 0

    def fails_at_last(move: Callable[..., None]) -> Callable[..., None]:
        def moved(*places: object, **options: object) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise problem
            move(*places, **options)

        return moved

    for name, move in moves.items():
        monkeypatch.setattr(os, name, fails_at_last(move))
    for name in existing:
        (tmp_path / name).write_text("before")
    writers = {tmp_path / name: lambda at: at.write_text("after") and None for name in ("t.csv", "m.txt")}
    for failing in range(1, 20):
        left = failing
        with contextlib.suppress(FileError, KeyboardInterrupt):
            write_together(writers, force=True)
        if left > 0:
            break  # there were fewer moves
        assert {p.name: p.read_text() for p in tmp_path.iterdir()} == dict.fromkeys(existing, "before")
    assert failing > 2
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"t.csv": "after", "m.txt": "after"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.xls", "use .xlsx instead"),
        ("a.ods", "use .xlsx instead"),
        ("a.por", "use .sav instead"),
        ("a.sas7bdat", "use .csv or .parquet instead"),
        ("a.docx", "there are: .csv"),
        ("a", "the ending ''"),
    ],
)
def test_formats_nobody_can_write_are_refused(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(FileError, match=words):
        write(table(a=[1]), tmp_path / name)


def test_a_table_without_records_comes_back(tmp_path: Path) -> None:
    write(Microdata.of(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())})), tmp_path / "t.csv")
    data = read(tmp_path / "t.csv")
    assert (len(data), data.names) == (0, ("a", "b"))


def test_many_records_come_back(tmp_path: Path) -> None:
    data = table(i=list(range(120_001)), t=[f"t{i}" for i in range(120_001)])
    write(data, tmp_path / "t.csv")
    assert read(tmp_path / "t.csv").native.equals(data.native)
