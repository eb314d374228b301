"""SPSS and Stata files: labels, missing codes and measurement levels survive the way there and back."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from microveil.errors import FileError
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.files import read, write
from microveil.microdata.files.labelled.extended_missing import letter_of, number_of


def nominal(name: str, **values: Any) -> Attribute:
    return Attribute(name=name, kind="nominal", missing="own category", **values)


@pytest.fixture
def survey() -> Microdata:
    """Codes with labels, missing codes and a range, unicode, long text, missing cells."""
    schema = Schema(
        [
            nominal(
                "sex",
                label="Geschlecht ♀",
                value_labels={1: "Männer", 2: "Frauen", -9: "weiß nicht"},
                missing_codes=(-9,),
            ),
            Attribute(name="school", kind="ordinal", missing="own category", value_labels={1: "low", 2: "high"}),
            Attribute(name="income", kind="numeric", missing_codes=(-7,), missing_ranges=((-99.0, -90.0),), label="€"),
            nominal("town", label="Wohnort"),
            nominal("code", missing_codes=("??",), value_labels={"a": "first"}),
        ]
    )
    columns = {
        "sex": [1, 2, -9, None],
        "school": [2, 1, 2, 1],
        "income": [1.5, -95.0, -7.0, None],
        "town": ["Łódź", "x" * 3000, None, "y"],
        "code": ["a", "b", "??", None],
    }
    return Microdata.of(pa.table(columns), schema)


@pytest.fixture
def stata_survey() -> Microdata:
    a, b, z = number_of("a"), number_of("b"), number_of("z")
    schema = Schema(
        [
            Attribute(
                name="x", kind="numeric", label="Größe", missing_codes=(a, b, z), value_labels={a: "keine", b: "ö"}
            ),
            nominal("n", value_labels={1: "eins", 5: "fünf"}),
            nominal("t"),
        ]
    )
    columns = {"x": [1.5, a, z, None, 2.0], "n": [1, 2, 5, None, 1], "t": ["é" * 3000, None, "b", "Łódź", "e"]}
    return Microdata.of(pa.table(columns), schema)


@pytest.mark.parametrize("ending", [".sav", ".zsav"])
def test_spss_gives_back_what_it_was_given(survey: Microdata, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"survey{ending}"
    write(survey, path)
    back = read(path)
    assert back.schema == survey.schema
    assert back.native.equals(survey.native)
    assert back.origin is not None
    assert back.origin.format == "spss"


def test_stata_gives_back_what_it_was_given(stata_survey: Microdata, tmp_path: Path) -> None:
    write(stata_survey, tmp_path / "survey.dta")
    back = read(tmp_path / "survey.dta")
    assert back.schema == stata_survey.schema
    assert back.native.equals(stata_survey.native)


def test_the_missing_letters_are_letters_in_stata(stata_survey: Microdata, tmp_path: Path) -> None:
    write(stata_survey, tmp_path / "survey.dta")
    cells, meta = pyreadstat.read_dta(str(tmp_path / "survey.dta"), user_missing=True, output_format="dict")
    assert cells["x"] == [1.5, "a", "z", None, 2.0]
    assert meta.variable_value_labels["x"] == {"a": "keine", "b": "ö"}


def test_letters_are_missing_numbers(stata_survey: Microdata, tmp_path: Path) -> None:
    write(stata_survey, tmp_path / "survey.dta")
    assert read(tmp_path / "survey.dta").numbers("x").state.tolist() == [0, 2, 4, 1, 0]


def test_the_letters_are_statas_own_doubles() -> None:
    assert number_of("a").hex() == "0x1.0010000000000p+1023"
    assert number_of("z").hex() == "0x1.01a0000000000p+1023"
    assert letter_of(1.0) is None


def test_other_missing_codes_get_free_letters_in_stata(tmp_path: Path) -> None:
    attribute = Attribute(
        name="x", kind="numeric", missing_codes=(-9, -8), missing_ranges=((90.0, 99.0),), value_labels={-9: "refused"}
    )
    write(Microdata.of(pa.table({"x": [1.0, -9.0, -8.0, 95.0]}), Schema([attribute])), tmp_path / "t.dta")
    cells, meta = pyreadstat.read_dta(str(tmp_path / "t.dta"), user_missing=True, output_format="dict")
    assert cells["x"] == [1.0, "a", "b", "c"]
    assert meta.variable_value_labels["x"] == {"a": "refused", "b": "-8", "c": "90 to 99"}


@pytest.mark.parametrize("ending", [".sav", ".zsav"])
def test_an_spss_file_does_not_tell_when_it_was_written(survey: Microdata, tmp_path: Path, ending: str) -> None:
    write(survey, tmp_path / f"one{ending}")
    write(survey, tmp_path / f"two{ending}")
    content = (tmp_path / f"one{ending}").read_bytes()
    assert content == (tmp_path / f"two{ending}").read_bytes()
    assert content[92:109] == b"01 Jan 7000:00:00"


def test_a_stata_file_does_not_tell_when_it_was_written(stata_survey: Microdata, tmp_path: Path) -> None:
    write(stata_survey, tmp_path / "one.dta")
    write(stata_survey, tmp_path / "two.dta")
    content = (tmp_path / "one.dta").read_bytes()
    assert content == (tmp_path / "two.dta").read_bytes()
    assert b"<timestamp>\x1101 Jan 1960 00:00</timestamp>" in content


def test_files_are_the_same_whether_pandas_or_polars_helps(
    survey: Microdata, stata_survey: Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(survey, tmp_path / "pandas.sav")
    write(stata_survey, tmp_path / "pandas.dta")
    monkeypatch.setitem(sys.modules, "pandas", None)
    write(survey, tmp_path / "polars.sav")
    write(stata_survey, tmp_path / "polars.dta")
    assert (tmp_path / "pandas.sav").read_bytes() == (tmp_path / "polars.sav").read_bytes()
    assert (tmp_path / "pandas.dta").read_bytes() == (tmp_path / "polars.dta").read_bytes()


def test_without_the_package_one_sentence_says_what_to_install(
    survey: Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(FileError, match=r'pip install "microveil\[files\]"'):
        write(survey, tmp_path / "t.sav")


def test_the_measurement_level_gives_the_kind(tmp_path: Path) -> None:
    frame = pd.DataFrame({name: [1.0, 2.0] for name in ("scale", "nominal", "ordinal", "labelled", "coded", "plain")})
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "t.sav"),
        variable_value_labels={"labelled": {1.0: "one"}, "coded": {-9.0: "unknown"}, "scale": {1.0: "one"}},
        missing_ranges={"coded": [-9.0]},
        variable_measure={name: name for name in ("scale", "nominal", "ordinal")},
    )
    kinds = {attribute.name: attribute.kind for attribute in read(tmp_path / "t.sav").schema}
    assert kinds == {
        "scale": "numeric",
        "nominal": "nominal",
        "ordinal": "ordinal",
        "labelled": "nominal",
        "coded": "numeric",
        "plain": "numeric",
    }


def test_what_the_user_says_wins_over_the_file(survey: Microdata, tmp_path: Path) -> None:
    write(survey, tmp_path / "t.sav")
    said = Attribute(name="sex", kind="ordinal", domain=(2, 1))
    back = read(tmp_path / "t.sav", schema=Schema([said]), keys=["school"])
    assert back["sex"] == said
    assert back["town"].label == "Wohnort"
    assert back.schema.keys == ("school",)


def test_dates_become_iso_text(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"d": [date(2020, 1, 31), None]}), str(tmp_path / "t.sav"))
    assert read(tmp_path / "t.sav").native.to_pydict() == {"d": ["2020-01-31", None]}


def test_sas_transport_files_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({"X": [1.0, 2.5], "T": ["a", "b"]})
    pyreadstat.write_xport(frame, str(tmp_path / "t.xpt"), column_labels=["label of x", None])
    data = read(tmp_path / "t.xpt")
    assert data.native.to_pydict() == {"X": [1.0, 2.5], "T": ["a", "b"]}
    assert data["X"].label == "label of x"


def test_spss_portable_files_are_read(tmp_path: Path) -> None:
    pyreadstat.write_por(pd.DataFrame({"X": [1.0, 2.5]}), str(tmp_path / "t.por"))
    assert read(tmp_path / "t.por").native.to_pydict() == {"X": [1.0, 2.5]}


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_truncated_file_is_refused(survey: Microdata, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    write(survey, path)
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(FileError, match="damaged"):
        read(path)


@pytest.mark.parametrize(
    ("name", "columns", "attribute", "words"),
    [
        ("t.sav", {"a b": [1]}, None, "SPSS names"),
        ("t.sav", {"a": [1], "A": [1]}, None, "does not distinguish it from"),
        ("t.sav", {"a": ["x" * 40_000]}, None, "32,767"),
        ("t.sav", {"a": [2**60 + 1]}, None, "2\\^53"),
        ("t.sav", {"a": [1]}, Attribute(name="a", kind="numeric", missing_codes=(1, 2, 3, 4)), "three missing codes"),
        ("t.dta", {"1a": [1]}, None, "Stata names"),
        ("t.dta", {"a": [float("inf")]}, None, "too large for Stata"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_by_column(
    tmp_path: Path, name: str, columns: dict[str, list[Any]], attribute: Attribute | None, words: str
) -> None:
    data = Microdata.of(pa.table(columns), Schema([attribute]) if attribute else None)
    with pytest.raises(FileError, match=words) as caught:
        write(data, tmp_path / name)
    assert caught.value.column in columns
    assert list(tmp_path.iterdir()) == []
