"""Where finished cells are kept: one SQLite file, one transaction for each cell, so that nothing finished is lost."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType

from microveil.errors import FileError
from microveil.randomness import check_seed, draw_seed
from microveil.study.cells import Cell
from microveil.study.measuring import Measured, Outcome

_MARK, _FORMAT = 0x4D766C73, 2  # how SQLite files say whose they are, and in which form
_CELLS = """
create table if not exists cells (
    digest text primary key, candidate text, repeat integer, seed text,
    measured text, reason text, seconds real
) without rowid
"""
_SECRET = "create table if not exists secret (seed text)"
_NOTES = "create table if not exists notes (about text primary key, told text) without rowid"


class Store:
    """The outcomes of cells by their digests. Without a path they stay in memory.

    The file holds numbers about releases and the seeds that make them, never a value of a record; only its owner can
    read it. Only one study works on it at a time. `secret` is drawn when the file is made: seeds are derived from it,
    so that a study which goes on later has the same ones.
    """

    secret: int

    def __init__(self, path: Path | None = None, *, fresh: bool = False) -> None:
        self.path = path
        with _errors_of(path):
            if path is not None and not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))  # seeds help to undo the masking
            elif path is not None:
                with suppress(OSError):  # of somebody else, who has to do it
                    path.chmod(0o600)
            self._open(fresh)

    def _open(self, fresh: bool) -> None:
        self._connection = _connected(self.path)
        self._connection.execute("pragma locking_mode = exclusive")
        with self._connection:
            self._connection.execute("begin exclusive")
            if not _is_readable(self._connection):
                for table in ("cells", "secret", "notes"):  # of another version: to be made again
                    self._connection.execute(f"drop table if exists {table}")
            self._connection.execute(f"pragma application_id = {_MARK}")
            self._connection.execute(f"pragma user_version = {_FORMAT}")
            self._connection.execute(_CELLS)
            self._connection.execute(_SECRET)
            self._connection.execute(_NOTES)
            if fresh:
                self._connection.execute("delete from notes")
                self._connection.execute("delete from cells")
                self._connection.execute("delete from secret")
            self.secret = self._kept_or_drawn()

    def _kept_or_drawn(self) -> int:
        kept = _secret(self._connection)
        if kept is None:
            kept = draw_seed()
            self._connection.execute("insert into secret values (?)", (hex(kept),))
        return kept

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def keep(self, cell: Cell, outcome: Outcome) -> None:
        """Keep an outcome; it is on the disk when this returns."""
        measured = None if outcome.measured is None else outcome.measured.to_json()
        identity = (cell.digest, cell.candidate.label, cell.repeat, hex(cell.seed))
        row = (*identity, measured, outcome.reason, outcome.seconds)
        try:
            with self._connection:
                self._connection.execute("insert or replace into cells values (?, ?, ?, ?, ?, ?, ?)", row)
        except sqlite3.Error as problem:
            raise FileError(self.path, f"cannot be written ({problem})") from None

    def note(self, about: str, told: str) -> None:
        """Keep what is to be remembered about something; it is on the disk when this returns."""
        try:
            with self._connection:
                self._connection.execute("insert or replace into notes values (?, ?)", (about, told))
        except sqlite3.Error as problem:
            raise FileError(self.path, f"cannot be written ({problem})") from None

    def noted(self, about: str) -> str | None:
        """What was kept about something, if anything."""
        kept = self._connection.execute("select told from notes where about = ?", (about,)).fetchone()
        return None if kept is None else str(kept[0])

    def outcomes(self, cells: Iterable[Cell]) -> dict[str, Outcome]:
        """What is known of these cells."""
        return _outcomes(self._connection, cells)

    def finished(self, cells: Iterable[Cell]) -> set[str]:
        """The digests of those that ended with numbers."""
        return _with_numbers(self.outcomes(cells))


def finished_in(path: Path, cells: Iterable[Cell]) -> set[str]:
    """The digests of the cells that a file has numbers of. Nothing in it changes, whatever form it has."""
    with _errors_of(path), closing(_connected(path)) as connection:
        connection.execute("pragma query_only = on")
        return _with_numbers(_outcomes(connection, cells)) if _is_readable(connection) else set()


def secret_in(path: Path) -> int | None:
    """The secret that a file keeps, if it has one in the form of this version. Nothing in it changes."""
    with _errors_of(path), closing(_connected(path)) as connection:
        connection.execute("pragma query_only = on")
        return _secret(connection) if _is_readable(connection) else None


def _secret(connection: sqlite3.Connection) -> int | None:
    kept = connection.execute("select seed from secret").fetchone()
    return None if kept is None else check_seed(kept[0])


def _connected(path: Path | None) -> sqlite3.Connection:
    return sqlite3.connect(":memory:" if path is None else path, timeout=1.0)


def _is_readable(connection: sqlite3.Connection) -> bool:
    """Whether it has cells in the form of this version; a file of somebody else is refused."""
    (mark,) = connection.execute("pragma application_id").fetchone()
    (form,) = connection.execute("pragma user_version").fetchone()
    (tables,) = connection.execute("select count(*) from sqlite_master").fetchone()
    if tables and mark != _MARK:
        raise sqlite3.DatabaseError
    return bool(tables) and form == _FORMAT


def _outcomes(connection: sqlite3.Connection, cells: Iterable[Cell]) -> dict[str, Outcome]:
    found = {}
    for cell in cells:
        row = connection.execute(
            "select measured, reason, seconds from cells where digest = ?", (cell.digest,)
        ).fetchone()
        if row is not None:
            measured, reason, seconds = row
            found[cell.digest] = Outcome(measured and Measured.from_json(measured), reason, seconds)
    return found


def _with_numbers(outcomes: dict[str, Outcome]) -> set[str]:
    return {digest for digest, outcome in outcomes.items() if outcome.measured is not None}


@contextmanager
def _errors_of(path: Path | None) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as problem:
        if "locked" in str(problem):
            raise FileError(path, "another study is at work on these results; wait for it, or stop it") from None
        raise FileError(path, f"cannot be used for results ({problem})") from None
    except sqlite3.DatabaseError:
        raise FileError(path, "is not a file of results of a study; choose another folder") from None
    except OSError as problem:
        raise FileError(path, f"cannot be used for results ({problem.strerror})") from None
