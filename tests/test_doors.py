"""No code without a door: what nobody can reach from the package, the registry or the commands is not kept."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import microveil
from microveil.entries import ENTRIES
from microveil.queries.red_team import ATTACKS

SOURCE = Path(__file__).parents[1] / "src" / "microveil"
# commands, and the checks that other packages run
ENTRANCES = ("microveil.cli.", "microveil.checks.")
BY_NAME = {
    "microveil.microdata.files.isolation.main": "a process that reads one file is started with it",
    "microveil.queries.engines.duckdb_worker.main": "the process of DuckDB is started with it",
    "microveil.study.worker.main": "the worker processes of a study are started with it",
    "microveil.workbench.worker.main": "the process that does the work of the workbench is started with it",
}
Definition = tuple[str, str]  # a module, and what is defined in it


def name_of(path: Path) -> str:
    parts = (SOURCE.name, *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Code:
    """What is defined in which module, and what is imported from where."""

    def __init__(self) -> None:
        self.trees = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
        self.defined: dict[Definition, ast.stmt] = {
            (module, node.name): node
            for module, tree in self.trees.items()
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        self.imported: dict[Definition, Definition] = {
            (module, alias.asname or alias.name): (node.module, alias.name)
            for module, tree in self.trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }

    def home(self, defined: Definition) -> Definition:
        """Where a name is defined that a module has imported, maybe from another that had imported it."""
        seen: set[Definition] = set()
        while defined not in self.defined and defined in self.imported and defined not in seen:
            seen.add(defined)
            defined = self.imported[defined]
        return defined

    def used_by(self, module: str, node: ast.AST) -> Iterator[Definition]:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                yield self.home((module, part.id))
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                yield self.home((".".join(self.imported.get((module, part.value.id), ())), part.attr))

    def opened(self, module: ModuleType) -> Iterator[Definition]:
        """What a module offers, and what the modules do that are among it."""
        for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
            offered = getattr(module, name)
            if isinstance(offered, ModuleType) and name in getattr(module, "__all__", ()):
                yield from self.opened(offered)
            yield self.home((module.__name__, name))

    def doors(self) -> Iterator[Definition]:
        for name in microveil.__all__:
            yield self.home(("microveil", name))
        for module in microveil._MODULES.values():
            yield from self.opened(importlib.import_module(module))
        for shelf in (*ENTRIES.values(), ATTACKS):
            for entry in shelf.values():
                module, _, name = entry.partition(":")
                yield module, name
        for module, name in self.defined:
            if module == "microveil" or module.startswith(ENTRANCES) or f"{module}.{name}" in BY_NAME:
                yield module, name
        for module, tree in self.trees.items():  # what runs when a module is imported
            for node in tree.body:
                if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
                    yield from self.used_by(module, node)

    def reached(self) -> set[Definition]:
        found: set[Definition] = set()
        waiting = list(self.doors())
        while waiting:
            defined = waiting.pop()
            if defined in self.defined and defined not in found:
                found.add(defined)
                waiting += self.used_by(defined[0], self.defined[defined])
        return found


@pytest.fixture(scope="module")
def code() -> Code:
    return Code()


def test_every_public_function_and_class_can_be_reached(code: Code) -> None:
    """From the package, the registry or a command; a test or the rebuilding of a published table is no door."""
    known = code.reached()
    shut = [".".join(defined) for defined in code.defined if defined not in known and not defined[1].startswith("_")]
    assert shut == []


def test_what_is_run_by_name_is_there(code: Code) -> None:
    assert {".".join(defined) for defined in code.defined} >= set(BY_NAME)
