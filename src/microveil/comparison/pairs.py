"""An original table beside its masked version, so that measures can compare them cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from microveil.comparison.changes import Codes, changed
from microveil.comparison.common_codes import common_codes
from microveil.comparison.control_group import FEWEST, ControlGroup, compared_names, control_group, joined
from microveil.comparison.knowledge import Knowledge, Source, declared_keys, knowledge_of
from microveil.comparison.label_detection import holds_labels
from microveil.errors import DataError
from microveil.masking.release import MADE_AGAIN, Release
from microveil.microdata.microdata import Microdata, both_as_microdata, count, resolve_attributes
from microveil.microdata.schema import KINDS, Schema
from microveil.microdata.tables import Tables
from microveil.numerics.statistics.scaling import Spread
from microveil.parameters import Parameterised

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Found = TypeVar("Found")
# roles of attributes that are no one's values
_NOT_MASKED = ("identifier", "weight", "household", "stratum", "series", "node")


class Workings:
    """What one measure of a pair has found out and others can use; found once, also by several threads."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}
        self._alive: list[object] = []
        self._lock = RLock()

    def once(self, key: Hashable, find: Callable[[], Found], named: object = None) -> Found:
        """What was found before under this key, or is found now.

        What the key has by its `id` is `named`: it is kept, so that nothing else can get the same id.
        """
        with self._lock:
            if key not in self._found:
                self._found[key] = find()
                self._alive.append(named)
            found: Found = self._found[key]
            return found


@dataclass(frozen=True)
class Pair(Tables):
    """Record i of `masked` is the masked version of record i of `original`; both are read by the original's schema, but
    what an empty cell counts as is for each table to say.

    `attributes` are those that a measure is about: at first the ones to compare, which `compared` keeps; an attack that
    links records is about what the intruder knows, `knowledge`. `recoded` are attributes whose masked cells are labels
    that stand for several values, such as intervals in the place of numbers: they cannot be compared cell by cell, so
    they are left out unless a measure `reads_labels`. `release` is what was compared, if it came with its provenance.
    `control` are records of the same population that are not in the release, if there are any at hand; `whole` is the
    original with the records that were not released either, where only some were. `workings` are shared by all measures
    of the pair.
    """

    knowledge: Knowledge = field(kw_only=True)
    compared: tuple[str, ...] = field(kw_only=True)
    release: Release | None = None
    reads_labels: bool = False
    control: ControlGroup | None = field(default=None, kw_only=True, compare=False, repr=False)
    whole: Microdata | None = field(default=None, kw_only=True, compare=False, repr=False)
    workings: Workings = field(default_factory=Workings, kw_only=True, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        original: Any,
        release: Any,
        attributes: Sequence[str] | None = None,
        *,
        known: Sequence[str] | None = None,
        control: Any = None,
    ) -> Pair:
        """Compare these attributes; by default those a release masked, else the keys and whatever else was changed, or
        without keys all numeric ones.

        `known` are the attributes an intruder knows; by default the declared keys, else what was masked or changed.
        `control` is a table of records of the same population that are not in the release.
        """
        before, after = both_as_microdata(original, release)
        made = release if isinstance(release, Release) else None
        whole = before if made is not None and made.is_sample else None
        if made is not None:
            before = released_originals(before, made)
        changes = _Changes(before, after)
        chosen = _chosen(changes, release, attributes)
        stand_in = None
        if known is None and not declared_keys(before, release):
            stand_in = _without_keys(changes, release, attributes, chosen)
        knowledge = knowledge_of(before, release, stand_in, known)
        for name in dict.fromkeys((*chosen, *knowledge.attributes)):
            if name not in after.names:
                raise DataError(f"the masked table has no column '{name}', so it cannot be compared with the original")
        if len(before) != len(after):
            raise DataError(
                f"the original has {count(len(before), 'record')} and the masked table {len(after):,}; "
                "they must describe the same records in the same order, or be matched by an identifier that both have "
                "(match_by, or --match-by on the command line)"
            )
        if len(before) == 0:
            raise DataError("the tables have no records, so there is nothing to measure")
        # what is not compared comes along: an attack may be after it
        open_to_all = (n for n in before.names_to_compare(after) if "identifier" not in before[n].roles)
        held = tuple(dict.fromkeys((*chosen, *knowledge.attributes, *open_to_all)))
        known_before = made is not None
        recoded = tuple(
            n for n in held if holds_labels(before[n], before.arrow(n), after.arrow(n), declared_before=known_before)
        )
        schema, released = read_alike(before.schema, after.schema, held, recoded, known_before=known_before)
        masked = Microdata(after.frame.select(*held), released, edges=after.edges)
        original = replace(before, schema=schema)
        group = None if control is None else control_group(control, original, masked)
        return cls(
            original, masked, chosen, recoded, made, knowledge=knowledge, compared=chosen, control=group, whole=whole
        )

    def of_kinds(self, kinds: Sequence[str]) -> tuple[str, ...]:
        """The attributes of these kinds that can be compared."""
        fits = (n for n in self.attributes if self.original[n].kind in kinds)
        return tuple(n for n in fits if self.reads_labels or n not in self.recoded)

    def spreads(self, name: str) -> tuple[Spread, Spread]:
        """How the numbers of both files spread; of the original's those of the persons in the release, without those of
        a control group, who come after them."""
        before, after = (column.values for column in self.numbers(name))
        return Spread.of(before[: len(after)]), Spread.of(after)

    def lacks(self, name: str) -> bool:
        """Whether a cell of an attribute is missing in one of the tables."""
        for facts in (self.original.facts, self.masked.facts):
            if self.original[name].kind == "numeric":
                missing = bool(facts.moments([name]).records[0] < facts.records)
            else:
                missing = bool(facts.counted([name]).data.missing_states(name).any())
            if missing:
                return True
        return False

    @property
    def in_series(self) -> tuple[str, ...]:
        """Those of the attributes compared that are values of series; none in a table that is not declared to have
        any."""
        if self.original.schema.panel is None:
            return ()
        found = self.original.series_among(self.of_kinds(("numeric",)))
        return tuple(column for series in found for column in series.columns)

    @property
    def is_graph(self) -> bool:
        """Whether both tables have links between their records."""
        return self.original.edges is not None and self.masked.edges is not None

    @property
    def labelled(self) -> tuple[str, ...]:
        """Those of the attributes compared that were released as labels."""
        return tuple(name for name in self.attributes if name in self.recoded)

    def reading_labels(self) -> Pair:
        """The same for a measure that can tell which values a label stands for."""
        return replace(self, reads_labels=True)

    @property
    def held_out(self) -> ControlGroup | None:
        """The records of the original that were not released, where these are known and enough for a control group."""
        return self.workings.once("held out", self._held_out)

    def _held_out(self) -> ControlGroup | None:
        if self.whole is None or self.release is None or self.release.rows is None:
            return None
        others = np.setdiff1d(np.arange(len(self.whole)), self.release.rows)
        if len(others) < FEWEST or self.is_graph or self.original.schema.panel is not None:
            return None
        return control_group(self.whole.take(others), self.original, self.masked)

    def with_control(self, control: ControlGroup) -> Pair:
        """The same release beside all persons: those of the original and, after them, those of a control group, who
        have no record in it."""
        names = compared_names(self.original, self.masked)
        persons = self.workings.once(
            ("everyone", id(control)), lambda: joined(self.original, control.data, names), named=control
        )
        return replace(self, original=persons, control=None, whole=None, workings=Workings())

    def about(self, attributes: Sequence[str]) -> Pair:
        """The same tables for a measure that is about these attributes."""
        return replace(self, attributes=tuple(attributes))


