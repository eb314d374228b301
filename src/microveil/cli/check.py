"""`microveil check`: whether a file keeps to the rules of an office."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microveil.cli.options import Input, Json, TableOptions, with_table_options
from microveil.cli.printing import FAILED, bar_for, note, print_json, printable, say
from microveil.cli.tables import manifest_beside, read_table

if TYPE_CHECKING:
    from microveil.microdata import Microdata
    from microveil.progress import Progress

EXAMPLE = (
    "Example: microveil check people.csv --schema people.toml --rules scientific-use, or with rules of your own: "
    "--rules office.toml"
)


@with_table_options
def check(
    path: Input,
    rules: Annotated[
        str,
        typer.Option(
            help="The rules: a TOML file, or an example that comes with Microveil: public-use, scientific-use or "
            "teaching.",
            metavar="FILE",
        ),
    ],
    show: Annotated[
        bool, typer.Option("--show-rules", help="Print the rules as TOML, to be changed and used, and check nothing.")
    ] = False,
    *,
    table: TableOptions,
    as_json: Json = False,
) -> None:
    """Check a table against the rules of an office.

    The table is an original or a release. What fails is said in words, with what to do about it. The status is 0 if
    everything passed, 1 if some rule fails, and 2 if the command or the rules are wrong.
    """
    from microveil.display import paragraph
    from microveil.errors import FileError, ParameterError
    from microveil.progress import Part
    from microveil.rules.checking import check as check_table
    from microveil.rules.pack import RulePack

    try:
        pack = RulePack.read(rules)
    except FileError as problem:  # a mistake in the rules is not a failure of the table
        raise ParameterError(str(problem)) from None
    if show:
        say(pack.to_toml().rstrip())
        return
    with bar_for(f"checking {path.name}") as bar:
        data = _read(path, table, Part(bar, 0.0, 0.4))
        found = check_table(data, pack, progress=Part(bar, 0.4, 1.0))
    if not data.schema.keys:
        note("no keys are declared, so every attribute is taken as one; see --keys")
    if as_json:
        print_json({"file": str(path), "rules": rules, **found.to_plain()})
    else:
        say(f"{path.name}: {found.heading}")
        for rule, outcome, sentence in found.rows():
            first, *rest = paragraph(printable(f"{outcome}: {rule}: {sentence}"))
            say("\n".join([first, *(f"  {line}" for line in rest)]))
    raise typer.Exit(0 if found.passed else FAILED)


def _read(path: Path, table: TableOptions, progress: Progress) -> Microdata:
    """The table; a release with the schema in its manifest, unless one is given."""
    from microveil.release_files import read_release

    manifest = manifest_beside(path) if table.schema is None else None
    if manifest is None:
        return read_table(path, table.schema, progress, **table.reading, **table.described)
    return read_release(path, manifest=manifest, progress=progress, **table.reading).data
