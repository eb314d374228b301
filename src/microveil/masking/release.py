"""A release: masked microdata together with how it was made."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from html import escape
from importlib import metadata
from os.path import isdir
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from microveil.errors import ParameterError, PluginError, UnknownNameError, check_path
from microveil.masking.guarantees import Guarantees, guarantees_of
from microveil.masking.households import BY_HOUSEHOLD, note_of
from microveil.masking.new_ids import KeyTable, check_new_ids, id_attributes, with_new_ids
from microveil.masking.notes import (
    HOUSEHOLDS_KEPT,
    HOUSEHOLDS_RENUMBERED,
    NEW_IDENTIFIERS,
    NODES_RENUMBERED,
    RANDOM_ORDER,
    SERIES_RENUMBERED,
    Note,
)
from microveil.masking.partition import Partition
from microveil.masking.plan import PRIVATE, Plan, Step, check_manifest
from microveil.masking.private_file import PrivateContent, private_path
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.hints import Hint, hints
from microveil.microdata.microdata import HasMicrodata, as_microdata
from microveil.microdata.schema import category_key
from microveil.plugins import loaded
from microveil.randomness import GUESSABLE, Streams, derived_seed
from microveil.typing import BoolArray, FloatArray, IntArray

MANIFEST_ENDING = ".manifest.json"
MADE_AGAIN = (
    "to measure them, carry out the plan again (microveil protect ORIGINAL --plan MANIFEST --out again.csv, or "
    "protect(original, read_manifest(...).plan) in Python) and assess that release"
)
_RENUMBERED = {"household": HOUSEHOLDS_RENUMBERED, "series": SERIES_RENUMBERED, "node": NODES_RENUMBERED}
MISSING = "missing"  # in the place of a digest: there was a private file, which nobody has any more


def versions() -> dict[str, str]:
    """The versions that decide whether the same bytes come out again."""
    packages = ("microveil", "numpy", "scipy", "numba", "pyarrow")
    return {"python": platform.python_version(), **{name: _version(name) for name in packages}}


@cache
def _version(package: str) -> str:
    return metadata.version(package)


@dataclass(frozen=True)
class Provenance:
    """What was done to which table: enough to do it again, and nothing of the original's content.

    `members_differ` counts, for every masked attribute that belongs to households, those whose members shared it and no
    longer do.
    The seed of a release that was read back with an incomplete manifest is not known. Where ids of records are
    declared, the `content_digest` is that of the original's records in any order, and the streams are derived from it.
    """

    steps: tuple[Step, ...]
    seed: int | None
    input_digest: str
    input_records: int
    schema: Schema
    left_out: tuple[str, ...] = ()
    step_notes: tuple[Note, ...] = ()
    dialect: Mapping[str, str] = field(default_factory=dict)
    require: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)
    keep_household_ids: bool = False
    shuffled: bool = False
    new_ids: bool = False
    members_differ: Mapping[str, int] = field(default_factory=dict)
    content_digest: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the steps have to say, and what became of the households and of the order of the records."""
        return tuple(map(str, (*self.step_notes, *self._general_notes)))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever releases the table should look at first."""
        return tuple(map(str, self._warnings))

    @property
    def renumbered(self) -> tuple[str, ...]:
        """The household number and the numbers of series and of nodes, which a release has anew; with new identifiers
        all of them."""
        if self.new_ids:
            return id_attributes(self.schema)
        panel = self.schema.panel
        households = () if self.keep_household_ids else self.schema.having("household")
        series = () if panel is None or panel.keep_ids else self.schema.having("series")
        return (*households, *series, *self.schema.having("node"))

    @property
    def _warnings(self) -> tuple[Note, ...]:
        return note_of(self.members_differ, by_household=any(step.method == BY_HOUSEHOLD for step in self.steps))

    @property
    def _general_notes(self) -> tuple[Note, ...]:
        """What no step says, because it follows from the plan and from what is counted."""
        kept = self.schema.having("household") if self.keep_household_ids else ()
        households = (
            [NEW_IDENTIFIERS(attribute=name) for name in self.renumbered]
            if self.new_ids
            else [
                *(HOUSEHOLDS_KEPT(attribute=name) for name in kept),
                *(
                    (_RENUMBERED[role](attribute=name))
                    for role in _RENUMBERED
                    for name in self.schema.having(role)
                    if name in self.renumbered
                ),
            ]
        )
        return (*households, *self._warnings, *([RANDOM_ORDER()] if self.shuffled else []))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that any step has masked."""
        return tuple(dict.fromkeys(name for step in self.steps for name in self.masked_by(step)))

    def masked_by(self, step: Step) -> tuple[str, ...]:
        """The attributes that a step has masked; of a table of series its columns."""
        return self.schema.expanded(step.attributes or ())

    def untouched(self, released: Iterable[str]) -> tuple[str, ...]:
        """Those of the released attributes that are as they were."""
        changed = (*self.attributes, *self.renumbered)
        return tuple(name for name in released if name not in changed)

    def cautions(self, looks: Mapping[str, Hint], original: Schema, untouched: Sequence[str]) -> tuple[str, ...]:
        """What to look at before the release is published, by what the columns of the original look like."""
        found = list(self.warnings)
        for name, hint in looks.items():
            if hint.grave and name in untouched:
                found.append(f"column '{name}' is released as it was; {hint.text}")
            elif hint.no_amount and name in self.attributes and not original[name].is_categorical:
                found.append(f"column '{name}' was masked like an amount; {hint.text}")
        return tuple(found)

    @property
    def seed_is_guessable(self) -> bool:
        """Whether the seed is among those that are tried first by whoever looks for one."""
        return self.seed is not None and self.seed < GUESSABLE

    @property
    def plan(self) -> Plan:
        """What to do again; of an identifier only that it is one, for its categories are names."""
        bare = (Attribute(name=a.name, kind=a.kind, roles=a.roles) for a in self.schema if "identifier" in a.roles)
        schema = self.schema.replacing(*bare)
        return Plan(self.steps, self.seed, schema, self.require, self.shuffled, self.keep_household_ids, self.new_ids)

    def streams_of_step(self, table: Microdata, *, joint: bool) -> Streams:
        """The random streams of the last step. Those of a step of another release differ if the original, a step before
        or the method or its parameters do, but for those that only decide what is told, also where both have the same
        seed; and those of a method that takes attributes together (`joint`) if the attributes do.
        """
        *before, last = map(_deciding, self.steps)
        if not joint:
            del last["attributes"]
        return self._streams(table, "step", before, last)

    def streams_of_release(self, table: Microdata) -> Streams:
        """The random streams of what is done to whole records: they differ if the original or any step does."""
        return self._streams(table, "release", list(map(_deciding, self.steps)))

    def _streams(self, table: Microdata, *labels: Any) -> Streams:
        """The table stands for an original that an incomplete manifest does not know."""
        assert self.seed is not None
        return Streams(derived_seed(self.seed, self.content_digest or self.input_digest or table.digest(), *labels))

    def to_plain(self) -> dict[str, Any]:
        content = {"content_digest": self.content_digest} if self.content_digest else {}
        of_input = {"digest": self.input_digest, "records": self.input_records, "dialect": dict(self.dialect)}
        return {
            "plan": self.plan.to_plain(),
            "input": of_input | content,
            "left_out": list(self.left_out),
            "notes": [note.to_plain() for note in (*self.step_notes, *self._general_notes)],
            "members_differ": dict(self.members_differ),
            "versions": dict(self.versions),
        }


