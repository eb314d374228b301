"""`microveil table`: a protected frequency or magnitude table."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microveil.cli.options import Force, Json, TableOptions, columns, settings_of, split, with_table_options
from microveil.cli.printing import bar_for, console, note, print_json, say, warn
from microveil.cli.tables import read_table
from microveil.errors import ParameterError

if TYPE_CHECKING:
    from microveil.microdata import Microdata
    from microveil.progress import Progress
    from microveil.tables.protected import ProtectedTable

EXAMPLE = (
    "Example: microveil table firms.csv --by activity,size --value turnover --hierarchy activity=activity.csv "
    '--rule "frequency 3" --rule "dominance 1 85" --method optimal --out table.csv'
)
_MOST_ROWS = 60  # of a table on the terminal


class TableMethod(StrEnum):
    """How a table is protected."""

    elimination = "elimination"
    optimal = "optimal"
    cell_key = "cell-key"
    rounding = "rounding"
    none = "none"


class TableCost(StrEnum):
    """What is to be suppressed as little as possible."""

    cells = "cells"
    value = "value"
    contributors = "contributors"


@with_table_options
def table(
    path: Annotated[
        Path, typer.Argument(help="The records or, with --cells, a table of cells: CSV, Parquet, ...", metavar="DATA")
    ],
    by: Annotated[
        list[str],
        typer.Option(help="The dimensions; repeated for linked tables, protected together.", metavar="A,B,..."),
    ],
    value: Annotated[
        str | None, typer.Option(help="The quantity to add up; without it records are counted.", metavar="NAME")
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            help="A primary rule, repeated for several: 'frequency 3' (the default), 'dominance 1 85', 'p-percent 10', "
            "'p-q 10 50', 'zeros'."
        ),
    ] = None,
    method: Annotated[TableMethod, typer.Option(help="How the table is protected.")] = TableMethod.elimination,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            help="Hierarchy of a dimension: a file with a column for each level, or .hrc; repeated for several.",
            metavar="NAME=FILE",
        ),
    ] = None,
    cells: Annotated[bool, typer.Option("--cells", help="DATA has a row for each cell, not for each record.")] = False,
    contributors: Annotated[
        str | None, typer.Option(help="With --cells: the number of contributors.", metavar="NAME")
    ] = None,
    largest: Annotated[str | None, columns("With --cells: the largest contributions, the largest first.")] = None,
    linked: Annotated[
        list[Path] | None,
        typer.Option(help="With --cells: the table of the next --by; repeated for several.", metavar="FILE"),
    ] = None,
    suppressed: Annotated[
        str | None,
        typer.Option(help="With --cells and --method none: marks the suppressed cells to audit.", metavar="NAME"),
    ] = None,
    total: Annotated[str, typer.Option(help="With --cells: what totals are called.")] = "Total",
    holding: Annotated[
        str | None, typer.Option(help="Records with the same value here are one contributor.", metavar="NAME")
    ] = None,
    waiver: Annotated[
        str | None, typer.Option(help="Records with yes, true or 1 here consent to be disclosed.", metavar="NAME")
    ] = None,
    record_id: Annotated[
        str | None, typer.Option("--id", help="What names a record in the cell-key method.", metavar="NAME")
    ] = None,
    protection: Annotated[
        str,
        typer.Option(help="How far a primary cell must stay uncertain on either side, or 'rule'.", metavar="PERCENT"),
    ] = "10%",
    known: Annotated[
        str | None,
        typer.Option(help="Everyone knows each contribution to lie between these.", metavar="LOW,HIGH"),
    ] = None,
    singletons: Annotated[
        bool, typer.Option(help="Protect also against single contributors, who know their own value.")
    ] = True,
    cost: Annotated[TableCost, typer.Option(help="What is to be suppressed as little as possible.")] = TableCost.cells,
    base: Annotated[float, typer.Option(help="Of --method rounding: the base.")] = 5.0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Of --method cell-key: variance, deviation, small or share.", metavar="NAME=VALUE"),
    ] = None,
    seed: Annotated[str | None, typer.Option(help="Of --method cell-key: the seed of other tables.")] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for --method optimal and rounding.")] = 300.0,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", help="Where to write the protected table; repeated for linked tables."),
    ] = None,
    tell: Annotated[
        bool, typer.Option("--tell", help="Write which suppressed cells are primary; it helps an attacker.")
    ] = False,
    audit_out: Annotated[
        Path | None,
        typer.Option(help="Write true values and the intervals of the audit to this file, for its owner alone."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page about the table for its owner (HTML).")] = None,
    *,
    table: TableOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make a protected frequency or magnitude table; audit it.

    Primary rules say which cells would disclose a contributor. These and as many others as are needed are suppressed,
    or all cells are rounded or perturbed. The audit attacks the result: it computes what everyone could of each primary
    cell. Categories that are missing are one of their own; cells without contributors are zeros and are left out.
    """
    from microveil.microdata.files.atomic import check_output
    from microveil.microdata.files.formats import check_writable
    from microveil.progress import Part
    from microveil.tables.tabulating import table as make

    groups = [split(names) or [] for names in by]
    files = {name: Path(file) for name, file in settings_of(hierarchy, "--hierarchy", "activity=activity.csv").items()}
    outputs = _outputs(out or [], len(groups))
    written = [*outputs, *([audit_out] if audit_out else []), *([report] if report else [])]
    for output in written:
        check_output(output, force=force, inputs=[path, *(linked or []), table.schema, *files.values()])
    if len(set(written)) < len(written):
        raise ParameterError("two outputs have the same name")
    for output in [*outputs, *([audit_out] if audit_out else [])]:
        check_writable(output)
    if audit_out and len(groups) > 1:
        raise ParameterError("--audit-out takes one table; the audit of linked tables is in --json and --report")
    if (contributors or largest or linked or suppressed) and not cells:
        raise ParameterError("--contributors, --largest, --linked and --suppressed are for --cells")
    with bar_for(f"reading {path.name}") as bar:
        data = _read([path, *(linked or [])], table, Part(bar, 0.0, 0.2))
        made = make(
            data if cells else data[0],
            groups,
            value,
            rules=rule or ["frequency 3"],
            method=_method(method, base, settings),
            hierarchies=files,
            source=_source(cells, contributors, largest, suppressed, total, holding, waiver, record_id),
            protection=None if protection.strip().lower() == "rule" else protection,
            known=_known(known),
            singletons=singletons,
            cost=cost.value,
            seed=seed,
            time_limit=time_limit,
            progress=Part(bar, 0.2, 1.0),
        )
    _write(made, outputs, audit_out, report, tell=tell, force=force)
    if as_json:
        print_json(made.to_plain())
        return
    _print(made)
    for number, output in enumerate(outputs):
        say(f"the protected table {' x '.join(made.dimensions(number))} is written to {output}")
    if audit_out:
        say(f"true values and intervals written to {audit_out}; keep this file private")
    if report:
        say(f"page written to {report}; it shows true values: keep it private")


