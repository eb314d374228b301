"""`microveil methods`: what there is, with its parameters."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from microveil.cli.options import Json
from microveil.cli.printing import console, print_json

EXAMPLE = "Example: microveil methods --kind attack --json"


def methods(
    kind: Annotated[str, typer.Option(help="What to list: method, attack, loss or score.")] = "method",
    as_json: Json = False,
) -> None:
    """List the methods, attacks, losses or scores with their parameters."""
    from microveil import registry

    entries = [registry.describe(kind, name) for name in registry.names(kind)]
    if as_json:
        print_json(entries)
        return
    from rich.table import Table

    titles = {"method": "Methods", "attack": "Attacks", "loss": "Losses", "score": "Scores"}
    table = Table(title=titles[kind], title_justify="left")
    for column in ("name", "family", "kinds", "what it does", "parameters (default)"):
        table.add_column(column, overflow="fold")
    for entry in entries:
        parameters = "\n".join(f"{p['name']} ({_default(p)}): {p['help']}" for p in entry["parameters"])
        table.add_row(entry["name"], entry["family"], ", ".join(entry["kinds"]), entry["summary"], parameters or "none")
    console().print(table)


def _default(parameter: dict[str, Any]) -> str:
    value = parameter["default"]
    if isinstance(value, list):
        return ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in value)
    return str(value)
