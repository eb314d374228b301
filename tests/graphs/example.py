"""The worked example: three users, who are all released with one profile; and graphs to try measures on."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import microveil as mv
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.edges import Edges
from microveil.numerics.graphs.rewiring import replace_edges

TOPICS = ("t1", "t2", "t3")
LINKS = {"source": ["1", "2"], "target": ["2", "3"]}
USERS = {
    "id": ["1", "2", "3"],
    "location": ["Washington DC", "United States", "New York City"],
    "t1": ["Politics", "Technology", "Technology"],
    "t2": ["Sports", "Sports", "Politics"],
    "t3": ["Weather", "Religion", "Culture"],
}


@cache
def places() -> mv.Hierarchy:
    """World > North America > United States > New York State > New York City > quarters and a park; District of
    Columbia > Washington DC."""
    country = [("United States", "Country"), ("North America", "Continent")]
    city = [("New York City", "Locality"), ("New York State", "Administrative area level 1"), *country]
    capital = [("Washington DC", "Locality"), ("District of Columbia", "Administrative area level 1"), *country]
    inside = {"Brooklyn": "Sublocality", "Manhattan": "Sublocality", "Central Park": "Natural feature"}
    chains = [[one, *city] for one in inside.items()]
    made: mv.Hierarchy = mv.locations.LocationTree.of([*chains, capital]).hierarchy()
    return made


def users(**columns: list[str | None]) -> Microdata:
    """The three users, with some of their columns replaced."""
    keys = [Attribute(name=name, kind="nominal", roles=("key",)) for name in TOPICS]
    place = Attribute(name="location", kind="location", roles=("key",), hierarchy=places())
    schema = Schema([Attribute(name="id", kind="nominal", roles=("node",)), place, *keys])
    return Microdata.of({**USERS, **columns}, schema, graph=LINKS)


def released_users(place: str = "United States") -> Microdata:
    """All three with the location and the topics that stand for them together."""
    return users(location=[place] * 3, t1=["Technology"] * 3, t2=["Politics"] * 3, t3=["Sports"] * 3)


def social(seed: int, nodes: int = 150, links: float = 6.0, **columns: Any) -> Microdata:
    """A network of circles of friends with jobs, places and ages; friends are often alike."""
    rng = np.random.default_rng(seed)
    circle = rng.integers(0, 8, nodes)
    towns = ["Brooklyn", "Manhattan", "Central Park", "Washington DC"]
    own = np.where(rng.random(nodes) < 0.7, circle % 4, rng.integers(0, 4, nodes))
    job = np.where(rng.random(nodes) < 0.7, circle % 3, rng.integers(0, 3, nodes))
    cells = {
        "id": [f"n{i}" for i in range(nodes)],
        "age": np.round(20 + 5 * circle + rng.normal(0, 4, nodes)),
        "job": [("cook", "judge", "nurse")[code] for code in job],
        "town": [towns[code] for code in own],
        **columns,
    }
    schema = Schema([
        Attribute(name="id", kind="nominal", roles=("node",)),
        Attribute(name="age", kind="numeric", roles=("key",)),
        Attribute(name="job", kind="nominal", roles=("key",)),
        Attribute(name="town", kind="location", roles=("key",), hierarchy=places()),
    ])  # fmt: skip
    first, second = np.triu_indices(nodes, 1)
    near = circle[first] == circle[second]
    chance = np.where(near, 0.8 * links / (nodes / 8), 0.2 * links / nodes)
    drawn = rng.random(len(first)) < chance
    return Microdata.of(cells, schema, graph=Edges.of(first[drawn], second[drawn], nodes))


def rewired(data: Microdata, share: float, seed: int = 1) -> Microdata:
    """The same nodes with a share of the links elsewhere."""
    assert data.edges is not None
    moved = replace_edges(data.edges.graph, round(share * len(data.edges)), np.random.default_rng(seed))
    return replace(data, edges=Edges.of_graph(moved))


def structural(data: Microdata, release: Microdata) -> mv.Release:
    """A release as a method makes it that masks no attribute."""
    made = mv.method("pram").mask(users(), seed=1)
    provenance = replace(
        made.provenance, steps=(), schema=data.schema, input_digest=data.digest(), input_records=len(data)
    )
    return replace(made, data=release, provenance=provenance, matrices={})


def shuffled(data: Microdata, seed: int = 3) -> Microdata:
    """The nodes in another order, with new ids that tell nothing."""
    order = np.random.default_rng(seed).permutation(len(data))
    return data.take(order).with_columns({"id": pa.array([f"x{i}" for i in range(len(data))])})
