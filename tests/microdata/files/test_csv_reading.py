"""Reading delimited text: what is detected, what the columns become, and what is refused in which words."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pytest

from microveil.errors import Cancelled, FileError
from microveil.microdata import Attribute, Schema
from microveil.microdata.files import read


def saved(folder: Path, content: str | bytes, name: str = "people.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(content.encode(encoding) if isinstance(content, str) else content)
    return path


def column(path: Path, name: str = "a", **options: object) -> pa.ChunkedArray:
    return read(path, **options).native.column(name)


def refusal(path: Path, **options: object) -> FileError:
    with pytest.raises(FileError) as caught:
        read(path, **options)
    assert "\n" not in str(caught.value)
    return caught.value


# --- the dialect -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    data = read(saved(tmp_path, f"a{delimiter}b\n1{delimiter}x y\n2{delimiter}z\n"))
    assert data.native.to_pydict() == {"a": [1, 2], "b": ["x y", "z"]}
    assert data.origin is not None
    assert (data.origin.delimiter, data.origin.format) == (delimiter, "csv")


def test_a_delimiter_within_quotes_does_not_count(tmp_path: Path) -> None:
    data = read(saved(tmp_path, 'name;b\n"a, b, c";1\n"d, e, f";2\n'))
    assert data.names == ("name", "b")


def test_a_given_delimiter_wins(tmp_path: Path) -> None:
    assert read(saved(tmp_path, "a;b,c\n1;2,3\n"), delimiter=",").names == ("a;b", "c")


def test_a_tsv_file_has_tabs(tmp_path: Path) -> None:
    assert read(saved(tmp_path, "a,x\tb\n1\t2\n", "people.tsv")).names == ("a,x", "b")


@pytest.mark.parametrize(
    ("written", "found"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("cp1252", "cp1252")],
)
def test_the_encoding_is_found(tmp_path: Path, written: str, found: str) -> None:
    data = read(saved(tmp_path, "größe,b\n1,Žiž€\n", encoding=written))
    assert data.native.to_pydict() == {"größe": [1], "b": ["Žiž€"]}
    assert data.origin is not None
    assert data.origin.encoding == found


def test_bytes_that_cp1252_lacks_are_read_as_latin_1(tmp_path: Path) -> None:
    data = read(saved(tmp_path, b"a,b\n1,\x81\xe9\n"))
    assert data.native.to_pydict()["b"] == ["\x81é"]


def test_the_encoding_may_show_only_at_the_end_of_a_long_file(tmp_path: Path) -> None:
    data = read(saved(tmp_path, b"a,b\n" + b"1,plain text\n" * 200_000 + b"2,caf\xe9\n"))
    assert data.native.column("b")[-1].as_py() == "café"


def test_windows_line_ends_and_line_breaks_within_quotes(tmp_path: Path) -> None:
    data = read(saved(tmp_path, 'a,"b\nc"\r\n1,"x\r\ny"\r\n2,"say ""hi"""\r\n'))
    assert data.native.to_pydict() == {"a": [1, 2], "b\nc": ["x\r\ny", 'say "hi"']}


def test_a_decimal_comma_is_found(tmp_path: Path) -> None:
    data = read(saved(tmp_path, "a;b;c\n1,5;2;1,x\n-0,25;3;y\n"))
    assert data.native.to_pydict() == {"a": [1.5, -0.25], "b": [2, 3], "c": ["1,x", "y"]}
    assert data.origin is not None
    assert data.origin.decimal == ","


def test_a_decimal_point_stays_with_semicolons(tmp_path: Path) -> None:
    data = read(saved(tmp_path, "a;b\n1.5;2\n2.5;3\n"))
    assert data.native.to_pydict() == {"a": [1.5, 2.5], "b": [2, 3]}


def test_a_given_decimal_mark_wins(tmp_path: Path) -> None:
    assert column(saved(tmp_path, "a;b\n1,5;2\n"), decimal=".").to_pylist() == ["1,5"]


def test_compressed_text_is_read(tmp_path: Path) -> None:
    path = saved(tmp_path, gzip.compress(b"a,b\n1,2\n"), "people.csv.gz")
    assert read(path).native.to_pydict() == {"a": [1], "b": [2]}