def read_alike(
    before: Schema, after: Schema, held: Sequence[str], recoded: Sequence[str], *, known_before: bool
) -> tuple[Schema, Schema]:
    """By which schemas an original and some columns of its masked version are read, so that they can be compared;
    `known_before` says that the masked table is a release with its provenance."""
    schema = before.replacing(*(before[name].with_missing_of(after[name]) for name in held))
    released = schema.select(held)
    if known_before:  # empty cells of a release may count otherwise than those of the original
        counted = (released[name].changed(missing=after[name].missing) for name in held)
        released = released.replacing(*(a for a in counted if a.missing != schema[a.name].missing))
    # labels stand in no domain but their own
    labels = (released[n] for n in recoded if released[n].domain is not None)
    return schema, released.replacing(*(a.changed(domain=None, hierarchy=None) for a in labels))


def released_originals(original: Microdata, release: Release) -> Microdata:
    """The records of the original that a release has, in its order."""
    check_records_known(release)
    if release.rows is None:
        return original
    if release.rows.max(initial=-1) >= len(original):
        raise DataError(another_original(original, release))
    return original.take(release.rows)


def check_records_known(release: Release) -> None:
    """Refuse a release of which nobody knows which record is which original."""
    if release.rows is not None:
        return
    sample = len(release) < release.provenance.input_records and bool(release.missing_file)
    if release.provenance.shuffled or sample:
        order = "in random order" if release.provenance.shuffled else "a sample of the original's"
        missing = f"'{release.missing_file}', which says" if release.missing_file else "what says"
        raise DataError(
            f"the records of this release are {order}, and {missing} which original each of them has, is missing, so "
            f"they cannot be compared with it; {MADE_AGAIN}"
        )


