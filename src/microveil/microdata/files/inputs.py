"""Checks of input files: no pipes or devices, and at most a certain size where a file is read at once."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from pathlib import Path

from microveil.errors import FileError

MOST_BYTES = 256 << 20  # of a schema, a plan, a manifest, a hierarchy or a matrix
_OTHERS = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a disk"))


def check_regular(path: Path) -> None:
    """Whether this is a file that is there and has an end; asked before it is opened, for a pipe makes one wait."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise FileError(path, "there is no such file") from None
    except OSError as problem:
        raise unreadable(path, problem) from None
    except ValueError:
        raise FileError(repr(str(path)), "no file can have this name") from None
    if stat.S_ISDIR(mode):
        raise FileError(path, "this is a folder; name a file")
    if not stat.S_ISREG(mode):
        kind = next((words for is_it, words in _OTHERS if is_it(mode)), "no file")
        raise FileError(path, f"this is {kind}; save its content to a file and name that")


def unreadable(path: Path, problem: OSError) -> FileError:
    """The error of a file that the system does not let one read."""
    denied = "you do not have the permission to read it"
    reason = denied if isinstance(problem, PermissionError) else f"cannot be read ({problem.strerror or problem})"
    return FileError(path, reason)


def read_text(path: str | Path, most: int = MOST_BYTES) -> str:
    """The UTF-8 text of a small file, unpacked if its name ends in .gz."""
    path = Path(path)
    try:
        check_regular(path)
    except FileError as problem:
        raise FileError(path, f"cannot be read ({problem.problem})") from None
    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
            content = file.read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise FileError(path, "the gzip archive is damaged or cut off; fetch it again") from None
    except OSError as problem:
        raise FileError(path, f"cannot be read ({problem.strerror or problem})") from None
    if len(content) > most:
        raise FileError(path, f"is larger than {most >> 20:,} MB, so it is not what it should be")
    return content.decode("utf-8-sig")
