"""The screen Data: the attributes with their kinds, roles and distributions, one of them in detail, and the records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import microveil as mv
from microveil.applications import FORMATS, number
from microveil.workbench import explanations
from microveil.workbench.bench import KINDS, ROLES, Bench
from microveil.workbench.describing import LEVELS, MISSING, form_of
from microveil.workbench.history import Node
from microveil.workbench.overview import page_of_records
from microveil.workbench.screens.frame import recipe_of

_PAGE = 15
_READABLE = ",".join(ending for known in FORMATS for ending in known.endings)


def data(bench: Bench, page: int, chosen: str) -> dict[str, Any]:
    here = bench.history.here
    shown: dict[str, Any] = {"explained": explanations.DATA, "readable": _READABLE, "rows": None, "python": "",
                             "shell": "", "detail": None}  # fmt: skip
    if here is None:
        return shown
    original = bench.history.original_of(here.name)
    table = bench.history.tables[here.table]
    schema = mv.Schema.from_plain(original.schema)
    found, recipe = bench.overview(), recipe_of(bench, here)
    names, records, count = page_of_records(bench.workspace.table(here.table), page, _PAGE)
    pages = max(1, -(-count // _PAGE))
    page = min(max(1, page), pages)
    detail = None if found is None else _detail(original, found["rows"], chosen, schema)
    return {
        **shown, "explained": explanations.DATA if found is None else explanations.of_data(found["rows"], count),
        "rows": None if found is None else [_row(row, schema) for row in found["rows"]],
        "heading": "" if found is None else found["heading"], "kinds": KINDS, "roles": ROLES,
        "names": names, "records": records, "page": page, "pages": pages, "first": (page - 1) * _PAGE + 1,
        "count": count, "masked": here.is_masked, "has_keys": bool(schema.keys), "detail": detail, "missing": MISSING,
        "levels": LEVELS, "has_households": schema.household is not None, "panel": schema.panel is not None,
        "hierarchies": [a.name for a in schema if a.hierarchy is not None], "columns": names,
        "python": recipe.python_of_data(), "shell": recipe.shell_of_data(), "linked": bool(table.graph),
    }  # fmt: skip


def _row(row: Mapping[str, Any], schema: mv.Schema) -> dict[str, Any]:
    own = "+".join(row["roles"])
    return {
        **row, "own": own, "editable": row["name"] in schema,
        "offered_roles": list(dict.fromkeys(["", *ROLES, "key+stratum", own])),
        "distinct_text": number(row["distinct"]), "missing_text": number(row["missing"]),
        "mean_text": number(row["mean"]),
        "has_hierarchy": row["name"] in schema and schema[row["name"]].hierarchy is not None,
    }  # fmt: skip


def _detail(original: Node, rows: list[dict[str, Any]], name: str, schema: mv.Schema) -> dict[str, Any] | None:
    """Everything that can be said about one attribute."""
    if name not in schema:
        return None
    attribute = schema[name]
    row = next((row for row in rows if row["name"] == name), None)
    hierarchy = attribute.hierarchy
    levels = hierarchy.paths if isinstance(hierarchy, mv.Hierarchy) else ()
    return {
        "name": name, "form": form_of(attribute), "row": None if row is None else _row(row, schema),
        "is_numeric": attribute.kind == "numeric", "has_tree": isinstance(hierarchy, mv.Hierarchy),
        "has_intervals": isinstance(hierarchy, mv.Intervals), "levels": levels,
        "offered_roles": list(dict.fromkeys(["", *ROLES, "key+stratum", "+".join(attribute.roles)])),
    }  # fmt: skip
