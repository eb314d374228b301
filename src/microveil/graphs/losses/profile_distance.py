"""DBIL of nodes: how far each node's released profile is from its true one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from microveil.comparison.pairs import Pair
from microveil.graphs.cells import MISSING, cells_of
from microveil.losses.base import Loss, LossMeasure, Route
from microveil.losses.coarsening.generalisation import left_open_by
from microveil.microdata.distances import ORDINAL_DISTANCES, OrdinalDistance, category_distance
from microveil.microdata.hierarchy import node_text
from microveil.microdata.microdata import encoded
from microveil.microdata.schema import KINDS
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts, silent
from microveil.typing import BoolArray, FloatArray


@parameterised
class ProfileDBIL(LossMeasure):
    """The mean distance between the true and the released values of nodes, over all nodes and attributes.

    Of places it is the difference of their levels over the highest, if one holds the other, else 1; of ordered
    categories that of `dbil`; of other categories 0 or 1; of numbers the difference over the range of the true ones, at
    most 1. Where another attribute is released as intervals or sets, it is the share of its range that these leave
    open.

    >>> from microveil.microdata import Microdata
    >>> links = {"source": [1, 2], "target": [2, 3]}
    >>> people = Microdata.of({"id": [1, 2, 3], "age": [20, 30, 40], "job": ["cook", "judge", "judge"]}, graph=links)
    >>> release = Microdata.of({"id": [1, 2, 3], "age": [20, 30, 30], "job": ["judge"] * 3}, graph=links)
    >>> round(ProfileDBIL().measure(people, release, ["age", "job"]).value, 2)
    25.0
    """

    name: ClassVar[str] = "profile-dbil"
    family: ClassVar[str] = "graphs"
    usual: ClassVar[bool] = True
    of_graph: ClassVar[bool] = True
    reads_labels: ClassVar[bool] = True
    summary: ClassVar[str] = "mean distance between the true and the released values of nodes, places by their tree"
    meaning: ClassVar[str] = (
        "mean distance between true and released values of nodes, in per cent of the largest; lower is better"
    )
    route: ClassVar[Route] = "data"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = f"{MISSING}, at distance 1 from all others"
    source: ClassVar[str] = "Marés (2013), section 6.3.3, Eq. 6.7, with the distances of Eq. 6.1 and 6.2"

    ordinal_distance: OrdinalDistance = parameter(default="inclusive", help=ORDINAL_DISTANCES)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        distances = profile_distances(pair, attributes, self.ordinal_distance, progress)
        per_attribute = {name: 100 * float(row.mean()) for name, row in zip(attributes, distances, strict=True)}
        return Loss.of(self.name, float(distances.mean()), attributes, per_attribute=per_attribute)


def profile_distances(
    pair: Pair,
    attributes: Sequence[str],
    ordinal_distance: OrdinalDistance = "inclusive",
    progress: Progress = silent,
) -> FloatArray:
    """A row for each attribute: how far the released value of each node is from the true one, from 0 to 1."""
    rows = []
    for name, part in zip(attributes, parts(progress, len(attributes)), strict=True):
        rows.append(_distances(pair, name, ordinal_distance))
        part(1.0, "comparing profiles")
    return np.stack(rows)


def _distances(pair: Pair, name: str, ordinal_distance: OrdinalDistance) -> FloatArray:
    kind, cells = pair.original[name].kind, cells_of(pair, name)
    changed = (cells.before != cells.after).astype(np.float64)
    if kind == "location" and cells.tree is not None:
        size = len(cells.tree.labels)
        both = (cells.before < size) & (cells.after < size)
        places = [np.where(both, side, 0) for side in (cells.before, cells.after)]
        return np.where(both, cells.tree.distances(*places), changed)
    missing = pair.original.missing_states(name) > 0
    if name in pair.recoded:
        return np.where(missing, changed, _of_labels(pair, name, ~missing))
    missing |= pair.masked.missing_states(name) > 0
    if kind == "numeric":
        before, after = (side.values for side in pair.numbers(name))
        known = before[~np.isnan(before)]
        width = float(np.ptp(known)) if len(known) else 0.0
        return np.where(missing | (width == 0), changed, np.minimum(1.0, np.abs(before - after) / (width or 1.0)))
    one, other = pair.categories(name)
    moved = category_distance(kind, len(one.domain), ordinal_distance)(one.codes, other.codes)
    return np.where(missing, changed, moved)


def _of_labels(pair: Pair, name: str, present: BoolArray) -> FloatArray:
    """What labels leave open of the range; 1 for a value in the place of another."""
    open_cells = np.zeros(len(pair))
    open_cells[present] = left_open_by(pair, name)
    before, after = (_texts(table.arrow(name)) for table in (pair.original, pair.masked))
    same = np.fromiter((one == other for one, other in zip(before, after, strict=True)), np.bool_, len(pair))
    return np.where(same, 0.0, np.where(open_cells == 0, 1.0, open_cells))


def _texts(column: pa.Array) -> list[str | None]:
    held, indices = encoded(column)
    texts = [*map(node_text, held), None]
    return [texts[index] for index in indices]
