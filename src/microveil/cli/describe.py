"""`microveil describe`: what the columns of a table are."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microveil.cli.options import Force, Input, Json, TableOptions, with_table_options
from microveil.cli.printing import bar_for, console, print_json, printable, say
from microveil.cli.tables import read_table
from microveil.display import number

if TYPE_CHECKING:
    from rich.table import Table

EXAMPLE = "Example: microveil describe people.csv --keys age,sex --schema-out people.toml"

_WHOLE = 30  # characters of a name that is shown in one line


@with_table_options
def describe(
    path: Input,
    schema_out: Annotated[
        Path | None, typer.Option(help="Write the schema to this file, to be corrected and used with --schema.")
    ] = None,
    *,
    table: TableOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Show the kind, the role and summary statistics of each column."""
    from microveil.microdata.description import describe_attributes, with_domains
    from microveil.microdata.files.atomic import check_output
    from microveil.microdata.microdata import count

    if schema_out is not None:
        check_output(schema_out, force=force, inputs=[path, table.schema])
    wishes = table.reading
    with bar_for(f"reading {path.name}") as bar:
        data = read_table(path, table.schema, bar, **wishes, **table.said)
    rows = describe_attributes(data)
    if schema_out is not None:
        with_domains(data).write(schema_out, force=force)
    if as_json:
        print_json({"records": len(data), "attributes": rows})
        return
    console().print(_table(f"{path.name}: {len(data):,} records, {count(len(rows), 'attribute')}", rows))
    for row in rows:
        if row["hint"]:
            for line in textwrap.wrap(f"{row['name']}: {row['hint']}", 80, subsequent_indent="  "):
                say(line)
    if schema_out is not None:
        say(f"schema written to {schema_out}")


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(printable(title)), title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    longest = max((len(str(row["name"])) for row in rows), default=0)
    shown.add_column("name", overflow="fold", min_width=min(longest, _WHOLE))  # other columns give way first
    shown.add_column("kind", no_wrap=True)
    shown.add_column("role", overflow="fold")
    for column in ("distinct", "missing", "mean", "std. dev."):
        shown.add_column(column, justify="right", no_wrap=True)
    shown.add_column("hint", no_wrap=True)
    for row in rows:
        cells = [row["name"], row["kind"], ", ".join(row["roles"])]
        cells += [number(row[key]) for key in ("distinct", "missing", "mean", "standard_deviation")]
        cells.append({None: "", "problem": "problem"}.get(row["looks_like"], f"{row['looks_like']}?"))
        shown.add_row(*(Text(printable(cell)) for cell in cells))
    return shown
