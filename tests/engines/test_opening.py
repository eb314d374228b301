"""Files that are one table are found and read as one, or refused in a sentence; none is left out."""

from __future__ import annotations

import errno
import gzip
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microveil as mv
from microveil.engines import opening

pytestmark = pytest.mark.usefixtures("small_parts")


def folder_of(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return folder


def columns_of(paths: Any, schema: mv.Schema | None = None, **how: Any) -> dict[str, list[Any]]:
    with mv.open(paths, "duckdb", schema, **how) as large:
        return {name: large.table.column(name).to_pylist() for name in large.table.names}


def assert_read_as_one_file(folder: Path, files: Mapping[str, str], schema: mv.Schema | None = None) -> None:
    """The same columns, types and cells as one file with all records has in memory."""
    first, *others = files.values()
    whole = folder / "whole.csv"
    whole.write_text(first + "".join(text.partition("\n")[2] for text in others), encoding="utf-8")
    in_memory = mv.read(whole, schema=schema)
    with mv.open(folder_of(folder / "in", files), "duckdb", schema) as large:
        assert large.table.names == in_memory.names
        for name in in_memory.names:
            assert large.table.column(name).equals(in_memory.arrow(name)), name


def test_files_with_other_decimal_marks_are_refused_and_the_mark_can_be_given(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    files = {"a.csv": "town;income\nt0;1000,5\nt1;2000,25\n", "b.csv": "town;income\nt0;1.200\nt1;3.400\n"}
    folder = folder_of(tmp_path / "th", files)
    with pytest.raises(mv.MicroveilError, match=r"b\.csv.*decimal mark '\.', but 'a\.csv' with ','.*--decimal"):
        mv.open(folder, "duckdb")
    refused = run("describe", str(folder), "--engine", "duckdb")
    assert refused.status == 1
    assert "'a.csv'" in refused.stderr
    # with the mark that is right, points among thousands are no numbers, as in memory
    assert columns_of(folder, decimal=",")["income"] == ["1000,5", "2000,25", "1.200", "3.400"]
    said = run(
        "describe", str(folder), "--engine", "duckdb", "--decimal", ",", "--delimiter", ";", "--encoding", "utf-8"
    )
    assert said.status == 0
    assert "4 records" in said.stdout


def test_a_file_that_leaves_the_decimal_mark_open_is_read_with_that_of_the_others(tmp_path: Path) -> None:
    files = {"a.csv": "town;income\nt0;1000\n", "b.csv": "town;income\nt0;1000,5\n", "c.csv": "town;income\nt0;7\n"}
    assert_read_as_one_file(tmp_path, files)
    assert columns_of(tmp_path / "in")["income"] == [1000.0, 1000.5, 7.0]


def test_files_with_other_delimiters_are_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.csv": "a,b\n1,2\n", "b.csv": "a;b\n1;2\n"})
    with pytest.raises(
        mv.MicroveilError, match=r"b\.csv.*is divided by semicolons, but 'a\.csv' by commas.*--delimiter"
    ):
        mv.open(folder, "duckdb")


def test_files_with_other_encodings_are_refused_but_plain_letters_suit_all(tmp_path: Path) -> None:
    western, plain = "a,b\nZürich,1\n".encode("cp1252"), "a,b\nBern,2\n"
    folder = folder_of(tmp_path, {"a.csv": western, "b.csv": plain})
    assert columns_of(folder)["a"] == ["Zürich", "Bern"]
    folder_of(tmp_path, {"c.csv": "a,b\nGenève,3\n"})
    with pytest.raises(mv.MicroveilError, match=r"c\.csv.*in utf-8, but 'a\.csv' in cp1252.*--encoding"):
        mv.open(folder, "duckdb")
    assert columns_of(folder / "a.csv", encoding="latin-1")["a"] == ["Zürich"]


def test_how_csv_is_written_is_not_asked_of_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(mv.MicroveilError, match="are for CSV files"):
        mv.open(tmp_path, "duckdb", decimal=",")


POSTCODES = mv.Schema([mv.Attribute(name="zip", kind="nominal", domain=("0012", "1012", "17"))])


@pytest.mark.parametrize(
    ("files", "schema"),
    [
        ({"a.csv": "zip,x\n0012,1\n", "b.csv": "zip,x\n1012,2\n"}, None),
        ({"a.csv": "zip,x\n1012,1\n", "b.csv": "zip,x\n0012,2\n"}, None),
        ({"a.csv": "zip,x\n1012,1\n", "b.csv": "zip,x\n17,2\n"}, POSTCODES),
        ({"a.csv": "zip,x\n1012,1\n", "b.csv": "zip,x\n17,2\n"}, mv.Schema([mv.Attribute(name="zip", kind="nominal")])),
        ({"a.csv": "zip,x\n", "b.csv": "zip,x\na,1\nb,2\n"}, None),
        ({"a.csv": "zip,x\na,1\nb,2\n", "b.csv": "zip,x\n"}, None),
        ({"a.csv": "zip,x\n,1\n,2\n", "b.csv": "zip,x\na,3\n"}, None),
        ({"a.csv": 'zip,x\n"",1\n', "b.csv": "zip,x\n,3\n"}, None),
        ({"a.csv": "zip,x\na,1\n", "b.csv": "zip,x\na,\n"}, None),
        ({"a.csv": "zip,d\na,2020-01-01\n", "b.csv": "zip,d\na,\n"}, None),
        (
            {"a.csv": "zip,d\na,2020-01-01\n", "b.csv": "zip,d\na,\n"},
            mv.Schema([mv.Attribute(name="d", kind="numeric")]),
        ),
        ({"a.csv": "zip,x\n1,NA\n", "b.csv": "zip,x\n2,5\n"}, None),
        ({"a.csv": "zip,x\n1,NA\n", "b.csv": "zip,x\n2,low\n"}, None),
        ({"a.csv": "zip,x\n1,3\n", "b.csv": "zip,x\n2,3.0\n"}, None),
        ({"a.csv": "zip,x\n1,3.5\n", "b.csv": "zip,x\n2,9007199254740993\n"}, None),
        ({"a.csv": "zip,x\n1,2.50\n", "b.csv": "zip,x\n2,true\n"}, None),
    ],
)
def test_columns_are_what_the_cells_of_all_files_make_them(
    files: dict[str, str], schema: mv.Schema | None, tmp_path: Path
) -> None:
    assert_read_as_one_file(tmp_path, files, schema)


def test_a_cell_that_is_no_number_is_named_by_its_file_and_line(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.csv": "x\n1\n", "b.csv": "x\n2\nmany\n"})
    with pytest.raises(mv.MicroveilError, match=r"b\.csv.*line 3.*not a number") as refused:
        mv.open(folder, "duckdb", mv.Schema([mv.Attribute(name="x", kind="numeric")]))
    assert "many" not in str(refused.value)


def test_columns_in_another_order_are_read_by_name(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.csv": "a,b\n1,x\n", "b.csv": "b,a\ny,2\n"})
    assert columns_of(folder) == {"a": [1, 2], "b": ["x", "y"]}


def test_files_without_records_are_refused_by_their_own_name(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.csv": "a,b\n", "b.csv": "a,b\n"})
    with pytest.raises(mv.MicroveilError, match=r"a\.csv.*no records"):
        mv.open(folder, "duckdb")


def test_a_long_csv_file_is_copied_group_by_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_ROWS", 1000)
    text = "a,b\n" + "".join(f"{i},t{i % 7} {'x' * 50}\n" for i in range(60_000))
    assert_read_as_one_file(tmp_path, {"a.csv": text, "b.csv": "a,b\n60000,end\n"})


def test_a_full_temporary_folder_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    folder = folder_of(tmp_path / "in", {"a.csv": "a,b\n1,x\n"})
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(mv.MicroveilError, match="no space left on the disk"):
        mv.open(folder, "duckdb")
    assert not list((tmp_path / "tmp").iterdir())


ONE = "a,b\n1,x\n"


def parquet_in(folder: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"a": [number]}), folder / name)
    return folder


def test_two_stars_mean_all_folders_at_any_depth(tmp_path: Path) -> None:
    folder = parquet_in(tmp_path, "0.parquet", "p/1.parquet", "p/q/2.parquet", "p/q/r/3.parquet", "p/_log/4.parquet")
    assert columns_of(folder / "**/*.parquet")["a"] == [0, 1, 2, 3]
    assert columns_of(f"{folder}/**")["a"] == [0, 1, 2, 3]


@pytest.mark.parametrize("named", ["", "*"])
def test_tables_in_a_folder_of_the_folder_are_never_left_out_in_silence(named: str, tmp_path: Path) -> None:
    folder = parquet_in(tmp_path / "mix", "0.parquet", "empty/0.parquet", "sub/deep/1.parquet")
    (folder / "empty/0.parquet").unlink()
    with pytest.raises(mv.MicroveilError, match=r"sub/deep: has tables that would be left out.*/\*\*/\*\.parquet'"):
        mv.open(folder / named, "duckdb")
    assert columns_of(folder / "*.parquet")["a"] == [0]


def test_a_column_in_the_name_of_a_folder_is_not_lost_in_silence(tmp_path: Path) -> None:
    folder = parquet_in(tmp_path / "years", "year=2020/0.parquet", "year=2021/0.parquet")
    for named in (folder, folder / "*/*.parquet", folder / "**/*.parquet"):
        with pytest.raises(mv.MicroveilError, match="has the column 'year' in the name of the folder alone"):
            mv.open(named, "duckdb")
    assert columns_of(folder / "year=2021")["a"] == [1]


@pytest.mark.parametrize("name", ["b.xlsx", "b.csv.zip", "b.parquet.gz", "b.sav", "b.feather"])
def test_a_table_of_a_format_that_is_not_read_here_is_never_left_out_in_silence(name: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.csv": ONE, name: b"PK", "manifest.json": "{}"})
    for named in (folder, folder / "*", folder / name):
        with pytest.raises(mv.MicroveilError, match=f"{name}: engines read Parquet and CSV files"):
            mv.open(named, "duckdb")
    assert columns_of(folder / "*.csv")["a"] == [1]


def test_packed_csv_files_are_read_beside_others(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.csv": ONE, "b.csv.gz": gzip.compress(b"a,b\n2,y\n")})
    assert columns_of(folder) == {"a": [1, 2], "b": ["x", "y"]}
    assert columns_of(folder / "b.csv.gz")["a"] == [2]


def written(folder: Path, *tables: pa.Table) -> Path:
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet")
    return folder


def test_columns_of_parquet_files_are_read_by_name(tmp_path: Path) -> None:
    one, other = {"sex": ["f", "m", "f"], "age": [1, 2, 1]}, {"age": [2, 3], "sex": ["m", "f"]}
    folder = written(tmp_path / "in", pa.table(one), pa.table(other))
    assert columns_of(folder) == {"sex": ["f", "m", "f", "m", "f"], "age": [1, 2, 1, 2, 3]}
    with mv.open(folder, "duckdb", keys=["sex", "age"]) as large:
        classes = large.equivalence_classes()
    assert (classes.k, classes.unique) == (1, 1)


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (pa.array([1], pa.int32()), pa.array([2**40]), pa.int64()),
        (pa.array([2**40]), pa.array([1], pa.int8()), pa.int64()),
        (pa.array([1], pa.uint64()), pa.array([-1]), pa.int64()),
        (pa.array([1]), pa.array([0.5]), pa.float64()),
        (pa.array([0.5], pa.float32()), pa.array([0.1]), pa.float64()),
        (pa.nulls(1), pa.array(["a"]), pa.string()),
        (pa.array(["a"]), pa.nulls(1), pa.string()),
        (pa.array(["a"]), pa.array(["b"]).dictionary_encode(), pa.string()),
    ],
)
def test_types_that_lose_nothing_become_one(
    one: pa.Array, other: pa.Array, common: pa.DataType, tmp_path: Path
) -> None:
    folder = written(tmp_path / "in", pa.table({"c": one}), pa.table({"c": other}))
    with mv.open(folder, "duckdb", mv.Schema([mv.Attribute(name="c", kind="nominal", roles=("key",))])) as large:
        assert large.table.column("c").equals(pa.array([*one.to_pylist(), *other.to_pylist()], common))
        assert len(large.equivalence_classes().frequencies) == 2
    assert_released_as_in_memory(folder, pa.array([*one.to_pylist(), *other.to_pylist()], common), tmp_path / "out")


def assert_released_as_in_memory(folder: Path, cells: pa.Array, out: Path) -> None:
    schema = mv.Schema([mv.Attribute(name="c", kind="nominal")])
    plan = mv.Plan((mv.Step("pram", {"p": 0.5}, ("c",)),), seed=2**80 + 1)
    with mv.open(folder, "duckdb", schema) as large:
        large.protect(plan, out)
    release = mv.protect(mv.Microdata.of(pa.table({"c": cells}), schema), plan)
    assert pq.read_table(out)["c"].combine_chunks().equals(release.data.arrow("c"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array(["a"]), pa.array([1])),
        (pa.array([True]), pa.array([1])),
        (pa.array([1], pa.timestamp("us")), pa.array([1], pa.timestamp("us", tz="UTC"))),
    ],
)
def test_types_that_have_nothing_in_common_are_refused_by_column_and_file(
    one: pa.Array, other: pa.Array, tmp_path: Path
) -> None:
    folder = written(tmp_path / "in", pa.table({"b": [1], "c": one}), pa.table({"b": [1], "c": other}))
    with pytest.raises(mv.MicroveilError, match=r"1\.parquet.*column 'c'.*'0\.parquet'.*with one type in all files"):
        mv.open(folder, "duckdb")


def test_whole_numbers_that_a_common_type_would_round_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", pa.table({"c": [0.5]}), pa.table({"c": [2**53 + 1]}))
    with pytest.raises(mv.MicroveilError, match=r"1\.parquet.*column 'c'.*would be changed in double") as refused:
        columns_of(folder)
    assert str(2**53 + 1) not in str(refused.value)


def test_two_columns_of_the_same_name_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(mv.MicroveilError, match="column 'a': several columns have this name"):
        mv.open(folder, "duckdb")
    with pytest.raises(mv.MicroveilError, match="columns 1 and 2 have the same name"):
        mv.open(folder_of(tmp_path, {"a.csv": "a,a\n1,2\n"}) / "a.csv", "duckdb")


def test_the_column_that_is_needed_to_count_is_refused_by_the_name_of_the_file(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.csv": "records of this combination,b\n1,2\n"})
    with pytest.raises(mv.MicroveilError, match=r"a\.csv.*needed to count"):
        mv.open(folder, "duckdb")


def test_a_folder_behind_a_link_is_seen_and_one_that_leads_back_is_no_end(tmp_path: Path) -> None:
    folder = parquet_in(tmp_path / "in", "0.parquet", "empty/0.parquet")
    (folder / "empty/0.parquet").unlink()
    (folder / "empty/back").symlink_to(folder, target_is_directory=True)
    assert columns_of(folder)["a"] == [0]
    (folder / "far").symlink_to(parquet_in(tmp_path / "elsewhere", "1.parquet"), target_is_directory=True)
    with pytest.raises(mv.MicroveilError, match="far: has tables that would be left out"):
        mv.open(folder, "duckdb")


def test_a_file_that_two_names_mean_is_not_read_twice(tmp_path: Path) -> None:
    folder = parquet_in(tmp_path, "0.parquet", "1.parquet")
    assert columns_of([folder / "1.parquet", folder / "0.parquet"])["a"] == [1, 0]
    with pytest.raises(mv.MicroveilError, match=r"1\.parquet: is meant by two"):
        mv.open([folder, folder / "1.parquet"], "duckdb")


def test_a_column_may_have_the_name_that_arrow_gives_to_counts(tmp_path: Path) -> None:
    table = pa.table({"count_all": ["a", "b", "a"] * 50})
    schema = mv.Schema([mv.Attribute(name="count_all", kind="nominal", roles=("key",))])
    plan = mv.Plan((mv.Step("pram", {"p": 0.5}, ("count_all",)),), seed=5)
    with mv.open(written(tmp_path / "in", table), "duckdb", schema) as large:
        released = large.protect(plan, tmp_path / "out")
    in_memory = mv.protect(mv.Microdata.of(table, schema), plan).data
    assert pq.read_table(tmp_path / "out")["count_all"].to_pylist() == in_memory.arrow("count_all").to_pylist()
    assert released.classes is not None
    assert released.classes.frequencies.sum() == 150


def test_a_release_in_the_folder_of_its_input_is_no_part_of_it(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "in", {"a.csv": "a,b\n1,x\n2,y\n"})
    plan = mv.Plan((mv.Step("noise", {}, ("a",)),), seed=5)
    for _ in range(2):
        with mv.open(folder, "duckdb") as large:
            assert len(large) == 2
            large.protect(plan, folder / "safe", force=True)
