"""The multi-version attack: several releases of one file are combined, so that the changes by masking average out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from microveil.attacks.base import Attack, Risk
from microveil.attacks.composition import Composition, Other
from microveil.attacks.confidential import known_tables
from microveil.attacks.correspondence import Correspondence, corresponding, in_original_order
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.ranking_intervals import beside
from microveil.comparison.knowledge import Knowledge
from microveil.comparison.label_detection import readable_labels, texts_of
from microveil.comparison.pairs import Pair
from microveil.display import html_table, paragraph, text_table
from microveil.errors import DataError, ParameterError
from microveil.masking.release import Release
from microveil.microdata import Categories, Microdata
from microveil.microdata.microdata import as_microdata
from microveil.progress import Progress, parts, silent
from microveil.typing import FloatArray, IntArray

Link = Literal["order", "nearest"]
Intervals = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
_USUAL: type[Attack] = DistanceLinkage
_EQUAL = 1e-9  # votes that differ by less are as many


@dataclass(frozen=True)
class Gain:
    """What several versions tell of a numeric attribute beyond one: the root mean squared error of the guess, and the
    mean width of the interval, both in per cent of the original's standard deviation; `contained` is the percentage of
    values that lie in their interval. `alone` is the mean over the single versions."""

    error_alone: float
    error: float
    width_alone: float
    width: float
    contained: float

    def to_plain(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True)
class Versions:
    """Several releases of one file, taken together.

    `data` is the table an intruder makes of them; `alone` are the risks of each release by itself and `together` that
    of the table; `gains` says for each numeric attribute how much nearer the intruder has come. The risk is that of the
    best of all these attempts, for putting versions together can also blur what one of them shows. `warnings` say of
    which releases the records did not correspond to the original's.
    """

    data: Microdata = field(repr=False)
    alone: tuple[Risk, ...]
    together: Risk
    gains: Mapping[str, Gain]
    knowledge: Knowledge
    warnings: tuple[str, ...] = ()

    @property
    def risk(self) -> Risk:
        """The greatest of the risks, alone or together: an intruder takes the best."""
        return max((self.together, *self.alone), key=lambda risk: risk.value)

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; nothing of single records."""
        return {
            "risk": self.risk.to_plain(),
            "alone": [risk.to_plain() for risk in self.alone],
            "together": self.together.to_plain(),
            "gains": {name: gain.to_plain() for name, gain in self.gains.items()},
        }

    @property
    def heading(self) -> str:
        """How many versions were combined, and what the intruder is assumed to know."""
        return f"{len(self.alone)} versions combined; {self.knowledge}"

    def row(self) -> tuple[str, ...]:
        """The attack, its risks in per cent by each version, by all together and by the best of these, and the 95 %
        interval of the last."""
        best = self.risk
        each = (f"{risk.value:.2f}" for risk in (*self.alone, self.together, best))
        return (best.name, *each, f"{best.low:.2f} to {best.high:.2f}")

    def sentences(self) -> list[str]:
        """For each numeric attribute how much nearer all versions bring the intruder than a single one."""
        told = []
        for name, gain in self.gains.items():
            told.append(
                f"{name}: error of the intruder's estimate {gain.error:.2f} % of the standard deviation with all "
                f"versions, {gain.error_alone:.2f} % with one"
            )
            if gain.contained == 100:  # masked in order: the intervals hold, and their intersection too
                told.append(
                    f"{name}: mean width of the intervals that hold every value {gain.width:.2f} % of the standard "
                    f"deviation with all versions, {gain.width_alone:.2f} % with one"
                )
        return told

    def _head(self) -> tuple[str, ...]:
        numbered = (f"version {number}" for number in range(1, len(self.alone) + 1))
        return ("risk, %", *numbered, "together", "highest", "95 % interval")

    def __str__(self) -> str:
        columns = range(1, len(self.alone) + 4)
        table = text_table([self._head(), self.row()], right=set(columns))
        return "\n".join([
            *paragraph(self.heading), "", *table, "",
            *(line for one in (*self.warnings, *self.sentences()) for line in paragraph(one)),
        ]).rstrip()  # fmt: skip

    def _repr_html_(self) -> str:
        table = html_table([self.row()], self._head(), right=set(range(1, len(self.alone) + 4)))
        told = "".join(f"<p>{escape(sentence)}</p>" for sentence in (*self.warnings, *self.sentences()))
        return f"<p>{escape(self.heading)}</p>{table}{told}"


