"""The original and a release side by side: distributions, correlations, two-way tables, curves, links and records."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microveil.attacks.correspondence import corresponding
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, MicroveilError, ParameterError, brief
from microveil.microdata import Microdata
from microveil.microdata.microdata import Categories, as_microdata
from microveil.progress import Progress, parts, silent
from microveil.reporting.report_graph import graph_page
from microveil.reporting.report_pictures import Picture, correlation_pictures, distributions
from microveil.reporting.report_series import names_apart, series_pictures
from microveil.typing import IntArray

_MOST_ROWS = 30  # categories of a two-way table that are shown, the most frequent first
_STEPS = 5  # classes of equal counts into which numbers are put for a two-way table
_LARGEST_TABLE = 1_000_000


@dataclass(frozen=True)
class Record:
    """A record before and after masking, cell by cell as texts."""

    number: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class TwoWayTable:
    """How many records have each pair of values, before and after masking; the last row and column are all the rest
    where there are more than can be shown. `distance` is the share of records, in per cent, that would have to change
    their cell to make one table of the other."""

    row: str
    column: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    before: IntArray
    after: IntArray

    @property
    def distance(self) -> float:
        shares = [counts / max(1, counts.sum()) for counts in (self.before, self.after)]
        return float(50 * np.abs(shares[0] - shares[1]).sum())

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"row": self.row, "column": self.column, "rows": list(self.rows), "columns": list(self.columns),
                "before": self.before.tolist(), "after": self.after.tolist(), "distance": self.distance}  # fmt: skip


class SideBySide:
    """A release beside its original; see `side_by_side`. Of what was `masked`, the `attributes` are those that are no
    values of series."""

    def __init__(self, pair: Pair, released: Microdata) -> None:
        self._pair, self._released = pair, released
        self.masked = pair.attributes
        self.attributes = names_apart(pair.original, pair.attributes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The attributes that both tables have, also those that were not masked."""
        schema = self._pair.masked.schema
        return tuple(name for name in schema.names if not schema[name].is_administrative)

    def distributions(self, most: int | None = None, progress: Progress = silent) -> list[Picture]:
        """The masked attributes, or the first of them, each before and after masking."""
        shown = self.attributes[:most]
        found: list[Picture] = []
        for name, part in zip(shown, parts(progress, len(shown)), strict=True):
            try:
                found += distributions(self._pair, self._released, name)
            except MicroveilError as problem:
                found.append(Picture("", f"{name}: {problem}"))
            part(1.0, f"drawing {name}")
        return found

    def correlations(self) -> list[Picture]:
        """Correlations of numbers and associations of categories: before, after, and the difference."""
        return correlation_pictures(self._pair.about(self.attributes))

    def curves(self) -> list[Picture]:
        """Of series: quantiles over time, autocorrelation and some single curves, before and after masking."""
        return [picture for _, whole, single in series_pictures(self._pair) for picture in (*whole, *single)]

    def links(self) -> tuple[list[tuple[str, str, str]], list[Picture]]:
        """Of a graph: its numbers before and after masking, and pictures of degrees, mixing and neighbourhoods."""
        page = graph_page(self._pair)
        return ([], []) if page is None else (page.rows, [page.degrees, *page.mixing, *page.neighbourhood])

    def records(self, count: int = 10, first: int = 0, attributes: Sequence[str] | None = None) -> list[Record]:
        """Some records before and after masking: the attributes that were masked, or those named."""
        names = (self.attributes or self._pair.attributes) if attributes is None else tuple(attributes)
        for name in names:
            self._check(name)
        rows = range(first, min(first + count, len(self._pair)))
        before, after = (
            [[_text(table.arrow(name)[row].as_py()) for name in names] for row in rows]
            for table in (self._pair.original, self._pair.masked)
        )
        return [Record(row + 1, tuple(b), tuple(a)) for row, b, a in zip(rows, before, after, strict=True)]

    def two_way(self, row: str, column: str) -> TwoWayTable:
        """The table of two attributes, before and after masking. Numbers are put into five classes of about equally
        many original records; values that became labels, such as intervals, are categories of their own.
        """
        for name in (row, column):
            self._check(name)
        if row == column:
            raise ParameterError("a two-way table needs two different attributes")
        sides = [self._coded(name) for name in (row, column)]
        shape = len(sides[0].texts), len(sides[1].texts)
        if shape[0] * shape[1] > _LARGEST_TABLE:
            raise DataError(f"the table of {row} and {column} would have {shape[0] * shape[1]:,} cells")
        counts = [
            np.bincount(one[0] * shape[1] + one[1], minlength=shape[0] * shape[1]).reshape(shape)
            for one in zip(sides[0].codes, sides[1].codes, strict=True)
        ]
        (before, after), rows, columns = _folded(counts, sides[0].texts, sides[1].texts)
        return TwoWayTable(row, column, rows, columns, before, after)

    def most_changed(self, most: int = 12) -> TwoWayTable | None:
        """Of all pairs among the first masked attributes, the table that has changed most; none without two."""
        names, found = self.attributes[:most], []
        for i, row in enumerate(names):
            for column in names[i + 1 :]:
                try:
                    found.append(self.two_way(row, column))
                except DataError:
                    continue
        return max(found, key=lambda table: table.distance, default=None)

    def _check(self, name: str) -> None:
        if name not in self._pair.masked.names:
            raise ParameterError(f"there is no attribute {brief(name)} in both tables")

    def _coded(self, name: str) -> _Coded:
        pair = self._pair
        if name not in pair.recoded and pair.original[name].kind == "numeric":
            before, after = (values.values for values in pair.numbers(name))
            return _classes(before, after)
        if name in pair.recoded:
            return _as_texts(pair.original, pair.masked, name)
        return _categories(*pair.categories(name))