# --- what columns become ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "-2", "0"], pa.int64(), [1, -2, 0]),
        (["1", "2.5", "-3e-2"], pa.float64(), [1.0, 2.5, -0.03]),
        ([".5", "5.", "1E+3"], pa.float64(), [0.5, 5.0, 1000.0]),
        ([" 1", "2 "], pa.int64(), [1, 2]),
        (["1", "", "3"], pa.int64(), [1, None, 3]),
        (["1", "NA", "N/A", "null", "NULL", "NaN", ".", '""'], pa.int64(), [1, *[None] * 7]),
        (["1.5", "NaN"], pa.float64(), [1.5, None]),
        (["x", "NA", ".", ""], pa.string(), ["x", "NA", ".", None]),
        (["01234", "99999"], pa.string(), ["01234", "99999"]),
        (["00.5", "1.5"], pa.string(), ["00.5", "1.5"]),
        (["+5", "6"], pa.string(), ["+5", "6"]),
        (["0x1F", "6"], pa.string(), ["0x1F", "6"]),
        (["1_000", "6"], pa.string(), ["1_000", "6"]),
        (['"1,000"', "6"], pa.string(), ["1,000", "6"]),
        (["9223372036854775807", "1"], pa.int64(), [2**63 - 1, 1]),
        (["9223372036854775808", "1"], pa.string(), ["9223372036854775808", "1"]),
        (["9007199254740993", "0.5"], pa.string(), ["9007199254740993", "0.5"]),
        (["2020-01-31", "2020-02-01"], pa.string(), ["2020-01-31", "2020-02-01"]),
        ([" x ", "y"], pa.string(), [" x ", "y"]),
        (["inf", "-inf", "Infinity"], pa.float64(), [float("inf"), -float("inf"), float("inf")]),
        (["", ""], pa.float64(), [None, None]),
        (['""', ""], pa.string(), ["", None]),
        (["True", "False"], pa.string(), ["True", "False"]),
    ],
)
def test_a_column_becomes_what_all_its_cells_are(
    tmp_path: Path, cells: list[str], kind: pa.DataType, values: list[object]
) -> None:
    found = column(saved(tmp_path, "a,b\n" + "".join(f"{cell},0\n" for cell in cells)))
    assert (found.type, found.to_pylist()) == (kind, values)


def test_a_single_text_cell_at_the_end_of_a_long_file_makes_the_column_text(tmp_path: Path) -> None:
    path = saved(tmp_path, "a,b\n" + "".join(f"{i},{i}.5\n" for i in range(200_000)) + "x,1\n")
    table = read(path).native
    assert table.schema.types == [pa.string(), pa.float64()]
    assert table.column("a")[199_999].as_py() == "199999"


def test_a_record_longer_than_a_chunk_is_read(tmp_path: Path) -> None:
    long = "y" * (3 << 20)
    assert column(saved(tmp_path, f"a,b\nx,1\n{long},2\n")).to_pylist() == ["x", long]


def test_a_header_alone_is_a_table_without_records(tmp_path: Path) -> None:
    data = read(saved(tmp_path, "a,b\n"))
    assert (len(data), data.names) == (0, ("a", "b"))
    assert len(read(saved(tmp_path, "a,b"))) == 0


def test_blank_lines_are_passed_over_unless_there_is_one_column(tmp_path: Path) -> None:
    assert column(saved(tmp_path, "a,b\n1,2\n\n3,4\n\n")).to_pylist() == [1, 3]
    assert column(saved(tmp_path, "a\n1\n\n3\n")).to_pylist() == [1, None, 3]


def test_a_numeric_attribute_may_have_leading_zeros_and_signs(tmp_path: Path) -> None:
    path = saved(tmp_path, "a,b\n007,+5\n010,-5\n")
    data = read(path, numeric=["a", "b"])
    assert data.native.to_pydict() == {"a": [7, 10], "b": [5, -5]}


def test_text_in_a_numeric_attribute_is_refused_with_line_and_column(tmp_path: Path) -> None:
    path = saved(tmp_path, 'a,b\n"x\ny",1\n\nz,2\nz,secret\n')
    schema = Schema([Attribute(name="b", kind="numeric")])
    problem = refusal(path, schema=schema)
    assert (problem.line, problem.column) == (6, "b")
    assert "secret" not in str(problem)


def test_a_domain_of_texts_makes_the_column_text(tmp_path: Path) -> None:
    schema = Schema([Attribute(name="a", kind="nominal", domain=("1", "2"))])
    assert column(saved(tmp_path, "a,b\n1,1\n2,2\n"), schema=schema).to_pylist() == ["1", "2"]


def test_a_domain_of_numbers_leaves_the_column_numbers(tmp_path: Path) -> None:
    schema = Schema([Attribute(name="a", kind="nominal", domain=(1, 2))])
    assert column(saved(tmp_path, "a,b\n1,1\n2,2\n"), schema=schema).type == pa.int64()


def test_a_schema_may_be_a_file(tmp_path: Path) -> None:
    Schema([Attribute(name="a", kind="ordinal", roles=("key",))]).write(tmp_path / "schema.toml")
    data = read(saved(tmp_path, "a,b\n1,1\n"), schema=tmp_path / "schema.toml")
    assert (data["a"].kind, data.schema.keys) == ("ordinal", ("a",))


