"""`microveil describe`: what the columns of a table are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microveil.cli.options import Force, Input, Json, TableOptions, with_table_options
from microveil.cli.printing import bar_for, console, print_json, say
from microveil.cli.tables import read_table

EXAMPLE = "Example: microveil describe people.csv --keys age,zip --schema-out people.toml"


@with_table_options
def describe(
    path: Input,
    schema_out: Annotated[Path | None, typer.Option(help="Write the schema, for you to correct and use again.")] = None,
    *,
    table: TableOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Say what the columns of a table are, with what Microveil guesses about them."""
    from microveil.microdata.description import describe_attributes, with_domains
    from microveil.microdata.files.atomic import check_output

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
    from rich.table import Table

    shown = Table(title=f"{path.name}: {len(data):,} records, {len(rows)} attributes", title_justify="left")
    for column in ("name", "kind", "role", "different", "missing", "mean", "deviation", "to look at"):
        shown.add_column(column, justify="right" if column in ("different", "missing", "mean", "deviation") else "left")
    for row in rows:
        numbers = [f"{row[k]:,.4g}" if row.get(k) is not None else "" for k in ("mean", "deviation")]
        missing = f"{row['missing']:,} ({row['missing_share']:.1f} %)" if row["missing"] else str(row["missing"] or 0)
        shown.add_row(
            row["name"],
            row["kind"],
            ", ".join(row["roles"]),
            f"{row['different']:,}",
            missing,
            *numbers,
            row["suggestion"] or "",
        )
    console().print(shown)
    if schema_out is not None:
        say(f"schema written to {schema_out}")
