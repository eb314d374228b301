"""What is around every screen: the table, the history, what runs, and what failed last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import microveil as mv
from microveil.applications import shown
from microveil.workbench.bench import KINDS, ROLES, Bench
from microveil.workbench.history import START, Node
from microveil.workbench.recipes import Recipe

_PLURAL = {"key": "keys", "identifier": "identifiers", "stratum": "strata"}
_SAID_OTHERWISE = ("domain", "range", "missing_codes", "missing_ranges", "hierarchy", "value_labels", "level")


def frame(bench: Bench, screen: str) -> dict[str, Any]:
    history = bench.history
    here = history.here
    table = None if here is None else history.tables[here.table]
    return {
        "screen": screen, "version": bench.version, "here": here, "table": table, "chips": history.chips(),
        "undo": history.undone, "redo": history.redone, "tree": list(history.tree()) if here else [],
        "failure": bench.last_failure, "workspace": str(bench.workspace.folder), "jobs": bench.jobs.listed(),
        "schema_file": "" if table is None else _schema_name(table.file),
        "files": {name: one.file for name, one in history.tables.items()}, "words_of": words_of,
    }  # fmt: skip


def recipe_of(bench: Bench, node: Node) -> Recipe:
    """How the table at a node is read in Python and in the shell."""
    table = bench.history.tables[node.table]
    original = bench.history.original_of(node.name)
    start = next(one for one in bench.history.line(node.name) if one.kind == START)
    folder = bench.workspace.table(table.name)
    file = table.path or str(folder / table.file)
    graph = str(folder / table.graph) if table.graph else ""
    if table.source == "sample":
        schema, own = _schema_name(table.file), original.schema == start.schema
        return Recipe(file, "sample", schema=schema, series=table.series, graph=graph, own=own)
    if _needs_a_schema(start.schema, original.schema):
        return Recipe(file, table.source, schema=_schema_name(table.file), series=table.series, graph=graph)
    declared = _declared(mv.Schema.from_plain(start.schema), mv.Schema.from_plain(original.schema))
    return Recipe(file, table.source, declared, series=table.series, graph=graph)


def named_attributes(bench: Bench, node: Node) -> list[str]:
    """The attributes that tell something about a unit, as people call them: a series by its name."""
    schema = mv.Schema.from_plain(node.schema)
    found = bench.overview()
    if schema.panel is None or found is None:
        return [attribute.name for attribute in schema if not attribute.is_administrative]
    names = [row["name"] for row in found["rows"]]
    return [name for name in names if name not in schema or not schema[name].is_administrative]


def words_of(node: Node) -> str:
    """What a step of the history did, in a line."""
    if node.kind == START:
        return "the table as it was loaded"
    if not node.is_masked:
        return "described otherwise"
    return ", then ".join(_step_words(step) for step in node.steps)


def _step_words(step: Mapping[str, Any]) -> str:
    settings = "".join(f" {name}={shown(value)}" for name, value in step["parameters"].items())
    return f"{step['method']}{settings}" + (f" on {', '.join(step['attributes'])}" if step.get("attributes") else "")


def named_keys(bench: Bench) -> list[str]:
    """The declared keys, a series by its name."""
    return [row["name"] for row in (bench.overview() or {"rows": []})["rows"] if "key" in row["roles"]]


def _schema_name(file: str) -> str:
    return f"{file.split('.')[0]}.toml"


def _needs_a_schema(start: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether more was said about the attributes than kinds and roles; what a file itself says need not be said."""
    for name, attribute in now["attributes"].items():
        before = start["attributes"].get(name, {})
        if any(attribute.get(what) != before.get(what) for what in (*_SAID_OTHERWISE, "missing", "label")):
            return attribute.get("kind") == before.get("kind") or any(w in attribute for w in _SAID_OTHERWISE)
        if attribute.get("kind") == "ordinal" and before.get("kind") != "ordinal":
            return True
    return bool(any("role" in attribute for attribute in start["attributes"].values()))


def _declared(start: mv.Schema, now: mv.Schema) -> dict[str, Sequence[str]]:
    """The roles, and the kinds that are not those of the file."""
    found: dict[str, Sequence[str]] = {_PLURAL.get(role, role): now.having(role) for role in ROLES if now.having(role)}
    for kind in KINDS:
        others = [a.name for a in now if a.kind == kind and a.name in start and start[a.name].kind != kind]
        if others:
            found[kind] = others
    return found
