"""What methods have to say about a release: notes of a kind, with numbers and names, whose text is a sentence.

A kind owns its sentence, so that notes of many parts of a file can be brought together by their numbers, and whoever
reads a manifest finds the numbers beside the sentence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from string import Formatter
from typing import Any, TypeAlias

from microveil.errors import ParameterError, brief, shortened
from microveil.microdata.microdata import count

_NUMBER_FORMAT = re.compile(r",?(\.\d+)?[fg]?")
_CLAUSE = re.compile(r"\[([^\]]*)\]")
_NO_NOTE = "a note with its kind, sentence and values, or a text"


@dataclass(frozen=True)
class Range:
    """The lowest and the highest of some numbers."""

    lowest: float
    highest: float


Value: TypeAlias = "float | Range | str | tuple[str, ...] | Note | tuple[Note, ...]"


@dataclass(frozen=True)
class Kind:
    """A kind of note and its sentence, in which values stand in braces. Calling it with the values makes a note.

    A number is written as its format says (`{share:.2f}`), or counts a noun (`{cells:cell}`, or with its plural
    `{codes:category|categories}`). Names are joined by commas (`{attributes}`) or by "or" (`{attributes:or}`), or are
    counted like a number. A value can also be a note, or several of them. A clause in square brackets is left out where
    a value in it is 0 or not given. `through` stands between the ends of a range.

    >>> emptied = Kind("cells-emptied", "{cells:cell} of {name} emptied[, {codes:missing code} among them]")
    >>> str(emptied(cells=1, name="age")), str(emptied(cells=12, name="age", codes=2))
    ('1 cell of age emptied', '12 cells of age emptied, 2 missing codes among them')
    """

    name: str
    sentence: str = field(compare=False)
    through: str = field(default=" to ", compare=False)

    def __call__(self, **values: Value) -> Note:
        formats = {name: form for clause, _ in self._clauses() for _, name, form, _ in clause if name is not None}
        needed = {name for clause, optional in self._clauses() for _, name, _, _ in clause if name and not optional}
        if not needed <= set(values) <= set(formats):
            given = ", ".join(values) or "none"
            raise ParameterError(f"a note of the kind '{self.name}' has the values {', '.join(formats)}, not {given}")
        return Note(self, {name: _as_shown(value, formats[name] or "") for name, value in values.items()})

    def told(self, values: Mapping[str, Value]) -> str:
        """The sentence with these values."""
        said = []
        for clause, optional in self._clauses():
            names = [name for _, name, _, _ in clause if name is not None]
            if optional and not all(values.get(name) for name in names):
                continue
            for text, name, form, _ in clause:
                said.append(text)
                if name is not None:
                    said.append(_written(values[name], form or "", self.through))
        return "".join(said)

    def _clauses(self) -> Iterator[tuple[list[tuple[str, str | None, str | None, str | None]], bool]]:
        """The pieces of the sentence, and whether they may be left out."""
        for position, clause in enumerate(_CLAUSE.split(self.sentence)):
            yield list(Formatter().parse(clause)), position % 2 == 1


@dataclass(frozen=True)
class Note:
    """A remark on a release, without values of records; its text is the sentence of its kind.

    `said` is the sentence of a note that was read from a manifest: a newer version or another package may have made it.
    """

    kind: Kind
    values: Mapping[str, Value] = field(default_factory=dict, hash=False)
    said: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.kind.told(self.values) if self.said is None else self.said

    def to_plain(self) -> dict[str, Any]:
        """As a manifest holds it: what a program reads, and the sentence that a person does."""
        values = {name: _plain(value) for name, value in self.values.items()}
        return {"kind": self.kind.name, "sentence": str(self), "values": values}

    @classmethod
    def from_plain(cls, plain: Any) -> Note:
        """A note of a manifest; a mere text is a remark."""
        if isinstance(plain, str):
            return REMARK(text=plain)
        _check(isinstance(plain, Mapping), plain)
        kind, sentence, values = plain.get("kind"), plain.get("sentence"), plain.get("values", {})
        _check(isinstance(kind, str) and isinstance(sentence, str) and isinstance(values, Mapping), plain)
        return cls(Kind(kind, ""), {name: _value(value) for name, value in values.items()}, sentence)


def _as_shown(value: Any, form: str) -> Any:
    """A value as a note keeps it: a number to the digits that the sentence shows, so that it tells no more."""
    if isinstance(value, Integral):
        return int(value)
    if not isinstance(value, Real):
        return value
    if math.isnan(value):
        return math.nan  # the same object, so that notes with it are equal
    return float(format(float(value), form).replace(",", "")) if _NUMBER_FORMAT.fullmatch(form) else float(value)


def _written(value: Any, form: str, through: str) -> str:
    """A value as it stands in a sentence."""
    if isinstance(value, tuple):
        if form in ("", "or") or not all(isinstance(name, str) for name in value):
            return f" {form} ".join(value) if form else ", ".join(map(str, value))
        value = len(value)
    if not isinstance(value, int | float | Range):
        return str(value)
    is_number_format = _NUMBER_FORMAT.fullmatch(form) is not None
    ends = (value.lowest, value.highest) if isinstance(value, Range) else (value,)
    if is_number_format:
        return through.join(format(end, form) for end in ends)
    noun, _, several = form.partition("|")
    return through.join([*(f"{end:,}" for end in ends[:-1]), count(int(ends[-1]), noun, several or None)])


def added_up(notes_of_parts: Sequence[Sequence[Note]]) -> tuple[Note, ...]:
    """The notes of all parts of a table that was masked as one: those alike but for their counts once, with the sums.

    >>> coded = Kind("coded", "{values:value} of {name} coded above {limit:.1f}")
    >>> for note in added_up([[coded(values=1, name="age", limit=90.0)], [coded(values=3, name="age", limit=90.0)]]):
    ...     print(note)
    4 values of age coded above 90.0
    """
    alike: dict[Any, list[Note]] = {}
    for notes in notes_of_parts:
        for note in notes:
            alike.setdefault(_without_numbers(note), []).append(note)
    return tuple(_sum(notes) for notes in alike.values())


def _sum(notes: Sequence[Note]) -> Note:
    """A note with the sums of all whole numbers, and the other values of the first."""
    first = notes[0]
    sums: dict[str, Value] = {}
    for name, value in first.values.items():
        if type(value) is int:
            sums[name] = sum(count for note in notes if isinstance(count := note.values[name], int))
    return replace(first, values={**first.values, **sums})


def merged(notes_of_parts: Sequence[Sequence[Note]]) -> tuple[Note, ...]:
    """The notes of all parts of a file: those of one kind and with the same names once, with the ranges of their
    numbers and with how many parts have them.

    >>> emptied = Kind("cells-emptied", "{cells:cell} of {name} emptied")
    >>> parts = [[emptied(cells=1, name="age")], [], [emptied(cells=12, name="age"), emptied(cells=2, name="sex")]]
    >>> for note in merged(parts): print(note)
    1 to 12 cells of age emptied (in 2 parts of 3)
    2 cells of sex emptied (in 1 part of 3)
    """
    alike: dict[Any, dict[int, list[Note]]] = {}
    for part, notes in enumerate(notes_of_parts):
        for note in notes:
            alike.setdefault(_without_numbers(note), {}).setdefault(part, []).append(note)
    return tuple(
        IN_PARTS(
            note=_spanning([note for notes in by_part.values() for note in notes]),
            parts=len(by_part),
            of=len(notes_of_parts),
        )
        for by_part in alike.values()
    )


def _without_numbers(value: Any) -> Any:
    """What notes that are brought together have in common: all but their numbers."""
    if isinstance(value, Note):
        values = tuple((name, _without_numbers(inside)) for name, inside in sorted(value.values.items()))
        return value.kind.name, value.kind.sentence, value.said, values
    if isinstance(value, tuple):
        return tuple(map(_without_numbers, value))
    return Range if isinstance(value, int | float | Range) else value


def _spanning(same: Sequence[Any]) -> Any:
    """One value for several that differ in their numbers only."""
    first = same[0]
    if isinstance(first, Note):
        return Note(
            first.kind, {name: _spanning([note.values[name] for note in same]) for name in first.values}, first.said
        )
    if isinstance(first, tuple):
        return tuple(_spanning(inside) for inside in zip(*same, strict=True))
    if not isinstance(first, int | float | Range):
        return first
    ends = [end for v in same for end in ((v.lowest, v.highest) if isinstance(v, Range) else (v,))]
    known = [end for end in ends if not math.isnan(end)] or ends
    lowest, highest = min(known), max(known)
    return lowest if lowest == highest or math.isnan(lowest) else Range(lowest, highest)


def _plain(value: Any) -> Any:
    if isinstance(value, Note):
        return value.to_plain()
    if isinstance(value, Range):
        return {"lowest": _plain(value.lowest), "highest": _plain(value.highest)}
    if isinstance(value, tuple):
        return [_plain(inside) for inside in value]
    return value if not isinstance(value, float) or math.isfinite(value) else {"number": str(value)}


def _value(plain: Any) -> Any:
    if isinstance(plain, Mapping):
        if "kind" in plain:
            return Note.from_plain(plain)
        if plain.keys() == {"number"} and plain["number"] in ("nan", "inf", "-inf"):
            return math.nan if plain["number"] == "nan" else float(plain["number"])
        if plain.keys() == {"lowest", "highest"}:
            lowest, highest = _value(plain["lowest"]), _value(plain["highest"])
            _check(isinstance(lowest, int | float) and isinstance(highest, int | float), plain)
            return Range(lowest, highest)
    if isinstance(plain, list):
        return tuple(_value(inside) for inside in plain)
    _check(isinstance(plain, str | int | float) and not isinstance(plain, bool), plain)
    return plain


def _check(fits: bool, plain: Any) -> None:
    if not fits:
        raise ParameterError(f"notes = {shortened(brief(plain))} is no part of a manifest; it must be {_NO_NOTE}")


REMARK = Kind("remark", "{text}")
IN_PARTS = Kind("in-parts", "{note} (in {parts:part} of {of})")

# what became of the households and of the order of the records
HOUSEHOLDS_KEPT = Kind("households-kept", "{attribute}: household numbers as they were")
HOUSEHOLDS_RENUMBERED = Kind("households-renumbered", "{attribute}: households renumbered in random order")
SERIES_RENUMBERED = Kind(
    "series-renumbered",
    "{attribute}: series renumbered at random; their records stay in the order of the original, unless they are put in "
    "random order, too (shuffle)",
)
NODES_RENUMBERED = Kind(
    "nodes-renumbered",
    "{attribute}: nodes renumbered at random; their records stay in the order of the original, unless they are put in "
    "random order, too (shuffle)",
)
NEW_IDENTIFIERS = Kind(
    "new-identifiers",
    "{attribute}: random new identifiers; the key table from old to new ones is in the private file only",
)
RANKED_LIST = Kind("ranked-list", "{attributes}: taken for a ranked list")
NO_PLACE_IN_COMMON = Kind(
    "no-place-in-common",
    "{attribute}: {records:record} published at the coarsest level, for the places of their groups have no other in "
    "common",
)
LINKS_CHANGED = Kind("links-changed", "{added:link} added and {removed:link} removed")
LINKS_OF_NODES_REMOVED = Kind(
    "links-of-nodes-removed", "{nodes:node} without links now, for the number of nodes is no multiple of k"
)
SWAPS_NOT_MADE = Kind("swaps-not-made", "{swaps:exchange} of ends could not be made, for the graph allows no more")
MIXING_OF = Kind("mixing-of", "links drawn anew between the classes of {attributes}")
LINKS_NOT_PLACED = Kind("links-not-placed", "{links:link} could not be placed, so there are so many fewer")
RANDOM_ORDER = Kind("random-order", "records in random order")
MEMBERS_OF_HOUSEHOLDS = Kind("members-of-households", "{attribute} (in {households:household})")
MEMBERS_MADE_DIFFERENT = Kind(
    "members-made-different",
    "masking made members of the same household differ in {attributes}, which they shared before, so that one "
    "member's record can reveal the original value of another; the method {method} changes all members of a household "
    "alike, but its k counts households: k over records is not kept",
)
MEMBERS_MADE_DIFFERENT_STILL = Kind(
    "members-made-different-still",
    "masking made members of the same household differ in {attributes}, which they shared before, so that one "
    "member's record can reveal the original value of another; check the households whose members differ in another "
    "attribute, because these are not masked as one",
)

# a method inside parts of the file, by household, or after another
CLUSTERS = Kind("clusters", "masked inside {clusters:cluster}, the smallest of {smallest:record}")
FEWER_CLUSTERS = Kind("fewer-clusters", "there are records for {clusters:cluster} only, not {asked}")
LABELS_LEFT_OUT = Kind(
    "labels-left-out", "'{attribute}': {labels:value label} left out, which would not be right for all parts"
)
MATRICES_OF_PARTS = Kind(
    "matrices-of-parts",
    "every part has a transition matrix of its own for {matrices}; the release does not hold them",
)
NO_HOUSEHOLD = Kind("no-household", "no attribute has the role household, so every record was masked by itself")
NO_SHARED_ATTRIBUTE = Kind(
    "no-shared-attribute", "members of a household differ in {attributes}, so every record was masked by itself"
)
HOUSEHOLDS_SWAPPED = Kind("households-swapped", "{households:household} changed places ({share:.2f} %)")
NO_PARTNER = Kind(
    "no-partner", "{households:household} at risk found no household of the same size elsewhere to change places with"
)
MASKED_ALIKE = Kind("masked-alike", "masked alike for all members of {households:household}: {attributes}")
MEMBERS_DIFFER = Kind(
    "members-differ",
    "members of {households:household} differ in {attributes:or}: there only those with the same values were masked "
    "alike, and the release shows that they differ",
)
HOUSEHOLDS_NOT_DECLARED = Kind(
    "households-not-declared",
    "{attributes}: declared as attributes of the household, but no attribute is the household number, so every record "
    "was masked by itself",
)
CELLS_OF_MEMBERS = Kind(
    "cells-of-members",
    "{method}: {cells:cell} of other members of the same household emptied, too ({attributes})",
)
HOUSEHOLDS_SUPPRESSED = Kind(
    "households-suppressed",
    "{method}: {records:record} more suppressed, so that no member shows what was suppressed of {attributes} in "
    "another",
)
HOUSEHOLDS_DRAWN = Kind(
    "households-drawn",
    "{method}: whole households were drawn, {drawn:,} of {of:,}, since attributes of the household are declared",
)
MASKED_FIRST = Kind("masked-first", "{method}: nothing was masked before, so {first} was applied first")
SOME_MASKED_FIRST = Kind(
    "some-masked-first", "{method}: {attributes} had not been masked before, so {first} was applied first"
)
COVARIANCES_IN_PART = Kind(
    "covariances-in-part",
    "{method}: the masked records vary in fewer directions than the original, so only a part of the covariances is "
    "restored",
)
RANGES_KEPT = Kind(
    "ranges-kept",
    "{method}: {values:value} brought back into the declared ranges, so means and covariances are not exact",
)
MOMENTS_RESTORED = Kind(
    "moments-restored",
    "{method}: the discrepancy of the moments fell from {before:.3g} to {after:.3g}",
    through="–",
)

# coarsening
RELEASED_AS_THEY_ARE = Kind(
    "released-as-they-are",
    "{method}: the numbers of {attributes} are released as they are and can be matched exactly with other files; mask "
    "them too",
)
VALUES_OF_ATTRIBUTE = Kind("values-of-attribute", "{attribute} {before} to {after}", through="–")
VALUES_MERGED = Kind("values-merged", "{method}: values merged ({attributes})[; {left:record} left below k = {k}]")
VALUES_MERGED_FOR_COMBINATIONS = Kind(
    "values-merged-for-combinations",
    "{method}: values merged ({attributes})[; {left:record} left in combinations that are too rare]",
)
LEVEL_OF_ATTRIBUTE = Kind("level-of-attribute", "{attribute} {level} of {highest}")
LEVELS_CHOSEN = Kind(
    "levels-chosen",
    "{method}:[ pass {number}:] levels {levels}; the release keeps {utility:.6f} by {measure}, in "
    "{classes:class|classes}[, with {records:record} suppressed]",
)
COUNTED_AGAIN = Kind(
    "counted-again",
    "{method}: {what} of the release, counted again, is {reached:.6g}; at most {wanted:g} was asked for",
)
OPTIMUM_PROVEN = Kind(
    "optimum-proven", "{method}: no other levels keep more, as {checked:grouping} of the records prove"
)
OPTIMUM_NOT_PROVEN = Kind(
    "optimum-not-proven",
    "{method}: the best levels found in {checked:grouping} of records; others could keep up to {bound:.6f}, which "
    "a larger budget would tell",
)
FEWEST_CELLS = Kind(
    "fewest-cells",
    "{method}: {cost:cell} emptied where at least {bound:,g} are needed, so that at most {gap:.1f} % could be kept",
)
LEAST_COST_OF_CELLS = Kind(
    "least-cost-of-cells",
    "{method}: the emptied cells cost {cost:,.6g} by importance, where at least {bound:,.6g} is needed, so that at "
    "most {gap:.1f} % of the cost could be saved",
)
LEAST_LOSS = Kind(
    "least-loss",
    "{method}: {attributes} lose {loss:.4f} % of their variation (SSE/SST); no groups of at least {k:,} lose less than "
    "{bound:.4f} %, so that at most {gap:.2f} % of the loss could be saved",
)
HIERARCHY_PROPOSED = Kind(
    "hierarchy-proposed", "{method}: a hierarchy was proposed for {attributes}, since the schema has none"
)
ENDED_BY_THE_CLOCK = Kind(
    "ended-by-the-clock", "the search had a limit of time, so that the same seed need not give the same release again"
)
NO_CELL_EMPTIED = Kind("no-cell-emptied", "{method}: no cell had to be emptied")
CODES_ARE_VALUES = Kind(
    "codes-are-values",
    "{method}: a suppressed cell of {attributes} is no wildcard, because missing codes count as values there",
)
CELLS_OF_ATTRIBUTE = Kind("cells-of-attribute", "{attribute} {cells:,}")
CELLS_EMPTIED = Kind("cells-emptied", "{method}: {cells:cell} of {records:record} emptied ({attributes})")
VALUES_CODED = Kind("values-coded", "{method}: {values:value} of {attribute} coded")
VALUES_CODED_AS_THRESHOLD = Kind(
    "values-coded-as-threshold",
    "{method}: {values:value} of {attribute} coded as the threshold, since the {code} of so few would tell them",
)
RECORDS_MOVED = Kind(
    "records-moved",
    "{method}: {records:record} of {of:,} moved onto the ellipsoid of {attributes} (robust distance at most "
    "{distance:.3g})",
)
NO_ROBUST_SPREAD = Kind(
    "no-robust-spread",
    "{method}: more than half of the values of {attribute} are equal, so it has no robust spread and was left as it "
    "was; top-code codes it by itself",
)
LARGER_SHARE = Kind(
    "larger-share",
    "{method}: in a smaller share of the records one of {attributes} follows from the others, so {share:.3g} of them "
    "made the ellipsoid, which is less robust",
)
FLAT_ELLIPSOID = Kind(
    "flat-ellipsoid",
    "{method}: {attributes} vary in {dimensions:direction} only, since some of them follow from the others",
)

# microaggregation
CELLS_SUPPRESSED = Kind(
    "cells-suppressed",
    "{cells:cell} suppressed because of missing values[, {codes:missing code} among them]",
)
IN_BLOCKS = Kind(
    "in-blocks",
    "{method}: {attributes} masked in {blocks:block} of similar records, the smallest of {smallest:record}; the loss "
    "is larger by about {extra:.2f} % (± {error:.2f}) than without blocks, as a sample of {compared:record} shows that "
    "was masked both ways",
)
SHARED_NOISE = Kind(
    "shared-noise",
    "{groups:group} too small for a covariance of their own, or with missing cells: these got the noise that all "
    "groups share",
)
COVARIANCES_SMALLER = Kind("covariances-smaller", "resampled noise makes covariances smaller where cells are missing")
AVERAGE_OF_GROUPINGS = Kind("average-of-groupings", "the average of {groupings:grouping}, with independent noise")
OF_RUN = Kind("of-run", "run {run}: {note}")
OF_GROUPING = Kind("of-grouping", "grouping of {attributes:attribute}: {note}")
ONE_CLASS = Kind("one-class", "no class attribute is named or confidential: all records were treated as one class")
SAME_CLASS = Kind("same-class", "{records:record} in {groups:group} whose members all have the same class")
SINGLE_CLASS = Kind("single-class", "{groups:group} with a class that only one member has")
NOT_ATTAINED = Kind("not-attained", "{asked} is not attained in {groups:group}")
NOT_A_CLASS = Kind("not-a-class", "{attributes:numeric confidential attribute} not used as a class")
OUTSIDE_RANGE = Kind("outside-range", "{values:value} lie outside the range of the original attribute")
BACK_IN_RANGE = Kind("back-in-range", "{values:value} were brought back into the range of the original attribute")
FEWER_THAN_KAPPA = Kind(
    "fewer-than-kappa", "the table has {values:value}, fewer than kappa, so all are averaged together"
)
MEAN_MOVED = Kind("mean-moved", "the mean of '{attribute}' moved by {shift:.2g} standard deviations")
WEIGHTS_GROUPED = Kind(
    "weights-grouped",
    "{method}: {before:weight} of {attribute} became {after:,}, each shared by at least {smallest:,} {units}",
)
WEIGHTS_POOLED = Kind(
    "weights-pooled",
    "{method}: {cells:combination} of {attributes} had too few records and were pooled, so their totals are kept "
    "together only",
)
STRATA_TOLD = Kind(
    "strata-told",
    "{method}: {weights:weight} of {attribute} still tell the stratum, for all records with one are of the same; "
    "strata = 2 joins them with others",
)

# randomising
DIAGONAL_NOT_KEPT = Kind(
    "diagonal-not-kept",
    "{method}: the matrix of '{matrix}' keeps the frequencies, but not the diagonal within {low:g} to {high:g}",
)
DIAGONAL_OUT_OF_RANGE = Kind(
    "diagonal-out-of-range", "{method}: the diagonal of the matrix of '{matrix}' is not within {low:g} to {high:g}"
)
FREQUENCIES_NOT_KEPT = Kind(
    "frequencies-not-kept",
    "{method}: the matrix of '{matrix}' does not keep the frequencies, because its diagonal was lowered by Eq. 4.7",
)
MATRICES_EVOLVED = Kind(
    "matrices-evolved",
    "{method}: the matrices evolved in {generations:generation}; their fitness is {fresh:.2f} in "
    "{perturbations:fresh perturbation} (standard deviation {deviation:.2f}), {stored:.2f} when they were chosen, and "
    "that of the matrices at the start {start:.2f}; an intruder who knows them names {disclosed:.1f} % of the true "
    "categories, and {before:.1f} % at the start",
)
RECORDS_SWAPPED = Kind(
    "records-swapped",
    "{method}: {recognised:record} recognised after the noise, {swapped:record} swapped, "
    "{populations:sub-population}[, {left:,} with too few complete records to restore their covariances]",
)
BASE_OF_ATTRIBUTE = Kind("base-of-attribute", "{base:g} for {attribute}")
BASES_CHOSEN = Kind("bases-chosen", "{method}: the base is {bases}")

# evolution of files
EVOLVED = Kind(
    "evolved",
    "{attributes}: of {files:starting file} the best had the score {first:.2f}; after {generations:generation} "
    "({children:file} tried) the best has {last:.2f}[; its loss is {loss:.2f} and its risk {risk:.2f}, measured again]",
)
NOT_EVOLVED = Kind(
    "not-evolved",
    "{attributes}: {complete:record} without missing cells are too few to evolve, so the first starting file was taken",
)
START_LEFT_OUT = Kind("start-left-out", "left out of the starting files of {attributes}: {starts}")

# synthesis
DRAWN_ONE_BY_ONE = Kind("drawn-one-by-one", "the members of a {attribute} were drawn one by one")
NOT_DRAWN_GIVEN = Kind(
    "not-drawn-given", "not drawn given {attribute}: a normal model cannot use more than {most} categories"
)
COPIES = Kind(
    "copies",
    "{copies:.2f} % of the released records equal an original one in all masked attributes, {unique_copies:.2f} % one "
    "that is unique",
)
DISTANCE_TO_ORIGINALS = Kind(
    "distance-to-originals",
    "the distance of released records to the nearest original is {distance_ratio:.2f} times that between originals, "
    "and {neighbour_ratio:.2f} times that to the second nearest (medians); {closer:.1f} % are closer to one than the "
    "closest 5 % of the originals are to each other[ (in a sample of {compared:,} of {records:,})]; closeness shows "
    "copies but proves nothing about safety: run the attack membership-inference with a control group",
)

# series
SERIES_MEANS = Kind(
    "series-means",
    "{series}: the mean of all cells moved by {file:.2g} % of their standard deviation, and that of one series by "
    "{own:.2g} % on average",
)
SERIES_DYNAMICS = Kind(
    "series-dynamics",
    "{series}: the autocorrelation is {first_before:.2f} before and {first_after:.2f} after masking at lag 1"
    "[, {quarter_before:.2f} and {quarter_after:.2f} at lag {lag}] (averages over the series); {spectrum:.1f} % of the "
    "power of the spectrum lies at other frequencies",
)
SERIES_IN_RANGE = Kind(
    "series-in-range",
    "{series}: {values:value} brought back into the declared range, so that what is kept otherwise is not exact",
)
SERIES_NOT_SWAPPED = Kind(
    "series-not-swapped", "{series}: {unchanged:series|series} without a partner, published as they were"
)
SERIES_WITHOUT_NOISE = Kind(
    "series-without-noise", "{series}: {constant:constant series|constant series} without noise, published as they were"
)
SHAPES_AS_THEY_ARE = Kind(
    "shapes-as-they-are",
    "{method}: the shape of every series is published in its own record, so whoever knows how a series changes from "
    "point to point finds it again",
)
SHAPES_OF_OTHERS = Kind(
    "shapes-of-others",
    "{method}: every shape is published as it is, though in the record of another series, so whoever knows a part of a "
    "series finds the rest of its course",
)
LEVELS_AS_THEY_ARE = Kind(
    "levels-as-they-are",
    "{method}: the mean of every series is published in its own record, as it is or nearly so, and whoever knows it "
    "can find the series again",
)
MAXIMA_AS_THEY_ARE = Kind(
    "maxima-as-they-are", "{method}: the largest value of every window is published as it is, in its own record"
)
FILTER_CAN_BE_UNDONE = Kind(
    "filter-can-be-undone",
    "{method}: whoever knows the window can compute the original values back from the {form} ones; the low-pass form "
    "or an aggregation in time cannot be undone",
)
