"""`microveil protect`: mask a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microveil.cli.options import (
    Engine,
    Force,
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
from microveil.cli.printing import bar_for, note, print_json, say
from microveil.cli.tables import holds_graph, read_table
from microveil.cli.telling import of_the_seed, say_what_was_done
from microveil.cli.trial import trial_of
from microveil.errors import ParameterError

if TYPE_CHECKING:
    from microveil.masking import Plan
    from microveil.masking.manifest import Manifest

EXAMPLE = "Example: microveil protect people.csv --schema people.toml --method mdav-generic --set k=5 --out safe.csv"
MORE = (
    "As strong as needed: microveil protect people.csv --schema people.toml --method mdav-generic --vary k=3,5,10,20 "
    "--until distance-linkage=5 --out safe.csv"
)


@with_table_options
def protect(
    path: Input,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The file to write; its manifest and its private file are written beside it."),
    ],
    method: Annotated[str | None, typer.Option("--method", "-m", help="The method; see 'microveil methods'.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the method.", metavar="NAME=VALUE")
    ] = None,
    attributes: Annotated[
        str | None, columns("Columns to mask; default: the keys, or all numeric columns where no roles are declared.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="A plan (TOML) or a manifest (JSON) to carry out, instead of --method.")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            help="What the release must guarantee over its keys: k, population, l, entropy-l, recursive-l (at least), "
            "t or risk, the largest probability that a record is re-identified (at most); of a graph also degree-k, "
            "the fewest nodes that share a number of links (at least); or a combination as in --combination. Checked "
            "before anything is written.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    combination: Annotated[
        list[str] | None,
        typer.Option(
            help="A combination that must be frequent, such as 'age,sex,region >= 5' (records), 'every pair of keys >= "
            "3' or 'every triple >= 100 population'; may be repeated. suppress and recode see to it, and the release "
            "is checked for all of them together before anything is written.",
            metavar="TEXT",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            help="With --vary: release the first value for which the risk of this attack is at most PERCENT and every "
            "--require is met. Names an attack of 'microveil methods --kind attack', or one of its counters, such as "
            "inference.explained=30. The upper limit of the 95 % confidence interval, which is shown, may be higher.",
            metavar="ATTACK=PERCENT",
        ),
    ] = None,
    vary: Annotated[
        str | None,
        typer.Option(
            help="With --until: values of a parameter of the method to try, from the weakest masking to the strongest.",
            metavar="NAME=A,B,...",
        ),
    ] = None,
    known: Known = None,
    seed: Annotated[
        str | None,
        typer.Option(
            help="Seed: a whole number, or hexadecimal digits after 0x. Whoever guesses it can undo much of the "
            "masking; by default a secret seed is drawn and written to the manifest.",
            metavar="NUMBER",
        ),
    ] = None,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle-records",
            help="Release the records in random order; with the private file, or the manifest, it can be restored.",
        ),
    ] = False,
    new_ids: Annotated[
        bool,
        typer.Option(
            "--new-ids",
            help="Release identifiers, household numbers, series and nodes with random new identifiers, each the same "
            "for all records of a unit; by default identifiers are left out. The private file has the key table.",
        ),
    ] = False,
    keep_household_ids: Annotated[
        bool,
        typer.Option(
            "--keep-household-ids", help="Release the original household numbers; by default households are renumbered."
        ),
    ] = False,
    neutralise_formulas: Annotated[
        bool,
        typer.Option(
            "--neutralise-formulas",
            help="Put an apostrophe before texts in a CSV file that a spreadsheet would read as formulas "
            "(those that begin with = + - @ or a tab). In an Excel workbook texts are never read as formulas.",
        ),
    ] = False,
    engine: Engine = None,
    *,
    table: TableOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Mask a table and write the release.

    The manifest beside it says how it was made, so that it can be made again. The private file beside it holds what
    attacks by an intruder who knows the method need (groups, matrices, order of records), for assess and report.
    """
    from dataclasses import replace

    from microveil.masking.release import check_destination
    from microveil.progress import Part
    from microveil.protection import protect as carry_out
    from microveil.randomness import check_seed, draw_seed

    given_settings = _with_combinations(method, settings_of(settings), combination or ())
    trial = None if until is None and vary is None else trial_of(method, given_settings, until, vary)
    the_plan, manifest = _the_plan(plan, method, trial.weakest if trial else given_settings, attributes)
    the_plan = replace(
        the_plan,
        require={**the_plan.require, **required([*(require or ()), *(combination or ())])},
        shuffle=shuffle or the_plan.shuffle,
        keep_household_ids=keep_household_ids or the_plan.keep_household_ids,
        new_ids=new_ids or the_plan.new_ids,
    )
    given = None if seed is None else check_seed(seed)
    if known is not None and trial is None:
        raise ParameterError("--known says what the intruder knows in the attack of --until; it needs --until")
    if engine is not None:
        from microveil.cli.engines import protect_by_engine

        apart = {"--until": until, "--vary": vary, "--neutralise-formulas": neutralise_formulas}
        protect_by_engine(engine, path, out, the_plan, manifest, given, table, apart, force=force, as_json=as_json)
        return
    check_destination(out, force=force, inputs=[path, plan, table.schema, table.graph], graph=holds_graph(path, table))
    wishes = table.reading
    if manifest is not None:
        wishes.update({k: v for k, v in manifest.dialect.items() if wishes[k] is None})
    with bar_for(f"protecting {path.name}") as bar:
        # the plan's schema decides how columns are read; what is said on the command line goes on top of it
        data = read_table(path, table.schema or the_plan.schema, Part(bar, 0.0, 0.1), **wishes, **table.described)
        if manifest is not None:
            the_plan = replace(the_plan, seed=manifest.plan_for(data).seed)
        found = None
        if trial is not None:
            given = draw_seed() if given is None else given
            found = trial.run(data, split(attributes), split(known), given, the_plan.require, Part(bar, 0.1, 0.8))
            the_plan = replace(the_plan, steps=(replace(the_plan.steps[0], parameters=found.method.parameters()),))
        masking = Part(bar, 0.1 if found is None else 0.8, 0.9)
        release = carry_out(data, replace(the_plan, schema=None), seed=given, progress=masking)
        bar(0.9, f"writing {out.name}")
        neutralise = neutralise_formulas or (manifest is not None and manifest.neutralised)
        written, beside, private, edges = release.save(out, force=force, neutralise_formulas=neutralise)
    warnings = of_the_seed(release.provenance)
    for warning in warnings:
        note(warning)
    for caution in release.cautions(data):
        note(caution)
    if manifest is not None:
        note(manifest.compare(release, written))
    if as_json:
        guarantees = release.guarantees.to_plain()
        plain = release.provenance.to_plain()
        plain["plan"].pop("seed", None)  # a secret; what is printed ends in logs, and the manifest keeps it
        tried = {} if trial is None or found is None else {"until": trial.to_plain(found)}
        files = {"release": str(written), "manifest": str(beside), "private": private and str(private)}
        files |= {} if edges is None else {"edges": str(edges)}
        print_json({**files, "warnings": warnings, "guarantees": guarantees, **tried, **plain})
        return
    if found is not None:
        for line in found.sentences():
            say(line)
    schema = release.data.schema
    say_what_was_done(release.provenance, schema, release.untouched, release.guarantees, release.partition)
    say(f"{len(release):,} records written to {written}")
    if edges is not None and release.data.edges is not None:
        say(f"{len(release.data.edges):,} edges written to {edges}")
    say(f"manifest written to {beside}; keep it private, because its seed helps to undo the masking")
    if private is not None:
        say(f"private file written to {private}; keep it private too: assess and report need it, and it helps as much")


