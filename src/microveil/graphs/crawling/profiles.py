"""Profiles of crawled users, a location and three ranked topics, and the graph of those who follow each other
(Marés 2013, section 6.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from microveil.errors import DataError
from microveil.graphs.crawling.crawler import UserRecord
from microveil.graphs.crawling.sources import PageProvider, Post, TopicProvider
from microveil.microdata import Microdata
from microveil.microdata.edges import Edges
from microveil.progress import Progress, silent
from microveil.typing import IntArray

RankedTopics = tuple[str | None, str | None, str | None]


@dataclass(frozen=True)
class Profile:
    """What is published of a user: the location in his own words, and three topics by preference.

    Both are None where nothing was found. `location_tree` of `microveil.microdata.locations` finds the places of
    locations; those that are missing or unknown become World there.
    """

    id: str = field(repr=False)
    location: str | None = field(repr=False)
    topics: RankedTopics = field(repr=False)


def extract_profiles(
    records: Sequence[UserRecord],
    topics: TopicProvider,
    pages: PageProvider | None = None,
    *,
    multiset: bool = False,
    drop_empty: bool = False,
    progress: Progress = silent,
) -> list[Profile]:
    """The profile of each user, in the order of the records.

    The topics of a post are those of its text and of all pages it links to, together, because a text alone is often too
    short to tell any. Hashtags are not used. With `drop_empty`, users without any topic are left out.
    """
    profiles = []
    for number, record in enumerate(records, 1):
        ranked = ranked_topics(record.posts, topics, pages, multiset=multiset)
        if not drop_empty or ranked[0] is not None:
            profiles.append(Profile(record.id, (record.location or "").strip() or None, ranked))
        progress(number / len(records), f"profiles: {number:,} of {len(records):,} users")
    return profiles


def ranked_topics(
    posts: Iterable[Post], topics: TopicProvider, pages: PageProvider | None = None, *, multiset: bool = False
) -> RankedTopics:
    """The three most frequent topics; of equally frequent ones that of the earlier post, then by the alphabet.

    A topic counts once for each post, or as `multiset` once for each of its texts, the post and the linked pages.
    """
    counts: Counter[str] = Counter()
    first_post: dict[str, int] = {}
    for number, post in enumerate(posts):
        found = Counter(topic for text in _texts(post, pages) for topic in topics.topics(text))
        counts.update(found if multiset else found.keys())
        for topic in found:
            first_post.setdefault(topic, number)
    ranked = sorted(counts, key=lambda topic: (-counts[topic], first_post[topic], topic))
    first, second, third = [*ranked[:3], None, None, None][:3]
    return first, second, third


def _texts(post: Post, pages: PageProvider | None) -> Iterator[str]:
    yield post.text
    if pages is not None:
        for url in dict.fromkeys(post.urls):
            text = pages.text(url)
            if text is not None:
                yield text


@dataclass(frozen=True)
class CrawledGraph:
    """An undirected simple graph: for each node its id, location and topics, and for each edge two nodes.

    Edges are sorted, and the first node of each comes before the second.
    """

    ids: tuple[str, ...] = field(repr=False)
    locations: tuple[str | None, ...] = field(repr=False)
    topics: tuple[RankedTopics, ...] = field(repr=False)
    first: IntArray = field(repr=False)
    second: IntArray = field(repr=False)

    def __repr__(self) -> str:
        return f"CrawledGraph({len(self.ids):,} nodes, {len(self.first):,} edges)"

    def to_microdata(self, **roles_and_kinds: Any) -> Microdata:
        """A record for each node with its location, whose hierarchy is that of the gazetteer, and its topics, and the
        links between them; roles and kinds go to `Microdata.of`."""
        columns = {
            "id": pa.array(self.ids, pa.string()),
            "location": pa.array(self.locations, pa.string()),
            **{
                f"topic{rank + 1}": pa.array([topics[rank] for topics in self.topics], pa.string())
                for rank in range(len(self.topics[0]) if self.topics else 0)
            },
        }
        edges = Edges.of(self.first, self.second, len(self.ids))
        given = {"location": ["location"], "node": "id", **roles_and_kinds}
        return Microdata.of(columns, graph=edges, **given)


def crawled_graph(records: Sequence[UserRecord], profiles: Sequence[Profile]) -> CrawledGraph:
    """The graph of the profiles: two users are linked if one of them follows the other, whichever it is.

    Users who were not crawled, or have no profile because they were dropped, are no nodes. If no user failed and none
    was dropped, the graph is connected.
    """
    ids = tuple(profile.id for profile in profiles)
    node = {user_id: number for number, user_id in enumerate(ids)}
    if len(node) < len(ids):
        raise DataError("a user has two profiles; give one for each user")
    following = {record.id: record.following for record in records}
    if not node.keys() <= following.keys():
        raise DataError("a profile is of a user who was not crawled; give the profiles of these records")
    pairs = {
        (min(u, v), max(u, v))
        for user_id, u in node.items()
        for v in (node.get(followed, u) for followed in following[user_id])
        if u != v
    }
    edges = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return CrawledGraph(
        ids,
        tuple(profile.location for profile in profiles),
        tuple(profile.topics for profile in profiles),
        edges[:, 0].copy(),
        edges[:, 1].copy(),
    )
