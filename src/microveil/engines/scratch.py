"""A folder for what is in between, beside the output: only its owner can read it, and it is gone when the work ends.

What a process that was killed has left there is removed by the next that writes to the same place.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from microveil.errors import FileError

_MARK = ".microveil-scratch-"
_TEMPORARY = "microveil-engine-"


@contextmanager
def scratch_beside(path: Path) -> Iterator[Path]:
    """An empty folder beside a path, for as long as the work takes."""
    _remove_of_dead(path.parent, f"{_MARK}{path.name}-")
    folder = path.parent / f"{_MARK}{path.name}-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
        yield folder
    except OSError as problem:
        raise _in_words(path, problem) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def moved_into_place(path: Path) -> Iterator[Path]:
    """A name to write to beside a path; what was written there is moved when it is complete, and never seen in part."""
    unfinished = path.parent / f".{path.name}-{secrets.token_hex(8)}"
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
    _remove_of_dead(Path(tempfile.gettempdir()), _TEMPORARY)
    with tempfile.TemporaryDirectory(prefix=f"{_TEMPORARY}{os.getpid()}-") as folder:
        yield Path(folder)


def _in_words(path: Path, problem: OSError) -> FileError:
    if problem.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(problem):
        return FileError(path, "there is no space left on the disk; nothing was released")
    return FileError(path, f"cannot be written ({problem.strerror or 'the disk does not answer'})")


def _remove_of_dead(folder: Path, beginning: str) -> None:
    """Remove the folders of processes that are no more."""
    with suppress(OSError):
        for left in folder.iterdir():
            process = left.name.removeprefix(beginning).split("-")[0]
            if left.name.startswith(beginning) and process.isdigit() and not _is_alive(int(process)):
                shutil.rmtree(left, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
