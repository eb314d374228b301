"""Data flows one way: a room imports from the rooms above it, at start-up, later or for types alone."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from import_graph import ORDER, SOURCE, Graph, drawing, modules, rooms_used, table

DOCS = Path(__file__).parents[1] / "docs"


def package(folder: Path, **sources: str) -> Path:
    """A package of one module for each room."""
    folder = folder / "house"
    folder.mkdir()
    for room, source in sources.items():
        (folder / f"{room}.py").write_text(source, encoding="utf-8")
    return folder


def test_every_room_has_its_place_in_the_order() -> None:
    assert {room for _, room in modules()} == set(ORDER)


def test_the_page_on_architecture_lists_the_rooms_in_their_order() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    listed = re.search(r"^\| room \|.*?\n\n", page, re.MULTILINE | re.DOTALL)
    assert listed is not None
    assert tuple(re.findall(r"^\| `(\w+)` \|", listed[0], re.MULTILINE)) == ORDER


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


def test_an_import_inside_a_function_or_for_types_alone_counts(tmp_path: Path) -> None:
    late = "def f():\n    import house.low\n"
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.low import x\n"
    graph = Graph.of(package(tmp_path, low="x = 1\n", late=late, typed=typed, door="from house import low\n"))
    assert graph.imports == {("late", "low"): 1, ("typed", "low"): 1, ("door", "low"): 1}


def test_other_rooms_are_put_in_order_by_what_they_import(tmp_path: Path) -> None:
    above = "from house.middle import x\n"
    graph = Graph.of(package(tmp_path, a=above, middle="from house.zero import x\n", zero="x = 1\n"))
    assert graph.rooms == ("zero", "middle", "a")
    assert graph.against_the_order() == []
    assert table(graph).splitlines()[2].split() == ["middle", "1", "1", "zero", "1"]


def test_rooms_that_import_from_each_other_are_told(tmp_path: Path) -> None:
    graph = Graph.of(package(tmp_path, a="import house.b\nimport os\n", b="from house.a import x\n"))
    assert graph.against_the_order() == [("a", "b")]
    assert table(graph).endswith("against the order: a from b")
    assert "stroke-dasharray" in drawing(graph)


def test_the_drawing_does_not_change_with_the_lines_of_a_module(tmp_path: Path) -> None:
    source = package(tmp_path, low="x = 1\n", high="from house.low import x\n")
    before = drawing(Graph.of(source))
    (source / "high.py").write_text("from house.low import x\n\ny = x\n", encoding="utf-8")
    assert drawing(Graph.of(source)) == before
