"""Releases of tables longer than memory, measured.

Combinations of the keys are counted, and losses that are sums over records or combinations are added up part by part by
the same formulas as in memory. Persons who are drawn are linked with all released records, part by part. What has to
see all records at once is measured in memory on a sample of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from microveil.attacks import Attack, Risk
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.comparison.knowledge import Knowledge, knowledge_of
from microveil.comparison.label_detection import holds_labels
from microveil.comparison.pairs import Pair, read_alike
from microveil.display import html_table, paragraph, text_table
from microveil.engines.base import Engine
from microveil.engines.finding import files_in
from microveil.engines.stored import StoredTable
from microveil.engines.stored_facts import KnownFacts, StoredFacts
from microveil.errors import DataError, FileError, ParameterError
from microveil.losses import Loss, LossMeasure
from microveil.masking.plan import read_plan
from microveil.masking.release import Provenance, Release, file_digest, manifest_path, release_from
from microveil.microdata import Microdata, Schema
from microveil.microdata.facts import Part as PartOfTable
from microveil.microdata.frames import open_frame
from microveil.microdata.microdata import Categories, count, resolve_attributes
from microveil.microdata.schema import KINDS
from microveil.microdata.tables import Sum, Tables
from microveil.numerics.statistics.scaling import Spread
from microveil.progress import Part, Progress, parts, silent
from microveil.randomness import Streams
from microveil.registry import find
from microveil.scoring.assessing import chosen_attacks, chosen_losses
from microveil.typing import IntArray

if TYPE_CHECKING:
    from microveil.engines.large import Classes, LargeMicrodata, LargeRelease

_FEW = (3, 5)  # records that share a combination with fewer are counted, beside the unique ones


@dataclass(frozen=True)
class LargeAssessment:
    """What was measured of a release of a table longer than memory.

    `before` and `after` say how many records share the combinations of the keys. `losses` are those of all records;
    `sampled_losses` and `risks` those of `sample` records drawn at random, which is 0 where nothing needed any, but for
    the risks named in `among_all`, for which some of these were linked with all released records. `passed_over` says
    why a measure has no value.
    """

    records: int
    knowledge: Knowledge
    before: Classes | None
    after: Classes | None
    losses: Mapping[str, Loss]
    sampled_losses: Mapping[str, Loss]
    risks: Mapping[str, Risk]
    sample: int
    passed_over: Mapping[str, str] = field(default_factory=dict)
    among_all: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        return f"{self.records:,} records; {self.knowledge}"

    def counts(self) -> list[tuple[str, str, str]]:
        """What the combinations of the keys say, before and after; nothing without keys."""
        if self.before is None or self.after is None:
            return []
        counted: dict[str, Callable[[Classes], int]] = {
            "fewest records that share a combination of the keys (k)": lambda classes: classes.k,
            "records alone with theirs": lambda classes: classes.unique,
            **{f"records that share theirs with fewer than {k}": partial(_records_below, k) for k in _FEW},
        }
        before, after = self.before, self.after
        return [(words, f"{number(before):,}", f"{number(after):,}") for words, number in counted.items()]

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Kind, name, value, the records it rests on with its error, and meaning of every number."""
        drawn = "all" if self.sample == self.records else f"{self.sample:,}"
        found = []
        for label, risk in self.risks.items():
            told = find("attack", risk.name).meaning
            of = f"{risk.attacked:,} among all" if label in self.among_all else drawn
            found.append(("risk", label, f"{risk.value:.2f} %", f"{of}, {risk.low:.2f} to {risk.high:.2f} %", told))
        for losses, of in ((self.losses, "all"), (self.sampled_losses, drawn)):
            for label, loss in losses.items():
                error = loss.details.get("standard_error")
                said = of if error is None else f"{of}, ± {error:.2f} %"
                found.append(("loss", label, f"{loss.value:.2f} %", said, find("loss", loss.name).meaning))
        return [(*row[:4], row[4].partition("; lower is ")[0]) for row in found]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers leave out."""
        told = []
        if self.before is None:
            told.append("no attribute is a key, so no combinations were counted")
        if self.sample < self.records and (self.risks.keys() - set(self.among_all) or self.sampled_losses):
            told.append(
                f"what rests on {self.sample:,} records was measured as if these were the whole table; attacks then "
                "have fewer records to confuse a person with, so their risks are rather too high than too low"
            )
        if self.among_all:
            told.append(f"linked with all released records, and not only with those drawn: {', '.join(self.among_all)}")
        reasons: dict[str, list[str]] = {}
        for name, reason in self.passed_over.items():
            reasons.setdefault(reason, []).append(name)
        told += [f"not measured ({reason}): {', '.join(names)}" for reason, names in reasons.items()]
        return tuple(told)

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; nothing of single records."""
        classes = {
            when: {"k": c.k, "unique": c.unique, **{f"below_{k}": c.records_below(k) for k in (2, *_FEW)}}
            for when, c in (("before", self.before), ("after", self.after))
            if c is not None
        }
        return {
            "records": self.records,
            "knowledge": self.knowledge.to_plain(),
            "combinations": classes,
            "losses": {name: loss.to_plain() for name, loss in self.losses.items()},
            "sample": {
                "records": self.sample,
                "losses": {name: loss.to_plain() for name, loss in self.sampled_losses.items()},
                "risks": {name: risk.to_plain() for name, risk in self.risks.items()},
                "among_all": list(self.among_all),
            },
            "passed_over": dict(self.passed_over),
        }

    def __str__(self) -> str:
        lines = [*paragraph(self.heading)]
        if self.counts():
            lines += ["", *text_table([("", "before", "after"), *self.counts()], right={1, 2})]
        if self.rows():
            lines += ["", *text_table([("", "measure", "value", "records", "what it means"), *self.rows()], right={2})]
            lines += ["", "lower is safer (risks) and better (losses)"]
        return "\n".join([*lines, *(line for note in self.notes for line in paragraph(note))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        told = "".join(f"<p>{escape(line)}</p>" for line in self.notes)
        counted = html_table(self.counts(), ("", "before", "after"), right={1, 2}) if self.counts() else ""
        head = ("", "measure", "value", "records", "what it means")
        return f"<p>{escape(self.heading)}</p>{counted}{html_table(self.rows(), head, right={2})}{told}"


def _records_below(k: int, classes: Classes) -> int:
    return classes.records_below(k)


@dataclass(frozen=True)
class Source:
    """Two stored tables whose parts have the same records, and who reads them."""

    original: StoredTable
    released: StoredTable
    engine: Engine


@dataclass(frozen=True)
class StoredPair(Pair):
    """An original and its release in files. `original` and `masked` have no records, but know all that occurs."""

    source: Source = field(kw_only=True, compare=False, repr=False)
    in_parts: ClassVar[bool] = True

    @property
    def held(self) -> tuple[str, ...]:
        """The attributes that are compared or known, as far as the release has them."""
        return self.masked.names

    def __len__(self) -> int:
        return len(self.source.original)

    def summed(self, find: Callable[[Tables], Sum], progress: Progress = silent, label: str = "") -> Sum:
        attributes = tuple(name for name in self.attributes if name not in self.recoded)
        before, after = (_Side.of(table, attributes) for table in (self.original, self.masked))
        original, released = self.source.original, self.source.released

        def of_part(part: int) -> Sum:
            return find(Tables(before.read(original, part), after.read(released, part), attributes))

        return self.source.engine.added(of_part, len(original.pieces), progress, label)


@dataclass(frozen=True)
class DrawnPair(Pair):
    """Some records of a stored pair, in memory, on the scales of all of them."""

    of_all: StoredPair = field(kw_only=True, compare=False, repr=False)

    def spreads(self, name: str) -> tuple[Spread, Spread]:
        return _spread(self.of_all.original, name), _spread(self.of_all.masked, name)

    def categories(self, name: str) -> tuple[Categories, Categories]:
        domain = self.of_all.categories(name)[0].domain
        return self.original.categories(name, domain), self.masked.categories(name, domain)


def _spread(table: Microdata, name: str) -> Spread:
    found = table.facts.moments([name])
    return Spread(*(float(one[0]) for one in (found.mean, found.deviation, found.low, found.high)))


@dataclass(frozen=True)
class _Side:
    """By what the parts of one of the two tables are read."""

    schema: Schema
    facts: KnownFacts

    @classmethod
    def of(cls, table: Microdata, attributes: Sequence[str]) -> _Side:
        facts = table.facts
        assert isinstance(facts, StoredFacts)
        for name in attributes:
            if table[name].is_categorical:  # what a part asks about all records has to be known before
                facts.occurring(name)
                facts.has_empty(name)
        return cls(table.schema.select(attributes), facts.known)

    def read(self, table: StoredTable, part: int) -> Microdata:
        return table.part(part, self.schema, self.facts)


def assessed(
    data: LargeMicrodata,
    release: LargeRelease | str | Path,
    *,
    losses: Sequence[LossMeasure | str] | None,
    attacks: Sequence[Attack | str] | None,
    sample: int,
    seed: int,
    progress: Progress = silent,
) -> LargeAssessment:
    """Measure a release of a stored table."""
    from microveil.engines.large import LargeMicrodata

    if sample < 2:
        raise ParameterError(f"sample = {sample} is not allowed; at least two records are drawn")
    opening, counting, adding, drawing = (
        Part(progress, *ends) for ends in ((0, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 1))
    )
    made, table = _opened(data, release, opening)
    whole = LargeMicrodata(table, made.data.schema, data.engine)
    pair = _stored_pair(data, whole, made)
    keys = pair.knowledge.attributes if pair.knowledge.source == "keys" else ()
    before = after = None
    if keys:
        before, after = (one.equivalence_classes(keys) for one in (data, whole))
        counting(1.0, "counting combinations")
    wanted = chosen_losses(losses, pair)
    exact = [measure for measure in wanted if measure.adds_up(measure.facing(pair))]
    found, passed_over = _measured(
        {m.name: partial(m.measure_pair, m.facing(pair), explicit=False) for m in exact}, adding
    )
    others = [measure for measure in wanted if measure not in exact]
    sampled_losses: dict[str, Any] = {}
    risks: dict[str, Any] = {}
    linked: dict[str, Any] = {}
    size = min(sample, len(data)) if others or attacks is None or attacks else 0
    if size:
        rows = np.sort(Streams(seed).generator("records to measure").choice(len(data), size, replace=False))
        drawn = _drawn(data, whole, made, rows)
        few = Pair.of(*drawn)
        sampled_losses, unfit = _measured(
            {m.name: partial(m.measure_pair, m.facing(few), explicit=False) for m in others}, Part(drawing, 0, 0.4)
        )
        chosen = chosen_attacks(attacks, few)
        counted = {label: attack for label, attack in chosen.items() if attack.over_records == "per combination"}
        if size < len(data):  # who is unique among some is not so among all
            passed_over |= dict.fromkeys(counted, "combinations are counted over all records")
            chosen = {label: attack for label, attack in chosen.items() if label not in counted}
            of_sample = _Drawing(data, whole, made, seed, _Drawn(*drawn, rows))
            linking = {
                label: partial(_linked, attack, pair, of_sample)
                for label, attack in chosen.items()
                if isinstance(attack, DistanceLinkage) and _can_link(attack, pair)
            }
            linked, missed = _measured(linking, Part(drawing, 0.4, 0.8))
            passed_over |= missed
            chosen = {label: attack for label, attack in chosen.items() if label not in linking}
        risks, missed = _measured(
            {label: partial(a.assess_pair, a.facing(few)) for label, a in chosen.items()}, Part(drawing, 0.8, 1)
        )
        passed_over |= unfit | missed
    progress(1.0, "assessing")
    return LargeAssessment(
        len(data), pair.knowledge, before, after, found, sampled_losses, linked | risks, size, passed_over,
        tuple(linked),
    )  # fmt: skip


@dataclass(frozen=True)
class _Drawn:
    """The records that were drawn from both tables, and which of all they are."""

    original: Microdata
    release: Release
    rows: IntArray

    def taken(self, some: IntArray) -> _Drawn:
        release = replace(self.release, data=self.release.data.take(some))
        return _Drawn(self.original.take(some), release, self.rows[some])


@dataclass(frozen=True)
class _Drawing:
    """Who draws records from both tables; `sample` were drawn already."""

    data: LargeMicrodata
    whole: LargeMicrodata
    made: Release
    seed: int
    sample: _Drawn

    def persons(self, attack: DistanceLinkage, number: int) -> _Drawn:
        """So many persons for an attack, drawn by its seed: some of the sample, or of all where it asks for more."""
        chance = Streams(self.seed).generator("persons to link", str(attack.seed))
        drawn = len(self.sample.rows)
        if attack.records is None or attack.records <= drawn:
            return self.sample.taken(np.sort(chance.choice(drawn, min(number, drawn), replace=False)))
        rows = np.sort(chance.choice(len(self.data), min(number, len(self.data)), replace=False))
        return _Drawn(*_drawn(self.data, self.whole, self.made, rows), rows)


def _can_link(attack: DistanceLinkage, pair: StoredPair) -> bool:
    """Whether the attack can link persons with all released records part by part."""
    facing = attack.facing(pair)
    return attack.works_over == "neighbours" and not facing.labelled and set(facing.attributes) <= set(pair.held)


def _linked(attack: DistanceLinkage, pair: StoredPair, drawing: _Drawing, progress: Progress) -> Risk:
    """The risk of some persons, each linked with all released records."""
    some = drawing.persons(attack, attack.persons_in_parts(pair))
    few = Pair.of(some.original, some.release)
    persons = DrawnPair(**{one.name: getattr(few, one.name) for one in fields(few)}, of_all=pair)
    return attack.assess_in_parts(attack.facing(persons), attack.facing(pair), some.rows, progress)


def _measured(measures: Mapping[str, Callable[..., Any]], progress: Progress) -> tuple[dict[str, Any], dict[str, str]]:
    """What each measure finds, and why others find nothing."""
    found: dict[str, Any] = {}
    passed_over: dict[str, str] = {}
    for (label, measure), part in zip(measures.items(), parts(progress, max(1, len(measures))), strict=False):
        try:
            found[label] = measure(progress=part)
        except DataError as problem:
            passed_over[label] = str(problem)
    return found, passed_over


def _opened(
    data: LargeMicrodata, release: LargeRelease | str | Path, progress: Progress
) -> tuple[Release, StoredTable]:
    """The release without its records, and the table that has them, in parts like the original's."""
    from microveil.engines.large import LargeRelease

    folder = release.folder if isinstance(release, LargeRelease) else Path(release)
    table = StoredTable.of_files(files_in(folder), records_of_part=max(1, data.table.starts[1]))
    if isinstance(release, LargeRelease):
        made = Release(_without_records(table, release.schema), release.provenance)
    else:
        made = _from_manifest(folder, table, data, progress)
    if len(table) != len(data) or made.provenance.input_records != len(data):
        raise DataError(
            f"the original has {count(len(data), 'record')} and the release {len(table):,}; a release is compared with "
            "its original where it has all of its records in their order, so assess a sample of the records in memory"
        )
    return made, table


def _from_manifest(folder: Path, table: StoredTable, data: LargeMicrodata, progress: Progress) -> Release:
    """A release as the manifest beside its folder describes it."""
    file = manifest_path(folder)
    if not file.is_file():
        raise FileError(folder, "has no manifest beside it, so it is not known what was done to the table")
    plan, content = read_plan(file)
    listed = ((content or {}).get("output") or {}).get("files") or {}
    files = [Path(one) for one in table.files]
    digests = data.engine.map(lambda one: file_digest(files[one]), len(files), progress, "reading the release")
    if dict(zip((one.name for one in files), digests, strict=True)) != dict(listed):
        raise FileError(folder, "does not have the files that its manifest was written for")
    held = Microdata.of(open_frame(table.read(0, table.names)))
    made = release_from(held, plan, content or {})
    if made.provenance.input_digest != data.digest():
        raise DataError("the release was made from another table than this original, so they cannot be compared")
    return replace(made, data=_without_records(table, made.data.schema))


def _without_records(table: StoredTable, schema: Schema, part: PartOfTable | None = None) -> Microdata:
    return Microdata(open_frame(table.read(0, schema.names).slice(0, 0)), schema, part=part)


def _empty(table: StoredTable, schema: Schema, facts: StoredFacts) -> Microdata:
    """A table that knows what occurs in all records, and has none of them."""
    return _without_records(table, schema, PartOfTable(range(0), facts))


def _stored_pair(data: LargeMicrodata, whole: LargeMicrodata, made: Release) -> StoredPair:
    """Both tables as losses compare them: on the attributes that were masked, else on the keys, else on all numbers."""
    facts = (data.facts, whole.facts)
    before, after = (_empty(one.table, one.schema, known) for one, known in zip((data, whole), facts, strict=True))
    chosen = tuple(name for name in made.provenance.attributes or data.schema.keys if name in after.names)
    attributes = resolve_attributes(before, chosen or None, KINDS, "a comparison")
    knowledge = knowledge_of(before, made, (attributes, "masked"))
    held = tuple(dict.fromkeys((*attributes, *(name for name in knowledge.attributes if name in after.names))))
    recoded = tuple(name for name in held if _is_label(before, after, name))
    schemas = read_alike(before.schema, after.schema, held, recoded, known_before=True)
    original, masked = (
        _empty(one.table, schema.select(held), known.read_by(schema))
        for one, schema, known in zip((data, whole), schemas, facts, strict=True)
    )
    return StoredPair(
        original, masked, attributes, recoded, None, knowledge=knowledge, compared=attributes,
        source=Source(data.table, whole.table, data.engine),
    )  # fmt: skip


def _is_label(before: Microdata, after: Microdata, name: str) -> bool:
    sides = (before, after)
    if before[name].is_categorical:
        values = [table.facts.counted([name]).data.arrow(name) for table in sides]
    else:
        values = [table.arrow(name) for table in sides]
    return holds_labels(before[name], *values)


def _drawn(data: LargeMicrodata, whole: LargeMicrodata, made: Release, rows: IntArray) -> tuple[Microdata, Release]:
    """The same records of both tables, in memory."""
    original = Microdata(open_frame(_taken(data, rows)), data.schema)
    released = Microdata(open_frame(_taken(whole, rows)), whole.schema)
    provenance: Provenance = replace(made.provenance, input_records=len(rows), input_digest="")
    return original, Release(released, provenance)


def _taken(data: LargeMicrodata, rows: IntArray) -> pa.Table:
    table, names = data.table, data.schema.names
    cuts = np.searchsorted(rows, table.starts)

    def of_part(part: int) -> pa.Table:
        own = rows[cuts[part] : cuts[part + 1]] - table.starts[part]
        return table.read(part, names).take(pa.array(own)) if len(own) else None

    read = data.engine.map(of_part, len(table.pieces), silent, "drawing records")
    return pa.concat_tables([one for one in read if one is not None]).combine_chunks()