def side_by_side(original: Any, release: Any, attributes: Sequence[str] | None = None) -> SideBySide:
    """A release beside its original, to look at: pictures, two-way tables and records before and after masking.

    What it shows is for those who may see the original. `attributes` are those to compare, as in `assess`.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65], "height": [170, 180, 175, 190, 160, 165]})
    >>> beside = side_by_side(people, MDAV(k=3).mask(people))
    >>> beside.records(1)
    [Record(number=1, before=('20', '170'), after=('28.3333', '180'))]
    >>> int(beside.two_way("age", "height").before.sum())
    6
    """
    matched = corresponding(original, release)
    pair = Pair.of(matched.original, matched.release, attributes)
    return SideBySide(pair, as_microdata(matched.release))


@dataclass(frozen=True)
class _Coded:
    """Two columns as positions in one list of texts."""

    codes: tuple[IntArray, IntArray]
    texts: list[str]


def _classes(before: Any, after: Any) -> _Coded:
    """Numbers in classes of about equally many original records; few different ones each for itself."""
    present = before[~np.isnan(before)]
    values = np.unique(present)
    if len(values) <= 2 * _STEPS:
        inner = (values[1:] + values[:-1]) / 2
        texts = [f"{value:.6g}" for value in values]
    else:
        inner = np.unique(np.quantile(present, np.linspace(0, 1, _STEPS + 1)[1:-1]))
        ends = [f"{value:.4g}" for value in inner]
        texts = [f"up to {ends[0]}", *(f"up to {b}, over {a}" for a, b in itertools.pairwise(ends)),
                 f"over {ends[-1]}"]  # fmt: skip
    texts = texts or ["(none)"]
    one, other = (
        np.where(np.isnan(column), len(texts), np.searchsorted(inner, column, side="left")).astype(np.int64)
        for column in (before, after)
    )
    return _Coded((one, other), [*texts, "(missing)"])


def _categories(before: Categories, after: Categories) -> _Coded:
    texts = [_text(value) for value in before.domain]
    codes = [np.where(column.codes < 0, len(texts), column.codes) for column in (before, after)]
    return _Coded((codes[0], codes[1]), [*texts, "(missing)"])


def _as_texts(original: Microdata, masked: Microdata, name: str) -> _Coded:
    columns = [[_text(value) for value in table.arrow(name).to_pylist()] for table in (original, masked)]
    texts = sorted(set(columns[0]) | set(columns[1]))
    place = {text: i for i, text in enumerate(texts)}
    codes = [np.array([place[text] for text in column], dtype=np.int64) for column in columns]
    return _Coded((codes[0], codes[1]), texts)


def _folded(
    counts: Sequence[IntArray], rows: Sequence[str], columns: Sequence[str]
) -> tuple[list[IntArray], tuple[str, ...], tuple[str, ...]]:
    """Without what occurs in neither table, and with the rarest rows and columns put together."""
    total = counts[0] + counts[1]
    kept_rows, row_texts = _kept(total.sum(axis=1), rows)
    kept_columns, column_texts = _kept(total.sum(axis=0), columns)
    folded = []
    for table in counts:
        shorter = np.stack([table[group].sum(axis=0) for group in kept_rows]) if kept_rows else table[:0]
        folded.append(
            np.stack([shorter[:, group].sum(axis=1) for group in kept_columns], axis=1)
            if kept_columns
            else shorter[:, :0]
        )
    return folded, tuple(row_texts), tuple(column_texts)


def _kept(totals: IntArray, texts: Sequence[str]) -> tuple[list[IntArray], list[str]]:
    used = np.flatnonzero(totals > 0)
    if len(used) <= _MOST_ROWS:
        return [np.array([i]) for i in used], [texts[int(i)] for i in used]
    frequent = np.sort(used[np.argsort(-totals[used], kind="stable")[: _MOST_ROWS - 1]])
    rest = np.setdiff1d(used, frequent)
    return [*(np.array([i]) for i in frequent), rest], [*(texts[int(i)] for i in frequent), f"{len(rest):,} others"]


def _text(value: object) -> str:
    if value is None or value != value:
        return "(missing)"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