def another_original(original: Microdata, release: Release) -> str:
    """What is to be said where the original is not the table that a release was made from."""
    return (
        f"the release was made from a table of {count(release.provenance.input_records, 'record')}, and this original "
        f"has {len(original):,}, so it is not known which of them were released; give the original it was made from, "
        "or an identifier that both have (match_by, or --match-by on the command line)"
    )


def fitting(pair: Pair, measure: Parameterised, *, explicit: bool) -> tuple[str, ...]:
    """The attributes a measure can treat; attributes that were asked for by name are never passed over. A measure of
    links alone treats none."""
    if getattr(measure, "of_graph", False):
        _check_links(pair, measure)
    if not measure.kinds:
        return ()
    attributes = pair.of_kinds(measure.kinds)
    words = " or ".join(measure.kinds)
    if explicit and len(attributes) < len(pair.attributes):
        odd = next(name for name in pair.attributes if name not in attributes)
        kind = pair.original[odd].kind
        if odd in pair.recoded:
            raise DataError(
                f"attribute '{odd}' is released as labels that stand for several values, so {measure.name} cannot "
                "compare it with the original"
            )
        raise DataError(f"attribute '{odd}' is {kind}, but {measure.name} works on {words} attributes only")
    if not attributes:
        hidden = f" that is not released as labels ({', '.join(pair.labelled)})" if pair.labelled else ""
        raise DataError(f"there is no {words} attribute for {measure.name} to work on{hidden}")
    return attributes


def _check_links(pair: Pair, measure: Parameterised) -> None:
    """Refuse a measure of graphs where one of the tables is none."""
    for table, words in ((pair.original, "the original"), (pair.masked, "the masked table")):
        if table.edges is None:
            raise DataError(f"{measure.name} compares the links of two graphs, and {words} has none")


@dataclass(frozen=True)
class _Changes:
    """What differs between two tables, found when it is first asked for."""

    original: Microdata
    masked: Microdata

    @cached_property
    def columns(self) -> dict[str, Codes]:
        """The cells of the columns that both tables have and that are values of someone."""
        original, masked = self.original, self.masked
        names = (n for n in original.names_to_compare(masked) if not set(original[n].roles) & set(_NOT_MASKED))
        return {name: common_codes(original.arrow(name), masked.arrow(name)) for name in names}

    @cached_property
    def differing(self) -> tuple[str, ...]:
        return tuple(changed(self.original, self.columns))

    def in_whole_series(self, names: Sequence[str]) -> tuple[str, ...]:
        """With all times of a series of which one is among these; those that were not released only if named."""
        whole = self.original.schema.with_whole_series(names)
        return tuple(name for name in whole if name in names or name in self.masked.names)


def _chosen(changes: _Changes, release: Any, attributes: Sequence[str] | None) -> tuple[str, ...]:
    """The attributes to compare: those named; else those a release masked; else, of a table without provenance, the
    keys and whatever else was changed; without keys all numeric ones, for losses are about relations between changed
    and unchanged attributes too.
    """
    original = changes.original
    if attributes is None and isinstance(release, Release) and release.provenance.attributes:
        attributes = release.provenance.attributes
    elif attributes is None and (keys := declared_keys(original, release)):
        others = (name for name in changes.differing if name not in keys)
        attributes = (*(name for name in keys if name in changes.masked.names), *others) or keys
    elif (
        attributes is None
        and original.edges is not None
        and all(set(a.roles) & set(_NOT_MASKED) for a in original.schema)
    ):
        return ()  # a graph whose nodes have nothing but their links
    elif attributes is None and original.schema.has_roles:
        attributes = changes.differing or tuple(changes.columns)
    else:
        return resolve_attributes(original, attributes, KINDS, "a comparison")
    return resolve_attributes(original, changes.in_whole_series(attributes), KINDS, "a comparison")


def _without_keys(
    changes: _Changes, release: Any, attributes: Sequence[str] | None, chosen: tuple[str, ...]
) -> tuple[tuple[str, ...], Source]:
    """The attributes that stand in for keys where none are declared, and where they come from."""
    if attributes is not None:
        return chosen, "compared"
    if isinstance(release, Release) and release.provenance.attributes:
        return chosen, "masked"
    if not chosen:
        return (), "links"
    if changes.differing:
        return changes.in_whole_series(changes.differing), "changed"
    return tuple(changes.columns) or chosen, "all"
