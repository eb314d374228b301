"""Tables that may be longer than memory, with the words of those that are not: protect, and what is released."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from microveil.attacks import Attack
from microveil.engines.assessing import LargeAssessment, assessed
from microveil.engines.base import Engine
from microveil.engines.describing import LargeDescription, described, first_records
from microveil.engines.guaranteeing import OF_CLASSES, check_requirable, guaranteed
from microveil.engines.masking import Job, carried_out, check_way
from microveil.engines.scratch import MANIFEST, moved_into_place, put_in_place, put_right, scratch_beside
from microveil.engines.stored import StoredTable, declared_orders
from microveil.engines.stored_facts import (
    KnownFacts,
    StoredFacts,
    refuse_what_differs_by_part,
    refuse_what_is_no_category,
)
from microveil.errors import FileError, OutputExistsError, ParameterError, SchemaError
from microveil.losses import LossMeasure
from microveil.masking import Method, Plan, Step
from microveil.masking.guarantees import Guarantees, check_requirements
from microveil.masking.plan import PRIVATE
from microveil.masking.release import Provenance, file_digest, manifest_path
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.equivalence_classes import equivalence_classes_of
from microveil.microdata.files.atomic import check_output
from microveil.microdata.frames import open_frame
from microveil.microdata.hints import hints
from microveil.microdata.microdata import digest_of_blocks, resolve_attributes
from microveil.microdata.record_ids import ContentSum
from microveil.microdata.schema import KINDS
from microveil.progress import Progress, parts, silent
from microveil.randomness import check_seed, draw_seed
from microveil.registry import make

_PART = re.compile(r"part-\d{6,}\.parquet")


@dataclass(frozen=True)
class LargeMicrodata:
    """A table in files, read part by part. It has the words of `Microdata`: `schema`, `describe()`, `protect(...)`.

    It is made by `microveil.open`, and should be closed, or used in a `with` statement, for its engine holds processes
    and, of CSV files, a copy in a temporary folder.
    """

    table: StoredTable = field(repr=False)
    schema: Schema
    engine: Engine = field(repr=False)
    held: ExitStack = field(default_factory=ExitStack, repr=False)

    def __len__(self) -> int:
        return len(self.table)

    def __enter__(self) -> LargeMicrodata:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the engine, and remove what was copied."""
        self.held.close()

    @property
    def facts(self) -> StoredFacts:
        return StoredFacts(self.table, self.schema, self.engine)

    def digest(self, progress: Progress = silent) -> str:
        """The digest that the same table has in memory."""
        table, schema = self.table, self.schema

        def of_part(part: int) -> str:
            return Microdata(open_frame(table.read(part, schema.names)), schema).digest()

        return digest_of_blocks(self.engine.map(of_part, len(table.pieces), progress, "reading the table"))

    def content_digest(self, progress: Progress = silent) -> str:
        """The digest of its records in any order, where they have ids that are declared; else empty."""
        table, schema = self.by_record, self.schema
        if table.record_id is None:
            return ""

        def of_part(part: int) -> ContentSum:
            found = table.part(part, schema, KnownFacts(len(table), schema, {})).content_sum
            assert found is not None
            return found

        whole: ContentSum = self.engine.added(of_part, len(table.pieces), progress, "reading the records")
        return whole.digest(schema.names)

    @property
    def by_record(self) -> StoredTable:
        """The table, whose random numbers are drawn by the ids of its records where these are declared."""
        return replace(self.table, record_id=self.schema.record_id)

    def equivalence_classes(self, attributes: Sequence[str] | None = None) -> Classes:
        """How many records share the combinations of the keys, or of other attributes."""
        names = tuple(attributes or self.schema.keys)
        if not names:
            raise SchemaError("no attribute is a key; name the attributes whose combinations to count")
        classes = equivalence_classes_of(self.facts.counted(names).data, names)
        return Classes(classes.frequencies, classes.counts)

    def guarantees(
        self, attributes: Sequence[str] | None = None, confidential: Sequence[str] | None = None
    ) -> Guarantees:
        """What the table guarantees over its keys, or other attributes, for its confidential attributes, by counting
        all records: k-anonymity, l-diversity and t-closeness in their forms, and the population by weights."""
        return guaranteed(self, attributes, confidential)

    def protect(
        self,
        plan: Plan,
        out: str | Path,
        *,
        seed: int | None = None,
        force: bool = False,
        progress: Progress = silent,
    ) -> LargeRelease:
        """Mask the table as the plan says and write it to a folder of Parquet files, with its manifest beside it.

        The release is that of the table in memory, cell by cell. The folder appears when it is complete.
        """
        return protected(self, plan, Path(out), seed=seed, force=force, progress=progress)

    def describe(self, progress: Progress = silent) -> LargeDescription:
        """What the columns are, as `describe` says it of a table in memory, found in one pass over the parts."""
        return described(self, progress)

    def assess(
        self,
        release: LargeRelease | str | Path,
        *,
        losses: Sequence[LossMeasure | str] | None = None,
        attacks: Sequence[Attack | str] | None = None,
        sample: int = 20_000,
        seed: int = 0,
        progress: Progress = silent,
    ) -> LargeAssessment:
        """Measure a release of this table: one that `protect` gave, or the folder of one.

        Combinations of the keys are counted, and losses that are sums over records are measured, over all records.
        Other losses and the attacks are measured on a `sample` of so many records, the same in both tables, drawn with
        the `seed`. By default these are the usual losses and attacks; an empty list asks for none.
        """
        return assessed(self, release, losses=losses, attacks=attacks, sample=sample, seed=seed, progress=progress)


