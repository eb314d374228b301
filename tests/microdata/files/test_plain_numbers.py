"""The quick way to read a column of plain numbers, against reading every cell by its pattern."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import FileError
from microveil.microdata.files import read
from microveil.microdata.files.delimited import reader, type_inference
from microveil.microdata.files.delimited.plain_numbers import plain_decimals, plain_whole_numbers
from microveil.microdata.files.delimited.type_inference import to_numbers

WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
NUMBER = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


WORDS = ("", "NA", "NaN", "nan", "N/A", "null", "NULL", ".", '""', " NA ", " ")
ODD = (
    *(
        "007",
        "00.5",
        "-00",
        "+5",
        "+0.5",
        "-0",
        "-0.0",
        "0x1F",
        "0xfffffff",
        "1_000",
        "1 000",
        "1,5",
        "1.5",
        ".5",
        "5.",
    ),
    *("-.5", "1e5", "1E-3", "1e400", "1e-400", "1e", "--1", "1-2", "-", "+", "inf", "-Infinity", "1.2.3", "1,2,3"),
    *("9007199254740993", "9007199254740993.0", "9223372036854775807", "-9223372036854775808", "9223372036854775808"),
    *("2024-05-31", "2024-02-31", "2024-05-31 08:30:00", "é", "x", "5 inch", "0.1000000000000000055511151231257827"),
)


def column_cells() -> st.SearchStrategy[list[str]]:
    """The cells that a column draws from: mostly of one form, as columns are, with an odd one or not."""
    whole = st.integers(-(10**6), 10**6).map(str) | st.integers(-(2**63), 2**63 - 1).map(str)
    fractions = st.floats(allow_nan=False, allow_infinity=False).map(repr)
    places = st.integers(-(10**5), 10**5).map(lambda number: f"{number / 100:.2f}")
    usual = st.sampled_from([whole, places, fractions, st.sampled_from(("a", "b", "ä ö"))])
    cells = usual.flatmap(lambda form: st.lists(form, min_size=1, max_size=6))
    return st.builds(
        lambda *parts: [cell for part in parts for cell in part],
        cells,
        st.just([]) | st.lists(st.sampled_from(WORDS), max_size=2),
        st.just([]) | st.lists(st.sampled_from(ODD), max_size=2),
    )


@dataclass(frozen=True)
class Sample:
    """A file and how it is asked for."""

    content: bytes
    options: dict[str, Any]


@st.composite
def samples(draw: Callable[..., Any]) -> Sample:
    """Files of a few columns, mostly regular."""
    delimiter = draw(st.sampled_from(",;\t|"))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    columns = [draw(column_cells()) for _ in range(draw(st.integers(1, 4)))]
    if draw(st.booleans()) and delimiter != ",":
        columns = [[cell.replace(".", ",") for cell in cells] for cells in columns]
    names = [f"c{i}" for i in range(len(columns))]
    headers = draw(st.sampled_from([names, names, names, [*names[:-1], "c0"], [*names[:-1], ""]]))
    length = draw(st.integers(0, 40))
    rows = [[_quoted(draw, draw(st.sampled_from(cells)), delimiter) for cells in columns] for _ in range(length)]
    lines = [delimiter.join(headers), *(delimiter.join(row) for row in rows)]
    if draw(st.integers(0, 5)) == 0:
        odd = draw(st.sampled_from(["", "1", '"x', delimiter * 5, '"a\nb"', "\0"]))
        lines.insert(draw(st.integers(1, len(lines))), odd)
    declared = draw(st.sampled_from([{}, {}, {"numeric": ["c0"]}]))
    asked = draw(st.sampled_from([{}, {}, {"decimal": "."}, {"delimiter": delimiter}, {"neutralised": True}]))
    content = (end.join(lines) + draw(st.sampled_from([end, ""]))).encode(encoding, "replace")
    return Sample(content, {**declared, **asked})


def _quoted(draw: Callable[..., Any], cell: str, delimiter: str) -> str:
    """With quotes where the delimiter needs them, and now and then where nothing does."""
    if delimiter in cell:
        return f'"{cell}"'
    if '"' not in cell and draw(st.integers(0, 30)) == 0:
        return str(draw(st.sampled_from([f'"{cell}"', f'"{cell}""\n"', f'{cell}" pipe'])))
    return cell


def found_in(sample: Sample, chunk: int) -> tuple[Any, ...]:
    """All that reading a file tells, or how it is refused."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "CHUNK", chunk)
        path = Path(folder) / "table.csv"
        path.write_bytes(sample.content)
        try:
            data = read(path, **sample.options)
        except FileError as problem:
            return str(problem).replace(folder, ""), problem.line, problem.column
        table = data.native
        # as texts, for NaN is not NaN and 0.0 is -0.0
        cells = [list(map(repr, column.to_pylist())) for column in table.columns]
        assert data.origin is not None
        origin = data.origin.delimiter, data.origin.encoding, data.origin.decimal
        return table.column_names, table.schema.types, cells, data.schema, origin


