"""Seed expansion: the intruder has another graph of the same persons, knows a few of them, and goes on from these."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.comparison.pairs import Pair
from microveil.graphs.cells import in_order, order_of_nodes
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import PublicStreams

_LARGEST_SHARE = 4  # no more than one node in so many is a seed


@parameterised
class SeedExpansion(Attack):
    """The intruder has a second, noisy graph of the same persons and knows a few of them in the release; from these
    seeds, friends of matched friends are matched. The risk is the share of the others that are matched with themselves.

    The second graph has a share of the original's links (`overlap`), drawn at random. A pair of nodes may be matched if
    it has `least_marks` matched pairs of friends; all pairs are revisited as more become known. Seeds are drawn among
    the nodes with friends, at most one node in four, and are not attacked themselves. The counters: `matched`, the
    share of the others that get a match, and `precision`, the share of these matches that are right.

    >>> from microveil.microdata import Microdata
    >>> links = {"source": [0, 0, 0, 1, 1, 2, 3, 4, 5, 6], "target": [1, 2, 3, 2, 4, 5, 6, 6, 7, 7]}
    >>> people = Microdata.of({"id": list(range(8))}, graph=links)
    >>> risk = SeedExpansion(overlap=1.0, seeds=2, least_marks=1).assess(people, people)
    >>> risk.attacked, risk.counters["precision"]
    (6, 100.0)
    """

    name: ClassVar[str] = "seed-expansion"
    family: ClassVar[str] = "linkage"
    of_graph: ClassVar[bool] = True
    summary: ClassVar[str] = "matches the release with another graph of the same persons, from a few known ones on"
    meaning: ClassVar[str] = "nodes an intruder finds by another graph of the same persons; lower is safer"
    assumes: ClassVar[str] = "another graph of the same persons, and which nodes a few of them are in the release"
    formula: ClassVar[str] = "share of nodes v, seeds left out, with match(v) = v"
    kinds: ClassVar[tuple[str, ...]] = ()
    missing: ClassVar[str] = "no cell is read"
    source: ClassVar[str] = "Narayanan and Shmatikov (2009); Yartseva and Grossglauser (2013)"

    seeds: int = parameter(
        default=20, help="number of persons whom the intruder knows in the release", ge=1, le=MOST_RECORDS
    )
    overlap: float = parameter(
        default=0.9, help="share of the original's links that the intruder's graph has", gt=0, le=1
    )
    least_marks: int = parameter(
        default=2, help="fewest matched pairs of friends that a pair of nodes needs", ge=1, le=MOST_RECORDS
    )
    eccentricity: float = parameter(
        default=0.0,
        help="by how many standard deviations the best candidate must exceed the next; more gives fewer matches, and "
        "more of them are right",
        ge=0,
        le=1e6,
    )
    seed: int = parameter(
        default=0,
        help="seed for drawing the known persons and the links of the intruder's graph",
        ge=0,
        le=LARGEST_SEED,
    )

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        from microveil.numerics.graphs.adjacency import adjacency, degrees, edge_list
        from microveil.numerics.graphs.graph_matching import expand_seeds

        order = order_of_nodes(pair)
        original, released = in_order(pair, order)
        streams = PublicStreams(self.seed)
        ends = edge_list(original)
        drawn = streams.some_of(original.edges, round(self.overlap * original.edges), self.name, "links")
        second = adjacency(ends[0][drawn], ends[1][drawn], original.nodes)
        linked = np.flatnonzero((degrees(second) > 0) & (degrees(released) > 0))
        wanted = min(self.seeds, len(pair) // _LARGEST_SHARE)
        seeds = linked[streams.some_of(len(linked), wanted, self.name, "seeds")]
        progress(0.2, f"{self.name}: growing matches")
        match = expand_seeds(
            second, released, seeds, seeds, least_marks=self.least_marks, eccentricity=self.eccentricity
        )
        others = np.ones(len(pair), dtype=np.bool_)
        others[seeds] = False
        right, found = match == np.arange(len(pair)), (match >= 0) & others
        per_record = np.full(len(pair), np.nan)
        per_record[order[others]] = right[others]
        counters = {
            "matched": 100 * float(found.sum() / max(1, others.sum())),
            "precision": 100 * float(right[found].mean()) if found.any() else 0.0,
        }
        scenario = (
            f"An intruder has another graph of the same persons with {100 * self.overlap:g} % of their links, knows "
            f"which nodes {len(seeds):,} of them are in the release, and matches the friends of those who are matched."
        )
        return Risk.of(self.name, per_record, (), scenario, counters=counters)
