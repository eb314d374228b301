"""`microveil assess`: what an intruder gains and what an analyst loses."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from microveil.cli.options import (
    Compared,
    Control,
    Engine,
    Json,
    Known,
    Masked,
    MatchBy,
    Original,
    TableOptions,
    Threshold,
    columns,
    settings_of,
    split,
    with_table_options,
)
from microveil.cli.printing import bar_for, console, fail, note, print_json, say, warn
from microveil.cli.profiles import print_profile
from microveil.cli.tables import manifest_beside, read_control, read_masked, read_original
from microveil.cli.versions import attack_together, check_versions, plain_versions, print_versions
from microveil.errors import ParameterError
from microveil.units import THRESHOLD

if TYPE_CHECKING:
    from microveil.scoring import Assessment
    from microveil.scoring.risk_profile import RiskProfile

EXAMPLE = (
    "Example: microveil assess people.csv safe.csv --attacks all\n\n"
    "Several releases of one table: microveil assess people.csv safe.csv --also safe2.csv --also safe3.csv\n\n"
    "A release of another table with some of the same people: microveil assess people.csv safe.csv --other other.csv"
)


@with_table_options
def assess(
    original: Original,
    masked: Masked,
    attributes: Compared = None,
    known: Known = None,
    attacks: Annotated[
        str | None,
        columns(
            "Attacks to run; default: the general ones; 'informed': also likelihood-linkage, by an intruder who knows "
            "the plan but not the seed; 'all': every attack that applies."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A parameter of an attack, a loss or the score that is named, such as distance-linkage.metric=gower.",
            metavar="MEASURE.NAME=VALUE",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain each risk, with an example record; keep this output private.")
    ] = False,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            help="Another masked version of the same table; may be repeated. The attacks named by --attacks (by "
            "default and with 'all': distance-linkage only) are run on each version and on all versions combined.",
            metavar="MASKED2",
        ),
    ] = None,
    other: Annotated[
        list[Path] | None,
        typer.Option(
            help="A release of another table that has some of the same people; may be repeated. The attack composition "
            "is run on it together with MASKED and the versions of --also.",
            metavar="RELEASE",
        ),
    ] = None,
    link: Annotated[
        Literal["order", "nearest"],
        typer.Option(
            help="With --also: how the records of the versions are matched: by their order, or to the nearest record."
        ),
    ] = "order",
    losses: Annotated[
        str | None,
        columns("Losses to measure; default: the usual ones; 'all': every loss that applies to the columns."),
    ] = None,
    score: Annotated[
        str,
        typer.Option(help="The score that combines loss and risk in one number; see 'microveil methods --kind score'."),
    ] = "mean",
    threshold: Threshold = THRESHOLD,
    match_by: MatchBy = None,
    control: Control = None,
    engine: Engine = None,
    *,
    table: TableOptions,
    as_json: Json = False,
) -> None:
    """Measure what an intruder could learn and an analyst loses."""
    if engine is not None:
        from microveil.cli.engines import assess_by_engine

        apart = {
            "--attributes": attributes, "--known": known, "--set": settings, "--explain": explain, "--also": also,
            "--other": other, "--match-by": match_by, "--control": control,
        }  # fmt: skip
        assess_by_engine(engine, original, masked, split(losses), split(attacks), table, apart, as_json=as_json)
        return
    from microveil.attacks.composition import Other
    from microveil.attacks.correspondence import corresponding
    from microveil.battery import explain_in_pair
    from microveil.comparison.pairs import Pair
    from microveil.progress import Part, parts
    from microveil.registry import make
    from microveil.scoring.assessing import assess_pair
    from microveil.scoring.risk_profile import profile_of_release

    attack_names, loss_names = _named(attacks, "attack", "distance-linkage"), _named(losses, "loss", "il1")
    several = attack_names[0] if attack_names in (["informed"], ["all"]) else None
    every_loss = loss_names == ["all"]
    if explain and as_json:
        raise ParameterError("--explain cannot be used with --json, because it shows the values of a record")
    named = {"attack": [] if several else attack_names, "loss": [] if every_loss else loss_names, "score": [score]}
    given = _settings_of_measures(settings, [name for group in named.values() for name in group])
    made_by_kind = {
        kind: [make(kind, name, given.get(name, {}), text=True) for name in group] for kind, group in named.items()
    }
    chosen_attacks: Any = several or made_by_kind["attack"] if attacks is not None else None
    chosen_losses: Any = "all" if every_loss else made_by_kind["loss"] if losses is not None else None
    (rule,) = made_by_kind["score"]
    others, elsewhere = also or [], other or []
    check_versions(masked, others, elsewhere, link)
    manifest = manifest_beside(masked)
    chosen = split(attributes)
    with bar_for(f"assessing {masked.name}") as bar:
        before = read_original(original, table, manifest, Part(bar, 0.0, 0.1))
        files = (masked, *others, *elsewhere)
        readings = parts(Part(bar, 0.1, 0.2), len(files))
        manifests = (manifest, *map(manifest_beside, (*others, *elsewhere)))
        releases = [
            read_masked(file, before, beside, part, **table.reading)
            for file, beside, part in zip(files, manifests, readings, strict=True)
        ]
        versions, of_others = releases[: 1 + len(others)], releases[1 + len(others) :]
        matched, *others_matched = [corresponding(before, one, match_by) for one in versions]
        group = read_control(control, before, Part(bar, 0.2, 0.2), **table.reading)
        pair = Pair.of(matched.original, matched.release, chosen, known=split(known), control=group)
        assessment = assess_pair(
            pair, matched, attacks=chosen_attacks, losses=chosen_losses, score=rule,
            threshold=threshold, progress=Part(bar, 0.2, 0.8 if others or elsewhere else 1.0),
        )  # fmt: skip
        together = None
        if others or elsewhere:
            named_attacks = [] if several or chosen_attacks is None else chosen_attacks
            together = attack_together(
                (matched, *others_matched), split(known), named_attacks, link, Part(bar, 0.8, 1.0),
                others=[Other.of(matched.original, one, match_by) for one in of_others],
            )  # fmt: skip
    warnings_of_versions = (told for one in others_matched for told in one.warnings)
    for warning in dict.fromkeys((*assessment.warnings, *warnings_of_versions)):
        warn(warning)
    for told in assessment.notes:
        note(told)
    if several and others:
        note("the versions combined were attacked by distance-linkage only; name other attacks with --attacks")
    profile = profile_of_release(assessment, pair, matched.whole)
    names = [file.name for file in files]
    if as_json:
        more = {} if together is None else {"versions": plain_versions(names, together)}
        print_json({**assessment.to_plain(), "profile": profile.to_plain(), **more})
    else:
        _print_assessment(assessment, profile)
        if assessment.battery is not None:
            for sentence in assessment.battery.sentences():
                say(sentence)
        if together is not None:
            print_versions(names, together)
        for label, risk in assessment.risks.items() if explain else ():
            say("")
            say(explain_in_pair(label, risk, pair))
    if assessment.battery is not None and assessment.battery.failed:
        _fail_with(assessment.battery.failed)


def _named(text: str | None, kind: str, example: str) -> list[str]:
    """The measures that an option lists; none where it is not given."""
    listed = [name.strip() for name in (text or "").split(",") if name.strip()]
    if text is not None and not listed:
        more = {"attack": "--attacks", "loss": "--losses"}[kind]
        raise ParameterError(f"{more} must name at least one {kind}, such as {example}, or 'all'")
    return listed


def _fail_with(failed: Mapping[str, Exception]) -> None:
    """Everything else has been printed; the status must still say that not all attacks were run to their end."""
    if os.environ.get("MICROVEIL_DEBUG"):
        raise next(iter(failed.values()))
    told = ", ".join(f"{label} ({type(problem).__name__})" for label, problem in failed.items())
    fail(f"stopped by an internal error, so the risk may be higher: {told}; MICROVEIL_DEBUG=1 shows details")


def _settings_of_measures(settings: Sequence[str] | None, named: Sequence[str]) -> dict[str, dict[str, str]]:
    """What --set says, by measure: `distance-linkage.metric=gower`."""
    by_measure: dict[str, dict[str, str]] = {}
    for key, value in settings_of(settings).items():
        measure, dot, parameter = key.partition(".")
        if not dot:
            raise ParameterError(f"--set takes measure.name=value, such as distance-linkage.metric=gower, not '{key}'")
        if measure not in named:
            raise ParameterError(f"--set {key} needs {measure} to be named in --attacks, --losses or --score")
        by_measure.setdefault(measure, {})[parameter] = value
    return by_measure


def _print_assessment(assessment: Assessment, profile: RiskProfile) -> None:
    from rich.table import Table

    say(assessment.heading)
    headline = Table(title="risk of re-identification", title_justify="left")
    headline.add_column("")
    headline.add_column("before", justify="right")
    headline.add_column("after", justify="right")
    for row in assessment.headline.rows():
        headline.add_row(*row)
    console().print(headline)
    say(assessment.headline.assumption)
    after = assessment.headline.after
    if after.attacked < after.records:
        say(f"after masking: measured on {after.attacked:,} of {after.records:,} records and extrapolated")
    print_profile(profile)
    table = Table(
        title=f"attacks and losses over {', '.join(assessment.named) or 'links'}",
        title_justify="left",
        caption="lower is safer (risks) and better (losses, scores)",
        caption_justify="left",
    )
    longest = max((len(word) for _, name, _, _ in assessment.rows() for word in name.split()), default=0)
    table.add_column("measure", overflow="fold", min_width=longest + 1)  # no name is broken within a word
    table.add_column("%", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("what it means", overflow="fold")
    above = ""
    for kind, name, value, meaning in assessment.rows():
        if not isfinite(value):
            continue  # not measured
        if kind != above:
            table.add_section()
            table.add_row(kind, style="bold")
            above = kind
        risk = assessment.risks.get(name) if kind == "risk" else None
        interval = f"{risk.low:.2f} to {risk.high:.2f}" if risk else ""
        sampled = f" ({risk.attacked:,} records attacked)" if risk and risk.attacked < assessment.records else ""
        table.add_row(f" {name}", f"{value:.2f}", interval, meaning.partition("; lower is ")[0] + sampled)
    console().print(table)
    if assessment.leaks:
        _print_leaks(assessment)


def _print_leaks(assessment: Assessment) -> None:
    from rich.table import Table

    from microveil.attacks.leak import LEAK_HEAD, LEAK_MEANING, leak_rows

    table = Table(
        title="beside the control group, in per cent",
        title_justify="left",
        caption=LEAK_MEANING,
        caption_justify="left",
    )
    rows = leak_rows(assessment.leaks)
    table.add_column(LEAK_HEAD[0], overflow="fold", min_width=max(len(row[0]) for row in rows))
    for name in LEAK_HEAD[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console().print(table)
