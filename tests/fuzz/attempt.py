"""One attempt: files that lie in a folder, what is done with them, and what may be different afterwards."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Attempt:
    """`act` is tried; `outputs` are the files and folders that it may write; `told` says what it is, for a reader."""

    told: str
    act: Callable[[], object]
    outputs: tuple[str, ...] = ()


Maker = Callable[[random.Random, Path], Attempt]


class Finding(Exception):  # noqa: N818 - it is the purpose of the search
    """Something that must not happen and is no exception by itself."""


def contents(folder: Path) -> dict[str, str]:
    """Every file below a folder with a digest of its bytes."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def check_folder(before: dict[str, str], after: dict[str, str], outputs: tuple[str, ...], refused: bool) -> None:
    """No original may have changed and nothing may be left behind; what was refused has written nothing at all."""

    def may_be_written(name: str) -> bool:
        return any(name == output or name.startswith(f"{output}/") for output in outputs)

    for name, digest in before.items():
        if after.get(name) != digest and (refused or not may_be_written(name)):
            raise Finding(f"the original {name} was changed")
    for name in after:
        if name not in before and not may_be_written(name):
            raise Finding(f"{name} was left behind")