@dataclass(frozen=True)
class Classes:
    """The distinct combinations of some attributes: how many records agree with each, and how many have it."""

    frequencies: np.ndarray[Any, np.dtype[np.int64]]
    counts: np.ndarray[Any, np.dtype[np.int64]]

    @property
    def k(self) -> int:
        """The fewest records that share a combination."""
        return int(self.frequencies.min(initial=np.iinfo(np.int64).max))

    def records_below(self, k: int) -> int:
        """How many records share their combination with fewer than k, themselves included."""
        return int(self.counts[self.frequencies < k].sum())

    @property
    def unique(self) -> int:
        """How many records are alone in their combination."""
        return self.records_below(2)


@dataclass(frozen=True)
class LargeRelease:
    """A release in a folder of Parquet files, with its provenance.

    `guarantees` are those over the keys, where there are any. The population by weights and what is about confidential
    attributes is counted only where it is required; `microveil.open(...).guarantees()` counts all of it.
    """

    folder: Path
    manifest: Path
    provenance: Provenance
    schema: Schema
    records: int
    guarantees: Guarantees | None

    def __len__(self) -> int:
        return self.records

    @property
    def plan(self) -> Plan:
        return self.provenance.plan

    @property
    def classes(self) -> Classes | None:
        """How many records share the combinations of the keys, where there are any."""
        found = self.guarantees
        return None if found is None else Classes(found.sizes, found.members)

    @property
    def untouched(self) -> tuple[str, ...]:
        """The attributes that it has as they were."""
        return self.provenance.untouched(self.schema.names)

    def cautions(self, original: LargeMicrodata) -> tuple[str, ...]:
        """What to look at before it is published, as `Release.cautions` says it, by the first 100,000 records."""
        looks = hints(first_records(original.table, original.schema))
        return self.provenance.cautions(looks, original.schema, self.untouched)


