"""`microveil search`: pipelines of methods with little loss and little risk, found by evolution."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microveil.cli.options import (
    Input,
    Json,
    Known,
    TableOptions,
    columns,
    required,
    settings_of,
    split,
    with_table_options,
)
from microveil.cli.printing import bar_for, console, note, print_json, say
from microveil.cli.tables import read_table

if TYPE_CHECKING:
    from microveil.search import Found

EXAMPLE = "Example: microveil search people.csv --schema people.toml --risk-below 5 --budget 10m --out found"


@with_table_options
def search(
    path: Input,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for what is found; default: beside IN, named after it."),
    ] = None,
    risk_below: Annotated[
        str | None,
        typer.Option(
            help="The best release is the one that loses least among those of which the worst attack links less than "
            "this percentage of the records; without it, the one with the least mean of loss and risk.",
            metavar="PERCENT",
        ),
    ] = None,
    attacks: Annotated[
        str | None,
        typer.Option(
            help="Attacks to fear: names with commas, or all; default: those that every assessment runs, and that of "
            "an intruder who knows the plan.",
            metavar="A,B,...",
        ),
    ] = None,
    losses: Annotated[
        str | None, typer.Option(help="Losses to measure; default: the usual ones.", metavar="A,B,...")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(help="What every release must guarantee, as in 'protect'; may be repeated.", metavar="NAME=VALUE"),
    ] = None,
    at_most: Annotated[
        list[str] | None,
        typer.Option(
            help="The largest value of a loss or of the risk of an attack, in per cent; may be repeated.",
            metavar="NAME=PERCENT",
        ),
    ] = None,
    only: Annotated[str | None, typer.Option(help="Methods to choose from; default: all.", metavar="A,B,...")] = None,
    without: Annotated[str | None, typer.Option(help="Methods to leave out.", metavar="A,B,...")] = None,
    insist: Annotated[str | None, typer.Option(help="Methods that every release uses.", metavar="A,B,...")] = None,
    attributes: Annotated[
        str | None, columns("Columns to mask; default: the keys, or all numeric columns where no roles are declared.")
    ] = None,
    known: Known = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Time for the whole search, such as 90s, 10m or 2h; default: 10m.", metavar="TIME"),
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(help="Number of pipelines to try, instead of a time: then the result can be repeated.", min=1),
    ] = None,
    sampler: Annotated[
        str, typer.Option(help="What chooses the next pipelines: sms-emoa, nsga2, bayes or random.", metavar="NAME")
    ] = "sms-emoa",
    seed: Annotated[
        str | None, typer.Option(help="Seed of the search; the plan of the best has another.", metavar="NUMBER")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Number of worker processes; default: one for each processor; 0: no other process.", min=0),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Continue an earlier search in the folder, or begin anew.")
    ] = True,
    *,
    table: TableOptions,
    as_json: Json = False,
) -> None:
    """Find releases that lose least at every level of risk.

    Methods, their order, the attributes of each and their parameters are searched together. What is found is measured
    once more with fresh seeds. The folder gets a table of the front, a plan for each of its members, the plan of the
    best, a page with the map, and all that was tried; a search that was stopped can be continued.
    """
    from microveil.progress import Part
    from microveil.randomness import check_seed
    from microveil.search.searching import search as find

    folder = out or path.parent / f"{path.stem}-search"
    with bar_for(f"searching for releases of {path.name}") as bar:
        data = read_table(path, table.schema, Part(bar, 0.0, 0.02), **table.reading, **table.described)
        found = find(
            data,
            risk_below=risk_below,
            attributes=split(attributes),
            known=split(known),
            attacks="all" if attacks == "all" else split(attacks),
            losses=split(losses),
            require=required(require),
            at_most=settings_of(at_most, "--at-most", "il=20"),
            only=split(only) or (),
            without=split(without) or (),
            insist=split(insist) or (),
            budget=budget,
            evaluations=evaluations,
            sampler=sampler,
            seed=None if seed is None else check_seed(seed),
            out=folder,
            workers=workers,
            fresh=not resume,
            progress=Part(bar, 0.02, 1.0),
        )
    _show(found, folder, as_json=as_json)


def _show(found: Found, folder: Path, *, as_json: bool) -> None:
    from microveil.search.found import FRONT, PLANS
    from microveil.study.results import PAGE, PLAN

    if as_json:
        print_json({"folder": str(folder), **found.to_plain()})
    else:
        _print_front(found)
        for sentence in found.explanation:
            say(sentence)
        say(f"the front        {folder / FRONT}, with a plan for each line in {folder / PLANS}")
        say(f"the page         {folder / PAGE}  (open it in a browser; it needs no network)")
        say(f"plan of the best {folder / PLAN}  (for microveil protect --plan; keep it private)")
    for told in found.study.notes:
        note(told)


def _print_front(found: Found) -> None:
    from rich.table import Table

    from microveil.microdata.microdata import count

    study = found.study
    if study.knowledge is not None:
        say(str(study.knowledge))
    tried = count(found.tried, "pipeline")
    title = f"The front: {count(study.records, 'record')}, {tried} tried, hypervolume {found.hypervolume:.1f} %"
    shown = Table(title=title, title_justify="left")
    for column in ("", "pipeline", "loss", "risk", ""):
        shown.add_column(column, justify="left" if column == "pipeline" else "right")
    for number, result in enumerate(found.front, start=1):
        marks = ["best"] * (result is found.best) + ["knee"] * (result is study.knee)
        numbers = (f"{result.loss:.2f}", f"{result.risk:.2f}", ", ".join(marks))
        shown.add_row(str(number), result.candidate.label, *numbers, style="bold" if result is found.best else None)
    console().print(shown)
