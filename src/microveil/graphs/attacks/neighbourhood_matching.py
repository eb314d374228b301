"""Neighbourhood matching: the intruder knows a person and all friends, and who of these are linked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from microveil.attacks.base import Attack, Risk, Variant
from microveil.comparison.columns import label_codes
from microveil.comparison.labels import can_be_read
from microveil.comparison.pairs import Pair
from microveil.graphs.cells import (
    MISSING,
    Cells,
    cells_of,
    classed_numbers,
    graphs_of,
    in_order,
    labels_of_nodes,
    order_of_nodes,
)
from microveil.microdata.schema import KINDS
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import PublicStreams
from microveil.typing import BoolArray, FloatArray, IntArray


def _has_tree(pair: Pair) -> bool:
    return any(pair.original[name].hierarchy is not None for name in pair.of_kinds(("location", "nominal", "ordinal")))


@dataclass(frozen=True)
class _Found:
    """For each node whether it is matched anywhere, whether at itself, and the chance that a candidate drawn by lot is
    the right one."""

    matched: BoolArray
    own: BoolArray
    chance: FloatArray

    def or_else(self, other: _Found) -> _Found:
        """What an intruder finds who can go either way."""
        return _Found(self.matched | other.matched, self.own | other.own, np.maximum(self.chance, other.chance))


@parameterised
class NeighbourhoodMatching(Attack):
    """The intruder knows the true values of a person and of all friends, and who of these are linked, and looks for a
    released node with such a neighbourhood; the risk is the chance that a candidate drawn by lot is the person.

    With `equal` every value must be as it was, as the source has it. With `consistent` a released place may also hold
    the true one, by the hierarchy of its attribute: that of the kind location, else the first one that has a hierarchy.
    Of the links among friends it is then compared how many each friend has. All other attributes must be equal; but
    numbers of which masking has changed most are compared by which of `classes` equal parts of the true ones they lie
    in, and an attribute that is released as intervals or sets finds a person by the label that the own record has, if
    that gains more. Else `consistent` and `equal` are the same. With `some` the intruder knows a few friends drawn at
    random, whose values must be among those of the released node's friends.

    The counters: `matched`, the share of nodes whose neighbourhood is found anywhere, be it the right one or not, which
    is the risk DR of the source; and `own`, the share of those that are found at themselves.

    >>> from microveil.microdata import Microdata
    >>> links = {"source": [1, 2], "target": [2, 3]}
    >>> people = Microdata.of({"id": [1, 2, 3], "job": ["cook", "judge", "judge"]}, graph=links)
    >>> release = Microdata.of({"id": [1, 2, 3], "job": ["judge", "judge", "judge"]}, graph=links)
    >>> risk = NeighbourhoodMatching().assess(people, release, ["job"])
    >>> risk.per_record.tolist(), round(risk.counters["matched"], 2)
    ([0.0, 0.0, 0.5], 33.33)
    """

    name: ClassVar[str] = "neighbourhood-matching"
    family: ClassVar[str] = "linkage"
    general: ClassVar[bool] = True
    of_graph: ClassVar[bool] = True
    reads_labels: ClassVar[bool] = True
    summary: ClassVar[str] = "finds nodes by the values of a person and of all friends, and the links among these"
    meaning: ClassVar[str] = "nodes an intruder finds who knows a person's friends and their values; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of a person and of all friends, and their links"
    formula: ClassVar[str] = "mean over i of [S_i fits S'_i] / |{ j : S_i fits S'_j }|, S_i the neighbourhood of i"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = (
        "Marés (2013), section 6.4, Eq. 6.9 and 6.10, and section 6.5.1 on what is known; Zhou and Pei (2008) on "
        "neighbourhood attacks"
    )

    match: Literal["consistent", "equal", "some"] = parameter(
        default="consistent",
        help="what a released neighbourhood must have: all friends with values that are the true ones or, of places, "
        "hold them (consistent), all friends with the true values (equal), or among others a few known ones (some)",
    )
    neighbours: int = parameter(
        default=3, help="with some: number of friends that the intruder knows", ge=0, le=MOST_RECORDS
    )
    induced: bool = parameter(
        default=True, help="whether the intruder knows which of the friends are linked; not with some"
    )
    include_root: bool = parameter(
        default=True, help="whether the intruder knows the person's own values besides those of the friends"
    )
    classes: int = parameter(
        default=5,
        help="number of intervals of equal frequency in which masked numbers are compared; not with equal",
        ge=1,
        le=10_000,
    )
    seed: int = parameter(default=0, help="with some: seed for drawing the known friends", ge=0, le=LARGEST_SEED)

    variants: ClassVar[tuple[Variant, ...]] = (Variant({"match": "equal"}, _has_tree), Variant({"match": "some"}))

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        cells = {name: cells_of(pair, name) for name in attributes}
        progress(0.2, f"{self.name}: reading values")
        as_they_are = {
            name: classed_numbers(pair, name, self.classes)
            if self.match != "equal" and pair.original[name].kind == "numeric" and name not in pair.recoded
            else (cell.before, cell.after)
            for name, cell in cells.items()
        }
        labelled = {
            name: _found_by_label(pair, name) for name in attributes if name in pair.recoded and can_be_read(pair, name)
        }
        tree = self._tree(pair, cells)
        ways = [as_they_are]
        if self.match != "equal" and set(labelled) - {tree}:
            ways.append({**as_they_are, **{name: one for name, one in labelled.items() if name != tree}})
        found = []
        for columns, part in zip(ways, parts(progress, len(ways)), strict=True):
            found.append(self._matched(pair, columns, None if tree is None else (tree, cells[tree])))
            part(1.0, f"{self.name}: matching neighbourhoods")
        best = found[0] if len(found) == 1 else found[0].or_else(found[1])
        counters = {"matched": 100 * float(best.matched.mean()), "own": 100 * float(best.own.mean())}
        return Risk.of(self.name, best.chance, attributes, self._scenario(attributes, tree), counters=counters)

    def _tree(self, pair: Pair, cells: Mapping[str, Cells]) -> str | None:
        """The attribute whose released places may hold the true ones."""
        if self.match != "consistent":
            return None
        with_tree = [name for name, cell in cells.items() if cell.tree is not None]
        places = [name for name in with_tree if pair.original[name].kind == "location"]
        return next(iter(places or with_tree), None)

    def _matched(
        self, pair: Pair, columns: Mapping[str, tuple[IntArray, IntArray]], tree: tuple[str, Cells] | None
    ) -> _Found:
        from microveil.numerics.graphs.neighbourhoods import (
            consistent_neighbourhoods,
            equal_neighbourhoods,
            known_neighbours,
        )

        name = None if tree is None else tree[0]
        labels = labels_of_nodes([sides for key, sides in columns.items() if key != name], len(pair))
        graphs = graphs_of(pair)
        order = np.arange(len(pair))
        if self.match == "some":
            order = order_of_nodes(pair, tuple(columns))
            rng = PublicStreams(self.seed).generator(self.name, "friends")
            taken = labels[0][order], labels[1][order]
            found = known_neighbours(
                *in_order(pair, order), *taken, self.neighbours, rng, include_root=self.include_root
            )
        elif tree is None:
            found = equal_neighbourhoods(*graphs, *labels, induced=self.induced, include_root=self.include_root)
        else:
            cell = tree[1]
            places = cell.before, cell.after, _parents(cell)
            found = consistent_neighbourhoods(
                *graphs, *labels, *places, induced=self.induced, include_root=self.include_root
            )
        own, candidates = found.own, np.maximum(found.candidates, 1)
        back = np.argsort(order)
        return _Found(found.matched[back], own[back], np.where(own, 1.0 / candidates, 0.0)[back])

    def _scenario(self, attributes: Sequence[str], tree: str | None) -> str:
        known = ", ".join(attributes)
        of = "of a person and" if self.include_root else "not of a person, but"
        if self.match == "some":
            friends = f"of {self.neighbours} of the person's friends"
            wanted = "among whose friends these values are"
        else:
            friends = "of all friends" + (", and which of these are linked" if self.induced else "")
            may = f", where a released {tree} may hold the true one" if tree is not None else ""
            wanted = f"with such a neighbourhood{may}"
        taken = f"takes one of the released nodes {wanted}"
        return f"An intruder knows the true values of {known} {of} {friends}, and {taken}."


def _found_by_label(pair: Pair, name: str) -> tuple[IntArray, IntArray]:
    """The released labels by which persons are found, and those of the nodes."""
    labels = label_codes(pair, name)
    return labels.known, labels.released


def _parents(cell: Cells) -> IntArray:
    """The parent of each node of a tree, and of each text that is none of its nodes; -1 where there is none."""
    assert cell.tree is not None
    known = cell.tree.parent
    size = int(max(cell.before.max(initial=-1), cell.after.max(initial=-1), len(known) - 1)) + 1
    return np.append(known, np.full(size - len(known), -1, dtype=np.int64))
