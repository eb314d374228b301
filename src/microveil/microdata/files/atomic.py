"""Files are never half written: they are made beside their place and moved there when all of them are complete."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from microveil.errors import FileError, OutputExistsError

Writer = Callable[[Path], None]


def check_output(path: str | Path, *, force: bool) -> Path:
    """Whether a file may be written here; asked before any long work starts."""
    path = Path(path)
    if path.is_dir():
        raise FileError(path, "this is a folder; name a file")
    if path.exists() and not force:
        raise OutputExistsError(path)
    if not path.parent.is_dir():
        raise FileError(path, f"the folder '{path.parent}' does not exist")
    return path


def check_folder_path(path: str | Path) -> Path:
    """Whether a folder is or can be made here; asked before any long work starts."""
    path = Path(path)
    for part in (path, *path.parents):
        if os.path.isfile(part):
            raise FileError(part, "this is a file; name a folder")
    return path


def make_folder(path: str | Path) -> Path:
    """A folder for results, with those above it; one that exists already is taken as it is."""
    path = check_folder_path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(path, f"this folder cannot be made ({problem.strerror})") from None
    return path


def write_together(writers: dict[Path, Writer], *, force: bool) -> None:
    """Write several files so that either all of them appear or none."""
    targets = {check_output(path, force=force): writer for path, writer in writers.items()}
    staged: dict[Path, Path] = {}
    try:
        for target, writer in targets.items():
            # the ending stays: some writers choose the format by it
            staged[target] = target.with_name(f".{secrets.token_hex(6)}.unfinished.{target.name}")
            writer(staged[target])
        _move_all(staged)
    except OSError as problem:
        raise FileError(
            next(reversed(staged), next(iter(targets))), f"cannot be written ({problem.strerror or problem})"
        ) from None
    finally:
        for unfinished in staged.values():
            unfinished.unlink(missing_ok=True)


def _move_all(staged: dict[Path, Path]) -> None:
    """Move every file to its place; if one cannot be moved, what was there before comes back."""
    before: dict[Path, Path] = {}
    moved: list[Path] = []
    try:
        for target, unfinished in staged.items():
            if target.exists():
                before[target] = unfinished.with_name(unfinished.name + ".before")
                os.replace(target, before[target])
            os.replace(unfinished, target)
            moved.append(target)
    except BaseException:  # also when the user interrupts in this moment
        for target in moved:
            target.unlink(missing_ok=True)
        for target, kept in before.items():
            os.replace(kept, target)
        raise
    for kept in before.values():
        kept.unlink(missing_ok=True)


def write_text(path: str | Path, text: str, *, force: bool = False) -> None:
    """Write a text file at once."""
    write_together({Path(path): lambda unfinished: _put(unfinished, text)}, force=force)


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
