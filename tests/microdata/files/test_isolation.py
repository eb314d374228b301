"""Damaged files crash the process that reads them, never the one that asked."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from microveil.errors import FileError
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.files import isolation, read, write

TOWNS = Attribute(name="town", kind="nominal", missing="own category", label="Wohnort")
SEX = Attribute(name="sex", kind="nominal", missing="own category", value_labels={1: "men", 2: "women"})
PEOPLE = Microdata.of(pa.table({"sex": [1, 2, 1], "town": ["Graz", "Linz", "x" * 300]}), Schema([SEX, TOWNS]))


@pytest.fixture(params=["forked", "spawned"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both ways of starting the other process: a second thread makes a copy of this one unsafe."""
    if request.param == "forked":
        if threading.active_count() > 1:
            pytest.skip("other threads are at work in this process")
        yield "forked"
        return
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    yield "spawned"
    over.set()
    thread.join()


def damaged(path: Path, position: int, value: int) -> Path:
    content = bytearray(path.read_bytes())
    content[position] = value
    path.write_bytes(content)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(FileError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_on_which_the_library_crashes_is_refused(tmp_path: Path, way: str) -> None:
    path = tmp_path / "people.sav"
    write(PEOPLE, path)
    assert read(path).arrow("sex").to_pylist() == [1, 2, 1]
    # the labelled variable is made a text, which reads beyond its memory
    damaged(path, 180, 0x7F)
    assert refusal(path).endswith("in an unknown encoding: the library that reads it crashed")


def test_tables_and_descriptions_come_back_alike_from_both_ways(tmp_path: Path, way: str) -> None:
    for ending in ("sav", "zsav", "dta", "xlsx"):
        write(PEOPLE, tmp_path / f"people.{ending}")
        back = read(tmp_path / f"people.{ending}")
        assert back.arrow("town").to_pylist() == PEOPLE.arrow("town").to_pylist()
        assert back.arrow("sex").to_pylist() == [1, 2, 1]
        if ending != "xlsx":
            assert back["town"].label == "Wohnort"
            assert back["sex"].value_labels == {1: "men", 2: "women"}
    assert way == ("forked" if threading.active_count() == 1 else "spawned")


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xlsx"])
def test_bytes_changed_at_random_never_crash_this_process(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"people.{ending}"
    write(PEOPLE, path)
    good = path.read_bytes()
    for seed in range(25):
        chance = random.Random(seed)
        content = bytearray(good)
        for _ in range(chance.randint(1, 6)):
            content[chance.randrange(8, len(content))] = chance.choice([0, 1, 127, 128, 255])
        path.write_bytes(content[: chance.choice([len(content), len(content), chance.randrange(9, len(content))])])
        with suppress(FileError):
            read(path)


def sheet(path: Path, *cells: tuple[int, int, str]) -> Path:
    import xlsxwriter

    with xlsxwriter.Workbook(str(path)) as workbook:
        page = workbook.add_worksheet()
        for row, column, text in cells:
            page.write_string(row, column, text)
    return path


def test_a_sheet_whose_cells_lie_far_apart_is_refused(tmp_path: Path, way: str) -> None:
    path = sheet(tmp_path / "far.xlsx", (0, 0, "a"), (1_048_575, 16_383, "b"))
    assert path.stat().st_size < 6000
    assert "its cells lie so far apart that no memory holds the sheet" in refusal(path)


def test_a_workbook_that_unpacks_to_an_absurd_size_is_refused(tmp_path: Path) -> None:
    path = sheet(tmp_path / "bomb.xlsx", (0, 0, "a"))
    content = bytearray(path.read_bytes())
    size = content.index(b"PK\x01\x02") + 24  # what the archive's list says of its first part
    content[size : size + 4] = (2**31 - 1).to_bytes(4, "little")
    path.write_bytes(content)
    assert "would become 2,048 MB when it is unpacked, so it is no table" in refusal(path)


def test_reading_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    write(PEOPLE, tmp_path / "people.sav")
    monkeypatch.setattr(isolation, "_SECONDS", -1.0)
    monkeypatch.setattr(isolation, "_read", lambda *file, **options: time.sleep(60))  # a new interpreter is slow anyway
    assert "reading was given up after" in refusal(tmp_path / "people.sav")


def _no_copy() -> int:
    raise OSError


def test_a_limit_on_memory_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(size=20_000)
    write(Microdata.of(pa.table({f"x{i}": values + i for i in range(40)})), tmp_path / "t.sav")
    monkeypatch.setattr(isolation.os, "fork", _no_copy)  # which would have the free memory of this process
    monkeypatch.setattr(isolation, "_MEMORY", 0)
    monkeypatch.setattr(isolation, "_MEMORY_BY_BYTE", 0)
    assert refusal(tmp_path / "t.sav").endswith("there is not enough memory for this table")


def test_no_process_and_no_file_is_left_behind(tmp_path: Path, way: str) -> None:
    write(PEOPLE, tmp_path / "people.sav")
    read(tmp_path / "people.sav")
    damaged(tmp_path / "people.sav", 180, 0x7F)
    refusal(tmp_path / "people.sav")
    assert os.listdir(tmp_path) == ["people.sav"]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
