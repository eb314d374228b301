"""Packages that only some formats need; without them everything else still works."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from microveil.errors import FileError


def need(package: str, path: Path, words: str) -> Any:
    """Import an optional package, or say how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise _missing(package, path, words) from None


def check_installed(package: str, path: Path, words: str) -> None:
    """The same, without importing it."""
    if importlib.util.find_spec(package) is None:
        raise _missing(package, path, words)


def _missing(package: str, path: Path, words: str) -> FileError:
    extra = "graphs" if package == "networkx" else "files"
    return FileError(
        path, f'{words} needs the package {package}, which is not installed; run: pip install "microveil[{extra}]"'
    )
