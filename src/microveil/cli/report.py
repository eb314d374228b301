"""`microveil report`: a page about one release."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from microveil.cli.options import (
    Compared,
    Control,
    Force,
    Json,
    Known,
    Masked,
    MatchBy,
    Original,
    TableOptions,
    Threshold,
    columns,
    split,
    with_table_options,
)
from microveil.cli.printing import bar_for, print_json, say
from microveil.cli.tables import manifest_beside, read_control, read_masked, read_original, table_of
from microveil.units import THRESHOLD

EXAMPLE = "Example: microveil report people.csv safe.csv --out report.html"


class Attacks(StrEnum):
    """Which attacks to run."""

    general = "general"
    all = "all"


@with_table_options
def report(
    original: Original,
    masked: Masked,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML page to write; it needs no network.")],
    public: Annotated[
        bool, typer.Option("--public", help="Write the public report, without anything that would help an intruder.")
    ] = False,
    attacks: Annotated[
        Attacks,
        typer.Option(
            help="Attacks to run; 'all': also attacks by an intruder who knows the method, which takes longer."
        ),
    ] = Attacks.general,
    attributes: Compared = None,
    known: Known = None,
    losses: Annotated[
        str | None, columns("Losses to measure; default: the usual ones that apply to the columns.")
    ] = None,
    threshold: Threshold = THRESHOLD,
    organisation: Annotated[str, typer.Option(help="Who releases the table; shown on the page.")] = "",
    author: Annotated[str, typer.Option(help="Who made the report; shown on the page.")] = "",
    date: Annotated[str | None, typer.Option(help="The date on the page; default: today.")] = None,
    match_by: MatchBy = None,
    control: Control = None,
    *,
    table: TableOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a page about a masked table, its risks and losses.

    It says how the table was masked, and compares it before and after.
    The internal page (the default) shows the original; the public one leaves out whatever would help an intruder.
    """
    from microveil.masking.private_file import private_path
    from microveil.masking.release import manifest_path
    from microveil.microdata.files.atomic import check_output, write_text
    from microveil.progress import Part
    from microveil.registry import make
    from microveil.reporting.report import report as write_report

    beside = (manifest_path(table_of(masked)), private_path(table_of(masked)))
    check_output(out, force=force, inputs=[original, masked, *beside, table.schema, control])
    chosen_losses = None if losses is None else [make("loss", name) for name in split(losses) or ()]
    manifest = manifest_beside(masked)
    chosen = split(attributes)
    with bar_for(f"reporting on {masked.name}") as bar:
        before = read_original(original, table, manifest, Part(bar, 0.0, 0.1))
        release = read_masked(masked, before, manifest, Part(bar, 0.1, 0.2), **table.reading)
        group = read_control(control, before, Part(bar, 0.2, 0.2), **table.reading)
        edges = [] if table.graph is None else ["--graph", str(table.graph)]
        into = "again.csv" if before.edges is None else "again"
        words = ["microveil", "protect", str(original), *edges, "--plan", str(beside[0]), "--out", into]
        again = "" if manifest is None else shlex.join(words)
        page = write_report(
            before, release, chosen, public=public, known=split(known), attacks=attacks.value, losses=chosen_losses,
            threshold=threshold, match_by=match_by, control=group, again=again, organisation=organisation,
            author=author, date=date, progress=Part(bar, 0.2, 1.0),
        )  # fmt: skip
        write_text(out, page, force=force, private=not public)  # the internal page shows the original
    variant = "public" if public else "internal"
    if as_json:
        print_json({"report": str(out), "variant": variant, "manifest": manifest is not None})
        return
    say(f"{variant} report written to {out}; it opens in a browser and needs no network")
    if not public:
        single = " and some of its series" if before.schema.panel is not None else ""
        say(f"it shows statistics{single} of the original: keep it confidential; --public makes the public one")
