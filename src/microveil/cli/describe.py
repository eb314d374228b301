"""`microveil describe`: what the columns of a table are."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microveil.cli.options import Engine, Force, Input, Json, TableOptions, with_table_options
from microveil.cli.printing import bar_for, console, print_json, printable, say
from microveil.cli.tables import read_table

if TYPE_CHECKING:
    from rich.table import Table

    from microveil.microdata.description import TableOfAttributes

EXAMPLE = "Example: microveil describe people.csv --keys age,sex --schema-out people.toml"

_WHOLE = 30  # characters of a name that is shown in one line


@with_table_options
def describe(
    path: Input,
    schema_out: Annotated[
        Path | None, typer.Option(help="Write the schema to this file, to be corrected and used with --schema.")
    ] = None,
    propose_hierarchies: Annotated[
        Path | None,
        typer.Option(help="Write hierarchies of the keys to this folder, proposed where the schema has none."),
    ] = None,
    engine: Engine = None,
    *,
    table: TableOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Show the kind, role and summary statistics of each column."""
    from microveil.microdata.description import describe as describe_table
    from microveil.microdata.files.atomic import check_output
    from microveil.microdata.files.formats import check_no_table
    from microveil.microdata.microdata import resolve_attributes
    from microveil.microdata.schema import KINDS

    if schema_out is not None:
        check_output(schema_out, force=force, inputs=[path, table.schema])
        check_no_table(schema_out, "a schema", ".toml")
    if engine is not None:
        from microveil.cli.engines import described_by_engine

        apart = {"--propose-hierarchies": propose_hierarchies}
        _show(described_by_engine(engine, path, table, apart, schema_out), path, as_json=as_json)
        return
    wishes = table.reading
    with bar_for(f"reading {path.name}") as bar:
        data = read_table(path, table.schema, bar, **wishes, **table.described)
    files = []
    if propose_hierarchies is not None:
        from microveil.microdata.proposals import with_proposals, write_hierarchies

        keys = resolve_attributes(data, None, KINDS, "a hierarchy")
        files = write_hierarchies(data, keys, propose_hierarchies, force=force)
        data = with_proposals(data, keys)
    found = describe_table(data)
    if schema_out is not None:
        found.schema.write(schema_out, force=force)
    _show(found, path, as_json=as_json)
    if as_json:
        return
    if files:
        say(f"hierarchies of {len(files)} attributes written to {propose_hierarchies}; they hold values of the records")
    if schema_out is not None:
        say(f"schema written to {schema_out}")


def _show(found: TableOfAttributes, path: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(found.to_plain())
        return
    console().print(_table(f"{path.name}: {found.heading}", found))
    for hint in found.hints():
        for line in textwrap.wrap(hint, 80, subsequent_indent="  "):
            say(line)


def _table(title: str, found: TableOfAttributes) -> Table:
    from rich.table import Table
    from rich.text import Text

    from microveil.microdata.description import HEAD, NUMBERS

    shown = Table(title=Text(printable(title)), title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    rows = found.rows()
    longest = max((len(name) for name, *_ in rows), default=0)
    for position, column in enumerate(HEAD):
        if column == "name":
            shown.add_column(column, overflow="fold", min_width=min(longest, _WHOLE))  # other columns give way first
        elif column == "role":
            shown.add_column(column, overflow="fold")
        else:
            shown.add_column(column, justify="right" if position in NUMBERS else "left", no_wrap=True)
    for row in rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    return shown