def _outputs(out: list[Path], tables: int) -> list[Path]:
    """One file for each table; linked tables with one name get numbers."""
    if not out or len(out) == tables:
        return out
    if len(out) > 1:
        raise ParameterError(f"there are {tables} tables, so --out is given once or {tables} times")
    name = out[0].name.partition(".")
    return [out[0].with_name(f"{name[0]}-{number}{name[1]}{name[2]}") for number in range(1, tables + 1)]


def _read(paths: list[Path], table: TableOptions, progress: Progress) -> list[Microdata]:
    from microveil.progress import parts

    return [
        read_table(path, table.schema, part, **table.reading, **table.described)
        for path, part in zip(paths, parts(progress, len(paths)), strict=True)
    ]


def _source(
    cells: bool,
    contributors: str | None,
    largest: str | None,
    suppressed: str | None,
    total: str,
    holding: str | None,
    waiver: str | None,
    record_id: str | None,
) -> Any:
    from microveil.tables.sources import Aggregated, Respondents

    if not cells:
        return Respondents(holding, waiver, record_id)
    if contributors is None:
        raise ParameterError("with --cells, --contributors names the column with the number of contributors")
    if holding or waiver or record_id:
        raise ParameterError("--holding, --waiver and --id are for records, not for --cells")
    return Aggregated(contributors, tuple(split(largest) or ()), suppressed, total)


