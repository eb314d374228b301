"""Packages that declare entries of their own, put where Python finds them as if they were installed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "microveil-example"


def install(folder: Path, package: str, version: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """Write what an installer writes about a package and its entry points."""
    info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n", encoding="utf-8")
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{name} = {place}" for name, place in entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")


def install_example(folder: Path) -> list[Path]:
    """The folders in which Python finds the example package."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install(folder, project["name"], project["version"], project["entry-points"])
    return [folder, EXAMPLE / "src"]
