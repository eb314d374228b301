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
MANIFEST = "manifest"  # the new manifest, before it is in its place
COMPLETE = "complete"  # the new release, with nothing more to be written into it
REPLACED, REPLACED_MANIFEST = "replaced", "replaced-manifest"  # the earlier ones, while others take their places


def put_in_place(made: Path, folder: Path, path: Path, manifest: Path) -> None:
    """Move a folder and its manifest, `MANIFEST` of the scratch folder, to their places, in which earlier ones may be.

    Two names cannot be moved at once. The earlier release goes first and the new one comes last, so that what stands
    in between, also after a kill, is a manifest without a release: never a release beside the manifest of another, or
    beside none, with which the seed would be lost. What a kill left in between is put right by `put_right`.
    """
    new, old, old_manifest = folder / COMPLETE, folder / REPLACED, folder / REPLACED_MANIFEST
    os.replace(made, new)
    try:
        if path.exists():
            os.replace(path, old)
        if manifest.exists():
            os.replace(manifest, old_manifest)
        os.replace(folder / MANIFEST, manifest)
        os.replace(new, path)
    except BaseException:
        if new.exists() and not (folder / MANIFEST).exists():
            manifest.unlink(missing_ok=True)
        _put_back(folder, path, manifest)
        raise


def put_right(path: Path, manifest: Path) -> None:
    """Finish what killed processes left half moved to a path: where the new manifest was in its place already the
    release follows it, and otherwise the earlier ones come back. What they left in between is removed."""
    for left in _of_dead(path.parent, f"{_MARK}{path.name}-"):
        with suppress(OSError):
            if (left / COMPLETE).exists() and not (left / MANIFEST).exists():
                if manifest.exists() and not path.exists():
                    os.replace(left / COMPLETE, path)
            else:
                _put_back(left, path, manifest)
        shutil.rmtree(left, ignore_errors=True)


def _put_back(folder: Path, path: Path, manifest: Path) -> None:
    """Move an earlier release and its manifest back, where nothing has taken their places."""
    for old, place in ((folder / REPLACED_MANIFEST, manifest), (folder / REPLACED, path)):
        if old.exists() and not place.exists():
            os.replace(old, place)


@contextmanager
def scratch_beside(path: Path) -> Iterator[Path]:
    """An empty folder beside a path, for as long as the work takes."""
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
