"""What a report shows of a graph: figures of its structure, degrees, who is linked to whom, and one neighbourhood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.display import number
from microveil.microdata import Microdata
from microveil.microdata.edges import Edges
from microveil.randomness import PublicStreams
from microveil.reporting.charts import Line, heatmap, lines, network
from microveil.reporting.report_pictures import AFTER, BEFORE, Picture
from microveil.typing import FloatArray, IntArray

_MOST_ATTRIBUTES = 3
_MOST_CATEGORIES = 10
_BEST_DEGREE = (4, 10)  # of a node whose neighbourhood is drawn
_MOST_DRAWN = 14  # neighbours
_MOST_POINTS = 300  # of a curve of degrees
_ENOUGH = 5  # times the fewest records, for a picture that is to be seen by all


@dataclass(frozen=True)
class GraphPage:
    """The figures before and after, and the pictures."""

    rows: list[tuple[str, str, str]]
    degrees: Picture
    mixing: list[Picture]
    neighbourhood: list[Picture]


def graph_page(pair: Pair) -> GraphPage | None:
    """Nothing of a table without links."""
    if pair.original.edges is None or pair.masked.edges is None:
        return None
    before, after = pair.original.edges, pair.masked.edges
    return GraphPage(
        _rows(before, after),
        _degrees({BEFORE: before, AFTER: after}, "before and after masking"),
        [picture for name in _categorical(pair) for picture in _mixing(pair, name)],
        _neighbourhoods(pair),
    )


def released_graph_pictures(released: Microdata, fewest: int) -> list[Picture]:
    """The degrees of the released graph alone, in whole per cent, and none that too few nodes have."""
    edges = released.edges
    if edges is None or edges.nodes < _ENOUGH * fewest:
        return []
    falling = np.sort(edges.degrees)[::-1]
    most = int(falling[fewest - 1])
    shares = [(float(d), float(round(100 * float((edges.degrees >= d).mean())))) for d in range(most + 1)]
    svg = _curve([Line(AFTER, _thinned(shares))], f"Up to {most} links, which at least {fewest} nodes have.")
    return [Picture(svg, f"Links of the released nodes: the share of nodes with at least so many, up to {most}")]


def _rows(before: Edges, after: Edges) -> list[tuple[str, str, str]]:
    from microveil.numerics.graphs.statistics import graph_statistics

    different = [before] if before == after else [before, after]  # paths take long in a large graph
    stated = [graph_statistics(e.graph, PublicStreams(1).generator("report on a graph")) for e in different]
    found = (stated[0], stated[-1])
    figures: dict[str, list[float]] = {
        "nodes": [f.nodes for f in found],
        "links": [f.edges for f in found],
        "links that both have": [_in_common(before, after)] * 2,
        "links of a node, on average": [f.mean_degree for f in found],
        "most links of a node": [int(e.degrees.max(initial=0)) for e in (before, after)],
        "fewest nodes that share a number of links": [_fewest(e) for e in (before, after)],
        "components": [f.components for f in found],
        "clustering coefficient": [f.clustering for f in found],
        "mean path length": [f.mean_path_length for f in found],
        "diameter": [f.diameter for f in found],
    }
    return [(name, number(one), number(other)) for name, (one, other) in figures.items()]


def _in_common(before: Edges, after: Edges) -> int:
    one, other = (e.source * e.nodes + e.target for e in (before, after))
    return len(np.intersect1d(one, other)) if before.nodes == after.nodes else 0


def _fewest(edges: Edges) -> int:
    return int(np.unique(edges.degrees, return_counts=True)[1].min()) if edges.nodes else 0


def _degrees(graphs: dict[str, Edges], when: str) -> Picture:
    drawn = []
    for label, edges in graphs.items():
        at = np.unique(edges.degrees)
        shares = [(float(d), 100 * float((edges.degrees >= d).mean())) for d in at]
        drawn.append(Line(label, _thinned(shares)))
    return Picture(
        _curve(drawn, f"The share of nodes with at least so many links, {when}."),
        f"Links of the nodes: the share of nodes with at least so many, {when}",
    )


def _curve(drawn: Sequence[Line], description: str) -> str:
    return lines(
        drawn,
        title="Links of the nodes",
        description=description,
        x_title="links",
        y_title="nodes with at least so many, %",
    )


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    step = -(-len(points) // _MOST_POINTS)
    return points[::step] if step > 1 else points


# --- who is linked to whom --------------------------------------------------------------------------------------------


def _categorical(pair: Pair) -> list[str]:
    """Attributes with several categories that both tables have, keys first."""
    skipped = {"identifier", "node", "household"}
    named = dict.fromkeys((*pair.knowledge.attributes, *pair.attributes, *pair.masked.names))
    fitting = [n for n in named if n in pair.masked.names and pair.original[n].is_categorical]
    return [n for n in fitting if not set(pair.original[n].roles) & skipped][:_MOST_ATTRIBUTES]


def _mixing(pair: Pair, name: str) -> list[Picture]:
    """How often categories are linked, beside chance, before and after masking."""
    made = []
    for label, table in ((BEFORE, pair.original), (AFTER, pair.masked)):
        assert table.edges is not None
        found = _against_chance(table, table.edges, name)
        if found is None:
            continue
        names, values = found
        svg = heatmap(
            names,
            values.tolist(),
            title=f"{name}: links between categories, {label}",
            description="Twofold logarithm of the number of links over that expected by chance, given the degrees.",
            most=3.0,
        )
        made.append(
            Picture(
                svg, f"{name}, {label}: links between categories beside chance; 1 is twice as many, -1 half as many"
            )
        )
    return made


def _against_chance(table: Microdata, edges: Edges, name: str) -> tuple[list[str], FloatArray] | None:
    column = table.arrow(name).to_pylist()
    texts, codes = np.unique(["(missing)" if cell is None else str(cell) for cell in column], return_inverse=True)
    ends = np.bincount(codes, weights=edges.degrees, minlength=len(texts))
    largest = np.argsort(-ends, kind="stable")[:_MOST_CATEGORIES]
    largest = largest[ends[largest] > 0]
    if len(largest) < 2:
        return None
    counts = np.zeros((len(texts), len(texts)))
    one, other = codes[edges.source], codes[edges.target]
    np.add.at(counts, (one, other), 1.0)
    counts = (counts + counts.T)[np.ix_(largest, largest)]
    expected = np.outer(ends[largest], ends[largest]) / ends.sum()
    return [str(texts[i]) for i in largest], np.log2((counts + 0.5) / (expected + 0.5))


# --- one neighbourhood ------------------------------------------------------------------------------------------------


def _neighbourhoods(pair: Pair) -> list[Picture]:
    """A node with some links, in the original and where it is in the release."""
    assert pair.original.edges is not None
    degrees = pair.original.edges.degrees
    chosen = np.flatnonzero((degrees >= _BEST_DEGREE[0]) & (degrees <= _BEST_DEGREE[1]))
    if not len(chosen):
        chosen = np.flatnonzero(degrees == degrees.max(initial=0))
    if not len(chosen):
        return []
    inner = [_inner_links(pair.original.edges, int(node)) for node in chosen[:50]]
    node = int(chosen[int(np.argmax(inner))])
    label = next(iter(_categorical(pair)), None)
    return [
        _drawn(table, table.edges, node, label, words)
        for table, words in ((pair.original, BEFORE), (pair.masked, AFTER))
        if table.edges is not None
    ]


def _members(edges: Edges, node: int) -> IntArray:
    return np.concatenate([[node], edges.graph.neighbours(node)[:_MOST_DRAWN]]).astype(np.int64)


def _inner_links(edges: Edges, node: int) -> int:
    return len(edges.take(_members(edges, node)))


def _drawn(table: Microdata, edges: Edges, node: int, label: str | None, words: str) -> Picture:
    members = _members(edges, node)
    among = edges.take(members)
    names = [_shown(table, label, int(i)) for i in members]
    hints = [
        ", ".join(_shown(table, name, int(i)) for name in table.schema.keys) or f"node {position}"
        for position, i in enumerate(members)
    ]
    pairs = list(zip(among.source.tolist(), among.target.tolist(), strict=True))
    more = int(edges.degrees[node]) - (len(members) - 1)
    svg = network(
        names,
        pairs,
        hints,
        title=f"A node and those linked to it, {words}",
        description="The node is in the middle; links among the others are blue.",
    )
    rest = f", {more} more of them are not drawn" if more else ""
    return Picture(svg, f"One node with those linked to it, {words}{rest}" + (f"; shown is {label}" if label else ""))


def _shown(table: Microdata, name: str | None, record: int) -> str:
    cell = None if name is None else table.arrow(name)[record].as_py()
    return "–" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell)
