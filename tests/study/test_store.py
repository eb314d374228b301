"""What is finished stays finished, in a file that holds no value of any record."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from microveil.errors import FileError
from microveil.microdata import Microdata
from microveil.study import Design
from microveil.study.cells import Cell, unfold
from microveil.study.measuring import Measured, Outcome, Value
from microveil.study.store import Store, finished_in, secret_in

MEASURED = Measured((Value("loss", "il", "il", 0.1 + 0.2, None, None, {"age": 1 / 3}),), 1.5, 2.5, 2.0, 120, (3, 4))


@pytest.fixture
def cells(people: Microdata) -> tuple[Cell, ...]:
    design = Design.from_plain({"keys": ["age"], "method": [{"name": "mdav", "grid": {"k": [3, 5]}}]})
    return unfold(design, design.table(people))


def test_outcomes_come_back_to_the_last_digit(cells: tuple[Cell, ...], tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.keep(cells[0], Outcome(MEASURED, "", 1.25))
        store.keep(cells[1], Outcome(None, "it did not work", 0.5))
    with Store(tmp_path / "s.sqlite") as store:
        found = store.outcomes(cells)
        assert found[cells[0].digest] == Outcome(MEASURED, "", 1.25)
        assert found[cells[1].digest] == Outcome(None, "it did not work", 0.5)
        assert store.finished(cells) == {cells[0].digest}


def test_a_failed_cell_that_is_tried_again_and_ends_well_is_finished(cells: tuple[Cell, ...]) -> None:
    with Store() as store:
        store.keep(cells[0], Outcome(None, "no"))
        store.keep(cells[0], Outcome(MEASURED))
        assert store.finished(cells) == {cells[0].digest}


def test_a_note_is_kept_until_everything_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    with Store(path) as store:
        assert store.noted("a search") is None
        store.note("a search", "12")
        store.note("a search", "14")
    with Store(path) as store:
        assert (store.noted("a search"), store.noted("another")) == ("14", None)
    with Store(path, fresh=True) as store:
        assert store.noted("a search") is None


def test_fresh_forgets_what_was(cells: tuple[Cell, ...], tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.keep(cells[0], Outcome(MEASURED))
    with Store(tmp_path / "s.sqlite", fresh=True) as store:
        assert store.outcomes(cells) == {}


def test_the_file_is_for_its_owner_only_because_it_has_seeds(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite"):
        pass
    assert stat.S_IMODE((tmp_path / "s.sqlite").stat().st_mode) == 0o600


def test_the_secret_is_drawn_once_and_kept_until_everything_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        first = store.secret
    assert first > 2**100
    assert secret_in(path) == first
    with Store(path) as store:
        assert store.secret == first
    with Store(path, fresh=True) as store:
        assert store.secret != first
    with Store() as one, Store() as other:
        assert one.secret != other.secret


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path):
        pass
    path.chmod(0o644)
    with Store(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_large_seeds_of_cells_are_kept_exactly(cells: tuple[Cell, ...], tmp_path: Path) -> None:
    cell = replace(cells[0], seed=2**127 + 1)
    with Store(tmp_path / "s.sqlite") as store:
        store.keep(cell, Outcome(MEASURED))
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as connection:
        ((kept,),) = connection.execute("select seed from cells").fetchall()
    assert int(kept, 16) == 2**127 + 1


def test_a_second_study_on_the_same_file_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite"), pytest.raises(FileError, match="another study is at work"):
        Store(tmp_path / "s.sqlite")


def test_files_of_others_are_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text("this is not a database, but a long enough text to look at " * 20)
    before = text.read_bytes()
    with pytest.raises(FileError, match="is not a file of results"):
        Store(text)
    assert text.read_bytes() == before
    foreign = sqlite3.connect(tmp_path / "foreign.sqlite")
    with foreign:
        foreign.execute("create table cells (a)")
    foreign.close()
    with pytest.raises(FileError, match="is not a file of results"):
        Store(tmp_path / "foreign.sqlite", fresh=True)


def test_counting_refuses_files_of_others_and_those_at_work(cells: tuple[Cell, ...], tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("this is not a database, but a long enough text to look at " * 20)
    with pytest.raises(FileError, match="is not a file of results"):
        finished_in(tmp_path / "text.sqlite", cells)
    with Store(tmp_path / "s.sqlite"), pytest.raises(FileError, match="another study is at work"):
        finished_in(tmp_path / "s.sqlite", cells)


def test_a_place_where_nothing_can_be_kept_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be used for results"):
        Store(tmp_path / "none" / "s.sqlite")


def test_results_in_another_form_are_made_again(cells: tuple[Cell, ...], tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.keep(cells[0], Outcome(MEASURED))
    assert finished_in(tmp_path / "s.sqlite", cells) == {cells[0].digest}
    older = sqlite3.connect(tmp_path / "s.sqlite")
    older.execute("pragma user_version = 0")
    older.commit()
    older.close()
    before = (tmp_path / "s.sqlite").read_bytes()
    assert finished_in(tmp_path / "s.sqlite", cells) == set()  # counting changes nothing, a study that starts does
    assert (tmp_path / "s.sqlite").read_bytes() == before
    with Store(tmp_path / "s.sqlite") as store:
        assert store.outcomes(cells) == {}
