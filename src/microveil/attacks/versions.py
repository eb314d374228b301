"""The multi-version attack: several releases of one file are put together, and what masking did averages out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from microveil.attacks.base import Attack, Risk
from microveil.attacks.confidential import known_tables
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.ranking_intervals import beside
from microveil.errors import DataError, ParameterError
from microveil.microdata import Categories, Microdata
from microveil.microdata.pairs import Pair
from microveil.progress import Progress, parts, silent

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Link = Literal["order", "nearest"]
Intervals = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
_USUAL: type[Attack] = DistanceLinkage


@dataclass(frozen=True)
class Gain:
    """What several versions tell of a numeric attribute beyond one: the root mean squared error of the guess, and the
    mean width of the interval, both in per cent of the original's deviation; `contained` is the percentage of values
    that lie in their interval. `alone` is the mean over the single versions."""

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
    of the table; `gains` says for each numeric attribute how much nearer the intruder has come.
    """

    data: Microdata = field(repr=False)
    alone: tuple[Risk, ...]
    together: Risk
    gains: Mapping[str, Gain]

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; nothing of single records."""
        return {
            "alone": [risk.to_plain() for risk in self.alone],
            "together": self.together.to_plain(),
            "gains": {name: gain.to_plain() for name, gain in self.gains.items()},
        }


def attack_versions(
    original: Any,
    releases: Sequence[Any],
    known: Sequence[str] | None = None,
    *,
    attack: Attack | None = None,
    link: Link = "order",
    intervals: Intervals = beside,
    progress: Progress = silent,
) -> Versions:
    """Run an attack (distance linkage unless given) on each release by itself and on all of them together.

    `link` says how the versions are put together: by the order of their records, or each record of the first version
    with the nearest one of the others. `intervals` gives for a released column the bounds a value must lie in; unset,
    the next lower and higher released values, which hold for attributes masked in order, one at a time.

    >>> from microveil.masking.microaggregation.individual_ranking import IndividualRanking
    >>> people = Microdata.of({"income": [1, 2, 4, 7, 11, 16, 22, 29, 37, 46, 56, 67]})
    >>> found = attack_versions(people, [IndividualRanking(k=k).mask(people) for k in (2, 3)])
    >>> found.gains["income"].contained, found.gains["income"].width < found.gains["income"].width_alone
    (100.0, True)
    """
    if len(releases) < 2:
        raise ParameterError(f"a multi-version attack needs at least two releases of the file, not {len(releases)}")
    if link not in get_args(Link):
        raise ParameterError(f"link = '{link}' is not allowed; it is one of {', '.join(get_args(Link))}")
    chosen_rows = [getattr(release, "rows", None) if hasattr(release, "provenance") else None for release in releases]
    if any(not _same_rows(chosen_rows[0], rows) for rows in chosen_rows[1:]):
        raise DataError("the releases have different records of the file, so they cannot be put together")
    chosen = attack or _USUAL()
    pairs = [Pair.of(original, release, known) for release in releases]
    attributes = tuple(name for name in pairs[0].attributes if all(name in pair.attributes for pair in pairs))
    if not attributes:
        raise ParameterError("the releases have no attribute in common, so they cannot be put together")
    *single, whole = parts(progress, len(releases) + 1)
    alone = [
        chosen.assess_pair(pair.knowing(attributes), progress=part) for pair, part in zip(pairs, single, strict=True)
    ]
    tables = [pair.masked for pair in pairs]
    matches = _matches(tables, attributes, link)
    data = _together(tables, attributes, matches)
    gains = {
        name: _gain(pairs, name, data, matches, intervals)
        for name in attributes
        if pairs[0].original[name].kind == "numeric" and name not in pairs[0].recoded
    }
    together = chosen.assess_pair(Pair.of(pairs[0].original, data, attributes), progress=whole)
    return Versions(data, tuple(alone), together, gains)


def _same_rows(one: Any, other: Any) -> bool:
    return one is None and other is None if one is None or other is None else bool(np.array_equal(one, other))


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
    tables = [pair.masked for pair in pairs]
    return _together(tables, pairs[0].attributes, _matches(tables, pairs[0].attributes, link))


@dataclass(frozen=True)
class _Match:
    """Pairs of a record of the first version and one of another that are taken for the same person, and the weight."""

    record: IntArray
    other: IntArray
    weight: FloatArray


def _matches(tables: list[Microdata], attributes: Sequence[str], link: Link) -> list[_Match]:
    from microveil.numerics.nearest_sets import nearest_rows

    n = len(tables[0])
    same = _Match(np.arange(n), np.arange(n), np.ones(n))
    if link == "order":
        return [same] * len(tables)
    found = [same]
    for table in tables[1:]:
        one, other, terms = known_tables(Pair.of(tables[0], table, attributes), tuple(attributes))
        record, near = nearest_rows(one, other, terms, np.arange(n), silent, "linking versions").members()
        found.append(_Match(record, near, 1.0 / np.bincount(record)[record]))
    return found


def _together(tables: list[Microdata], attributes: Sequence[str], matches: list[_Match]) -> Microdata:
    first = tables[0].select(list(attributes))
    columns: dict[str, pa.Array] = {}
    for name in attributes:
        if first[name].kind == "numeric":
            values = _mean([table.numbers(name).values for table in tables], matches)
            columns[name] = pa.array(values, mask=np.isnan(values))
        else:
            columns[name] = first.category_column(_plurality(tables, name, matches))
    return first.with_columns(columns)


def _mean(versions: list[FloatArray], matches: list[_Match]) -> FloatArray:
    """The mean of the versions of each value that have one; NaN where none has."""
    sums, weights = np.zeros(len(versions[0])), np.zeros(len(versions[0]))
    for values, match in zip(versions, matches, strict=True):
        cells = values[match.other]
        present = ~np.isnan(cells)
        np.add.at(sums, match.record[present], (cells * match.weight)[present])
        np.add.at(weights, match.record[present], match.weight[present])
    return np.asarray(np.divide(sums, weights, out=np.full(len(sums), np.nan), where=weights > 0))


def _plurality(tables: list[Microdata], name: str, matches: list[_Match]) -> Categories:
    """The category most versions of a record have; of equally frequent ones the first of the domain."""
    domains = [table.domain(name) for table in tables]
    domain = tuple(dict.fromkeys(value for values in domains for value in values))
    votes = np.zeros((len(tables[0]), len(domain)))
    for table, match in zip(tables, matches, strict=True):
        codes = table.categories(name, domain).codes[match.other]
        present = codes >= 0
        np.add.at(votes, (match.record[present], codes[present]), match.weight[present])
    best = np.argmax(votes >= votes.max(axis=1, keepdims=True) - 1e-9, axis=1)
    return Categories(name, np.where(votes.any(axis=1), best, -1), domain)


def _gain(pairs: list[Pair], name: str, data: Microdata, matches: list[_Match], intervals: Intervals) -> Gain:
    truth = pairs[0].original.numbers(name).values
    spread = float(np.nanstd(truth)) or 1.0
    bounds = []
    for pair, match in zip(pairs, matches, strict=True):
        low, high = (side[match.other] for side in intervals(pair.masked.numbers(name).values))
        hull = np.full(len(truth), np.inf), np.full(len(truth), -np.inf)
        np.minimum.at(hull[0], match.record, np.where(np.isnan(low), -np.inf, low))
        np.maximum.at(hull[1], match.record, np.where(np.isnan(high), np.inf, high))
        bounds.append(hull)
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
