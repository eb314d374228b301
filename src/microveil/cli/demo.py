"""`microveil demo`: the whole way on a fictional survey."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microveil.cli.options import Force, Json
from microveil.cli.printing import bar_for, console, print_json, say

EXAMPLE = "Example: microveil demo --out demo-output --records 5000"


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the files that are written.")] = Path("demo-output"),
    records: Annotated[int, typer.Option(help="Number of persons in the sample survey.", min=50)] = 2000,
    seed: Annotated[
        int,
        typer.Option(help="Seed of the survey and of the comparison; the release has a secret seed of its own.", min=0),
    ] = 1,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Mask a fictional survey in many ways and rank the results.

    The best release is written, and a page about all of them.
    """
    from microveil import demo as demonstration

    with bar_for("demo") as bar:
        made = demonstration.run(out, records=records, seed=seed, force=force, progress=bar)
    rows = [
        (r.candidate.label, r.loss, r.risk, r.score, r.value("distance-linkage") or 0.0) for r in made.study.results
    ]
    if as_json:
        ranking = [dict(zip(("candidate", "loss", "risk", "mean", "links"), row, strict=True)) for row in rows]
        print_json({"release": str(made.release_file), "page": str(made.page), "ranking": ranking})
        return
    from rich.table import Table

    say(str(made.study.knowledge))
    table = Table(
        title=f"{len(made.data):,} fictional persons, {len(rows)} candidates, best first", title_justify="left"
    )
    for column in ("", "candidate", "loss", "risk", "score", "links"):
        table.add_column(column, justify="left" if column == "candidate" else "right")
    for rank, (label, loss, risk, score, links) in enumerate(rows, start=1):
        style = "bold" if rank == 1 else None
        cells = (f"{loss:.2f}", f"{risk:.2f}", f"{score:.2f}", f"{links:.2f} %")
        table.add_row(str(rank), label, *cells, style=style)
    console().print(table)
    say("loss: what an analyst loses; risk: what an intruder gains; score: their mean; 0 to 100, lower is better")
    say("links: records that are linked to the right person")
    say()
    say(f"best release   {made.release_file}")
    say(f"its manifest   {made.manifest_file}")
    if made.private_file is not None:
        say(f"private file   {made.private_file}")
    say(f"the page       {made.page}  (open it in a browser; it needs no network)")
    say(f"make it again  {made.again}")
