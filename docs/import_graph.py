"""Which room of the package imports from which: a table on the terminal, and a drawing for the page on architecture.

    python docs/import_graph.py                                     the rooms of this checkout
    python docs/import_graph.py --svg rooms.svg                     and a drawing of them
    python docs/import_graph.py --source ../older/src/microveil     those of another checkout

A room is a folder or a module directly in the package. Imports are read from the source, so that one inside a function
or for types alone counts too, and nothing is imported. The order of the rooms stands here, and tests/test_rooms.py
holds the package to it; rooms of a checkout that has others are put in order by what they import.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "microveil"
# a room imports from those before it, never from one after it
ORDER = (
    *("typing", "entries", "errors", "units", "display", "progress", "randomness", "parameters", "plugins"),
    *("numerics", "microdata", "masking", "rules", "comparison", "attacks", "losses", "registry"),
    *("protection", "release_files", "strengthening", "battery", "scoring", "reporting", "study", "search", "series"),
    *("graphs", "tables", "queries", "engines", "checks", "demo", "applications", "workbench", "cli"),
)
DOOR = "__init__"  # the names a user types; it is no room
_FREE = ("__version__",)  # what a room may take from the door

_STEP_X, _STEP_Y, _BOX_WIDTH, _BOX_HEIGHT, _MARGIN = 34, 34, 112, 24, 16
_LEFT, _RIGHT = 16, 96  # where lines leave a box, from its left side
_RADIUS = 10


def modules(source: Path = SOURCE) -> Iterator[tuple[Path, str]]:
    """Every module but the door, with the room that it is in."""
    for path in sorted(source.rglob("*.py")):
        room = path.relative_to(source).parts[0].removesuffix(".py")
        if room != DOOR:
            yield path, room


def rooms_used(path: Path, package: str = SOURCE.name) -> Iterator[str]:
    """The rooms that a module imports from, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == package:
            found = [f"{package}.{alias.name}" for alias in node.names if alias.name not in _FREE]
        elif isinstance(node, ast.ImportFrom):
            found = [node.module or ""]
        else:
            continue
        yield from (name.split(".")[1] for name in found if name.startswith(f"{package}."))


@dataclass(frozen=True)
class Graph:
    """The rooms in order, their sizes, and for every two rooms how many modules of the first import from the second."""

    rooms: tuple[str, ...]
    modules: Counter[str]
    lines: Counter[str]
    imports: Counter[tuple[str, str]]

    @classmethod
    def of(cls, source: Path = SOURCE) -> Graph:
        sizes: Counter[str] = Counter()
        lines: Counter[str] = Counter()
        imports: Counter[tuple[str, str]] = Counter()
        for path, room in modules(source):
            sizes[room] += 1
            lines[room] += len(path.read_text(encoding="utf-8").splitlines())
            imports.update((room, used) for used in set(rooms_used(path, source.name)) - {room})
        imports = Counter({pair: count for pair, count in imports.items() if pair[1] in sizes})
        rooms = ORDER if set(ORDER) == set(sizes) else by_dependency(sorted(sizes), imports)
        return cls(rooms, sizes, lines, imports)

    def used_by(self, room: str) -> list[tuple[str, int]]:
        """The rooms that a room imports from, with how many of its modules do."""
        return [(used, self.imports[room, used]) for used in self.rooms if self.imports[room, used]]

    def against_the_order(self) -> list[tuple[str, str]]:
        """The imports from a room further down."""
        indices = {room: index for index, room in enumerate(self.rooms)}
        return [pair for pair in self.imports if indices[pair[1]] > indices[pair[0]]]


def by_dependency(rooms: Sequence[str], imports: Counter[tuple[str, str]]) -> tuple[str, ...]:
    """Rooms in an order in which as few as possible import from a later one: next comes always the room with the fewest
    imports from those that are not in it yet, and of several the one that these import from most."""
    ordered: list[str] = []
    while len(ordered) < len(rooms):
        rest = [room for room in rooms if room not in ordered]
        ordered.append(
            min(rest, key=lambda r: (sum(imports[r, other] for other in rest), -sum(imports[o, r] for o in rest)))
        )
    return tuple(ordered)