def _method(method: TableMethod, base: float, settings: list[str] | None) -> Any:
    from microveil.tables.cell_key import CellKey
    from microveil.tables.tabulating import Rounding

    given = settings_of(settings, "--set", "variance=2")
    if given and method is not TableMethod.cell_key:
        raise ParameterError("--set is for --method cell-key")
    if method is TableMethod.rounding:
        return Rounding(base=base)
    if method is TableMethod.cell_key:
        numbers: dict[str, Any] = {name: _number(name, text) for name, text in given.items()}
        return CellKey(**numbers)
    return method.value


def _number(name: str, text: str) -> float | int:
    try:
        return int(text) if name in ("deviation", "small") else float(text)
    except ValueError:
        raise ParameterError(f"--set {name} takes a number, not '{text[:40]}'") from None


def _known(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError("--known takes two numbers, such as 0,500") from None
    return low, high


def _write(
    made: ProtectedTable, outputs: list[Path], audit_out: Path | None, report: Path | None, *, tell: bool, force: bool
) -> None:
    from microveil.microdata.files.atomic import write_text
    from microveil.tables.page import table_page

    for number, output in enumerate(outputs):
        made.write(output, number, tell=tell, force=force)
    if made.seed is not None and outputs:
        private = outputs[0].with_name(outputs[0].name + ".private.json")
        write_text(private, json.dumps(made.private_text(), indent=1) + "\n", force=force, private=True)
        note(f"the seed is in {private}, for its owner alone: tables that are to agree with this one need it")
    if audit_out:
        made.write(audit_out, private=True, force=force)
    if report:
        write_text(report, table_page(made), force=force, private=True)


def _print(made: ProtectedTable) -> None:
    counts = made.counts
    hidden = f", {counts['primary']:,} primary, {counts['secondary']:,} secondary" if made.audit else ""
    say(f"{counts['cells']:,} cells{hidden}, {counts['published']:,} published; method {made.method}")
    if "proved_optimal" in made.facts:
        proved = "proved optimal" if made.facts["proved_optimal"] else f"within {100 * made.facts['gap']:.2f} %"
        say(f"optimal: {proved}; by elimination {made.facts['secondary_by_elimination']:,} secondary cells")
    for told in made.notes:
        note(told)
    for number in range(len(made.cells.used)):
        _show(made, number)
    if made.audit is None:
        if "averaging" in made.facts:
            found = made.facts["averaging"]
            say(
                f"of {found['totals']:,} totals {found['alone']:,} are published as they are; averaging them with the "
                f"sums of their parts finds {found['averaged']:,}"
            )
        return
    if made.passed:
        say("audit: passed; every primary cell stays as uncertain as required")
    else:
        others = len({column for _, column in made.audit.found_out})
        warn(
            f"audit: failed; {int(made.audit.short.sum()):,} primary cells can be computed too closely, and "
            f"contributors can find out {others:,} primary cells of others from their own value"
        )
    for relation in made.relations(5):
        say(f"exact relation between primary cells: {relation}")


def _show(made: ProtectedTable, number: int) -> None:
    from rich.table import Table

    here = made.cells.of_table(number)
    shown = Table(title=f"{made.value or 'count'} by {' and '.join(made.dimensions(number))}", title_justify="left")
    for name in made.dimensions(number):
        shown.add_column(name)
    shown.add_column(made.value or "count", justify="right")
    for cell in here[:_MOST_ROWS].tolist():
        names, published = made.name(cell), made.values[cell]
        text = "x" if published != published else f"{published:,.10g}"
        shown.add_row(*(names[name] for name in made.dimensions(number)), text)
    console().print(shown)
    if len(here) > _MOST_ROWS:
        say(f"and {len(here) - _MOST_ROWS:,} more cells; --out writes all of them")
