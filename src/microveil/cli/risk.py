"""`microveil risk`: the risk of re-identification in a file that is not masked."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from microveil.cli.options import Force, Input, Json, TableOptions, Threshold, with_table_options
from microveil.cli.printing import bar_for, console, note, print_json, say
from microveil.cli.profiles import print_profile
from microveil.cli.tables import read_table, words_of
from microveil.errors import ParameterError
from microveil.units import THRESHOLD

if TYPE_CHECKING:
    from microveil.masking import Plan
    from microveil.scoring.risk_advice.advice import RiskAdvice

EXAMPLE = (
    "Example: microveil risk people.csv --keys age,sex,region --weight weight --records risks.csv\n\n"
    "What to do about it: microveil risk people.csv --keys age,sex,region --advise --target 20 --page risk.html"
)
LOST = "lost: share of the entropy of the keys, H(X | Y) / H(X) for values X released as Y, as a mean over the keys"


@with_table_options
def risk(
    path: Input,
    threshold: Threshold = THRESHOLD,
    target: Annotated[
        float | None,
        typer.Option(
            help="Instead of --threshold: the number of re-identifications that may be expected. The threshold is "
            "such that this is their number if the risk of every record above it is lowered to it. With --advise, "
            "changes are proposed until it is met.",
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
    advise: Annotated[
        bool,
        typer.Option(
            "--advise",
            help="Try changes of the keys on the file, and say which would lower the risk most at what loss.",
        ),
    ] = False,
    plan_out: Annotated[
        Path | None,
        typer.Option(
            help="With --advise: write the plan of the proposed changes for 'protect --plan'. It is that of all "
            "changes one after the other, or with --proposal that of one single change. It holds the schema and "
            "categories, so only its owner can read it.",
            metavar="FILE",
        ),
    ] = None,
    proposal: Annotated[
        int | None,
        typer.Option(help="With --plan-out: the number of the single change in the table.", metavar="NUMBER", min=1),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Write a page about the risk with histograms, what causes it and what would lower it most. It shows "
            "combinations of single records, so only its owner can read it.",
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
    from microveil.microdata.files.atomic import check_output, write_text
    from microveil.microdata.files.formats import check_writable
    from microveil.microdata.files.writing import write
    from microveil.progress import Part
    from microveil.scoring.risk_advice.advice import advise_on
    from microveil.scoring.risk_profile import profile_of

    check_threshold(threshold)
    if plan_out is not None and not advise:
        raise ParameterError("--plan-out writes the plan of proposed changes, so it needs --advise")
    if proposal is not None and plan_out is None:
        raise ParameterError("--proposal says which change goes into the plan, so it needs --plan-out")
    for written in filter(None, (records, plan_out, page)):
        check_output(written, force=force, inputs=[path, table.schema])
    if records is not None:
        check_writable(records)
    with bar_for(f"reading {path.name}") as bar:
        data = read_table(path, table.schema, Part(bar, 0.0, 0.6), **table.reading, **table.described)
        found = risk_of_file(
            data,
            threshold=threshold,
            estimate=estimate,
            fraction=fraction,
            population=population,
            progress=Part(bar, 0.6, 0.7),
        )
        if target is not None:
            found = found.with_target(target)
        advice = None
        if advise or page is not None:
            advice = advise_on(data, found, target=target, progress=Part(bar, 0.7, 1.0))
    profile = profile_of(found)
    if not found.declared:
        note(f"no keys are declared, so the intruder is assumed to know all {len(found.keys)} attributes; see --keys")
    if records is not None:
        write(found.to_records(), records, force=force, private=True)
    if advice is not None and plan_out is not None:
        write_text(plan_out, _plan_of(advice, proposal).to_toml(), force=force, private=True)
    if advice is not None and page is not None:
        from microveil.reporting.risk_page import page_of

        limits = {"target": target, "fraction": fraction, "population": population, "threshold": threshold}
        given = [word for name, value in limits.items() if value is not None for word in (f"--{name}", f"{value!r}")]
        described = words_of(path, table)
        asked = ["microveil", "risk", *described, *given, "--estimate", estimate, "--advise"]
        write_text(page, page_of(data, profile, advice, described, asked=asked), force=force, private=True)
    if as_json:
        more = {} if advice is None else {"advice": advice.to_plain()}
        print_json({**found.to_plain(), "profile": profile.to_plain(), **more})
        return
    from rich.table import Table

    say(f"{path.name}: {found.heading}")
    shown = Table(title="risk of re-identification", title_justify="left")
    shown.add_column("")
    shown.add_column("as it is", justify="right")
    for row in found.rows():
        shown.add_row(*row)
    console().print(shown)
    print_profile(profile)
    special = found.special_uniques
    if special is not None and special.scores.any():
        shares = Table(title="what makes records unique", title_justify="left")
        shares.add_column("key")
        shares.add_column("part of the SUDA scores", justify="right")
        for name, share in sorted(special.by_attribute.items(), key=lambda each: -each[1]):
            shares.add_row(name, f"{share:.1f} %")
        console().print(shares)
    say(found.assumption)
    if advise and advice is not None:
        _print_advice(advice, words_of(path, table))
    if records is not None:
        say(f"risks of single records written to {records}; keep this file private")
    if plan_out is not None:
        say(f"plan written to {plan_out}; carry it out with 'microveil protect {path} --plan {plan_out}'")
    if page is not None:
        say(f"page written to {page}; it opens in a browser and needs no network")
        say("it shows combinations of the original: keep it confidential")


def _plan_of(advice: RiskAdvice, proposal: int | None) -> Plan:
    """The plan to write: all changes of the sequence, or one of the table."""
    if proposal is None:
        if not advice.sequence:
            raise ParameterError(f"there is no sequence of changes to write ({advice.outcome}); see --proposal")
        return advice.sequence[-1].plan
    if proposal > len(advice.best):
        raise ParameterError(f"--proposal {proposal} is not in the table, which has {len(advice.best)} changes")
    return advice.best[proposal - 1].plan


def _print_advice(advice: RiskAdvice, table: Sequence[str]) -> None:
    from rich.table import Table

    say("")
    say(advice.heading)
    for title, rows, numbered in (
        ("what would lower the risk most: single changes", advice.rows(), True),
        ("changes one after the other, each with those before it", advice.sequence_rows(), False),
    ):
        if not rows:
            continue
        shown = Table(title=title, title_justify="left")
        shown.add_column("")
        shown.add_column("change", overflow="fold", ratio=1)
        for name in ("expected", "at risk", "uniques", "lost"):
            shown.add_column(name, justify="right", no_wrap=True)
        for number, row in enumerate(rows, start=1):
            shown.add_row(str(number) if numbered else f"+{number}", *row)
        console().print(shown)
    say(LOST)
    say(advice.outcome)
    typed = {at: one.command(table) for at, one in enumerate(advice.best, start=1)}
    for at, command in typed.items():
        if "--plan" not in shlex.split(command):
            say(f"{at}: {command}")
    if any("--plan" in shlex.split(command) for command in typed.values()):
        say(
            "the others: write the plan with --plan-out plan.toml --proposal NUMBER, then protect with --plan plan.toml"
        )
