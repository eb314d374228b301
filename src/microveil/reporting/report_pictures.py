"""The pictures of a report: distributions and correlations, before and after masking or of the release alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.microdata import Microdata
from microveil.microdata.microdata import Categories
from microveil.numerics.statistics.dependence_tree import departure
from microveil.numerics.statistics.scaling import standardise
from microveil.reporting.charts import bars, heatmap, histogram
from microveil.reporting.charts.scales import round_limits, widened
from microveil.reporting.report_findings import of_the_records
from microveil.typing import FloatArray

BEFORE, AFTER = "original", "released"
_STEPS, _MOST_CATEGORIES, _LARGEST_TABLE = 40, 20, 1_000_000
_MOST_IN_HEATMAP = 40
_SKEWED = 1.5  # times the range of the middle 98 %: a longer range leaves most bins empty
_ENOUGH = 5  # times the fewest records, for a picture that is to be seen by all
_SHARE = "records, %"
_ROUNDING = 1e-12  # of a mean square: a smaller variance is none


@dataclass(frozen=True)
class Picture:
    """An SVG with what stands below it."""

    svg: str
    caption: str


# --- distributions ------------------------------------------------------------------------------------------------


def distributions(pair: Pair, released: Microdata, name: str) -> list[Picture]:
    """An attribute before and after masking, in one picture; in two where its values became of another kind."""
    label, both = BEFORE + of_the_records(pair), "before and after masking" + of_the_records(pair)
    if released[name].is_categorical != pair.original[name].is_categorical:
        words = f"in the {BEFORE} table" + of_the_records(pair)
        return [
            _numbers({label: pair.original.numbers(name).values}, name, words),
            _categories({AFTER: released.categories(name)}, name, f"in the {AFTER} table"),
        ]
    if pair.original[name].is_categorical:
        before, after = pair.categories(name)
        return [_categories({label: before, AFTER: after}, name, both)]
    before_numbers, after_numbers = pair.numbers(name)
    return [_numbers({label: before_numbers.values, AFTER: after_numbers.values}, name, both)]


def released_distribution(released: Microdata, name: str, fewest: int) -> Picture | None:
    """An attribute of the release alone, from which no small group and no extreme value can be read: shares are whole
    percents, steps and categories of fewer than `fewest` records are not shown, and the ends of the axis are round
    numbers around the middle 98 % of the values. None where there are too few records for a picture.
    """
    if released[name].is_categorical:
        categories = released.categories(name)
        counts = categories.frequencies
        kept = counts >= fewest
        if not kept.any():
            return None
        shares = np.round(100 * counts / max(1, counts.sum()))
        rows = [(shares[i], _text(categories.domain[i])) for i in np.flatnonzero(kept)]
        most = sorted(rows, key=lambda row: (-row[0], row[1]))[:_MOST_CATEGORIES]
        rows = [row for row in rows if row in most] if released[name].kind == "ordinal" else most
        svg = bars(
            [text for _, text in rows],
            {AFTER: [float(share) for share, _ in rows]},
            title=f"{name}, as released",
            description=f"The share of the records in each category of {name}, in the released table.",
            x_title=_SHARE,
            number="{:.0f}",
            width=430.0,
        )
        return Picture(svg, f"{name}; categories of fewer than {fewest} records are not shown")
    values = released.numbers(name).values
    values = values[~np.isnan(values)]
    if len(values) < _ENOUGH * fewest:
        return None
    edges = np.linspace(*round_limits(*np.quantile(values, [0.01, 0.99]).tolist()), _STEPS // 2 + 1)
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    shown = np.round(100 * np.where(counts >= fewest, counts, 0) / len(values))
    svg = _histogram(edges, {AFTER: shown}, name, "as released", "{:.0f}")
    return Picture(svg, f"{name}; bins of fewer than {fewest} records are not shown; the end bins hold the rest")


def risk_distribution(per_record: FloatArray) -> Picture | None:
    """How many records are identified with which probability."""
    attacked = per_record[~np.isnan(per_record)]
    if len(attacked) == 0:
        return None
    edges = np.linspace(0.0, 1.0, 21)
    shares = 100 * np.histogram(np.clip(attacked, 0.0, 1.0), edges)[0] / len(attacked)
    svg = histogram(
        edges.tolist(),
        {"records": shares.tolist()},
        title="Risk record by record",
        description="The share of the records by their greatest probability of being identified by any attack.",
        x_title="probability of being identified",
        y_title=_SHARE,
        number="{:.2f} %",
        width=860.0,
        height=200.0,
    )
    return Picture(svg, "The greatest probability, over the attacks measured, with which each record is identified")


def _numbers(columns: Mapping[str, FloatArray], name: str, words: str) -> Picture:
    present = {label: values[~np.isnan(values)] for label, values in columns.items()}
    every = np.concatenate(list(present.values()))
    edges = _edges(every)
    within = {label: np.clip(values, edges[0], edges[-1]) for label, values in present.items()}
    shares = {label: 100 * np.histogram(values, edges)[0] / max(1, len(values)) for label, values in within.items()}
    beyond = len(every) > 0 and (every.min() < edges[0] or every.max() > edges[-1])
    told = "; the axis covers the middle 98 % of the values, and its end bins hold the rest" if beyond else ""
    return Picture(_histogram(edges, shares, name, words, "{:.1f} %"), f"{name}, {words}{told}")


def _edges(values: FloatArray) -> FloatArray:
    """Bins of equal width; of whole numbers that are not too many, one each.

    Where a few values lie far from all others, the bins cover the range from the 1 % to the 99 % quantile.
    """
    if len(values) == 0:
        return np.array([0.0, 1.0])
    low, high = float(values.min()), float(values.max())
    if 0 < high - low < _STEPS and np.all(values == np.round(values)):
        return np.arange(low - 0.5, high + 1.0)
    first, last = np.quantile(values, [0.01, 0.99]).tolist()
    if last > first and high - low > _SKEWED * (last - first):
        low, high = first, last
    return np.linspace(*widened(low, high), _STEPS + 1)


def _histogram(edges: FloatArray, shares: Mapping[str, FloatArray], name: str, words: str, number: str) -> str:
    return histogram(
        edges.tolist(),
        {label: heights.tolist() for label, heights in shares.items()},
        title=f"{name}, {words}",
        description=f"The share of the records for each step of {name}, {words}.",
        x_title=name,
        y_title=_SHARE,
        number=number,
    )


def _categories(columns: Mapping[str, Categories], name: str, words: str) -> Picture:
    """The most frequent categories, in their order; all others together."""
    counts = {label: column.frequencies for label, column in columns.items()}
    domain = next(iter(columns.values())).domain
    total = np.sum(list(counts.values()), axis=0)
    used = np.flatnonzero(total > 0)
    shown = used
    if len(used) > _MOST_CATEGORIES:
        shown = np.sort(used[np.argsort(-total[used], kind="stable")[: _MOST_CATEGORIES - 1]])
    names = [_text(domain[i]) for i in shown]
    shares = {}
    for label, found in counts.items():
        rest = [] if len(shown) == len(used) else [float(found.sum() - found[shown].sum())]
        shares[label] = [100 * part / max(1, int(found.sum())) for part in (*found[shown].tolist(), *rest)]
    if len(shown) < len(used):
        names.append(f"{len(used) - len(shown):,} others")
    svg = bars(
        names,
        shares,
        title=f"{name}, {words}",
        description=f"The share of the records in each category of {name}, {words}.",
        x_title=_SHARE,
        width=430.0,
    )
    return Picture(svg, f"{name}, {words}")


def _text(category: object) -> str:
    return "(missing)" if category is None else str(category)


# --- correlations -------------------------------------------------------------------------------------------------


def correlation_pictures(pair: Pair) -> list[Picture]:
    """Correlations of numeric and associations of categorical attributes: before, after, and what has changed."""
    numeric = pair.of_kinds(("numeric",))[:_MOST_IN_HEATMAP]
    categorical = pair.of_kinds(("ordinal", "nominal", "location"))[:_MOST_IN_HEATMAP]
    made = []
    if len(numeric) > 1:
        before, after = (_correlations(table, numeric) for table in (pair.original, pair.masked))
        made += _changed(numeric, "correlation", before, after, of_the_records(pair))
    if len(categorical) > 1:
        columns = [pair.categories(name) for name in categorical]
        before, after = (_associations([column[side] for column in columns]) for side in (0, 1))
        made += _changed(categorical, "association (Cramér's V)", before, after, of_the_records(pair))
    return made


def released_correlations(released: Microdata, names: Sequence[str], fewest: int) -> Picture | None:
    """The correlations of numeric attributes of the release alone, to two digits; none of a pair that too few records
    have both values of.
    """
    numeric = [name for name in names if not released[name].is_categorical][:_MOST_IN_HEATMAP]
    if len(numeric) < 2:
        return None
    values = _correlations(released, numeric, _ENOUGH * fewest).round(2)
    if np.isnan(values[~np.eye(len(numeric), dtype=np.bool_)]).all():
        return None
    return _picture(numeric, values, "correlation, released")


def _changed(names: Sequence[str], what: str, before: FloatArray, after: FloatArray, of: str) -> list[Picture]:
    parts = ((BEFORE + of, before), (AFTER, after), ("difference", after - before))
    return [_picture(names, values, f"{what}, {words}") for words, values in parts]


def _picture(names: Sequence[str], values: FloatArray, what: str) -> Picture:
    title = what[0].upper() + what[1:]
    svg = heatmap(names, values.tolist(), title=title, description=f"{title}, for each pair of attributes.")
    return Picture(svg, title)


def _correlations(table: Microdata, names: Sequence[str], fewest: int = 2) -> FloatArray:
    """Means, standard deviations and covariances all over the records that have both values; none with a constant, and
    none of fewer records.
    """
    scaled = standardise(table.matrix(names))
    present = (~np.isnan(scaled)).astype(np.float64)
    cells = np.nan_to_num(scaled)
    both = present.T @ present
    share = 1.0 / np.maximum(both, 1.0)
    # [i, j] is of column i, over the records that have column j too
    means, squares = (cells.T @ present) * share, (np.square(cells).T @ present) * share
    variances = squares - np.square(means)
    variances = np.where(variances > _ROUNDING * squares, variances, 0.0)
    covariances = (cells.T @ cells) * share - means * means.T
    scale = np.sqrt(variances * variances.T)
    usable = (scale > 0) & (both >= fewest)
    made = np.divide(covariances, scale, out=np.full_like(scale, np.nan), where=usable)
    return np.asarray(made.clip(-1.0, 1.0))  # only rounding goes beyond


def _associations(columns: Sequence[Categories]) -> FloatArray:
    table = np.full((len(columns), len(columns)), np.nan)
    for i, one in enumerate(columns):
        for j, other in enumerate(columns[: i + 1]):
            table[i, j] = table[j, i] = _cramer(one, other)
    return table


def _cramer(one: Categories, other: Categories) -> float:
    """Cramér's V of two columns; none where one is constant or the table of both would be too large."""
    shape = len(one.domain), len(other.domain)
    if shape[0] * shape[1] > _LARGEST_TABLE:
        return float("nan")
    both = (one.codes >= 0) & (other.codes >= 0)
    cells = one.codes[both] * shape[1] + other.codes[both]
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    used = min((counts.sum(axis=0) > 0).sum(), (counts.sum(axis=1) > 0).sum())
    if used < 2:
        return float("nan")
    strength = departure(counts / counts.sum()) / (used - 1)
    return float(np.sqrt(min(1.0, max(0.0, strength))))
