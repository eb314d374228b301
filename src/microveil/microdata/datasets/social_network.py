"""A fictional social network of any size: persons with a home, interests by preference, an age and a vote, and who of
them are friends.

Everything but the names of cities is made up. The shape is that of real networks: a few cities and interests are common
and most are rare, some persons have many more friends than others, friends resemble each other, friends of friends are
often friends, and profiles have gaps.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from microveil.errors import ParameterError
from microveil.microdata.edges import Edges
from microveil.microdata.microdata import Microdata
from microveil.microdata.schema import Attribute, Schema
from microveil.randomness import PublicStreams, check_seed
from microveil.typing import FloatArray, IntArray

MOST_PERSONS = 10_000_000
HOMES = (
    "Vienna, Austria", "Graz, Austria", "Linz, Austria", "Salzburg, Austria", "Innsbruck, Austria", "Barcelona, Spain",
    "Madrid, Spain", "Tarragona, Spain", "Seville, Spain", "Girona, Spain", "Berlin, Germany", "Hamburg, Germany",
    "Munich, Germany", "Leipzig, Germany", "Paris, France", "Lyon, France", "Toulouse, France", "Rome, Italy",
    "Milan, Italy", "Naples, Italy", "Lisbon, Portugal", "Porto, Portugal", "Prague, Czechia", "Brno, Czechia",
    "Budapest, Hungary", "Ljubljana, Slovenia", "Zagreb, Croatia", "Stockholm, Sweden", "Oslo, Norway",
    "Copenhagen, Denmark", "Toronto, Canada", "Montréal, Canada", "Ottawa, Canada", "Mexico City, Mexico",
    "Rosario, Argentina", "Montevideo, Uruguay", "Nairobi, Kenya", "Kampala, Uganda", "Tokyo, Japan",
    "Osaka, Japan", "Seoul, South Korea", "Wellington, New Zealand", "Austria", "Spain", "Germany",
)  # fmt: skip
INTERESTS = (
    "music", "football", "films", "politics", "cooking", "travel", "computers", "books", "gardening", "health",
    "science", "fashion", "history", "religion", "cars", "pets", "art", "finance",
)  # fmt: skip
VOTES = ("left", "green", "centre", "right", "none")
_VOTE_SHARE = np.array([0.24, 0.17, 0.21, 0.23, 0.15])
_CANDIDATES = 20  # persons of whom one becomes a friend
_LIKENESS = 1.5  # by how much the chances of a friendship grow, as a logarithm, for each thing in common
_TRIANGLES = 0.3  # of the friendships are with a friend's friend


def social_network(persons: int = 1000, *, seed: int = 1, friends: float = 8.0, gaps: bool = True) -> Microdata:
    """So many persons with about so many friends each; with `gaps` some cells are missing.

    Homes are places with their hierarchy (city, region, country, continent). Home, interests and age are keys, the vote
    is confidential. The same seed always gives the same network.

    >>> network = social_network(200, seed=3)
    >>> network.edges.nodes, network.schema.keys, network.schema.node
    (200, ('home', 'topic1', 'topic2', 'topic3', 'age'), 'id')
    """
    if not 1 <= persons <= MOST_PERSONS:
        raise ParameterError(
            f"persons = {persons} is not allowed; it must be a whole number from 1 to {MOST_PERSONS:,}"
        )
    if not 0 <= friends <= 1000:
        raise ParameterError(f"friends = {friends} is not allowed; it must be a number from 0 to 1000")
    streams = PublicStreams(check_seed(seed))
    rng = streams.generator("traits")
    home = rng.choice(len(HOMES), size=persons, p=_zipf(len(HOMES)))
    topics = _distinct(persons, _zipf(len(INTERESTS)), rng)
    age = np.clip(np.rint(rng.gamma(5.0, 5.0, persons) + 13), 16, 95).astype(np.int64)
    leaning = np.log(_VOTE_SHARE)[None, :] + rng.gumbel(size=(persons, len(VOTES)))
    leaning[:, 1] += 1.0 * (topics[:, 0] == INTERESTS.index("gardening")) - 0.02 * (age - 40)
    vote = leaning.argmax(axis=1)
    source, target = _friendships(np.column_stack([home, topics[:, 0], age // 10, vote]), friends, streams)
    missing = streams.generator("gaps").random((persons, 5)) < (np.array([0.03, 0.02, 0.06, 0.15, 0.05]) * gaps)
    words = np.array(INTERESTS, dtype=object)
    columns = {
        "id": pa.array(np.arange(1, persons + 1)),
        "home": pa.array(np.array(HOMES, dtype=object)[home], pa.string(), mask=missing[:, 0]),
        **{
            f"topic{i + 1}": pa.array(words[topics[:, i]], pa.string(), mask=missing[:, 1 : i + 2].any(axis=1))
            for i in range(3)
        },
        "age": pa.array(age, mask=missing[:, 4]),
        "vote": pa.array(np.array(VOTES, dtype=object)[vote], pa.string()),
    }
    return Microdata.of(columns, network_schema(), graph=Edges.of(source, target, persons))


def network_schema() -> Schema:
    """The schema of `social_network`."""
    from microveil.microdata.locations.resolving import GazetteerProvider, location_tree

    places = location_tree(HOMES, GazetteerProvider())
    return Schema(
        [
            Attribute(name="id", kind="nominal", roles=("node",), missing="refuse", label="Number of the person"),
            Attribute(
                name="home",
                kind="location",
                roles=("key",),
                domain=HOMES,
                hierarchy=places.hierarchy(),
                missing="own category",
                label="City or country of residence",
            ),
            *(
                Attribute(
                    name=f"topic{i}",
                    kind="nominal",
                    roles=("key",),
                    domain=INTERESTS,
                    missing="own category",
                    label=f"Interest number {i}",
                )
                for i in (1, 2, 3)
            ),
            Attribute(name="age", kind="numeric", roles=("key",), range=(16, 95), label="Age in years"),
            Attribute(
                name="vote", kind="nominal", roles=("confidential",), domain=VOTES, label="Vote at the last election"
            ),
        ]
    )


def _zipf(many: int) -> FloatArray:
    shares = 1.0 / np.arange(1, many + 1)
    return np.asarray(shares / shares.sum())


def _distinct(persons: int, shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """Three different interests of each person, drawn one after the other with these chances."""
    keys = np.log(shares)[None, :] + rng.gumbel(size=(persons, len(shares)))
    return np.argsort(-keys, axis=1)[:, :3].astype(np.int64)


def _friendships(traits: IntArray, friends: float, streams: PublicStreams) -> tuple[IntArray, IntArray]:
    """Pairs of friends: some of persons who resemble each other, and some of persons with a friend in common."""
    from microveil.numerics.graphs.adjacency import adjacency, degrees

    persons = len(traits)
    rng = streams.generator("friendships")
    if persons < 2:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    sociable = rng.gamma(1.5, 1.0 / 1.5, persons)
    known = np.log(sociable + 0.05)
    own = np.repeat(np.arange(persons), rng.poisson(sociable * friends * (1 - _TRIANGLES) / 2))
    chosen = np.empty(len(own), dtype=np.int64)
    for start in range(0, len(own), 100_000):
        part = own[start : start + 100_000]
        others = rng.integers(0, persons, size=(len(part), _CANDIDATES))
        alike = (traits[others] == traits[part][:, None, :]).sum(axis=2)
        chances = known[others] + _LIKENESS * alike + rng.gumbel(size=others.shape)
        chosen[start : start + 100_000] = np.take_along_axis(others, chances.argmax(axis=1)[:, None], axis=1)[:, 0]
    graph = adjacency(own, chosen, persons)
    ends = np.repeat(np.arange(persons), degrees(graph))
    if len(ends) == 0:
        return own, chosen
    count = round(len(own) * _TRIANGLES / (1 - _TRIANGLES))
    first = rng.integers(0, len(ends), count)
    middle = graph.indices[first]
    second = graph.indptr[middle] + (rng.random(count) * degrees(graph)[middle]).astype(np.int64)
    return np.concatenate([own, ends[first]]), np.concatenate([chosen, graph.indices[second]])