def attack_versions(
    original: Any,
    releases: Sequence[Any],
    known: Sequence[str] | None = None,
    *,
    attack: Attack | None = None,
    link: Link = "order",
    match_by: str | None = None,
    intervals: Intervals = beside,
    others: Sequence[Any] = (),
    progress: Progress = silent,
) -> Versions:
    """Run an attack (distance linkage unless given) on each release by itself and on all of them together.

    The records of each release are matched with the original's as `assess` does it: by the identifier `match_by` if one
    is named, as they are if nothing speaks against it, else by what they hold, with a warning.
    `link` says how the versions are put together: by the order of their records, or each record of the first version
    with the nearest one of the others. `intervals` gives for a released column the bounds a value must lie in; unset,
    the next lower and higher released values, which hold for attributes masked in order, one at a time.
    `others` are releases of other tables that have some of the same persons; only the attack `composition` takes them.
    It finds persons in them by what is known, or by the identifier `match_by` where they have it.

    >>> from microveil.masking.microaggregation.individual_ranking import IndividualRanking
    >>> people = Microdata.of({"income": [1, 2, 4, 7, 11, 16, 22, 29, 37, 46, 56, 67]})
    >>> found = attack_versions(people, [IndividualRanking(k=k).mask(people) for k in (2, 3)])
    >>> found.gains["income"].contained, found.gains["income"].width < found.gains["income"].width_alone
    (100.0, True)
    """
    if len(releases) + len(others) < 2 or not releases:
        raise ParameterError(f"a multi-version attack needs at least two releases of the file, not {len(releases)}")
    if link not in get_args(Link):
        raise ParameterError(f"link = '{link}' is not allowed; it is one of {', '.join(get_args(Link))}")
    matched = [corresponding(original, release, match_by) for release in releases]
    apart = [Other.of(matched[0].original, other, match_by) for other in others]
    return attack_matched_versions(
        matched, known, attack=attack or _USUAL(), link=link, intervals=intervals, others=apart, progress=progress
    )


def attack_matched_versions(
    matched: Sequence[Correspondence],
    known: Sequence[str] | None = None,
    *,
    attack: Attack,
    link: Link = "order",
    intervals: Intervals = beside,
    others: Sequence[Other] = (),
    progress: Progress = silent,
) -> Versions:
    """The same for releases that have been matched with the original already."""
    releases = [in_original_order(one.release) if isinstance(one.release, Release) else one.release for one in matched]
    chosen_rows = [release.rows if isinstance(release, Release) else None for release in releases]
    if any(not _same_rows(chosen_rows[0], rows) for rows in chosen_rows[1:]) or not _same_originals(matched):
        raise DataError("the releases have different records of the file, so they cannot be put together")
    pairs = [
        attack.facing(Pair.of(one.original, release, known=known))
        for one, release in zip(matched, releases, strict=True)
    ]
    warnings = tuple(dict.fromkeys(told for one in matched for told in one.warnings))
    if isinstance(attack, Composition):  # which puts no table together
        alone, together = attack.assess_together(pairs, others, progress)
        return Versions(pairs[0].masked, tuple(alone), together, {}, pairs[0].knowledge, warnings)
    if others:
        raise ParameterError(f"releases of other tables can be attacked by composition only, not by {attack.name}")
    attributes = tuple(name for name in pairs[0].attributes if all(name in pair.attributes for pair in pairs))
    if not attributes:
        raise ParameterError("the releases have no attribute in common, so they cannot be put together")
    _refuse_labels([name for pair in pairs for name in attributes if name in pair.recoded])
    *single, whole = parts(progress, len(releases) + 1)
    alone = [
        attack.assess_pair(pair.about(attributes), progress=part) for pair, part in zip(pairs, single, strict=True)
    ]
    tables = [pair.masked for pair in pairs]
    matches = _matches(tables, attributes, link)
    data = _together(tables, (*attributes, *_also_sought(pairs, attributes)), matches)
    gains = {
        name: _gain(pairs, name, data, matches, intervals)
        for name in attributes
        if pairs[0].original[name].kind == "numeric"
    }
    together = attack.assess_pair(Pair.of(pairs[0].original, data, attributes, known=attributes), progress=whole)
    return Versions(data, tuple(alone), together, gains, pairs[0].knowledge, warnings)


def _same_rows(one: Any, other: Any) -> bool:
    return one is None and other is None if one is None or other is None else bool(np.array_equal(one, other))


def _same_originals(matched: Sequence[Correspondence]) -> bool:
    """Whether the same records of the original stand beside all releases."""
    first, *others = (one.original for one in matched)
    return all(other is first or as_microdata(other).digest() == as_microdata(first).digest() for other in others)