def _with_combinations(method: str | None, settings: Mapping[str, str], combination: Sequence[str]) -> dict[str, str]:
    """The settings of the method with the combinations among them, where it is one that sees to them."""
    from microveil.microdata.combinations import combinations_of
    from microveil.parameters import parameter_names
    from microveil.registry import find

    listed = "; ".join(map(str, combinations_of(combination))) if combination else ""
    if not listed or method is None or "combinations" not in parameter_names(find("method", method)):
        return dict(settings)
    if "combinations" in settings:
        raise ParameterError("give combinations either by --combination or by --set combinations=..., not by both")
    return {**settings, "combinations": listed}


def _the_plan(
    plan: Path | None, method: str | None, settings: Mapping[str, str], attributes: str | None
) -> tuple[Plan, Manifest | None]:
    from microveil.masking.manifest import Manifest
    from microveil.masking.plan import Plan, Step, read_plan
    from microveil.registry import make

    if (plan is None) == (method is None):
        raise ParameterError("give either --method NAME or --plan FILE")
    if plan is not None:
        if settings or attributes:
            raise ParameterError(
                "--set and --attributes can be used only with --method; a plan has its own parameters and attributes"
            )
        read, content = read_plan(plan)
        return read, None if content is None else Manifest(read, content)
    assert method is not None
    built = make("method", method, settings, text=True)
    chosen = split(attributes)
    return Plan((Step(method, built.parameters(), None if chosen is None else tuple(chosen)),)), None
