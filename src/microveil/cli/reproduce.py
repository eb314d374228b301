"""`microveil reproduce`: published tables, printed value beside measured value."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import microveil
from microveil.cli.options import Force, Json
from microveil.cli.printing import bar_for, console, print_json, say
from microveil.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reproduction.base import Reproduction
    from reproduction.running import Outcome

EXAMPLE = "Example: microveil reproduce k-ward-3.3 swapping-4.2"


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Tables, families of tables (k-ward), or all; see --list.", metavar="NAME"),
    ] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List the tables.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Compute long tables in a shorter form.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write a page (.md) or all values (.csv) to this file.", metavar="FILE")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            help="Save the result of each table in this folder, and reuse the results that are already there.",
            metavar="FOLDER",
        ),
    ] = None,
    differing: Annotated[
        bool, typer.Option("--differing", help="Show only values that differ from the printed ones.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Recompute published tables, beside the printed values.

    Needs the reference data, in the folder that MICROVEIL_DATA names.
    """
    _enter_checkout()
    from reproduction.catalogue import chosen

    if list_them:
        _list(chosen(names or ["all"]), as_json)
        return
    if not names:
        raise ParameterError(
            "name at least one table, a family of tables such as k-ward, or all; --list shows the tables"
        )
    wanted = chosen(names)
    if out is not None:
        from microveil.microdata.files.atomic import check_output

        if out.suffix not in (".md", ".csv"):
            raise ParameterError(f"--out takes a file that ends in .md or .csv, not '{out.name}'")
        check_output(out, force=force)
    if keep is not None:
        from microveil.microdata.files.atomic import make_folder

        make_folder(keep)
    from reproduction.running import run_all

    with bar_for("reproduce") as bar:
        outcomes = run_all(wanted, quick=quick, keep=keep, progress=bar)
    if out is not None:
        _write(out, outcomes, force)
    if as_json:
        print_json([outcome.to_plain() for outcome in outcomes])
        return
    for outcome in outcomes:
        if out is None:
            _show(outcome, differing)
        form = ", quick form" if outcome.quick else ""
        say(f"{outcome.reproduction.name}{form}: {outcome.summary}")
    if out is not None:
        say(f"written to {out}")


def _enter_checkout() -> None:
    """The reproductions lie beside the source of the package, not in it."""
    folder = Path(microveil.__file__).resolve().parents[2] / "studies"
    if not (folder / "reproduction").is_dir():
        raise ParameterError(
            "reproductions of published tables are part of the source code, not of the installed package; run the "
            "command in a checkout of the source code, after make setup"
        )
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _list(wanted: Sequence[Reproduction], as_json: bool) -> None:
    if as_json:
        print_json([reproduction.to_plain() for reproduction in wanted])
        return
    from rich.table import Table

    table = Table(title=f"{len(wanted)} published tables", title_justify="left")
    for column in ("name", "what", "source", "values", "seconds", "quick"):
        table.add_column(column, justify="right" if column in ("values", "seconds", "quick") else "left")
    for reproduction in wanted:
        short = "" if reproduction.quick is None else f"{reproduction.quick.seconds:g}"
        table.add_row(
            *(reproduction.name, reproduction.title, reproduction.source),
            *(str(reproduction.length), f"{reproduction.seconds:g}", short),
        )
    console().print(table)


def _show(outcome: Outcome, differing: bool) -> None:
    from rich.table import Table

    from reproduction.base import NOT_AS_PRINTED
    from reproduction.page import number, shown

    made = outcome.reproduction
    table = Table(title=f"{made.title} ({made.source})", title_justify="left", caption_justify="left")
    if made.why:
        table.caption = made.why
    for column in ("value", "printed", "measured", "difference", "recomputed", "verdict", "note"):
        table.add_column(column, justify="left" if column in ("value", "verdict", "note") else "right")
    for row in outcome.rows:
        if differing and row.verdict not in NOT_AS_PRINTED:
            continue
        numbers = (number(value, row.decimals) for value in (row.measured, row.difference, row.recomputed))
        style = {"differs": "red", "recomputed": "yellow", "as printed": "green"}.get(row.verdict)
        table.add_row(row.label, shown(row), *numbers, row.verdict, row.note, style=style)
    console().print(table)


def _write(out: Path, outcomes: Sequence[Outcome], force: bool) -> None:
    from microveil.microdata.files.atomic import write_text
    from reproduction.curves import FOLDER, drawings
    from reproduction.page import as_csv, as_page

    if out.suffix == ".csv":
        write_text(out, as_csv(outcomes), force=force)
        return
    write_text(out, as_page(outcomes), force=force)
    for name, drawing in drawings(outcomes).items():
        (out.parent / FOLDER).mkdir(exist_ok=True)
        write_text(out.parent / FOLDER / f"{name}.svg", drawing, force=force)