def complete_schema(table: StoredTable, schema: Schema | None, **roles: Any) -> Schema:
    """A schema of all columns of a table, as it is declared and guessed by the first part of the records.

    Roles whose numbers a release has anew are refused: for that all of them are needed at once.
    """
    known = [] if schema is None else list(schema.attributes)
    ordered = {n: domain for n, domain in declared_orders(table.files).items() if schema is None or n not in schema}
    known += [
        Attribute(name=name, kind="ordinal", domain=domain, missing="own category") for name, domain in ordered.items()
    ]
    declared = Schema(known, None if schema is None else schema.panel) if known else schema
    found = Microdata.of(table.read(0, table.names), declared, **roles).schema
    for role in ("household", "series", "node"):
        for name in found.having(role):
            raise SchemaError(
                f"attribute '{name}' has the role {role}, whose numbers a release has anew; such tables are protected "
                "in memory, without an engine"
            )
    for attribute in found:
        if attribute.level == "household":
            raise SchemaError(
                f"attribute '{attribute.name}' is declared as one of the household, which is masked in memory only, "
                "without an engine"
            )
    return found


def protected(
    data: LargeMicrodata, plan: Plan, out: Path, *, seed: int | None, force: bool, progress: Progress
) -> LargeRelease:
    """Carry out a plan on a stored table."""
    place = Path(os.path.abspath(out))  # where workers write, too
    put_right(place, manifest_path(place))
    _check_output(out, data.table.files, force=force)
    if plan.shuffle or plan.new_ids:
        raise ParameterError("records in random order and new identifiers need the whole table in memory")
    require = check_requirements(plan.require)
    check_requirable(require)
    methods: list[Method] = [make("method", step.method, step.parameters) for step in plan.steps]
    if not methods:
        raise ParameterError("a plan needs at least one step")
    schema = data.schema if plan.schema is None else complete_schema(data.table, plan.schema)
    _check_required_of(require, schema)
    data = replace(data, schema=schema)
    table, engine = data.by_record, data.engine
    refuse_what_is_no_category(table, schema.keys)
    _check_steps(methods, plan.steps, table, schema)
    table.refuse_repeated_ids(engine, silent)
    chosen = next((s for s in (seed, plan.seed) if s is not None), None)
    stages = iter(parts(progress, len(methods) + 2))
    digest = data.digest(next(stages))
    identifiers = schema.identifiers
    provenance = Provenance(
        (), draw_seed() if chosen is None else check_seed(chosen), digest, len(table), schema, versions={},
        left_out=identifiers, content_digest=data.content_digest(),
    )  # fmt: skip
    with scratch_beside(place) as scratch:
        for number, (method, step) in enumerate(zip(methods, plan.steps, strict=True)):
            empty = Microdata(open_frame(table.read(0, schema.names).slice(0, 0)), schema)
            attributes = method._chosen(empty, step.attributes)
            schema = schema.select([name for name in schema.names if name not in identifiers])
            provenance = method.next_step(provenance, attributes)
            streams = provenance.streams_of_step(empty, joint=method.is_joint)
            job = Job(method, attributes, table, schema, streams, engine, scratch / f"step-{number}", next(stages))
            done = carried_out(job)
            table, schema = done.table, schema.replacing(*done.attributes)
            provenance = replace(provenance, step_notes=(*provenance.step_notes, *done.notes))
        guarantees = _guarantees(LargeMicrodata(table, schema, engine), require) if schema.keys else None
        if require:
            provenance = replace(provenance, require=require)
        made = _write(table, schema, engine, scratch / "release", next(stages))
        manifest = _manifest(provenance, schema, made, len(table))
        beside = scratch / MANIFEST
        beside.touch(mode=0o600)
        beside.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        _check_output(out, data.table.files, force=force)  # once more, for the work may have taken hours
        put_in_place(scratch / "release", scratch, place, manifest_path(place))
    return LargeRelease(out, manifest_path(out), provenance, schema, len(table), guarantees)


def _check_required_of(require: Mapping[str, float], schema: Schema) -> None:
    """Refuse requirements on keys or confidential attributes where none are declared."""
    for name in require:
        if not schema.keys:
            raise ParameterError(f"{name} is required, but no attribute is a key")
        if name in OF_CLASSES and not set(schema.confidential) - set(schema.keys):
            raise ParameterError(f"'{name}' is about confidential attributes, and none is declared")


