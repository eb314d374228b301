"""`microveil study`: many methods and parameters side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microveil.cli.options import Json, SeriesOption
from microveil.cli.printing import FAILED, bar_for, console, fail, note, print_json, say

if TYPE_CHECKING:
    from microveil.study import Result, Study
    from microveil.study.cells import Cell

EXAMPLE = "Example: microveil study candidates.toml --out results --workers 2"
_SHOWN = 25  # rows of the ranking


def study(
    file: Annotated[
        Path, typer.Argument(help="The study (TOML): the table, methods with grids, measures.", metavar="FILE")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the results; default: beside FILE, named after it.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The table, instead of the one FILE names.")] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Number of worker processes; default: as FILE says, or one for each processor; 0: no other process.",
            min=0,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Continue an earlier run, or make every release anew.")
    ] = True,
    series: SeriesOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the releases to make and how many are finished, without making any.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make and measure many releases and show which is best.

    A release is made for every method, every combination of its parameter values and every repeat. The best candidate
    is chosen by its mean score over the repeats, and measured once more with a new seed, which is written to its plan.
    Finished releases are saved in the folder, so that a study that was stopped can be continued.
    """
    from dataclasses import replace

    from microveil.errors import Cancelled
    from microveil.microdata.panel import Panel
    from microveil.study.design import read_design
    from microveil.study.running import cells_in, check_folder, run_study

    folder = out or file.parent / f"{file.stem}-results"
    design = read_design(file)
    if series is not None:
        design = replace(design, roles_and_kinds={**design.roles_and_kinds, "series": Panel.of(series)})
    if dry_run:
        cells, finished = cells_in(design, design.table(data), folder)
        _list_cells(cells, finished if resume else 0, as_json=as_json)
        return
    check_folder(folder)
    try:
        with bar_for(f"study {file.name}") as bar:
            found = run_study(design, data, out=folder, workers=workers, fresh=not resume, progress=bar)
    except (KeyboardInterrupt, Cancelled):
        cells, finished = cells_in(design, design.table(data), folder)
        saved = f"{finished:,} of {len(cells):,} releases"
        fail(f"cancelled; {saved} are saved in {folder}, and the same command continues from there")
    _show(found, folder, as_json=as_json)
    if found.failures:
        raise typer.Exit(FAILED)


def _list_cells(cells: Sequence[Cell], finished: int, *, as_json: bool) -> None:
    from microveil.microdata.microdata import count

    if as_json:
        rows = [{"candidate": cell.candidate.label, "repeat": cell.repeat} for cell in cells]
        print_json({"cells": rows, "finished": finished})
        return
    for cell in cells:
        say(f"{cell.candidate.label} (repeat {cell.repeat})")
    say(f"{count(len(cells), 'release')}, {finished:,} of them finished")


def _show(study: Study, folder: Path, *, as_json: bool) -> None:
    from microveil.study.results import PAGE, PLAN

    if as_json:
        failures = [{"candidate": f.candidate.label, "repeat": f.repeat, "reason": f.reason} for f in study.failures]
        print_json({"folder": str(folder), "ranking": study.summary_rows, "failures": failures})
    else:
        _print_ranking(study)
        say(f"the page         {folder / PAGE}  (open it in a browser; it needs no network)")
        if study.admissible:
            say(f"plan of the best {folder / PLAN}  (for microveil protect --plan; keep it private)")
    for told in study.notes:
        note(told)


def _print_ranking(study: Study) -> None:
    from rich.table import Table

    from microveil.microdata.microdata import count

    if study.knowledge is not None:
        say(str(study.knowledge))
    table = Table(title=f"{study.title}: {count(study.records, 'record')}, best score first", title_justify="left")
    for column in ("", "candidate", "loss", "risk", "score", "std. dev.", ""):
        table.add_column(column, justify="left" if column == "candidate" else "right")
    best = study.chosen
    front = set(map(id, study.front))
    for rank, result in enumerate(study.results[:_SHOWN], start=1):
        deviation = f"{result.deviation('score'):.2f}" if len(result.runs) > 1 else ""
        marks = ["best"] * (result is best) + ["knee"] * (result is study.knee) + ["front"] * (id(result) in front)
        marks += [f"only {count(result.records, 'record')}"] * study.is_part(result)
        cells = (f"{result.loss:.2f}", f"{result.risk:.2f}", f"{result.score:.2f}", deviation, ", ".join(marks))
        table.add_row(str(rank), result.candidate.label, *cells, style="bold" if result is best else None)
    console().print(table)
    if len(study.results) > _SHOWN:
        say(f"and {len(study.results) - _SHOWN} more in summary.csv")
    if best is not None:
        say(f"best             {best.candidate.label}: loss {best.loss:.2f}, risk {best.risk:.2f}{_over(best)}")
    if best is not None and best.again is not None and best.candidate.is_random:
        say(f"measured again   loss {best.again.loss:.2f}, risk {best.again.risk:.2f}, with the new seed of the plan")


def _over(best: Result) -> str:
    return f", means over {len(best.runs)} repeats" if len(best.runs) > 1 else ""