def table(graph: Graph) -> str:
    """The rooms with their sizes and imports, as text."""
    width = max(map(len, graph.rooms))
    lines = [f"{'room':{width}}  modules   lines  modules that import from other rooms"]
    for room in graph.rooms:
        used = ", ".join(f"{name} {count}" for name, count in graph.used_by(room))
        lines.append(f"{room:{width}}  {graph.modules[room]:7,}  {graph.lines[room]:6,}  {used}".rstrip())
    lines.append(f"{'all':{width}}  {graph.modules.total():7,}  {graph.lines.total():6,}")
    wrong = graph.against_the_order()
    lines += [f"against the order: {', '.join(f'{room} from {used}' for room, used in wrong)}"] if wrong else []
    return "\n".join(lines)


def drawing(graph: Graph) -> str:
    """The rooms as boxes on a diagonal. The arrow of an import goes from a box to the left and up to the room imported
    from, with the number of modules that do at its corner; one against the order goes to the right and down, dashed.
    """
    last = len(graph.rooms) - 1
    width = 2 * _MARGIN + last * _STEP_X + _BOX_WIDTH
    height = 2 * _MARGIN + last * _STEP_Y + _BOX_HEIGHT
    indices = {room: index for index, room in enumerate(graph.rooms)}
    drawn = sorted((indices[room], indices[used], count) for (room, used), count in graph.imports.items())
    lines = [_arrow(index, target) for index, target, _ in drawn]
    counts = [_count(index, target, count) for index, target, count in drawn]
    boxes = [_box(index, room) for index, room in enumerate(graph.rooms)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            'font-family="system-ui, sans-serif" font-size="12">',
            "<title>The rooms of Microveil and what they import</title>",
            f"<desc>{escape(_told(graph))}</desc>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0 L8 4 L0 8 Z" fill="#7a8794"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *lines,
            *counts,
            *boxes,
            "</svg>",
            "",
        ]
    )


def _told(graph: Graph) -> str:
    """The drawing in words, for a screen reader."""
    used = {room: ", ".join(name for name, _ in graph.used_by(room)) or "no other room" for room in graph.rooms}
    return ". ".join(f"{room} imports from {names}" for room, names in used.items()) + "."


def _corner(index: int, target: int) -> tuple[int, int]:
    """Where the arrow between two boxes turns."""
    out = _LEFT if target < index else _RIGHT
    return _MARGIN + target * _STEP_X + out, _MARGIN + index * _STEP_Y + _BOX_HEIGHT // 2


def _arrow(index: int, target: int) -> str:
    x, y = _corner(index, target)
    back = target > index
    start = _MARGIN + index * _STEP_X + (_BOX_WIDTH if back else 0)
    end = _MARGIN + target * _STEP_Y + (0 if back else _BOX_HEIGHT)
    look = 'stroke="#b3261e" stroke-dasharray="4 3"' if back else 'stroke="#7a8794"'
    return f'<path d="M{start} {y} H{x} V{end}" fill="none" {look} marker-end="url(#head)"/>'


def _count(index: int, target: int, count: int) -> str:
    x, y = _corner(index, target)
    return (
        f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="#eef2f6"/>'
        f'<text x="{x}" y="{y + 4}" text-anchor="middle" font-size="{10 if count < 100 else 9}">{count}</text>'
    )


def _box(index: int, room: str) -> str:
    x, y = _MARGIN + index * _STEP_X, _MARGIN + index * _STEP_Y
    return (
        f'<rect x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="4" fill="#dbe7f3" stroke="#33506b"/>'
        f'<text x="{x + _BOX_WIDTH // 2}" y="{y + 16}" text-anchor="middle">{escape(room)}</text>'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--source", type=Path, default=SOURCE, help="the folder of the package, here or elsewhere")
    parser.add_argument("--svg", type=Path, help="write a drawing to this file")
    asked = parser.parse_args()
    source = asked.source.resolve()
    if not any(modules(source)):
        parser.error(f"there is no Python module in {asked.source}")
    graph = Graph.of(source)
    if asked.svg:
        asked.svg.write_text(drawing(graph), encoding="utf-8")
    print(table(graph))


if __name__ == "__main__":
    main()
