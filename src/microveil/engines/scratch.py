"""A folder for what is in between, beside the output: only its owner can read it, and it is gone when the work ends.

What a process that was killed has left there is removed by the next that writes to the same place.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from microveil.errors import FileError
from microveil.microdata.files.atomic import is_running

_MARK = ".microveil-scratch-"
_TEMPORARY = "microveil-engine-"
_HOST = re.sub(r"[^0-9A-Za-z]", "", platform.node()) or "here"  # a folder may be shared by several machines
REPLACED = "replaced"  # where an earlier release is while another takes its place


@contextmanager
def scratch_beside(path: Path) -> Iterator[Path]:
    """An empty folder beside a path, for as long as the work takes."""
    for left in _of_dead(path.parent, f"{_MARK}{path.name}-"):
        with suppress(OSError):
            if (left / REPLACED).exists() and not path.exists():  # killed between two moves
                os.replace(left / REPLACED, path)
        shutil.rmtree(left, ignore_errors=True)
    folder = path.parent / f"{_MARK}{path.name}-{_HOST}-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
        yield folder
    except OSError as problem:
        raise _in_words(path, problem) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def moved_into_place(path: Path, folder: Path | None = None) -> Iterator[Path]:
    """A name to write to, in a folder or beside the path; what was written there is moved when it is complete, and is
    never seen in part."""
    unfinished = (folder or path.parent) / f".{path.name}-{secrets.token_hex(8)}"
    try:
        yield unfinished
        os.replace(unfinished, path)
    except OSError as problem:
        raise _in_words(path, problem) from None
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """An empty folder for copies of records and for what does not fit into memory, readable by its owner alone.

    Those that killed processes have left are removed first.
    """
    for left in _of_dead(Path(tempfile.gettempdir()), _TEMPORARY):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_TEMPORARY}{_HOST}-{os.getpid()}-") as folder:
        yield Path(folder)


def _in_words(path: Path, problem: OSError) -> FileError:
    if problem.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(problem):
        return FileError(path, "there is no space left on the disk; nothing was released")
    return FileError(path, f"cannot be written ({problem.strerror or 'the disk does not answer'})")


def _of_dead(folder: Path, beginning: str) -> Iterator[Path]:
    """The folders that processes of this machine have left which are no more."""
    pattern = re.compile(rf"{re.escape(beginning)}{re.escape(_HOST)}-(\d+)-[0-9a-z_]+")
    with suppress(OSError):
        for left in folder.iterdir():
            found = pattern.fullmatch(left.name)
            if found and not is_running(int(found[1])):
                yield left
