"""The log of questions: every line is on the disk before its answer leaves, and none is ever changed.

A line holds the SHA-256 of all before it. Of a log whose last line was cut off by a crash, that line is dropped: its
answer was never given. The log holds the secret key of the random numbers, so only its owner can read it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from microveil.errors import FileError

_KIND = "microveil queries"
_VERSION = 1


class Log:
    """The lines, in memory or in a file. `key` is the secret of the server they belong to."""

    def __init__(self, path: str | Path | None, *, data: str, key: str | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.entries: list[dict[str, Any]] = []
        self._chain = ""
        self._file: BinaryIO | None = None
        self._broken: FileError | None = None
        try:
            if self.path is not None:
                self._open()
            self.key = self._begun(data, key)
        except BaseException:
            self.close()
            raise

    def _begun(self, data: str, key: str | None) -> str:
        """The key of this log, which begins here if it is new."""
        head = self._head()
        if head is None:
            drawn = secrets.token_hex(32) if key is None else key
            self.append({"log": _KIND, "version": _VERSION, "data": data, "key": drawn})
            return drawn
        if [entry["data"] for entry in self.entries if "data" in entry][-1] != data:
            raise FileError(self.path, "this log belongs to another table; questions about two tables have two logs")
        if key is not None and key != head["key"]:
            raise FileError(self.path, "this log belongs to another key")
        return str(head["key"])

    def _head(self) -> dict[str, Any] | None:
        if not self.entries:
            return None
        head = self.entries[0]
        if head.get("log") != _KIND or head.get("version") != _VERSION or not isinstance(head.get("key"), str):
            raise FileError(self.path, "this is not a log of questions")
        return head

    def _open(self) -> None:
        """Take the file for this process alone and read what is in it."""
        assert self.path is not None
        try:
            number = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as problem:
            raise FileError(self.path, f"the log cannot be opened ({problem.strerror})") from None
        file = self._file = os.fdopen(number, "r+b")
        with suppress(ImportError):
            import fcntl

            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                raise FileError(self.path, "another process is using this log") from None
        whole = 0
        for line in file:
            if not line.endswith(b"\n"):
                break  # cut off by a crash
            self._take(line)
            whole += len(line)
        file.seek(whole)
        file.truncate()

    def _take(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
            told = entry.pop("chain")
        except (ValueError, KeyError, AttributeError, TypeError):
            raise FileError(self.path, "this is not a log of questions", line=len(self.entries) + 1) from None
        self._chain = self._linked(entry)
        if told != self._chain:
            raise FileError(self.path, "this log was changed", line=len(self.entries) + 1)
        self.entries.append(entry)

    def _linked(self, entry: Mapping[str, Any]) -> str:
        return hashlib.sha256(f"{self._chain}\n{_text(entry)}".encode()).hexdigest()

    def append(self, entry: dict[str, Any]) -> None:
        """Add a line; when this returns, it is on the disk."""
        if self._broken is not None:
            raise self._broken
        self._chain = self._linked(entry)
        self.entries.append(entry)
        if self._file is not None:
            try:
                self._file.write(f"{_text({**entry, 'chain': self._chain})}\n".encode())
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError as problem:
                # a line after one that is missing, or written in part, would make the whole log worthless
                self._broken = FileError(
                    self.path, f"the log cannot be written ({problem.strerror}), so nothing is answered"
                )
                raise self._broken from None

    def changed(self, data: str) -> None:
        """From here on, questions are about a table that has changed."""
        self.append({"data": data})

    @property
    def version(self) -> str:
        """The digest of the table that questions are about, if it has changed; else an empty text."""
        return next((entry["data"] for entry in reversed(self.entries[1:]) if "data" in entry), "")

    def questions(self) -> Iterator[dict[str, Any]]:
        """The lines about questions on the table as it is now."""
        begin = max(number for number, entry in enumerate(self.entries) if "data" in entry)
        return (entry for entry in self.entries[begin:] if "asked" in entry)

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # what could not be written is not written now
                self._file.close()
            self._file = None


def _text(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True, allow_nan=False)
