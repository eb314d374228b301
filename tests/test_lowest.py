"""The lowest versions that are declared are those that `make test-lowest` installs and tries."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def padded(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in version.split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


def declared() -> dict[str, tuple[int, ...]]:
    """The floors of the installed packages and of the tests; documentation and linters are no part of a release."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = [
        *project["dependencies"],
        *extras["files"],
        *extras["frames"],
        *extras["forecasts"],
        *extras["graphs"],
        *extras["queries"],
        *extras["differential-privacy"],
        *extras["workbench"],
        *extras["dev"],
    ]
    floors = [re.fullmatch(r"([A-Za-z0-9-]+)>=([0-9.]+)", entry) for entry in named]
    return {floor[1]: padded(floor[2]) for floor in floors if floor and floor[1] not in ("mypy", "ruff")}


def tried() -> dict[str, tuple[int, ...]]:
    lines = (ROOT / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = (line.split("==") for line in lines if not line.startswith("#"))
    return {name: padded(version) for name, version in pinned}


def test_every_declared_floor_is_the_version_that_is_tried() -> None:
    assert declared() == tried()


def test_nothing_is_declared_without_a_floor() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [entry for entry in project["dependencies"] if ">=" not in entry] == []
