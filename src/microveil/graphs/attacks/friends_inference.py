"""Inference from friends: who one's friends are tells what one is like."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.confidential import (
    CONFIDENTIAL,
    WIDTH,
    ConfidentialAttack,
    Target,
    beside_baseline,
    mean_over,
    percent,
)
from microveil.comparison.pairs import Pair
from microveil.graphs.cells import graphs_of
from microveil.microdata.schema import KINDS
from microveil.numerics.graphs.adjacency import Adjacency
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.typing import FloatArray


@parameterised
class FriendsInference(ConfidentialAttack):
    """The intruder knows which released node a person is and infers a confidential value from those of the friends; the
    risk is the share of right guesses.

    Of categories the guess is the one that most friends have, of equally frequent ones that which is more frequent in
    the whole release; of numbers the mean of the friends', which is right if it lies within `width`. The person's own
    released value is not used. The counters: `baseline`, the share that is right by the most frequent released category
    or the released mean; and `gain`, what the friends add, (risk - baseline) / (100 - baseline), at least 0.

    >>> from microveil.microdata import Microdata
    >>> links = {"source": [0, 0, 1, 3, 3, 4, 2], "target": [1, 2, 2, 4, 5, 5, 3]}
    >>> people = Microdata.of(
    ...     {"id": list(range(6)), "party": ["a", "a", "a", "b", "b", "b"]}, confidential=["party"], graph=links
    ... )
    >>> risk = FriendsInference().assess(people, people)
    >>> risk.value, risk.counters["baseline"]
    (100.0, 50.0)
    """

    name: ClassVar[str] = "friends-inference"
    family: ClassVar[str] = "inference"
    of_graph: ClassVar[bool] = True
    summary: ClassVar[str] = "infers confidential values from those of a person's friends"
    meaning: ClassVar[str] = "confidential values that the friends of a person tell; lower is safer"
    assumes: ClassVar[str] = "which released node a person is"
    formula: ClassVar[str] = "share of i with z_i = the most frequent z'_j of the friends j of i"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "records without a true confidential value are not attacked; friends without one say nothing"
    )
    source: ClassVar[str] = "Zheleva and Getoor (2009), on what links to friends tell"

    confidential: tuple[str, ...] | None = parameter(default=None, help=CONFIDENTIAL, min_length=1)
    width: float = parameter(default=10.0, help=WIDTH, ge=0, le=1e6)

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        """Nothing but the links need be known."""
        return (cls(),) if pair.is_graph and cls.sought(pair) else ()

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        return super().why_not(pair) if pair.is_graph else "the records have no links"

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        released = graphs_of(pair)[1]
        targets = self.targets(pair, attributes)
        right: dict[str, FloatArray] = {}
        baseline = []
        for target, part in zip(targets, parts(progress, len(targets)), strict=True):
            guess, without = _guesses(released, target)
            reach = target.reach(self.width)
            hits = [np.where(target.attacked, np.abs(one - target.before) <= reach, np.nan) for one in (guess, without)]
            right[target.name] = hits[0]
            baseline.append(hits[1])
            part(1.0, f"{self.name}: {target.name}")
        per_record = mean_over(list(right.values()))
        share, chance = percent(per_record), percent(mean_over(baseline))
        counters = beside_baseline(share, chance)
        scenario = (
            f"An intruder who knows which released node a person is infers {', '.join(right)} from the released values "
            "of the friends."
        )
        per_attribute = {name: percent(found) for name, found in right.items()}
        return Risk.of(self.name, per_record, tuple(right), scenario, counters=counters, per_attribute=per_attribute)


def _guesses(graph: Adjacency, target: Target) -> tuple[FloatArray, FloatArray]:
    """For each node what its friends suggest, and what the whole release does; NaN where no value was released."""
    from microveil.numerics.graphs.adjacency import degrees
    from microveil.numerics.graphs.graph_matching import friends_vote

    nodes, known = graph.nodes, ~np.isnan(target.after)
    if not known.any():
        return np.full(nodes, np.nan), np.full(nodes, np.nan)
    if target.kind != "numeric":
        codes = np.where(known, target.after, 0).astype(np.int64)
        most = np.bincount(codes[known]).argmax()
        return friends_vote(graph, codes, known).astype(np.float64), np.full(nodes, float(most))
    mean = np.full(nodes, target.after[known].mean())
    friends, owners = graph.indices, np.repeat(np.arange(nodes), degrees(graph))
    told = known[friends]
    sums = np.bincount(owners[told], weights=target.after[friends[told]], minlength=nodes)
    counts = np.bincount(owners[told], minlength=nodes)
    return np.where(counts > 0, sums / np.maximum(counts, 1), mean), mean
