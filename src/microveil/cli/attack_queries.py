"""`microveil attack-queries`: the red team against a configuration of the statistical database."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microveil.cli.options import Force, Input, Json, TableOptions, split, with_table_options
from microveil.cli.printing import bar_for, note, print_json, say
from microveil.cli.tables import read_table

if TYPE_CHECKING:
    from microveil.queries.red_team.campaign import Campaign

EXAMPLE = (
    'Example: microveil attack-queries people.csv --confidential income --control "set-size k=5" --control audit '
    "--out red-team.html"
)


class Scope(StrEnum):
    """Whose attributes the intruder knows."""

    register = "register"
    target = "target"


class EngineChoice(StrEnum):
    """What evaluates questions."""

    duckdb = "duckdb"
    arrays = "arrays"


@with_table_options
def attack_queries(
    path: Input,
    control: Annotated[
        list[str] | None,
        typer.Option(
            help="A control with its parameters, as in 'query'; may be repeated; 'none' for a server without controls. "
            "Default: set-size k=5 and audit.",
            metavar="TEXT",
        ),
    ] = None,
    value: Annotated[
        str | None, typer.Option(help="Attribute to look for; default: the first confidential one.", metavar="NAME")
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(help="Of an attribute with categories, the one to look for.", metavar="CATEGORY"),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(
            help="Attributes that the intruder knows; default: the keys, else all that are not confidential.",
            metavar="A,B,...",
        ),
    ] = None,
    of: Annotated[
        Scope, typer.Option(help="Whether the intruder knows these of everybody, or of the targets alone.")
    ] = Scope.register,
    targets: Annotated[int, typer.Option(help="Number of people to attack.", min=1, max=100_000)] = 20,
    questions: Annotated[
        int, typer.Option(help="Most questions that each attack may ask.", min=1, max=10_000_000)
    ] = 1000,
    attacks: Annotated[str | None, typer.Option(help="Attacks to run; default: all.", metavar="A,B,...")] = None,
    quality: Annotated[
        bool, typer.Option("--quality/--no-quality", help="Measure bias, precision, consistency and cost, too.")
    ] = True,
    same_server: Annotated[
        bool, typer.Option("--continue", help="All attacks ask one server, one after the other.")
    ] = False,
    engine: Annotated[EngineChoice, typer.Option(help="What evaluates questions.")] = EngineChoice.arrays,
    seed: Annotated[int, typer.Option(help="Seed of the targets and of what attacks draw.", min=0)] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a page about it; it needs no network.", metavar="FILE")
    ] = None,
    *,
    table: TableOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Attack a table that answers questions, by a red team.

    A red team that may ask what any analyst may ask looks for the confidential values of some people: by singletons,
    trackers, overlapping sets, averaging, linear reconstruction, errors, time, and a search of its own. It says what
    it learnt, and in how many questions. Values of people are not shown.
    """
    from microveil.microdata.files.atomic import check_output, write_text
    from microveil.progress import Part
    from microveil.queries.red_team.campaign import attack_queries as attack

    if out is not None:
        check_output(out, force=force, inputs=[path, table.schema])
    controls = None if not control else [] if control == ["none"] else control
    with bar_for(f"attacking {path.name}") as bar:
        data = read_table(path, table.schema, Part(bar, 0.0, 0.05), **table.reading, **table.described)
        found = attack(
            data, controls, value=value, category=category, known=split(known), scope=of.value, attacks=split(attacks),
            targets=targets, questions=questions, seed=seed, engine=engine.value, quality=quality,
            same_server=same_server, progress=Part(bar, 0.05, 1.0),
        )  # fmt: skip
    if out is not None:
        write_text(out, found.to_html(f"Red team: {path.name}"), force=force, private=True)
    if as_json:
        print_json(found.to_plain())
        return
    _show(found, path.name)
    if out is not None:
        say(f"page written to {out}; it opens in a browser and needs no network")


def _show(found: Campaign, name: str) -> None:
    from microveil.display import text_table

    say(f"{name}: {found.records:,} records, {found.addressable:,} of them unlike all others in what is known")
    say(f"sought: {found.sought}; known: {', '.join(found.known)}, of {_OF[found.scope]}")
    say(f"controls: {'; '.join(found.controls) or 'none'}")
    say()
    for line in text_table(found.rows(), right=set(range(2, 7))):
        say(line)
    say("exact: values learnt within a millionth; near: within a tenth of a standard deviation; wrong: other claims")
    say()
    for sentence in found.findings:
        say(sentence)
    for outcome in found.outcomes:
        if outcome.why_not is not None:
            note(f"{outcome.attack} was not tried: {outcome.why_not}")
    if found.quality is not None:
        say()
        for line in text_table(found.quality.rows()):
            say(line)


_OF = {"register": "everybody", "target": "the targets alone"}
