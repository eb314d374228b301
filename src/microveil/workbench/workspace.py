"""The folder in which the workbench keeps everything: events and results in SQLite, tables in files beside it.

Every action is an event that is written before it is answered, so that a restart shows what was there. The server alone
writes to the database; workers write files under names of their own, which count only once an event speaks of them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from microveil.applications import FileError

_DATABASE = "history.sqlite"
_OWN = (_DATABASE, f"{_DATABASE}-wal", f"{_DATABASE}-shm", "tables", "releases", "exports", "uploads", "explorations")
_NAME = re.compile(r"[a-z][a-z0-9]{0,31}\Z")
_TABLES = """
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, content TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, content TEXT NOT NULL);
"""


def default_folder() -> Path:
    """Where the workspace is unless the user says otherwise: the place of the system for what programs keep."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or home / ".local" / "state")
    return base / "microveil" / "workbench"


class Places:
    """Where the files of a workspace lie. Names come from the workbench itself, and any other is refused."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()

    def table(self, name: str) -> Path:
        """The folder of a loaded table: the file as it was given, and its records as Parquet for paging."""
        return self._of("tables", name)

    def release(self, name: str) -> Path:
        """The folder of the release that a step made."""
        return self._of("releases", name)

    def export(self, name: str) -> Path:
        """The folder of what was exported."""
        return self._of("exports", name)

    def exploration(self, name: str) -> Path:
        """The folder in which a study or a search keeps what it has measured."""
        return self._of("explorations", name)

    def upload(self, name: str) -> Path:
        """Where a file lies that is being sent."""
        return self._of("uploads", name)

    def _of(self, shelf: str, name: str) -> Path:
        if not _NAME.match(name):
            raise FileError(self.folder / shelf, "has nothing of this name")
        return self.folder / shelf / name


class Workspace(Places):
    """An open workspace. Only one workbench at a time has it open; what others than its owner could read is refused."""

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        self._lock = threading.RLock()
        self._open()

    def _open(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            strangers = [path.name for path in self.folder.iterdir() if path.name not in _OWN]
            if strangers and not (self.folder / _DATABASE).exists():
                raise FileError(self.folder, "has other files in it; choose a new or empty folder for the workspace")
            self.folder.chmod(0o700)
        except OSError as problem:
            raise FileError(self.folder, f"cannot be used as a workspace ({problem.strerror})") from None
        try:
            # what is on the disk after a commit stays there, also if the machine goes off
            self._database = sqlite3.connect(
                self.folder / _DATABASE, timeout=1.0, isolation_level=None, check_same_thread=False
            )
            for line in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
                self._database.execute(f"PRAGMA {line}").fetchall()
            self._database.executescript(_TABLES)
        except sqlite3.OperationalError as problem:
            told = "is in use by another workbench" if "locked" in str(problem) else "cannot be opened as a workspace"
            raise FileError(self.folder, told) from None
        except sqlite3.DatabaseError:
            raise FileError(self.folder / _DATABASE, "is damaged or is not a history of the workbench") from None

    def append(self, kind: str, content: dict[str, Any]) -> int:
        """Write an event; it is on the disk when this returns."""
        with self._lock:
            written = self._database.execute(
                "INSERT INTO events (time, kind, content) VALUES (?, ?, ?)", (time.time(), kind, json.dumps(content))
            )
            return written.lastrowid or 0

    def events(self) -> Iterator[tuple[int, float, str, dict[str, Any]]]:
        """All events in the order in which they happened."""
        with self._lock:
            rows = self._database.execute("SELECT number, time, kind, content FROM events ORDER BY number").fetchall()
        for number, when, kind, content in rows:
            yield number, when, kind, json.loads(content)

    def keep(self, key: str, result: Any) -> None:
        """Keep what was computed, so that it need not be computed again."""
        with self._lock:
            self._database.execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (key, json.dumps(result)))

    def result(self, key: str) -> Any:
        """What was kept under a key, if anything."""
        with self._lock:
            found = self._database.execute("SELECT content FROM results WHERE key = ?", (key,)).fetchone()
        return None if found is None else json.loads(found[0])

    def results(self, beginning: str) -> dict[str, Any]:
        """Everything kept under keys with this beginning."""
        with self._lock:
            rows = self._database.execute(
                "SELECT key, content FROM results WHERE substr(key, 1, ?) = ? ORDER BY key", (len(beginning), beginning)
            ).fetchall()
        return {key: json.loads(content) for key, content in rows}

    def remove_everything(self) -> None:
        """Delete all tables, releases, exports and the history; an empty workspace remains."""
        with self._lock:
            self._database.close()
            for name in _OWN:
                path = self.folder / name
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
            self._open()

    def close(self) -> None:
        with self._lock:
            self._database.close()
