"""The workbench stands on what every user of the library has: no part of it reaches into an inner module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import microveil as mv
from microveil import workbench

OPEN = ("microveil", "microveil.applications")
MODULES = sorted(Path(workbench.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=[path.stem for path in MODULES])
def test_only_public_names_are_used(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names if alias.name.split(".")[0] == "microveil"]
            assert set(named) <= set(OPEN), named
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "microveil":
            used = node.module or ""
            assert used in OPEN or used.startswith("microveil.workbench"), used
            offered = mv.applications.__all__ if used == "microveil.applications" else mv.__all__
            if used in OPEN:
                assert {alias.name for alias in node.names} <= set(offered), used
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "mv":
                assert node.attr in mv.__all__, f"mv.{node.attr}"
            own = node.value.id in ("self", "cls", "os") or not node.attr.startswith("_") or node.attr.startswith("__")
            assert own, f"{node.value.id}.{node.attr}"


def test_what_applications_need_is_on_the_page_of_the_package() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    for name in ("ParameterError", "Part", "draw_seed", "format_of", "number"):
        assert f"`mv.applications.{name}" in page