def test_roles_are_given_while_reading(tmp_path: Path) -> None:
    data = read(saved(tmp_path, "a,b,w\n1,x,1.5\n"), keys=["a", "b"], weight="w")
    assert (data.schema.keys, data.schema.weight) == (("a", "b"), "w")


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("a,b\n1,2\n3,4,5\n", 3, "3 fields, but the header names 2"),
        ("a,b\n1,2\n3\n", 3, "1 field, but the header names 2"),
        ('a,b\n"x\ny",2\n\n3\n', 5, "1 field,"),
        ('a,b\n1,2\n3,"x\n4,5\n', 3, "never closed"),
        ('a,"b\n1,2\n', 1, "never closed"),
        ("a,,c\n1,2,3\n", 1, "column 2 has no name"),
        ("a,b,a\n1,2,3\n", 1, "columns 1 and 3 have the same name"),
        ("a,b\n1,\0\n", 2, "NUL"),
        ("\n\n", None, "empty"),
        ("", None, "empty"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, content: str, line: int | None, words: str) -> None:
    problem = refusal(saved(tmp_path, content))
    assert problem.line == line
    assert words in str(problem)


def test_a_row_with_too_many_fields_far_down_is_refused_with_its_line(tmp_path: Path) -> None:
    problem = refusal(saved(tmp_path, "a,b\n" + '"1\n",2\n' * 100_000 + "1,2,3\n"))
    assert problem.line == 200_002


def test_a_quote_within_an_unquoted_field_is_text(tmp_path: Path) -> None:
    assert column(saved(tmp_path, 'a,b\n5" pipe,1\nx,2\n')).to_pylist() == ['5" pipe', "x"]


def test_bytes_that_do_not_suit_the_given_encoding_are_refused_with_their_line(tmp_path: Path) -> None:
    problem = refusal(saved(tmp_path, b"a,b\n1,2\n3,\xff\n"), encoding="utf-8")
    assert problem.line == 3
    assert "utf-8" in str(problem)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"encoding": "utf-99"}, "unknown encoding"),
        ({"delimiter": "::"}, "one character"),
        ({"delimiter": '"'}, "one character"),
        ({"decimal": "x"}, "decimal mark"),
        ({"decimal": ",", "delimiter": ","}, "both delimiter and decimal mark"),
    ],
)
def test_impossible_wishes_are_refused(tmp_path: Path, options: dict[str, object], words: str) -> None:
    assert words in str(refusal(saved(tmp_path, "a,b\n1,2\n"), **options))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "no such file" in str(refusal(tmp_path / "nobody.csv"))
    (tmp_path / "folder.csv").mkdir()
    assert "folder" in str(refusal(tmp_path / "folder.csv"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_one_may_not_read_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, "a,b\n1,2\n")
    path.chmod(0)
    assert "permission" in str(refusal(path))


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(50_000)))
    assert "cut off" in str(refusal(saved(tmp_path, whole[: len(whole) // 2], "people.csv.gz")))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"PAR1....", "is a Parquet file, not CSV; rename it to end in .parquet"),
        ("a.csv", b"$FL2@(#) SPSS", "is an SPSS file, not CSV; rename it to end in .sav"),
        ("a.csv", b"<stata_dta><header>", "rename it to end in .dta"),
        ("a.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Excel workbook"),
        ("a.csv", b"\x1f\x8b\x08\0", "rename it to end in .csv.gz"),
        ("a.csv", b"%PDF-1.4", "PDF"),
        ("a.csv", b"\n<!DOCTYPE html><html>", "web page"),
        ("a.csv.gz", b"a,b\n1,2\n", "not a gzip archive"),
        ("a.parquet", b"a,b\n1,2\n", "is a text file, not Parquet; rename it to end in .csv"),
        ("a.xlsx", b"a,b\n1,2\n", "is a text file, not an Excel workbook"),
        ("a.sav", b"a,b\n1,2\n", "is a text file, not an SPSS file"),
        ("a.dta", b"a,b\n1,2\n", "is a text file, not a Stata file"),
        ("a.sas7bdat", b"a,b\n1,2\n", "is a text file, not a SAS data set"),
        ("a.dta", b"\x00\x01\x02", "is a binary file, not a Stata file"),
        ("a.docx", b"x", "the ending '.docx' is not one"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    assert words in str(refusal(saved(tmp_path, content, name)))


def test_reading_reports_its_progress_and_can_be_cancelled(tmp_path: Path) -> None:
    path = saved(tmp_path, "a,b\n" + "1,2\n" * 600_000)
    seen: list[float] = []
    read(path, progress=lambda fraction, label: seen.append(fraction))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0

    def stop(fraction: float, label: str) -> None:
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        read(path, progress=stop)


@pytest.mark.parametrize("sign", ["", "-"])
def test_whole_numbers_of_thousands_of_digits_stay_the_text_they_are(tmp_path: Path, sign: str) -> None:
    long = sign + "9" * 5000
    (tmp_path / "long.csv").write_text(f"a,b\n2,1\n{long},2\n3,3\n")
    data = read(tmp_path / "long.csv")
    assert data["a"].kind == "nominal"
    assert data.arrow("a").to_pylist() == ["2", long, "3"]
