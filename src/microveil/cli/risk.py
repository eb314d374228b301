"""`microveil risk`: the risk of re-identification in a file that is not masked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microveil.cli.options import Force, Input, Json, TableOptions, Threshold, with_table_options
from microveil.cli.printing import bar_for, console, note, print_json, say
from microveil.cli.tables import read_table
from microveil.units import THRESHOLD

EXAMPLE = "Example: microveil risk people.csv --keys age,sex,region --weight weight --records risks.csv"


@with_table_options
def risk(
    path: Input,
    threshold: Threshold = THRESHOLD,
    records: Annotated[
        Path | None,
        typer.Option(
            help="Write the sample frequency, population frequency and risk of every record to this file, which only "
            "its owner can read.",
            metavar="FILE",
        ),
    ] = None,
    *,
    table: TableOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure the risk of a table before anything is masked.

    It is the risk of re-identification by the keys. With sampling weights (--weight) the file is treated as a
    sample of a population.
    """
    from microveil.attacks.reidentification import check_threshold, risk_of_file
    from microveil.microdata.files.atomic import check_output
    from microveil.microdata.files.formats import check_writable
    from microveil.microdata.files.writing import write
    from microveil.progress import Part

    check_threshold(threshold)
    if records is not None:
        check_output(records, force=force, inputs=[path, table.schema])
        check_writable(records)
    with bar_for(f"reading {path.name}") as bar:
        data = read_table(path, table.schema, Part(bar, 0.0, 0.6), **table.reading, **table.described)
        found = risk_of_file(data, threshold=threshold, progress=Part(bar, 0.6, 1.0))
    if not found.declared:
        note(f"no keys are declared, so the intruder is assumed to know all {len(found.keys)} attributes; see --keys")
    if records is not None:
        write(found.to_records(), records, force=force, private=True)
    if as_json:
        print_json(found.to_plain())
        return
    from rich.table import Table

    say(f"{path.name}: {found.heading}")
    shown = Table(title="risk of re-identification", title_justify="left")
    shown.add_column("")
    shown.add_column("as it is", justify="right")
    for row in found.rows():
        shown.add_row(*row)
    console().print(shown)
    say(found.assumption)
    if records is not None:
        say(f"risks of single records written to {records}; keep this file private")