def combine_versions(
    releases: Sequence[Any], attributes: Sequence[str] | None = None, *, link: Link = "order"
) -> Microdata:
    """One table made of several releases of a file: the mean of numbers, the most frequent of categories.

    >>> combine_versions([{"age": [20, 40]}, {"age": [30, 42]}]).frame["age"].to_list()
    [25.0, 41.0]
    """
    if not releases:
        raise ParameterError("there is no release to put together")
    pairs = [Pair.of(releases[0], release, attributes) for release in releases]
    chosen = pairs[0].attributes
    # versions may differ in the categories that occur, so only what reads as a label is one
    _refuse_labels(_readable(pairs, chosen))
    tables = [pair.masked for pair in pairs]
    return _together(tables, chosen, _matches(tables, chosen, link)).select(chosen)


def _readable(pairs: list[Pair], attributes: Sequence[str]) -> tuple[str, ...]:
    """The attributes that some version has as labels for values or categories of the others."""
    found = []
    for name in attributes:
        attribute = pairs[0].original[name]
        if attribute.is_categorical:
            held = [texts_of(pair.masked.arrow(name)) for pair in pairs]
            labels = readable_labels(attribute, set().union(*held) - held[0], set().union(*held))
            found += [name] if labels else []
        else:
            found += [name] if any(name in pair.recoded for pair in pairs) else []
    return tuple(found)


def _refuse_labels(labelled: Sequence[str]) -> None:
    if labelled:
        raise DataError(
            f"attribute '{labelled[0]}' is released as labels that stand for several values, and versions of labels "
            "cannot be put together; leave it out of the attributes"
        )


def _also_sought(pairs: list[Pair], attributes: Sequence[str]) -> list[str]:
    """Confidential attributes beside these that every version has: an attack may be after them."""
    sought = (name for name in pairs[0].original.schema.confidential if name not in attributes)
    return [n for n in sought if all(n in pair.masked.names and n not in pair.recoded for pair in pairs)]


