"""How categories of nodes are linked to each other: counts over edges, the losses that compare them, assortativity.

Attributes are codes 0, 1, ...; two codings that are compared share one numbering, and a missing value is a category
like any other. Only cells that occur are counted, so that many categories need no more memory than the edges.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.graphs.adjacency import Adjacency, degrees
from microveil.typing import FloatArray, IntArray

Rows = Literal["masked_masked", "orig_masked"]


class MixingCounts(NamedTuple):
    """The cells of an attribute adjacency matrix that are not 0, ascending by row and column."""

    row: IntArray
    column: IntArray
    links: IntArray


def mixing_counts(graph: Adjacency, row: IntArray, column: IntArray) -> MixingCounts:
    """How many links lead from a node with one category (its code in `row`) to a node with another (its code in
    `column`); every edge counts in both directions.

    >>> from microveil.numerics.graphs.adjacency import adjacency
    >>> codes = np.array([1, 0, 2])
    >>> mixing_counts(adjacency(np.array([0, 1]), np.array([1, 2]), 3), codes, codes).links.tolist()
    [1, 1, 1, 1]
    """
    rows, columns = _ends(graph, row, column)
    cells, first = number_rows([rows, columns])
    return MixingCounts(rows[first], columns[first], np.bincount(cells, minlength=len(first)).astype(np.int64))


def aamil(
    graph: Adjacency,
    original: IntArray,
    masked: IntArray,
    masked_graph: Adjacency | None = None,
    rows: Rows = "masked_masked",
) -> float:
    """Information loss by attribute adjacency matrices: sum |x - x'| / (2 sum x), 0 without edges; see Marés (2013),
    Eq. 6.4. The matrix x' has masked categories in rows and columns (`masked_masked`, as the formula is explained), or
    original ones in its rows (`orig_masked`, as in the printed example). Without `masked_graph` the edges are the same.
    """
    if rows not in get_args(Rows):
        raise ParameterError(f"rows = '{rows}' is not allowed; choose one of {', '.join(get_args(Rows))}")
    after = graph if masked_graph is None else masked_graph
    _check_same_nodes(graph, after)
    before_ends = _ends(graph, original, original)
    after_ends = _ends(after, original if rows == "orig_masked" else masked, masked)
    return _half_difference(before_ends, after_ends)


def cdil(original: IntArray, masked: IntArray) -> float:
    """Information loss of the category distribution: sum |freq - freq'| / (2 sum freq), 0 without nodes; see Marés
    (2013), Eq. 6.6.

    >>> round(cdil(np.array([0, 1, 1]), np.array([1, 1, 1])), 4)
    0.3333
    """
    _check_codes(original, len(original))
    _check_codes(masked, len(original))
    return _half_difference((original,), (masked,))


def degree_weighted_cdil(
    graph: Adjacency, original: IntArray, masked: IntArray, masked_graph: Adjacency | None = None
) -> float:
    """The same with each node counted once for each of its links. No AAMIL is below it, for these counts are the sums
    of the columns of the two matrices."""
    after = graph if masked_graph is None else masked_graph
    _check_same_nodes(graph, after)
    return _half_difference(_ends(graph, original, original)[1:], _ends(after, masked, masked)[1:])


def assortativity(graph: Adjacency, codes: IntArray) -> float:
    """The assortativity coefficient of Newman (2003) of a categorical attribute: 1 if all links are within categories,
    0 if they are drawn without regard to them; not a number if all links are within one category, or there is none."""
    counts = mixing_counts(graph, codes, codes)
    links = int(counts.links.sum())
    sums = np.bincount(counts.row, weights=counts.links) if links else np.zeros(0)
    by_chance = float(np.square(sums / max(1, links)).sum())
    if links == 0 or by_chance >= 1.0:
        return float("nan")
    within = int(counts.links[counts.row == counts.column].sum()) / links
    return (within - by_chance) / (1.0 - by_chance)


def numeric_assortativity(graph: Adjacency, values: FloatArray) -> float:
    """The coefficient of Newman (2003) of a numeric attribute, such as the degree: the correlation of the values at the
    two ends of a link; not a number if the values at all ends are the same, or there is no link."""
    if values.shape != (graph.nodes,):
        raise DataError(f"an attribute has values for {len(values):,} nodes, but the graph has {graph.nodes:,}")
    at = np.asarray(values, dtype=np.float64)
    links = len(graph.indices)
    many = degrees(graph)
    deviation = at - float(np.dot(many, at)) / max(1, links)
    spread = float(np.dot(many, np.square(deviation)))
    if links == 0 or np.ptp(at[many > 0]) == 0.0:
        return float("nan")
    return float(np.dot(np.repeat(deviation, many), deviation[graph.indices])) / spread


def _ends(graph: Adjacency, row: IntArray, column: IntArray) -> tuple[IntArray, IntArray]:
    """The categories at the beginning and at the end of every link, each edge in both directions."""
    _check_codes(row, graph.nodes)
    _check_codes(column, graph.nodes)
    return np.repeat(row, degrees(graph)), column[graph.indices]


def _half_difference(before: tuple[IntArray, ...], after: tuple[IntArray, ...]) -> float:
    """Half the sum over all cells of the difference of counts, relative to the number of those counted before."""
    counted = len(before[0])
    if counted == 0:
        return 0.0
    cells, first = number_rows([np.concatenate(both) for both in zip(before, after, strict=True)])
    one, other = (np.bincount(part, minlength=len(first)) for part in (cells[:counted], cells[counted:]))
    return int(np.abs(one - other).sum()) / (2 * counted)


def _check_codes(codes: IntArray, nodes: int) -> None:
    if codes.shape != (nodes,):
        raise DataError(f"an attribute has codes for {len(codes):,} nodes, but the graph has {nodes:,}")
    if codes.dtype.kind not in "iu" or (len(codes) and codes.min() < 0):
        raise DataError("the codes of an attribute must be whole numbers from 0 on; give missing values a code too")


def _check_same_nodes(one: Adjacency, other: Adjacency) -> None:
    if one.nodes != other.nodes:
        raise DataError(f"the graphs have {one.nodes:,} and {other.nodes:,} nodes; compare graphs of the same nodes")
