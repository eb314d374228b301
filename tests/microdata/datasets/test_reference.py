"""Reference data are found where they lie, and they are the ones the papers used."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from microveil.errors import FileError, UnknownNameError
from microveil.microdata import Microdata
from microveil.microdata.datasets.reference import COLUMNS, FOLDER_VARIABLE, available, data_folder, load

REFERENCE = data_folder()
needs_reference = pytest.mark.skipif(REFERENCE is None, reason="MICROVEIL_DATA names no folder of reference data")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "reference"
    place.mkdir()
    (place / "towns.csv").write_text("name,people\nHigh Ford,1200\nLow Ford,800\n", encoding="utf-8")
    (place / "rivers.csv.gz").write_bytes(gzip.compress(b"name,length\nIster,120\n"))
    (place / "README.md").write_text("words", encoding="utf-8")
    monkeypatch.setenv(FOLDER_VARIABLE, str(place))
    return place


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> Path:
    assert REFERENCE is not None
    monkeypatch.setenv(FOLDER_VARIABLE, str(REFERENCE))
    return REFERENCE


def frequencies(tables: list[Microdata], name: str, order: str | list[str]) -> list[int]:
    found = [value for data in tables for value in data.native[name].to_pylist()]
    counted = [found.count(category) for category in order]
    assert sum(counted) == len(found)
    return counted


def combinations(tables: list[Microdata], names: list[str]) -> int:
    return len({tuple(row.values()) for data in tables for row in data.native.select(names).to_pylist()})


def test_the_variable_names_the_folder(folder: Path) -> None:
    assert data_folder() == folder


@pytest.mark.parametrize("named", [None, ""])
def test_no_other_folder_is_searched(named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if named is None:
        monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    else:
        monkeypatch.setenv(FOLDER_VARIABLE, named)
    (tmp_path / "shared" / "data").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert data_folder() is None


def test_plain_and_compressed_files_are_available_by_their_names(folder: Path) -> None:
    assert available() == ["rivers", "towns"]


def test_where_no_folder_is_found_nothing_is_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    assert data_folder() is None
    assert available() == []


def test_a_folder_that_does_not_exist_is_told_with_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(FileError, match=r"nowhere: MICROVEIL_DATA names this folder, but it does not exist"):
        load("census")


def test_without_folder_and_variable_the_error_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match="set MICROVEIL_DATA to the folder that holds them"):
        load("census")


def test_an_unknown_name_is_answered_with_the_nearest(folder: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown data set 'river'; did you mean 'rivers'"):
        load("river")


def test_a_name_cannot_lead_out_of_the_folder(folder: Path) -> None:
    (folder.parent / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(UnknownNameError):
        load("../secret")


def test_a_data_set_is_read_with_the_options_given(folder: Path) -> None:
    towns = load("towns", keys=["people"])
    assert len(towns) == 2
    assert towns.schema.keys == ("people",)
    assert towns.numbers("people").values.tolist() == [1200, 800]


def test_a_compressed_data_set_is_read_like_a_plain_one(folder: Path) -> None:
    assert load("rivers").native.to_pylist() == [{"name": "Ister", "length": 120}]


def test_of_a_plain_and_a_compressed_file_the_plain_one_is_read(folder: Path) -> None:
    (folder / "rivers.csv").write_text("name,length\nAldern,7\n", encoding="utf-8")
    assert available() == ["rivers", "towns"]
    assert load("rivers").native["length"].to_pylist() == [7]


@needs_reference
@pytest.mark.parametrize(
    ("preset", "file", "number"),
    [
        ("eia", "eia", 10),
        ("eia-mdav", "eia", 11),
        ("eia-nine", "eia", 9),
        ("water", "water_treatment", 9),
        ("census-alphabetical", "census", 13),
    ],
)
def test_the_chosen_columns_stand_in_their_files(reference: Path, preset: str, file: str, number: int) -> None:
    header = (reference / f"{file}.csv").read_text(encoding="utf-8").splitlines()[0].replace('"', "").split(",")
    columns = COLUMNS[preset]
    assert len(set(columns)) == len(columns) == number
    assert set(columns) <= set(header)


def test_the_census_columns_are_in_alphabetical_order_by_their_printed_names() -> None:
    printed = {"ERNVAL": "ERINVAL", "PEARNVAL": "PEARVAL"}
    names = [printed.get(name, name) for name in COLUMNS["census-alphabetical"]]
    assert names == sorted(names)


def test_each_nine_column_choice_falls_into_three_blocks() -> None:
    assert COLUMNS["water"][3:6] == ("COND-E", "COND-P", "COND-D")
    assert COLUMNS["eia-nine"][6:] == ("INDREVENUE", "INDSALES", "TOTSALES")


@needs_reference
@pytest.mark.spec("05:DS-01")
def test_german_credit_has_the_frequencies_of_the_literature(reference: Path) -> None:
    german = [load("german_credit")]
    assert frequencies(german, "checking_status", ["A11", "A12", "A13", "A14"]) == [274, 269, 63, 394]
    assert frequencies(german, "savings", ["A61", "A62", "A63", "A64", "A65"]) == [603, 103, 63, 48, 183]
    assert frequencies(german, "employment", ["A71", "A72", "A73", "A74", "A75"]) == [62, 172, 339, 174, 253]
    assert combinations(german, ["checking_status", "savings", "employment"]) == 85


@needs_reference
@pytest.mark.spec("05:DS-01")
def test_solar_flare_has_the_frequencies_of_the_literature(reference: Path) -> None:
    second = [load("solar_flare2")]
    both = [load("solar_flare1"), *second]
    assert frequencies(second, "zurich_class", "ABCDEFH") == [0, 147, 211, 239, 95, 43, 331]
    assert frequencies(both, "zurich_class", "ABCDEFH") == [0, 212, 287, 327, 116, 51, 396]
    assert frequencies(second, "largest_spot_size", "XRSAHK") == [145, 218, 414, 216, 27, 46]
    assert frequencies(both, "largest_spot_size", "XRSAHK") == [210, 256, 514, 277, 38, 94]
    assert frequencies(second, "spot_distribution", "XOIC") == [331, 477, 223, 35]
    assert frequencies(both, "spot_distribution", "XOIC") == [396, 627, 312, 54]
    protected = ["zurich_class", "largest_spot_size", "spot_distribution"]
    assert combinations(second, protected) == 48
    assert combinations(both, protected) == 52


@needs_reference
@pytest.mark.spec("05:DS-02")
@pytest.mark.parametrize(
    ("name", "records", "numeric"),
    [("census", 1080, 13), ("tarragona", 834, 13), ("eia", 4092, 13), ("pima_diabetes", 768, 8)],
)
def test_the_continuous_files_have_the_records_of_the_papers(
    reference: Path, name: str, records: int, numeric: int
) -> None:
    data = load(name)
    assert len(data) == records
    assert len(data.schema.of_kind("numeric")) == numeric
    for attribute in data.schema.of_kind("numeric"):
        assert not data.numbers(attribute).has_missing


@needs_reference
def test_water_treatment_has_380_complete_records(reference: Path) -> None:
    water = load("water_treatment")
    assert len(water) == 527
    assert len(water.native.drop_null()) == 380
    assert len(water.schema.of_kind("numeric")) == 38
