"""A page about a protected table, for its owner: the table, its suppressed cells, and what the audit found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from microveil import __version__
from microveil.reporting.charts.bars import bars
from microveil.reporting.pages import render
from microveil.tables.protected import CellInterval, ProtectedTable
from microveil.tables.tree import Tree
from microveil.typing import FloatArray

_MOST_ROWS, _MOST_COLUMNS, _MOST_INTERVALS = 400, 40, 200
_DIGITS, _MOST_DECIMALS = 10, 4
_INDENT = "\N{EM SPACE}"


class _Picture(NamedTuple):
    svg: str
    caption: str


def table_page(made: ProtectedTable) -> str:
    """The page as HTML that loads nothing from elsewhere."""
    counts = made.counts
    found = sorted((i for i in made.intervals() if i.status != "secondary"), key=_reserve)
    return render(
        "table.html",
        version=__version__,
        lead=_lead(made, counts),
        verdict=_verdict(made, counts),
        notes=made.notes,
        picture=_picture(made, counts),
        tables=[_table(made, number) for number in range(len(made.cells.used))],
        intervals=[_row(interval) for interval in found[:_MOST_INTERVALS]],
        some=len(found) > _MOST_INTERVALS,
        all=len(found),
        relations=made.relations(50),
    )


def _lead(made: ProtectedTable, counts: dict[str, int]) -> str:
    what = made.value or "Number of records"
    by = "; ".join(" and ".join(made.dimensions(n)) for n in range(len(made.cells.used)))
    return f"{what} by {by}: {counts['cells']:,} cells, method {made.method}, rules: {', '.join(made.rules)}."


def _verdict(made: ProtectedTable, counts: dict[str, int]) -> dict[str, Any] | None:
    if made.audit is None:
        return None
    sentence = "Every primary cell stays as uncertain as required."
    if not made.audit.passed:
        others = len({column for _, column in made.audit.found_out})
        sentence = (
            f"{int(made.audit.short.sum()):,} primary cells can be computed too closely, and {others:,} by a "
            "contributor who knows its own value."
        )
    numbers = [(name, f"{counts[name]:,}") for name in ("primary", "secondary", "published")]
    return {"passed": made.audit.passed, "sentence": sentence, "numbers": numbers, "in_file": "", "required": []}


def _picture(made: ProtectedTable, counts: dict[str, int]) -> _Picture | None:
    if made.audit is None or not made.suppressed.any():
        return None
    sizes, whole = np.abs(made.cells.values), float(np.abs(made.cells.values).sum()) or 1.0
    masks = {"primary": made.primary, "secondary": made.secondary, "published": ~np.isnan(made.values)}
    shares = {
        "of the cells": [100 * float(mask.mean()) for mask in masks.values()],
        "of the value": [100 * float(sizes[mask].sum()) / whole for mask in masks.values()],
    }
    svg = bars(
        list(masks), shares, title="Suppressed and published cells", description="Shares of cells and of their values",
        x_title="%", x_limits=(0.0, 100.0),
    )  # fmt: skip
    return _Picture(svg, f"{counts['primary'] + counts['secondary']:,} of {counts['cells']:,} cells are suppressed.")


def _table(made: ProtectedTable, number: int) -> dict[str, Any]:
    """A table with its last dimension across, if that fits."""
    dims = made.cells.used[number]
    trees, structure = made.cells.structure.trees, made.cells.structure
    here = made.cells.of_table(number)
    across = dims[-1] if len(dims) > 1 and len(trees[dims[-1]].nodes) <= _MOST_COLUMNS else None
    down = [d for d in dims if d != across]
    places = np.unique(structure.codes[here][:, down], axis=0)
    columns = list(range(len(trees[across].nodes))) if across is not None else [0]
    decimals, rows = _decimals(made.values[here]), []
    for place in places[:_MOST_ROWS]:
        codes = np.zeros((len(columns), len(trees)), dtype=np.int64)
        codes[:, down] = place
        if across is not None:
            codes[:, across] = columns
        names = [_indented(trees[d], int(code)) for d, code in zip(down, place, strict=True)]
        rows.append((names, [_shown(made, int(cell), decimals) for cell in structure.find(codes)]))
    caption = "x: primary; (x): secondary; cells without contributors are empty."
    if len(places) > _MOST_ROWS:
        caption += f" The first {_MOST_ROWS} of {len(places):,} rows."
    heads = [made.value or "count"] if across is None else [trees[across].nodes[c] for c in columns]
    title = f"{made.value or 'Count'} by {' and '.join(made.dimensions(number))}"
    return {
        "title": title,
        "caption": caption,
        "rows_by": [trees[d].name for d in down],
        "columns": heads,
        "rows": rows,
    }


def _indented(tree: Tree, node: int) -> str:
    """The name of a node, farther in the deeper it stands below the total."""
    return _INDENT * (int(tree.depth[node]) - 1) + tree.nodes[node]


def _decimals(values: FloatArray) -> int:
    """As many decimals for all cells of a table as the largest leaves of the digits that are shown."""
    known = values[np.isfinite(values)]
    if (known == np.round(known)).all():
        return 0
    before_the_point = len(f"{np.abs(known).max():.0f}")
    return min(_MOST_DECIMALS, max(0, _DIGITS - before_the_point))


def _shown(made: ProtectedTable, cell: int, decimals: int) -> tuple[str, str]:
    if cell < 0:
        return "", ""
    value = float(made.values[cell])
    return made.status[cell], "" if math.isnan(value) else f"{value:,.{decimals}f}"


def _number(value: float) -> str:
    return f"{value:,.{_DIGITS}g}" if math.isfinite(value) else "no bound"


def _reserve(interval: CellInterval) -> float:
    """How much farther an interval reaches than it must, as a share of what it must."""
    low, high = interval.needed
    spare = min(low - interval.low, interval.high - high)
    return spare / max(high - low, 1e-300)


def _row(interval: CellInterval) -> dict[str, Any]:
    ends: Sequence[float] = (interval.low, interval.high, *interval.needed)
    low, high, needed_low, needed_high = map(_number, ends)
    name = ", ".join(f"{dim} {node}" for dim, node in interval.cell.items())
    return {
        "name": name, "low": low, "high": high, "needed_low": needed_low, "needed_high": needed_high,
        "protected": interval.protected, "exact": interval.exact,
    }  # fmt: skip
