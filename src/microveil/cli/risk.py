"""`microveil risk`: the risk of re-identification in a file that is not masked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

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
    target: Annotated[
        float | None,
        typer.Option(
            help="Instead of --threshold: the number of re-identifications that may be expected. The threshold is "
            "such that this is their number if the risk of every record above it is lowered to it.",
            metavar="NUMBER",
        ),
    ] = None,
    estimate: Annotated[
        Literal["negative-binomial", "approximation", "ratio"],
        typer.Option(
            help="Risk of a record in a sample: the expected 1/F under a negative binomial distribution, its "
            "approximation, or 1 over the estimated population frequency."
        ),
    ] = "negative-binomial",
    fraction: Annotated[
        float | None,
        typer.Option(
            help="Sampling fraction, for DIS-SUDA, and for all risks where there are no weights.", metavar="P"
        ),
    ] = None,
    population: Annotated[
        int | None, typer.Option(help="Number of persons in the population, instead of --fraction.", metavar="N")
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            help="Write the frequency in sample (fk) and population (Fk), the risk, the SUDA score, DIS-SUDA and the "
            "risk of the household of every record to this file, which only its owner can read.",
            metavar="FILE",
        ),
    ] = None,
    *,
    table: TableOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure the risk of a table before anything is masked.

    It is the risk of re-identification by the keys. With sampling weights (--weight), or with --fraction or
    --population, the file is treated as a sample of a population.
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
        found = risk_of_file(
            data,
            threshold=threshold,
            estimate=estimate,
            fraction=fraction,
            population=population,
            progress=Part(bar, 0.6, 1.0),
        )
    if target is not None:
        found = found.with_target(target)
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
    special = found.special_uniques
    if special is not None and special.scores.any():
        shares = Table(title="what makes records unique", title_justify="left")
        shares.add_column("key")
        shares.add_column("part of the SUDA scores", justify="right")
        for name, share in sorted(special.by_attribute.items(), key=lambda each: -each[1]):
            shares.add_row(name, f"{share:.1f} %")
        console().print(shares)
    say(found.assumption)
    if records is not None:
        say(f"risks of single records written to {records}; keep this file private")