@settings(max_examples=120, deadline=None)
@given(samples(), st.sampled_from([80, 1 << 20]))
def test_a_file_is_read_as_if_every_number_was_looked_at(sample: Sample, chunk: int) -> None:
    quick = found_in(sample, chunk)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type_inference, "plain_whole_numbers", lambda cells: None)
        patch.setattr(type_inference, "plain_decimals", lambda cells, mark: None)
        careful = found_in(sample, 1 << 20)
    assert quick == careful


def test_a_column_that_turns_out_to_be_text_is_read_again(tmp_path: Path) -> None:
    """Numbers, then a word, a mark or a zero that makes the column text: each cell stays as it was written."""
    lines = [f"{i},{i}.50,{i / 7!r},{i}" for i in range(1, 60_000)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d", *lines, "x,01.50,0x1F,5"]) + "\n")
    table = read(tmp_path / "t.csv").native
    assert table.schema.types == [pa.string()] * 3 + [pa.int64()]
    columns = zip(*(line.split(",") for line in lines), strict=True)
    assert [column.to_pylist()[:-1] for column in table.columns[:3]] == [list(column) for column in columns][:3]


def test_whole_numbers_before_fractions_become_what_they_would_be_among_them(tmp_path: Path) -> None:
    lines = [str(i) for i in range(200_000)]
    (tmp_path / "t.csv").write_text("\n".join(["a", "-0", "9007199254740992", *lines, "0.5"]) + "\n")
    values = read(tmp_path / "t.csv").native["a"].to_numpy()
    assert np.signbit(values[0])
    assert values[1] == 2.0**53
    assert values[2:].tolist() == [*map(float, range(200_000)), 0.5]


def test_numbers_and_then_dates_in_a_numeric_attribute_are_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "1,x\n" * 300_000 + "2024-05-31,x\n")
    with pytest.raises(FileError) as caught:
        read(tmp_path / "t.csv", numeric=["a"])
    assert (caught.value.line, caught.value.column) == (300_002, "a")


def cells_of(texts: list[str | None]) -> pa.Array:
    return pa.array(texts, type=pa.string())


@settings(max_examples=300, deadline=None)
@given(st.lists(st.none() | st.sampled_from((*WORDS, *ODD)) | column_cells().map(lambda cells: cells[0]), max_size=5))
def test_what_is_told_at_once_is_told_of_each_cell(texts: list[str | None]) -> None:
    present = [text for text in texts if text is not None]
    whole = plain_whole_numbers(cells_of(texts))
    if whole is not None:
        assert all(map(WHOLE.fullmatch, present))
        assert whole.to_pylist() == [None if text is None else int(text) for text in texts]
    else:
        plain = all(WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63 and text != "-0" for text in present)
        assert not plain or not present
    numbers = plain_decimals(cells_of(texts), ".")
    if numbers is not None:
        assert all(map(NUMBER.fullmatch, present))
        assert not all(map(WHOLE.fullmatch, present))
        assert list(map(repr, numbers.to_pylist())) == [repr(None if text is None else float(text)) for text in texts]
    elif present and all(map(NUMBER.fullmatch, present)):
        whole_texts = [text for text in present if WHOLE.fullmatch(text)]
        assert len(whole_texts) == len(present) or any(len(text) > 15 for text in present)


@pytest.mark.parametrize(
    "texts", [["0x1F", "6"], ["0xF", "010"], ["007"], ["-0"], ["1", ""], [" 1"], ["1.0"], ["9" * 19], ["é"], ["1-2"]]
)
def test_other_forms_are_no_plain_whole_numbers(texts: list[str]) -> None:
    assert plain_whole_numbers(cells_of(texts)) is None


@pytest.mark.parametrize(
    "texts",
    [
        ["00.5"],
        ["1.5", "-01.5"],
        ["+5", "6.5"],
        ["1e+5", "+5"],
        ["nan", "1.5"],
        ["inf", "1.5"],
        ["1", "2"],
        ["1,5"],
        ["9007199254740993", "0.5"],
        ["1.5", ""],
        ["0.5", "0x1p3"],
    ],
)
def test_other_forms_are_no_plain_decimals(texts: list[str]) -> None:
    assert plain_decimals(cells_of(texts), ".") is None


def test_a_decimal_comma_is_one_mark_of_two() -> None:
    assert plain_decimals(cells_of(["1,5", "2", None]), ",").to_pylist() == [1.5, 2.0, None]
    assert plain_decimals(cells_of(["1,5", "2.5"]), ",") is None
    assert plain_decimals(cells_of(["0,5", "1.500,25"]), ",") is None


def test_cells_of_a_part_of_a_column_are_its_own() -> None:
    cells = cells_of(["007", "1.5", "12", "-3", "0.25", "x"])
    assert plain_whole_numbers(cells[2:4]).to_pylist() == [12, -3]
    assert plain_decimals(cells[1:5], ".").to_pylist() == [1.5, 12.0, -3.0, 0.25]


def test_missing_words_leave_no_bytes_behind() -> None:
    tidy = type_inference.tidy_cells(cells_of([" 12", "NA", None, ".", "3 "]))
    assert plain_whole_numbers(tidy).to_pylist() == [12, None, None, None, 3]
    assert to_numbers(cells_of(["+1,50", "NA"]), pa.float64(), ",").to_pylist() == [1.5, None]