def _deciding(step: Step) -> dict[str, Any]:
    """A step without the parameters that only decide what is told of it."""
    plain = step.to_plain()
    try:
        told = getattr(loaded("method", step.method), "told", ())
    except (UnknownNameError, PluginError):  # its package is not installed here
        return plain
    plain["parameters"] = {name: value for name, value in plain["parameters"].items() if name not in told}
    return plain


class SavedRelease(NamedTuple):
    """The files of a release: the table, its manifest, and the private file where there was something to write in it;
    these two are for their owner only. Of a graph in a folder the table has the nodes, and the edges are beside it."""

    table: Path
    manifest: Path
    private: Path | None
    edges: Path | None = None


@dataclass(frozen=True)
class Release(HasMicrodata):
    """Masked microdata with its provenance.

    `partitions` and `matrices`, by the attributes that each is about, are what the steps used; `rows` are the records
    of the original that it has, in its order, where these are not all of them one after the other. `agreed` says, by
    masked attribute that belongs to households, of which records all members of the household had it alike.
    `key_tables` say, by attribute, which new identifier each old one became.

    The private file beside a saved release holds them; the manifest holds the plan, the seed and digests. Neither has a
    value of the original, but for the old identifiers in the key tables. `missing_file` is the name of the private file
    that a release was read back without, so that they are not known; empty where none is missing.
    """

    data: Microdata
    provenance: Provenance
    partitions: Mapping[tuple[str, ...], Partition] = field(default_factory=dict)
    matrices: Mapping[tuple[str, ...], FloatArray] = field(default_factory=dict)
    rows: IntArray | None = None
    agreed: Mapping[str, BoolArray] = field(default_factory=dict)
    missing_file: str = ""
    key_tables: Mapping[str, KeyTable] = field(default_factory=dict)

    @cached_property
    def guarantees(self) -> Guarantees:
        """What the released table guarantees over its keys, by counting; without keys, over the masked attributes."""
        schema = self.data.schema
        return guarantees_of(self.data, schema.keys or schema.with_whole_series(self.provenance.attributes))

    @property
    def frame(self) -> Any:
        """The masked table, as the frame type the original came in."""
        return self.data.native

    @property
    def partition(self) -> Partition | None:
        """The partition of the records, where the steps made exactly one."""
        return next(iter(self.partitions.values())) if len(self.partitions) == 1 else None

    @property
    def plan(self) -> Plan:
        return self.provenance.plan

    @property
    def private(self) -> PrivateContent:
        """What goes into its private file."""
        return PrivateContent(self.partitions, self.matrices, self.rows, self.agreed, self.key_tables)

    @property
    def incomplete(self) -> str:
        """What is to be said of a release that was read back without its private file; empty of any other."""
        if not self.missing_file:
            return ""
        return (
            f"the private file '{self.missing_file}' is missing, so the groups, matrices and order of records that the "
            f"masking used are not known, and attacks that need them are not run; {MADE_AGAIN}"
        )

    @property
    def is_sample(self) -> bool:
        """Whether it has only some of the original's records."""
        return self.rows is not None and len(self.rows) < self.provenance.input_records

    @property
    def untouched(self) -> tuple[str, ...]:
        """The attributes that it has as they were."""
        return self.provenance.untouched(self.data.names)

    def cautions(self, original: Any) -> tuple[str, ...]:
        """What to look at before it is published: its warnings, columns released as they were that look as if they
        identified people, and columns masked like amounts that look like codes or numbers of persons."""
        data = as_microdata(original)
        return self.provenance.cautions(hints(data), data.schema, self.untouched)

    def with_new_ids(self, original: Any) -> Release:
        """The same release with random new identifiers in the place of identifiers, which are otherwise left out, of
        household numbers, and of the ids of series and nodes: the same for all records that had the same one.

        They are drawn from the seed, the original and all steps, and have nothing to do with the order of the records
        or of the old ones. `key_tables` tell which became which; a saved release has them in its private file only.
        """
        if self.provenance.new_ids:
            return self
        if self.provenance.seed is None:
            raise ParameterError("the seed of this release is not known, so no identifiers can be drawn from it")
        schema = self.provenance.schema
        check_new_ids(schema, keep_household_ids=self.provenance.keep_household_ids)
        before = as_microdata(original)
        if before.digest() != self.provenance.input_digest:
            raise ParameterError(
                "this is not the table that the release was made from, so its identifiers are not known"
            )
        streams = self.provenance.streams_of_release(self.data)
        data, key_tables = with_new_ids(self.data, before, self.rows, id_attributes(schema), streams)
        provenance = replace(self.provenance, new_ids=True, left_out=())
        return replace(self, data=data, provenance=provenance, key_tables=key_tables)

    def shuffled(self) -> Release:
        """The same release with its records in an order drawn from the seed, which tells nothing of the original's.

        It is the last thing done to a release; measures still compare every record with its own original.
        """
        if self.provenance.shuffled:
            return self
        if self.provenance.seed is None:
            raise ParameterError("the seed of this release is not known, so no order can be drawn from it")
        order = self.provenance.streams_of_release(self.data).generator("record order")
        taken = order.permutation(len(self)).astype(np.int64)
        made = self.taken(taken)
        return replace(made, data=made.data.without_index(), provenance=replace(self.provenance, shuffled=True))

    def taken(self, records: IntArray) -> Release:
        """The release with its records in another order, and so all that is known of single ones."""
        return replace(
            self,
            data=self.data.take(records),
            partitions={block: Partition.of(found.labels[records]) for block, found in self.partitions.items()},
            rows=records if self.rows is None else self.rows[records],
            agreed={name: of_record[records] for name, of_record in self.agreed.items()},
        )

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        methods = ", then ".join(step.method for step in self.provenance.steps)
        return f"Release({len(self):,} records, {methods} on {', '.join(self.provenance.attributes)})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the steps, and what the release guarantees."""
        steps = "".join(
            f"<tr><td>{step.method}</td><td>{escape(', '.join(step.attributes or ()))}</td></tr>"
            for step in self.provenance.steps
        )
        head = "<tr><th>method</th><th>attributes</th></tr>"
        made = f"<table><caption>{len(self):,} records</caption>{head}{steps}</table>"
        return made + self.guarantees._repr_html_()

    def manifest(
        self, file_digest: str | None = None, private_digest: str | None = None, *, neutralised: bool = False
    ) -> dict[str, Any]:
        """What goes beside the file: enough to make the same bytes again, and to read them as they are meant.

        The digests are those of the file and of the private file. Attributes that the release describes otherwise than
        the original, such as one whose empty cells now count as wildcards or whose categories are labels, stand there
        as the release has them.
        """
        output: dict[str, Any] = {"records": len(self), "digest": self.data.digest(), "file_sha256": file_digest}
        if self.data.edges is not None:
            output["edges"] = len(self.data.edges)
        before = self.provenance.schema
        changed = [_without_found_domain(a, before) for a in self.data.schema]
        changed = [a for a in changed if a.name not in before or a != before[a.name]]
        if changed:
            output["schema"] = Schema(changed).to_plain()
        if private_digest is not None:
            output["private_sha256"] = private_digest
        if neutralised:
            output["neutralised_formulas"] = True
        version = self.provenance.versions.get("microveil", "unknown")
        return {"microveil": version, "private": PRIVATE, **self.provenance.to_plain(), "output": output}

    def save(self, path: str | Path, *, force: bool = False, **dialect: Any) -> SavedRelease:
        """Write the masked file, its manifest and, where there is something to write in it, its private file, all of
        them or none; return their paths. What an earlier release of this name has left there goes in the same step."""
        from microveil.microdata.files.atomic import Writer, make_folder, text_writer, write_together
        from microveil.microdata.files.writing import writers

        check_path(path, "save", "such as release.save('safe.csv')")
        origin = self.data.origin.path if self.data.origin else None
        path = check_destination(path, force=force, inputs=[origin], graph=self.data.edges is not None)
        beside, private = manifest_path(path), private_path(path)
        content = self.private.to_text(self.data.digest()) if self.private.is_needed else None
        tables = writers(self.data, path, **dialect)
        digests: list[str] = []

        def with_digest(write: Writer) -> Writer:
            def put(unfinished: Path) -> None:
                write(unfinished)
                digests.append(file_digest(unfinished))

            return put

        def put_manifest(unfinished: Path) -> None:
            of_private = (
                hashlib.sha256(content.encode()).hexdigest() if content else MISSING if self.missing_file else None
            )
            manifest = self.manifest(digests[0], of_private, neutralised=bool(dialect.get("neutralise_formulas")))
            if len(digests) > 1:
                manifest["output"]["edges_sha256"] = digests[1]
            text_writer(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")(unfinished)

        if len(tables) > 1:
            make_folder(path.parent)
        files = {file: with_digest(write) for file, write in tables.items()} | {beside: put_manifest}
        edges = next((file for file in tables if file != path), None)
        if content is None:
            write_together(files, force=force, private=[beside], remove=[private])
            return SavedRelease(path, beside, None, edges)
        files[private] = text_writer(content)
        write_together(files, force=force, private=[beside, private])
        return SavedRelease(path, beside, private, edges)


def release_from(data: Microdata, plan: Plan, manifest: Mapping[str, Any]) -> Release:
    """A release read back from its file, with the provenance of the manifest beside it."""
    check_manifest(manifest)
    origin, output = manifest.get("input") or {}, manifest.get("output") or {}
    records = origin.get("records")
    described = Schema.from_plain(output["schema"]) if output.get("schema") else Schema(())
    before = None if plan.schema is None else plan.schema.read_as(data.schema)
    data = _as_released(data, before or Schema(()), described)
    provenance = Provenance(
        steps=plan.steps,
        seed=plan.seed,
        input_digest=origin.get("digest") or "",
        input_records=len(data) if records is None else records,
        schema=before or data.schema,
        left_out=tuple(manifest.get("left_out") or ()),
        require=plan.require,
        versions=dict(manifest.get("versions") or {}),
        keep_household_ids=plan.keep_household_ids,
        shuffled=plan.shuffle,
        new_ids=plan.new_ids,
        members_differ=dict(manifest.get("members_differ") or {}),
        content_digest=origin.get("content_digest") or "",
    )
    notes = map(Note.from_plain, manifest.get("notes") or ())
    general = provenance._general_notes
    return Release(data, replace(provenance, step_notes=tuple(note for note in notes if note not in general)))


def _without_found_domain(released: Attribute, before: Schema) -> Attribute:
    """A released attribute as a manifest may describe it: categories that no schema declared were found in the data."""
    declared = released.name in before and before[released.name].domain is not None
    labels = before[released.name].value_labels if released.name in before else {}
    return released if declared else released.changed(domain=None, hierarchy=None, value_labels=labels)


def _as_released(data: Microdata, before: Schema, released: Schema) -> Microdata:
    """A table read from a released file, with what its attributes were when it was made: as the release describes them,
    else as the original's schema does. Of a file alone, only the types of its columns are known.
    """
    attributes = []
    for read in data.schema:
        known = next((schema[read.name] for schema in (released, before) if read.name in schema), None)
        attributes.append(read if known is None else _described(data, read, known))
    return replace(data, schema=Schema(attributes, data.schema.panel))


def _described(data: Microdata, read: Attribute, known: Attribute) -> Attribute:
    if read.is_categorical and not known.is_categorical:  # no numbers in the file, whatever the description says
        return read.changed(roles=tuple(role for role in known.roles if role != "weight"), missing=known.missing)
    known = known.with_missing_of(read)
    if known.domain is None:
        return known
    anything = known.changed(domain=None, hierarchy=None)
    held = Microdata(data.frame, data.schema.replacing(anything)).domain(read.name)
    listed = set(map(category_key, (*known.domain, *known.missing_codes)))
    return known if all(value is None or category_key(value) in listed for value in held) else anything


def check_destination(
    path: str | Path, *, force: bool = False, inputs: Iterable[str | Path | None] = (), graph: bool = False
) -> Path:
    """Where a release is written, over none of the inputs, of which the first is the original; worth asking before any
    long work starts. A graph is written to a folder, which need not be there yet, and the path is that of its nodes."""
    from microveil.microdata.files.atomic import check_output
    from microveil.microdata.files.formats import check_writable
    from microveil.microdata.files.graph_files import edges_file, graph_destination

    inputs = list(inputs)
    path = Path(path)
    if graph:
        path = graph_destination(path, next(iter(inputs), None))
        if not isdir(path.parent):
            return path
    check_output(path, force=force, inputs=inputs)
    check_writable(path)
    for beside in (manifest_path(path), private_path(path), *([edges_file(path)] if graph else [])):
        check_output(beside, force=force, inputs=inputs)
    return path


def manifest_path(path: str | Path) -> Path:
    """Where the manifest of a released file lies: `safe.csv` has `safe.csv.manifest.json`."""
    path = Path(path)
    return path.parent / (path.name + MANIFEST_ENDING)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
