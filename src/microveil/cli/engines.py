"""Commands on tables that are longer than memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from microveil.cli.printing import bar_for, note, print_json, say
from microveil.cli.telling import of_the_seed, say_what_was_done
from microveil.errors import ParameterError

if TYPE_CHECKING:
    from microveil.cli.options import TableOptions
    from microveil.engines import LargeMicrodata
    from microveil.engines.describing import LargeDescription
    from microveil.masking import Plan
    from microveil.masking.guarantees import Guarantees
    from microveil.masking.manifest import Manifest
    from microveil.microdata import Schema

_READING = ("delimiter", "encoding", "decimal")
_TAKEN = ("schema", "keys", "confidential", "identifiers", "weight", "strata", "record_id", *_READING)


def opened(engine: str, path: Path, table: TableOptions, schema: Schema | None = None) -> LargeMicrodata:
    """The table of a command, opened by an engine."""
    from microveil.engines.opening import ENGINES
    from microveil.engines.opening import open as open_table
    from microveil.microdata import Schema

    if engine not in ENGINES:
        raise ParameterError(f"--engine {engine} is not allowed; it is {' or '.join(ENGINES)}")
    for name, value in vars(table).items():
        if value not in (None, False) and name not in _TAKEN:
            raise ParameterError(f"--{name.replace('_', '-')} is for tables in memory; leave it out, or --engine")
    if engine == "spark":  # a command that is cancelled says so; what the bridge to Java logs of it is a stack trace
        logging.getLogger().addHandler(logging.NullHandler())
    declared = schema if table.schema is None else Schema.read(table.schema)
    described = {name: value for name, value in table.described.items() if name in _TAKEN and value is not None}
    reading = {name: table.reading[name] for name in _READING}
    return open_table(str(path), engine, declared, **reading, **described)


def described_by_engine(
    engine: str, path: Path, table: TableOptions, apart: Mapping[str, object], schema_out: Path | None
) -> LargeDescription:
    """What the columns of a table that may be longer than memory are."""
    _refuse(apart)
    with opened(engine, path, table) as data, bar_for(f"reading {path.name}") as bar:
        found = data.describe(progress=bar)
        if schema_out is not None:
            data.schema.write(schema_out, force=True)
    return found


def assess_by_engine(
    engine: str,
    original: Path,
    masked: Path,
    losses: Sequence[str] | None,
    attacks: Sequence[str] | None,
    table: TableOptions,
    apart: Mapping[str, object],
    *,
    as_json: bool,
) -> None:
    """Measure a release of a table that may be longer than memory."""
    from microveil.masking.plan import read_plan
    from microveil.masking.release import manifest_path

    _refuse(apart)
    beside = manifest_path(masked)
    schema = read_plan(beside)[0].schema if beside.is_file() else None
    with opened(engine, original, table, schema) as data, bar_for(f"assessing {masked.name}") as bar:
        found = data.assess(masked, losses=losses, attacks=attacks, progress=bar)
    if as_json:
        print_json(found.to_plain())
        return
    for line in str(found).splitlines():
        say(line)


def _refuse(apart: Mapping[str, object]) -> None:
    """Refuse options that need the table in memory."""
    for option, value in apart.items():
        if value not in (None, False):
            raise ParameterError(f"{option} is for tables in memory; leave it out, or --engine")


def protect_by_engine(
    engine: str,
    path: Path,
    out: Path,
    plan: Plan,
    manifest: Manifest | None,
    seed: int | None,
    table: TableOptions,
    apart: Mapping[str, object],
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Mask a table that may be longer than memory, and say what was done."""
    from dataclasses import replace

    _refuse(apart)
    with opened(engine, path, table, plan.schema) as data, bar_for(f"protecting {path.name}") as bar:
        if manifest is not None and not manifest.was_made_from(data):
            note("the input is not the one this manifest was made from, so the release is a new one, with another seed")
            plan = replace(plan, seed=None)
        release = data.protect(replace(plan, schema=None), out, seed=seed, force=force, progress=bar)
        cautions = release.cautions(data)
    provenance, guarantees, classes = release.provenance, release.guarantees, release.classes
    warnings = of_the_seed(provenance)
    for sentence in (*warnings, *cautions):
        note(sentence)
    if as_json:
        plain = provenance.to_plain()
        plain["plan"].pop("seed", None)  # a secret; what is printed ends in logs, and the manifest keeps it
        counted: dict[str, object] = {}
        if guarantees is not None and classes is not None:
            counted = {"k": classes.k, "unique": classes.unique, "guarantees": guarantees.to_plain()}
        files = {"release": str(out), "manifest": str(release.manifest)}
        print_json({**files, "records": len(release), "warnings": warnings, **counted, **plain})
        return
    say_what_was_done(provenance, release.schema, release.untouched, guarantees)
    uncounted = [] if guarantees is None else _not_counted(release.schema, guarantees)
    if uncounted:
        say(f"not counted, because not required: {', '.join(uncounted)}")
    say(f"{len(release):,} records written to {out}")
    say(f"manifest written to {release.manifest}; keep it private, because its seed helps to undo the masking")


def _not_counted(schema: Schema, guarantees: Guarantees) -> list[str]:
    """The guarantees of a release in memory that one of an engine has only where they are required."""
    population = [] if schema.weight is None or guarantees.population is not None else ["population"]
    others = [name for name in schema.confidential if name not in (*guarantees.diversity, *schema.keys)]
    return [*population, *(f"l-diversity and t-closeness of {name}" for name in others)]