@dataclass(frozen=True)
class _Match:
    """Pairs of a case and a row of equal records of another version that may be the same person; `row_of` is the row of
    each record of that version."""

    case: IntArray
    row: IntArray
    row_of: IntArray

    @property
    def rows(self) -> int:
        return int(self.row_of.max(initial=-1)) + 1

    @property
    def weight(self) -> FloatArray:
        """What a single record of the row counts, for each pair."""
        sizes = np.bincount(self.row_of)[self.row]
        return np.asarray(1.0 / np.bincount(self.case, weights=sizes)[self.case])

    def sums(self, values: FloatArray) -> FloatArray:
        """For each case the sum over the records matched, each with its weight."""
        by_row = np.bincount(self.row_of, weights=values, minlength=self.rows)
        return np.asarray(np.bincount(self.case, weights=by_row[self.row] * self.weight), dtype=np.float64)

    def least(self, values: FloatArray) -> FloatArray:
        """For each case the least value of the records matched."""
        by_row = np.full(self.rows, np.inf)
        np.minimum.at(by_row, self.row_of, values)
        found = np.full(int(self.case.max(initial=-1)) + 1, np.inf)
        np.minimum.at(found, self.case, by_row[self.row])
        return found

    def votes(self, codes: IntArray, size: int) -> tuple[IntArray, FloatArray]:
        """Pairs of a case and a code of the records matched, as case x size + code, and how much they count."""
        present = np.flatnonzero(codes >= 0)
        pairs, counts = np.unique(self.row_of[present] * size + codes[present], return_counts=True)
        held = np.bincount(pairs // size, minlength=self.rows)  # different codes of each row
        many, starts = held[self.row], (np.cumsum(held) - held)[self.row]
        positions = np.repeat(starts - (np.cumsum(many) - many), many) + np.arange(many.sum())
        keys = np.repeat(self.case, many) * size + pairs[positions] % size
        return keys, counts[positions] * np.repeat(self.weight, many)


@dataclass(frozen=True)
class _Matches:
    """Equal records of the first version are one case, of which `others` says who matches it in the other versions."""

    case: IntArray
    others: tuple[_Match, ...]


def _matches(tables: list[Microdata], attributes: Sequence[str], link: Link) -> _Matches:
    from microveil.numerics.neighbours.nearest import distinct
    from microveil.numerics.neighbours.nearest_sets import nearest_rows

    every = np.arange(len(tables[0]))
    if link == "order":
        return _Matches(every, (_Match(every, every, every),) * (len(tables) - 1))
    _, case = distinct(known_tables(Pair.of(tables[0], tables[0], attributes), tuple(attributes))[0])
    _, first = np.unique(case, return_index=True)
    others = []
    for table in tables[1:]:
        one, other, terms = known_tables(Pair.of(tables[0], table, attributes), tuple(attributes))
        found = nearest_rows(one, other, terms, first, silent, "linking versions")
        others.append(_Match(found.query, found.row, found.row_of))
    return _Matches(case, tuple(others))


def _together(tables: list[Microdata], attributes: Sequence[str], matches: _Matches) -> Microdata:
    """The first version with what all of them together say of these attributes."""
    first = tables[0]
    columns: dict[str, pa.Array] = {}
    for name in attributes:
        if first[name].kind == "numeric":
            values = _mean([table.numbers(name).values for table in tables], matches)
            columns[name] = pa.array(values, mask=np.isnan(values))
        else:
            columns[name] = first.category_column(_plurality(tables, name, matches))
    return first.with_columns(columns)


def _mean(versions: list[FloatArray], matches: _Matches) -> FloatArray:
    """The mean of the versions of each value that have one; NaN where none has."""
    own, *rest = versions
    sums, weights = np.nan_to_num(own), (~np.isnan(own)).astype(np.float64)
    for values, match in zip(rest, matches.others, strict=True):
        sums += match.sums(np.nan_to_num(values))[matches.case]
        weights += match.sums((~np.isnan(values)).astype(np.float64))[matches.case]
    return np.asarray(np.divide(sums, weights, out=np.full(len(sums), np.nan), where=weights > 0))


def _plurality(tables: list[Microdata], name: str, matches: _Matches) -> Categories:
    """The category most versions of a record have; of equally frequent ones the first of the domain."""
    domain = tuple(dict.fromkeys(value for table in tables for value in table.domain(name)))
    own, *rest = (table.categories(name, domain).codes for table in tables)
    size = max(1, len(domain))
    votes = [match.votes(codes, size) for codes, match in zip(rest, matches.others, strict=True)]
    keys, found_at = np.unique(np.concatenate([np.empty(0, np.int64), *(k for k, _ in votes)]), return_inverse=True)
    weights = np.concatenate([np.empty(0), *(w for _, w in votes)])
    counts = np.bincount(found_at.reshape(-1), weights=weights, minlength=len(keys)).astype(np.float64)
    cases = int(matches.case.max(initial=-1)) + 1
    most, best = np.zeros(cases), np.full(cases, -1)
    np.maximum.at(most, keys // size, counts)
    leading = np.flatnonzero(counts >= most[keys // size] - _EQUAL)[::-1]
    best[keys[leading] // size] = keys[leading] % size  # the first of the domain is written last
    theirs, given = best[matches.case], most[matches.case]
    for_own = _counted(keys, counts, matches.case * size + own) + 1.0
    first = np.where(for_own > given + _EQUAL, own, np.where(for_own < given - _EQUAL, theirs, np.minimum(own, theirs)))
    return Categories(name, np.where(own < 0, theirs, first), domain)


def _counted(keys: IntArray, counts: FloatArray, wanted: IntArray) -> FloatArray:
    """The count of each key that is wanted, 0 where it is not there; the keys are in order."""
    if len(keys) == 0:
        return np.zeros(len(wanted))
    found_at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[found_at] == wanted, counts[found_at], 0.0)


def _gain(pairs: list[Pair], name: str, data: Microdata, matches: _Matches, intervals: Intervals) -> Gain:
    truth = pairs[0].original.numbers(name).values
    spread = float(np.nanstd(truth)) or 1.0
    bounds = []
    for number, pair in enumerate(pairs):
        low, high = intervals(pair.masked.numbers(name).values)
        low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
        if number > 0:  # from the lowest to the highest of those who may be the person
            match = matches.others[number - 1]
            low, high = match.least(low)[matches.case], -match.least(-high)[matches.case]
        bounds.append((low, high))
    low, high = np.max([b[0] for b in bounds], axis=0), np.min([b[1] for b in bounds], axis=0)
    known = ~np.isnan(truth)
    inside = (low <= truth) & (truth <= high)
    errors = [_error(pair.masked.numbers(name).values, truth) for pair in pairs]
    return Gain(
        error_alone=100 * float(np.mean(errors)) / spread,
        error=100 * _error(data.numbers(name).values, truth) / spread,
        width_alone=100 * float(np.mean([_width(*b) for b in bounds])) / spread,
        width=100 * _width(low, high) / spread,
        contained=100 * float(inside[known].mean()) if known.any() else 0.0,
    )


def _error(guesses: FloatArray, truth: FloatArray) -> float:
    squares = (guesses - truth) ** 2
    return float(np.sqrt(np.nanmean(squares))) if not np.isnan(squares).all() else 0.0


def _width(low: FloatArray, high: FloatArray) -> float:
    """The mean width of the intervals that have two ends; one that contradicts itself has none."""
    ended = np.isfinite(low) & np.isfinite(high)
    return float(np.maximum(high - low, 0.0)[ended].mean()) if ended.any() else 0.0
