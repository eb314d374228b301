"""Data flows one way: a room imports from the rooms above it, at start-up, later or for types alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "microveil"
ORDER = (
    *("entries", "errors", "units", "display", "progress", "randomness", "parameters", "plugins"),
    *("numerics", "microdata", "masking", "comparison", "attacks", "losses", "registry"),
    *(
        "protection",
        "strengthening",
        "battery",
        "scoring",
        "reporting",
        "study",
        "reproduction",
        "checks",
        "demo",
        "cli",
    ),
)
NAMES = ("__version__",)  # what a room may take from the door of the house


def modules() -> Iterator[tuple[Path, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room != "__init__":
            yield path, room


def rooms_used(path: Path) -> Iterator[str]:
    """The rooms that a module imports from, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "microveil":
            found = [f"microveil.{alias.name}" for alias in node.names if alias.name not in NAMES]
        elif isinstance(node, ast.ImportFrom):
            found = [node.module or ""]
        else:
            continue
        yield from (name.split(".")[1] for name in found if name.startswith("microveil."))


def test_every_room_has_its_place_in_the_order() -> None:
    assert {room for _, room in modules()} == set(ORDER)


def test_rooms_import_only_from_rooms_above_them() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports from {used}"
        for path, room in modules()
        for used in rooms_used(path)
        if ORDER.index(used) > ORDER.index(room)
    ]
    assert wrong == []


def test_no_module_imports_by_a_relative_path() -> None:
    """So that every import can be seen to follow the order."""
    for path, _ in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path.name