def _check_steps(methods: Sequence[Method], steps: Sequence[Step], table: StoredTable, schema: Schema) -> None:
    """Refuse what no step can do, before the first of them begins: methods that need all records at once, and
    attributes that are not in the table, are left out or cannot be read part by part.

    What kind of attributes a later step works on is seen when it begins, for the steps before it may change kinds.
    """
    empty = Microdata(open_frame(table.read(0, schema.names).slice(0, 0)), schema)
    for number, (method, step) in enumerate(zip(methods, steps, strict=True)):
        check_way(method)
        if number == 0 or method.structural:
            names = method._chosen(empty, step.attributes)
        else:
            names = () if step.attributes is None else resolve_attributes(empty, step.attributes, KINDS, method.name)
        refuse_what_differs_by_part(table, schema, names)


def _guarantees(released: LargeMicrodata, require: Mapping[str, float]) -> Guarantees:
    """What a release guarantees; one that falls short of what is required is refused. What needs further passes, the
    population and what is about confidential attributes, is counted only where it is required."""
    schema, confidential = released.schema, None if set(require) & set(OF_CLASSES) else ()
    if schema.weight is not None and not require:
        released = replace(released, schema=schema.replacing(schema[schema.weight].changed(roles=())))
    found = released.guarantees(confidential=confidential)
    found.check(require)
    return found


@dataclass(frozen=True)
class _Written:
    digests: tuple[str, ...]
    files: Mapping[str, str]


def _write(table: StoredTable, schema: Schema, engine: Engine, folder: Path, progress: Progress) -> _Written:
    """The released columns, a Parquet file for each part."""
    folder.mkdir(mode=0o755)
    names = schema.names

    def of_part(part: int) -> tuple[str, str, str]:
        cells = table.read(part, names)
        file = folder / f"part-{part:06d}.parquet"
        with moved_into_place(file, folder.parent) as unfinished:
            pq.write_table(cells, unfinished, compression="zstd")
        return Microdata(open_frame(cells), schema).digest(), file.name, file_digest(file)

    made = engine.map(of_part, len(table.pieces), progress, "writing the release")
    return _Written(tuple(d for d, _, _ in made), {name: sha for _, name, sha in made})


def _manifest(provenance: Provenance, schema: Schema, made: _Written, records: int) -> dict[str, Any]:
    before = provenance.schema
    output: dict[str, Any] = {"records": records, "digest": digest_of_blocks(made.digests), "files": dict(made.files)}
    changed = [a for a in schema if a.name not in before or a != before[a.name]]
    if changed:
        output["schema"] = Schema(changed).to_plain()
    version = provenance.versions.get("microveil", "unknown")
    return {"microveil": version, "private": PRIVATE, **provenance.to_plain(), "output": output}


def _check_output(out: Path, inputs: Sequence[str], *, force: bool) -> None:
    """Refuse an output that is there, unless it is an earlier release that may go; never one that holds the input."""
    if out.exists() and not force:
        raise OutputExistsError(out)
    if out.exists() and not out.is_dir():
        raise FileError(out, "this is a file; a table that is longer than memory is written to a folder")
    if not out.parent.is_dir():
        raise FileError(out, f"the folder '{out.parent}' does not exist")
    check_output(manifest_path(out), force=force, inputs=inputs)  # one without its release has the seed of that
    place = out.resolve()
    if any(place == one or place in one.parents for one in (Path(file).resolve() for file in inputs)):
        raise ParameterError(f"the output {out} would overwrite the input; choose another name")
    if out.exists() and not all(_PART.fullmatch(inside.name) for inside in out.iterdir()):
        raise FileError(out, "this folder has other files than those of a release, so it is not replaced")
