"""What the first screen shows of a table: its attributes, the distribution of each, and the methods that fit them.

Computed once when a table is loaded or described anew: what a page shows later is aggregated already.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import microveil as mv
from microveil.applications import DataError, MicroveilError, Progress, reported

_STEPS, _MOST_CATEGORIES, _RAREST = 24, 12, 0.01
_ROWS_IN_GROUP = 20_000  # a page of records is read from one group or two
RECORDS = "records.parquet"
_MOST_COLUMNS = 400  # of a page of records


def overview(data: mv.Microdata, progress: Progress) -> dict[str, Any]:
    """The attributes as `describe` tells of them, each with its distribution, and which methods can mask which."""
    found = mv.describe(data)
    rows = [dict(row) for row in found.attributes]
    names = [row["name"] for row in rows]
    by_name = {row["name"]: row for row in rows}
    for name in reported(names, progress, "describing"):
        by_name[name]["distribution"] = _distribution(data, name)
    return {"heading": found.heading, "records": len(data), "rows": rows, "fits": _fits(data)}


def write_records(data: mv.Microdata, folder: Path) -> None:
    """The records for paging: Parquet in small groups, so that a page need not read the whole file."""
    table = pa.table({name: data.arrow(name) for name in data.names})
    unfinished = folder / f"{RECORDS}.unfinished"
    pq.write_table(table, unfinished, row_group_size=_ROWS_IN_GROUP, use_dictionary=False, compression="lz4")
    unfinished.replace(folder / RECORDS)


def page_of_records(folder: Path, page: int, size: int) -> tuple[list[str], list[list[str]], int]:
    """The names of the columns, the records of a page as texts, and how many records there are. A page that is not
    there is the first or the last."""
    with pq.ParquetFile(folder / RECORDS) as file:
        count = file.metadata.num_rows
        first = size * (min(max(1, page), max(1, -(-count // size))) - 1)
        groups = range(file.metadata.num_row_groups)
        starts = np.cumsum([0, *(file.metadata.row_group(i).num_rows for i in groups)])
        wanted = [i for i in groups if starts[i] < first + size and starts[i + 1] > first]
        names = list(file.schema_arrow.names)[:_MOST_COLUMNS]
        if not wanted:
            return names, [], count
        part = file.read_row_groups(wanted, columns=names).slice(first - int(starts[wanted[0]]), size)
    columns = [[_cell(value) for value in part.column(i).to_pylist()] for i in range(len(names))]
    return names, [list(row) for row in zip(*columns, strict=True)], count


def column_holds_texts(folder: Path, name: str) -> bool:
    """Whether a column of the records holds texts; one that is not there by itself, such as a series, holds numbers."""
    with pq.ParquetFile(folder / RECORDS) as file:
        held = file.schema_arrow
        if name not in held.names:
            return False
        kind = held.field(name).type
        return not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _cell(value: object) -> str:
    text = "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _distribution(data: mv.Microdata, name: str) -> dict[str, Any] | None:
    """How high each bar is, as a share of the highest, and in words what each stands for."""
    if name not in data.names:
        return None
    try:
        if data[name].is_categorical:
            return None if _is_spread_out(data, name) else _of_categories(data, name)
        values = data.numbers(name).values
    except DataError:
        return None
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    low, high = float(values.min()), float(values.max())
    first, last = np.quantile(values, [0.01, 0.99]).tolist()
    if last > first:
        low, high = first, last
    edges = np.linspace(low, high, _STEPS + 1) if high > low else np.array([low - 0.5, low + 0.5])
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    return _scaled("numbers", counts.tolist(), [f"{edge:.4g}" for edge in edges])


def _is_spread_out(data: mv.Microdata, name: str) -> bool:
    """Whether no value is frequent: names and numbers, not categories."""
    counts = data.arrow(name).drop_null().value_counts().field("counts").to_numpy(zero_copy_only=False)
    return bool(counts.max(initial=0) < _RAREST * counts.sum())


def _of_categories(data: mv.Microdata, name: str) -> dict[str, Any] | None:
    categories = data.categories(name)
    counts = categories.frequencies
    if not counts.sum():
        return None
    order = np.arange(len(counts)) if data[name].kind == "ordinal" else np.argsort(-counts, kind="stable")
    shown, rest = order[:_MOST_CATEGORIES], order[_MOST_CATEGORIES:]
    texts = ["(missing)" if categories.domain[i] is None else _cell(categories.domain[i]) for i in shown]
    heights, others = counts[shown].tolist(), int(counts[rest].sum())
    if others:
        heights, texts = [*heights, others], [*texts, f"{len(rest):,} others"]
    return _scaled("categories", heights, texts)


def _scaled(kind: str, counts: list[int], texts: list[str]) -> dict[str, Any]:
    """Heights as shares of the highest; the texts are the names of categories, or the ends of the steps."""
    most = max(counts) or 1
    return {"kind": kind, "heights": [round(count / most, 3) for count in counts], "counts": counts, "texts": texts}


def _fits(data: mv.Microdata) -> dict[str, list[str]]:
    """For each method the attributes it can mask, among those that are no identifiers, weights or household numbers."""
    among = [attribute.name for attribute in data.schema if not attribute.is_administrative]
    found: dict[str, list[str]] = {}
    for name in mv.registry.names("method"):
        method = mv.registry.find("method", name)
        if method.structural:
            if data.edges is not None:
                found[name] = []
            continue
        try:
            suited = [attribute for attribute in among if method.suits(data, attribute)]
        except MicroveilError:
            continue
        if suited:
            found[name] = list(data.schema.collapsed(suited))
    return found
